"""Objects that outlive a call or are shared: copies and pickles of objects with handles, references that must not last,
threads, signal handlers and children of fork. The oracle is NumPy, a weak reference, and a deadline."""
import copy
import gc
import os
import pickle
import signal
import sys
import threading
import time
import types
import unittest
import unittest.mock
import warnings
import weakref

os.environ.setdefault("TRIDENT_MODE", "interp")
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numpy as np  # noqa: E402

import trident  # noqa: E402
from trident import _cache, _kernel, _native  # noqa: E402

X = np.linspace(-2, 2, 1000)


class Copies(unittest.TestCase):
    def test_kernels(self):
        options = {"scalars": ["a"], "types": {"j": "i64"}, "tables": ["t"], "ranges": {"x": (-2, 2)}, "policy": "exact"}
        t, j = np.arange(5.0), np.arange(1000) % 5
        wanted = 3 * X + t[j]
        kernel = trident.Kernel("a*x + t[j]", **options)
        copies = [make(kernel) for make in (copy.copy, copy.deepcopy, lambda k: pickle.loads(pickle.dumps(k)),
                                            lambda k: copy.deepcopy([{"k": k}])[0]["k"])]
        del kernel
        for kernel in copies:
            gc.collect()
            np.testing.assert_array_equal(wanted, kernel(x=X, j=j, t=t, a=3))
            self.assertEqual(("a",), kernel.scalars)
        while copies:  # each end but the last leaves the others as they are
            copies.pop(0)
            gc.collect()
            for kernel in copies:
                np.testing.assert_array_equal(wanted, kernel(x=X, j=j, t=t, a=3))
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            again = pickle.loads(pickle.dumps(trident.Kernel("x + 1", type="f32", policy="fast"), protocol))
            self.assertEqual(np.float32, again(X.astype("f4")).dtype)

    def test_a_copy_outlives_its_context(self):
        with trident.Context("interp") as context:
            kernel = trident.Kernel("x + 1", context=context)
        other = copy.copy(kernel)
        del kernel
        np.testing.assert_array_equal(X + 1, other(X))

    def test_contexts_refuse(self):
        with trident.Context("interp") as context:
            for make in (copy.copy, copy.deepcopy, pickle.dumps, lambda c: copy.copy({"c": [c]}) and copy.deepcopy([c])):
                with self.assertRaisesRegex(TypeError, "cannot be copied or pickled.*open another"):
                    make(context)
            self.assertEqual(0, context.stats()["submitted"])
        context.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            context.stats()

    def test_whatever_else_an_object_holds(self):
        """No object that is reached from the public ones copies a pointer."""
        kernel = trident.Kernel("x + 1")
        with self.assertRaisesRegex(TypeError, "cannot be copied or pickled"):
            copy.copy(kernel._handle)
        f = trident.jit(lambda x: x * 2)
        np.testing.assert_array_equal(X * 2, copy.deepcopy(f)(X))
        for entry in copy.copy(f.kernels), copy.deepcopy(f.kernels), pickle.loads(pickle.dumps(f.kernels)):
            np.testing.assert_array_equal(X * 2, next(iter(entry.values()))(X))
        error = pickle.loads(pickle.dumps(trident.TridentError("no", 4)))
        self.assertEqual(("no", 4), (str(error), error.status))

    def test_equal_texts_share_one_kernel(self):
        with trident.Context("interp") as context:
            kernels = [trident.Kernel("x*y", context=context, ranges={"x": (0, 1)}) for _ in range(5)]
            kernels += [copy.copy(kernels[0])]
            f = trident.jit(lambda x: x - 3, context=context)
            g = trident.jit(lambda x: x - 3, context=context)
            np.testing.assert_array_equal(f(X), g(X[:5].repeat(200)) * 0 + X - 3)
            self.assertEqual(2, context.stats()["submitted"])
            for other in ({"ranges": {"x": (0, 2)}}, {"policy": "exact"}, {"type": "f32"}, {"k": 3.0}, {"scalars": ["y"]}):
                kernels.append(trident.Kernel("x*y", context=context, **{"ranges": {"x": (0, 1)}, **other}))
            self.assertEqual(7, context.stats()["submitted"])
            del kernels[:]
            trident.Kernel("x*y", context=context, ranges={"x": (0, 1)})  # the first are gone
            self.assertEqual(8, context.stats()["submitted"])


