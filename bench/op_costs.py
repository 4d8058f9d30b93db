"""Measures the costs of ops for every instruction set of this machine (make bench NAME=op-costs) and checks that the figures
hang together as those of any processor do. op_costs.py TRIDENT. Leaves the files where `trident` looks for them."""
import json
import subprocess
import sys

TRIDENT = sys.argv[1]
FLAGS = {"avx2": ("avx2", "fma"), "avx512": ("avx512f", "avx512vl", "avx512dq", "avx512bw")}


def complaints(report):
    ops = {(row["op"], row["type"]): row for row in report["ops"]}
    found = []

    def expect(holds, what):
        if not holds:
            found.append(what)

    for kind in ("f32", "f64"):
        def throughput(op, kind=kind):
            return ops[op, kind]["throughput"]

        for op in ("fma", "fms", "fnma", "fnms", "mul"):
            expect(0.85 < throughput(op) < 1.15, f"{op} {kind}: throughput {throughput(op)}, not that of an fma")
        expect(0.95 < ops["fma", kind]["latency"] < 1.05, f"fma {kind} does not have its own latency")
        expect(ops["add", kind]["latency"] < 1.05, f"add {kind} is slower than an fma")
        expect(throughput("div") > 2 * throughput("mul"), f"div {kind} is no slower than mul")
        expect(throughput("sqrt") > 0.9 * throughput("div"), f"sqrt {kind} is faster than div")
        expect(throughput("neg") < 1.1, f"neg {kind} is slower than an fma")
        expect(ops["rint", kind]["latency"] > 0.2, f"rint {kind} takes no time")
    for (op, kind), row in ops.items():
        # The unit is the float type as wide as the widest that the row handles.
        unit = report["unit"]["f64" if "64" in kind else "f32"]
        latency, each = row["latency"] * unit["latency_ns"], row["throughput"] * unit["throughput_ns"]
        expect(latency >= 0.8 * each - 0.05, f"{op} {kind}: latency {latency:.2f} ns below throughput {each:.2f} ns")
    return found


def main():
    with open("/proc/cpuinfo", encoding="utf-8") as handle:
        flags = set(next(line for line in handle if line.startswith("flags")).split())
    status = 0
    for isa, needed in FLAGS.items():
        if not flags.issuperset(needed):
            print(f"{isa}: this processor lacks it")
            continue
        done = subprocess.run([TRIDENT, "calibrate", "--ops", "--isa", isa, "--json"], stdout=subprocess.PIPE, text=True,
                              check=True)
        report = json.loads(done.stdout)
        found = complaints(report)
        print(f"{isa}: {len(report['ops'])} rows, {report['file']}: {'sane' if not found else ''}")
        for line in found:
            print("  " + line)
            status = 1
    return status


sys.exit(main())
