"""What the weights say, without an L x S array of them."""
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np

from ._core import check, core, dtype_name, empty_like, ffi, new_error, whole
from ._sdpa import _Call

_SHOWN = 8  # heads, and of each head keys


@dataclass(frozen=True)
class Summary:
    """Who is looked at, and how sharply. None: was not asked for. str() is a table of the first heads."""
    queries: int
    keys: int
    column_sums: Optional[Any] = None    # (B, Hq, S): the weights that each key gets from all queries
    top_keys: Optional[Any] = None       # (B, Hq, L, top): the keys of the largest weights; -1: sees fewer
    top_weights: Optional[Any] = None    # (B, Hq, L, top)
    entropy: Optional[Any] = None        # (B, Hq, L), in nats; at most ln S, without sinks
    max_logit: Optional[Any] = None  # (B, Hq, L)

    def _heads(self):
        """The heads' indices, (b, h), (h,) or (), and what is given of each."""
        given = {name: np.asarray(value) for name in _TITLES if (value := getattr(self, name)) is not None}
        for name, array in given.items():
            lead = array.shape[:-2 if name == "top_weights" else -1]
            return [(at, {n: a[at] for n, a in given.items()}) for at in np.ndindex(*lead)]
        return []

    def __str__(self):
        heads = self._heads()
        table = [["head", *(_TITLES[name] for name in heads[0][1])]] if heads else []
        table += [[", ".join(map(str, at)) or "-", *(_word(name, array, self.queries) for name, array in given.items())]
                  for at, given in heads[:_SHOWN]]
        widths = [max(map(len, column)) for column in zip(*table)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in table]
        return "\n".join([f"{self.queries} queries by {self.keys} keys; means over the queries of a head", *lines] +
                         ["..."] * (len(heads) > _SHOWN))


_TITLES = {"entropy": "entropy", "top_weights": "largest weight", "max_logit": "largest logit",
           "column_sums": "most looked at"}


def _word(name, array, queries):
    if name == "column_sums":
        shares = array / max(queries, 1)
        most = [j for j in np.argsort(-shares, kind="stable")[:3] if shares[j] > 0]
        return ", ".join(f"key {j} ({shares[j]:.1%})" for j in most) or "-"
    values = array[:, 0] if name == "top_weights" else array
    return f"{values.mean():.4g}" if values.size else "-"


def summary(q, k, *, column_sums: bool = True, top: int = _SHOWN, entropy: bool = True, max_logit: bool = True,
            **features) -> Summary:
    """What the weights of sdpa(q, k, v, **features) say, in memory of O(S): never L x S.

    q (B, Hq, L, E), k (B, H, S, E); also rank 3 or 2: the results then lack the same dimensions.
    column_sums: for each key the sum of its weights over all queries. top: so many keys of each query, those of the
    largest weights, largest first, equals by the lower index; -1 where it sees fewer; 0: none. entropy: of each
    query's weights in nats, a sink's share among them. max_logit: of each query, -inf where it sees no key.

    float32 results (float64 for float64 input), int64 keys, tensors where q is PyTorch's and otherwise NumPy's. features: as in sdpa; dropout
    has no part in it. Raises AttnError that names the argument.
    """
    call, count = _Call(**features), whole(top, "top", 0)
    s = ffi.new("attn_sdpa_summary *")
    s.struct_size = ffi.sizeof("attn_sdpa_summary")
    tq, tk, error = call.view(q, "q"), call.view(k, "k"), new_error()
    if min(len(q.shape), len(k.shape)) < 2:  # refused; by the library's own words
        check(core.attn_sdpa_summarize(call.desc, tq, tk, s, error), error)
    rows, real = tuple(q.shape[:-1]), "float64" if dtype_name(q) == "float64" else "float32"
    wanted = {"column_sums": column_sums and ((*rows[:-1], k.shape[-2]), real),
              "top_keys": count and ((*rows, count), "int64"), "top_weights": count and ((*rows, count), real),
              "entropy": entropy and (rows, real), "max_logit": max_logit and (rows, real)}
    made = {name: empty_like(q, *form) for name, form in wanted.items() if form}
    for name, array in made.items():
        setattr(s, name, call.view(array, name))
    check(core.attn_sdpa_summarize(call.desc, tq, tk, s, error), error)
    return Summary(queries=q.shape[-2], keys=k.shape[-2], **made)
