#!/usr/bin/env python3
"""Breaks the core on purpose, one way at a time, and requires the suite to notice.

    tools/mutate.py [NAME...]

Each mutation is one replacement in a copy of the tree. It must apply exactly once, the copy must
build, and at least one of the tests must fail. Prints a table; exit status 1 if one survives.
"""
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KERNEL, REF = "src/kernel/sdpa_f32.inc", "src/ref/sdpa_row.c"
DOOR, INTERVAL = "src/sdpa/forward.c", "src/sdpa/interval.c"
ADDITIVE = "src/kernel/sdpa_f32_additive.inc"
BACKWARD, GRADIENTS = "src/sdpa/backward.c", "src/kernel/sdpa_f32_backward.inc"
TESTS = ["test_kernels", "test_values", "test_bits", "test_features", "test_faults",
         "test_backward", "test_packed", "test_score"]

MUTATIONS = [
    # name, file, what stands there, what shall stand there
    ("a tile one key short", KERNEL, "for (; key < to; key++) weigh(s, group, key, 1, 0, sum);",
     "for (; key + 1 < to; key++) weigh(s, group, key, 1, 0, sum);"),
    ("causal mask off by one", INTERVAL, "&& add(i, offset) < last) last = add(i, offset);",
     "&& add(i, offset) + 1 < last) last = add(i, offset) + 1;"),
    ("window off by one", INTERVAL, "from = lowest;", "from = lowest + 1;"),
    ("no rescale after a restart", KERNEL,
     "vf_store(o + e * GROUP_ROWS, vf_mul(vf_load(o + e * GROUP_ROWS), factor));",
     "vf_store(o + e * GROUP_ROWS, vf_load(o + e * GROUP_ROWS));"),
    ("no rescale of the sum", KERNEL,
     "vf_mul(vf_load(s->l_before + vector * VL), factor));", "vf_load(s->l_before + vector * VL));"),
    ("restart where it is not needed", KERNEL, "vf next = vf_select(failed, higher, m);",
     "vf next = higher;"),
    ("never a restart", KERNEL, "if (!vm_any(failed)) return 0;", "return 0;"),
    ("scale x 1.01", DOOR, "t->scale = p->scale * LOG2E;",
     "t->scale = p->scale * 1.01 * LOG2E;"),
    ("scale x 1.01 in the kernel", KERNEL, "(float)(from[e] * scale);", "(float)(from[e] * scale * 1.01);"),
    ("a dropped key", KERNEL, "for (int j = s->from[group]; j < s->to[group]; j++) {\n    const float *value",
     "for (int j = s->from[group] + 1; j < s->to[group]; j++) {\n    const float *value"),
    ("hidden keys keep their weight", KERNEL,
     "if (partial) p = vf_clear(vm_not(visible(s, vector, key + n)), p);", ""),
    ("hidden values are not guarded", KERNEL,
     "s->cover[g] == COVER_PARTIAL && values_poisoned(s)", "0 && values_poisoned(s)"),
    ("the mask ignored", KERNEL, "s->masked = t->has_mask || t->has_alibi;", "s->masked = 0;"),
    ("lengths ignored", INTERVAL, "last = length - 1;", "last = p->keys - 1;"),
    ("the wrong key/value head", DOOR, "t->v = attn_tensor_at(&p->v, b, head, 0, 0)",
     "t->v = attn_tensor_at(&p->v, b, (head + 1) % p->heads, 0, 0)"),
    ("no headroom", DOOR, "(float)(ceil(log2((double)p->keys)) + 1) : 1.0f", "0.0f : 0.0f"),
    ("a finite mask hides", KERNEL,
     "if (x < -FLT_MAX && mask > -(double)INFINITY) return -FLT_MAX;", ""),
    ("log-sum-exp to base 2", KERNEL, "* 0.6931471805599453);", ");"),
    ("the workspace is trusted to be zero", KERNEL,
     "memset(s->o, 0, (size_t)t->value_width * ATTN_ROWS * sizeof(float));", ""),
    ("blocks depend on threads", DOOR, "int64_t block = s->blocks - 1 - index % s->blocks",
     "int64_t block = worker ? 0 : s->blocks - 1 - index % s->blocks"),
    ("the softcap forgotten", KERNEL, "s->cap = (float)t->softcap;\n  s->uncap = s->cap > 0 ? (float)(1 / t->softcap) : 0;",
     "s->cap = s->uncap = 0;"),
    ("ALiBi off by one", KERNEL, "fabs((double)t->position[row] - (double)key)",
     "fabs((double)t->position[row] - (double)key + 1)"),
    ("the sink takes nothing", KERNEL, "*share = exp2(m - total);", "*share = exp2(m - own);"),
    ("dropout draws by the block", KERNEL, "{(uint32_t)(key / 4), t->counter[r][0]",
     "{(uint32_t)(key % ATTN_KEYS / 4), t->counter[r][0]"),
    ("what dropout keeps is not enlarged", KERNEL, "kept > 0 ? (float)(x * kept)", "kept > 0 ? x"),
    ("no D in the gradient", GRADIENTS, "vf_sub(vf_load(at), delta));", "vf_load(at));"),
    ("no D in the keys' gradient", GRADIENTS, "vf_sub(vf_load(at), vf_set(t->delta[r])));",
     "vf_load(at));"),
    ("a gradient without scale", GRADIENTS, "[e * GROUP_ROWS] * scale));", "[e * GROUP_ROWS]));"),
    ("a gradient of the wrong base", GRADIENTS, "d_k[e * GROUP_ROWS] * 0.6931471805599453));",
     "d_k[e * GROUP_ROWS]));"),
    ("the softcap's slope forgotten", GRADIENTS, "vf_store(score + n, tanh_slope(t));", "vf_store(score + n, vf_set(1.0f));"),
    ("one head of the group left out", BACKWARD, "h < (head + 1) * r->parts.group; h++)\n    for (int64_t first",
     "h < (head + 1) * r->parts.group - (r->parts.group > 1); h++)\n    for (int64_t first"),
    ("hidden keys leak into gradients", GRADIENTS, "b.guard = s->cover[g] == COVER_PARTIAL &&",
     "b.guard = 0 && s->cover[g] == COVER_PARTIAL &&"),
    ("hidden rows leak into gradients", GRADIENTS, "gather_all(&b, w->dropped, w->d_out,",
     "b.guard = 0;\n  gather_all(&b, w->dropped, w->d_out,"),
    ("tanh forgotten", ADDITIVE, "sum = vf_fma(vf_load(a + at), t, sum);",
     "sum = vf_fma(vf_load(a + at), vf_add(vf_load(panel + at), vf_set(rows[n * stride + e])), sum);"),
    ("the slope of tanh forgotten", GRADIENTS, "vf_fma(gain, tanh_slope(t), vf_load(out + at))",
     "vf_add(gain, vf_load(out + at))"),
    ("the vector of the wrong head", DOOR, "t->rank == 2 ? h * t->strides[0] : 0;", "0;"),
    ("a block's rows share a vector", ADDITIVE, "load_additive(t, r, s->a +", "load_additive(t, 0, s->a +"),
    ("hidden keys leak into additive gradients", GRADIENTS, "t = vf_select(sees, t, vf_set(0.0f));", ""),
    ("a head's second block forgotten", BACKWARD, "n < each * r->slots; n++)", "n < each * r->slots; n += 2)"),
    ("additive scores are scaled by the width", "src/sdpa/validate.c", "p->width && !p->desc.additive ?", "p->width ?"),
    ("a matrix of the wrong head", "src/sdpa/score.c", "real_at(p->m, 0, h, e, first + f)",
     "real_at(p->m, 0, 0, e, first + f)"),
    ("a matrix not transposed back", "src/sdpa/score.c", "multiply(c, &d_q, &c->w, 1, &r->d_q);",
     "multiply(c, &d_q, &c->w, 0, &r->d_q);"),
    ("hidden keys leak into matrices", "src/sdpa/score.c", "if (d != 0) sum[f] +=", "sum[f] +="),
    ("general scores are scaled", "src/sdpa/score.c", "c->desc.flags |= ATTN_SDPA_SCALE, c->desc.scale = 1;", ";"),
    ("dlse forgotten", BACKWARD, "if (r->g->d_lse) sum -=", "if (0) sum -="),
    ("packed sequences draw alike", "src/sdpa/packed.c", "c->desc.origin_batch += n;", ""),
    ("packed keys one too early", "src/sdpa/packed.c", "c->v = cut(v, 1, j0, j1)", "c->v = cut(v, 1, j0 - (j0 > 0), j1 - (j0 > 0))"),
    ("the oracle forgets the window", REF, "return desc->window_right < 0 ||",
     "return desc->window_right < 0 || ahead > 3 ||"),
]

