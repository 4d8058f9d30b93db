"""Programs of Triton VM through the package, by the engine. Oracle: texts whose shortest form is known, and the rules of
the machine for words and tables."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import trident  # noqa: E402

SQUARE_OF_SUM = "read_io 2 push 0 add dup 1 dup 1 add dup 2 dup 2 add mul swap 2 pop 2 write_io 1 halt"


class Programs(unittest.TestCase):
    def setUp(self):
        self.context = trident.Context("embedded")
        self.addCleanup(self.context.close)

    def test_becomes_its_shortest_form(self):
        p = self.context.build(SQUARE_OF_SUM, public_input=[5, 7])
        self.assertEqual(p.tasm.split(), "read_io 2 add dup 0 mul write_io 1 halt".split())
        self.assertTrue(p.better)
        self.assertFalse(p.by_daemon)
        self.assertEqual(p.words_after, 10 - 1)  # read_io, dup and write_io have two
        self.assertEqual(p.heights_after["processor"], 6)
        self.assertEqual(p.heights_after["lookup"], 256)
        self.assertGreaterEqual(p.padded_before, p.padded_after)
        self.assertIn("proposers", p.report)

    def test_tir_with_all_sorts_of_input(self):
        p = self.context.build("read_io 1\npush 9\nread_mem 1\npop 1\nadd\nwrite_io 1\nhalt\n", form="tir",
                               public_input=[1], secret_input=[2], secret_digests=[[1, 2, 3, 4, 5]], ram={9: 4},
                               disable=["network"])
        self.assertIn("read_mem", p.tasm)

    def test_mistakes_are_errors(self):
        with self.assertRaisesRegex(trident.TridentError, ":2:"):
            self.context.build("push 1\nfrob")
        with self.assertRaisesRegex(trident.TridentError, "public_input"):
            self.context.build(SQUARE_OF_SUM, public_input=[1, 2**64 - 1])
        for wrong in ({"public_input": [-1]}, {"secret_digests": [[1]]}, {"form": "c"}, {"disable": ["all"]}):
            with self.assertRaises(ValueError):
                self.context.build(SQUARE_OF_SUM, **wrong)
        with self.assertRaises(TypeError):
            self.context.build(SQUARE_OF_SUM, public_input=[1.5, 7])
        with self.assertRaisesRegex(ValueError, "NUL"):
            self.context.build(SQUARE_OF_SUM + "\0halt", public_input=[5, 7])

    def test_progress_gives_up_and_passes_exceptions_on(self):
        with self.assertRaisesRegex(trident.TridentError, "given up"):
            self.context.build(SQUARE_OF_SUM, public_input=[5, 7], progress=lambda done, total: False)

        def fail(done, total):
            raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            self.context.build(SQUARE_OF_SUM, public_input=[5, 7], progress=fail)


if __name__ == "__main__":
    unittest.main()
