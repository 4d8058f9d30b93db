#!/usr/bin/python3
"""Puts the Python package, the libraries, the command and every library that they bring along into one wheel.

The wheel needs no compiler, no daemon and no other package than NumPy. Libraries that a Linux system does not promise
(`PROMISED` names those that it does) are copied under names of their own, so that no other version of them that the
process has loaded already takes their place. Their licences lie in the wheel beside ours.

The platform's tag is the newest version of the C library that any file of the wheel asks for, as PEP 600 defines it.
"""
import argparse
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# PEP 600 lets a wheel expect these of a system.
PROMISED = re.compile(r"(libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\+\+|ld-linux[^.]*)\.so\.\d+")
# Packages of which parts are compiled into our files.
COMPILED_IN = ("libasmjit-dev", "libflatbuffers-dev", "libxsimd-dev", "libcli11-dev", "nlohmann-json3-dev",
               "libtomlplusplus-dev", "libxxhash-dev")
# The command: the program in the package, which is found without being imported, since that needs NumPy.
LAUNCHER = """\
#!python
import importlib.util
import os
import sys

package = importlib.util.find_spec("trident").submodule_search_locations[0]
os.execv(os.path.join(package, "bin", "trident"), sys.argv)
"""


def output(*argv):
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def needed(path):
    """Returns the names of the libraries that the file asks for, each with the file that stands for it here."""
    asked = output("patchelf", "--print-needed", path).split()
    found = dict(re.findall(r"(\S+) => (/\S+)", output("ldd", path)))
    return {name: found.get(name) for name in asked}


def package_of(path):
    """Returns the package that brought the file; its path may be known without /usr."""
    for name in (path, path.removeprefix("/usr"), os.path.realpath(path)):
        done = subprocess.run(["dpkg-query", "-S", name], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout.split(":")[0]
    raise SystemExit(f"make_wheel.py: no package owns {path}: its licence is not known")


def separate_debug(path, debug):
    """Strips the file; its debug information, where it has some, goes into the folder `debug`."""
    if debug and ".debug_info" in output("readelf", "-SW", path):
        apart = debug / (path.name + ".debug")
        subprocess.run(["objcopy", "--only-keep-debug", path, apart], check=True)
        subprocess.run(["strip", "--strip-unneeded", path], check=True)
        subprocess.run(["objcopy", f"--add-gnu-debuglink={apart}", path], check=True)
    else:
        subprocess.run(["strip", "--strip-unneeded", path], check=True)


def bundle(programs, folder):
    """Copies what the programs need into the folder, under names of their own; returns the copied files' sources."""
    copied, waiting = {}, list(programs)
    while waiting:
        path = waiting.pop()
        for name, source in needed(path).items():
            if PROMISED.fullmatch(name) or (folder / name).exists():
                continue
            if source is None:
                raise SystemExit(f"make_wheel.py: {path}: {name} is not on this machine")
            if name not in copied:
                digest = hashlib.sha256(pathlib.Path(source).read_bytes()).hexdigest()[:8]
                stem, dot, rest = name.partition(".so")
                copied[name] = (source, f"{stem}-{digest}{dot}{rest}")
                target = folder / copied[name][1]
                shutil.copy(os.path.realpath(source), target)
                target.chmod(0o755)
                subprocess.run(["strip", "--strip-unneeded", target], check=True)
                subprocess.run(["patchelf", "--set-soname", target.name, target], check=True)
                waiting.append(target)
            subprocess.run(["patchelf", "--replace-needed", name, copied[name][1], path], check=True)
    return {source for source, _ in copied.values()}


def place_libraries(files, folder):
    """Makes every file look for its libraries in the folder, wherever that is now."""
    for path in files:
        way = os.path.relpath(folder, path.parent)
        subprocess.run(["patchelf", "--force-rpath", "--set-rpath", f"$ORIGIN/{way}".removesuffix("/."), path], check=True)


def newest_version(files, prefix):
    """Returns the newest version with this prefix that a file asks for, as a tuple of numbers."""
    versions = {tuple(map(int, version.split("."))) for path in files
                for version in re.findall(rf"\b{prefix}_(\d+(?:\.\d+)+)\b", output("objdump", "-T", path))}
    return max(versions, default=())


def add_licences(folder, bundled):
    """Copies the licences of everything in the wheel, with the common ones that they refer to."""
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "LICENSE", folder / "LICENSE")
    common = set()
    for package in sorted({package_of(source) for source in bundled} | set(COMPILED_IN)):
        text = pathlib.Path("/usr/share/doc") / package / "copyright"
        if not text.exists():
            raise SystemExit(f"make_wheel.py: {text} is missing: the licence of {package} goes into the wheel")
        shutil.copy(text, folder / f"{package}.txt")
        common |= set(re.findall(r"/usr/share/common-licenses/([\w.-]*\w)",
                                 text.read_text(encoding="utf-8", errors="replace")))
    for name in sorted(common):
        shutil.copy(pathlib.Path("/usr/share/common-licenses") / name, folder / f"{name}.txt")


