#!/usr/bin/env python3
"""Whole models, float32 and bf16: libattn's training against PyTorch's, its decoding against CTranslate2's.

    bench/compare_model.py --program build/release/bench_model [--steps 10] [--threads 0] [--only PATTERN] [--json FILE]

Each program runs in its own process and executes a step on request, interleaved, so that all see the same
machine. Weights and tokens are random. Programs that are not installed are skipped.
Bound: matrix products at the rate of a large one, and the necessary memory traffic at the rate of a copy.
bf16: PyTorch's autocast; CTranslate2 in float32, and in bfloat16 if it supports that on this CPU.
"""
import argparse
import fnmatch
import json
import os
import statistics
import subprocess
import sys
import tempfile

from timing import cpu_name, timed

# As in bench_model.c.
SHAPES = {
    "gpt2": dict(kind="decoder", vocab_size=50257, d_model=768, num_heads=12, ffn_dim=3072, layers=12, batch=4, tokens=64),
    "base": dict(kind="both", vocab_size=8000, d_model=512, num_heads=8, ffn_dim=2048, layers=6, batch=32, tokens=32),
    "dates": dict(kind="both", vocab_size=80, d_model=64, num_heads=4, ffn_dim=256, layers=2, batch=64, tokens=12),
}
CASES = [(kind, name, more | precision) for precision in ({}, dict(bf16=1)) for kind, name, more in [
    *(("train", name, {}) for name in SHAPES),
    *(("decode", "base", {"batch-size": batch_size, "num-beams": num_beams}) for batch_size in (1, 32) for num_beams in (1, 4))]]


# ---- Peers: print "ready", then the seconds of a step per line of input, then the peak memory ----

def serve(step):
    import resource
    step()
    print("ready", flush=True)
    for _ in sys.stdin:
        print("seconds", timed(step), flush=True)
    print("peak_rss", 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, flush=True)


def torch_decoder(s, torch):
    """GPT-2 as a plain module: pre-norm, learned positions, tied output."""
    from torch import nn
    from torch.nn import functional as F

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            d = s["d_model"]
            self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
            self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
            self.wide, self.narrow = nn.Linear(d, s["ffn_dim"]), nn.Linear(s["ffn_dim"], d)

        def forward(self, x):
            b, t, d = x.shape
            q, k, v = (y.view(b, t, s["num_heads"], -1).transpose(1, 2) for y in self.qkv(self.norm1(x)).split(d, -1))
            o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(o.transpose(1, 2).reshape(b, t, d))
            return x + self.narrow(F.gelu(self.wide(self.norm2(x)), approximate="tanh"))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.positions = nn.Embedding(s["vocab_size"], s["d_model"]), nn.Embedding(1024, s["d_model"])
            self.layers = nn.ModuleList(Layer() for _ in range(s["layers"]))
            self.norm = nn.LayerNorm(s["d_model"])

        def forward(self, source, target):
            x = self.tokens(target) + self.positions(torch.arange(target.shape[1]))
            for layer in self.layers:
                x = layer(x)
            return self.norm(x) @ self.tokens.weight.T

    return Model()


def torch_both(s, torch):
    from torch import nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.source, self.target = (nn.Embedding(s["vocab_size"], s["d_model"]) for _ in range(2))
            self.middle = nn.Transformer(s["d_model"], s["num_heads"], s["layers"], s["layers"], s["ffn_dim"], 0.0,
                                         batch_first=True, norm_first=True)
            self.output = nn.Linear(s["d_model"], s["vocab_size"])
            self.register_buffer("positions", torch.randn(128, s["d_model"]), persistent=False)
            self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(s["tokens"]), persistent=False)

        def forward(self, source, target):
            scale, positions = s["d_model"] ** 0.5, self.positions[: s["tokens"]]
            return self.output(self.middle(self.source(source) * scale + positions, self.target(target) * scale + positions,
                                           tgt_mask=self.mask, tgt_is_causal=True))

    return Model()


