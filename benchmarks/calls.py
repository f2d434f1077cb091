"""What calls of compiled functions cost, beside eager ones: one small step, in the shapes of users.

Each shape is written once, for `compiled` and for the identity in its place. A call takes the same
time however its arguments are held, whatever the step does with gradients, and wherever it is
written: the yardstick of those rows is the same step eagerly, or the same arrays passed flat.
"""

from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import cycle

import numpy as np

from benchmarks.timing import Case, Make, Target, Work

SECTION = "A small step, compiled and eager"
ARRAYS_SECTION = "64 arrays in a container, and flat"
STEP, PART = (Target("eager", 0.15),), (Target("eager", 1.0), Target("rest", 1.5))
ARRAYS = (Target("flat", 1.2),)
GUARDED = (Target("unguarded", 5.0),)  # 1 us more, where a call takes a quarter of that
COUNT = 64
NUMBER, GUARDS = "a Python float, and a 0-d array", "100 guarded values, and none"


@dataclass
class Batch:
    x: object
    y: object


Pair = namedtuple("Pair", "x y")


class Small:
    """A network of 2-16-16-1, its optimizer, and one batch."""

    def __init__(self, wg):
        wg.manual_seed(0)
        nn = wg.nn
        layers = nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1)
        self.net = nn.Sequential(*layers)
        self.optimizer = wg.optim.SGD(self.net.parameters(), 0.01)
        self.loss = wg.nn.functional.mse_loss
        self.x, self.y = wg.randn(8, 2), wg.randn(8, 1)

    def step(self, x, y, scale=None, set_to_none=True):
        self.optimizer.zero_grad(set_to_none=set_to_none)
        loss = self.loss(self.net(x), y)
        loss = loss if scale is None else loss * scale
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def plain(wg, compiled):
    s = Small(wg)
    net, optimizer, mse = s.net, s.optimizer, s.loss

    @compiled
    def step(x, y):
        optimizer.zero_grad()
        loss = mse(net(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return partial(step, s.x, s.y)


AT_MODULE_LEVEL = """
def step(x, y):
    optimizer.zero_grad()
    loss = mse(net(x), y)
    loss.backward()
    optimizer.step()
    return loss.detach()
"""


def at_module_level(wg, compiled):
    s = Small(wg)
    names = {"net": s.net, "optimizer": s.optimizer, "mse": s.loss}
    exec(AT_MODULE_LEVEL, names)  # noqa: S102  (else its names would be of this module)
    return partial(compiled(names["step"]), s.x, s.y)


def defaults(wg, compiled):
    s = Small(wg)

    @compiled
    def step(x, y, net=s.net, optimizer=s.optimizer, mse=s.loss):
        optimizer.zero_grad()
        loss = mse(net(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return partial(step, s.x, s.y)


def method(wg, compiled):
    s = Small(wg)
    return partial(compiled(s.step), s.x, s.y)


def held(wg, compiled):
    """The plain step, while somebody keeps a state_dict."""
    s = Small(wg)
    kept, step = s.net.state_dict(), compiled(s.step)
    return lambda: step(s.x, s.y) if kept else None


def keywords(wg, compiled):
    s = Small(wg)
    return partial(compiled(s.step), x=s.x, y=s.y)


def accumulating(wg, compiled):
    s = Small(wg)

    @compiled
    def accumulate(x, y):
        loss = s.loss(s.net(x), y)
        loss.backward()
        return loss.detach()

    accumulate(s.x, s.y)
    return partial(accumulate, s.x, s.y)


def zeroing(wg, compiled):
    s = Small(wg)
    return partial(compiled(partial(s.step, set_to_none=False)), s.x, s.y)


def contained(wg, compiled, pack, unpack):
    s = Small(wg)
    step = compiled(lambda batch: s.step(*unpack(batch)))
    return lambda: step(pack(s.x, s.y))


PACKED = {
    "a tuple": (lambda x, y: (x, y), lambda b: b),
    "a list": (lambda x, y: [x, y], lambda b: b),
    "a dict": (lambda x, y: {"x": x, "y": y}, lambda b: (b["x"], b["y"])),
    "a named tuple": (Pair, lambda b: b),
    "a dataclass": (Batch, lambda b: (b.x, b.y)),
    "a dict of tuples": (lambda x, y: {"xy": (x, y)}, lambda b: b["xy"]),
}


def returning(wg, compiled):
    s = Small(wg)

    @compiled
    def step(x, y):
        return s.step(x, y), x

    return lambda: step(s.x, s.y)[0]


def structured(wg, compiled):
    s = Small(wg)

    @compiled
    def step(x, y):
        loss = s.step(x, y)
        return {"loss": loss, "twice": (loss * 2, x.sum())}

    return lambda: step(s.x, s.y)["loss"]


def strided(wg, compiled):
    s = Small(wg)
    x = s.x.numpy().T.copy().T
    return partial(compiled(s.step), wg.from_numpy(x), s.y)


def varying(wg, compiled, numbers):
    s = Small(wg)
    step, scales = compiled(s.step), cycle(numbers)
    return lambda: step(s.x, s.y, next(scales))


def of_loss(wg, compiled):
    s = Small(wg)
    loss_of = compiled(s.loss)

    def step():
        s.optimizer.zero_grad()
        loss = loss_of(s.net(s.x), s.y)
        loss.backward()
        s.optimizer.step()
        return loss.detach()

    return step


def of_module(wg, compiled):
    s = Small(wg)
    net = compiled(s.net)

    def step():
        s.optimizer.zero_grad()
        loss = s.loss(net(s.x), s.y)
        loss.backward()
        s.optimizer.step()
        return loss.detach()

    return step


def pulled(wg, compiled):
    w = wg.ones(3, requires_grad=True)
    f = compiled(lambda w: ((w * w).sin() * w).sum())

    def step():
        w.grad = None
        f(w).backward()
        return w.grad

    return step


def evaluated(wg, compiled):
    s = Small(wg)
    net = compiled(s.net)

    def evaluate():
        with wg.no_grad():
            return net(s.x)

    return evaluate


def without_loss(wg):
    """What is left of the step if the loss costs nothing: no compiled loss makes it quicker."""
    s = Small(wg)
    slope = wg.ones(8, 1)

    def step():
        s.optimizer.zero_grad()
        s.net(s.x).backward(slope)
        s.optimizer.step()

    return step


def without_module(wg):
    """What is left if the module, and the gradients of its parameters, cost nothing."""
    s = Small(wg)
    made = wg.randn(8, 1, requires_grad=True)
    gradients = [(p, wg.ones_like(p)) for p in s.net.parameters()]

    def step():
        s.optimizer.zero_grad()
        made.grad = None
        loss = s.loss(made, s.y)
        loss.backward()
        for p, gradient in gradients:
            p._grad = gradient
        s.optimizer.step()

    return step


IN_PARTS = {of_loss: without_loss, of_module: without_module}
"""Where most of the time is eager mode's own, and that by itself."""


def same(function):
    return function


SHAPES: dict[str, Callable[..., Work]] = {
    "plain": plain,
    "a method": method,
    "at module level": at_module_level,
    "in defaults": defaults,
    "a state_dict is kept": held,
    "keyword arguments": keywords,
    "accumulating into .grad": accumulating,
    "zero_grad(set_to_none=False)": zeroing,
    **{
        f"the batch is {name}": partial(contained, pack=pack, unpack=unpack)
        for name, (pack, unpack) in PACKED.items()
    },
    "returns its argument": returning,
    "returns a dict": structured,
    "a batch that is not contiguous": strided,
    "a float that changes": partial(varying, numbers=[0.5, 1.0, 2.0]),
    "an np.float64 that changes": partial(varying, numbers=list(np.linspace(0, 1, 40))),
    "an int that counts": partial(varying, numbers=range(40)),
    "only the loss is compiled": of_loss,
    "only the module is compiled": of_module,
    "backward from outside": pulled,
    "the module under no_grad": evaluated,
}


def warm(make, *args) -> Make:
    """Made once, and called until it is compiled and linked: later calls are what is timed."""
    work = make(*args)
    for _ in range(3):
        work()
    return lambda: work


def step_case(modules, section: str, targets: tuple[Target, ...], name: str) -> Case:
    wg, make = modules["wengert"], SHAPES[name]
    kinds = {"wengert": wg.compile, "eager": same}
    entrants = {k: warm(make, wg, kind) for k, kind in kinds.items()}
    if make in IN_PARTS:
        entrants["rest"] = warm(IN_PARTS[make], wg)
    return Case(section, name, entrants, targets)


CONTAINERS = {
    "a tuple": tuple,
    "a list": list,
    "a dict": lambda arrays: {f"array{i}": x for i, x in enumerate(arrays)},
}


def first_of(xs):
    return (next(iter(xs.values())) if isinstance(xs, dict) else xs[0]) + 1.0


def arrays_case(modules, section: str, targets: tuple[Target, ...], name: str) -> Case:
    wg = modules["wengert"]
    arrays = [wg.ones(4) * i for i in range(COUNT)]
    inside, flat = wg.compile(first_of), wg.compile(lambda *xs: first_of(xs))
    makes = {
        "wengert": partial(partial, inside, CONTAINERS[name](arrays)),
        "flat": partial(partial, flat, *arrays),
    }
    return Case(section, name, {k: warm(make) for k, make in makes.items()}, targets)


def numbers_case(modules, section: str, targets: tuple[Target, ...]) -> Case:
    """A Python float in and out: the cost of a 0-d array, and of making the number."""
    twice = modules["wengert"].compile(lambda t: t * 2)
    makes = {
        "wengert": partial(partial, twice, 0.5),
        "flat": partial(partial, twice, np.array(0.5)),
    }
    return Case(section, NUMBER, {k: warm(make) for k, make in makes.items()}, targets)


def guards_case(modules, section: str, targets: tuple[Target, ...]) -> Case:
    """100 values that decide something, which each call must find as they were."""
    wg = modules["wengert"]
    members = {f"m{i}": i for i in range(100)}
    holder = type("Holder", (wg.nn.Module,), {"forward": _read_all})()
    vars(holder).update(members)
    x, plain = wg.ones(4), wg.compile(lambda x: x + 1)
    makes = {
        "wengert": partial(partial, wg.compile(holder), x),
        "unguarded": partial(partial, plain, x),
    }
    return Case(section, GUARDS, {k: warm(make) for k, make in makes.items()}, targets)


def _read_all(self, x):
    for i in range(100):
        assert getattr(self, f"m{i}") == i
    return x + 1
