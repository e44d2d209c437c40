"""The shared library through cffi, and arrays of any kind as its tensor views."""
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
I32, I64, BOOL = 0x00012000, 0x00014000, 0x00010806
RANK_MAX = 8

ffi = FFI()
quick = QuickFFI()  # the same functions without a layer of Python, for what each call needs; it knows no names of ours


def _declarations(folder):
    """The headers as cffi takes them: without the preprocessor's lines."""
    text = ""
    for name in ("attn.h", "io.h", "lesson.h", "nn.h", "model.h", "train.h", "picture.h"):
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


def check(status, error, renamed=None):
    """Raises what a failed call says: ValueError, TypeError, MemoryError, KeyboardInterrupt.

    renamed: what C's arguments are called here, {"o": "out"}.
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


# ---- Knobs -------------------------------------------------------------------------------------------

def choose(table, value, name):
    """table[value], or an error that says what it may be."""
    if not isinstance(value, str) or value not in table:
        raise AttnError(f"{name} is {value!r}; it must be one of {', '.join(table)}", "ATTN_ERR_ARGUMENT", name)
    return table[value]


def whole(value, name, least=-2**63, most=2**63 - 1):
    """An int of least .. most; what would lose something on the way to one is refused."""
    try:
        if type(value) is not int and (getattr(value, "ndim", 0) or
                                       "bool" in str(getattr(value, "dtype", type(value).__name__))):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise AttnError(f"{name} is {value!r}; it must be a whole number", "ATTN_ERR_ARGUMENT", name) from None
    if not least <= number <= most:
        raise AttnError(f"{name} is {number}; it must be in {least} .. {most}", "ATTN_ERR_ARGUMENT", name)
    return number


def wholes(values, name, count, least=-2**63):
    """So many of them, in the order that they have."""
    try:
        values = tuple(values)
    except TypeError:
        values = ()
    if len(values) != count:
        raise AttnError(f"{name} must be {count} whole numbers", "ATTN_ERR_ARGUMENT", name)
    return tuple(whole(value, name, least) for value in values)


def real(value, name):
    """A float; NaN and infinity are for the library to judge."""
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise AttnError(f"{name} is {value!r}; it must be a number", "ATTN_ERR_ARGUMENT", name) from None


# ---- Arrays ------------------------------------------------------------------------------------------

_NUMPY = {"float16": F16, "float32": F32, "float64": F64, "bfloat16": BF16, "int32": I32, "int64": I64,
          "bool": BOOL}


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("dtype", ctypes.c_uint32), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned of DLPack 1."""
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _DLTensor)]


_READ_ONLY = 1
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


class _Held(bytearray):
    """The bytes of an attn_tensor, which keep the memory that it points to."""
    __slots__ = ("owner",)


_TENSOR, _ADDRESS, _ERROR = ffi.typeof("attn_tensor *"), ffi.typeof("uintptr_t"), ffi.typeof("attn_error *")
_PACK = [struct.Struct(f"=QIi{n}q{8 * (RANK_MAX - n)}x{n}q{8 * (RANK_MAX - n)}x").pack for n in range(RANK_MAX + 1)]


def _made(owner, data, dtype, shape, strides, name, output):
    """The view of that: each array comes to this."""
    rank = len(shape)
    if rank > RANK_MAX:
        raise AttnError(f"{name} has rank {rank}; at most {RANK_MAX} is possible", "ATTN_ERR_SHAPE", name)
    if output and _overlaps(shape, strides):
        _refuse_output(name, "has elements that share memory")
    held = _Held(_PACK[rank](data, dtype, rank, *shape, *strides))
    held.owner = owner
    return quick.from_buffer(_TENSOR, held)


def _refuse_output(name, why):
    raise AttnError(f"{name} {why}: it cannot be written", "ATTN_ERR_ARGUMENT", name)


@functools.lru_cache(1024)
def _overlaps(shape, strides):
    """Whether elements share memory. The places are counted only where sorted strides do not tell."""
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
    places = np.zeros(1, np.int64)  # at most as many as there is memory
    for stride, size in steps:
        places = np.add.outer(places, stride * np.arange(size)).ravel()
    return np.unique(places).size < count


