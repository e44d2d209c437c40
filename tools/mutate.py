#!/usr/bin/env python3
"""Breaks the core on purpose, one way at a time, and requires the suite to notice.

    tools/mutate.py [NAME...]        all, or those of these names
    tools/mutate.py --part 2/4       the second quarter of all
    tools/mutate.py --sample N       N of them, drawn by ATTN_SEED or anew each time
    tools/mutate.py --stale          only whether each still applies

Each mutation is one replacement in a copy of the tree. It must apply exactly once, the copy must
build, and at least one of the tests must fail, which must pass on the code as it is. Prints a table;
exit status 1 if one survives.

The copies stay in build/mutate with their builds, so that a run compiles only what differs from the last
one; caught.json there says which test noticed each mutation, and that one is tried first.
"""
import fcntl
import json
import os
import queue
import random
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KERNEL, REF = "src/kernel/sdpa_f32.inc", "src/ref/sdpa_row.c"
DOOR, INTERVAL = "src/sdpa/forward.c", "src/sdpa/key_range.c"
LOAD = "src/kernel/sdpa_f32_load.inc"
ADDITIVE = "src/kernel/sdpa_f32_additive.inc"
PACKED, PAGED = "src/sdpa/packed.c", "src/sdpa/cache/paged.c"
BACKWARD, GRADIENTS = "src/sdpa/backward.c", "src/kernel/sdpa_f32_backward.inc"
ROTARY, NORM, LAYER_NORM, RMS_NORM = (f"src/nn/{name}.c" for name in ("rotary", "norm", "layer_norm", "rms_norm"))
SUMMARY = "src/sdpa/summary.c"
SPLIT, CACHE = "src/sdpa/split.c", "src/sdpa/cache/cache.c"
DESCRIPTOR = "src/base/descriptor.c"
BEAM, SAMPLE, SEARCH, TRACE = (f"src/model/{name}.c" for name in ("beam", "sample", "token_search", "trace"))
DATA, RUN, BEGIN = (f"src/train/{name}.c" for name in ("data", "run", "run_begin"))
TESTS = ["test_kernels", "test_values", "test_bits", "test_features", "test_faults",
         "test_backward", "test_hidden", "test_workers", "test_packed", "test_score", "test_cache", "test_paged", "test_summary_edges",
         "test_summary", "test_view", "test_tape", "test_bf16", "test_matmul", "test_transformer", "test_decoder", "test_huggingface", "test_search",
         "test_label", "test_sample", "test_trace", "test_trainer", "test_checkpoint", "test_tensor_rows", "test_rotary", "test_norm", "test_layer_input",
         "test_descriptor", "test_rounding", "test_text_pairs", "test_run", "test_model", "test_embed", "test_wordpiece", "test_exponential", "test_normal",
         "test_clones", "test_store", "test_config", "test_bounds", "test_text", "test_explain"]

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
    ("scale x 1.01", DOOR, "t->scale = p->scale * ATTN_LOG2E;",
     "t->scale = p->scale * 1.01 * ATTN_LOG2E;"),
    ("scale x 1.01 in the kernel", KERNEL, "(float)(from[e] * scale);", "(float)(from[e] * scale * 1.01);"),
    ("a dropped key", KERNEL, "for (int j = s->from[group]; j < s->to[group]; j++) {\n    const float *value",
     "for (int j = s->from[group] + 1; j < s->to[group]; j++) {\n    const float *value"),
    ("hidden keys keep their weight", KERNEL,
     "if (partial) p = vf_clear(vm_not(visible(s, vector, key + n)), p);", ""),
    ("hidden values are not guarded", KERNEL,
     "s->cover[g] == SEES_SOME && values_not_finite(s)", "0 && values_not_finite(s)"),
    ("the mask ignored", KERNEL, "s->masked = t->has_mask || t->has_alibi;", "s->masked = 0;"),
    ("lengths ignored", INTERVAL, "last = length - 1;", "last = p->keys - 1;"),
    ("the wrong key/value head", DOOR, "t->v = attn_tensor_at(&p->v, p->paging ? 0 : b, head, 0, 0)",
     "t->v = attn_tensor_at(&p->v, p->paging ? 0 : b, (head + 1) % p->heads, 0, 0)"),
    ("weights a little off where they are small", "src/kernel/exp2.inc", "vf f = vf_sub(y, n);",
     "vf f = vf_sub(vf_mul(y, vf_set(1.0000005f)), n);"),
    ("no headroom", DOOR, "(float)(ceil(log2((double)keys)) + 1) : 1.0f", "0.0f : 0.0f"),
    ("a finite mask hides", LOAD,
     "if (x < -FLT_MAX && mask > -(double)INFINITY) return -FLT_MAX;", ""),
    ("log-sum-exp to base 2", KERNEL, "* ATTN_LN2);", ");"),
    ("the workspace is trusted to be zero", KERNEL,
     "memset(s->o, 0, (size_t)t->value_width * (size_t)rows_up(t->rows) * sizeof(float));", ""),
    ("blocks depend on threads", DOOR, "int64_t block = s->blocks - 1 - task % s->blocks",
     "int64_t block = worker ? 0 : s->blocks - 1 - task % s->blocks"),
    ("the softcap forgotten", KERNEL, "s->uncap = s->cap > 0 ? (float)(1 / (double)s->cap) : 0;",
     "s->cap = s->uncap = 0;"),
    ("ALiBi off by one", LOAD, "fabs((double)t->position[row] - (double)key)",
     "fabs((double)t->position[row] - (double)key + 1)"),
    ("the sink takes nothing", "src/kernel/kernel.c", "own / sum, other / sum}", "1 / l, other / sum}"),
    ("dropout draws by the block", KERNEL, "{(uint32_t)(key / 4), t->counter[r][0]",
     "{(uint32_t)(key % ATTN_KEYS / 4), t->counter[r][0]"),
    ("what dropout keeps is not enlarged", KERNEL, "kept > 0 ? (float)(x * kept)", "kept > 0 ? x"),
    ("no D in the gradient", GRADIENTS, "vf_mul(p, vf_sub(vf_load(at), vf_load(w->delta + row)));", "vf_mul(p, vf_load(at));"),
    ("no D in the keys' gradient", GRADIENTS, "vf_sub(vf_load(at), vf_set(t->delta[r])));",
     "vf_load(at));"),
    ("a gradient without scale", GRADIENTS, "[e * GROUP_ROWS] * scale));", "[e * GROUP_ROWS]));"),
    ("a gradient of the wrong base", GRADIENTS, "f->width, ATTN_LN2,\n", "f->width, 1,\n"),
    ("the softcap's slope forgotten", GRADIENTS, "vf_clear(vm_not(lane_sees(b, v, n)), tanh_slope(t))", "vf_set(1.0f)"),
    ("one head of the group left out", BACKWARD, "h < (head + 1) * r->parts.group; h++)\n    for (int64_t first",
     "h < (head + 1) * r->parts.group - (r->parts.group > 1); h++)\n    for (int64_t first"),
    ("hidden keys leak into gradients", GRADIENTS, "b.guard = s->cover[g] == SEES_SOME &&",
     "b.guard = 0 && s->cover[g] == SEES_SOME &&"),
    ("hidden rows leak into gradients", GRADIENTS, "accumulate_all(&b, w->dropped, w->d_out,",
     "b.guard = 0;\n  accumulate_all(&b, w->dropped, w->d_out,"),
    ("tanh forgotten", ADDITIVE, "sum = vf_fma(vf_load(a + at), t, sum);",
     "sum = vf_fma(vf_load(a + at), vf_add(vf_load(panel + at), vf_set(rows[n * stride + e])), sum);"),
    ("the slope of tanh forgotten", GRADIENTS, "vf_fma(gain, tanh_slope(t), vf_load(out + at))",
     "vf_add(gain, vf_load(out + at))"),
    ("the vector of the wrong head", DOOR, "t->rank == 2 ? h * t->strides[0] : 0)", "0)"),
    ("a block's rows share a vector", ADDITIVE, "load_additive(t, r, s->a +", "load_additive(t, 0, s->a +"),
    ("hidden keys leak into additive gradients", GRADIENTS, "t = vf_select(sees, t, vf_set(0.0f));", ""),
    ("a head's second block forgotten", BACKWARD, "n < each * r->slots; n++)", "n < each * r->slots; n += 2)"),
    ("additive scores are scaled by the width", "src/sdpa/validate.c", "p->width && !p->desc.additive ?", "p->width ?"),
    ("a matrix of the wrong head", "src/sdpa/score/score.c", "real_at(p->m, 0, h, e, first + f)",
     "real_at(p->m, 0, 0, e, first + f)"),
    ("a matrix not transposed back", "src/sdpa/score/score.c", "multiply(c, &d_q, &c->w, 1, &r->d_q);",
     "multiply(c, &d_q, &c->w, 0, &r->d_q);"),
    ("hidden keys leak into matrices", "src/sdpa/score/score.c", "if (d != 0) sum[f] +=", "sum[f] +="),
    ("general scores are scaled", "src/sdpa/score/score.c", "c->desc.flags |= ATTN_SDPA_SCALE, c->desc.scale = 1;", ";"),
    ("dlse forgotten", BACKWARD, "return real_at(&r->d_lse, b, h, i, 0);", "return 0;"),
    ("hidden keys leak through the slope of the softcap", GRADIENTS, "vf_clear(vm_not(lane_sees(b, v, n)), tanh_slope(t))", "tanh_slope(t)"),
    ("the fill of an empty row reaches its sink", BACKWARD, "empty ? 0 : output_product(r, b, h, i)", "output_product(r, b, h, i)"),
    ("the NaN of an empty row reaches its sink", BACKWARD, "if (r->delta[row] != 0) sum -=", "sum -="),
    ("no room for additive scores in summaries", SUMMARY, "attn_sdpa_panel_floats(p->width, 0, p->desc.additive != NULL)",
     "attn_sdpa_panel_floats(p->width, 0, 0)"),
    ("workers are counted for each sequence", "src/sdpa/validate.c", "p->workers = whole ? whole->workers :", "p->workers ="),
    ("the kernel is chosen for each sequence", "src/sdpa/validate.c", "p->kernel = whole ? whole->kernel :", "p->kernel ="),
    ("a host's workers are taken as it numbers them", "src/base/threads.c", "l->body(l->argument, n, (int32_t)lane);",
     "(void)lane, l->body(l->argument, n, worker);"),
    ("large log-sum-exps are trusted", BACKWARD, "LARGE_LSE = 64", "LARGE_LSE = 1e38f"),
    ("a row that is summed again forgets its share", BACKWARD, "{partial[n][0], (float)all.share,", "{partial[n][0], 1,"),
    ("a sink's row loses its sum beside a large maximum", "src/kernel/kernel.c", "own / sum, other / sum}", "exp2(m - (top + log2(sum))), other / sum}"),
    ("a softcap's slope taken from the whole score", REF, "t = size.capped / cap;", "t = row->scores[j] / cap;"),
    ("packed sequences draw alike", PACKED, "c->desc.origin_batch += n;", ""),
    ("packed keys one too early", PACKED, "c->v = cut(p->v, 1, j0, j1)",
     "c->v = cut(p->v, 1, j0 - (j0 > 0), j1 - (j0 > 0))"),
    ("packed tensors not checked whole", PACKED,
     "if (!status) status = attn_problem_check(&p.desc, q, k, v, o, 1, &whole, err);", "(void)whole;"),
    ("a packed mask that broadcasts is cut", PACKED, "t->shape[keys] != 1)", "t->rank)"),
    ("packed outputs may lie on the starts", PACKED,
     "if (!status) status = check_outputs(&p, out, sizeof out / sizeof *out, err);", ""),
    ("later sequences are refused later", PACKED, "if (!status) status = check_pieces(&p, &whole, 1, err);", ""),
    ("packed masks keep old gradients", PACKED, "if (!status) attn_backward_clear(&g);", ""),
    ("the last sequence's mask gradient only", PACKED, "attn_backward_part(&whole, 1,",
     "attn_backward_part(&whole, 0,"),
    ("later gradients are refused later", PACKED, "status ? status : check_pieces(p, whole, 0, err);",
     "status;"),
    ("stretches of keys merged as they are", SPLIT, "sees ? exp2((double)m[n * all.floats] - all.m) : 0", "sees ? 1 : 0"),
    ("a stretch overlaps the next", DOOR, "to = from + keys;", "to = from + keys + 1;"),
    ("stretches depend on threads", SPLIT, "return count < 1 ? 1 :", "return count < 1 || p->workers == 1 ? 1 :"),
    ("int8 without its scale", LOAD, "(float)from[e * col] * by;", "(float)from[e * col];"),
    ("a page read from its neighbour's rows", LOAD, "slot = key % t->pages.tokens;", "slot = (key + 1) % t->pages.tokens;"),
    ("keys behind a sequence's end are read", LOAD, "(t->pages.tokens ? t->pages.keys : t->keys) - first",
     "t->keys - first"),
    ("a page in place begins at its first row", LOAD, "first = slot;", "first = 0;"),
    ("a block in place spans pages", LOAD, "slot + s->keys > g->tokens) in_place = 0;", "0) in_place = 0;"),
    ("pages of another sequence", PAGED, "row_of(g, b) * g->table.strides[0]);", "b * g->table.strides[0]);"),
    ("a page beyond the table", PAGED, "page < 0 || page >= pages", "page < 0 || page > pages"),
    ("a shared page is written", CACHE, "if (rows && c->uses[old] == 1) return;", "if (rows) return;"),
    ("a page is copied one row short", CACHE, "copy_rows(&c->k, old, *at, rows), copy", "copy_rows(&c->k, old, *at, rows - 1), copy"),
    ("a page is never given back", CACHE, "if (--c->uses[page] == 0)", "if (--c->uses[page] < 0)"),
    ("a full cache is written", CACHE, "if (tokens > c->config.capacity - c->lengths[sequence])", "if (0)"),
    ("the mean is not taken away", NORM, "((xhat[i] - r->near) - r->rest)", "(xhat[i] - r->rest)"),
    ("the mean is not repaired", LAYER_NORM, "r.rest = sum / (double)c->n;", "r.rest = 0;"),
    ("the variance of a sample", LAYER_NORM, "squares / (double)c->n - r.rest", "squares / (double)(c->n - 1) - r.rest"),
    ("epsilon outside the root", RMS_NORM, "sqrt(squares / (double)c->n + c->epsilon)",
     "(sqrt(squares / (double)c->n) + c->epsilon)"),
    ("a norm's gradient without the mean's", LAYER_NORM, "(g[i] - sum - xhat[i] * dot)", "(g[i] - xhat[i] * dot)"),
    ("a norm's gradient without the root's", RMS_NORM, "(g[i] - xhat[i] * dot)", "g[i]"),
    ("d_scale one row short", NORM, "i < s->summed_count", "i + 1 < s->summed_count"),
    ("d_scale without xhat", NORM, "if (!s->times_xhat) return d_y;", "return d_y;"),
    ("rows of nothing are kept", NORM, "c->row = c->rows ? attn_host", "c->row = 1 ? attn_host"),
    ("d_x overwrites what is still summed", NORM,
     "attn_norm_rows(c, keep_row);\n  sum_over_rows(c, c->g.d_scale, 1);\n  sum_over_rows(c, c->g.d_bias, 0);\n"
     "  if (c->g.d_x) attn_norm_rows(c, differentiate);",
     "attn_norm_rows(c, keep_row);\n  if (c->g.d_x) attn_norm_rows(c, differentiate);\n"
     "  sum_over_rows(c, c->g.d_scale, 1);\n  sum_over_rows(c, c->g.d_bias, 0);"),
    ("turned the same way backward", ROTARY, "turn(desc, -1, d_y", "turn(desc, 1, d_y"),
    ("interleaved pairs as halves", ROTARY, "interleaved ? 1 : c->pairs", "c->pairs"),
    ("what is not turned is not copied", ROTARY, "int64_t e = 2 * c->pairs; e < c->width", "int64_t e = 2 * c->pairs; e + 1 < c->width"),
    ("frequencies of half the width", ROTARY, "-(double)k / (double)pairs", "-(double)k / (double)(2 * pairs)"),
    ("a position beyond the tables", ROTARY, "position(t, b, l) >= c->cos.shape[0]", "position(t, b, l) > c->cos.shape[0]"),
    ("a newer caller's last byte is not looked at", DESCRIPTOR, "n < given; n++", "n + 1 < given; n++"),
    ("a newer caller's fields are ignored", DESCRIPTOR, "if (((const char *)from)[n])", "if (0)"),
    ("an older caller's struct is read behind its end", DESCRIPTOR, "memcpy(to, from, given < size ? given : size);",
     "memcpy(to, from, size);"),
    ("16 bits rounded twice", "src/base/element.h", "(float)value : attn_round_to_odd(value));", "(float)value : (float)value);"),
    ("a cache rounds by way of float32", CACHE, "attn_load_real(from->dtype, attn_tensor_at(from, b, h, t, e)));\n  }",
     "(double)(float)attn_load_real(from->dtype, attn_tensor_at(from, b, h, t, e)));\n  }"),
    ("stretches merged by way of float32", SPLIT, "empty ? 0 : column(&all, e) * total.share);",
     "empty ? 0 : (double)(float)(column(&all, e) * total.share));"),
    ("ties by the higher index", SUMMARY, "(x == y && a.key < b.key)", "(x == y && a.key > b.key)"),
    ("the heap keeps its root", SUMMARY, "best[0] = e;\n      sift(best, count, 0);", "best[0] = e;"),
    ("the last stripe forgotten", SUMMARY, "j < r->p.keys && sum; j++)", "j < r->p.keys && sum && stripe + 1 < r->stripes; j++)"),
    ("columns carry over to the next head", SUMMARY,
     "if (i == c->from) memset(c->columns, 0, (size_t)r->p.keys * sizeof *c->columns);",
     "if (i == c->from && h == c->h0) memset(c->columns, 0, (size_t)r->p.keys * sizeof *c->columns);"),
    ("a wave begins where the last one did", SUMMARY, "int64_t lot = r->first_lot + index / r->stripes",
     "int64_t lot = index / r->stripes"),
    ("the entropy forgets the sink", SUMMARY, "surprise(row->share) + surprise(row->other)", "0"),
    ("the entropy in bits", SUMMARY, "log(sum) - logs / sum;", "(log(sum) - logs / sum) / 0.6931471805599453;"),
    ("the sink takes nothing of a column", SUMMARY, "columns[j] += row->weights[j] * row->share;",
     "columns[j] += row->weights[j];"),
    ("a weight of 0 is hidden", SUMMARY, "r->p.desc.mask &&\n                 !attn_problem_mask_allows(&r->p, row->b, row->h, row->i, j);",
     "1;"),
    ("hidden keys are listed", SUMMARY, "if (hidden) row->weights[j] = HIDDEN;", ""),
    ("a summary's weights dropped", SUMMARY, "r->p.desc.flags &= ~(uint64_t)ATTN_SDPA_DROPOUT;", ""),
    ("a summary's weights in 16 bits", SUMMARY, "t.weights_dtype = ATTN_F32, t.weights_col", "t.weights_col"),
    ("columns that touch are apart", "src/base/view.c", "ahead >= (uint64_t)wide &&", "ahead &&"),
    ("a thread's columns of C are the first thread's", "src/nn/gemm/matmul.c", "at.column = column + j,", "at.column = j,"),
    ("the second block of products replaces the first", "src/nn/gemm/matmul.c", "to.add || at.inner)", "to.add)"),
    ("packed weights begin their second block again", "src/nn/gemm/matmul.c", "p->panels + words_of(p->type, at.inner) * width", "p->panels"),
    ("packed weights lose their bias", "src/nn/gemm/matmul.c", "{attn_gemm_best(), in, out, type, b, NULL}", "{attn_gemm_best(), in, out, type, NULL, NULL}"),
    ("the last of an odd number of bf16 is lost", "src/nn/gemm/matmul.c", "k + 1 < at.depth ? 0xFFFF : 0", "k + 2 < at.depth ? 0xFFFF : 0"),
    ("columns of the padding are stored", "src/nn/gemm/gemm.inc", "for (int64_t j = 0; j < columns; j++)\n      c[", "for (int64_t j = 0; j < COLUMNS; j++)\n      c["),
    ("a pair of bf16 in the wrong order", "src/nn/gemm/gemm.inc", "vf_fma(y, high[v], vf_fma(x, low[v], sum[r][v]))", "vf_fma(x, high[v], vf_fma(y, low[v], sum[r][v]))"),
    ("bf16 is cut off", "src/nn/bf16.c", "to[k] = attn_to_bf16(x[k]);",
     "{ union { float f; uint32_t u; } v = {x[k]}; to[k] = (uint16_t)(v.u >> 16); }"),
    ("a layer in bf16 multiplies float32", "src/nn/tape.c", "if (n->as.linear.half) l.type = ATTN_BF16,", "if (0) l.type = ATTN_BF16,"),
    ("a gradient in bf16 is that of another layer", "src/nn/tape.c", "if (n->as.linear.half) attn_convert_to_bf16(&t->host, t->factors, n->y->dx", "if (0) attn_convert_to_bf16(&t->host, t->factors, n->y->dx"),
    ("bf16 weights are of the first step", "src/train/trainer.c", "if (t->halves) attn_convert_to_bf16", "if (t->halves && !t->step) attn_convert_to_bf16"),
    ("a bias without gradient", "src/nn/linear.c", "db[o] += dy[o];", "db[o] += 0 * dy[o];"),
    ("a row of the table overwritten", "src/nn/embedding.c", "word[d] += g[d] * e->scale;", "word[d] = g[d] * e->scale;"),
    ("sines and cosines exchanged", "src/nn/embedding.c", "d % 2 ? cos(angle) : sin(angle)", "d % 2 ? sin(angle) : cos(angle)"),
    ("GELU's slope without its density", "src/nn/activation.c", "(at.below + x[n] * at.density)", "at.below"),
    ("SwiGLU's gate without its slope", "src/nn/activation.c", "s * (1 + x1[d] * (1 - s))", "s"),
    ("dropout forgotten on the way back", "src/nn/residual.c", "df[n] += dy[n] * k[n];", "df[n] += dy[n];"),
    ("dropout depends on the part", "src/nn/residual.c", "first = (uint64_t)block * DRAWS;",
     "first = (uint64_t)(block * DRAWS - drop->first_row * 8);"),
    ("smoothing forgets the target", "src/nn/cross_entropy.c", "x[target] -= (float)(1 - c->smoothing) * c->scale;", "x[target] -= c->scale;"),
    ("keys from the values' columns", "src/model/transformer/transformer.c", "(struct attn_columns){qkv, keys}", "(struct attn_columns){qkv, values}"),
    ("the decoder sees the future", "src/model/transformer/transformer.c", "target, 1)", "target, 0)"),
    ("the residual is dropped", "src/nn/tape.c", "n->x ? n->x->dx : NULL, n->f->dx", "NULL, n->f->dx"),
    ("a forked slot keeps its own source", "src/model/transformer/decoder.c", "if (!status) d->source_of[to] = d->source_of[from];", ""),
    ("a step's position is one ahead", "src/model/transformer/decoder.c", "d->places[n] = (int32_t)length,", "d->places[n] = (int32_t)length + 1,"),
    ("the first layer's cache for all", "src/model/transformer/decoder.c", "s->d->self[layer], s->slots, qkv->n", "s->d->self[0], s->slots, qkv->n"),
    ("a resumed run forgets its second moments", "src/train/checkpoint.c", "prefixes[k], blocks[k], err);",
     "prefixes[k], blocks[k > 1 ? 1 : k], err);"),
    ("a resumed run reads its data again", "src/train/checkpoint.c", "(*trainer)->drawn = c->drawn;", "(*trainer)->drawn = 0;"),
    ("a part's gradients forgotten", "src/train/trainer.c", "for (int64_t e = from; e < end; e++) sum[e] += more[e];", ""),
    ("no bias correction", "src/train/optimizer.c", "1 / (1 - pow(adam->beta2, t))", "1"),
    ("a step that is not finite counts", "src/train/trainer.c", "if (!s->skipped) update(", "update("),
    ("SiLU's slope without its gate", "src/nn/activation.c", "dx[n] += dy[n] * (s * (1 + x[n] * (1 - s)));", "dx[n] += dy[n] * s;"),
    ("a half of the sines in the wrong place", "src/nn/embedding.c", "d % 2 * ((width + 1) / 2)", "d % 2 * (width / 2 - 1)"),
    ("an embedding's norm forgotten", "src/model/transformer/transformer.c", "  x = attn_pass_norm(p, x, w->norm);\n", ""),
    ("all tokens of one kind", "src/model/transformer/transformer.c", "text->types ? NULL : attn_tape_allocate(p->tape, bytes);", "attn_tape_allocate(p->tape, bytes);"),
    ("keys where queries belong", "src/model/huggingface/huggingface_weights.c", "part == ATTN_KEYS ? q : part", "part == ATTN_KEYS ? 0 : part"),
    ("a matrix read as it lies", "src/model/huggingface/huggingface_weights.c", "p->rank == 2 && name->turned)", "0)"),
    ("a tensor too many goes unseen", "src/model/huggingface/huggingface_weights.c", "int idle = taken[n];", "int idle = 1 + taken[n];"),
    ("what cannot be had is taken", "src/model/huggingface/huggingface_config.c", "value && !attn_json_equal(value, only)", "value && !only"),
    ("the oracle forgets the window", REF, "return desc->window_right < 0 ||",
     "return desc->window_right < 0 || ahead > 3 ||"),
    ("two beams in one slot", BEAM, "l->next[n].slot = l->taken[slot] ? -1 : slot;", "l->next[n].slot = slot;"),
    ("a beam forks from its neighbour", BEAM, "first + l->now[l->next[n].parent].slot * stride",
     "first + l->now[0].slot * stride"),
    ("a search ends when enough is found", BEAM, "return l->now[0].sum / most <=", "return most > 0 || l->now[0].sum / most <="),
    ("what is open is as long already", BEAM, "length_penalty(l->how, l->most) *", "length_penalty(l->how, l->said) *"),
    ("the length penalty from 1", BEAM, "(5 + (double)steps) / 6", "(double)steps"),
    ("the last of equals", BEAM, "else if (c.sum > all[n - 1].sum)\n    n--;", "else if (c.sum >= all[n - 1].sum)\n    n--;"),
    ("the end is open", BEAM, "if (!ended && l->said < l->most) {", "if (l->said < l->most) {"),
    ("what is cut is lost", BEAM, "finish(l, c.sum, (int32_t)n, ended);", "{ if (ended) finish(l, c.sum, (int32_t)n, 1); }"),
    ("NaN logits pass", BEAM, "numbers &= !isnan(x[v]);", ""),
    ("every step draws the same", BEAM, "{(uint32_t)l->said, (uint32_t)l->sequence,", "{0, (uint32_t)l->sequence,"),
    ("every sequence draws the same", BEAM, "{(uint32_t)l->said, (uint32_t)l->sequence,", "{(uint32_t)l->said, 0,"),
    ("top p without its last token", SAMPLE, "(kept == 0 || mass < wanted)", "(kept == 0 || mass + weights[h->tokens[kept < popped ? words - 1 - kept : 0]] < wanted)"),
    ("top p of more than top k", SAMPLE, "    *total = 0;\n", ""),
    ("the larger token of equals", SAMPLE, "&& a < b);", "&& a > b);"),
    ("what is impossible is drawn", SAMPLE, "if (mass > u * total) break;", "if (mass >= u * total) break;"),
    ("temperature the other way", SAMPLE, "(double)top) / how->temperature", "(double)top) * how->temperature"),
    ("a beam reads another source", SEARCH, "n + g->lines[n].now[h].slot * g->count", "n * g->run->how.beams + g->lines[n].now[h].slot"),
    ("the first token of what is continued is left out", SEARCH, "n - begins];", "n];"),
    ("a trace counts every attention as a layer", TRACE, "site->layer = crosses ? behind / 2 : behind;", "site->layer = behind;"),
    ("a cell of the wrong key/value head", TRACE, "head / (s->heads / s->kv_heads) * s->width", "head % s->kv_heads * s->width"),
    ("a cell sees the future", TRACE, "return s->causal && j > i ?", "return 0 ?"),
    ("weights that see the future", "src/nn/multihead.c", "certain.drop.probability = 0;", "certain.causal = 0;"),
    ("weights of a pass that is not seen", "src/nn/tape.c", "if (t->watch)", "if (t->watch && n->as.attend.m.causal)"),
    ("notes for few layers alone", "src/model/transformer/transformer.c", "(size_t)c->decoder_layers + 2) << 14", "(size_t)c->decoder_layers + 2) << 12"),
    ("a workspace for short sequences", "src/model/transformer/decoder.c", "plan(d, tokens, err);", "plan(d, tokens / tokens, err);"),
    ("a round in the last one's order", DATA, "!held_out && round != d->round ? shuffle", "!held_out && d->round == UINT64_MAX ? shuffle"),
    ("a seed that shuffles nothing", DATA, ".seed = d->seed, .n = round}", ".seed = 0, .n = round}"),
    ("a line's own hash holds it out", DATA, "text + line->source, line->tab - line->source);\n  return (hash", "text + line->source, line->end - line->source);\n  return (hash"),
    ("beside a file a tenth is held out", DATA, "held_out ? TRAINED : -1", "-1"),
    ("a mark that is three lines", DATA, "d->text[n], from, size", "d->text[n], 0, size"),
    ("a carriage return stays", DATA, "end -= end > at && text[end - 1] == '\\r';", ""),
    ("only two lines to balance", DATA, "if (!held_out) balance(d);", ""),
    ("the last is the best", RUN, "  if (better) {\n", "  if (1) {\n"),
    ("equal shares, the worse loss", RUN, "u->loss < c->best_loss)", "u->loss > c->best_loss)"),
    ("no end to patience", RUN, "c->worse >= c->patience ?", "0 ?"),
    ("never good enough", RUN, "if (c->exact >= c->until) return", "if (0) return"),
    ("a stop that writes nothing", RUN, "written ? ATTN_OK : write(&l->run, l->run.last_path, NULL, err);", "written ? ATTN_OK : ATTN_OK;"),
    ("a validation that is stopped is forgotten", RUN, "if (c->pending) return ATTN_TRAIN_RUNNING;", ""),
    ("a stopped step has taken its examples", RUN, "if (status) return t->drawn = drawn, status;", "if (status) return status;"),
    ("a batch that cannot be stopped", "src/train/trainer.c", "? is_stopped : NULL;", "? NULL : NULL;"),
    ("examples are drawn in one go", RUN, "if (done % TOLD == 0) status", "if (0) status"),
    ("an old last one beside a new best", RUN, "r->replaces ? r->last_path : NULL", "NULL"),
    ("two runs of one name", "src/io/lock.c", "if (attn_lock_take(AT_FDCWD, lock->path, lock->fd)) return ATTN_OK;", "return ATTN_OK;"),
    ("what was left over stays", "src/io/file.c", "attn_lock_clean(w->beside);", ""),
    ("tensors are added without a lock", "src/io/store.c", "if (o[n].place.safetensors) status = attn_lock_begin", "if (0) status = attn_lock_begin"),
    ("who adds a tensor is not waited for", "src/io/store.c", "ADDING_MS = 10000", "ADDING_MS = 0"),
    ("one batch of many", RUN, "n < t->how.accumulate && !status", "n < 1 && !status"),
    ("a run that diverges goes on", RUN, "return l->skipped < SKIPPED_MOST ?", "return 1 ?"),
    ("an example is read twice", RUN, "t->drawn++;", ""),
    ("validations count from anew", "src/train/run_record.c", 'r->worse = whole(root, "worse")', "r->worse = 0"),
    ("what was best is forgotten", "src/train/run_record.c", 'r->best = real(root, "best");', "r->best = NAN;"),
    ("other data go unseen", BEGIN, "if (!status && r->record.hash == attn_text_pairs_hash(r->data)) return ATTN_OK;", "if (!status) return ATTN_OK;"),
    ("another's file is replaced", BEGIN, "r->replaces = !is_own(r, w->resume);", "r->replaces = !w->resume;"),
    ("the best of another name is promised", BEGIN, "if (is_own(r, resumed) && !access(r->best_path, F_OK)) return;", "return;"),
    ("a setting that is not heard", BEGIN, "if (settings[n].given)", "if (0)"),
    ("fewer threads, smaller batches", "src/train/trainer.c", "room = share_of(t) * each;", "room = t->how.batch / 2 * each;"),
    ("a reply that does not end", "src/model/generate/generate.c", "put(t, has_encoder(t) ? g->behind : -1);", ""),
    ("the end is not in log p", "src/model/generate/generate.c", "k < count + f->ended[n]", "k < count + 99 * f->ended[n]"),
    ("a shape that does not fit", "src/model/weights.c", "memcmp(at->shape, to->shape, (size_t)to->rank * sizeof *to->shape))", "0)"),
    ("words that do not fit", "src/model/model.c", "if (!status && (config->vocab_size != count ||", "if (0 && (config->vocab_size != count ||"),
    ("the shortest piece's neighbour", "src/tokenizers/wordpiece.c", "if (bytes - at > most) bytes = step_back(text, at + most + 1);", "if (bytes - at > 2) bytes = step_back(text, at + 3);"),
    ("pieces that go on without their prefix", "src/tokenizers/wordpiece.c", "size_t prefix = at ? c->w->prefix_bytes : 0, bytes", "size_t prefix = 0, bytes"),
    ("what was found of an unknown word stays", "src/tokenizers/wordpiece.c", "c->out->count = before;", "(void)before;"),
    ("a word of one letter too many", "src/tokenizers/wordpiece.c", "int fits = c->count <= c->w->letters;", "int fits = c->count < c->w->letters;"),
    ("marks of a word are left where they came", "src/tokenizers/wordpiece.c", "class_of(c->word[at - 1]) > class; at--)", "0; at--)"),
    ("an accent without a class lets others pass", "src/tokenizers/wordpiece.c", "else if (!class_of(parts[k]))", "else if (0)"),
    ("ideographs stick together", "src/tokenizers/wordpiece.c", "if (alone && c->count) end_word(c, c->next);", ""),
    ("control characters stay", "src/tokenizers/wordpiece.c", "code == 0xFFFD || is_control(code)", "code == 0xFFFD"),
    ("a special word is text", "src/tokenizers/wordpiece.c", "return id >= 0 && t->special[id] ? -1 : id;", "return id;"),
    ("a capital I keeps its dot to itself", "src/tokenizers/wordpiece.c", "if (code == I_DOTTED && c->w->lowers) add(c, DOT_ABOVE);", ""),
    ("a space before a full stop", "src/tokenizers/wordpiece.c", "*space = !goes_on && !(w->tidies && clings(word, bytes));", "*space = !goes_on;"),
    ("accents stay where nothing is said", "src/tokenizers/wordpiece_json.c", "? w->lowers\n", "? 0\n"),
    ("begin and end change places", "src/tokenizers/template_processing.c", "if (!status) t->begin = begin, t->end = end;", "if (!status) t->begin = end, t->end = begin;"),
    ("a text is cut with its end", "src/model/model.c", "most - around : count;", "most : count;"),
    ("the mean without what ends a text", "src/model/generate/embed.c", "? 1 : n;", "? 1 : n - 1;"),
    ("a vector of the neighbour's length", "src/model/generate/embed.c", "squares += (double)to[d] * (double)to[d];", "squares = (double)to[d] * (double)to[d];"),
    ("places run on from text to text", "src/model/transformer/batch.c", "p->places[t] = (int32_t)(t - start);", "p->places[t] = (int32_t)t;"),
    ("the folder's pooling is not asked", "src/model/generate/embed.c", "own->pooling ? own->pooling : ATTN_POOLING_MEAN", "ATTN_POOLING_MEAN"),
    ("a text that is to go on is ended", "src/model/huggingface/folder.c", "if (goes_on && g->behind >= 0)", "if (0)"),
    ("sentence-transformers' length is not read", "src/model/huggingface/folder.c", "if (json_is_integer(most)) s->most = json_integer_value(most);", "if (json_is_integer(most)) s->most += 3;"),
    ("texts longer than the model", "src/model/huggingface/folder.c", "if (s->most > length) s->most = length;", ""),
    ("gradients begin with what stood there", "src/nn/tape.c", "    memset(v->dx, 0, bytes_of(v));\n", ""),
    ("gradients are given up at once", "src/nn/buffer_offsets.c", "*one = (struct attn_place){at, bytes, *link}, *link = one;",
     "*one = (struct attn_place){at, bytes, *link};"),
    ("a gap is taken that is too small", "src/nn/buffer_offsets.c", "(*link)->at - at < bytes;", "(*link)->at - at < bytes / 2;"),
    ("a gradient has whatever place there is", "src/nn/tape.c", "v->number <= g->values && bytes_of(v) <= g->place[v->number].bytes",
     "v->number <= g->values"),
    ("large models are cut up", "src/train/trainer.c", "t->how.whole_from ? t->how.whole_from : WHOLE_FROM", "INT64_MAX"),
    ("gradients of the step before stay", "src/train/trainer.c", "memset((float *)numbers + from, 0, (size_t)(to - from) * sizeof(float));",
     "memset((float *)numbers + from, 0, (size_t)(to - from));"),
    ("the norm loses a piece", "src/train/optimizer.c", "k < PIECES; k++) sum +=", "k < PIECES - 1; k++) sum +="),
    ("e^x without the low half of log 2", "src/nn/exponential.h", "- k * -0x1.bd0106p-13f, p", ", p"),
    ("the last column of the bias's gradient", "src/nn/linear.c", "first, end - first);", "first, end - first - 1);"),
    ("equals count as right", "src/nn/cross_entropy.c", "while (v < target && x[v] < top) v++;", "v = target;"),
    ("the caller's stop is not heard", "src/base/watch.c", "if (w->stop(w->context, w->done, w->total)) w->stopped = 1;", "w->stop(w->context, w->done, w->total);"),
    ("places without a label", "src/model/transformer/batch.c", "labels[n] = n < target_count ? target[n] : ATTN_TOKEN_END;",
     "labels[n] = n < target_count ? target[n] : -1;"),
    ("a target is cut to its places", "src/model/transformer/batch.c", "target_count > source_count || !has_room", "!has_room"),
    ("an encoder says more than it has places for", "src/model/generate/predict_labels.c", "if (places < line.most) line.most = places;", ""),
    ("an encoder says its first token everywhere", "src/model/generate/predict_labels.c", "logits += words", "logits += 0"),
    ("an encoder draws", "src/model/generate/predict_labels.c", "if (how->temperature > 0)", "if (0)"),
    ("a group reads its neighbour's tokens", "src/model/transformer/batch.c", ".tokens = all->tokens + from,", ".tokens = all->tokens,"),
    ("labels that have no place", "src/train/dataset.c", "if (!e->labels || ", "if (1 || "),
    ("weights that no layer takes", "src/model/model.c", "if (weights == (size_t)n->count) return", "return"),
    ("an encoder's table is shorter than its words", "src/model/model.c", "(config->kind != ATTN_DECODER && config->source",
     "(config->kind == ATTN_ENCODER_DECODER && config->source"),
    ("a setting that changes replies is taken", "src/model/generate/generation_defaults.c", "if (!value || is_only(value, rules[n].only)) continue;", "if (value || !value) continue;"),
    ("what is never said is said", "src/model/generate/beam_state.c", "if (log_p > -INFINITY && !is_never(l->how, token))", "if (log_p > -INFINITY)"),
    ("a forced end comes a token late", "src/model/generate/beam_state.c", "l->how->forced_end && l->said + 1 == l->most", "l->how->forced_end && l->said == l->most"),
    ("beams by the other rule's penalty", "src/model/generate/beam_state.c", "return pow((double)steps, how->length_penalty);", "return pow((double)steps + 1, how->length_penalty);"),
    ("replies stand closer than the caller says", "src/model/generate/generate.c", "(size_t)n * replies->struct_size", "(size_t)n * sizeof *replies"),
    ("a newer caller's rest is left as it was", DESCRIPTOR, "memset((char *)to + most, 0, given - most);", ""),
    ("a folder's encoder speaks", "src/model/huggingface/folder.c", "  m->foreign = 1;\n", ""),
    ("packed weights are another layer's", "src/model/transformer/packed_weights.c", "return p ? p->of[l.number] : NULL;", "return p && l.number ? p->of[l.number - (l.number > 1)] : NULL;"),
    ("a lone row's weights are summed backwards", "src/kernel/sdpa_f32_single_query.inc", "for (int n = 0; n < count; n++) sum = sum + s->p[n];", "for (int n = count - 1; n >= 0; n--) sum = sum + s->p[n];"),
    ("a lone row's last keys are its first", "src/kernel/sdpa_f32_single_query.inc", "(n < count ? n : count - 1)", "(n + 1 < count ? n : 0)"),
    ("a lone row's output is not scaled down", "src/kernel/sdpa_f32_single_query.inc", "s->o[e] *= factor[0];", "s->o[e] *= 1.0f;"),
    ("a lone row is masked", "src/kernel/sdpa_f32_single_query.inc", "!t->has_mask && !t->has_alibi", "!t->has_alibi"),
    ("factors of a gradient have whatever place there is", "src/nn/tape.c", "if (!t->training || back <= t->factors_most) return;",
     "if (!t->training || t->numbers.memory || back <= t->factors_most) return;"),
    ("a checkpoint forgets its precision", "src/train/checkpoint.c", "h->halves ? attn_precision_name(1) : NULL", "NULL"),
    ("a precision that nobody knows", "src/train/train_setup.c", "if (!name || attn_precision_find(name, halves)) return ATTN_OK;",
     "if (!name || attn_precision_find(name, halves) >= 0) return ATTN_OK;"),
    ("Phi by one polynomial too far", "src/nn/normal.h", "{a < 1 ? 0.5f", "{a < 1.5f ? 0.5f"),
    ("Phi of its mirror image", "src/nn/normal.h", "x < 0 ? tail : 1 - tail", "x < 0 ? 1 - tail : tail"),
    ("a prompt leaves room that there is not", SEARCH, "l->most > length - g->reads[n] + 1", "l->most > length + 1"),
    # what readers refuse
    ("a list of a header that is refused", "src/io/store.c",
     "  if (status) return status;\n  for (size_t n = 0; n < h.entries; n++)", "  for (size_t n = 0; n < h.entries; n++)"),
    ("a NUL in JSON passed over", "src/io/json_text.c", "length ? memchr(text, 0, length) : NULL;", "NULL;"),
    ("a table of positions of any size", "src/model/config.c", "if (computed(c) > exp2(LOG2_TABLE))", "if (computed(c) < 0)"),
    ("memory for weights that the file does not hold", "src/model/weights.c",
     "if (status || (int64_t)(bytes / each) >= numbers) return status;", "if (bytes && each) return status;"),
    ("a validation of any length", "src/train/run_record.c", "r->examples > ATTN_VALIDATION_EXAMPLES_MAX)", "r->examples > INT64_MAX)"),
    ("a step of any number of batches", "src/train/checkpoint.c", "accumulate > ATTN_BATCH_SIZE_MAX", "accumulate == INT64_MAX"),
    ("memory for places instead of examples", "src/train/dataset.c", "e->length < BYTES ? e->length : BYTES", "e->length"),
    ("words without an end", BEGIN,
     "  free(texts);\n  if (!status) status = attn_tokenizer_check_special_tokens(r->tokenizer, err);\n", "  free(texts);\n"),
    ("an override of direction reaches the terminal", "src/base/utf8.c", "{0x2028, 0x202E}", "{0x2028, 0x202D}"),
    ("a lone surrogate is a character", "src/base/utf8.c", "first == 0xED ? 0x9F : ", ""),
    ("C1 is raw in JSON", "src/text/untrusted_text.c", "  if (attn_utf8_is_displayable(code)) return NULL;\n  snprintf", "  if (code >= 0x20) return NULL;\n  snprintf"),
    ("a stopped sink is asked again", "src/text/untrusted_text.c", "at < bytes && !stopped;", "at < bytes;"),
    ("an unknown word begins at its last character", "src/tokenizers/wordpiece.c", "if (!at) c->begin = c->at;", "c->begin = c->at;"),
    ("unknown parts are counted in bytes", "src/model/model.c", "column += (text[at] & 0xC0) != 0x80;", "column++;"),
    ("bare digits are names too", "src/report/explain_cell.c", "n < count && !attn_token_is_digits(text);", "n < count;"),
    ("quotes are a part of a token's name", "src/report/step_labels.c", "if (bytes < 3 || **token != '\"' ||", "if (bytes || **token != '\"' ||"),
    ("held-out figures of an earlier step", "src/model/history.c", "step >= steps || !every ? step", "!every ? step"),
]

