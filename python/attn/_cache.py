"""Key-value cache for decoding."""
from collections.abc import Iterable, Mapping, Set

import numpy as np

from ._core import (BF16, F16, F32, AttnError, call, choose, core, empty_like, ffi, integer, mark_written, new_struct,
                    view)
from ._sdpa import _Descriptor, _lse_type

_TYPES = {"float32": F32, "float16": F16, "bfloat16": BF16, "int8": 0x00010800}


class KVCache:
    """Keys and values of several sequences that grow token by token. Not thread-safe.

    Parameters
    ----------
    num_kv_heads : int
        H, heads of keys and values.
    head_dim : int
        E, elements per head of a key.
    capacity : int
        Maximum tokens per sequence.
    value_head_dim : int, optional
        Ev, elements per head of a value; defaults to head_dim.
    sequences : int
        Number of sequences, which are addressed as 0 .. sequences - 1.
    page_size : int
        Tokens per page; 0 for one contiguous page per sequence. Pages of 64 are read almost as fast, smaller ones slower.
    pages : int
        Number of pages; 0 for as many as full sequences need.
    dtype : {'float32', 'float16', 'bfloat16', 'int8'}
        Storage type. int8 has a scale for each token and head.
    """

    def __init__(self, *, num_kv_heads: int, head_dim: int, capacity: int, value_head_dim: int = None,
                 sequences: int = 1, page_size: int = 0, pages: int = 0, dtype: str = "float32"):
        sizes = {"num_kv_heads": num_kv_heads, "head_dim": head_dim,
                 "value_head_dim": head_dim if value_head_dim is None else value_head_dim,
                 "sequences": sequences, "capacity": capacity, "page_size": page_size, "pages": pages}
        config = new_struct("attn_cache_config", dtype=choose(_TYPES, dtype, "dtype"),
                            **{name: integer(value, name) for name, value in sizes.items()})
        size, handle = ffi.new("size_t *"), ffi.new("attn_cache **")
        call(core.attn_cache_measure, config, size)
        call(core.attn_cache_new, config, handle)
        self._cache = ffi.gc(handle[0], core.attn_cache_free, size[0])
        self.num_kv_heads, self.head_dim = config.num_kv_heads, config.head_dim
        self.value_head_dim = config.value_head_dim
        self.sequences, self.capacity, self.dtype, self.nbytes = config.sequences, config.capacity, dtype, size[0]

    def __repr__(self):
        return (f"KVCache({self.sequences} sequences of {self.num_kv_heads} heads of {self.head_dim} and "
                f"{self.value_head_dim} elements, {self.dtype}; lengths {self.lengths}, {self.pages_free} pages free, {self.nbytes} bytes)")

    @staticmethod
    def _sequences(sequences, array):
        """Returns the sequences of a call as a C array, and their number."""
        if sequences is None:
            return ffi.NULL, array.shape[0] if len(array.shape) == 4 else 1
        if not isinstance(sequences, Iterable) or getattr(sequences, "ndim", 1) == 0:
            sequences = [sequences]
        if isinstance(sequences, (Mapping, Set)):
            raise AttnError(f"sequences must be ordered, got {sequences!r}", "ATTN_ERR_ARGUMENT", "sequences")
        numbers = [integer(n, "sequences") for n in sequences]
        return ffi.new("int64_t[]", numbers), len(numbers)

    def append(self, k, v, sequences=None) -> None:
        """Appends tokens to sequences, all or, if an argument is invalid or does not fit, none.

        Parameters
        ----------
        k, v : array
            k (count, H, T, E) and v (count, H, T, Ev), or rank 3 for one sequence; rounded to the cache's type.
        sequences : sequence of int, optional
            Defaults to 0 .. count - 1.
        """
        tk, tv = view(k, "k"), view(v, "v")
        numbers, count = self._sequences(sequences, k)
        call(core.attn_cache_append, self._cache, numbers, count, tk, tv)

    def attend(self, q, *, sequences=None, causal: bool = True, return_lse: bool = False, return_weights: bool = False,
               out=None, align=None, offset=None, **features):
        """Computes attention of queries over cached sequences.

        The L queries are the last tokens of their sequence: causal, window and alibi count from the bottom right,
        whatever the preset, unless align or offset is given.

        Parameters
        ----------
        q : array
            (count, Hq, L, E), or rank 3 for one sequence.
        sequences : sequence of int, optional
            Defaults to 0 .. count - 1; may contain one several times.
        return_lse, return_weights, out, **features
            See sdpa; without key_lengths.

        Returns
        -------
        o : array
            (count, Hq, L, Ev). A tensor if q is one, otherwise a NumPy array.
        lse : array, with return_lse
            (count, Hq, L)
        weights : array, with return_weights
            (count, Hq, L, S), where S is the longest length; 0 after a sequence's end.
        """
        if offset is None and align is None:
            align = "bottom-right"
        descriptor, tq = _Descriptor(causal=causal, align=align, offset=offset, **features), view(q, "q")
        numbers, count = self._sequences(sequences, q)
        o = out if out is not None else empty_like(q, (*q.shape[:-1], self.value_head_dim))
        results = descriptor.results(o, q, return_lse and (tuple(q.shape[:-1]), _lse_type(tq)),
                                     return_weights and ((*q.shape[:-1], self._longest(numbers, count)),))
        call(core.attn_sdpa_forward_cached, descriptor.desc, tq, self._cache, numbers, count, view(o, "out", out is not None),
             renamed={"o": "out"})
        if out is not None:
            mark_written(out)
        return results[0] if len(results) == 1 else tuple(results)

    def _longest(self, numbers, count):
        """Returns the length of the longest of these sequences. The library rejects invalid ones."""
        known = range(min(count, self.sequences)) if numbers == ffi.NULL else [numbers[n] for n in range(count)]
        return max((0, *(core.attn_cache_length(self._cache, n) for n in known)))

    def length(self, sequence: int) -> int:
        """Returns the number of tokens of a sequence."""
        n = core.attn_cache_length(self._cache, integer(sequence, "sequence"))
        if n < 0:
            raise AttnError(f"sequence must be between 0 and {self.sequences - 1}, got {sequence}", "ATTN_ERR_ARGUMENT",
                            "sequence")
        return n

    @property
    def lengths(self) -> list:
        """The number of tokens of each sequence."""
        return [core.attn_cache_length(self._cache, n) for n in range(self.sequences)]

    @property
    def pages_free(self) -> int:
        """The number of unused pages."""
        return core.attn_cache_num_free_pages(self._cache)

    def truncate(self, sequence: int, length: int) -> None:
        """Truncates a sequence to length tokens; 0 empties it."""
        call(core.attn_cache_truncate, self._cache, integer(sequence, "sequence"), integer(length, "length"))

    def fork(self, source: int, target: int) -> None:
        """Replaces target by a copy of source, for beam search. Pages are shared until one of them grows."""
        call(core.attn_cache_fork, self._cache, integer(source, "source"), integer(target, "target"))

    def read(self, sequence: int):
        """Returns k (H, length, E) and v (H, length, Ev) of a sequence as NumPy float32 arrays."""
        tokens = self.length(sequence)
        k, v = (np.empty((self.num_kv_heads, tokens, width), np.float32) for width in (self.head_dim, self.value_head_dim))
        call(core.attn_cache_read, self._cache, sequence, view(k, "k"), view(v, "v"))
        return k, v
