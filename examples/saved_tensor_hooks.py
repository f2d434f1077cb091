"""Hooks on saved tensors: deciding where the values kept for backward are kept.

`pack` receives each tensor an operation saves and may return anything, a file's name say; `unpack`
gets that back in the backward pass and returns a tensor of equal content. As in the blog post on
autograd, large tensors go to disk, in files that delete themselves with the graph that needs them.
(The post's second pack hook saves `tensor`, where its argument is called `x`.)
"""

import argparse
import tempfile
import uuid
from pathlib import Path

import wengert as wg
from wengert import nn
from wengert.autograd.graph import save_on_cpu, saved_tensors_hooks

THRESHOLD = 1000  # tensors of at least so many elements are worth a file


class SelfDeletingFile:
    """A file that lives as long as this object: several passes may read it, so none deletes it."""

    def __init__(self, folder):
        self.path = Path(folder) / str(uuid.uuid4())

    def __del__(self):
        self.path.unlink(missing_ok=True)


class Offload(saved_tensors_hooks):
    """Inside, operations save large tensors to disk."""

    def __init__(self, folder, threshold=THRESHOLD):
        super().__init__(self.pack, self.unpack)
        self.folder, self.threshold = folder, threshold

    def pack(self, x):
        if x.numel() < self.threshold:
            return x
        file = SelfDeletingFile(self.folder)
        wg.save(x.detach(), file.path)
        return file

    @staticmethod
    def unpack(packed):
        if isinstance(packed, wg.Tensor):
            return packed
        return wg.load(packed.path)


class Model(nn.Module):
    def __init__(self, folder=None):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(50, 100), nn.Tanh(), nn.Linear(100, 1))
        self.folder = folder

    def forward(self, x):
        if self.folder is None:
            return self.layers(x)
        with Offload(self.folder):
            return self.layers(x)


def offloading():
    model = Model()
    x = wg.randn(200, 50)
    model(x).sum().backward()
    expected = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()

    with tempfile.TemporaryDirectory() as folder:
        files = lambda: list(Path(folder).iterdir())
        model.folder = folder
        y = model(x).sum()
        counts = [len(files())]
        size = sum(file.stat().st_size for file in files())
        y.backward(retain_graph=True)
        counts.append(len(files()))
        model.zero_grad()
        y.backward()
        del y
        counts.append(len(files()))
    assert all(wg.equal(p.grad, g) for p, g in zip(model.parameters(), expected, strict=True))
    print("Offloading what a small network saves, above 1000 elements, to disk:")
    print(f"  after the forward pass                 {counts[0]} files, {size // 1024} KiB")
    print(f"  after backward with retain_graph=True  {counts[1]} files, read and kept")
    print(f"  after the last backward                {counts[2]} files")
    print("  the gradients are the same, bit for bit")
    return counts


def a_log_of_saving():
    """Hooks see every tensor that is saved, in order."""
    log = []

    def pack(t):
        log.append(f"pack   {tuple(t.shape)}")
        return t

    def unpack(t):
        log.append(f"unpack {tuple(t.shape)}")
        return t

    x = wg.ones(3, requires_grad=True)
    with saved_tensors_hooks(pack, unpack):
        y = (x.sin() * x).sum()
    y.backward()
    print("What sum(sin(x) * x) saves, and when it is read:")
    print("  " + "\n  ".join(log))
    return log


def one_saved_tensor():
    """Hooks on a single value that one node has saved."""
    x = wg.tensor([1.0, 2.0], requires_grad=True)
    y = x.pow(2)
    seen = []

    def unpack(halves):
        seen.append("unpacked")
        return halves.to(wg.float32)

    y.grad_fn._raw_saved_self.register_hooks(lambda t: t.detach().to(wg.float16), unpack)
    y.sum().backward()
    print(f"x of x.pow(2), kept as float16 by its own hooks: x.grad = {x.grad.tolist()}, {seen[0]}")
    try:
        x.pow(2).grad_fn._raw_saved_self.register_hooks("pack", None)
    except TypeError as error:
        print(f"  a mistake is told: {error}")


def in_main_memory():
    x = wg.ones(3, requires_grad=True)
    with save_on_cpu():
        y = (x * x).sum()
    y.backward()
    print(f"save_on_cpu keeps copies in main memory: x.grad = {x.grad.tolist()}")


def main(argv=None):
    argparse.ArgumentParser(description=__doc__).parse_args(argv)
    wg.manual_seed(0)
    for part in (offloading, a_log_of_saving, one_saved_tensor, in_main_memory):
        part()
        print()


if __name__ == "__main__":
    main()