FIRST = {  # where a mutation was caught before; others begin with the first test
    "packed sequences draw alike": "test_packed",
    "packed keys one too early": "test_packed",
    "causal mask off by one": "test_values",
    "window off by one": "test_values",
    "scale x 1.01": "test_values",
    "hidden values are not guarded": "test_values",
    "lengths ignored": "test_values",
    "the wrong key/value head": "test_bits",
    "no headroom": "test_values",
    "a finite mask hides": "test_values",
    "blocks depend on threads": "test_bits",
    "the softcap forgotten": "test_features",
    "ALiBi off by one": "test_features",
    "the sink takes nothing": "test_features",
    "dropout draws by the block": "test_features",
    "what dropout keeps is not enlarged": "test_features",
    "tanh forgotten": "test_values",
    "a matrix of the wrong head": "test_score",
    "a matrix not transposed back": "test_score",
    "hidden keys leak into matrices": "test_score",
    "general scores are scaled": "test_score",
    "the vector of the wrong head": "test_bits",
    "a block's rows share a vector": "test_features",
    "additive scores are scaled by the width": "test_values",
}


def run(*command, cwd):
    return subprocess.run(command, cwd=cwd, text=True, capture_output=True)


def order(name, path):
    """The likeliest test first: most mutations need no other to be built."""
    first = FIRST.get(name, "test_backward" if path in (BACKWARD, GRADIENTS) else TESTS[0])
    return [first] + [t for t in TESTS if t != first]


