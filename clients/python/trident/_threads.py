"""Threads of a call, under numexpr's names. Calls of evaluate, jit and Kernel on long arrays that lie in memory as the kernel
takes them run on several threads, with the same bits whatever their number."""
import contextlib
import os
import threading
import warnings

from ._promise import integer, shown

_MAX = 64  # of the library
_count = 0  # of a call; 0: as the library has it
_own = threading.local()  # .count: of the calls of this thread, as long as permitted() runs
_told = []  # functions that get each new number


def detect_number_of_cores():
    """The number of processors that this process may run on."""
    return len(os.sched_getaffinity(0))


def set_num_threads(nthreads):
    """Sets the number of threads of each call and returns the number before. More than there are processors, or than the
    process's control groups give time for, are not used."""
    global _count
    before = get_num_threads()
    _count = wanted = integer(nthreads, "nthreads", _MAX, 1)
    for function in _told:
        function(wanted)
    return before


def get_num_threads():
    """The number of threads of a call."""
    return _count or _of_environment("TRIDENT_NUM_THREADS") or detect_number_of_cores()


def detect_number_of_threads():
    """As numexpr has it: the number that the environment asks for, else that of processors."""
    for name in ("TRIDENT_NUM_THREADS", "NUMEXPR_NUM_THREADS", "OMP_NUM_THREADS"):
        if number := _of_environment(name):
            return min(number, MAX_THREADS)
    return min(detect_number_of_cores(), MAX_THREADS)


def init_num_threads():
    """Sets the number of threads that the environment asks for, and returns it."""
    set_num_threads(detect_number_of_threads())
    return get_num_threads()


def count():
    """The number that the library is called with."""
    return getattr(_own, "count", 0) or _count


@contextlib.contextmanager
def permitted(threads):
    """Calls of this thread inside use that number of threads; None leaves it."""
    if threads is None:
        yield
        return
    before, _own.count = getattr(_own, "count", 0), integer(threads, "threads", _MAX, 1)
    try:
        yield
    finally:
        _own.count = before


def tell(function):
    """Calls function(number) now and whenever the number changes."""
    _told.append(function)
    function(_count)


def _of_environment(name):
    """A number of threads, at most _MAX: a greater one is for a larger machine. 0 for what is none; the library itself refuses a
    bad TRIDENT_NUM_THREADS."""
    word = os.environ.get(name, "")
    digits = word.lstrip("0")
    if digits.isascii() and digits.isdigit():
        return min(int(digits[:3]), _MAX)  # of however many
    if word and name not in _warned_of and name != "OMP_NUM_THREADS":  # OpenMP's may be a list
        _warned_of.add(name)
        fate = "trident refuses to start" if name == "TRIDENT_NUM_THREADS" else "it is ignored"
        warnings.warn(f"{name} is {shown(word)}: expected a number from 1 on; {fate}", RuntimeWarning, stacklevel=2)
    return 0


_warned_of = set()
for _name in ("TRIDENT_NUM_THREADS", "NUMEXPR_NUM_THREADS"):
    _of_environment(_name)
MAX_THREADS = _of_environment("NUMEXPR_MAX_THREADS") or _MAX
if not os.environ.get("TRIDENT_NUM_THREADS") and detect_number_of_threads() < detect_number_of_cores():
    _count = detect_number_of_threads()  # numexpr's variables, of which the library knows nothing
