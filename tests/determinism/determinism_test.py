"""Kernels of the same expressions, seed and budget are the same in every process: README.md. Oracle: signature.txt, and
runs that differ in nothing that may matter."""
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GOLDEN = os.path.join(ROOT, "tests/determinism/signature.txt")
SMALL = [os.path.join(ROOT, "bench/corpus/fpbench/graphics.fpcore")]
CORPORA = [os.path.join(ROOT, "bench/corpus", name)
           for name in ("kernels.tsv", "rewrite.txt", "fpbench/daisy.fpcore", "fpbench/graphics.fpcore")]
# The whole corpora have one run. It is compared with runs of other processes on other machines, which made signature.txt.
SOME = () if os.environ.get("TRIDENT_DRAWS") else ("--every", "6")
PROGRAM = None


def signature(*options, corpora=CORPORA, prefix=(), environment=None, folder=None):
    done = subprocess.run([*prefix, PROGRAM, *corpora, *options], capture_output=True, text=True, check=False, cwd=folder,
                          env=environment)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout


class Determinism(unittest.TestCase):
    maxDiff = None

    def test_the_corpus_has_its_signature(self):
        said = signature()
        if os.environ.get("TRIDENT_BLESS"):
            with open(GOLDEN, "w", encoding="utf-8") as handle:
                handle.write(said)
        with open(GOLDEN, encoding="utf-8") as handle:
            self.assertEqual(handle.read(), said, "kernels have changed: if they should, TRIDENT_BLESS=1 renews the file")

    def test_processes_agree(self):
        """Other addresses, another environment, another folder, expressions in another order."""
        corpora = [CORPORA[1], *SMALL]
        wanted = signature(*SOME, corpora=corpora)
        fixed = signature(*SOME, corpora=corpora, prefix=("setarch", "--addr-no-randomize"))
        self.assertEqual(wanted, fixed)
        with tempfile.TemporaryDirectory() as folder:
            bare = {"PATH": "/usr/bin:/bin", "HOME": folder, "LANG": "C", "MALLOC_PERTURB_": "165", "PAD": "x" * 5000}
            self.assertEqual(wanted, signature(*SOME, corpora=corpora, environment=bare, folder=folder))
        self.assertEqual(wanted, signature(*SOME, "--backwards", corpora=corpora))

    def test_it_can_fail(self):
        corpora = [CORPORA[1]]
        lines = {option: signature(*SOME, *option, corpora=corpora).splitlines()
                 for option in ((), ("--seed", "2"), ("--nodes", "3999"), ("--swapped",))}
        for option, said in lines.items():
            self.assertEqual(4, len(said))
            if option:
                self.assertNotEqual(lines[()][0], said[0], option)
                self.assertNotEqual(lines[()][-1], said[-1], option)
        self.assertNotEqual(lines[()][2], lines[("--swapped",)][2], "the code of another expression")


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
