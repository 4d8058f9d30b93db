"""Threads of evaluate, jit and Kernel, and numexpr's functions for them. Oracles: one thread, NumPy, /proc/self/task."""
import os
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import numpy as np

import trident

N = 300_001


def thread_count():
    return len(os.listdir("/proc/self/task"))


def printed(code, **environment):
    """Returns what a new process prints."""
    return subprocess.run([sys.executable, "-c", code], text=True, check=True, capture_output=True,
                          env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(trident.__file__)), **environment}).stdout


def said(code, **environment):
    """Returns the words that a new process with trident prints."""
    return printed("import os, trident\n" + code, **environment).split()


class Threads(unittest.TestCase):
    def setUp(self):
        self.before = trident.get_num_threads()
        rng = np.random.default_rng(7)
        self.x, self.y = rng.normal(size=(2, N))

    def tearDown(self):
        trident.set_num_threads(self.before)

    def test_any_number_gives_the_same_bits(self):
        x, y = self.x, self.y
        single, small = x.astype(np.float32), (x * 50).astype(np.int16)
        for text in ("sin(x)*y", "sum(x*y)", "prod(1 + x/1e5)", "min(x)", "max(y)", "where(x < y, x, y)", "single*2 + 1",
                     "sum(single)", "x < y", "where(small < 100, small*small, 7)"):
            trident.set_num_threads(1)
            alone = trident.evaluate(text)
            for threads in (2, 3, 8):
                trident.set_num_threads(threads)
                self.assertEqual(alone.tobytes(), trident.evaluate(text).tobytes(), (text, threads))
            np.testing.assert_array_equal(trident.evaluate("x < y"), x < y)
            np.testing.assert_array_equal(trident.evaluate("small*small"), small.astype(np.int32)**2)
        np.testing.assert_array_equal(trident.evaluate("x*y + 1"), x * y + 1)

    def test_narrow_arrays_divide_by_their_own_elements(self):
        x = np.random.default_rng(4).integers(0, 256, 300_000)
        memory = np.zeros(x.size + 64, np.uint8)  # what lies behind the result stays
        for dtype, name in ((np.uint8, "u8"), (np.int8, "i8"), (np.uint16, "u16"), (np.int16, "i16")):
            narrow = x.astype(dtype)
            kernel = trident.Kernel("u8(x*3 + 1)", types={"x": name}, policy="exact")
            for threads in (1, 2, 3):
                trident.set_num_threads(threads)
                np.testing.assert_array_equal(trident.evaluate("x < 100", {"x": narrow}), narrow < 100)
                memory[:] = 7
                kernel(narrow, out=memory[:x.size])
                np.testing.assert_array_equal(memory[:x.size], (narrow.astype(np.int64) * 3 + 1).astype(np.uint8))
                self.assertTrue((memory[x.size:] == 7).all())

    def test_the_number_is_kept_and_the_one_before_returned(self):
        trident.set_num_threads(3)
        self.assertEqual(3, trident.set_num_threads(5))
        self.assertEqual(5, trident.get_num_threads())
        for wrong in (0, -1, 65):
            self.assertRaisesRegex(ValueError, "nthreads must be from 1 to 64", trident.set_num_threads, wrong)
        for wrong in (1.5, "2", None, True):
            self.assertRaises(TypeError, trident.set_num_threads, wrong)
        self.assertEqual(5, trident.get_num_threads())

    def test_one_call_may_have_its_own_number(self):
        x = self.x
        trident.set_num_threads(1)
        alone = trident.evaluate("sum(sin(x))")
        before = thread_count()
        self.assertEqual(alone, trident.evaluate("sum(sin(x))", threads=1))
        self.assertEqual(before, thread_count())
        self.assertEqual(alone, trident.evaluate("sum(sin(x))", threads=2))
        self.assertEqual(1, trident.get_num_threads())
        for wrong in (0, -1, 65, 1.5, "2"):
            self.assertRaises((ValueError, TypeError), trident.evaluate, "x", {"x": x}, threads=wrong)
        code = ("import numpy as np; os.environ['TRIDENT_MODE'] = 'interp'; x = np.ones(300_000); trident.set_num_threads(1)\n"
                "count = lambda: len(os.listdir('/proc/self/task')); before = count()\n"
                "trident.evaluate('sin(x)'); print(count() - before)\n"
                "trident.evaluate('sin(x)', threads=2); print(count() - before)")
        self.assertEqual(["0", str(min(2, trident.detect_number_of_cores()) - 1)], said(code))

    def test_cores_are_those_of_the_affinity_mask(self):
        self.assertEqual(len(os.sched_getaffinity(0)), trident.detect_number_of_cores())
        code = "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); print(trident.detect_number_of_cores())"
        self.assertEqual(["1"], said(code))

    def test_the_environment(self):
        code = "print(trident.nthreads, trident.get_num_threads(), trident.detect_number_of_threads())"
        self.assertEqual(["1"] * 3, said(code, TRIDENT_NUM_THREADS="1"))
        if trident.detect_number_of_cores() > 1:
            for name in ("NUMEXPR_NUM_THREADS", "OMP_NUM_THREADS", "NUMEXPR_MAX_THREADS"):
                self.assertEqual(["1"] * 3, said(code, **{name: "1"}), name)
        code = "try: trident.evaluate('x', {'x': 1.0})\nexcept trident.TridentError as e: print('NUM_THREADS' in str(e))"
        self.assertEqual(["True"], said(code, TRIDENT_NUM_THREADS="many"))

    def test_bad_numbers_in_the_environment(self):
        """One warning for each variable names it, its value and the range; TRIDENT_NUM_THREADS is refused besides."""
        code = ("import warnings\nwith warnings.catch_warnings(record=True) as caught:\n"
                "    warnings.simplefilter('always')\n    import trident\n"
                "    trident.get_num_threads(), trident.detect_number_of_threads(), trident._init_num_threads()\n"
                "for w in caught: print(w.message)")
        for name in ("TRIDENT_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMEXPR_MAX_THREADS"):
            for word in ("0", "-1", "abc", "1e9", "00", " 2"):
                self.assertRegex(printed(code, **{name: word}), f"\\A{name} is '{word}': expected a number from 1 on;[^\n]*\n\\Z")
            for word in ("", "1", "64", "65", "128", "9" * 5000):
                self.assertEqual("", printed(code, **{name: word}), name)
        code = "import trident\ntry: trident.evaluate('x', {'x': 1.0})\nexcept trident.TridentError as e: print(e)"
        for word in ("0", "-1", "abc", "1e9"):
            self.assertEqual(f"TRIDENT_NUM_THREADS is '{word}': expected a number from 1 on\n", printed(code, TRIDENT_NUM_THREADS=word))

    def test_more_threads_than_there_can_be(self):
        """An environment that is set for a larger machine gives all the processors of this one; numexpr prints an error and uses one."""
        code = "print(trident.evaluate('2*x', {'x': 1.0}), trident.get_num_threads(), trident.detect_number_of_threads() >= 1)"
        for word in ("65", "128", "9" * 5000):
            for name in ("TRIDENT_NUM_THREADS", "NUMEXPR_NUM_THREADS"):
                threads = 64 if name == "TRIDENT_NUM_THREADS" else trident.detect_number_of_cores()
                self.assertEqual(f"2.0 {threads} True", " ".join(said(code, **{name: word})), (name, word[:4]))

    def test_threads_start_with_the_first_long_call_that_wants_them(self):
        code = ("import numpy as np; os.environ['TRIDENT_MODE'] = 'interp'; count = lambda: len(os.listdir('/proc/self/task'))\n"
                "x, before = np.ones(300_000), count(); short = x[:1000]\n"
                "trident.evaluate('sin(short)'); trident.set_num_threads(1); trident.evaluate('sin(x)'); print(count() - before)\n"
                "trident.set_num_threads(2); trident.evaluate('sin(x)'); print(count() - before)")
        more = min(2, trident.detect_number_of_cores()) - 1
        self.assertEqual(["0", str(more)], said(code))

    def test_many_callers_at_once(self):
        x = self.x
        trident.set_num_threads(2)
        expected, wrong = x * 2 + x, []

        def call():
            for _ in range(20):
                if not np.array_equal(trident.evaluate("x*2 + x", {"x": x}), expected):
                    wrong.append(1)

        callers = [threading.Thread(target=call) for _ in range(6)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        self.assertEqual([], wrong)

    def test_children_of_fork(self):
        x = self.x
        trident.set_num_threads(2)
        expected = trident.evaluate("sum(sin(x))")
        for _ in range(10):
            child = os.fork()
            if child == 0:
                right = thread_count() == 1 and trident.evaluate("sum(sin(x))") == expected
                os._exit(0 if right else 1)
            self.assertEqual(0, os.waitpid(child, 0)[1])


if __name__ == "__main__":
    unittest.main()
