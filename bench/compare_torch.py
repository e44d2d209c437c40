#!/usr/bin/env python3
"""libattn against PyTorch's scaled_dot_product_attention and its gradients, interleaved.

    bench/compare_torch.py --library build/release/libattn.so [--repetitions 20] [--threads 1] [--only WORD ...]

Several --library compare builds. GFLOP/s from the minimum (median) time; causal counts half of the pairs, the
backward five products. One thread is timed by its CPU time, which other processes disturb less. The peak is measured
between the calls.
"""
import argparse
import ctypes
import statistics
import time

import torch
import torch.nn.functional as F
from timing import cpu_name, timed

DTYPES = {torch.float32: 0x00012002, torch.bfloat16: 0x00011004, torch.float16: 0x00011002, torch.bool: 0x00010806}


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("shape", ctypes.c_int64 * 8), ("strides", ctypes.c_int64 * 8)]


class Sdpa(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("flags", ctypes.c_uint64), ("scale", ctypes.c_double),
                ("align", ctypes.c_int32), ("empty_row", ctypes.c_int32), ("offset", ctypes.c_int64),
                ("window", ctypes.c_int64 * 2), ("mask", ctypes.c_void_p), ("key_lengths", ctypes.c_void_p),
                ("lse", ctypes.c_void_p), ("weights", ctypes.c_void_p), ("executor", ctypes.c_void_p),
                ("allocator", ctypes.c_void_p), ("workspace", ctypes.c_void_p),
                ("workspace_bytes", ctypes.c_size_t), ("threads", ctypes.c_int32),
                ("reserved", ctypes.c_int32), ("progress", ctypes.c_void_p * 2), ("softcap", ctypes.c_double),
                ("alibi", ctypes.c_void_p)]


class Gradients(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t)] + [
        (name, ctypes.c_void_p) for name in ("d_q", "d_k", "d_v", "d_mask", "d_sinks", "d_lse", "d_additive")]


def view(t):
    out = Tensor(t.data_ptr(), DTYPES[t.dtype], t.dim())
    for n in range(t.dim()):
        out.shape[n], out.strides[n] = t.shape[n], t.stride(n)
    return out


class Case:
    """One problem: its tensors, and calls of each library and of PyTorch."""

    def __init__(self, name, direction, width=64, length=2048, heads=2, kv_heads=None, dtype=torch.float32, mask=None,
                 threads=1):
        self.name, self.direction, self.causal, self.dtype = name, direction, "causal" in name, dtype
        self.q, self.d_o = (torch.randn(1, heads, length, width).to(dtype) for _ in range(2))
        self.k, self.v = (torch.randn(1, kv_heads or heads, length, width).to(dtype) for _ in range(2))
        self.o, self.lse = torch.empty_like(self.q), torch.empty(1, heads, length)
        self.results = [torch.empty_like(t) for t in (self.q, self.k, self.v)]
        self.mask = self.slopes = None
        if mask == "bool":
            self.mask = torch.rand(length, length) < 0.9
        elif mask:
            self.mask = torch.randn((heads if mask == "gradient" else 1, length, length))
        if mask == "gradient":
            self.mask.requires_grad_()
            self.results.append(torch.empty_like(self.mask))
        if mask == "alibi":
            self.slopes = torch.tensor([2.0 ** -(n + 1) for n in range(heads)])
            distance = (torch.arange(length)[:, None] - torch.arange(length)).abs()
            self.mask = -self.slopes[:, None, None] * distance
        pairs = length * (length + 1) / 2 if self.causal else length * length
        self.flops = (4 if direction == "forward" else 10) * heads * pairs * width * 1e-9
        self.views = [view(t) for t in (self.q, self.k, self.v, self.o, self.d_o)]
        self.kept = [view(t) for t in [self.lse] + self.results + [t for t in (self.slopes, self.mask) if t is not None]]
        address = lambda n: ctypes.cast(ctypes.pointer(self.kept[n]), ctypes.c_void_p)
        self.desc = Sdpa(struct_size=ctypes.sizeof(Sdpa), flags=2 if self.causal else 0, threads=threads,
                         lse=address(0))
        if self.slopes is not None:
            self.desc.alibi = address(-2)
        elif self.mask is not None:
            self.desc.mask = address(-1)
        self.gradients = Gradients(ctypes.sizeof(Gradients), address(1), address(2), address(3))
        if mask == "gradient":
            self.gradients.d_mask = address(4)
        self.graph = None

    def ours(self, library, direction=None):
        q, k, v, o, d_o = (ctypes.byref(t) for t in self.views)
        if (direction or self.direction) == "forward":
            status = library.attn_sdpa_forward(ctypes.byref(self.desc), q, k, v, o, None)
        else:
            status = library.attn_sdpa_backward(ctypes.byref(self.desc), q, k, v, o, d_o, ctypes.byref(self.gradients),
                                                None)
        assert status == 0, status

    def theirs(self):
        options = {"is_causal": self.causal, "enable_gqa": self.q.shape[1] != self.k.shape[1]}
        mask = self.mask if self.mask is None or self.mask.dtype == torch.bool else self.mask.to(self.dtype)
        if self.direction == "forward":
            with torch.no_grad():
                return F.scaled_dot_product_attention(self.q, self.k, self.v, mask, **options)
        if not self.graph:
            inputs = [t.requires_grad_() for t in (self.q, self.k, self.v)]
            out = F.scaled_dot_product_attention(*inputs, mask, **options)
            self.graph = out, inputs + ([self.mask] if len(self.results) > 3 else [])
        return torch.autograd.grad(*self.graph, self.d_o, retain_graph=True)

    def check(self, library):
        self.ours(library, "forward")
        self.ours(library)
        limit = 1e-3 if self.dtype == torch.float32 else 0.1
        theirs = self.theirs()
        pairs = [(self.o, theirs)] if self.direction == "forward" else zip(self.results, theirs)
        for a, b in pairs:
            assert torch.allclose(a.float(), b.float(), atol=limit, rtol=limit), f"{self.name}: different results"


