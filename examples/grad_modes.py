"""Grad modes: default, no-grad and inference, what each does and what each costs.

The table is the one in the lecture on automatic differentiation, in the blog post on autograd and
in the reference page on its mechanics; here every cell is found by trying it. Then the lecture's
network is timed in the three modes (scaled down; `--full` takes the lecture's sizes, 168 million
parameters).
"""

import argparse
import contextlib
import time

import wengert as wg
import wengert.nn.functional as F
from wengert import nn

MODES = {
    "default": contextlib.nullcontext,
    "no-grad": wg.no_grad,
    "inference": wg.inference_mode,
}
USES = {"default": "forward pass", "no-grad": "optimizer updates", "inference": "evaluation"}


def excludes_from_graph(mode):
    x = wg.ones(2, requires_grad=True)
    with mode():
        y = x * 2
    return not y.requires_grad


def skips_tracking(mode):
    """Tensors made in inference mode do not even count how often they are written."""
    with mode():
        y = wg.ones(2) * 2
    try:
        return y._version is None
    except RuntimeError:
        return True


def usable_later(mode):
    w = wg.ones(2, requires_grad=True)
    with mode():
        y = wg.ones(2) * 2
    try:
        (w * y).sum().backward()
    except RuntimeError:
        return False
    return True


def table():
    """Prints the table; returns its rows."""
    questions = [excludes_from_graph, skips_tracking, usable_later]
    rows = {name: [ask(mode) for ask in questions] for name, mode in MODES.items()}
    print(f"{'mode':10} {'kept out of':12} {'skips':9} {'usable in':10} example")
    print(f"{'':10} {'the graph':12} {'tracking':9} {'grad mode':10}")
    for name, row in rows.items():
        kept_out, skips, usable = ("yes" if answer else "no" for answer in row)
        print(f"{name:10} {kept_out:12} {skips:9} {usable:10} {USES[name]}")
    return rows


@wg.no_grad()
def predict(x):
    """Any function can be decorated; calls from anywhere are then not recorded."""
    return x * 2


def switches():
    x = wg.ones(2, requires_grad=True)
    print("requires_grad of x * 2, for an x that requires grad:")
    print(f"  by itself                                 {(x * 2).requires_grad}")
    print(f"  in a function decorated with no_grad      {predict(x).requires_grad}")
    with wg.no_grad():
        print(f"  in no_grad                                {(x * 2).requires_grad}")
        with wg.enable_grad():
            print(f"  in enable_grad within no_grad             {(x * 2).requires_grad}")
        made = wg.ones(2, requires_grad=True)
        print(f"  ones(requires_grad=True), made in no_grad {made.requires_grad}")
    for learning in (True, False):
        with wg.set_grad_enabled(learning):
            print(f"  in set_grad_enabled({learning!s:5})               {(x * 2).requires_grad}")


def inference_tensors():
    with wg.inference_mode():
        y = wg.ones(2) * 2
    w = wg.ones(2, requires_grad=True)
    print("A tensor made in inference mode, used outside it:")
    print(f"  y + 1                  fine: {(y + 1).tolist()}")
    attempts = {
        "w * y                 ": lambda: w * y,
        "y.add_(1)             ": lambda: y.add_(1),
    }
    for text, attempt in attempts.items():
        try:
            attempt()
        except RuntimeError as error:
            print(f"  {text} refused: {str(error).split('. ')[0]}")
    print(f"  w * y.clone()          fine: requires_grad={(w * y.clone()).requires_grad}")


class MyLinear(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(wg.randn(in_features, out_features))

    def forward(self, input):
        return wg.matmul(input, self.weight)


class Net3(nn.Module):
    def __init__(self, dim1, dim2):
        super().__init__()
        self.layer0 = MyLinear(dim1, dim2)
        self.layer1 = MyLinear(dim2, dim2)
        self.layer2 = MyLinear(dim2, dim2)
        self.layer3 = MyLinear(dim2, 1)

    def forward(self, x):
        x = F.relu(self.layer0(x))
        x = F.relu(self.layer1(x))
        x = F.relu(self.layer2(x))
        return self.layer3(x)


def chain(x, w):
    """A thousand operations on two numbers: next to nothing but overhead."""
    for _ in range(1000):
        x = x * w
    return x


def best_time(run, repeats):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def timing(dim1, dim2, batch, repeats):
    """Seconds per forward pass in each mode: of the network, and of a chain of tiny steps."""
    net = Net3(dim1, dim2)
    x = wg.randn(batch, dim1)
    small, w = wg.ones(2), wg.ones(2, requires_grad=True)
    net(x), chain(small, w)  # the first run of anything is slower
    print(f"Forward passes, best of {repeats}:")
    print(f"  {'mode':10} {dim1}-{dim2}-{dim2}-{dim2}-1, batch {batch}   1000 tiny operations")
    seconds = {}
    for name, mode in MODES.items():
        with mode():
            seconds[name] = (
                best_time(lambda: net(x), repeats),
                best_time(lambda: chain(small, w), repeats),
            )
        large, tiny = seconds[name]
        print(f"  {name:10} {1e3 * large:15.2f} ms {1e3 * tiny:27.3f} ms")
    print("  In a large network the products take all the time, and recording them next to none.")
    print("  (The lecture ran each mode once, the default first, which also paid for warming up.)")
    return seconds


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="the lecture's sizes: 4096 and 8192")
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args(argv)
    wg.manual_seed(0)
    table()
    print()
    switches()
    print()
    inference_tensors()
    print()
    sizes = (4096, 8192, 256) if args.full else (512, 1024, 64)
    timing(*sizes, repeats=args.repeats)


if __name__ == "__main__":
    main()
