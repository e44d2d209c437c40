"""Attention maps: of arrays of weights, or of a model that reads a text."""
from os import fsencode
from pathlib import Path

import numpy as np

from ._core import (AttnError, AttnTypeError, c_string, call, check, choose, core, ffi, integer, is_torch, model, new_error,
                    new_struct, open_model, strings)
from ._pages import Memory, Page, draw_panels, new_style, text_of

_KINDS = {"encoder": core.ATTN_ATTENTION_ENCODER, "decoder": core.ATTN_ATTENTION_DECODER,
          "cross": core.ATTN_ATTENTION_CROSS}
_NAMES = {kind: name for name, kind in _KINDS.items()}
_PRINTED_CELLS = 400  # of a map in str(): those with numbers


class _Heads:
    """The heads of one kind. weights: (layers, heads, L, S)."""

    def __init__(self, kind, query_tokens, key_tokens):
        self.kind, self.query_tokens, self.key_tokens, self.weights = kind, query_tokens, key_tokens, {}


class _Run:
    """A model and what it generated: texts of the C library, valid as long as this object."""

    def __init__(self, path=None, text=None, target=None):  # texts: bytes
        self.source = self.target = self.info = self.results = ffi.NULL
        self.result_count = 0
        if path is None:
            return
        self.model, self.info = open_model(path)
        self.source, self.target = (ffi.NULL if one is None else ffi.new("char[]", one) for one in (text, target))

    def generate(self, threads):
        """An encoder-decoder generates greedily unless the target is given; an encoder its labels, if it has any."""
        info, error = self.info, new_error()
        if not self.source or self.target or not info.encoder_layers:
            return
        config = new_struct("attn_generation_config", threads=threads)
        if info.decoder_layers:
            config.num_beams = config.num_return_sequences = 1
            config.max_new_tokens = max(info.max_positions - 1, 0)
        results = ffi.gc(new_struct("attn_generation_result"), lambda one: model().attn_generation_results_free(one, 1))
        status = model().attn_model_generate(self.model, ffi.new("const char *[]", [self.source]), 1, config, results, error)
        if status and info.decoder_layers:
            check(status, error)
        self.results, self.result_count = results, int(not status)

    def visit(self, threads):
        """Returns the heads by kind."""
        groups = {}
        handle = ffi.new_handle(groups)
        call(model().attn_model_visit_attention, self.model, self.source, self.target, threads, _add_head, handle,
             renamed={"source": "text"})
        return list(groups.values())


class AttentionMap(Page):
    """Attention weights with their tokens. A notebook shows the page of attn show --html: every layer and head.

    Attributes
    ----------
    name : str
        The heading of the page.
    weights : dict
        (layer, head) -> array (L, S), by kind: weights['cross'][0, 1].
    """

    def __init__(self, name, groups, lang, run=None):
        self.name, self._groups, self._lang, self._run = name, groups, lang, run
        self.weights = {group.kind: group.weights for group in groups}

    def __str__(self):
        return "\n".join(_text_of_group(group, self._lang) for group in self._groups)

    def html(self):
        memory, count = Memory(), sum(len(group.weights) for group in self._groups)
        heads, at = ffi.new("attn_attention[]", count), 0
        for group in self._groups:
            queries, keys = memory.texts(group.query_tokens), memory.texts(group.key_tokens)
            for (layer, head), weights in group.weights.items():
                heads[at] = {"kind": _KINDS[group.kind], "layer": layer, "head": head, "queries": len(group.query_tokens),
                             "keys": len(group.key_tokens), "weights": memory.array(weights, "float *"),
                             "query_tokens": queries, "key_tokens": keys}
                at += 1
        run = self._run or _Run()
        inputs = new_struct("attn_model_page_input", source=run.source, target=run.target, heads=heads, head_count=count,
                            results=run.results, result_count=run.result_count)
        page = new_struct("attn_model_page", name=memory.text(self.name, "name"), info=run.info, inputs=inputs, input_count=1)
        return text_of(model().attn_model_page_write, page, new_style(self._lang))


def _text_of_group(group, lang):
    layers, heads = (len({at[n] for at in group.weights}) for n in (0, 1))
    queries, keys = len(group.query_tokens), len(group.key_tokens)
    line = f"{group.kind}: {layers} x {heads} heads (layers x heads), {queries} queries by {keys} keys"
    if queries * keys > _PRINTED_CELLS:
        return line
    mean = sum(np.asarray(weights, np.float64) for weights in group.weights.values()) / len(group.weights)
    panel = {"kind": "heat", "title": ("mean", "平均"), "values": mean, "rows": group.query_tokens, "columns": group.key_tokens}
    return draw_panels([panel], (line, line), "text", new_style(lang, 2)).rstrip()