def cases(threads):
    for direction in ("forward", "backward"):
        for name, options in {
                "f32 d64 full": {}, "f32 d64 causal": {}, "f32 d128 full": {"width": 128},
                "f32 d128 causal": {"width": 128}, "f32 d80 full": {"width": 80},
                "f32 d64 L512 causal": {"length": 512, "heads": 8}, "f32 d64 L128 full": {"length": 128, "heads": 16},
                "f32 d64 group4 full": {"heads": 4, "kv_heads": 1},
                "f32 d64 bool mask": {"mask": "bool"}, "f32 d64 float mask": {"mask": "float"},
                "f32 d64 ALiBi": {"mask": "alibi"}, "f32 d64 mask gradient": {"mask": "gradient"},
                "bf16 d64 full": {"dtype": torch.bfloat16}, "f16 d64 full": {"dtype": torch.float16},
                "bf16 d128 causal": {"dtype": torch.bfloat16, "width": 128}}.items():
            if direction == "backward" or "gradient" not in name:
                yield lambda name=name, direction=direction, options=options: Case(name, direction, threads=threads,
                                                                                    **options), f"{direction} {name}"


class Comparison:
    """The options that comparisons of builds share, and their interleaved rounds."""

    def __init__(self, doc, unit, repetitions):
        parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("--library", required=True, action="append")
        parser.add_argument("--repetitions", type=int, default=repetitions)
        parser.add_argument("--threads", type=int, default=1)
        parser.add_argument("--only", nargs="*", default=[], help="words that the name of a case must contain")
        parser.add_argument("--no-torch", action="store_true", help="do not time PyTorch")
        self.options = parser.parse_args()
        self.libraries = [ctypes.CDLL(name) for name in self.options.library]
        self.clock = time.thread_time if self.options.threads == 1 else time.perf_counter
        torch.set_num_threads(self.options.threads)
        print(f"# {cpu_name()}, PyTorch {torch.__version__}, {self.options.threads} thread(s); {unit}, minimum (median) time "
              f"of {self.options.repetitions}")

    def wants(self, name):
        return all(word in name.split() for word in self.options.only)

    def run(self, case, with_torch, after_round):
        """The seconds of each round, of each library and then of PyTorch; calls after_round(n)."""
        for library in self.libraries:
            case.check(library)
        calls = [lambda library=library: case.ours(library) for library in self.libraries]
        calls += [case.theirs] if with_torch and not self.options.no_torch else []
        times = [[] for _ in calls]
        for n in range(self.options.repetitions):
            for call, list_ in zip(calls, times):
                list_.append(timed(call, self.clock))
            after_round(n)
        return times

    def rates(self, times, amount):
        names = ["libattn"] * len(self.libraries) + ["PyTorch"]
        return "  ".join(f"{name} {amount / min(t):6.1f} ({amount / statistics.median(t):6.1f})" for name, t in zip(names, times))


def main():
    comparison, peak = Comparison(__doc__, "GFLOP/s", 20), ctypes.c_double()
    for make, name in cases(comparison.options.threads):
        if not comparison.wants(name):
            continue
        case, peaks = make(), []

        def measure_peak(n):
            if n % 8 == 0:
                assert comparison.libraries[0].attn_machine_measure(ctypes.byref(peak), None) == 0
                peaks.append(peak.value * comparison.options.threads)

        times = comparison.run(case, True, measure_peak)
        share = 100 * case.flops / min(times[len(comparison.libraries) - 1]) / max(peaks)
        print(f"{name:30} {comparison.rates(times, case.flops)}  peak {max(peaks):.0f}, {share:.0f} %", flush=True)


if __name__ == "__main__":
    main()