def write_metadata(folder, version, tag):
    (folder / "METADATA").write_text(f"""\
Metadata-Version: 2.1
Name: trident
Version: {version}
Summary: Array expressions and small functions, compiled to vector code behind your back
License: Apache-2.0
Requires-Python: >=3.11
Requires-Dist: numpy>=1.21
Description-Content-Type: text/markdown

{(ROOT / "clients/python/README.md").read_text(encoding="utf-8")}""", encoding="utf-8")
    (folder / "WHEEL").write_text(f"""\
Wheel-Version: 1.0
Generator: trident packaging/make_wheel.py
Root-Is-Purelib: false
Tag: {tag}
""", encoding="utf-8")


def version_of_project():
    return re.search(r"project\(trident VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")).group(1)


def fill(tree, build, debug):
    """Copies the package into the folder; returns the folder of libraries and the copied programs."""
    package = tree / "trident"
    shutil.copytree(ROOT / "clients/python/trident", package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "_place.py").write_text('"""The folder of this installation\'s libraries, from here."""\n'
                                       'LIBRARIES = "lib"\n', encoding="utf-8")
    files = [(build / "lib/libtrident.so.0", package / "lib/libtrident.so.0"),
             (build / "lib/libtrident-engine.so", package / "lib/libtrident-engine.so"),
             (build / "bin/trident", package / "bin/trident")]
    files += [(built, package / built.name) for built in (build / "lib").glob("*.abi3.so")]
    for source, target in files:
        target.parent.mkdir(exist_ok=True)
        shutil.copy(source, target)
        separate_debug(target, debug)
    return package / "lib", [target for _, target in files]


def make(build, out, debug):
    """Makes the wheel and returns its path."""
    version = version_of_project()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        tree = pathlib.Path(scratch) / "tree"
        libraries, programs = fill(tree, build, debug)
        bundled = bundle(programs, libraries)
        binaries = [path for path in tree.rglob("*") if path.is_file() and is_elf(path)]
        place_libraries(binaries, libraries)
        glibc = newest_version(binaries, "GLIBC")
        python = "cp311-abi3" if list((tree / "trident").glob("*.abi3.so")) else "py3-none"
        tag = f"{python}-manylinux_{glibc[0]}_{glibc[1]}_{os.uname().machine}"
        information = tree / f"trident-{version}.dist-info"
        add_licences(information / "licenses", bundled)
        write_metadata(information, version, tag)
        scripts = tree / f"trident-{version}.data" / "scripts"
        scripts.mkdir(parents=True)
        (scripts / "trident").write_text(LAUNCHER, encoding="utf-8")
        (scripts / "trident").chmod(0o755)
        # Equal files give equal wheels.
        epoch = os.environ.get("SOURCE_DATE_EPOCH") or output("git", "-C", ROOT, "log", "-1", "--format=%ct").strip()
        subprocess.run([sys.executable, "-m", "wheel", "pack", tree, "--dest-dir", out], check=True,
                       stdout=subprocess.DEVNULL, env={**os.environ, "SOURCE_DATE_EPOCH": epoch})
        for path in sorted(binaries):
            print(f"{path.stat().st_size / 1e6:7.2f} MB  {path.relative_to(tree)}")
    wheel = out / f"trident-{version}-{tag}.whl"
    print(f"{wheel.stat().st_size / 1e6:7.2f} MB  {wheel.name}")
    return wheel


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True, help="build folder with the libraries and the command")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for the wheel")
    parser.add_argument("--debug", type=pathlib.Path, help="folder for debug information, taken out of the files")
    arguments = parser.parse_args()
    if arguments.debug:
        arguments.debug.mkdir(parents=True, exist_ok=True)
    make(arguments.build.resolve(), arguments.out.resolve(), arguments.debug and arguments.debug.resolve())


if __name__ == "__main__":
    main()
