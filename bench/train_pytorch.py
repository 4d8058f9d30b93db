"""Steps of training, ours (bench_train) against PyTorch on the CPU, in one interleaved run.

usage: train_pytorch.py BENCH_TRAIN [--rounds N] [--only WORK]

Both sides start from the same weights and inputs; before anything is timed, one step of each is taken and all weights
are compared. Then they take turns; a line gives the medians and the median of the ratios of neighbouring turns. Both run
one thread and are charged for the processor time that they use, so that a machine with other work to do is no matter;
a second table has PyTorch with its processor features forced to AVX-512. Exits 1 when an answer differs or a bar is
missed.
"""
import argparse
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import time

BARS = {"mlp": 4, "dqn": 4, "rows_hot": 6, "rows_uniform": 6}
SAMPLES_PER_SECOND_HOT = 250_000
STEPS = {"mlp": 200, "dqn": 100, "rows_hot": 4, "rows_uniform": 2}
ROUNDS = {"mlp": 41, "dqn": 41, "rows_hot": 15, "rows_uniform": 7}
SUSTAINED_STEPS = 160  # ours alone, on end: turns of few steps start with the caches that the other side left
BATCH, ACTIVE, ROWS, WIDTH = 256, 60, 401408, 256
EPSILON = 1e-6  # of Adam: gradients that are mostly rounding would give whole steps with the usual one
TOLERANCE = 2e-5  # of weights after one step of 1e-3
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
TUNED = {"OPENBLAS_CORETYPE": "SkylakeX", "ATEN_CPU_CAPABILITY": "avx512"}


def write(path, tensors):
    header, at, data = {}, 0, []
    for name, tensor in tensors.items():
        raw = tensor.detach().float().contiguous().numpy().tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [at, at + len(raw)]}
        at += len(raw)
        data.append(raw)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text + b"".join(data))


def read(path):
    import numpy
    with open(path, "rb") as source:
        header = json.loads(source.read(struct.unpack("<Q", source.read(8))[0]))
        data = source.read()
    return {name: numpy.frombuffer(data[e["data_offsets"][0]:e["data_offsets"][1]], "<f4").reshape(e["shape"])
            for name, e in header.items() if name != "__metadata__"}


