"""KVCache: keys and values that are kept while a model decodes."""
import numpy as np

from ._core import BF16, F16, F32, AttnError, check, core, empty_like, ffi, matrix_shape, whole
from ._sdpa import _Call, _choose, _lse_type

_TYPES = {"float32": F32, "float16": F16, "bfloat16": BF16, "int8": 0x00010800}


class KVCache:
    """Keys and values of several sequences, which grow token by token. Not for several threads at once.

    heads H, width E, value_width Ev (default E); sequences: how many there may be, 0 .. sequences-1;
    capacity: tokens each can hold; page_tokens: tokens of a page, 0 for one contiguous page a sequence;
    pages: in all, 0 for as many as full sequences need; dtype: 'float32', 'float16', 'bfloat16', 'int8' (a
    scale for each row and head).
    """

    def __init__(self, *, heads: int, width: int, capacity: int, value_width: int = None, sequences: int = 1,
                 page_tokens: int = 0, pages: int = 0, dtype: str = "float32"):
        config, made, error = ffi.new("attn_cache_config *"), ffi.new("attn_cache **"), ffi.new("attn_error *")
        config.struct_size, config.dtype = ffi.sizeof("attn_cache_config"), _choose(_TYPES, dtype, "dtype")
        sizes = {"heads": heads, "width": width, "value_width": width if value_width is None else value_width,
                 "sequences": sequences, "capacity": capacity, "page_tokens": page_tokens, "pages": pages}
        for name, value in sizes.items():
            setattr(config, name, whole(value, name))
        size = ffi.new("size_t *")
        check(core.attn_cache_measure(config, size, error), error)
        check(core.attn_cache_new(config, made, error), error)
        self._cache = ffi.gc(made[0], core.attn_cache_free, size[0])
        self.heads, self.width, self.value_width = heads, width, config.value_width
        self.sequences, self.capacity, self.dtype, self.nbytes = sequences, capacity, dtype, size[0]

    def __repr__(self):
        return (f"KVCache({self.sequences} sequences of {self.heads} heads, {self.width} + {self.value_width} wide, "
                f"{self.dtype}; lengths {self.lengths}, {self.pages_free} pages free, {self.nbytes} bytes)")

    @staticmethod
    def _list(sequences, array):
        """The sequences of a call as C takes them, and how many."""
        if sequences is None:
            return ffi.NULL, array.shape[0] if len(array.shape) == 4 else 1
        if not isinstance(sequences, (list, tuple, range, np.ndarray)):
            sequences = [sequences]
        numbers = [whole(n, "sequences") for n in sequences]
        return ffi.new("int64_t[]", numbers), len(numbers)

    def append(self, k, v, sequences=None) -> None:
        """k (count, H, T, E) and v (count, H, T, Ev) behind what sequences (default 0 .. count-1) hold; rank 3 for
        one. All or, where something is refused or does not fit, nothing. Types: as sdpa, rounded to the cache's."""
        call, error = _Call(), ffi.new("attn_error *")
        tk, tv = call.view(k, "k"), call.view(v, "v")
        numbers, count = self._list(sequences, k)
        check(core.attn_cache_append(self._cache, numbers, count, tk, tv, error), error)

    def attend(self, q, *, sequences=None, causal: bool = True, return_lse: bool = False, return_weights: bool = False,
               out=None, **features):
        """Attention of q (count, Hq, L, E) over what sequences (default 0 .. count-1; one may stand there several
        times) hold; rank 3 for one. Returns o (count, Hq, L, Ev); with return_lse also lse (count, Hq, L), with
        return_weights also weights (count, Hq, L, S) with S the longest length, in that order.

        The L queries are the sequence's last tokens: causal, window and alibi count from the bottom right unless
        align or offset say otherwise. features: as sdpa, without key_lengths.
        """
        if features.get("align") is None and features.get("offset") is None:
            features["align"] = "bottom-right"
        call, error = _Call(causal=causal, **features), ffi.new("attn_error *")
        tq = call.view(q, "q")
        rows = matrix_shape(q, "q")[:-1]
        numbers, count = self._list(sequences, q)
        results, to = call.result(q, (*rows, self.value_width), out)
        if return_lse:
            results.append(empty_like(q, rows, _lse_type(q)))
            call.desc.lse = call.view(results[-1], "lse")
        if return_weights:
            longest = max((core.attn_cache_length(self._cache, numbers[n] if numbers else n) for n in range(count)), default=0)
            results.append(empty_like(q, (*rows, max(longest, 0))))
            call.desc.weights = call.view(results[-1], "weights")
        check(core.attn_sdpa_forward_cached(call.desc, tq, self._cache, numbers, count, to, error), error)
        return results[0] if len(results) == 1 else tuple(results)

    def length(self, sequence: int) -> int:
        """Tokens of a sequence."""
        n = core.attn_cache_length(self._cache, sequence)
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
        return core.attn_cache_spare_pages(self._cache)

    def truncate(self, sequence: int, length: int) -> None:
        """Forgets all tokens from length on; 0 empties the sequence."""
        error = ffi.new("attn_error *")
        check(core.attn_cache_truncate(self._cache, sequence, length, error), error)

    def fork(self, source: int, target: int) -> None:
        """Makes target what source is. Pages are shared until one of them grows (beam search)."""
        error = ffi.new("attn_error *")
        check(core.attn_cache_fork(self._cache, source, target, error), error)

    def read(self, sequence: int):
        """What a sequence holds, as attention reads it: NumPy float32, k (H, length, E) and v (H, length, Ev)."""
        tokens, call, error = self.length(sequence), _Call(), ffi.new("attn_error *")
        k = np.empty((self.heads, tokens, self.width), np.float32)
        v = np.empty((self.heads, tokens, self.value_width), np.float32)
        check(core.attn_cache_read(self._cache, sequence, call.view(k, "k"), call.view(v, "v"), error), error)
        return k, v
