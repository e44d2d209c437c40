"""The claims of the source texts that docs/claims.md lists, one test for each that no other test covers."""
import json
import re

import numpy as np
import pytest
from conftest import SOURCE, json_lines, softmax, source_text

INPUTS = ["--q", "q.npy", "--k", "k.npy", "--v", "v.npy"]


@pytest.fixture
def sdpa(attn, tmp_path):
    """sdpa(q, k, v, *options) -> output, weights, by attn run."""
    def call(q, k, v, *options, outputs=("o", "w")):
        for name, x in zip("qkv", (q, k, v)):
            np.save(tmp_path / f"{name}.npy", x)
        attn("run", *INPUTS, "-o", "o.npy", "--weights", "w.npy", "--quiet", *options)
        return [np.load(tmp_path / f"{name}.npy") for name in outputs]
    return call


@pytest.fixture
def rng():
    return np.random.default_rng(20)


# ---- What the formula does ----

def test_weights_of_a_row_sum_to_one(sdpa, rng):
    _, w = sdpa(*(rng.standard_normal((40, 16)).astype(np.float32) for _ in range(3)))
    assert w.min() >= 0
    np.testing.assert_allclose(w.sum(axis=1, dtype=np.float64), 1, atol=1e-6)
    assert abs(w.sum() - 1) > 30  # each row, not the whole matrix


def test_outputs_are_mixtures_of_values(sdpa, rng):
    q, k, v = (rng.standard_normal((40, 16)) for _ in range(3))
    o, w = sdpa(q, k, v)
    assert np.all(o <= v.max(axis=0)) and np.all(o >= v.min(axis=0))
    np.testing.assert_allclose(o, w @ v, atol=1e-13)


def test_the_default_scale_is_one_over_the_root_of_the_width(sdpa, rng):
    q, k, v = (rng.standard_normal((20, 50)) for _ in range(3))
    plain, _ = sdpa(q, k, v)
    np.testing.assert_array_equal(plain, sdpa(q, k, v, "--scale", repr(50 ** -0.5))[0])
    assert np.abs(plain - sdpa(q, k, v, "--scale", "0.02")[0]).max() > 1e-3


def test_a_scale_of_one_is_the_unscaled_formula(sdpa, rng):
    q, k, v = (rng.standard_normal((20, 6)) for _ in range(3))
    np.testing.assert_allclose(sdpa(q, k, v, "--scale", "1")[0], softmax(q @ k.T) @ v, atol=1e-13)


def test_a_row_does_not_depend_on_other_queries(sdpa, rng):
    q, k, v = (rng.standard_normal((130, 16)).astype(np.float32) for _ in range(3))
    whole = sdpa(q, k, v)[0]
    others = q.copy()
    others[1:] = rng.standard_normal((129, 16))
    np.testing.assert_array_equal(whole[0], sdpa(others, k, v)[0][0])


def test_self_attention_is_equivariant_not_invariant(sdpa, rng):
    x, (wq, wk, wv) = rng.standard_normal((30, 8)), rng.standard_normal((3, 8, 8))
    order = rng.permutation(30)
    plain = sdpa(x @ wq, x @ wk, x @ wv)[0]
    permuted = sdpa(x[order] @ wq, x[order] @ wk, x[order] @ wv)[0]
    np.testing.assert_allclose(permuted, plain[order], atol=1e-12)
    assert np.abs(permuted - plain).max() > 0.1


def test_without_matrices_scores_are_symmetric(sdpa, rng):
    x, (wq, wk) = rng.standard_normal((12, 6)), rng.standard_normal((2, 6, 6))
    same, mapped = x @ x.T, (x @ wq) @ (x @ wk).T
    np.testing.assert_allclose(same, same.T, atol=1e-12)
    assert np.abs(mapped - mapped.T).max() > 1
    np.testing.assert_allclose(sdpa(x, x, x)[1], softmax(same / 6 ** 0.5), atol=1e-13)


def test_a_row_that_sees_nothing_gets_0_or_the_mean_of_v(sdpa, rng, tmp_path):
    """With a mask value of -1e9 it gets the mean of v. Here it gets 0 by default, and that mean with --empty-row mean."""
    q, k, v = (rng.standard_normal((5, 4)).astype(np.float32) for _ in range(3))
    mask = np.ones((5, 5), bool)
    mask[2] = False
    np.save(tmp_path / "m.npy", mask)
    filled = softmax(np.where(mask, q.astype(float) @ k.T / 2, -1e9)) @ v
    np.testing.assert_allclose(sdpa(q, k, v, "--mask", "m.npy", "--empty-row", "mean")[0], filled,
                               atol=1e-6)
    zero = sdpa(q, k, v, "--mask", "m.npy")[0]
    assert not zero[2].any()
    np.testing.assert_allclose(np.delete(zero, 2, 0), np.delete(filled, 2, 0), atol=1e-6)