FIRST = {  # where a mutation was caught before; others begin with the first test
    "a layer in bf16 multiplies float32": "test_bf16",
    "a gradient in bf16 is that of another layer": "test_bf16",
    "factors of a gradient have whatever place there is": "test_bf16",
    **{name: "test_packed" for name, path, _, _ in MUTATIONS if path == PACKED},
    "a stretch overlaps the next": "test_paged",
    "int8 without its scale": "test_paged",
    "a page read from its neighbour's rows": "test_paged",
    "keys behind a sequence's end are read": "test_paged",
    "a page in place begins at its first row": "test_paged",
    "a block in place spans pages": "test_paged",
    "dropout depends on the part": "test_trainer",
    "e^x without the low half of log 2": "test_exponential",
    "16 bits rounded twice": "test_tensor_rows",
    "a cache rounds by way of float32": "test_rounding",
    "stretches merged by way of float32": "test_rounding",
    "rows of nothing are kept": "test_layer_input",
    "a position beyond the tables": "test_layer_input",
    "columns carry over to the next head": "test_summary",
    "a weight of 0 is hidden": "test_summary",
    "a summary's weights dropped": "test_summary",
    "a summary's weights in 16 bits": "test_summary",
    "causal mask off by one": "test_values",
    "window off by one": "test_values",
    "scale x 1.01": "test_values",
    "hidden values are not guarded": "test_values",
    "lengths ignored": "test_values",
    "the wrong key/value head": "test_bits",
    "a lone row's weights are summed backwards": "test_bits",
    "no headroom": "test_values",
    "a finite mask hides": "test_values",
    "blocks depend on threads": "test_bits",
    "the softcap forgotten": "test_features",
    "ALiBi off by one": "test_features",
    "the sink takes nothing": "test_features",
    "a sink's row loses its sum beside a large maximum": "test_backward",
    "a softcap's slope taken from the whole score": "test_backward",
    "dropout draws by the block": "test_features",
    "what dropout keeps is not enlarged": "test_features",
    "tanh forgotten": "test_values",
    "a matrix of the wrong head": "test_score",
    "a matrix not transposed back": "test_score",
    "hidden keys leak into matrices": "test_score",
    "workers are counted for each sequence": "test_workers",
    "the kernel is chosen for each sequence": "test_workers",
    "a host's workers are taken as it numbers them": "test_workers",
    "hidden keys leak through the slope of the softcap": "test_hidden",
    "the fill of an empty row reaches its sink": "test_hidden",
    "the NaN of an empty row reaches its sink": "test_hidden",
    "no room for additive scores in summaries": "test_hidden",
    "general scores are scaled": "test_score",
    "the vector of the wrong head": "test_bits",
    "a block's rows share a vector": "test_features",
    "additive scores are scaled by the width": "test_values",
}


