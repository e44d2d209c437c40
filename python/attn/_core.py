"""The shared libraries through cffi; conversion of arrays to attn_tensor views; errors."""
import ctypes
import functools
import math
import operator
import os
import re
import struct
import sys
from pathlib import Path

import numpy as np
from _cffi_backend import FFI as QuickFFI
from cffi import FFI

HERE = Path(__file__).resolve().parent
F16, F32, F64, BF16 = 0x00011002, 0x00012002, 0x00014002, 0x00011004
I32, I64, BOOL, U8 = 0x00012000, 0x00014000, 0x00010806, 0x00010801
RANK_MAX = 8

ffi = FFI()
quick = QuickFFI()  # cffi's C layer, faster than FFI; it has no declarations, only types resolved by ffi


def _declarations(folder):
    """Returns the headers without preprocessor lines, as cffi requires."""
    text = ""
    for name in ("attn.h", "io.h", "lesson.h", "nn.h", "model.h", "train.h", "picture.h"):
        body = (folder / name).read_text(encoding="utf-8")
        body = re.sub(r"#ifdef __cplusplus\nextern.*?#endif", "", body, flags=re.S)
        body = re.sub(r"#ifdef __cplusplus\n}\n#endif", "", body)
        body = re.sub(r"(?m)^#(?!define ATTN_\w+ \d+\b).*$", "", body)
        text += body.replace("ATTN_API ", "")
    return text


def _folder(kind):
    """Returns the wheel's folder, or ATTN_LIBRARY_PATH or ATTN_INCLUDE_PATH if set (for development)."""
    override = os.environ.get({"_lib": "ATTN_LIBRARY_PATH", "_include": "ATTN_INCLUDE_PATH"}[kind])
    return Path(override) if override else HERE / kind


def _open(name):
    found = sorted(_folder("_lib").glob(f"{name}.so*"))
    if not found:
        raise ImportError(f"{name}.so not found in {_folder('_lib')}; install the package with pip install .")
    return ffi.dlopen(str(found[-1]))


ffi.cdef(_declarations(_folder("_include")))
core = _open("libattn")


@functools.lru_cache(None)
def model():
    """Returns libattn-model (layers, lessons, files), loaded at the first call."""
    return _open("libattn-model")


def library_version():
    """Returns the version of the C library, such as '0.1.0'."""
    return ffi.string(core.attn_version_string()).decode()


class AttnError(ValueError):
    """An invalid call.

    Attributes
    ----------
    argument : str
        The name of the argument; empty if no single one is at fault.
    status : str
        The C status, such as 'ATTN_ERR_SHAPE'.
    """

    def __init__(self, message, status="", argument=""):
        super().__init__(message)
        self.status, self.argument = status, argument


class AttnTypeError(AttnError, TypeError):
    """An unsupported type or device."""


def check(status, error, renamed=None):
    """Raises AttnError, AttnTypeError, MemoryError or KeyboardInterrupt for a failed call.

    renamed maps C argument names to Python's, such as {"o": "out"}.
    """
    if status == 0:
        return
    name = ffi.string(core.attn_status_name(status)).decode()
    message, argument = ffi.string(error.message).decode("utf-8", "replace"), ffi.string(error.argument).decode()
    if argument in (renamed or {}):
        message = re.sub(rf"^{argument}\b", renamed[argument], message)
        argument = renamed[argument]
    if error.line:
        message = f"line {error.line}, column {error.column}: {message}"
    if name == "ATTN_ERR_MEMORY":
        raise MemoryError(message)
    if name == "ATTN_ERR_INTERRUPTED":
        raise KeyboardInterrupt(message)
    raise (AttnTypeError if name == "ATTN_ERR_TYPE" else AttnError)(message, name, argument)


# ---- Scalar arguments and texts ---------------------------------------------------------------------------------

def choose(table, value, name):
    """Returns table[value], or raises an error that lists the accepted values."""
    if not isinstance(value, str) or value not in table:
        raise AttnError(f"{name} must be one of {', '.join(map(repr, table))}, got {value!r}", "ATTN_ERR_ARGUMENT", name)
    return table[value]


