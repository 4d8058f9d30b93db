"""The installed package: put under a fresh prefix by the build's own install rules, imported from there by Debian's Python
without any help to find its library, and again after the prefix was moved. The oracle of its answers is NumPy."""
import os
import subprocess
import sys
import tempfile
import unittest

BUILD, CMAKE, PACKAGES = (os.environ[f"TRIDENT_{n}"] for n in ("BUILD", "CMAKE", "PACKAGES"))

PROGRAM = """
import numpy as np, os, sys, trident
x = np.linspace(0, 1, 100)
np.testing.assert_allclose(trident.evaluate("2*x + sin(x)"), 2*x + np.sin(x), rtol=1e-14)
np.testing.assert_allclose(trident.jit(lambda x: np.exp(x) * 3)(x), np.exp(x) * 3, rtol=1e-14)
with trident.Context("embedded") as context:
    k = trident.Kernel("x*x + 1", context=context)
    tier = k.wait(tier=1)
    np.testing.assert_array_equal(k(x), x*x + 1)
extension = getattr(trident._short_call.call, "__file__", trident.__file__)
print(os.path.realpath(trident.__file__), os.path.realpath(trident._native.lib._name), os.path.realpath(extension), tier,
      trident._short_call.call is not None, sep="\\n")
"""


class Install(unittest.TestCase):
    def run_installed(self, prefix, folder):
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("TRIDENT", "PYTHON", "LD_"))}
        environment.update(PYTHONPATH=os.path.join(prefix, PACKAGES), TRIDENT_MODE="interp",
                           PYTHONDONTWRITEBYTECODE="1")
        done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, cwd=folder, text=True,
                              capture_output=True)
        self.assertEqual(0, done.returncode, done.stderr)
        package, library, extension, tier, is_short = done.stdout.splitlines()
        self.assertEqual(str(os.path.exists(os.path.join(BUILD, "lib", "_call.abi3.so"))), is_short)
        for path in (package, library, extension):
            self.assertTrue(path.startswith(os.path.realpath(prefix) + os.sep), path)
        self.assertGreaterEqual(int(tier), 1, "the engine beside the installed library was not found")

    def test_any_prefix_and_a_moved_one(self):
        with tempfile.TemporaryDirectory() as folder:
            prefix = os.path.join(folder, "a prefix", "inst")
            for part in ("c", "engine", "python"):
                script = os.path.join(BUILD, "clients", part, "cmake_install.cmake")
                subprocess.run([CMAKE, f"-DCMAKE_INSTALL_PREFIX={prefix}", "-P", script], check=True,
                               stdout=subprocess.DEVNULL, env={k: v for k, v in os.environ.items() if k != "DESTDIR"})
            self.run_installed(prefix, folder)
            moved = os.path.join(folder, "moved")
            os.rename(prefix, moved)
            self.run_installed(moved, folder)

    def test_the_default_folder_is_on_the_path_of_python(self):
        done = subprocess.run([sys.executable, "-I", "-c", "import sys; print('\\n'.join(sys.path))"], text=True,
                              capture_output=True, check=True)
        looked = [os.path.join("/usr/local", PACKAGES), os.path.join("/usr", PACKAGES)]
        for folder in looked:
            if os.path.isdir(folder):  # site leaves out what is not there
                self.assertIn(folder, done.stdout.split("\n"))
        import site
        self.assertTrue(set(looked) & set(site.getsitepackages()), (looked, site.getsitepackages()))


if __name__ == "__main__":
    unittest.main()
