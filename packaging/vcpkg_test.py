"""The port file of vcpkg, as far as it goes without vcpkg: the manifest keeps the rules of its schema (learn.microsoft.com,
vcpkg.json reference) and names what CMake asks for; the port file calls vcpkg's functions by arguments that they have, and
installs this build so that a program finds it by CMake and runs."""
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["TRIDENT_BUILD"])
ROOT = pathlib.Path(__file__).resolve().parent.parent
PORT = ROOT / "packaging" / "vcpkg" / "trident"
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
FIELDS = {"name", "version", "version-semver", "version-date", "version-string", "port-version", "description", "license", "supports",
          "dependencies", "homepage", "maintainers", "documentation", "features", "default-features", "overrides", "builtin-baseline",
          "summary", "$schema"}
OF_DEPENDENCY = {"name", "host", "platform", "features", "default-features", "version>="}
# The ports of what cmake/dependencies.cmake asks for, by its name there.
PORTS = {"GTest": "gtest", "benchmark": "benchmark", "libuv": "libuv", "mpfr": "mpfr", "gmp": "gmp", "sqlite3": "sqlite3",
         "liblzma": "liblzma", "libcrypto": "openssl", "capstone": "capstone", "asmjit/asmjit.h": "asmjit", "asmjit": "asmjit",
         "xsimd/xsimd.hpp": "xsimd", "z3++.h": "z3", "z3": "z3", "flatc": "flatbuffers", "spdlog": "spdlog", "fmt": "fmt",
         "flatbuffers/flatbuffers.h": "flatbuffers", "mimalloc": "mimalloc"}
# Headers alone, which CMake does not ask for.
HEADERS = {"CLI/CLI.hpp": "cli11", "nlohmann/json.hpp": "nlohmann-json", "toml++/toml.h": "tomlplusplus", "xxhash.h": "xxhash"}
OF_THE_SYSTEM = {"Threads", "PkgConfig", "libseccomp"}  # vcpkg has no port of the last one: the port file says so
PROGRAM = """
#include <trident.h>
int main(void) {
  trident_ctx* ctx;
  trident_kernel* k;
  double x[] = {1, 2, 3}, y[3];
  if (trident_open(NULL, &ctx) || trident_submit(ctx, "2*x + 1", NULL, &k)) return 1;
  trident_call(k, 3, (const void*[]){x}, (void*[]){y}, NULL);
  return y[0] == 3 && y[1] == 5 && y[2] == 7 ? 0 : 2;
}
"""
LISTS = """
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C)
find_package(trident CONFIG REQUIRED)
add_executable(main main.c)
target_link_libraries(main PRIVATE trident::trident)
"""


class Manifest(unittest.TestCase):
    manifest = json.loads((PORT / "vcpkg.json").read_text())

    def test_keeps_the_schema(self):
        self.assertLessEqual(self.manifest.keys(), FIELDS)
        self.assertRegex(self.manifest["name"], NAME)
        self.assertEqual(PORT.name, self.manifest["name"])
        self.assertEqual(1, sum(key.startswith("version") for key in self.manifest))
        self.assertRegex(self.manifest["version"], r"^\d+(\.\d+)*$")
        for dependency in self.manifest["dependencies"]:
            named = {"name": dependency} if isinstance(dependency, str) else dependency
            self.assertLessEqual(named.keys(), OF_DEPENDENCY)
            self.assertTrue(NAME.fullmatch(named["name"]), named)

    def test_has_the_version_of_the_project(self):
        found = re.search(r"project\(trident VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())
        self.assertEqual(found.group(1), self.manifest["version"])

    def test_names_what_cmake_asks_for_and_nothing_else(self):
        text = re.sub(r"#.*", "", (ROOT / "cmake" / "dependencies.cmake").read_text())
        asked = set(re.findall(r"find_package\((\S+) REQUIRED\)", text)) | set(re.findall(r"find_\w+\(\w+ (\S+) REQUIRED\)", text))
        for modules in re.findall(r"pkg_check_modules\(\w+ REQUIRED IMPORTED_TARGET ([^)]+)\)", text):
            asked |= set(modules.split())
        self.assertEqual(len(re.findall(r"REQUIRED", text)) + 1, len(asked), "a line was not understood")  # mpfr and gmp have one
        self.assertLess(OF_THE_SYSTEM, asked)
        self.assertEqual(PORTS.keys(), asked - OF_THE_SYSTEM)
        listed = [d if isinstance(d, str) else d["name"] for d in self.manifest["dependencies"] if isinstance(d, str) or not d.get("host")]
        self.assertEqual(sorted({*PORTS.values(), *HEADERS.values()}), listed)
        on_the_host = {d["name"] for d in self.manifest["dependencies"] if isinstance(d, dict) and d.get("host")}
        self.assertEqual({"flatbuffers", "vcpkg-cmake", "vcpkg-cmake-config"}, on_the_host)  # flatc runs while it builds
        self.assertIn("libseccomp", (PORT / "portfile.cmake").read_text())

    def test_names_the_headers(self):
        for header in HEADERS:
            found = subprocess.run(["grep", "-rlF", f"#include <{header}>", "--include=*.h", "--include=*.cpp", *(ROOT / f for f in (
                "runtime", "jit", "daemon", "clients", "tests"))], capture_output=True)
            self.assertTrue(found.stdout, f"nothing includes {header} any more")


class Port(unittest.TestCase):
    def test_builds_all_that_it_installs(self):
        """The test below installs from a finished build, where files of targets that the port does not build are there, too."""
        port = (PORT / "portfile.cmake").read_text()
        targets = re.findall(r"vcpkg_cmake_build\(TARGET (\S+)\)", port)
        made = self.ninja("targets", "all")
        outputs = {str(BUILD / line.rpartition(": ")[0]) for line in made.splitlines()}
        words = set(re.split(r"[\s;&]+", self.ninja("commands", *targets)))
        built = {str(BUILD / word) for word in words}
        parts = re.search(r"foreach\(part ([^)]+)\)", port).group(1).split()
        scripts = "".join((BUILD / "clients" / part / "cmake_install.cmake").read_text() for part in parts)
        installed = set(re.findall(rf'"({re.escape(str(BUILD))}/[^"]+)"', scripts)) & outputs
        self.assertIn("libtrident-embedded.a", {pathlib.Path(path).name for path in installed})
        self.assertEqual(set(), installed - built)

    def ninja(self, tool, *arguments):
        return subprocess.run(["ninja", "-C", BUILD, "--quiet", "-t", tool, *arguments], check=True, capture_output=True, text=True).stdout

    def test_installs_what_a_program_uses(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            self.run_there("cmake", f"-DBUILD={BUILD}", f"-DPACKAGES={folder}", f"-DPORT={PORT}", "-P", ROOT / "packaging" / "vcpkg_test.cmake")
            prefix = folder / "trident_x64-linux"
            self.assertTrue((prefix / "share" / "trident" / "LICENSE").exists())
            user = folder / "user"
            user.mkdir()
            (user / "main.c").write_text(PROGRAM)
            (user / "CMakeLists.txt").write_text(LISTS)
            self.run_there("cmake", "-S", user, "-B", user / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
            self.run_there("cmake", "--build", user / "build")
            self.run_there(user / "build" / "main", TRIDENT_MODE="interp")

    def run_there(self, *command, **environment):
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("TRIDENT", "LD_"))}
        done = subprocess.run([*map(str, command)], env={**kept, **environment}, text=True, capture_output=True)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