def integer(value, name, minimum=-2**63, maximum=2**63 - 1):
    """Converts to an int without loss, within minimum .. maximum; bools and arrays are rejected."""
    try:
        if type(value) is not int and (getattr(value, "ndim", 0) or
                                       "bool" in str(getattr(value, "dtype", type(value).__name__))):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise AttnError(f"{name} must be an integer, got {value!r}", "ATTN_ERR_ARGUMENT", name) from None
    if not minimum <= number <= maximum:
        raise AttnError(f"{name} must be between {minimum} and {maximum}, got {number}", "ATTN_ERR_ARGUMENT", name)
    return number


def integers(values, name, count):
    """Converts a sequence of count integers to a tuple."""
    try:
        values = tuple(values)
    except TypeError:
        values = ()
    if len(values) != count:
        raise AttnError(f"{name} must be {count} integers", "ATTN_ERR_ARGUMENT", name)
    return tuple(integer(value, name) for value in values)


def real(value, name):
    """Converts to a float. The library checks for NaN and infinity."""
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise AttnError(f"{name} must be a number, got {value!r}", "ATTN_ERR_ARGUMENT", name) from None


def encoded(value, name, encode=str.encode):
    """Returns a str as UTF-8, or a path with encode=os.fsencode."""
    try:
        return encode(value)
    except UnicodeEncodeError as reason:
        raise AttnError(f"{name} has a lone surrogate at index {reason.start}", "ATTN_ERR_ARGUMENT", name) from None
    except TypeError:
        accepted = "a str" if encode is str.encode else "a str or a path"
        raise AttnTypeError(f"{name} must be {accepted}, got {type(value).__name__}", "ATTN_ERR_TYPE", name) from None


def c_string(value, name, encode=str.encode):
    """Returns encoded(value, name, encode), which must not have a NUL: C would read no further."""
    found = encoded(value, name, encode)
    if b"\0" in found:
        raise AttnError(f"{name} has a NUL character", "ATTN_ERR_ARGUMENT", name)
    return found


# ---- Arrays ------------------------------------------------------------------------------------------

_NUMPY = {"float16": F16, "float32": F32, "float64": F64, "bfloat16": BF16, "int32": I32, "int64": I64,
          "bool": BOOL}


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("dtype", ctypes.c_uint32), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class _DLManagedTensorVersioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _DLTensor)]


_READ_ONLY = 1
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


class _TensorBytes(bytearray):
    """The bytes of an attn_tensor, with a reference to the owner of its data."""
    __slots__ = ("owner",)


_TENSOR, _ADDRESS, _ERROR = ffi.typeof("attn_tensor *"), ffi.typeof("uintptr_t"), ffi.typeof("attn_error *")
_PACK = [struct.Struct(f"=QIi{n}q{8 * (RANK_MAX - n)}x{n}q{8 * (RANK_MAX - n)}x").pack for n in range(RANK_MAX + 1)]


def make_view(owner, data, dtype, shape, strides, name, output):
    """Returns the attn_tensor view that all conversions end in."""
    rank = len(shape)
    if rank > RANK_MAX:
        raise AttnError(f"{name} must have rank {RANK_MAX} or less, got {rank}", "ATTN_ERR_SHAPE", name)
    if output and _overlaps(shape, strides):
        _reject_output(name, "has elements that share memory")
    held = _TensorBytes(_PACK[rank](data, dtype, rank, *shape, *strides))
    held.owner = owner
    return quick.from_buffer(_TENSOR, held)


def _reject_output(name, reason):
    raise AttnError(f"{name} cannot be written: it {reason}", "ATTN_ERR_ARGUMENT", name)


@functools.lru_cache(1024)
def _overlaps(shape, strides):
    """Tests whether elements share memory. Offsets are only counted if the sorted strides do not decide it."""
    steps = sorted((abs(stride), size) for size, stride in zip(shape, strides) if size > 1)
    reach, nested = 0, True
    for stride, size in steps:
        nested = nested and stride > reach
        reach += stride * (size - 1)
    count = math.prod(shape)
    if nested or count == 0:
        return False
    if count > reach + 1:
        return True
    offsets = np.zeros(1, np.int64)  # no more than there are elements in memory
    for stride, size in steps:
        offsets = np.add.outer(offsets, stride * np.arange(size)).ravel()
    return np.unique(offsets).size < count


