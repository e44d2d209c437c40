"""Statistics of attention weights, without an L x S array."""
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np

from ._core import call, core, dtype_name, empty_like, integer, new_struct
from ._pages import Page, draw_panels
from ._sdpa import _Descriptor

_SHOWN = 8  # heads in str(), and the default of top
_DRAWN = 64  # heads on a page; columns of keys, more are drawn in groups


@dataclass(frozen=True)
class Summary(Page):
    """Statistics of attention weights; None for those not requested. str() is a table of the first heads, html() a page."""
    queries: int
    keys: int
    column_sums: Optional[Any] = None    # (B, Hq, S): total weight of each key over all queries
    top_keys: Optional[Any] = None       # (B, Hq, L, top): keys of the largest weights; -1: none left
    top_weights: Optional[Any] = None    # (B, Hq, L, top)
    entropy: Optional[Any] = None        # (B, Hq, L), in nats
    max_logit: Optional[Any] = None      # (B, Hq, L)

    def _heads(self):
        """Returns for each head its index, (b, h), (h,) or (), and its statistics."""
        given = {name: np.asarray(value) for name in _TITLES if (value := getattr(self, name)) is not None}
        for name, array in given.items():
            lead = array.shape[:-2 if name == "top_weights" else -1]
            return [(at, {n: a[at] for n, a in given.items()}) for at in np.ndindex(*lead)]
        return []

    def __str__(self):
        heads = self._heads()
        table = [["head", *(_TITLES[name] for name in heads[0][1])]] if heads else []
        table += [[", ".join(map(str, at)) or "-", *(_cell(name, array, self.queries) for name, array in given.items())]
                  for at, given in heads[:_SHOWN]]
        widths = [max(map(len, column)) for column in zip(*table)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in table]
        return "\n".join([f"{self.queries} queries by {self.keys} keys; means over the queries of a head", *lines] +
                         ["..."] * (len(heads) > _SHOWN))

    def html(self):
        heads = self._heads()[:_DRAWN]
        panels = [panel for panel in (_table_panel(heads), _keys_panel(heads)) if panel]
        size = (f"Attention: {self.queries} queries by {self.keys} keys", f"アテンション：クエリ {self.queries} 個 × キー {self.keys} 個")
        return draw_panels(panels, size) if panels else None


_TITLES = {"entropy": "entropy", "top_weights": "largest weight", "max_logit": "largest logit",
           "column_sums": "most attended keys"}


def _mean(name, array):
    """The mean over the queries; of top_weights, of the largest."""
    values = array[:, 0] if name == "top_weights" else array
    return float(values.mean()) if values.size else np.nan


def _cell(name, array, queries):
    if name == "column_sums":
        shares = array / max(queries, 1)
        most = [j for j in np.argsort(-shares, kind="stable")[:3] if shares[j] > 0]
        return ", ".join(f"key {j} ({shares[j]:.1%})" for j in most) or "-"
    return f"{_mean(name, array):.4g}" if array.size else "-"


def _row_names(heads):
    return ["head " + ", ".join(map(str, at)) for at, _ in heads]


def _table_panel(heads):
    """The measures of each head, means over its queries."""
    names = [name for name in _TITLES if name != "column_sums" and heads and name in heads[0][1]]
    values = [[_mean(name, given[name]) for name in names] for _, given in heads]
    return names and {"kind": "matrix", "title": ("Means over the queries", "クエリについての平均"), "values": np.array(values),
                      "rows": _row_names(heads), "columns": [_TITLES[name] for name in names],
                      "note": ("entropy in nats", "エントロピーの単位は nat")}


def _keys_panel(heads):
    """The attention that each key receives, or each group of keys, as a share of the head's largest."""
    if not heads or "column_sums" not in heads[0][1] or not heads[0][1]["column_sums"].size:
        return None
    sums = np.array([given["column_sums"] for _, given in heads], np.float64)
    size = -(-sums.shape[1] // _DRAWN)
    starts = np.arange(0, sums.shape[1], size)
    groups = np.add.reduceat(sums, starts, axis=1)
    names = [str(at) if size == 1 else f"{at}–{min(at + size, sums.shape[1]) - 1}" for at in starts]
    return {"kind": "heat", "title": ("Attention that keys receive", "キーが受けるアテンション"),
            "note": ("relative to the head's most attended", "そのヘッドで最も注目されるものを 1 とする"), "rows": _row_names(heads),
            "values": groups / np.maximum(groups.max(1, keepdims=True), np.finfo(np.float64).tiny), "columns": names,
            "col_axis": ("key", "キー")}


def summary(q, k, *, column_sums: bool = True, top: int = _SHOWN, entropy: bool = True, max_logit: bool = True,
            **features) -> Summary:
    """Summarizes the weights of sdpa(q, k, v, **features) in O(S) memory.

    Parameters
    ----------
    q, k : array
        q (B, Hq, L, E), k (B, H, S, E), or rank 3 or 2; the results then lack the same dimensions.
    column_sums : bool
        The sum of each key's weights over all queries.
    top : int
        The number of largest weights to return per query, in descending order, ties by lower key index; missing
        entries have key -1. 0 for none.
    entropy : bool
        The entropy of each query's weights in nats, including a sink's.
    max_logit : bool
        The largest logit of each query; -inf if it sees no key.
    **features
        See sdpa; dropout is ignored.

    Returns
    -------
    Summary
        Statistics in float32 (float64 for float64), keys in int64; tensors if q is one, otherwise NumPy arrays.
    """
    descriptor, count, s = _Descriptor(**features), integer(top, "top", 0), new_struct("attn_sdpa_summary")
    inputs = descriptor.view_all(q=q, k=k)
    if min(len(q.shape), len(k.shape)) < 2:  # the library rejects it
        call(core.attn_sdpa_summarize, descriptor.desc, *inputs, s)
    rows, real = tuple(q.shape[:-1]), "float64" if dtype_name(q) == "float64" else "float32"
    wanted = {"column_sums": column_sums and ((*rows[:-1], k.shape[-2]), real),
              "top_keys": count and ((*rows, count), "int64"), "top_weights": count and ((*rows, count), real),
              "entropy": entropy and (rows, real), "max_logit": max_logit and (rows, real)}
    results = {name: empty_like(q, *form) for name, form in wanted.items() if form}
    for name, array in results.items():
        setattr(s, name, descriptor.view(array, name))
    call(core.attn_sdpa_summarize, descriptor.desc, *inputs, s)
    return Summary(queries=q.shape[-2], keys=k.shape[-2], **results)