def run_torch(name, threads, bf16=0):
    import torch
    if threads:
        torch.set_num_threads(threads)
    s = SHAPES[name]
    model = (torch_decoder if s["kind"] == "decoder" else torch_both)(s, torch)
    source, target = (torch.randint(4, s["vocab_size"], (s["batch"], s["tokens"])) for _ in range(2))
    try:
        optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=True)
    except RuntimeError:
        optimizer = torch.optim.AdamW(model.parameters(), 1e-4, foreach=True)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=bool(bf16)):
            logits = model(source, target)
            loss = torch.nn.functional.cross_entropy(logits.view(-1, s["vocab_size"]), target.view(-1))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    serve(step)


def ct2_model(s, folder):
    import numpy
    from ctranslate2.specs import TransformerSpec
    rng = numpy.random.default_rng(1)
    d, f, v = s["d_model"], s["ffn_dim"], s["vocab_size"]

    def matrix(rows, columns):
        return (rng.standard_normal((rows, columns)) * columns ** -0.5).astype(numpy.float32)

    def linear(spec, rows, columns):
        spec.weight, spec.bias = matrix(rows, columns), numpy.zeros(rows, numpy.float32)

    def norm(spec):
        spec.gamma, spec.beta = numpy.ones(d, numpy.float32), numpy.zeros(d, numpy.float32)

    def attention(spec, rows):
        norm(spec.layer_norm)
        for part, count in zip(spec.linear, rows):
            linear(part, count, d)

    spec = TransformerSpec.from_config((s["layers"], s["layers"]), s["num_heads"], pre_norm=True)
    for side in (spec.encoder, spec.decoder):
        norm(side.layer_norm)
        side.position_encodings.encodings = matrix(128, d)
        for layer in side.layer:
            attention(layer.self_attention, (3 * d, d))
            if side is spec.decoder:
                attention(layer.attention, (d, 2 * d, d))
            norm(layer.ffn.layer_norm)
            linear(layer.ffn.linear_0, f, d), linear(layer.ffn.linear_1, d, f)
    spec.encoder.embeddings[0].weight = spec.decoder.embeddings.weight = matrix(v, d)
    spec.encoder.scale_embeddings = spec.decoder.scale_embeddings = True
    linear(spec.decoder.projection, v, d)
    words = ["<unk>", "<s>", "</s>"] + [f"w{n}" for n in range(v - 3)]
    spec.register_source_vocabulary(words), spec.register_target_vocabulary(words)
    spec.validate(), spec.save(folder)
    return words


def run_ct2(name, threads, batch_size, num_beams, bf16=0):
    import random
    import ctranslate2
    s = SHAPES[name]
    with tempfile.TemporaryDirectory() as folder:
        words = ct2_model(s, folder)
        translator = ctranslate2.Translator(folder, compute_type="bfloat16" if bf16 else "float32", inter_threads=1, intra_threads=threads)
    source = [[random.choice(words[3:]) for _ in range(s["tokens"])] for _ in range(batch_size)]

    def step():
        results = translator.translate_batch(source, beam_size=num_beams, min_decoding_length=s["tokens"],
                                           max_decoding_length=s["tokens"], max_batch_size=0)
        assert all(len(r.hypotheses[0]) == s["tokens"] for r in results)
    serve(step)


# ---- Interleaved steps ----

class Runner:
    def __init__(self, name, command):
        self.name, self.seconds, self.facts = name, [], {}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def step(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            key, *value = line.split()
            if key == "seconds":
                self.seconds.append(float(value[0]))
                return
            self.facts[key] = float(value[0]) if value else 1.0
        raise SystemExit(f"{self.name} stopped")

    def end(self):
        for line in self.process.communicate()[0].splitlines():
            self.facts[line.split()[0]] = float(line.split()[1])
        if self.process.returncode:
            raise SystemExit(f"{self.name} failed")


def has(module):
    return subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True).returncode == 0


