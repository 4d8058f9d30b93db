#!/usr/bin/python3
"""Runs the cases of a test program (googletest) in COUNT processes at the same time, each a part of them. For programs whose
cases mostly wait, for timers, for processes that end: one case after the other keeps a place of ctest's and lets its processor
idle. Prints the output of each process as a whole; fails where one fails, or where the program knows no parts.

usage: side_by_side.py COUNT PROGRAM [ARGUMENT..]
"""
import os
import pathlib
import subprocess
import sys
import tempfile


def main():
    count, command = int(sys.argv[1]), sys.argv[2:]
    with tempfile.TemporaryDirectory(prefix="trident-parts-") as folder:
        parts = []
        for part in range(count):
            touched, output = pathlib.Path(folder, f"touched{part}"), open(pathlib.Path(folder, f"output{part}"), "w+b")
            environment = {**os.environ, "GTEST_TOTAL_SHARDS": str(count), "GTEST_SHARD_INDEX": str(part),
                           "GTEST_SHARD_STATUS_FILE": str(touched)}
            parts.append((subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment), touched, output))
        failed = False
        for process, touched, output in parts:
            code = process.wait()
            output.seek(0)
            sys.stdout.buffer.write(output.read())
            if code != 0 or not touched.exists():
                failed = True
                print(f"part {process.args} ended with {code}" if code else "the program knows no parts: it is no googletest", flush=True)
            sys.stdout.buffer.flush()
        return failed


if __name__ == "__main__":
    sys.exit(main())