def run(*command, cwd):
    return subprocess.run(command, cwd=cwd, text=True, capture_output=True)


def order(name, path):
    """The likeliest test first, that of the last run above all: most mutations need no other to be built."""
    likely = {BACKWARD: "test_backward", GRADIENTS: "test_backward", ROTARY: "test_rotary", NORM: "test_norm", DESCRIPTOR: "test_descriptor",
              LAYER_NORM: "test_norm", RMS_NORM: "test_norm", SUMMARY: "test_summary_edges", SPLIT: "test_paged", CACHE: "test_cache",
              PAGED: "test_paged"}
    rooms = {"src/model/token_search": "test_search",
             "src/train/checkpoint": "test_checkpoint",
             "src/model/generate": "test_model",
             "src/nn/exponential": "test_exponential",
             "src/base/utf8": "test_text",
             "src/report/plain": "test_text",
             "src/report/": "test_explain",
             "src/model/history": "test_model",
             "src/model/decoder": "test_decoder",
             "src/model/weights": "test_model",
             "src/model/model.c": "test_model",
             "src/model/foreign": "test_huggingface",
             "src/model/generation": "test_huggingface",
             "src/model/folder": "test_embed",
             "src/io/wordpiece": "test_wordpiece",
             "src/io/frame": "test_wordpiece",
             "src/model/sample": "test_sample",
             "src/train/record": "test_run",
             "src/base/watch": "test_run",
             "src/io/tokenizer_train": "test_run",
             "src/io/lock": "test_run",
             "src/io/file": "test_run",
             "src/model/embed": "test_embed",
             "src/model/sharing": "test_embed",
             "src/model/label": "test_label",
             "src/model/encode": "test_label",
             "src/model/batch": "test_trainer",
             "src/train/examples": "test_run",
             "src/model/trace": "test_trace",
             "src/train/data": "test_text_pairs",
             "src/model/beam": "test_search",
             "src/base/view": "test_view",
             "src/train/run": "test_run",
             "src/nn/linalg": "test_matmul",
             "src/nn/gemm": "test_matmul",
             "src/nn/bf16": "test_bf16",
             "src/nn/normal": "test_normal",
             "src/model/": "test_transformer",
             "src/train/": "test_trainer",
             "src/nn/": "test_tape"}
    room = next((test for start, test in rooms.items() if path.startswith(start)), TESTS[0])
    first = CAUGHT.get(name, FIRST.get(name, likely.get(path, room)))
    core = TESTS.index("test_view")  # those before it take long, and see nothing of what stands above the core
    above = path.split("/")[1] in ("io", "nn", "model", "train")
    rest = TESTS[core:] + TESTS[:core] if above else TESTS
    return [first] + [t for t in rest if t != first]


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


