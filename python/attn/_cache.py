"""KVCache: keys and values that are kept while a model decodes."""
from collections.abc import Iterable, Mapping, Set

import numpy as np

from ._core import BF16, F16, F32, AttnError, check, choose, core, empty_like, ffi, new_error, view, whole, written
from ._sdpa import _Call, _lse_type

_TYPES = {"float32": F32, "float16": F16, "bfloat16": BF16, "int8": 0x00010800}


class KVCache:
    """Keys and values of several sequences, which grow token by token. Not for several threads at once.

    heads H, width E, value_width Ev (default E); sequences: how many there may be, 0 .. sequences-1;
    capacity: tokens each can hold; page_size: tokens of a page, 0 for one contiguous page a sequence;
    pages: in all, 0 for as many as full sequences need; dtype: 'float32', 'float16', 'bfloat16', 'int8' (a
    scale for each row and head).
    """

    def __init__(self, *, heads: int, width: int, capacity: int, value_width: int = None, sequences: int = 1,
                 page_size: int = 0, pages: int = 0, dtype: str = "float32"):
        config, made, error = ffi.new("attn_cache_config *"), ffi.new("attn_cache **"), new_error()
        config.struct_size, config.dtype = ffi.sizeof("attn_cache_config"), choose(_TYPES, dtype, "dtype")
        sizes = {"heads": heads, "width": width, "value_width": width if value_width is None else value_width,
                 "sequences": sequences, "capacity": capacity, "page_size": page_size, "pages": pages}
        for name, size in sizes.items():
            setattr(config, name, whole(size, name))
        size = ffi.new("size_t *")
        check(core.attn_cache_measure(config, size, error), error)
        check(core.attn_cache_new(config, made, error), error)
        self._cache = ffi.gc(made[0], core.attn_cache_free, size[0])
        self.heads, self.width, self.value_width = config.heads, config.width, config.value_width
        self.sequences, self.capacity, self.dtype, self.nbytes = config.sequences, config.capacity, dtype, size[0]

    def __repr__(self):
        return (f"KVCache({self.sequences} sequences of {self.heads} heads, {self.width} + {self.value_width} wide, "
                f"{self.dtype}; lengths {self.lengths}, {self.pages_free} pages free, {self.nbytes} bytes)")

    @staticmethod
    def _list(sequences, array):
        """The sequences of a call as C takes them, and how many."""
        if sequences is None:
            return ffi.NULL, array.shape[0] if len(array.shape) == 4 else 1
        if not isinstance(sequences, Iterable) or getattr(sequences, "ndim", 1) == 0:
            sequences = [sequences]
        if isinstance(sequences, (Mapping, Set)):
            raise AttnError(f"sequences is {sequences!r}; it must be in order", "ATTN_ERR_ARGUMENT", "sequences")
        numbers = [whole(n, "sequences") for n in sequences]
        return ffi.new("int64_t[]", numbers), len(numbers)

    def append(self, k, v, sequences=None) -> None:
        """k (count, H, T, E) and v (count, H, T, Ev) behind what sequences (default 0 .. count-1) hold; rank 3 for
        one. All or, where something is refused or does not fit, nothing. Types: as sdpa, rounded to the cache's."""
        tk, tv, error = view(k, "k"), view(v, "v"), new_error()
        numbers, count = self._list(sequences, k)
        check(core.attn_cache_append(self._cache, numbers, count, tk, tv, error), error)

    def attend(self, q, *, sequences=None, causal: bool = True, return_lse: bool = False, return_weights: bool = False,
               out=None, align=None, offset=None, **features):
        """Attention of q (count, Hq, L, E) over what sequences (default 0 .. count-1; one may stand there several
        times) hold; rank 3 for one. Returns o (count, Hq, L, Ev), with return_lse also lse (count, Hq, L), with
        return_weights also weights (count, Hq, L, S), S the longest of these sequences and 0 behind each one's end.
        They are tensors where q is PyTorch's and otherwise NumPy's.

        The L queries are the sequence's last tokens: causal, window and alibi count from the bottom right, with or
        without causal and whatever the preset, unless align or offset says otherwise. features: as sdpa, without
        key_lengths.
        """
        if offset is None and align is None:
            align = "bottom-right"
        call, error = _Call(causal=causal, align=align, offset=offset, **features), new_error()
        tq = view(q, "q")
        numbers, count = self._list(sequences, q)
        results = [out if out is not None else empty_like(q, (*q.shape[:-1], self.value_width))]
        if return_lse:
            results.append(empty_like(q, tuple(q.shape[:-1]), _lse_type(tq)))
            call.desc.lse = call.view(results[-1], "lse")
        if return_weights:
            results.append(empty_like(q, (*q.shape[:-1], self._longest(numbers, count))))
            call.desc.weights = call.view(results[-1], "weights")
        to = view(results[0], "out", out is not None)
        check(core.attn_sdpa_forward_cached(call.desc, tq, self._cache, numbers, count, to, error), error, {"o": "out"})
        if out is not None:
            written(out)
        return results[0] if len(results) == 1 else tuple(results)

    def _longest(self, numbers, count):
        """Tokens of the longest of these; a number that is none is the library's to refuse."""
        known = range(min(count, self.sequences)) if numbers == ffi.NULL else [numbers[n] for n in range(count)]
        return max((0, *(core.attn_cache_length(self._cache, n) for n in known)))

    def length(self, sequence: int) -> int:
        """Tokens of a sequence."""
        n = core.attn_cache_length(self._cache, whole(sequence, "sequence"))
        if n < 0:
            raise AttnError(f"sequence is {sequence}; there are 0 .. {self.sequences - 1}", "ATTN_ERR_ARGUMENT",
                            "sequence")
        return n

    @property
    def lengths(self) -> list:
        """Tokens of each sequence."""
        return [core.attn_cache_length(self._cache, n) for n in range(self.sequences)]

    @property
    def pages_free(self) -> int:
        """Pages that no sequence uses."""
        return core.attn_cache_num_free_pages(self._cache)

    def truncate(self, sequence: int, length: int) -> None:
        """Forgets all tokens from length on; 0 empties the sequence."""
        sequence, length, error = whole(sequence, "sequence"), whole(length, "length"), new_error()
        check(core.attn_cache_truncate(self._cache, sequence, length, error), error)

    def fork(self, source: int, target: int) -> None:
        """Makes target what source is. Pages are shared until one of them grows (beam search)."""
        source, target, error = whole(source, "source"), whole(target, "target"), new_error()
        check(core.attn_cache_fork(self._cache, source, target, error), error)

    def read(self, sequence: int):
        """What a sequence holds, as attention reads it: NumPy float32, k (H, length, E) and v (H, length, Ev)."""
        tokens, call, error = self.length(sequence), _Call(), new_error()
        k = np.empty((self.heads, tokens, self.width), np.float32)
        v = np.empty((self.heads, tokens, self.value_width), np.float32)
        check(core.attn_cache_read(self._cache, sequence, call.view(k, "k"), call.view(v, "v"), error), error)
        return k, v
