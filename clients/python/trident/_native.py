"""libtrident through ctypes: where it is found, its structs and prototypes, and errors as exceptions."""
import ctypes
import os

try:
    from . import _place
except ImportError:  # in the source tree
    _place = None

POINTERS = ctypes.POINTER(ctypes.c_void_p)
STRIDES = ctypes.POINTER(ctypes.POINTER(ctypes.c_int64))


class TridentError(Exception):
    """An error of the library; `status` is its trident_status."""

    def __init__(self, message, status=None):
        super().__init__(message)
        self.status = status


class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("mode", ctypes.c_uint32), ("socket_path", ctypes.c_char_p),
                ("connect_timeout_ms", ctypes.c_uint32), ("no_speculation", ctypes.c_uint32),
                ("threads", ctypes.c_uint32)]


class Variable(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_uint32), ("scalar", ctypes.c_uint32),
                ("lo", ctypes.c_double), ("hi", ctypes.c_double)]


class SubmitOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("type", ctypes.c_uint32), ("policy", ctypes.c_uint32),
                ("syntax", ctypes.c_uint32), ("k", ctypes.c_double), ("variables", ctypes.POINTER(Variable)),
                ("variable_count", ctypes.c_uint32), ("elements_hint", ctypes.c_uint32)]


class KernelInfo(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("tier", ctypes.c_uint32), ("array_count", ctypes.c_uint32),
                ("scalar_count", ctypes.c_uint32), ("output_count", ctypes.c_uint32), ("swaps", ctypes.c_uint32),
                ("done", ctypes.c_uint32), ("isa", ctypes.c_uint32), ("baseline_ns", ctypes.c_double),
                ("optimised_ns", ctypes.c_double), ("stage", ctypes.c_uint32), ("stage_done", ctypes.c_uint32),
                ("stage_total", ctypes.c_uint32), ("divides", ctypes.c_uint32), ("best_ratio", ctypes.c_double),
                ("note", ctypes.c_char_p), ("misses", ctypes.c_uint64)]


class Stats(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("connected", ctypes.c_uint32)] + [
        (name, ctypes.c_uint64) for name in ("submitted", "baseline_received", "optimised_received", "no_gain",
                                             "errors", "reconnects", "rejected_images")]


TABLES = ("program", "processor", "op_stack", "ram", "jump_stack", "hash", "cascade", "lookup", "u32")
FORMS = {"tasm": 0, "tir": 1}
STAGES_OF_PROGRAMS = {"peepholes": 1, "subroutines": 2, "superoptimiser": 4, "network": 8}
_WORDS = ctypes.POINTER(ctypes.c_uint64)


class ProgramRun(ctypes.Structure):
    _fields_ = [("public_input", _WORDS), ("secret_input", _WORDS), ("secret_digests", _WORDS), ("ram", _WORDS),
                ("public_count", ctypes.c_uint64), ("secret_count", ctypes.c_uint64),
                ("digest_count", ctypes.c_uint64), ("ram_count", ctypes.c_uint64)]


class ProgramOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("form", ctypes.c_uint32), ("public_input", _WORDS),
                ("secret_input", _WORDS), ("secret_digests", _WORDS), ("ram", _WORDS),
                ("public_count", ctypes.c_uint64), ("secret_count", ctypes.c_uint64),
                ("digest_count", ctypes.c_uint64), ("ram_count", ctypes.c_uint64), ("cycles", ctypes.c_uint64),
                ("milliseconds", ctypes.c_uint32), ("programs", ctypes.c_uint32), ("left_out", ctypes.c_uint32),
                ("reserved", ctypes.c_uint32), ("runs", ctypes.POINTER(ProgramRun)), ("run_count", ctypes.c_uint64)]


class ProgramResult(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("better", ctypes.c_uint32), ("by_daemon", ctypes.c_uint32),
                ("words_before", ctypes.c_uint32), ("words_after", ctypes.c_uint32), ("reserved", ctypes.c_uint32),
                ("heights_before", ctypes.c_uint64 * len(TABLES)), ("heights_after", ctypes.c_uint64 * len(TABLES)),
                ("padded_before", ctypes.c_uint64), ("padded_after", ctypes.c_uint64), ("tasm", ctypes.c_char_p),
                ("report", ctypes.c_char_p), ("tasm_size", ctypes.c_uint64)]


