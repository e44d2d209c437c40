"""ONNX operators on libattn: Attention (opset 23 to 25), RotaryEmbedding (23), LayerNormalization (17) and
RMSNormalization (23), and a backend for onnx.backend.test.

    from attn.onnx import attention
    y, present_key, present_value, qk = attention(q, k, v, is_causal=1)

Arguments and results are those of the operators. Softmax is computed in float32 or wider and the layers in float64, so
softmax_precision and stash_type never need more.
"""
import numpy as np

from . import nn
from ._sdpa import sdpa

__all__ = ["Backend", "attention", "layer_normalization", "rms_normalization", "rotary_embedding"]


def _heads(x, heads, name):
    """Views (B, L, H * E) as (B, H, L, E); returns rank 4 unchanged."""
    if x.ndim == 4:
        return x
    if not heads:
        raise ValueError(f"{name} has rank 3, which requires q_num_heads and kv_num_heads")
    batch, length, width = x.shape
    return x.reshape(batch, length, heads, width // heads).transpose(0, 2, 1, 3)


def _padded(mask, keys):
    """Pads a mask whose last dimension is shorter than keys: the remaining keys are hidden."""
    short = keys - mask.shape[-1]
    if mask.shape[-1] == 1 and keys > 1 or short <= 0:
        return mask
    hidden = False if mask.dtype == bool else mask.dtype.type(-np.inf)
    return np.concatenate([mask, np.full((*mask.shape[:-1], short), hidden, mask.dtype)], -1)


def _allowed(shape, causal, offsets, left, right, lengths):
    """Returns (B, 1, L, S): the keys visible to each query by position, window and length."""
    batch, _, rows, keys = shape
    at = offsets.reshape(-1, 1, 1, 1) + np.arange(rows).reshape(1, 1, -1, 1)
    j = np.arange(keys)
    see = np.ones((batch, 1, rows, keys), bool)
    see &= (j <= at) if causal else True
    see &= (j >= at - left) if left >= 0 else True
    see &= (j <= at + right) if right >= 0 else True
    return see & (j < lengths.reshape(-1, 1, 1, 1)) if lengths is not None else see


def _scores(mode, q, k, mask, scale, softcap, see):
    """Computes qk_matmul_output of modes 0 to 2, which takes L x S memory."""
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
    """Computes Attention. Arguments are the inputs and attributes of the operator, and want_qk.

    Parameters
    ----------
    q, k, v : numpy.ndarray
        (B, heads, length, width), or (B, length, heads * width) with q_num_heads and kv_num_heads.
    past_key, past_value : numpy.ndarray, optional
        (B, kv_num_heads, past length, width).
    nonpad_kv_seqlen : numpy.ndarray, optional
        (B): the keys of each sequence that are not padding.
    want_qk : bool
        Computes qk_matmul_output, which takes memory for all scores.

    Returns
    -------
    y, present_key, present_value, qk_matmul_output : numpy.ndarray
        y of q's rank; present_key and present_value of rank 4; qk_matmul_output (B, q_num_heads, L, S), None unless want_qk.
    """
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
    inputs, qk = [x.astype(common, copy=False) for x in (q, k, v)], None
    if want_qk and qk_matmul_output_mode == 3:
        y, qk = sdpa(*inputs, **features, return_weights=True)
    else:
        y = sdpa(*inputs, **features)
    if want_qk and qk is None:
        offsets = lengths - rows if lengths is not None else np.array([past])
        see = _allowed((q.shape[0], 1, rows, keys), is_causal, offsets, left_window_size, right_window_size, lengths)
        qk = _scores(qk_matmul_output_mode, q, k, mask, scale, softcap, see)
    y = y.astype(q.dtype, copy=False)
    if flat:
        y = y.transpose(0, 2, 1, 3).reshape(y.shape[0], rows, -1)
    return y, k, v, None if qk is None else qk.astype(q.dtype, copy=False)


def rotary_embedding(x, cos_cache, sin_cache, position_ids=None, *, interleaved=0, num_heads=0, rotary_embedding_dim=0):
    """Computes RotaryEmbedding. num_heads is only used for x of rank 3."""
    return nn.rotary(x, cos_cache, sin_cache, position_ids, interleaved=bool(interleaved),
                     rotary_dim=rotary_embedding_dim, heads=num_heads if x.ndim == 3 else 0)


def _stash(stash_type):
    """Returns the type of Mean and InvStdDev: 1 is float, 16 is bfloat16."""
    if stash_type not in (1, 16):
        raise ValueError(f"stash_type must be 1 (float) or 16 (bfloat16), got {stash_type}")
    if stash_type == 16:
        import ml_dtypes  # noqa: F401  (registers bfloat16 with NumPy)
    return "float32" if stash_type == 1 else "bfloat16"


def layer_normalization(x, scale, b=None, *, axis=-1, epsilon=1e-5, stash_type=1):
    """Computes LayerNormalization. Returns Y, Mean and InvStdDev."""
    return nn.layer_norm(x, scale, b, axis=axis, epsilon=epsilon, return_stats=True, stats_dtype=_stash(stash_type))


def rms_normalization(x, scale, *, axis=-1, epsilon=1e-5, stash_type=1):
    """Computes RMSNormalization. Y has scale's type."""
    return nn.rms_norm(x, scale, axis=axis, epsilon=epsilon, out=np.empty(x.shape, scale.dtype))


_OPERATORS = {"Attention": attention, "RotaryEmbedding": rotary_embedding, "LayerNormalization": layer_normalization,
              "RMSNormalization": rms_normalization}


class _Node:
    """A prepared model of one node."""

    def __init__(self, model):
        import onnx
        node, = model.graph.node
        self.node = node
        self.constants = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
        self.inputs = [i.name for i in model.graph.input]
        self.attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        if node.op_type == "Attention":
            self.attributes["want_qk"] = len(node.output) > 3 and bool(node.output[3])

    def run(self, inputs, **_):
        names = self.inputs  # initializers may also be inputs, which are then optional
        if len(inputs) != len(names):
            names = [name for name in names if name not in self.constants]
        if len(inputs) != len(names):
            raise ValueError(f"expected {len(names)} inputs ({', '.join(names)}), got {len(inputs)}")
        values = {**self.constants, **dict(zip(names, inputs))}
        arguments = [values[name] if name else None for name in self.node.input]
        results = _OPERATORS[self.node.op_type](*arguments, **self.attributes)
        results = results if isinstance(results, tuple) else (results,)
        return [np.ascontiguousarray(r) for r, name in zip(results, self.node.output) if name]


class Backend:
    """Runs models of a single node of the four operators, for onnx.backend.test.BackendTest."""

    @classmethod
    def supports_device(cls, device):
        return device == "CPU"

    @classmethod
    def is_compatible(cls, model, device="CPU", **_):
        if len(model.graph.node) != 1 or model.graph.sparse_initializer:
            return False
        return model.graph.node[0].op_type in _OPERATORS and model.graph.node[0].domain in ("", "ai.onnx")

    @classmethod
    def prepare(cls, model, device="CPU", **_):
        if not cls.is_compatible(model, device):
            raise NotImplementedError("attn.onnx runs models of a single node: " + ", ".join(_OPERATORS))
        return _Node(model)

    @classmethod
    def run_model(cls, model, inputs, device="CPU", **kwargs):
        return cls.prepare(model, device, **kwargs).run(inputs)