def test_the_cost_does_not_depend_on_the_number_of_heads(attn, tmp_path):
    def operations(heads):
        for name in "qkv":
            np.save(tmp_path / f"{name}.npy", np.zeros((1, heads, 64, 512 // heads), np.float32))
        return json.loads(attn("run", *INPUTS, "--plan", "--json").stdout)["flops"]
    assert operations(1) == operations(8) == operations(64) > 0


# ---- Positions ----

def table(name, rows, decimals):
    head = "| |" + " |" * rows.shape[1] + "\n|---|" + "---|" * rows.shape[1] + "\n"
    return f"{name}:\n\n{head}" + "".join(
        f"| t{t} | " + " | ".join(f"{x:.{decimals}f}" for x in row) + " |\n" for t, row in enumerate(rows)) + "\n"


@pytest.mark.parametrize("first, step", [(0, 1.4718), (1, 1.1167)])
def test_position_codes_are_unique_and_evenly_spaced(attn, tmp_path, first, step):
    """The exact codes that attn explain computes for a table printed with four digits."""
    t, c = np.indices((3000, 64))
    angle = t * 10000.0 ** (-2 * (first + c // 2) / 64)
    printed = np.where(c % 2, np.cos(angle), np.sin(angle))
    (tmp_path / "p.md").write_text("# Positions\n\n" + table("PE", printed, 4) + table("X", np.ones((3000, 64)), 0))
    steps = json.loads(attn("explain", "p.md", "--json").stdout)["examples"][0]["steps"]
    positions, = (s for s in steps if s["op"] == "positions")
    code = np.array(positions["exact"])
    assert positions["scalar"] == first and code.shape == (3000, 64)
    np.testing.assert_allclose(np.linalg.norm(np.diff(code, axis=0), axis=1), step, atol=5e-5)
    apart = np.abs(32 - code @ code.T) * 2  # squared distances; each code has the length sqrt(32)
    np.fill_diagonal(apart, np.inf)
    assert apart.min() > 1


# ---- Trained models ----
# Encoders of one layer learn the neighbours of each letter. A model this small trains in seconds.

def pairs(path, min_length, max_length, count, seed, target):
    rng = np.random.default_rng(seed)
    texts = [rng.integers(4, size=rng.integers(min_length, max_length + 1)) for _ in range(count)]
    path.write_text("".join("".join("abcd"[c] for c in x) + "\t" + target(x) + "\n" for x in texts))


def before(x):
    return "-" + "".join("abcd"[c] for c in x[:-1])


def both_sides(x):
    """One letter for the ordered pair of neighbours of each position; a if there is none."""
    x = [0, *x, 0]
    return "".join("ABCDEFGHIJKLMNOP"[4 * x[i - 1] + x[i + 1]] for i in range(1, len(x) - 1))


@pytest.fixture
def learn(attn):
    """learn(heads, steps, **config): writes m.safetensors, returns its exact match on unseen.tsv."""
    def call(heads, steps=500, **config):
        config = {"kind": "encoder", "d_model": 32, "ffn_dim": 64, "encoder_layers": 1, "num_heads": heads, **config}
        out = attn("train", "--data", "seen.tsv", "--validation-data", "unseen.tsv", "-o", "m.safetensors", "--overwrite", "--config",
                   json.dumps(config), "--steps", steps, "--learning-rate", 0.005, "--validate-every", steps, "--threads", 1, "--seed", 0,
                   "--json", "--quiet").stdout
        return json.loads(out.splitlines()[-1])["validation_exact_match"]
    return call


def shown(attn):
    """The weights of every head on one text, and their means at the letters before and after each position."""
    maps = json_lines(attn("show", "m.safetensors", "--input", "abdcbacd", "--all", "--json").stdout)
    heads = [np.array(m["weights"])[:8, :8] for m in maps if "head" in m["title"].split(" of ")[0]]
    return heads, [(np.diag(w, -1).mean(), np.diag(w, 1).mean()) for w in heads]


def test_heads_make_a_model_more_expressive_and_look_at_different_places(attn, learn, tmp_path):
    """With the same number of parameters, one head cannot attend to both sides separately; two can."""
    pairs(tmp_path / "seen.tsv", 8, 8, 20000, 1, both_sides)
    pairs(tmp_path / "unseen.tsv", 8, 8, 256, 2, both_sides)
    one = learn(1)
    learn(2, steps=1)
    _, untrained = shown(attn)
    assert np.max(untrained) < 0.3
    two = learn(2)
    heads, looks = shown(attn)
    print(f"one head {one:.3f}, two heads {two:.3f} exact match; two heads before and after: {np.round(looks, 2).tolist()}")
    assert one < 0.9 < 0.98 < two
    left, right = sorted(looks, reverse=True)
    assert left[0] > 0.7 and right[1] > 0.7 and left[1] < 0.1 and right[0] < 0.1


@pytest.mark.parametrize("positions, longer", [("sinusoidal", 0.2), ("rotary", 0.6)])
def test_a_model_does_not_generalize_to_longer_texts(attn, learn, tmp_path, positions, longer):
    pairs(tmp_path / "seen.tsv", 4, 12, 20000, 1, before)
    pairs(tmp_path / "unseen.tsv", 4, 12, 256, 2, before)
    pairs(tmp_path / "long.tsv", 16, 24, 256, 3, before)
    known = learn(2, positions=positions, length=40)
    texts, targets = zip(*(line.split("\t") for line in (tmp_path / "long.tsv").read_text().splitlines()))
    outputs = attn("generate", "m.safetensors", input="\n".join(texts) + "\n").stdout.splitlines()
    share = np.mean([a == b for a, b in zip(outputs, targets, strict=True)])
    print(f"{positions}: exact match {known:.3f} at 4 to 12 letters, {share:.3f} at 16 to 24")
    assert known > 0.98 and share < longer


# ---- The texts themselves ----

FIRST_WRONG = {
    "000": [("Q", 0, 0, 1, 2)],
    "003": [("Q", 0, 0, 1, 2), ("Q", 1, 0, 0, 1), ("Q", 0, 0, 1, 2), ("Q", 0, 1, 0, 1)],
    "004": [None, ("weights", 0, 0, 0.9895, 1 / (1 + np.exp(-512 ** 0.5)))],
}


@pytest.mark.parametrize("number", FIRST_WRONG)
def test_the_first_wrong_numbers_are_those_of_the_page(attn, number):
    report = json.loads(attn("check", "--json", source_text(number), status=1).stdout)
    assert report["verdict"] == "wrong"
    printed = [e for e in report["examples"] if any(s["status"] != "not_given" for s in e["steps"])]
    firsts = [e["first_wrong"] and tuple(e["first_wrong"][m] for m in ("step", "row", "col", "printed", "expected"))
              for e in printed]
    assert [f and f[:4] for f in firsts] == [f and f[:4] for f in FIRST_WRONG[number]]
    assert [f[4] for f in firsts if f] == pytest.approx([f[4] for f in FIRST_WRONG[number] if f], abs=1e-12)


STATUSES = {  # of the steps with printed numbers; carried: follows from an earlier error
    "000": ["Q wrong, K wrong, V wrong, scores carried, scaled carried, weights wrong, output carried"],
    "003": ["Q wrong, K wrong, V wrong, scores wrong, scaled carried, weights wrong, output carried",
            "Q wrong, K wrong, V wrong, scores carried, scaled carried, weights ok, output carried",
            "Q wrong, K wrong, V wrong, scores carried, scaled carried, weights wrong, output wrong",
            "Q wrong, K wrong, V wrong, scores wrong, scaled carried, weights wrong"],
    "004": ["scores ok, weights ok", "scores ok, scores ok, weights ok, weights wrong"],
}


@pytest.mark.parametrize("number", STATUSES)
def test_each_step_is_judged_as_the_page_states(attn, number):
    report = json.loads(attn("check", "--json", source_text(number), status=1).stdout)
    steps = ([s for s in e["steps"] if s["status"] != "not_given"] for e in report["examples"])
    assert [", ".join(f"{s['name']} {s['status']}" for s in some) for some in steps if some] == STATUSES[number]


@pytest.mark.parametrize("number", ["001", "002"])
def test_formulas_without_numbers_are_nothing_to_check(attn, number):
    report = json.loads(attn("check", "--json", source_text(number), status=2).stdout)
    assert report["verdict"] == "nothing_to_check"


# ---- The page ----

def test_the_page_names_only_files_that_exist():
    page = (SOURCE / "docs/claims.md").read_text()
    for path in set(re.findall(r"\b(?:examples|tests|docs)/[\w./-]+\.\w+", page)):
        assert (SOURCE / path).exists(), path
    for name in set(re.findall(r"`(corrected-[\w.-]+)`", page)):
        assert (SOURCE / "examples/lessons" / name).exists(), name