def _array_of(weights):
    """(layers, heads, L, S) of weights, or of a sequence with one array per layer, as Hugging Face returns them."""
    if isinstance(weights, (list, tuple)) and weights and all(hasattr(one, "shape") for one in weights):
        layers = [_array_of(one) for one in weights]
        if any(one.shape != (1, *layers[0].shape[1:]) for one in layers):
            raise AttnError("weights must have one array per layer, (heads, L, S) or (1, heads, L, S), of equal shapes",
                            "ATTN_ERR_SHAPE", "weights")
        return np.concatenate(layers)
    try:
        array = np.asarray(weights.detach().cpu().float() if is_torch(weights) else weights, np.float32)
    except (TypeError, ValueError) as reason:
        raise AttnTypeError(f"weights must be an array of numbers, got {type(weights).__name__}", "ATTN_ERR_TYPE",
                            "weights") from reason
    if not 2 <= array.ndim <= 4 or not array.size:
        raise AttnError("weights must be (L, S), (heads, L, S) or (layers, heads, L, S), with elements, got "
                        f"{array.shape}", "ATTN_ERR_SHAPE", "weights")
    return array.reshape((1,) * (4 - array.ndim) + array.shape)


def _tokens(given, count, name):
    tokens = list(map(str, range(count) if given is None else given))
    for token in tokens:
        c_string(token, name)
    if len(tokens) != count:
        raise AttnError(f"{name} has {len(tokens)} tokens, but weights has {count}", "ATTN_ERR_SHAPE", name)
    return tokens


def _kind_of(array):
    if array.shape[2] != array.shape[3]:
        return "cross"
    return "encoder" if np.triu(array, 1).any() else "decoder"


def attention_map(weights, tokens=None, key_tokens=None, *, kind=None, name="attention", lang="en") -> AttentionMap:
    """Makes a map of attention weights, from any framework.

    Parameters
    ----------
    weights : array, or a sequence of arrays
        (L, S), (heads, L, S) or (layers, heads, L, S); or one array per layer, such as Hugging Face's attentions of one
        text. Each row sums to 1.
    tokens : sequence of str, optional
        Of the queries, and of the keys if there are as many. Without it, positions from 0.
    key_tokens : sequence of str, optional
    kind : {'encoder', 'decoder', 'cross'}, optional
        Without it: cross if L and S differ, decoder if no query attends to a later key, else encoder.
    name : str
        The heading.
    lang : {'en', 'ja'}
        The language that the page opens in.

    Raises
    ------
    AttnError
        Names the argument.
    """
    array = _array_of(weights)
    new_style(lang)
    c_string(str(name), "name")
    if kind is not None:
        choose(_KINDS, kind, "kind")
    queries = _tokens(tokens, array.shape[2], "tokens")
    if key_tokens is None and array.shape[2] == array.shape[3]:
        key_tokens = tokens
    group = _Heads(kind or _kind_of(array), queries, _tokens(key_tokens, array.shape[3], "key_tokens"))
    group.weights = {at: array[at].copy() for at in np.ndindex(*array.shape[:2])}
    return AttentionMap(str(name), [group], lang)


@ffi.callback("int(void *, const attn_attention *)", error=1)
def _add_head(context, a):
    groups, kind = ffi.from_handle(context), _NAMES[a.kind]
    if kind not in groups:
        groups[kind] = _Heads(kind, strings(a.query_tokens, a.queries), strings(a.key_tokens, a.keys))
    weights = np.frombuffer(ffi.buffer(a.weights, 4 * a.queries * a.keys), np.float32).reshape(a.queries, a.keys)
    groups[kind].weights[a.layer, a.head] = weights.copy()
    return 0


def show(path, text=None, *, target=None, threads=0, lang="en") -> AttentionMap:
    """Runs a model on a text and returns the attention of all its heads, as attn show does.

    Parameters
    ----------
    path : str or path
        A checkpoint, or a folder of Hugging Face's (BERT, GPT-2, Marian).
    text : str, optional
        What the model reads.
    target : str, optional
        What the decoder generates; without it, its own greedy output. A decoder alone reads it after text.
    threads : int
        0: all.
    lang : {'en', 'ja'}
        The language that the page opens in.

    Raises
    ------
    AttnError
        The model cannot be read, or does not take these texts.
    """
    new_style(lang)
    threads = integer(threads, "threads", 0, 1024)
    texts = [None if value is None else c_string(value, name) for name, value in (("text", text), ("target", target))]
    run = _Run(path, *texts)
    run.generate(threads)
    return AttentionMap(fsencode(Path(path).name).decode("utf-8", "replace"), run.visit(threads), lang, run)
