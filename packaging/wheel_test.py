"""The wheel, made of this build, in a virtual environment that has nothing but it: the command, the package without NumPy, with
NumPy, and what the files ask of a system. The oracle of its answers is NumPy; that of its symbols is Python's own header."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import venv
import zipfile

import numpy

import make_wheel

BUILD = pathlib.Path(os.environ["TRIDENT_BUILD"])
ENVIRONMENT = {key: value for key, value in os.environ.items() if not key.startswith(("TRIDENT", "PYTHON", "LD_"))}
PROGRAM = """
import numpy as np, trident
x = np.linspace(0, 1, 1000)
np.testing.assert_array_equal(trident.evaluate("2*x + 1"), 2*x + 1)
np.testing.assert_allclose(trident.jit(lambda x: np.exp(x) * 3)(x), np.exp(x) * 3, rtol=1e-14)
assert trident.library().strchr(b"hello", "l") == 2
with trident.Context("embedded") as context:
    kernel = trident.Kernel("x*x + 1", context=context)
    assert kernel.wait(tier=1) >= 1
    np.testing.assert_array_equal(kernel(x), x*x + 1)
print(trident.__file__)
print(*{line.split()[-1] for line in open("/proc/self/maps") if "libtrident" in line or "libcrypto-" in line}, sep="\\n")
"""


def declared_in_the_stable_interface():
    """Returns the names that Python.h declares for extensions that run on Python 3.11 and later."""
    names = set()
    for lengths in ("-UPY_SSIZE_T_CLEAN", "-DPY_SSIZE_T_CLEAN"):  # with it, functions that read lengths have other names
        names |= set(re.findall(r"\b_?Py\w+", subprocess.run(
            ["gcc", "-E", lengths, "-DPy_LIMITED_API=0x030B0000", "-include", "Python.h", "-x", "c", "/dev/null",
             "-I/usr/include/python3.11"], capture_output=True, text=True, check=True).stdout))
    return names


def python_symbols(path):
    undefined = subprocess.run(["nm", "-D", "--undefined-only", path], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"\b_?Py\w+", undefined))


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.scratch.name)
        cls.wheel = make_wheel.make(BUILD, folder / "out", None)
        cls.home = folder / "home"
        venv.create(folder / "bare", with_pip=True)
        cls.bin = folder / "bare" / "bin"
        cls.run_there("pip", "install", "-q", "--no-index", "--no-deps", str(cls.wheel))

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    @classmethod
    def run_there(cls, program, *arguments, **more):
        environment = {**ENVIRONMENT, "HOME": str(cls.home), "XDG_RUNTIME_DIR": str(cls.home), **more}
        return subprocess.run([cls.bin / program, *arguments], env=environment, cwd=cls.scratch.name, text=True,
                              capture_output=True, check=False)

    def test_the_command_needs_no_numpy(self):
        done = self.run_there("trident", "run", "--mode", "embedded", "x*2 + 1", "--input", "x=1,2,3")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("7", done.stdout)
        self.assertEqual(2, self.run_there("trident", "no-such-verb").returncode)

    def test_a_missing_numpy_is_named(self):
        done = self.run_there("python", "-c", "import trident")
        self.assertEqual(1, done.returncode)
        self.assertIn("No module named 'numpy'", done.stderr)

    def test_with_numpy_all_that_is_loaded_comes_from_the_wheel(self):
        numpy_alone = pathlib.Path(self.scratch.name) / "numpy_alone"
        numpy_alone.mkdir()
        (numpy_alone / "numpy").symlink_to(pathlib.Path(numpy.__file__).parent)
        done = self.run_there("python", "-c", PROGRAM, PYTHONPATH=str(numpy_alone))
        self.assertEqual(0, done.returncode, done.stderr)
        loaded = done.stdout.split()
        self.assertGreaterEqual(len(loaded), 4, loaded)  # package, library, engine, its libcrypto
        for path in loaded:
            self.assertTrue(path.startswith(os.path.realpath(self.scratch.name)), path)

    def test_every_library_has_a_licence(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            names = wheel.namelist()
            licences = [name for name in names if ".dist-info/licenses/" in name]
            texts = {pathlib.PurePath(name).name: wheel.read(name).decode("utf-8", "replace") for name in licences}
        self.assertIn("Apache License", texts["LICENSE"])
        for library, package in (("capstone", "libcapstone4"), ("mpfr", "libmpfr6"), ("sqlite3", "libsqlite3-0")):
            self.assertTrue(any(f"lib{library}-" in name for name in names), library)
            self.assertGreater(len(texts[f"{package}.txt"]), 500)
        self.assertIn("LESSER GENERAL PUBLIC LICENSE", texts["LGPL-3.txt"])  # of GMP and MPFR
        self.assertIn("zlib", texts["libasmjit-dev.txt"].lower())  # compiled in

    def test_the_platform_s_tag_covers_every_file(self):
        tag = re.search(r"manylinux_(\d+)_(\d+)_", self.wheel.name)
        here = os.confstr("CS_GNU_LIBC_VERSION").split()[1]
        self.assertLessEqual(tuple(map(int, tag.groups())), tuple(map(int, here.split("."))))
        for path in (self.bin.parent / "lib").rglob("*.so*"):
            if "trident" in str(path):
                self.assertLessEqual(make_wheel.newest_version([path], "GLIBC"), tuple(map(int, tag.groups())), path)

    def test_extensions_keep_to_the_stable_interface(self):
        stable = declared_in_the_stable_interface()
        self.assertIn("PyArg_ParseTuple", stable)
        self.assertNotIn("PyUnicode_AsUTF8", stable)  # stable since 3.13
        extensions = list(self.bin.parent.rglob("trident/*.abi3.so"))
        self.assertTrue(extensions)
        for path in extensions:
            self.assertIn("PyModule_Create2", python_symbols(path))
            self.assertFalse(python_symbols(path) - stable, path)


class Versions(unittest.TestCase):
    def test_every_package_has_the_project_s_version(self):
        version = make_wheel.version_of_project()
        root = make_wheel.ROOT
        self.assertEqual(version, json.loads((root / "packaging/vcpkg/trident/vcpkg.json").read_text())["version"])
        self.assertRegex((root / "packaging/debian/changelog").read_text(), rf"\Atrident \({re.escape(version)}\) ")
        self.assertIn(f'__version__ = "{version}"', (root / "clients/python/trident/__init__.py").read_text())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
