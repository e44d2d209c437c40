"""ONNX's Attention operator (opset 23 to 25) on libattn, and a backend for onnx.backend.test.

    from attn.onnx import attention
    y, present_key, present_value, qk = attention(q, k, v, is_causal=1)

Written to the operator's text. Softmax is always computed in float32 or wider, so softmax_precision only
ever asks for less than is done.
"""
import numpy as np

from ._sdpa import sdpa

__all__ = ["Backend", "attention"]


def _heads(x, heads, name):
    """(B, L, H * E) as (B, H, L, E), without a copy; rank 4 as it is."""
    if x.ndim == 4:
        return x
    if not heads:
        raise ValueError(f"{name} has rank 3: q_num_heads and kv_num_heads must be given")
    batch, length, width = x.shape
    return x.reshape(batch, length, heads, width // heads).transpose(0, 2, 1, 3)


def _padded(mask, keys):
    """A mask whose last dimension is short hides the rest."""
    short = keys - mask.shape[-1]
    if mask.shape[-1] == 1 and keys > 1 or short <= 0:
        return mask
    hidden = False if mask.dtype == bool else mask.dtype.type(-np.inf)
    return np.concatenate([mask, np.full((*mask.shape[:-1], short), hidden, mask.dtype)], -1)


def _allowed(shape, causal, offsets, left, right, lengths):
    """(B, 1, L, S): which keys position, window and length leave to each query."""
    batch, _, rows, keys = shape
    at = offsets.reshape(-1, 1, 1, 1) + np.arange(rows).reshape(1, 1, -1, 1)
    j = np.arange(keys)
    see = np.ones((batch, 1, rows, keys), bool)
    see &= (j <= at) if causal else True
    see &= (j >= at - left) if left >= 0 else True
    see &= (j <= at + right) if right >= 0 else True
    return see & (j < lengths.reshape(-1, 1, 1, 1)) if lengths is not None else see


def _scores(mode, q, k, mask, scale, softcap, see):
    """qk_matmul_output of modes 0 to 2: L x S memory, because the caller asks for it."""
    wide = np.float64 if q.dtype == np.float64 else np.float32
    k = np.repeat(k, q.shape[1] // k.shape[1], 1)
    s = (q.astype(wide) @ k.astype(wide).swapaxes(-1, -2)) * wide(scale)
    if mode >= 1 and softcap:
        s = softcap * np.tanh(s / softcap)
    if mode == 2:
        if mask is not None:
            s = np.where(mask, s, -np.inf) if mask.dtype == bool else s + mask.astype(wide)
        s = np.where(see, s, -np.inf)
    return s.astype(q.dtype)


def attention(q, k, v, attn_mask=None, past_key=None, past_value=None, nonpad_kv_seqlen=None, *, is_causal=0, scale=None,
              softcap=0.0, q_num_heads=0, kv_num_heads=0, qk_matmul_output_mode=0, left_window_size=-1,
              right_window_size=-1, softmax_precision=None, want_qk=True):
    """Y, present_key, present_value, qk_matmul_output as the operator defines them."""
    flat = q.ndim == 3
    q, k, v = _heads(q, q_num_heads, "Q"), _heads(k, kv_num_heads, "K"), _heads(v, kv_num_heads, "V")
    past = 0
    if past_key is not None:
        past = past_key.shape[2]
        k, v = np.concatenate([past_key, k], 2), np.concatenate([past_value, v], 2)
    rows, keys = q.shape[2], k.shape[2]
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    mask = _padded(attn_mask, keys) if attn_mask is not None else None
    features = {"mask": mask, "causal": bool(is_causal), "scale": scale, "softcap": softcap or None}
    if left_window_size >= 0 or right_window_size >= 0:
        features["window"] = (left_window_size, right_window_size)
    lengths = None
    if nonpad_kv_seqlen is not None:
        lengths = np.ascontiguousarray(nonpad_kv_seqlen, np.int64)
        features.update(key_lengths=lengths, align="bottom-right")
    else:
        features["offset"] = past
    common = q.dtype if q.dtype == k.dtype == v.dtype else np.result_type(q, k, v, np.float32)
    y, weights = sdpa(*(x.astype(common, copy=False) for x in (q, k, v)),
                      **{**features, "return_weights": True}) if want_qk and qk_matmul_output_mode == 3 else (
        sdpa(*(x.astype(common, copy=False) for x in (q, k, v)), **features), None)
    qk = weights
    if want_qk and weights is None:
        offsets = lengths - rows if lengths is not None else np.array([past])
        see = _allowed((q.shape[0], 1, rows, keys), is_causal, offsets, left_window_size, right_window_size, lengths)
        qk = _scores(qk_matmul_output_mode, q, k, mask, scale, softcap, see)
    y = y.astype(q.dtype, copy=False)
    if flat:
        y = y.transpose(0, 2, 1, 3).reshape(y.shape[0], rows, -1)
    return y, k, v, None if qk is None else qk.astype(q.dtype, copy=False)


class _Attention:
    """A model of one Attention node, ready to run."""

    def __init__(self, model):
        import onnx
        node, = model.graph.node
        self.node = node
        self.inputs = [i.name for i in model.graph.input]
        self.attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}

    def run(self, inputs, **_):
        values = dict(zip(self.inputs, inputs))
        arguments = [values.get(name) if name else None for name in self.node.input]
        outputs = list(self.node.output) + [""] * (4 - len(self.node.output))
        results = attention(*arguments, want_qk=bool(outputs[3]), **self.attributes)
        return [np.ascontiguousarray(r) for r, name in zip(results, outputs) if name]


class Backend:
    """For onnx.backend.test.BackendTest: models of a single Attention node."""

    @classmethod
    def supports_device(cls, device):
        return device == "CPU"

    @classmethod
    def is_compatible(cls, model, device="CPU", **_):
        return len(model.graph.node) == 1 and model.graph.node[0].op_type == "Attention"

    @classmethod
    def prepare(cls, model, device="CPU", **_):
        if not cls.is_compatible(model, device):
            raise NotImplementedError("attn.onnx runs models of one Attention node")
        return _Attention(model)

    @classmethod
    def run_model(cls, model, inputs, device="CPU", **kwargs):
        return cls.prepare(model, device, **kwargs).run(inputs)