class Value(ctypes.Union):
    _fields_ = [("i", ctypes.c_int64), ("f", ctypes.c_double), ("bits", ctypes.c_uint64)]


class Argument(ctypes.Structure):
    _fields_ = [("value", Value), ("data", ctypes.c_void_p), ("count", ctypes.c_uint64)]


class Returned(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("failure", ctypes.c_uint32), ("value", Value),
                ("line", ctypes.c_uint32), ("tier", ctypes.c_uint32), ("function", ctypes.c_char_p),
                ("argument", ctypes.c_char_p)]


class Parameter(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("type", ctypes.c_uint32), ("passing", ctypes.c_uint32),
                ("has_range", ctypes.c_uint32), ("lo", ctypes.c_int64), ("hi", ctypes.c_int64),
                ("name", ctypes.c_char_p), ("meaning", ctypes.c_char_p)]


class FunctionFacts(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("parameters", ctypes.c_uint32), ("result_type", ctypes.c_int32),
                ("is_kernel", ctypes.c_uint32), ("name", ctypes.c_char_p), ("text", ctypes.c_char_p)]


PROGRESS = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p)
ABI_VERSION = 1
E_LIMIT, E_MEMORY, E_TIMEOUT = 4, 5, 6
MODES = {"auto": 0, "daemon": 1, "embedded": 2, "interp": 3}
TYPES = {"f32": 0, "f64": 1, "i32": 2, "i64": 3}
ELEMENT_TYPES = {**TYPES, "u8": 4, "bool": 5, "i8": 6, "u16": 7, "i16": 8, "u32": 9, "u64": 10, "f16": 11}  # of arrays
FUNCTION_TYPES = {"u8": 4, "bool": 5}
FUNCTION_SYNTAX = 4
TYPE_NAMES = {number: name for name, number in ELEMENT_TYPES.items()}
POLICIES = {"exact": 0, "bounded": 1, "fast": 2}
SYNTAXES = {"auto": 0, "infix": 1, "sexpr": 2, "fpcore": 3}
ISAS = {0: "interpreter", 1: "avx2", 2: "avx512", 3: "neon"}
STAGES = {0: "none", 1: "lower", 2: "emit", 3: "equiv", 4: "judge"}

_HANDLE = ctypes.c_void_p
_PROTOTYPES = {
    "trident_open": (ctypes.c_int, [ctypes.POINTER(Options), ctypes.POINTER(_HANDLE)]),
    "trident_close": (None, [_HANDLE]),
    "trident_submit": (ctypes.c_int, [_HANDLE, ctypes.c_char_p, ctypes.POINTER(SubmitOptions),
                                      ctypes.POINTER(_HANDLE)]),
    "trident_close_kernel": (None, [_HANDLE]),
    "trident_array_name": (ctypes.c_char_p, [_HANDLE, ctypes.c_uint32]),
    "trident_scalar_name": (ctypes.c_char_p, [_HANDLE, ctypes.c_uint32]),
    "trident_output_name": (ctypes.c_char_p, [_HANDLE, ctypes.c_uint32]),
    "trident_array_type": (ctypes.c_int, [_HANDLE, ctypes.c_uint32]),
    "trident_scalar_type": (ctypes.c_int, [_HANDLE, ctypes.c_uint32]),
    "trident_output_type": (ctypes.c_int, [_HANDLE, ctypes.c_uint32]),
    "trident_output_is_scalar": (ctypes.c_int, [_HANDLE, ctypes.c_uint32]),
    "trident_observe": (None, [_HANDLE, ctypes.c_uint64, POINTERS, ctypes.POINTER(ctypes.c_uint64)]),
    "trident_run": (None, [_HANDLE, ctypes.c_uint64, POINTERS, POINTERS, ctypes.POINTER(ctypes.c_uint64)]),
    "trident_call_parallel": (None, [_HANDLE, ctypes.c_uint64, POINTERS, POINTERS, ctypes.POINTER(ctypes.c_uint64),
                                     ctypes.c_uint32]),
    "trident_call_strided": (ctypes.c_int, [_HANDLE, ctypes.c_uint32, ctypes.POINTER(ctypes.c_uint64), POINTERS, STRIDES,
                                            POINTERS, STRIDES, ctypes.POINTER(ctypes.c_uint64), ctypes.c_uint32]),
    "trident_wait": (ctypes.c_int, [_HANDLE, ctypes.c_uint32, ctypes.c_uint32]),
    "trident_info": (ctypes.c_int, [_HANDLE, ctypes.POINTER(KernelInfo)]),
    "trident_get_stats": (ctypes.c_int, [_HANDLE, ctypes.POINTER(Stats)]),
    "trident_daemon_stats": (ctypes.c_int, [_HANDLE, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint32]),
    "trident_build_program": (ctypes.c_int, [_HANDLE, ctypes.c_char_p, ctypes.POINTER(ProgramOptions), PROGRESS,
                                             ctypes.c_void_p, ctypes.POINTER(ctypes.POINTER(ProgramResult))]),
    "trident_free_program": (None, [ctypes.POINTER(ProgramResult)]),
    "trident_function_call": (ctypes.c_int, [_HANDLE, ctypes.POINTER(Argument), ctypes.c_uint32, ctypes.c_uint64,
                                             ctypes.POINTER(Returned)]),
    "trident_function_info": (ctypes.c_int, [_HANDLE, ctypes.POINTER(FunctionFacts)]),
    "trident_function_parameter": (ctypes.c_int, [_HANDLE, ctypes.c_uint32, ctypes.POINTER(Parameter)]),
    "trident_library_open": (ctypes.c_int, [_HANDLE, ctypes.c_char_p, ctypes.POINTER(_HANDLE)]),
    "trident_library_close": (None, [_HANDLE]),
    "trident_library_function": (ctypes.c_int, [_HANDLE, ctypes.c_char_p, ctypes.POINTER(_HANDLE)]),
    "trident_library_size": (ctypes.c_uint32, [_HANDLE]),
    "trident_library_name": (ctypes.c_char_p, [_HANDLE, ctypes.c_uint32]),
    "trident_last_error": (ctypes.c_char_p, []),
    "trident_abi_version": (ctypes.c_uint32, []),
}


