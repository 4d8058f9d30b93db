#!/usr/bin/python3
"""Fetches Debian's busybox-static for arm64, or another architecture, into a folder, and prints the program's path.

  fetch_busybox.py build/guests [ARCHITECTURE]

The system's own sources are asked, by a private apt: its lists, caches and state lie in the folder, and the system's
architectures stay as they are. A program that is there already is taken. Exit status 1, with a sentence, where the
archive has none, or cannot be reached.
"""
import glob
import os
import pathlib
import shutil
import subprocess
import sys

PACKAGE = "busybox-static"
TIMEOUT_S = 180


def apt_options(folder, architecture):
    """Returns the options that keep apt inside the folder."""
    for sub in ("state/lists/partial", "cache/archives/partial"):
        (folder / sub).mkdir(parents=True, exist_ok=True)
    (folder / "state/status").touch()
    settings = {"APT::Architecture": architecture, "APT::Architectures": architecture, "Dir::State": folder / "state",
                "Dir::State::status": folder / "state/status", "Dir::Cache": folder / "cache",
                "Acquire::Languages": "none", "Acquire::Retries": "1", "APT::Sandbox::User": "",
                "APT::Update::Post-Invoke-Success": "", "APT::Update::Post-Invoke": "", "Debug::NoLocking": "1"}
    return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]


def run(command, folder):
    """Runs a command. Returns why it failed, or None."""
    try:
        done = subprocess.run(command, cwd=folder, timeout=TIMEOUT_S, capture_output=True, text=True, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return None
    lines = [line for line in done.stderr.splitlines() if line.startswith("E:")] or done.stderr.splitlines()
    return lines[-1] if lines else f"exit status {done.returncode}"


def fetch(folder, architecture):
    """Downloads and unpacks the package. Returns why that failed, or None."""
    options = apt_options(folder, architecture)
    unreached = run(["apt-get", *options, "-qq", "update"], folder)
    reason = run(["apt-get", *options, "-qq", "download", f"{PACKAGE}:{architecture}"], folder) or unreached
    packages = sorted(glob.glob(str(folder / f"{PACKAGE}_*_{architecture}.deb")))
    if not packages:
        return f"the package sources of this system give no {PACKAGE}:{architecture}: {reason}"
    reason = run(["dpkg-deb", "-x", packages[-1], str(folder)], folder)
    for name in ("state", "cache", "usr"):
        shutil.rmtree(folder / name, ignore_errors=True)
    return reason


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    folder = pathlib.Path(sys.argv[1]).resolve()
    program = folder / "bin/busybox"
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        reason = fetch(folder, sys.argv[2] if len(sys.argv) == 3 else "arm64")
        if reason or not program.exists():
            print(f"fetch_busybox.py: {reason or 'the package has no bin/busybox'}", file=sys.stderr)
            return 1
    print(os.fspath(program))
    return 0


if __name__ == "__main__":
    sys.exit(main())