def peers(case):
    """name, module, model, arguments after the threads"""
    kind, name, more = case
    if kind == "train":
        return [("PyTorch bf16" if more else "PyTorch", "torch", name, more)]
    single = {key: value for key, value in more.items() if key != "bf16"}
    both = [("CTranslate2", "ctranslate2", name, single)]
    supports = "import ctranslate2 as c, sys; sys.exit('bfloat16' not in c.get_supported_compute_types('cpu'))"
    if "bf16" in more and not subprocess.run([sys.executable, "-c", supports], capture_output=True).returncode:
        both.append(("CT2 bf16", "ctranslate2", name, more))
    return both


def bound(kind, facts, limits, rows, tokens, bf16):
    """Seconds at the limits of the machine. Training: the matrix products, then AdamW's seven passes over the
    weights. Decoding: per token the larger of the time of the products and of reading the weights once."""
    flops, size = (limits["bf16_flops"], 2) if bf16 else (limits["gemm_flops"], 4)
    if kind == "train":
        return facts["flops"] / flops + 7 * 4 * facts["weights"] / limits["stream_bytes"]
    weights = facts["decoder_weights"]
    return tokens * max(2 * rows * weights / flops, size * weights / limits["stream_bytes"])


def measure(case, options, threads):
    kind, name, more = case
    words = [option for key, value in more.items() for option in (f"--{key}", str(value))]
    ours = [options.program, kind, name, "--steps", "0", "--threads", str(threads), *words]
    runners = [Runner("libattn bf16" if "bf16" in more else "libattn", ours)]
    for label, module, model, options_ in peers(case):
        if has(module):
            arguments = [module, model, str(threads), *(str(value) for value in options_.values())]
            runners.append(Runner(label, [sys.executable, os.path.abspath(__file__), "--peer", *arguments]))
    for _ in range(options.steps):
        for runner in runners:
            runner.step()
    for runner in runners:
        runner.end()
    return runners


def main():
    if sys.argv[1:2] == ["--peer"]:
        module, name, threads, *more = sys.argv[2:]
        return (run_torch if module == "torch" else run_ct2)(name, int(threads), *map(int, more))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--threads", type=int, default=0, help="of training; 0: all")
    parser.add_argument("--only", default="*", help="cases by name: 'train-gpt2', 'decode-*', '*-bf16'")
    parser.add_argument("--json")
    options = parser.parse_args()
    cpu = cpu_name()
    rows, limits = [], {}
    print(f"# {cpu}, random weights; tokens/s of {options.steps} interleaved steps")
    print(f"{'':32} {'':13} {'best':>9} {'median':>9} {'peak MB':>8} {'of bound':>9}")
    for case in CASES:
        kind, name, more = case
        label = "-".join([kind, name, *("bf16" if key == "bf16" else f"{key}{value}" for key, value in more.items())])
        if not fnmatch.fnmatch(label, options.only):
            continue
        threads = options.threads if kind == "train" else 1
        if threads not in limits:
            lines = subprocess.run([options.program, "limits", str(threads)], capture_output=True, text=True, check=True)
            limits[threads] = {l.split()[0]: float(l.split()[1]) for l in lines.stdout.splitlines()}
        runners = measure(case, options, threads)
        facts, s = runners[0].facts, SHAPES[name]
        minimum = bound(kind, facts, limits[threads], more.get("batch-size", 1) * more.get("num-beams", 1), s["tokens"],
                      "bf16" in more)
        for r in runners:
            rate = [facts["tokens"] / t for t in (min(r.seconds), statistics.median(r.seconds))]
            rows.append(dict(case=label, name=r.name, threads=threads, best=rate[0], median=rate[1],
                             peak_rss=r.facts["peak_rss"], of_bound=minimum / min(r.seconds), seconds=r.seconds))
            print(f"{label:32} {r.name:13} {rate[0]:9.1f} {rate[1]:9.1f} {r.facts['peak_rss'] / 1e6:8.0f} "
                  f"{100 * minimum / min(r.seconds):8.0f}%", flush=True)
    if options.json:
        with open(options.json, "w") as f:
            json.dump(dict(cpu=cpu, steps=options.steps, limits=limits, rows=rows), f, indent=1)


if __name__ == "__main__":
    main()
