"""Writes pytorch.safetensors: inputs, parameters, results and gradients of small models, computed by PyTorch.

Made once with Debian's python3-torch 1.13.1 on one thread:  /usr/bin/python3 make_pytorch.py
Names are CASE/x for inputs, CASE/p/NAME for parameters in the layouts of runtime/nn (matrices [in, out], convolutions
[taps, in, out]), CASE/g/NAME for their gradients, CASE/y, CASE/loss; whole numbers are stored as floats.
"""
import json
import os
import struct

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(20240607)
torch.set_num_threads(1)
tensors = {}


def put(name, tensor):
    assert name not in tensors, name
    tensors[name] = tensor.detach().to(torch.float32).clone().contiguous()


def put_module(case, modules, extra=()):
    """modules: our name -> torch module. Linear weights turn to [in, out], Conv1d's to [taps, in, out]."""
    for name, module in modules.items():
        for ours, parameter in (("weight", module.weight), ("bias", module.bias)):
            turn = (lambda t: t.t()) if parameter.dim() == 2 else (lambda t: t.permute(2, 1, 0)) if parameter.dim() == 3 else (lambda t: t)
            if isinstance(module, (nn.LayerNorm, nn.BatchNorm1d)) and ours == "weight":
                ours = "gain"
            put(f"{case}/p/{name}.{ours}", turn(parameter))
            put(f"{case}/g/{name}.{ours}", turn(parameter.grad))


def mlp():
    x, target, weights = torch.randn(6, 9), torch.randn(6, 3), torch.rand(6, 3)
    for case, act in (("mlp_relu", F.relu), ("mlp_gelu", F.gelu), ("mlp_clipped", lambda t: t.clamp(0, 1))):
        a, b = nn.Linear(9, 21), nn.Linear(21, 3)
        y = b(act(a(x)))
        loss = (weights * (y - target) ** 2).mean()
        loss.backward()
        put_module(case, {"m.0": a, "m.1": b})
        for name, tensor in (("x", x), ("target", target), ("weights", weights), ("y", y), ("loss", loss)):
            put(f"{case}/{name}", tensor)


def dueling():
    x, target, weights = torch.randn(7, 5), 3 * torch.randn(7, 1), torch.rand(7, 1)
    actions = torch.randint(0, 4, (7,))
    value, advantage = nn.Linear(5, 1), nn.Linear(5, 4)
    a = advantage(x)
    y = value(x) + a - a.mean(1, keepdim=True)
    loss = (weights * F.huber_loss(y.gather(1, actions[:, None]), target, delta=0.7, reduction="none")).mean()
    loss.backward()
    put_module("dueling", {"q.value": value, "q.advantage": advantage})
    for name, tensor in (("x", x), ("target", target), ("weights", weights), ("actions", actions), ("y", y), ("loss", loss)):
        put(f"dueling/{name}", tensor)


def conv():
    x = torch.randn(4, 8, 3)
    labels, class_weights = torch.tensor([2, -100, 0, 4]), torch.tensor([0.5, 1, 2, 0.1, 3])
    one, norm, two, head = nn.Conv1d(3, 6, 3, padding=1), nn.BatchNorm1d(6), nn.Conv1d(6, 7, 5, padding=2), nn.Linear(7, 5)
    h = F.relu(norm(one(x.transpose(1, 2))))
    pooled = F.relu(two(h)).max(2).values
    y = head(pooled)
    loss = F.cross_entropy(y, labels, weight=class_weights)
    loss.backward()
    put_module("conv", {"one": one, "norm": norm, "two": two, "head": head})
    put("conv/moved_mean", norm.running_mean)
    put("conv/moved_variance", norm.running_var)
    for name, tensor in (("x", x), ("labels", labels.clamp(min=-1)), ("class_weights", class_weights), ("y", y), ("loss", loss)):
        put(f"conv/{name}", tensor)