def _candidates():
    """Paths to try, in order: TRIDENT_LIBRARY, beside the package, where it was installed with the package (below the
    same prefix, wherever that is now), the build tree that the package lies in, the system's folders."""
    if os.environ.get("TRIDENT_LIBRARY"):
        yield os.environ["TRIDENT_LIBRARY"]
        return
    here = os.path.dirname(os.path.abspath(__file__))
    yield os.path.join(here, "libtrident.so.0")
    if _place is not None:
        yield os.path.join(os.path.realpath(here), _place.LIBRARIES, "libtrident.so.0")
    root = os.path.dirname(os.path.dirname(os.path.dirname(here)))
    yield os.path.join(root, "build", "lib", "libtrident.so.0")
    yield "libtrident.so.0"


def _load():
    problems = []
    for path in _candidates():
        if os.sep in path and not os.path.exists(path):
            problems.append(f"{path}: not there")
            continue
        try:
            return ctypes.CDLL(path)
        except OSError as error:
            problems.append(str(error))
    raise ImportError("libtrident.so.0 was not found; set TRIDENT_LIBRARY to its path\n  " + "\n  ".join(problems))


def _bind():
    loaded = _load()
    if not hasattr(loaded, "trident_abi_version"):
        raise ImportError(f"{loaded._name} is another library: set TRIDENT_LIBRARY to the path of libtrident.so.0")
    for name, (result, arguments) in _PROTOTYPES.items():
        bound = getattr(loaded, name)
        bound.restype, bound.argtypes = result, arguments
    if loaded.trident_abi_version() != ABI_VERSION:
        raise ImportError(f"{loaded._name}: ABI version {loaded.trident_abi_version()}, wanted {ABI_VERSION}")
    return loaded


lib = _bind()


def text_bytes(text):
    """Encodes `text` for the library, which would stop reading at a NUL."""
    if not isinstance(text, str):
        raise TypeError(f"a text must be a str, here {type(text).__name__}")
    if "\0" in text:
        raise ValueError("the text has a NUL")
    return text.encode()


def path_bytes(path):
    """Encodes the path of a file for the library."""
    encoded = os.fsencode(path)
    if b"\0" in encoded:
        raise ValueError("the path has a NUL")
    return encoded


def check(status):
    """Raises the library's error of this thread unless `status` is TRIDENT_OK."""
    if status == 0:
        return
    message = lib.trident_last_error().decode("utf-8", "replace")
    if status == E_TIMEOUT:
        raise TimeoutError(message)
    if status == E_MEMORY:
        raise MemoryError(message)
    raise TridentError(message, status)
