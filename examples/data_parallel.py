"""Data parallelism: a batch in parts, each through a replica of the module, in threads.

`nn.DataParallel(model)` divides its input along the first dimension, runs the parts side by side
and joins the results. Replicas share the parameters, so gradients are those of the whole batch.

Hooks on saved tensors belong to a thread. Set around the whole model they do not reach the
replicas; set inside the forward pass they work in each of them, as the blog post on autograd shows.
"""

import argparse
import threading

import wengert as wg
from wengert import nn


class Net(nn.Module):
    """Notes which thread ran it, and packs what it saves."""

    def __init__(self, hooks=None):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(20, 64), nn.Tanh(), nn.Linear(64, 1))
        self.hooks = hooks
        self.threads = []

    def forward(self, x):
        self.threads.append((threading.get_ident(), len(x)))
        if self.hooks is None:
            return self.layers(x)
        with wg.autograd.graph.saved_tensors_hooks(*self.hooks):
            return self.layers(x)


def gradients(model, net, x):
    net.zero_grad()
    (model(x) ** 2).mean().backward()
    return [p.grad.clone() for p in net.parameters()]


def counting():
    """A pack hook and an unpack hook, and the threads that called the first."""
    seen = []

    def pack(tensor):
        seen.append(threading.get_ident())
        return tensor

    return seen, (pack, lambda tensor: tensor)


def equal_gradients(replicas):
    net = Net()
    x = wg.randn(30, 20)
    whole = gradients(net, net, x)
    net.threads.clear()
    divided = gradients(nn.DataParallel(net, device_ids=range(replicas)), net, x)
    parts = [n for _, n in net.threads]
    print(f"{len(x)} samples went through {len(parts)} replicas, {sorted(parts)}")
    worst = max((a - b).abs().max().item() for a, b in zip(whole, divided, strict=True))
    print(f"gradients differ from the undivided run's by at most {worst:.1e}")
    assert sum(parts) == len(x)
    assert worst < 1e-6


def hooks_outside(replicas):
    seen, hooks = counting()
    net = Net()
    model = nn.DataParallel(net, device_ids=range(replicas))
    with wg.autograd.graph.saved_tensors_hooks(*hooks):
        model(wg.randn(30, 20)).sum()
    workers = {thread for thread, _ in net.threads}
    print("hooks set around the model were called in replicas:", bool(workers & set(seen)))
    assert not workers & set(seen)


def hooks_inside(replicas):
    seen, hooks = counting()
    net = Net(hooks)
    x = wg.randn(30, 20)
    plain = Net()
    plain.load_state_dict(net.state_dict())
    expected = gradients(plain, plain, x)
    found = gradients(nn.DataParallel(net, device_ids=range(replicas)), net, x)
    workers = {thread for thread, _ in net.threads}
    print("hooks set inside of forward were called in every replica:", workers == set(seen))
    assert workers == set(seen)
    for a, b in zip(expected, found, strict=True):
        assert wg.allclose(a, b, atol=1e-6)


def errors(replicas):
    class Fails(nn.Module):
        def forward(self, x):
            if (x > 0).any():
                raise ValueError("a sample that this module refuses")
            return x

    x = wg.zeros(4, 1)
    x[-1] = 1
    try:
        nn.DataParallel(Fails(), device_ids=range(replicas))(x)
    except ValueError as error:
        print("an error keeps its type:", error, *error.__notes__)
    else:
        raise AssertionError("the error was lost")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--replicas", type=int, default=3)
    options = parser.parse_args(arguments)
    wg.manual_seed(0)
    equal_gradients(options.replicas)
    hooks_outside(options.replicas)
    hooks_inside(options.replicas)
    errors(options.replicas)


if __name__ == "__main__":
    main()