def caught_by(tree, build, tests):
    """Builds and runs the tests one by one; the first that fails, None, or what does not build."""
    for test in tests:
        made = run("cmake", "--build", str(build), "--target", test, cwd=tree)
        if made.returncode:
            return "does not build:\n" + made.stdout[-2000:] + made.stderr[-500:]
        try:
            if subprocess.run([build / test], cwd=tree, capture_output=True, timeout=120).returncode:
                return f"caught by {test}"
        except subprocess.TimeoutExpired:
            return f"caught by {test} (hangs)"
    return None


def mutate(tree, build, mutation):
    name, path, old, new = mutation
    file = tree / path
    text = file.read_text()
    if text.count(old) != 1:
        return f"does not apply: stands {text.count(old)} times in {path}"
    file.write_text(text.replace(old, new))
    try:
        return caught_by(tree, build, order(name, path))
    finally:
        file.write_text(text)


def stale():
    """Mutations that no longer apply, at once: the code they break was rewritten."""
    return [name for name, path, old, _ in MUTATIONS if (ROOT / path).read_text().count(old) != 1]


def main():
    if stale():
        sys.exit("these do not apply any more: " + ", ".join(stale()))
    if sys.argv[1:] == ["--stale"]:
        return
    chosen = [m for m in MUTATIONS if not sys.argv[1:] or m[0] in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as folder:
        tree, build = Path(folder) / "tree", Path(folder) / "build"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns("build", ".git"))
        done = run("cmake", "-S", str(tree), "-B", str(build), "-DCMAKE_BUILD_TYPE=Release",
                   "-DCMAKE_C_FLAGS_RELEASE=-O1", "-DATTN_TESTS=ON", cwd=tree)
        if done.returncode:
            sys.exit(done.stdout + done.stderr)
        broken = caught_by(tree, build, TESTS)
        if broken:
            sys.exit(f"the suite fails before anything is broken: {broken}")
        lost = 0
        for mutation in chosen:
            start = time.monotonic()
            verdict = mutate(tree, build, mutation)
            good = verdict is not None and verdict.startswith("caught")
            lost += not good
            print(f"{'ok  ' if good else 'LOST'} {mutation[0]}: {verdict or 'SURVIVED'} "
                  f"({time.monotonic() - start:.0f} s)", flush=True)
    print(f"{len(chosen) - lost} of {len(chosen)} mutations caught")
    sys.exit(1 if lost else 0)


if __name__ == "__main__":
    main()
