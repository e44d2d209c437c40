"""The shared library through cffi, and arrays of any kind as its tensor views."""
import ctypes
import operator
import os
import re
import sys
from pathlib import Path

import numpy as np
from cffi import FFI

HERE = Path(__file__).resolve().parent
F16, F32, F64, BF16 = 0x00011002, 0x00012002, 0x00014002, 0x00011004
I32, I64, BOOL = 0x00012000, 0x00014000, 0x00010806
RANK_MAX = 8

ffi = FFI()


def _declarations(folder):
    """The headers as cffi takes them: without the preprocessor's lines."""
    text = ""
    for name in ("attn.h", "lesson.h", "io.h", "nn.h"):
        body = (folder / name).read_text(encoding="utf-8")
        body = re.sub(r"#ifdef __cplusplus\nextern.*?#endif", "", body, flags=re.S)
        body = re.sub(r"#ifdef __cplusplus\n}\n#endif", "", body)
        body = re.sub(r"(?m)^#(?!define ATTN_\w+ \d+\b).*$", "", body)
        text += body.replace("ATTN_API ", "")
    return text


def _folder(kind):
    """Where the wheel put them, or where ATTN_LIBRARY_PATH and ATTN_INCLUDE_PATH say (development)."""
    named = os.environ.get({"_lib": "ATTN_LIBRARY_PATH", "_include": "ATTN_INCLUDE_PATH"}[kind])
    return Path(named) if named else HERE / kind


def _open(name):
    found = sorted(_folder("_lib").glob(f"{name}.so*"))
    if not found:
        raise ImportError(f"{name}.so is not in {_folder('_lib')}: install the package with pip install .")
    return ffi.dlopen(str(found[-1]))


ffi.cdef(_declarations(_folder("_include")))
core = _open("libattn")


def model():
    """libattn-model: lessons and files. Opened when first asked for."""
    global _model
    if _model is None:
        _model = _open("libattn-model")
    return _model


_model = None


def library_version():
    """The version of the C library, '0.1.0'."""
    return ffi.string(core.attn_version_string()).decode()


class AttnError(ValueError):
    """A call that the library refused. argument: which one; status: 'ATTN_ERR_SHAPE' and so on."""

    def __init__(self, message, status="", argument=""):
        super().__init__(message)
        self.status, self.argument = status, argument


class AttnTypeError(AttnError, TypeError):
    """A type or device that the library does not take."""


def check(status, error):
    """Raises what a failed call says: ValueError, TypeError, MemoryError, KeyboardInterrupt."""
    if status == 0:
        return
    name = ffi.string(core.attn_status_name(status)).decode()
    message, argument = ffi.string(error.message).decode("utf-8", "replace"), ffi.string(error.argument).decode()
    if error.line:
        message = f"line {error.line}, column {error.column}: {message}"
    if name == "ATTN_ERR_MEMORY":
        raise MemoryError(message)
    if name == "ATTN_ERR_INTERRUPTED":
        raise KeyboardInterrupt(message)
    raise (AttnTypeError if name == "ATTN_ERR_TYPE" else AttnError)(message, name, argument)


# ---- Arrays ------------------------------------------------------------------------------------------

_NUMPY = {"float16": F16, "float32": F32, "float64": F64, "bfloat16": BF16, "int32": I32, "int64": I64,
          "bool": BOOL}


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("dtype", ctypes.c_uint32), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def _fill(view, data, dtype, shape, strides, name):
    if len(shape) > RANK_MAX:
        raise AttnError(f"{name} has rank {len(shape)}; at most {RANK_MAX} is possible", "ATTN_ERR_SHAPE", name)
    view.data, view.dtype, view.rank = ffi.cast("void *", data), dtype, len(shape)
    for n, (size, stride) in enumerate(zip(shape, strides)):
        view.shape[n], view.strides[n] = size, stride
    return view