@functools.lru_cache(1024)
def _numpy_layout(dtype, strides):
    """The type's code and the strides in elements; None for what the library does not have."""
    code, size = _NUMPY.get(dtype.name) if dtype.isnative else None, dtype.itemsize
    return code, None if code is None or any(s % size for s in strides) else tuple(s // size for s in strides)


def _numpy_view(array, name, output):
    if output and not array.flags.writeable:
        _refuse_output(name, "is read-only")
    if type(array) is not np.ndarray and isinstance(array, np.ma.MaskedArray):
        raise AttnTypeError(f"{name} is a masked array; give its .data, and a mask of its own", "ATTN_ERR_TYPE", name)
    code, strides = _numpy_layout(array.dtype, array.strides)
    if code is None:
        raise AttnTypeError(f"{name} is {array.dtype}; it must be a native float16, float32, float64 or "
                            "bfloat16 (masks also bool, lengths int32 or int64)", "ATTN_ERR_TYPE", name)
    if strides is None:
        raise AttnError(f"{name} has strides that are no multiples of its elements", "ATTN_ERR_SHAPE", name)
    if array.flags.c_contiguous:  # a buffer is asked for sooner than the interface
        data = int(quick.cast(_ADDRESS, quick.from_buffer(array)))
    else:
        data = array.__array_interface__["data"][0]
    return _made(array, data, code, array.shape, strides, name, output)


def is_torch(array):
    """A tensor of PyTorch, or of a class of its own. Nothing is imported."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def _check_graph(name, output):
    """Of what requires grad: an error where a graph would be lost silently."""
    if output:
        _refuse_output(name, "requires grad")
    if sys.modules["torch"].is_grad_enabled():
        raise AttnError(f"{name} requires grad, and the result would have no graph: use attn.torch, {name}.detach() or "
                        "torch.no_grad()", "ATTN_ERR_ARGUMENT", name)


@functools.lru_cache(64)
def _torch_code(dtype):
    return _NUMPY.get(str(dtype).replace("torch.", ""))


def _torch_view(torch, array, name, output):
    """Of PyTorch's own dense tensors, whose memory is what they say; None for what only DLPack can tell."""
    code, kind = _torch_code(array.dtype), type(array)
    try:
        if (code is None or kind is not torch.Tensor and kind is not torch.nn.Parameter or not array.is_cpu or
                array.layout is not torch.strided or array.is_neg()):
            return None
        data, shape = array.data_ptr(), array.shape
        if not data and array.numel():  # zeros without memory
            return None
        return _made(array.untyped_storage(), data, code, shape, array.stride(), name, output)
    except RuntimeError:  # nested, or a wrapper of functorch's
        return None


def _torch_capsule(array, name, output):
    """Its values as memory holds them."""
    torch = sys.modules["torch"]
    if array.layout == torch.strided and (array.is_neg() or output and array.is_conj()):
        if output:
            _refuse_output(name, "is a view that negates")
        array = array.detach().resolve_neg()
    return _dlpack(array.detach(), name)


def _dlpack(array, name, **version):
    try:
        return array.__dlpack__(**version)
    except (BufferError, RuntimeError, TypeError) as reason:
        raise AttnTypeError(f"{name} cannot be taken without a copy: {reason}", "ATTN_ERR_TYPE", name) from reason


def _writable_capsule(array, name):
    """For what is not known here: only the versioned DLPack says whether it may be written."""
    if type(array).__module__.split(".")[0] in ("jax", "jaxlib"):
        _refuse_output(name, "is JAX's, which never changes")
    try:
        capsule = _dlpack(array, name, max_version=(1, 0))
    except AttnTypeError:
        _refuse_output(name, f"is {type(array).__name__}, which does not say that it is writable")
    if not _is_valid(capsule, b"dltensor_versioned"):
        _refuse_output(name, f"is {type(array).__name__}, which does not say that it is writable")
    return capsule


def _tensor(capsule, name, output):
    """The DLTensor of a capsule of either kind."""
    if not _is_valid(capsule, b"dltensor_versioned"):
        return ctypes.cast(_pointer(capsule, b"dltensor"), ctypes.POINTER(_DLTensor)).contents
    managed = ctypes.cast(_pointer(capsule, b"dltensor_versioned"), ctypes.POINTER(_Versioned)).contents
    if managed.major != 1:
        raise AttnTypeError(f"{name} comes by DLPack {managed.major}, which is not known", "ATTN_ERR_TYPE", name)
    if output and managed.flags & _READ_ONLY:
        _refuse_output(name, "is read-only")
    return managed.tensor


def _dlpack_view(array, name, output):
    if is_torch(array):
        capsule = _torch_capsule(array, name, output)
    else:
        capsule = _writable_capsule(array, name) if output else _dlpack(array, name)
    t = _tensor(capsule, name, output)
    if t.device_type != 1:
        raise AttnTypeError(f"{name} is not in the CPU's memory (DLPack device {t.device_type})", "ATTN_ERR_TYPE",
                            name)
    shape = tuple(t.shape[n] for n in range(t.ndim))
    strides = tuple(t.strides[n] for n in range(t.ndim)) if t.strides else _dense(shape)
    return _made(capsule, (t.data or 0) + t.byte_offset, t.dtype, shape, strides, name, output)


def _dense(shape):
    return tuple(math.prod(shape[n + 1:]) for n in range(len(shape)))


def view(array, name, output=False):
    """An attn_tensor over the array's own memory, which it keeps. output: what is written; refused
    where that would be seen by none, or by those who were promised that it stays."""
    if type(array) is np.ndarray or isinstance(array, np.ndarray):
        return _numpy_view(array, name, output)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        if array.requires_grad:
            _check_graph(name, output)
        return _torch_view(torch, array, name, output) or _dlpack_view(array, name, output)
    if hasattr(array, "__dlpack__"):
        return _dlpack_view(array, name, output)
    raise AttnTypeError(f"{name} is {type(array).__name__}; it must be a NumPy array or have __dlpack__",
                        "ATTN_ERR_TYPE", name)


def written(array):
    """Tells PyTorch that an output has new values: what was saved of it for a backward is no longer that."""
    if is_torch(array) and not array.is_inference():
        sys.modules["torch"].autograd.graph.increment_version(array)


def new_error():
    """An attn_error of one call."""
    return quick.new(_ERROR)


def ranks_at_least_2(**views):
    for name, view in views.items():
        if view.rank < 2:
            raise AttnError(f"{name} has rank {view.rank}; it must be at least 2", "ATTN_ERR_SHAPE", name)


def empty_like(array, shape, dtype=None):
    """A new dense array: PyTorch's for PyTorch's, NumPy's for all others; dtype: 'float32' and so on, or the array's."""
    if type(array) is np.ndarray or isinstance(array, np.ndarray):
        return np.empty(shape, dtype or array.dtype)
    if is_torch(array):
        torch = sys.modules["torch"]
        if dtype is None and shape == array.shape and type(array) is torch.Tensor:  # this is the quickest
            return torch.empty_like(array, memory_format=torch.contiguous_format)
        return torch.empty(shape, dtype=getattr(torch, dtype) if dtype else array.dtype, device=array.device)
    return np.empty(shape, dtype or str(array.dtype))


def numpy_type(dtype, name):
    """np.dtype(dtype), where NumPy learns of bfloat16 if it can."""
    try:
        if str(dtype) == "bfloat16":
            import ml_dtypes  # noqa: F401
        return np.dtype(dtype)
    except (ImportError, TypeError, ValueError) as reason:
        hint = "; NumPy has it with the package ml_dtypes" if str(dtype) == "bfloat16" else ""
        raise AttnTypeError(f"{name} is {dtype!r}, which NumPy does not know{hint}", "ATTN_ERR_TYPE", name) from reason


def dtype_name(array):
    return str(array.dtype).replace("torch.", "")