class References(unittest.TestCase):
    def gone(self, call):
        """Returns true when the result of `call` is freed once the caller lets go."""
        watched = [weakref.ref(v) for v in call()]
        gc.collect()
        return [w() is None for w in watched] == [True] * len(watched)

    def test_out(self):
        for text in ("a * 3", "a > 0", "sum(a)", "a * 1j", "prod(a)"):
            def call():
                a = np.arange(4.0)
                out = np.empty((), "f8") if "(" in text else np.empty(4, bool if ">" in text else complex if "j" in text else "f8")
                trident.evaluate(text, out=out)
                return a, out
            with self.subTest(text):
                self.assertTrue(self.gone(call))

    def test_out_of_another_thread_and_of_a_view(self):
        def call():
            buffer, a = np.zeros(10), np.arange(4.0)
            trident.evaluate("a * 3", out=buffer[2:6])
            return buffer, a

        kept, end, ready = [], threading.Event(), threading.Event()

        def work():
            kept.extend(weakref.ref(v) for v in call())
            ready.set()
            end.wait(60)

        thread = threading.Thread(target=work)
        thread.start()
        ready.wait(60)
        gc.collect()
        self.assertEqual([None, None], [w() for w in kept])
        end.set()
        thread.join()
        self.assertTrue(self.gone(call))

    def test_what_re_evaluate_writes_to(self):
        a, out, buffer = np.arange(4.0), np.empty(4), np.zeros((4, 6), order="F")
        trident.evaluate("a * 3", out=out)
        a = a + 1
        self.assertIs(out, trident.re_evaluate())
        np.testing.assert_array_equal(a * 3, out)
        trident.evaluate("a * 5", out=buffer[::-1, 2])
        a = a + 1
        trident.re_evaluate()
        np.testing.assert_array_equal(a * 5, buffer[::-1, 2])
        np.testing.assert_array_equal(0, np.delete(buffer, 2, axis=1))
        trident.evaluate("a * 3", out=np.empty(4))
        np.testing.assert_array_equal(a * 3, trident.re_evaluate())
        trident.evaluate("a * 3", out=np.frombuffer(bytearray(32)))
        with self.assertRaisesRegex(RuntimeError, "gone.*evaluate"):
            trident.re_evaluate()

    def test_variables_of_the_caller(self):
        a, other = np.arange(4.0), np.arange(5.0)
        trident.evaluate("a + 1")
        trident.re_evaluate()
        watched = weakref.ref(a), weakref.ref(other)
        del a, other
        self.assertEqual([None, None], [w() for w in watched])

    def test_names_that_are_the_variables_stay(self):
        """A class body and a module have no copy of their variables; locals() is the caller's own."""
        class Body:
            a = np.arange(3.0)
            b = trident.evaluate("a * 2")
        np.testing.assert_array_equal(Body.a * 2, Body.b)
        namespace = {"trident": trident, "a": np.arange(3.0)}
        exec("b = trident.evaluate('a * 2')", namespace)
        np.testing.assert_array_equal([0, 2, 4], namespace["b"])
        self.assertIn("a", namespace)
        a = np.arange(3.0)
        mine = locals()
        trident.evaluate("a * 2")
        self.assertIs(a, mine["a"])

    def test_jit(self):
        f, refusing = trident.jit(lambda x, c: np.sin(x) * c), trident.jit(lambda x: x[0], fallback=True)

        def call():
            x = np.arange(4.0)
            f(x, 2)
            return (x, f(x, x))

        def refused():
            x = np.arange(4.0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                refusing(x)
            with self.assertRaises(trident.TraceError):
                trident.jit(lambda x: x[0])(x)
            return (x,)

        gc.disable()  # no cycle may need it
        try:
            for call in (call, refused):
                watched = [weakref.ref(v) for v in call()]
                self.assertEqual([None] * len(watched), [w() for w in watched])
        finally:
            gc.enable()

    def test_kernels(self):
        kernel = trident.Kernel("x + 1")

        def call():
            x, out = np.arange(4.0), np.empty(4)
            kernel(x, out=out)
            return x, out
        self.assertTrue(self.gone(call))


def in_child(work, seconds=60):
    """The exit status of a child of fork that works and exits; None where it had to be killed."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            os._exit(1)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


class Interruptions(unittest.TestCase):
    def check(self, i):
        x = X[:64]
        assert np.array_equal(x * i + 1, trident.evaluate(f"x*{i} + 1"))
        assert np.array_equal(x + i, trident.jit(lambda x: x + i)(x))

    def test_children_while_threads_evaluate(self):
        end, failures = threading.Event(), []

        def busy(seed):
            i = seed
            while not end.is_set():  # texts that are new, and old ones that were dropped
                i += 2
                try:
                    self.check(i % 1000)
                except Exception as error:
                    failures.append(error)
                    return

        threads = [threading.Thread(target=busy, args=(s,)) for s in range(2)]
        for thread in threads:
            thread.start()
        try:
            self.assertEqual([0] * 60, [in_child(lambda: (self.check(n % 7), self.check(n + 5000))) for n in range(60)])
        finally:
            end.set()
            for thread in threads:
                thread.join()
        self.assertEqual([], failures)

    def test_a_child_does_not_wait_for_a_thread_that_it_does_not_have(self):
        held, end = threading.Event(), threading.Event()

        def hold():
            with _cache._lock:
                held.set()
                end.wait(60)

        thread = threading.Thread(target=hold)
        thread.start()
        held.wait(60)
        status = in_child(lambda: self.check(6), 20)
        end.set()
        thread.join()
        self.assertEqual(0, status)
        with _cache._lock:  # a handler inside of the lock
            self.check(7)

    def test_nothing_native_runs_under_the_lock(self):
        def free(function):
            def call(*args):
                owned.append(_cache._lock._is_owned())
                return function(*args)
            return call

        owned, lib = [], _kernel.lib
        names = ("trident_open", "trident_submit", "trident_run", "trident_info", "trident_close", "trident_close_kernel")
        wrapped = types.SimpleNamespace(**{name: getattr(lib, name) for name in _native._PROTOTYPES})
        vars(wrapped).update((name, free(getattr(lib, name))) for name in names)
        with unittest.mock.patch.object(_kernel, "lib", wrapped):
            for i in range(700):  # more than the caches hold
                trident.evaluate(f"x*{i} + 3.5", {"x": X})
            jitted = trident.jit(lambda x: x + i)
            for i in range(100):
                jitted(X)
            trident.Context("interp").close()
        self.assertGreater(len(owned), 2000)
        self.assertFalse(any(owned))

    def test_a_kernel_that_is_made_while_an_equal_one_is_closed_is_another(self):
        close, closed, made = trident._native.lib.trident_close_kernel, [], []

        def closing(pointer):  # what another thread or a handler may do in the middle of it
            closed.append(pointer.value)
            if not made:
                made.append(trident.Kernel("x*7 + 0.125"))
            close(pointer)

        with unittest.mock.patch.object(trident._native.lib, "trident_close_kernel", closing):
            first = trident.Kernel("x*7 + 0.125")
            pointer = first._handle._as_parameter_.value
            del first
        self.assertEqual([pointer], closed)
        self.assertNotEqual(pointer, made[0]._handle._as_parameter_.value)
        np.testing.assert_array_equal(X*7 + 0.125, made[0](X))

    def test_threads_make_and_drop_equal_kernels(self):
        program = """
import sys, threading
import numpy as np, trident
sys.setswitchinterval(1e-5)
x = np.arange(64.0)
def work():
    for i in range(400):
        assert np.array_equal(trident.Kernel(f"x*2 + {i % 4}")(x), 2*x + i % 4)
        c = i % 5
        assert np.array_equal(trident.jit(lambda a: a*(c + 0.5) + 1)(x), x*(c + 0.5) + 1)
threads = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in threads], [t.join() for t in threads]
"""
        self.assertEqual(0, in_child(lambda: os.execve(sys.executable, [sys.executable, "-c", program], {
            **os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(os.path.abspath(__file__)))}), 120))

    def test_children_of_children(self):
        self.check(1)
        self.assertEqual(0, in_child(lambda: [self.check(2), sys.exit(in_child(lambda: self.check(3)))]) and 0)

    def test_a_handler_evaluates(self):
        handled, wrong = [], []

        def handler(signum, frame):
            try:
                self.check(len(handled) % 600)
            except BaseException as error:
                wrong.append(error)
            handled.append(1)

        before = signal.signal(signal.SIGALRM, handler)
        try:
            for i in range(600):  # one signal each, somewhere in the middle
                signal.setitimer(signal.ITIMER_REAL, 1e-6 * (1 + 7 * i % 500))
                self.check(i % 300)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        self.assertGreater(len(handled), 20)
        self.assertEqual([], wrong)

    def test_a_handler_opens_the_default_context(self):
        program = """
import os, signal, sys
sys.setswitchinterval(1e-6)
import numpy as np, trident
x = np.ones(3)
signal.signal(signal.SIGALRM, lambda *_: trident.evaluate("x + 1", {"x": x}))
for i in range(300):
    trident._kernel._default.clear()
    signal.setitimer(signal.ITIMER_REAL, 1e-6 * (1 + i))
    trident.evaluate(f"x + {i}")
signal.setitimer(signal.ITIMER_REAL, 0)  # none comes when Python ends
"""
        self.assertEqual(0, in_child(lambda: os.execve(sys.executable, [sys.executable, "-c", program], {
            **os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(os.path.abspath(__file__)))}), 60))


if __name__ == "__main__":
    unittest.main()