def make_works(torch):
    """work -> (make() -> (step, state), start tensors); the layouts of weights are ours: [in, out]."""
    from torch import nn
    from torch.nn import functional as F
    torch.manual_seed(1)
    torch.set_num_threads(1)

    def named(modules):
        out = {}
        for name, module in modules.items():
            out[name + ".weight"] = module.weight.t()
            out[name + ".bias"] = module.bias
        return out

    class Mlp:
        def __init__(self):
            self.layers = [nn.Linear(a, b) for a, b in ((144, 128), (128, 64), (64, 6))]
            self.x, self.target = torch.randn(64, 144), torch.randn(64, 6)
            self.optimiser = torch.optim.Adam([p for l in self.layers for p in l.parameters()], lr=1e-3, eps=EPSILON)

        def start(self):
            return {**self.state(), "x": self.x, "target": self.target}

        def step(self):
            a, b, c = self.layers
            self.optimiser.zero_grad()
            F.mse_loss(c(F.relu(b(F.relu(a(self.x))))), self.target).backward()
            self.optimiser.step()

        def state(self):
            return named({f"m.{i}": layer for i, layer in enumerate(self.layers)})

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.v, self.q = nn.Linear(144, 128), nn.Linear(128, 64), nn.Linear(64, 1), nn.Linear(64, 6)

        def forward(self, s):
            h = F.relu(self.b(F.relu(self.a(s))))
            a = self.q(h)
            return self.v(h) + a - a.mean(1, keepdim=True)

        def named(self):
            return named({"m.0": self.a, "m.1": self.b, "q.value": self.v, "q.advantage": self.q})

    class Dqn:
        def __init__(self):
            self.online, self.target = Net(), Net()
            self.target.load_state_dict(self.online.state_dict())
            self.s, self.next = torch.randn(64, 144), torch.randn(64, 144)
            self.actions, self.rewards = torch.randint(0, 6, (64,)), torch.randn(64)
            self.going = (torch.rand(64) > 0.1).float()
            self.optimiser = torch.optim.Adam(self.online.parameters(), lr=1e-3, eps=EPSILON)

        def start(self):
            return {**self.online.named(), "s": self.s, "next": self.next, "actions": self.actions,
                    "rewards": self.rewards, "going": self.going}

        def step(self):
            with torch.no_grad():
                best = self.online(self.next).argmax(1, keepdim=True)
                y = self.rewards + 0.99 * self.going * self.target(self.next).gather(1, best)[:, 0]
            self.optimiser.zero_grad()
            F.huber_loss(self.online(self.s).gather(1, self.actions[:, None])[:, 0], y).backward()
            self.optimiser.step()
            with torch.no_grad():
                for ours, theirs in zip(self.target.parameters(), self.online.parameters()):
                    ours.lerp_(theirs, 0.01)

        def state(self):
            return {**self.online.named(), **{"target." + k: v for k, v in self.target.named().items()}}

    class Rows:
        def __init__(self, bound):
            self.turn = 0
            self.ids = (torch.arange(16 * BATCH * ACTIVE) * 7919 % bound).split(BATCH * ACTIVE)
            self.bag = nn.EmbeddingBag(ROWS, WIDTH, mode="sum", sparse=True)
            r, c = torch.arange(ROWS)[:, None], torch.arange(WIDTH)[None]
            with torch.no_grad():
                self.bag.weight.copy_(((r * 31 + c * 17) % 201 - 100).float() / 1000)
            torch.manual_seed(7)  # the same dense part and target for both kinds of ids
            self.bias = nn.Parameter(torch.zeros(WIDTH))
            self.a, self.b = nn.Linear(WIDTH, 32), nn.Linear(32, 1)
            self.target = torch.randn(BATCH, 1)
            self.dense = torch.optim.Adam([self.bias, *self.a.parameters(), *self.b.parameters()], lr=1e-3, eps=EPSILON)
            self.sparse = torch.optim.SparseAdam([self.bag.weight], lr=1e-3, eps=EPSILON)
            self.offsets = torch.arange(BATCH) * ACTIVE

        def start(self):
            return {**self.dense_state(), "target": self.target}

        def step(self):
            ids = self.ids[self.turn % 16]
            self.turn += 1
            self.dense.zero_grad()
            self.sparse.zero_grad()
            h = F.relu(self.bag(ids, self.offsets) + self.bias)
            F.mse_loss(self.b(F.relu(self.a(h))), self.target).backward()
            self.dense.step()
            self.sparse.step()

        def dense_state(self):
            return {"features.bias": self.bias, **named({"m.0": self.a, "m.1": self.b})}

        def state(self):
            return {**self.dense_state(), "features.rows": self.bag.weight[:4000]}

    return {"mlp": Mlp, "dqn": Dqn, "rows_hot": lambda: Rows(4000), "rows_uniform": lambda: Rows(ROWS)}


def serve_pytorch(folder):
    """The twin of bench_train: the same commands on standard input."""
    import torch
    works = make_works(torch)
    work = current = None
    for line in sys.stdin:
        command, name, *steps = line.split()
        if command == "check" or name != current:
            work = None
            work, current = works[name](), name
        if command == "check":
            write(f"{folder}/{'rows' if name.startswith('rows') else name}.safetensors", work.start())
            before = {k: v.detach().clone() for k, v in work.state().items()}
            work.step()
            write(f"{folder}/{name}.theirs.safetensors", work.state())
            write(f"{folder}/{name}.before.safetensors", before)
            print("ok", flush=True)
        else:
            start = time.process_time_ns()
            for _ in range(int(steps[0])):
                work.step()
            print((time.process_time_ns() - start) / int(steps[0]), flush=True)


