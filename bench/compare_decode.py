#!/usr/bin/env python3
"""Decoding against PyTorch's scaled_dot_product_attention, interleaved: few queries, long keys and values.

    bench/compare_decode.py --library build/release/libattn.so [--repetitions 10] [--threads 1] [--only WORD ...]

GB/s of keys and values, each counted once however many heads share them, from the minimum (median) time; the bandwidth is
that of a plain read on one thread, measured after each round; the share is the median of the rounds'. Keys and values exceed
the caches. One thread is timed by its CPU time. int8 is a cache with a page for each sequence; "paged" has pages of 16
tokens in random order.
"""
import ctypes
import statistics

import torch
import torch.nn.functional as F
from compare_torch import DTYPES, Comparison, Sdpa, view

DTYPES.update({torch.int8: 0x00010800, torch.int32: 0x00012000, torch.int64: 0x00014000})


class Pages(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t)] + [
        (name, ctypes.c_void_p) for name in ("k", "v", "k_scales", "v_scales", "page_table", "lengths")]


class Case:
    """Queries of one token, or of a few; dense keys and values, or pages."""

    def __init__(self, name, dtype, group=1, batch=4, heads=8, keys=8192, width=128, rows=1, page=0, threads=1):
        self.name, self.page = name, page
        types = (torch.float32, torch.float32) if dtype == torch.int8 else (dtype, dtype)
        self.q = torch.randn(batch, heads * group, rows, width).to(types[0])
        self.o = torch.empty_like(self.q)
        shape = (batch * keys // page, heads, page, width) if page else (batch, heads, keys, width)
        if dtype == torch.int8:
            self.k, self.v = (torch.randint(-127, 128, shape, dtype=dtype) for _ in range(2))
        else:
            self.k, self.v = (torch.randn(shape).to(dtype) for _ in range(2))
        self.kept = [self.q, self.k, self.v, self.o]
        if page:
            self.scales = [torch.rand(shape[:3]) / 64 for _ in range(2 if dtype == torch.int8 else 0)]
            self.table = torch.randperm(shape[0], dtype=torch.int32).view(batch, -1)
            self.kept += [self.table, torch.full((batch,), keys, dtype=torch.int64)] + self.scales
        self.views = [view(t) for t in self.kept]
        self.desc = Sdpa(struct_size=ctypes.sizeof(Sdpa), threads=threads)
        if page:
            address = [ctypes.addressof(t) for t in self.views]
            self.pages = Pages(ctypes.sizeof(Pages), address[1], address[2], page_table=address[4], lengths=address[5])
            if self.scales:
                self.pages.k_scales, self.pages.v_scales = address[6:]
        self.gigabytes = 2 * batch * heads * keys * width * self.k.element_size() * 1e-9
        self.dense = not page

    def ours(self, library):
        q, k, v, o = (ctypes.byref(t) for t in self.views[:4])
        if self.page:
            status = library.attn_sdpa_forward_paged(ctypes.byref(self.desc), q, ctypes.byref(self.pages), o, None)
        else:
            status = library.attn_sdpa_forward(ctypes.byref(self.desc), q, k, v, o, None)
        assert status == 0, status

    def contents(self, x, scales):
        """Dense keys or values of the pages."""
        x = x.float() if scales is None else x * scales[..., None]
        pages = x[self.table.long()].to(self.q.dtype)
        return pages.permute(0, 2, 1, 3, 4).flatten(2, 3)

    def theirs(self):
        if self.page:
            scales = self.scales or (None, None)
            k, v = (self.contents(x, s) for x, s in zip((self.k, self.v), scales))
        else:
            k, v = self.k, self.v
        return F.scaled_dot_product_attention(self.q, k, v, enable_gqa=self.q.shape[1] != k.shape[1])

    def check(self, library):
        self.ours(library)
        limit = 1e-4 if self.q.dtype == torch.float32 else 2e-2
        assert torch.allclose(self.o, self.theirs(), atol=limit, rtol=limit), f"{self.name}: different results"


def cases():
    types = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "int8": torch.int8}
    for type_, dtype in types.items():
        for group in (1, 4, 8):
            page = {"page": 8192} if dtype == torch.int8 else {}  # a page for each sequence
            yield f"{type_} d128 G{group}", dict(dtype=dtype, group=group, **page)
    for type_ in ("f32", "bf16", "int8"):
        yield f"{type_} d128 G4 paged", dict(dtype=types[type_], group=4, page=16)
    for type_ in ("f32", "bf16"):
        yield f"{type_} d64 G4", dict(dtype=types[type_], group=4, width=64, heads=16)
        yield f"{type_} d80 G1", dict(dtype=types[type_], width=80, heads=12)
        yield f"{type_} d128 G4 L4", dict(dtype=types[type_], group=4, rows=4)
    yield "f32 d128 G1 B1 H1", dict(dtype=torch.float32, batch=1, heads=1, keys=1 << 17)
    yield "f32 d128 G1 S512", dict(dtype=torch.float32, batch=64, keys=512)


def main():
    comparison, read = Comparison(__doc__, "GB/s of keys and values", 10), ctypes.c_double()
    for name, arguments in cases():
        if not comparison.wants(name):
            continue
        case, reads = Case(name, threads=comparison.options.threads, **arguments), []

        def measure_read(_):
            assert comparison.libraries[0].attn_machine_measure(None, ctypes.byref(read)) == 0
            reads.append(read.value)

        times = comparison.run(case, case.dense, measure_read)
        shares = [100 * case.gigabytes / t / r for t, r in zip(times[len(comparison.libraries) - 1], reads)]
        print(f"{name:22} {comparison.rates(times, case.gigabytes)}  read {max(reads):4.1f} "
              f"({statistics.median(reads):4.1f}), {statistics.median(shares):3.0f} %", flush=True)


if __name__ == "__main__":
    main()
