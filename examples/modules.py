"""Modules: parameters found by attribute, printed, saved and restored, pruned, quantized.

A module knows its parameters and submodules because they are its attributes. From that alone follow
iteration by name, printing, `state_dict`, casts, hooks; and, at the end, two ways to make a trained
network smaller: pruning, with masks beside the weights, and 8-bit integers in their place.

Trained and measured on the 1,797 handwritten digits that come with wengert.
"""

import argparse
import tempfile
from pathlib import Path

import wengert as wg
import wengert.nn.functional as F
from wengert import nn, optim
from wengert.datasets import load_digits
from wengert.nn import quantization
from wengert.nn.utils import prune


class Net(nn.Module):
    """A small network for images of 8 by 8."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.classes = nn.Linear(8 * 4 * 4, 10)
        self.temperature = nn.Parameter(wg.ones(1))

    def forward(self, x):
        x = self.features(x).flatten(1)
        return self.classes(x) / self.temperature


def data():
    images, labels = load_digits()
    order = wg.randperm(len(labels))
    x = wg.from_numpy(images).reshape(-1, 1, 8, 8)[order]
    y = wg.from_numpy(labels)[order]
    return (x[:1200], y[:1200]), (x[1200:], y[1200:])


def stepper(net, optimizer):
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def train(net, x, y, epochs):
    step = stepper(net, optim.Adam(net.parameters(), lr=0.01))
    for _ in range(epochs):
        for start in range(0, len(x), 100):
            step(x[start : start + 100], y[start : start + 100])


def accuracy(net, x, y):
    with wg.no_grad():
        return (net(x).argmax(1) == y).float().mean().item()


def containers():
    """Lists and dictionaries whose contents are registered."""

    class Several(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(2)])
            self.heads = nn.ModuleDict({"a": nn.Linear(2, 1), "b": nn.Linear(2, 3)})
            self.scales = nn.ParameterList([nn.Parameter(wg.ones(1))])
            self.biases = nn.ParameterDict({"a": nn.Parameter(wg.zeros(1))})

    net = Several()
    names = [name for name, _ in net.named_parameters()]
    print("parameters of lists and dictionaries:")
    print("  " + ", ".join(names))
    assert "layers.1.weight" in names
    assert {"heads.b.bias", "scales.0", "biases.a"} <= set(names)


def walk(net):
    print(net)
    print("children:", [name for name, _ in net.named_children()])
    print("modules: ", [name or "(itself)" for name, _ in net.named_modules()])
    for name, p in net.named_parameters():
        print(f"  {name:20} {tuple(p.shape)}")
    # A module that is there twice is found once, unless asked otherwise.
    twice = nn.Sequential(net.classes, net.classes)
    assert len(list(twice.named_modules())) == 2
    assert len(list(twice.named_modules(remove_duplicate=False))) == 3


def save_and_restore(net, x):
    other = Net()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net.safetensors"
        wg.save(net.state_dict(), path)
        found = other.load_state_dict(wg.load(path))
    print("restored:", found)
    assert wg.equal(net(x), other(x))
    assert other.to("cpu") is other
    assert other.double().classes.weight.dtype == wg.float64


def pruned(net, x, y):
    before = accuracy(net, x, y)
    places = [(net.features[0], "weight"), (net.classes, "weight")]
    prune.global_unstructured(places, pruning_method=prune.L1Unstructured, amount=0.5)
    print("state_dict of the pruned layer:", sorted(net.classes.state_dict()))
    for module, name in places:
        prune.remove(module, name)
    zeros = sum((m.weight == 0).sum().item() for m, _ in places)
    count = sum(m.weight.numel() for m, _ in places)
    after = accuracy(net, x, y)
    print(f"half of the weights pruned ({zeros} of {count}): accuracy {before:.3f} -> {after:.3f}")
    assert abs(zeros / count - 0.5) < 0.01
    assert after > before - 0.1


def quantized(net, x_train, x, y):
    small = quantization.quantize(net, [x_train[:200]])
    report = quantization.compare(net, small, [x], metric=lambda m: accuracy(m, x, y))
    print(small)
    print(report)
    assert report.output > 25
    assert abs(report.metric[0] - report.metric[1]) < 0.02


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=12)
    options = parser.parse_args(arguments)
    wg.manual_seed(0)
    (x_train, y_train), (x, y) = data()

    containers()
    net = Net()
    walk(net)
    train(net, x_train, y_train, options.epochs)
    print(f"accuracy on 597 digits not seen in training: {accuracy(net, x, y):.3f}")
    save_and_restore(net, x)
    quantized(net, x_train, x, y)
    pruned(net, x, y)


if __name__ == "__main__":
    main()
