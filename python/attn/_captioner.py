"""Trained captioners: the caption of an image, and where the model looks."""
from dataclasses import dataclass, field
from typing import Optional

import numpy as np

from ._core import (BF16, F32, U8, AttnError, AttnTypeError, call, core, ffi, integer, make_view, model, new_struct, open_model,
                    strings)
from ._pages import Page, draw_panels


@dataclass
class Caption(Page):
    """A generated caption. A notebook shows the image, and for each token where the model looked.

    Attributes
    ----------
    text : str
    log_prob : float
        The sum over its tokens and the end token, in nats.
    tokens : list of str
        With the end token, if it was generated. Empty where weights are None.
    weights : numpy.ndarray or None
        (tokens, grid_size, grid_size), float64: the attention from which each token was predicted, the mean over layers
        and heads. Each token's weights sum to 1. None if the model has no attention, or the caption fills all positions.
    """
    text: str
    log_prob: float
    tokens: list
    weights: Optional[np.ndarray]
    _image: Optional[np.ndarray] = field(default=None, repr=False, compare=False)
    _shift: float = field(default=0.0, repr=False, compare=False)  # attn_panel.shift

    def __str__(self):
        return self.text

    def html(self):
        if self._image is None:
            return None  # not of a Captioner
        view = _image_view(self._image)
        panels = [{"kind": "image", "title": ("image", "画像"), "image": view}]
        for token, weights in zip(self.tokens, () if self.weights is None else self.weights):
            panels.append({"kind": "image", "title": (token, token), "image": view, "values": weights, "first": 1, "smooth": 1,
                           "full_heat": self.weights.max(), "shift": self._shift})
        return draw_panels(panels, (self.text, self.text))


class _Visits:
    """Attention of all heads."""

    def __init__(self):
        self.heads, self.tokens = [], []


@ffi.callback("int(void *, const attn_attention *)", error=1)
def _add_head(context, attention):
    visits, (rows, columns) = ffi.from_handle(context), (attention.queries, attention.keys)
    if attention.kind == core.ATTN_ATTENTION_CROSS:
        values = np.frombuffer(ffi.buffer(attention.weights, 4 * rows * columns), np.float32)
        visits.heads.append(values.reshape(rows, columns).astype(np.float64))
        visits.tokens = strings(attention.query_tokens, rows)
    return 0


def _bytes_of(image):
    """A dense copy of an image as unsigned bytes."""
    return np.array(image if image.dtype == np.uint8 else np.rint(np.clip(np.nan_to_num(image), 0, 1) * 255), np.uint8, order="C")


def _image_view(image):
    """Returns the attn_tensor of an image, with unsigned bytes or floats, which keeps it alive."""
    if not isinstance(image, np.ndarray) or image.dtype not in (np.uint8, np.float32):
        got = getattr(image, "dtype", type(image).__name__)
        raise AttnTypeError(f"image must be a NumPy array of uint8 (0 to 255) or float32 (0 to 1), got {got}",
                            "ATTN_ERR_TYPE", "image")
    image = np.ascontiguousarray(image)
    strides = tuple(stride // image.itemsize for stride in image.strides)
    return make_view(image, image.ctypes.data, U8 if image.dtype == np.uint8 else F32, image.shape, strides, "image", False)


class Captioner:
    """A trained captioner: a checkpoint of attn train captions, photos, or --images.

    Parameters
    ----------
    path : str or path

    Attributes
    ----------
    image_size : int
        Images are scaled to this side.
    grid_size : int
        The side of the grid of positions that the model looks at.

    Raises
    ------
    AttnError
        The file cannot be read, is not a checkpoint, or the model reads texts.
    """

    def __init__(self, path):
        self._model, info = open_model(path)
        self.image_size, self.grid_size, self._positions = info.image_size, info.grid_size, info.max_positions
        if not self.image_size:
            raise AttnError(f"{path}: the model reads texts, not images", "ATTN_ERR_ARGUMENT", "path")

    def __call__(self, image, *, num_beams=1, max_new_tokens=0, precision="float32", threads=0) -> Caption:
        """Captions an image.

        Parameters
        ----------
        image : numpy.ndarray
            (height, width, 3), sRGB: uint8, or float32 from 0 to 1. Any size.
        num_beams : int
            Beam search; 1: greedy.
        max_new_tokens : int
            With the end token; 0: the positions of the model.
        precision : str
            "float32", or "bf16": linear layers multiply values rounded to bf16. Convolutions, cells and alignment are float32.
        threads : int
            0: all.

        Returns
        -------
        Caption

        Raises
        ------
        AttnError
            Names the argument.
        """
        tensor = _image_view(image)
        config = new_struct("attn_generation_config", num_beams=integer(num_beams, "num_beams", 1, 4096),
                            max_new_tokens=integer(max_new_tokens, "max_new_tokens", 0))
        if precision not in ("float32", "bf16"):
            raise AttnError(f'precision must be "float32" or "bf16", got {precision!r}', "ATTN_ERR_ARGUMENT", "precision")
        config.precision = BF16 if precision == "bf16" else F32
        config.threads = integer(threads, "threads", 0, 1024)
        result = new_struct("attn_generation_result")
        call(model().attn_model_caption, self._model, tensor, 1, config, result, renamed={"images": "image"})
        try:
            text, finished = ffi.string(result.text), result.finished
            fits = result.token_count < self._positions
            caption = Caption(text.decode("utf-8", "replace"), result.log_prob, [], None, _bytes_of(image),
                              0.5 * self.grid_size / self.image_size - 0.5)
        finally:
            model().attn_generation_results_free(result, 1)
        if fits:
            self._look(tensor, text, finished, config.threads, caption)
        return caption

    def _look(self, tensor, text, finished, threads, caption):
        visits = _Visits()
        handle = ffi.new_handle(visits)
        call(model().attn_model_visit_caption, self._model, tensor, text, threads, _add_head, handle)
        if visits.heads:
            count = len(visits.tokens) - (not finished)  # the end token was not generated
            weights = sum(visits.heads) / len(visits.heads)
            caption.tokens = visits.tokens[:count]
            caption.weights = weights[:count].reshape(count, self.grid_size, self.grid_size)