@functools.lru_cache(1024)
def _numpy_layout(dtype, strides):
    """Returns the type code and the strides in elements, each None if unsupported."""
    code, size = _NUMPY.get(dtype.name) if dtype.isnative else None, dtype.itemsize
    return code, None if code is None or any(s % size for s in strides) else tuple(s // size for s in strides)


def _numpy_view(array, name, output):
    if output and not array.flags.writeable:
        _reject_output(name, "is read-only")
    if type(array) is not np.ndarray and isinstance(array, np.ma.MaskedArray):
        raise AttnTypeError(f"{name} must not be a masked array; pass its .data and a separate mask", "ATTN_ERR_TYPE", name)
    code, strides = _numpy_layout(array.dtype, array.strides)
    if code is None:
        raise AttnTypeError(f"{name} must be a native float16, float32, float64 or bfloat16 array (masks also bool, "
                            f"lengths int32 or int64), got {array.dtype}", "ATTN_ERR_TYPE", name)
    if strides is None:
        raise AttnError(f"{name} has strides that are not multiples of its element size", "ATTN_ERR_SHAPE", name)
    if array.flags.c_contiguous:  # faster than the array interface
        data = int(quick.cast(_ADDRESS, quick.from_buffer(array)))
    else:
        data = array.__array_interface__["data"][0]
    return make_view(array, data, code, array.shape, strides, name, output)


def is_torch(array):
    """Tests for a torch.Tensor or a subclass, without importing PyTorch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def _check_graph(name, output):
    """Rejects a tensor that requires grad where the graph would be lost silently."""
    if output:
        _reject_output(name, "requires grad")
    if sys.modules["torch"].is_grad_enabled():
        raise AttnError(f"{name} requires grad, but the result would have no autograd graph; use attn.torch, "
                        f"{name}.detach() or torch.no_grad()", "ATTN_ERR_ARGUMENT", name)


@functools.lru_cache(64)
def _torch_code(dtype):
    return _NUMPY.get(str(dtype).replace("torch.", ""))


def _torch_view(torch, array, name, output):
    """Returns the view of a plain dense tensor, or None if it takes DLPack."""
    code, kind = _torch_code(array.dtype), type(array)
    try:
        if (code is None or kind is not torch.Tensor and kind is not torch.nn.Parameter or not array.is_cpu or
                array.layout is not torch.strided or array.is_neg()):
            return None
        data, shape = array.data_ptr(), array.shape
        if not data and array.numel():  # zeros without storage
            return None
        return make_view(array.untyped_storage(), data, code, shape, array.stride(), name, output)
    except RuntimeError:  # nested tensors, functorch wrappers
        return None


def _torch_capsule(array, name, output):
    torch = sys.modules["torch"]
    if array.layout == torch.strided and (array.is_neg() or output and array.is_conj()):
        if output:
            _reject_output(name, "is a negative or conjugate view")
        array = array.detach().resolve_neg()
    return _dlpack(array.detach(), name)


def _dlpack(array, name, **version):
    try:
        return array.__dlpack__(**version)
    except (BufferError, RuntimeError, TypeError) as reason:
        raise AttnTypeError(f"{name} cannot be read without a copy: {reason}", "ATTN_ERR_TYPE", name) from reason


def _writable_capsule(array, name):
    """Returns a versioned DLPack capsule, the only kind with a read-only flag."""
    if type(array).__module__.split(".")[0] in ("jax", "jaxlib"):
        _reject_output(name, "is a JAX array, which is immutable")
    try:
        capsule = _dlpack(array, name, max_version=(1, 0))
    except AttnTypeError:
        _reject_output(name, f"is a {type(array).__name__}, which does not declare itself writable")
    if not _is_valid(capsule, b"dltensor_versioned"):
        _reject_output(name, f"is a {type(array).__name__}, which does not declare itself writable")
    return capsule


def _tensor(capsule, name, output):
    """Returns the DLTensor of a versioned or unversioned capsule."""
    if not _is_valid(capsule, b"dltensor_versioned"):
        return ctypes.cast(_pointer(capsule, b"dltensor"), ctypes.POINTER(_DLTensor)).contents
    managed = ctypes.cast(_pointer(capsule, b"dltensor_versioned"), ctypes.POINTER(_DLManagedTensorVersioned)).contents
    if managed.major != 1:
        raise AttnTypeError(f"{name} has DLPack version {managed.major}; only 1 is supported", "ATTN_ERR_TYPE", name)
    if output and managed.flags & _READ_ONLY:
        _reject_output(name, "is read-only")
    return managed.tensor


def _dlpack_view(array, name, output):
    if is_torch(array):
        capsule = _torch_capsule(array, name, output)
    else:
        capsule = _writable_capsule(array, name) if output else _dlpack(array, name)
    t = _tensor(capsule, name, output)
    if t.device_type != 1:
        raise AttnTypeError(f"{name} must be in CPU memory, got DLPack device {t.device_type}", "ATTN_ERR_TYPE",
                            name)
    shape = tuple(t.shape[n] for n in range(t.ndim))
    strides = tuple(t.strides[n] for n in range(t.ndim)) if t.strides else _dense(shape)
    return make_view(capsule, (t.data or 0) + t.byte_offset, t.dtype, shape, strides, name, output)


def _dense(shape):
    return tuple(math.prod(shape[n + 1:]) for n in range(len(shape)))


def view(array, name, output=False):
    """Returns an attn_tensor over the array's memory, which keeps the array alive.

    An output must be writable, without elements that share memory, and must not require grad.
    """
    if type(array) is np.ndarray or isinstance(array, np.ndarray):
        return _numpy_view(array, name, output)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        if array.requires_grad:
            _check_graph(name, output)
        return _torch_view(torch, array, name, output) or _dlpack_view(array, name, output)
    if hasattr(array, "__dlpack__"):
        return _dlpack_view(array, name, output)
    raise AttnTypeError(f"{name} must be a NumPy array or have __dlpack__, got {type(array).__name__}",
                        "ATTN_ERR_TYPE", name)


def mark_written(array):
    """Increments the version counter of a tensor, so that autograd detects the write."""
    if is_torch(array) and not array.is_inference():
        sys.modules["torch"].autograd.graph.increment_version(array)


def new_error():
    """Returns an attn_error for one call."""
    return quick.new(_ERROR)


def call(function, *arguments, renamed=None):
    """Calls function(*arguments, error) and raises its failure, as check does."""
    error = quick.new(_ERROR)
    check(function(*arguments, error), error, renamed)


def new_struct(kind, /, **members):
    """Returns a structure of the C library."""
    return ffi.new(f"{kind} *", {"struct_size": ffi.sizeof(kind), **members})


def new_handle(kind, free, function, *arguments):
    """Returns the object that function(*arguments, handle, error) creates."""
    handle = ffi.new(f"{kind} **")
    call(function, *arguments, handle)
    return ffi.gc(handle[0], free)


def open_model(path):
    """Returns an open attn_model and its attn_model_info."""
    opened = new_handle("attn_model", model().attn_model_free, model().attn_model_open, c_string(path, "path", os.fsencode))
    info = new_struct("attn_model_info")
    call(model().attn_model_describe, opened, info)
    return opened, info


def strings(texts, count):
    """Returns an array of C strings as a list."""
    return [ffi.string(texts[n]).decode("utf-8", "replace") for n in range(count)]


def check_rank_2(**views):
    for name, view in views.items():
        if view.rank < 2:
            raise AttnError(f"{name} must have rank 2 or more, got {view.rank}", "ATTN_ERR_SHAPE", name)


def empty_like(array, shape, dtype=None):
    """Allocates a dense array: a tensor if array is one, else NumPy's. dtype defaults to the array's."""
    if type(array) is np.ndarray or isinstance(array, np.ndarray):
        return np.empty(shape, dtype or array.dtype)
    if is_torch(array):
        torch = sys.modules["torch"]
        if dtype is None and shape == array.shape and type(array) is torch.Tensor:  # the fastest way
            return torch.empty_like(array, memory_format=torch.contiguous_format)
        return torch.empty(shape, dtype=getattr(torch, dtype) if dtype else array.dtype, device=array.device)
    return np.empty(shape, dtype or str(array.dtype))


def numpy_type(dtype, name):
    """Returns np.dtype(dtype); bfloat16 needs the package ml_dtypes."""
    try:
        if str(dtype) == "bfloat16":
            import ml_dtypes  # noqa: F401
        return np.dtype(dtype)
    except (ImportError, TypeError, ValueError) as reason:
        hint = "; install ml_dtypes for bfloat16" if str(dtype) == "bfloat16" else ""
        raise AttnTypeError(f"{name} must be a NumPy dtype, got {dtype!r}{hint}", "ATTN_ERR_TYPE", name) from reason


def dtype_name(array):
    return str(array.dtype).replace("torch.", "")