BENCHES = ROOT / "build/mutate"
SOUND = set()  # tests that were seen to pass
CAUGHT = {}    # by name: the test that noticed it last
REMEMBERING = threading.Lock()
LIGHTER = {    # a kernel is compiled for each instruction set, slowly: 4 lanes stand for AVX-512's 16
    "tests/kernel/model_avx512.c": [("VL 16", "VL 4"), ("FUSED 1", "FUSED 0")],
    "src/base/cpu.c": [("return ATTN_ISA_AVX512;", "return ATTN_ISA_AVX2;")],
    "src/kernel/sdpa_f32_avx512.c": [('#include "vec_avx512.h"', """#include "kernel.h"
const struct attn_kernel attn_kernel_avx512 = {.isa = ATTN_ISA_AVX512};
#if 0"""), ('#include "sdpa_f32.inc"', "#endif")],
}


def files_of(tree):
    """Every file of the tree, by its path from there; no builds, no caches."""
    for folder, below, names in os.walk(tree):
        below[:] = [d for d in below if not d.startswith((".", "__pycache__")) and (d != "build" or Path(folder) != tree)]
        yield from ((Path(folder) / name).relative_to(tree) for name in names)


def sync(tree):
    """Makes it a copy of the source, lighter in places. What is the same already keeps its time, so it is not compiled again."""
    source, there = set(files_of(ROOT)), set(files_of(tree))
    for path in there - source:
        (tree / path).unlink()
    for path in source:
        data = (ROOT / path).read_bytes()
        for old, new in LIGHTER.get(str(path), []):
            assert data.count(old.encode()) == 1, f"{path}: {old}"
            data = data.replace(old.encode(), new.encode())
        if path not in there or (tree / path).read_bytes() != data:
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_bytes(data)