def attention():
    queries, context, target = torch.randn(2, 3, 8), torch.randn(2, 5, 8), torch.randn(2, 3, 8)
    mask = torch.randint(0, 2, (2, 3, 5)).bool()
    mask[:, :, 1] = True
    norm = nn.LayerNorm(8)
    q, k, v, o = (nn.Linear(8, 8) for _ in range(4))
    nn.init.normal_(norm.weight)
    nn.init.normal_(norm.bias)
    heads = lambda t: t.view(2, -1, 2, 4).transpose(1, 2)
    h = norm(queries)
    scores = heads(q(h)) @ heads(k(context)).transpose(2, 3) / 2
    shares = scores.masked_fill(~mask[:, None], float("-inf")).softmax(-1)
    y = queries + o((shares @ heads(v(context))).transpose(1, 2).reshape(2, 3, 8))
    loss = F.mse_loss(y, target)
    loss.backward()
    put_module("attention", {"norm": norm, "a.query": q, "a.key": k, "a.value": v, "a.output": o})
    for name, tensor in (("queries", queries), ("context", context), ("mask", mask), ("target", target), ("y", y), ("loss", loss)):
        put(f"attention/{name}", tensor)


def bag():
    ids, offsets = torch.tensor([0, 3, 3, 8, 1, 0, 7, 7, 2, 5]), torch.tensor([0, 3, 3, 7, 8])
    target, groups = torch.randn(5), torch.tensor([0, 0, 0, 1, 1])
    for case in ("bag_adam", "bag_adagrad"):
        table, bias, head = nn.EmbeddingBag(9, 6, mode="sum", sparse=True), nn.Parameter(torch.randn(6) * 0.1), nn.Linear(6, 1)
        y = head((table(ids, offsets) + bias).clamp(0, 1))[:, 0]
        better = (target[:, None] > target[None]) & (groups[:, None] == groups[None])
        loss = F.softplus(-(y[:, None] - y[None]))[better].mean()
        put(f"{case}/p/b.rows", table.weight)
        optimiser = torch.optim.SparseAdam([table.weight], lr=0.01) if case == "bag_adam" else \
            torch.optim.Adagrad([table.weight], lr=0.01)
        loss.backward()
        put(f"{case}/p/b.bias", bias)
        put(f"{case}/g/b.bias", bias.grad)
        put_module(case, {"head": head})
        optimiser.step()
        put(f"{case}/stepped", table.weight)
        for name, tensor in (("ids", ids), ("offsets", torch.cat([offsets, torch.tensor([10])])), ("target", target),
                             ("groups", groups), ("y", y[:, None]), ("loss", loss)):
            put(f"{case}/{name}", tensor)


def optimisers():
    x, target = torch.randn(16, 5), torch.randn(16, 2)
    put("steps/x", x)
    put("steps/target", target)
    for case in ("adamw", "sgd"):
        layer = nn.Linear(5, 2)
        put(f"steps_{case}/p/m.0.weight", layer.weight.t())
        put(f"steps_{case}/p/m.0.bias", layer.bias)
        groups = [{"params": [layer.weight], "weight_decay": 0.1}, {"params": [layer.bias], "weight_decay": 0.0}]
        optimiser = torch.optim.AdamW(groups, lr=0.02) if case == "adamw" else torch.optim.SGD(groups, lr=0.02, momentum=0.9)
        for _ in range(10):
            optimiser.zero_grad()
            F.mse_loss(layer(x), target).backward()
            nn.utils.clip_grad_norm_(layer.parameters(), 0.5)
            optimiser.step()
        put(f"steps_{case}/stepped/m.0.weight", layer.weight.t())
        put(f"steps_{case}/stepped/m.0.bias", layer.bias)


def movement():
    """concat, slice, multiply and reshape, with gradients through both factors and around what the slice leaves out."""
    x, target = torch.randn(6, 5), torch.randn(12, 3)
    left, gate, right, head = nn.Linear(5, 8), nn.Linear(5, 4), nn.Linear(5, 8), nn.Linear(4, 3)
    part = torch.cat([left(x), gate(x)], 1)[:, 3:11]
    y = head((part * right(x)).reshape(12, 4))
    loss = F.mse_loss(y, target)
    loss.backward()
    put_module("movement", {"left": left, "gate": gate, "right": right, "head": head})
    for name, tensor in (("x", x), ("target", target), ("y", y), ("loss", loss)):
        put(f"movement/{name}", tensor)


for make in (mlp, dueling, conv, attention, bag, optimisers, movement):
    make()
header, at, data = {"__metadata__": {"torch": torch.__version__}}, 0, b""
for name, tensor in tensors.items():
    raw = tensor.numpy().tobytes()
    header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [at, at + len(raw)]}
    at += len(raw)
    data += raw
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "pytorch.safetensors"), "wb") as out:
    out.write(struct.pack("<Q", len(text)) + text + data)
