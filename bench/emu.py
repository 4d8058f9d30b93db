#!/usr/bin/python3
"""Times busybox for arm64 under trident-emu without and with swapped loops, under qemu-user, and the host's own busybox.

  emu.py BUILD_FOLDER [--rounds 5] [--mebibytes 96] [--only sha256sum,sort]

CPU time (user and system) of each process, medians of rounds in which all take turns; the outputs are compared first.
qemu-user is left out where it is not installed, the host's busybox where it cannot be fetched. Loops are compiled by a
private daemon, whose time does not count; the first round compiles, so that it is left out.
"""
import argparse
import contextlib
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
QEMU = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
HOST = subprocess.run(["dpkg", "--print-architecture"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
# name, arguments, input, share of the full size, least ratio to Unicorn alone
PROGRAMS = [("sha256sum", [], "noise", 1.0, 2.5), ("md5sum", [], "noise", 2.0, 1.2), ("gzip", ["-c"], "text", 0.2, 0.97),
            ("wc", [], "text", 1.0, 0.97), ("sort", [], "text", 0.1, 0.97),
            ("awk", ["{n += NF; s += $2} END {print n, s}"], "text", 0.1, 0.97)]


def inputs(folder, size):
    """Writes a file of random bytes and one of text, both twice as large as `size`."""
    draw = random.Random(4)
    (folder / "noise").write_bytes(draw.randbytes(2 * size))
    words = [bytes(draw.choices(b"abcdefghijklmnopqrstuvwxyz0123456789", k=draw.randrange(1, 9))) for _ in range(3000)]
    block = b"\n".join(b" ".join(draw.choices(words, k=draw.randrange(1, 14))) for _ in range(20000)) + b"\n"
    (folder / "text").write_bytes((block * (2 * size // len(block) + 1))[:2 * size])


@contextlib.contextmanager
def daemon(program, folder):
    """A private daemon; gives the environment that leads to it."""
    socket = folder / "tridentd.sock"
    command = [program, "--socket", socket, "--cache", folder / "kernels.db", "--state", "none", "--log-level", "warning"]
    with subprocess.Popen([os.fspath(word) for word in command]) as process:
        while not socket.exists():
            if process.poll() is not None:
                sys.exit(f"{program} ended with status {process.returncode}")
            time.sleep(0.01)
        try:
            yield {**os.environ, "TRIDENT_SOCKET": os.fspath(socket), "LC_ALL": "C"}
        finally:
            process.terminate()


def measured(command, source, size, environment):
    """Runs a command on the first `size` bytes of a file. Returns its CPU seconds and its output."""
    with open(source, "rb") as whole, tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as output:
        given.write(whole.read(size))
        given.seek(0)
        process = subprocess.Popen(command, stdin=given, stdout=output, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if status != 0:
            sys.exit(f"{' '.join(map(str, command))}: status {process.returncode}")
        output.seek(0)
        return usage.ru_utime + usage.ru_stime, output.read()


def fetched(folder, *architecture):
    """Returns the path of Debian's busybox, or None after the reason is printed."""
    done = subprocess.run([ROOT / "clients/emu/fetch_busybox.py", folder, *architecture], stdout=subprocess.PIPE,
                          text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def columns(emulator, busybox, native):
    found = {"unicorn": [emulator, "--no-swap", busybox], "swap": [emulator, "--mode", "daemon", busybox]}
    if QEMU:
        found["qemu-user"] = [QEMU, busybox]
    return {**found, "native": [native]} if native else found


def compare(program, commands, folder, size, rounds, environment):
    """Prints the row of a program. Returns whether its bar holds."""
    name, arguments, source, share, least = program
    times, outputs = {column: [] for column in commands}, set()
    for turn in range(rounds + 1):
        for column, command in commands.items():
            seconds, output = measured([*command, name, *arguments], folder / source, int(size * share), environment)
            outputs.add(output)
            if turn > 0:
                times[column].append(seconds)
    medians = {column: statistics.median(values) for column, values in times.items()}
    ratio = medians["unicorn"] / medians["swap"]
    figures = " ".join(f"{column} {seconds:.3f} s" for column, seconds in medians.items())
    equal, held = len(outputs) == 1, ratio >= least
    print(f"{name:<10} {figures} ratio {ratio:.2f}   bar: at least {least}   {'held' if held else 'MISSED'}   "
          f"{'outputs equal' if equal else 'OUTPUTS DIFFER'}", flush=True)
    return held and equal


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mebibytes", type=float, default=96)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    busybox = fetched(options.build / "guests")
    if not busybox:
        return 1
    native = fetched(options.build / "guests/native", HOST)
    size, wanted = int(options.mebibytes * 2**20), options.only.split(",")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        inputs(folder, size)
        with daemon(options.build / "bin/tridentd", folder) as environment:
            commands = columns(options.build / "bin/trident-emu", busybox, native)
            chosen = [program for program in PROGRAMS if not options.only or program[0] in wanted]
            held = [compare(program, commands, folder, size, options.rounds, environment) for program in chosen]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
