"""attn_image_read and attn_image_resize (attn/io.h) against files written by NumPy and zlib, and against PyTorch."""
import struct
import zlib

import numpy as np
import pytest
from attn._core import F32, ffi, model

U8 = 0x00010801
GREY, RGB, PALETTE, GREY_ALPHA, RGBA = 0, 2, 3, 4, 6
CHANNELS = {GREY: 1, RGB: 3, PALETTE: 1, GREY_ALPHA: 2, RGBA: 4}
TYPES = [(GREY, d) for d in (1, 2, 4, 8, 16)] + [(PALETTE, d) for d in (1, 2, 4, 8)] + [(c, d) for c in (RGB, GREY_ALPHA, RGBA) for d in (8, 16)]
ADAM7 = [(0, 8, 0, 8), (0, 8, 4, 8), (4, 8, 0, 4), (0, 4, 2, 4), (2, 4, 0, 2), (0, 2, 1, 2), (1, 2, 0, 1)]


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def filtered(row, before, step, kind):
    """One row of bytes with PNG's filter of this kind [ISO/IEC 15948, 9]."""
    row, up = np.array(row, np.int64), np.array(before, np.int64)
    left = np.concatenate([np.zeros(step, np.int64), row])[:len(row)]
    corner = np.concatenate([np.zeros(step, np.int64), up])[:len(row)]
    p = left + up - corner
    distance = np.abs(np.stack([p - left, p - up, p - corner]))
    paeth = np.choose(distance.argmin(0), [left, up, corner])
    return bytes([kind]) + bytes(((row - [0 * up, left, up, (left + up) // 2, paeth][kind]) % 256).astype(np.uint8))


def scanlines(samples, depth, rng):
    """Packed and filtered rows of one pass, each with a random filter."""
    out = b""
    if 0 in samples.shape:
        return out
    h, w, channels = samples.shape
    step, before = max(1, depth * channels // 8), None
    for row in samples.reshape(h, w * channels):
        bits = ((row[:, None] >> np.arange(depth - 1, -1, -1)) & 1).astype(np.uint8)
        packed = np.packbits(bits.reshape(-1))
        before = np.zeros_like(packed) if before is None else before
        out += filtered(packed, before, step, rng.randrange(5))
        before = packed
    return out


def png(samples, color, depth, interlaced, rng, extra=b""):
    h, w = samples.shape[:2]
    passes = ADAM7 if interlaced else [(0, 1, 0, 1)]
    data = b"".join(scanlines(samples[y::dy, x::dx], depth, rng) for y, dy, x, dx in passes)
    head = struct.pack(">IIBBBBB", w, h, depth, color, 0, 0, interlaced)
    packed = zlib.compress(data)
    cut = rng.randrange(len(packed) + 1)  # IDAT may be in several chunks
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + extra + chunk(b"IDAT", packed[:cut]) + chunk(b"IDAT", packed[cut:])
            + chunk(b"IEND", b""))


def taken(array):
    """An attn_array as a NumPy array; releases it."""
    t = array.tensor
    shape = tuple(t.shape[n] for n in range(t.rank))
    dtype = {U8: np.uint8, F32: np.float32}[t.dtype]
    out = np.frombuffer(ffi.buffer(t.data, int(np.prod(shape)) * np.dtype(dtype).itemsize), dtype).reshape(shape).copy()
    model().attn_array_free(array)
    return out


def config_of(height=0, width=0, dtype=U8):
    return ffi.new("attn_image_config *", {"struct_size": ffi.sizeof("attn_image_config"), "height": height, "width": width, "dtype": dtype})


def parse(data, **options):
    array, error = ffi.new("attn_array *"), ffi.new("attn_error *")
    status = model().attn_image_parse(data, len(data), config_of(**options), array, error)
    assert status == 0, ffi.string(error.message)
    return taken(array)


def resize(image, **options):
    image = np.ascontiguousarray(image)
    tensor = ffi.new("attn_tensor *", {"data": ffi.cast("void *", image.ctypes.data), "dtype": U8 if image.dtype == np.uint8 else F32, "rank": 3,
                                       "shape": list(image.shape) + [0] * 5,
                                       "strides": [s // image.itemsize for s in image.strides] + [0] * 5})
    array, error = ffi.new("attn_array *"), ffi.new("attn_error *")
    status = model().attn_image_resize(tensor, config_of(**options), array, error)
    assert status == 0, ffi.string(error.message)
    return taken(array)


def expected(samples, color, depth, palette, alpha):
    """RGB on white in double, 0 to 255, from samples of the file's depth."""
    value = samples * (255 / (2**depth - 1))
    if color == PALETTE:
        value = np.concatenate([palette[samples[..., 0]], alpha[samples[..., 0], None]], -1).astype(float)
    if color in (GREY, GREY_ALPHA):
        value = np.concatenate([value[..., :1]] * 3 + [value[..., 1:]], -1)
    opaque = value[..., 3:] / 255 if value.shape[-1] == 4 else 1
    return value[..., :3] * opaque + 255 * (1 - opaque)


@pytest.mark.parametrize("interlaced", [0, 1])
@pytest.mark.parametrize("color, depth", TYPES)
def test_every_type_is_read(rng, color, depth, interlaced):
    """Rounded once; with 16 bits and alpha, value C and alpha A are rounded before, so that the error is at most
    0.5 + 0.5 A / 255 + 0.5 (255 - C) / 255 <= 1.5."""
    for h, w in [(1, 1), (1, 40), (40, 1), (5, 6), (rng.randrange(1, 30), rng.randrange(1, 30))]:
        draw = np.random.default_rng(rng.randrange(2**32))
        samples = draw.integers(0, 2**depth, (h, w, CHANNELS[color]))
        palette, alpha = draw.integers(0, 256, (256, 3)), draw.integers(0, 256, 256)
        extra = b""
        if color == PALETTE:
            extra = chunk(b"PLTE", palette[:2**depth].astype(np.uint8).tobytes()) + chunk(b"tRNS", alpha[:2**depth].astype(np.uint8).tobytes())
        image = parse(png(samples, color, depth, interlaced, rng, extra))
        assert image.shape == (h, w, 3)
        exact = expected(samples, color, depth, palette, alpha)
        bound = 1.5 if depth == 16 and color in (GREY_ALPHA, RGBA) else 0.5 + 1e-9
        assert np.abs(image - exact).max() <= bound


@pytest.mark.parametrize("color, depth", [(GREY, 2), (GREY, 8), (GREY, 16), (RGB, 8), (RGB, 16)])
def test_the_key_of_trns_is_transparent(rng, color, depth):
    draw = np.random.default_rng(rng.randrange(2**32))
    samples = draw.integers(0, 2**depth, (9, 7, CHANNELS[color]))
    samples[draw.random((9, 7)) < 0.3] = samples[0, 0]
    key = b"".join(struct.pack(">H", v) for v in samples[0, 0])
    image = parse(png(samples, color, depth, 0, rng, chunk(b"tRNS", key)))
    is_key = (samples == samples[0, 0]).all(-1)
    exact = expected(samples, color, depth, None, None)
    exact[is_key] = 255
    assert np.abs(image - exact).max() <= 0.5 + 1e-9


@pytest.mark.parametrize("size", [(1, 4096), (4096, 1)])
def test_lines_of_one_pixel(rng, size):
    samples = np.random.default_rng(rng.randrange(2**32)).integers(0, 256, (*size, 3))
    assert (parse(png(samples, RGB, 8, 1, rng)) == samples).all()


def weights(source, result):
    """The matrix (result, source) of an axis: overlaps of areas, or linear interpolation at centres."""
    i, k = np.arange(result)[:, None], np.arange(source)[None]
    scale = source / result
    if source > result:
        return np.clip(np.minimum(k + 1, (i + 1) * scale) - np.maximum(k, i * scale), 0, None) / scale
    return np.clip(1 - np.abs(np.clip((i + 0.5) * scale - 0.5, 0, source - 1) - k), 0, None)


def test_scaling_equals_numpy(rng):
    for _ in range(100):
        h, w, height, width = (rng.randrange(1, 50) for _ in range(4))
        image = np.random.default_rng(rng.randrange(2**32)).integers(0, 256, (h, w, 3)).astype(np.uint8)
        exact = np.einsum("ih,jw,hwc->ijc", weights(h, height), weights(w, width), image / 1.0)
        assert np.abs(resize(image, height=height, width=width) - exact).max() <= 0.5 + 1e-9
        assert np.abs(resize(image, height=height, width=width, dtype=F32) - exact / 255).max() <= 1e-7


def test_growing_equals_pytorch(rng):
    torch = pytest.importorskip("torch")
    for _ in range(50):
        h, w = rng.randrange(1, 20), rng.randrange(1, 20)
        height, width = rng.randrange(h, 50), rng.randrange(w, 50)
        image = np.random.default_rng(rng.randrange(2**32)).random((h, w, 3)).astype(np.float32)
        theirs = torch.nn.functional.interpolate(torch.from_numpy(image).permute(2, 0, 1)[None].double(), (height, width), mode="bilinear",
                                                 align_corners=False)[0].permute(1, 2, 0).numpy()
        assert np.abs(resize(image, height=height, width=width, dtype=F32) - theirs).max() <= 1e-6


def test_whole_factors_shrink_as_pytorch(rng):
    """Where the sizes divide, PyTorch's area interpolation is the average of the same pixels."""
    torch = pytest.importorskip("torch")
    for _ in range(50):
        height, width, a, b = (rng.randrange(1, 9) for _ in range(4))
        image = np.random.default_rng(rng.randrange(2**32)).random((height * a, width * b, 3)).astype(np.float32)
        theirs = torch.nn.functional.interpolate(torch.from_numpy(image).permute(2, 0, 1)[None].double(), (height, width), mode="area")
        assert np.abs(resize(image, height=height, width=width, dtype=F32) - theirs[0].permute(1, 2, 0).numpy()).max() <= 1e-6