class Contestant:
    def __init__(self, command, **environment):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, **ONE_THREAD, **environment})

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if not answer:
            sys.exit(f"a contestant ended at: {line}")
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def check(folder, name, ours, theirs):
    """One step of each from the same start: the largest difference of any weight, and how far PyTorch's moved."""
    if theirs.ask(f"check {name}") != "ok" or ours.ask(f"check {name}") != "ok":
        sys.exit(f"{name}: could not be checked")
    a, b = read(f"{folder}/{name}.ours.safetensors"), read(f"{folder}/{name}.theirs.safetensors")
    before = read(f"{folder}/{name}.before.safetensors")
    if set(a) != set(b):
        sys.exit(f"{name}: not the same tensors: {sorted(set(a) ^ set(b))}")
    worst = max(abs(a[k] - b[k]).max() for k in b)
    moved = max(abs(before[k] - b[k]).max() for k in b)
    if not moved > 100 * TOLERANCE / 4:
        sys.exit(f"{name}: nothing moved, nothing was checked")
    return worst


def compare(name, ours, theirs, rounds):
    steps = STEPS[name]
    for contestant in (ours, theirs):
        contestant.ask(f"time {name} {max(1, steps // 4)}")
    a, b = [], []
    for turn in range(rounds):
        for contestant, times in ((ours, a), (theirs, b)) if turn % 2 else ((theirs, b), (ours, a)):
            times.append(float(contestant.ask(f"time {name} {steps}")))
    return statistics.median(a), statistics.median(b), statistics.median(y / x for x, y in zip(a, b))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench_train")
    parser.add_argument("--rounds", type=float, default=1, help="times the usual number of rounds")
    parser.add_argument("--only", choices=BARS, action="append")
    arguments = parser.parse_args()
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        look = "import torch; print(torch.__version__, *{l.split()[-1] for l in open('/proc/self/maps') if 'blas' in l})"
        version = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True).stdout.strip()
        if "openblas" not in version:
            sys.exit(f"PyTorch {version} has no OpenBLAS, and its reference BLAS is no peer: install libopenblas0-pthread")
        print(f"PyTorch {version}; one thread each ({' '.join(f'{k}={v}' for k, v in ONE_THREAD.items())}), processor time; load of the machine at the start: {os.getloadavg()[0]:.1f}")
        for title, environment in (("as Debian ships it", {}), ("with " + " ".join(f"{k}={v}" for k, v in TUNED.items()), TUNED)):
            print(f"\nPyTorch {title}\n{'work':<14}{'ours us':>10}{'PyTorch us':>12}{'ratio':>8}{'bar':>6}  largest difference after one step")
            for name, bar in BARS.items():
                if arguments.only and name not in arguments.only:
                    continue
                ours = Contestant([arguments.bench_train, folder])
                theirs = Contestant([sys.executable, os.path.abspath(__file__), "--serve", folder], **environment)
                worst = check(folder, name, ours, theirs)
                mine, other, ratio = compare(name, ours, theirs, max(3, int(ROUNDS[name] * arguments.rounds)))
                held = worst <= TOLERANCE and (bool(environment) or ratio >= bar)
                rate = f"  {BATCH / mine * 1e9:,.0f} samples/s" if name.startswith("rows") else ""
                if name == "rows_hot" and not environment:
                    held = held and BATCH / mine * 1e9 >= SAMPLES_PER_SECOND_HOT
                    rate += f" (bar {SAMPLES_PER_SECOND_HOT:,})"
                    sustained = statistics.median(float(ours.ask(f"time {name} {SUSTAINED_STEPS}")) for _ in range(5))
                    rate += f"; {BATCH / sustained * 1e9:,.0f} in {SUSTAINED_STEPS} steps on end"
                print(f"{name:<14}{mine / 1e3:>10.1f}{other / 1e3:>12.1f}{ratio:>8.2f}{'' if environment else bar:>6}  "
                      f"{worst:.1e}{rate}{'' if held else '  MISSED'}", flush=True)
                missed += not held
                ours.close()
                theirs.close()
    return 1 if missed else 0


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "--serve":
        serve_pytorch(sys.argv[2])
    else:
        sys.exit(main())