class Bench:
    """A copy of the tree with a build of its own: what one thread breaks and mends. No other run uses it meanwhile."""

    def __init__(self, number):
        while not self.lock(BENCHES / str(number)):
            number += 1
        self.tree, self.build = (BENCHES / str(number) / name for name in ("tree", "build"))
        sync(self.tree)
        if self.configure().returncode:  # of another generator or compiler, perhaps: once more from nothing
            shutil.rmtree(self.build, ignore_errors=True)
            done = self.configure()
            if done.returncode:
                raise RuntimeError(done.stdout + done.stderr)

    def lock(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self.held = open(folder / "lock", "w")
        try:
            fcntl.flock(self.held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def configure(self):
        cache = ["-DCMAKE_C_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        return run("cmake", "-S", str(self.tree), "-B", str(self.build), "-DCMAKE_BUILD_TYPE=Release",
                   "-DCMAKE_C_FLAGS_RELEASE=-O1", "-DATTN_TESTS=ON", *cache, cwd=self.tree)

    def passes(self, verdict):
        """Whether the test that caught something lets the code pass as it is: else it caught nothing."""
        test = verdict.split()[2]
        if test not in SOUND and caught_by(self.tree, self.build, [test]) is None:
            SOUND.add(test)
        return test in SOUND


def remember(name, test):
    with REMEMBERING:
        CAUGHT[name] = test
        whole = BENCHES / f"caught.{os.getpid()}"
        whole.write_text(json.dumps(CAUGHT, indent=0, sort_keys=True))
        whole.rename(BENCHES / "caught.json")


def judge(benches, mutation):
    """Breaks it on a free bench; prints the verdict. True if the suite noticed."""
    bench, start = benches.get(), time.monotonic()
    try:
        verdict = mutate(bench.tree, bench.build, mutation)
        good = verdict is not None and verdict.startswith("caught")
        if good and not bench.passes(verdict):
            good, verdict = False, verdict.replace("caught by", "fails before anything is broken:")
        if good:
            remember(mutation[0], verdict.split()[2])
    finally:
        benches.put(bench)
    print(f"{'ok  ' if good else 'LOST'} {mutation[0]}: {verdict or 'SURVIVED'} ({time.monotonic() - start:.0f} s)",
          flush=True)
    return good


def choose(words):
    """In the order of their files: mending a file is then part of breaking it anew."""
    every = sorted(MUTATIONS, key=lambda m: m[1])
    if words[:1] == ["--part"]:
        part, parts = map(int, words[1].split("/"))
        return every[len(every) * (part - 1) // parts:len(every) * part // parts]
    if words[:1] != ["--sample"]:
        return [m for m in every if not words or m[0] in words]
    seed = os.environ.get("ATTN_SEED", str(random.SystemRandom().randrange(2**32)))
    count = min(int(words[1]), len(MUTATIONS))
    print(f"{count} of {len(MUTATIONS)} mutations, ATTN_SEED={seed}; make mutate has them all", flush=True)
    return sorted(random.Random(seed).sample(MUTATIONS, count), key=lambda m: m[1])


def main():
    if stale():
        sys.exit("these do not apply any more: " + ", ".join(stale()))
    if sys.argv[1:] == ["--stale"]:
        return
    chosen = choose(sys.argv[1:])
    unknown = set() if sys.argv[1:2] in (["--part"], ["--sample"]) else set(sys.argv[1:]) - {m[0] for m in chosen}
    if unknown or not chosen:
        sys.exit("there are no such mutations: " + (", ".join(sorted(unknown)) or " ".join(sys.argv[1:])))
    if (BENCHES / "caught.json").exists():
        CAUGHT.update((name, test) for name, test in json.loads((BENCHES / "caught.json").read_text()).items() if test in TESTS)
    count = min(os.cpu_count() or 1, 8, len(chosen))
    os.environ["CMAKE_BUILD_PARALLEL_LEVEL"] = "1"  # the benches are what runs side by side
    os.environ["CMOCKA_TEST_ABORT"] = "1"           # the first failure is enough
    os.environ.setdefault("CCACHE_BASEDIR", str(BENCHES))
    with ThreadPoolExecutor(count) as pool:
        benches = queue.SimpleQueue()
        for bench in pool.map(Bench, range(count)):
            benches.put(bench)
        lost = list(pool.map(lambda m: judge(benches, m), chosen)).count(False)
    print(f"{len(chosen) - lost} of {len(chosen)} mutations caught")
    sys.exit(1 if lost else 0)


if __name__ == "__main__":
    main()
