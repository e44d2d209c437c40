"""Attention for Hugging Face transformers: importing this module registers attn_implementation="attn".

    import attn.hf
    model = AutoModelForCausalLM.from_pretrained(name, attn_implementation="attn")

Supports grouped heads, caches, sliding windows, padding, cross-attention, softcap, sinks, position biases and training.
Attention weights are not returned; output_attentions needs "eager".
"""
import torch
from transformers import AttentionInterface
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

from ._core import AttnTypeError
from .torch import sdpa

__all__ = ["attention_forward", "register"]


def _with_bias(mask, bias):
    """Returns a float mask: the bias where a key is visible, -inf elsewhere."""
    if mask is None:
        return bias
    if mask.dtype == torch.bool:
        return bias.masked_fill(~mask, float("-inf"))
    return bias + mask


def attention_forward(module, query, key, value, attention_mask, scaling=None, dropout=0.0, softcap=None, s_aux=None,
                      position_bias=None, is_causal=None, **_):
    """Computes attention with the signature of transformers' AttentionInterface.

    Parameters
    ----------
    query, key, value : torch.Tensor
        (B, Hq, L, E), (B, H, S, E), (B, H, S, Ev).
    attention_mask : torch.Tensor, optional
        Broadcasts to (B, Hq, L, S).

    Returns
    -------
    output : torch.Tensor
        (B, L, Hq, Ev)
    weights : None
    """
    for name, t in (("query", query), ("key", key), ("value", value)):
        if t.device.type not in ("cpu", "meta"):
            raise AttnTypeError(f"{name} must be on the CPU, got {t.device}", "ATTN_ERR_TYPE", name)
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    causal = causal and attention_mask is None and query.shape[2] > 1
    mask = attention_mask[..., : key.shape[2]] if attention_mask is not None else None
    if position_bias is not None:
        mask = _with_bias(mask, position_bias)
    if mask is not None and mask.requires_grad and mask.dtype not in (torch.float32, torch.float64):
        mask = mask.float()
    sinks = s_aux.float() if s_aux is not None else None
    o = sdpa(query, key, value, mask=mask, sinks=sinks, causal=causal, scale=scaling, softcap=softcap, dropout=dropout)
    return o.transpose(1, 2).contiguous(), None


def register(name="attn"):
    """Registers libattn as attn_implementation=name."""
    AttentionInterface.register(name, attention_forward)
    AttentionMaskInterface.register(name, sdpa_mask)


register()
