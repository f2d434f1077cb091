"""Backward from many threads at once, on separate graphs, on shared leaves, on one shared graph.

The reference page on autograd's mechanics warns that gradients accumulated from several threads
may come out wrong. Here each leaf has a lock of its own, so a shared `.grad` receives the sum of
all that was sent to it: exactly, whenever the additions are exact. What threads still have to agree
on is who frees a shared graph, and, as in the Hogwild algorithm, that parameters are written while
others read them.
"""

import argparse
import threading

import wengert as wg
import wengert.nn.functional as F
from wengert import nn
from wengert.autograd import Function


def in_threads(count, work):
    """Run work(0) ... work(count - 1), each in a thread of its own, all starting together."""
    start = threading.Barrier(count)

    def run(i):
        start.wait()
        work(i)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def separate_graphs(count=10):
    """The page's example: every thread has its own tensors and nothing to share."""
    gradients: dict[int, wg.Tensor] = {}

    def train_fn(i):
        x = wg.ones(5, 5, requires_grad=True)
        y = (x + 3) * (x + 4) * 0.5
        y.sum().backward()
        gradients[i] = x.grad

    in_threads(count, train_fn)
    assert all(wg.equal(g, wg.full((5, 5), 4.5)) for g in gradients.values())
    print(f"{count} threads, a graph each: every x.grad is 4.5, as (2x + 7) / 2 is at 1")


def shared_leaf(count=8, passes=200):
    """All threads add to one `.grad`; whole numbers add exactly, so not one may be missing."""
    w = wg.zeros(3, requires_grad=True)

    def work(i):
        for _ in range(passes):
            (w * (i + 1)).sum().backward()

    in_threads(count, work)
    expected = passes * sum(range(1, count + 1))
    print(f"{count} threads, {passes} passes each, one leaf: w.grad = {w.grad.tolist()}")
    print(f"  the sum over all passes is {expected}")
    assert w.grad.tolist() == [expected] * 3
    return w.grad


def shared_graph(count=4):
    """Without retain_graph the first pass frees what the others need; they are told so."""
    x = wg.ones(3, requires_grad=True)
    common = x.exp()
    outcomes = []

    def once(i):
        try:
            (common * i).sum().backward()
            outcomes.append("finished")
        except RuntimeError as error:
            outcomes.append("refused" if "retain_graph=True" in str(error) else str(error))

    in_threads(count, once)
    finished = outcomes.count("finished")
    assert outcomes.count("refused") == count - finished, outcomes
    print(
        f"{count} threads on one shared graph: {finished} finished, {count - finished} were refused"
    )
    print("  (a second pass over freed values; how many depends on the timing)")
    assert finished >= 1

    x = wg.ones(3, requires_grad=True)
    common = x.exp()
    in_threads(count, lambda i: (common * i).sum().backward(retain_graph=True))
    total = sum(range(count))
    assert wg.allclose(x.grad, total * x.detach().exp())
    print(f"  with retain_graph=True all finish: x.grad = {total} e")


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * g


def functions_and_hooks(count=8, passes=50):
    """A custom Function keeps nothing shared; what a hook shares, its author locks."""
    x = wg.full((2,), 2.0, requires_grad=True)
    calls, lock = [0], threading.Lock()

    def count_call(g):
        with lock:
            calls[0] += 1

    x.register_hook(count_call)

    def work(i):
        for _ in range(passes):
            Cube.apply(x).sum().backward()

    in_threads(count, work)
    assert x.grad.tolist() == [12.0 * count * passes] * 2
    assert calls[0] == count * passes
    print(f"A custom function and a hook in {count} threads: {calls[0]} calls of {count * passes},")
    print(f"  x.grad = {x.grad.tolist()}, which is {count * passes} times 3 x^2 at 2")


def stepper(net, lr=0.05):
    parameters = list(net.parameters())

    def step(x, y):
        loss = F.mse_loss(net(x), y)
        for p, g in zip(parameters, wg.autograd.grad(loss, parameters), strict=True):
            p.data.sub_(lr * g)
        return loss

    return step


def hogwild(count=4, steps=300):
    """Threads train one network without waiting for each other.

    Each takes its gradients with autograd.grad, which writes no `.grad` that others could disturb,
    and steps on the weights through `.data`: that does not advance the version counters, since
    others may be between forward and backward, and a slightly stale weight is part of the bargain.
    """
    net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    step = stepper(net)
    xs = wg.linspace(-2, 2, 64 * count).reshape(-1, 1)
    before = F.mse_loss(net(xs), wg.sin(xs)).item()

    def train_fn(i):
        x = xs[i::count]  # this thread's share of the data
        y = wg.sin(x)
        for _ in range(steps):
            step(x, y)

    in_threads(count, train_fn)
    after = F.mse_loss(net(xs), wg.sin(xs)).item()
    print(f"Hogwild: {count} threads, {steps} steps each, one network:")
    print(f"  loss {before:.4f} -> {after:.4f}")
    assert after < before / 10
    return before, after


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=300, help="training steps of each thread")
    args = parser.parse_args(argv)
    wg.manual_seed(0)
    for part in (separate_graphs, shared_leaf, shared_graph, functions_and_hooks):
        part()
        print()
    hogwild(steps=args.steps)


if __name__ == "__main__":
    main()