def _numpy_view(array, name):
    dtype = _NUMPY.get(array.dtype.name)
    if dtype is None or not array.dtype.isnative:
        raise AttnTypeError(f"{name} is {array.dtype}; it must be a native float16, float32, float64 or "
                            "bfloat16 (masks also bool, lengths int32 or int64)", "ATTN_ERR_TYPE", name)
    size = array.dtype.itemsize
    if any(s % size for s in array.strides):
        raise AttnError(f"{name} has strides that are no multiples of its elements", "ATTN_ERR_SHAPE", name)
    return _fill(ffi.new("attn_tensor *"), array.__array_interface__["data"][0], dtype, array.shape,
                 [s // size for s in array.strides], name)


def _dlpack_view(array, name):
    if getattr(array, "requires_grad", False):
        array = array.detach()
    if _is_torch(array) and array.is_neg():  # a view whose signs are turned: DLPack would lose that
        array = array.resolve_neg()
    try:
        capsule = array.__dlpack__()
    except (BufferError, RuntimeError, TypeError) as reason:
        raise AttnTypeError(f"{name} cannot be taken without a copy: {reason}", "ATTN_ERR_TYPE", name) from reason
    t = ctypes.cast(_pointer(capsule, b"dltensor"), ctypes.POINTER(_DLTensor)).contents
    if t.device_type != 1:
        raise AttnTypeError(f"{name} is not in the CPU's memory (DLPack device {t.device_type})", "ATTN_ERR_TYPE",
                            name)
    shape = [t.shape[n] for n in range(t.ndim)]
    strides = [t.strides[n] for n in range(t.ndim)] if t.strides else _dense(shape)
    view = _fill(ffi.new("attn_tensor *"), (t.data or 0) + t.byte_offset, 0, shape, strides, name)
    ffi.cast("uint32_t *", ffi.addressof(view, "dtype"))[0] = t.dtype
    _keep[view] = capsule
    return view


def _dense(shape):
    strides, step = [], 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= size
    return strides


import weakref  # noqa: E402  (the capsule lives as long as the view)

_keep = weakref.WeakKeyDictionary()


def _is_torch(array):
    return "torch" in sys.modules and isinstance(array, sys.modules["torch"].Tensor)


def whole(value, name, least=-(1 << 63), most=(1 << 63) - 1):
    """A whole number that C can hold; no bool, no fraction."""
    try:
        number = None if isinstance(value, (bool, np.bool_)) else operator.index(value)
    except TypeError:
        number = None
    if number is None or not least <= number <= most:
        raise AttnError(f"{name} is {value!r}; it must be a whole number in {least} .. {most}", "ATTN_ERR_ARGUMENT", name)
    return number


def output_view(array, name, shape):
    """The view of what a caller gave to be written: of this shape, writable, no two elements in one place."""
    if isinstance(array, np.ndarray):
        refused = None if array.flags.writeable else "it is read-only"
    elif _is_torch(array):
        refused = ("it is part of an autograd graph" if array.requires_grad else
                   "its signs are turned (resolve_neg() makes an array of its own)" if array.is_neg() else None)
    else:
        refused = f"{type(array).__name__} may not be writable; give a NumPy array or a PyTorch tensor"
    strides = array.strides if isinstance(array, np.ndarray) else array.stride() if _is_torch(array) else ()
    if any(size > 1 and stride == 0 for size, stride in zip(getattr(array, "shape", ()), strides)):
        refused = "elements of it share memory"
    if refused:
        raise AttnError(f"{name} cannot be written: {refused}", "ATTN_ERR_ARGUMENT", name)
    if tuple(array.shape) != tuple(shape):
        raise AttnError(f"{name} is {tuple(array.shape)}; it must be {tuple(shape)}", "ATTN_ERR_SHAPE", name)
    if _is_torch(array):
        sys.modules["torch"].autograd.graph.increment_version(array)
    return view(array, name)


def matrix_shape(array, name):
    """The shape of an array that has at least (length, width)."""
    if len(array.shape) < 2:
        raise AttnError(f"{name} has rank {len(array.shape)}; it must be 2, 3 or 4", "ATTN_ERR_SHAPE", name)
    return tuple(array.shape)


def view(array, name):
    """An attn_tensor over the array's own memory. The array must outlive it."""
    if isinstance(array, np.ma.MaskedArray):
        raise AttnTypeError(f"{name} is a masked array: give the data, and the mask as such", "ATTN_ERR_TYPE", name)
    if isinstance(array, np.ndarray):
        return _numpy_view(array, name)
    if hasattr(array, "__dlpack__"):
        return _dlpack_view(array, name)
    raise AttnTypeError(f"{name} is {type(array).__name__}; it must be a NumPy array or have __dlpack__",
                        "ATTN_ERR_TYPE", name)


def empty_like(array, shape, dtype=None):
    """A new dense array of the same library; dtype: 'float32' and so on, or the array's."""
    if _is_torch(array):
        import torch
        return torch.empty(shape, dtype=getattr(torch, dtype) if dtype else array.dtype)
    if isinstance(array, np.ndarray):
        return np.empty(shape, dtype or array.dtype)
    return np.empty(shape, dtype or str(array.dtype))


def dtype_name(array):
    return str(array.dtype).replace("torch.", "")
