"""Compiled functions of ten million floats, beside the time it takes only to move their bytes.

The yardstick "memory" is the fastest of several ways to read the inputs and write the output once,
into memory that is already there. And the smallest compiled function: one that does nothing.
"""

from functools import cache, partial

import numpy as np

from benchmarks.timing import Case, Make, Target

COUNT = 10_000_000
SECTION = f"A compiled function of {COUNT:,} floats"
CHAIN, LOGSUMEXP = "relu(a x + b y) c", "log-sum-exp"
A, B, C = 1.5, -0.5, 2.0

CALL_SECTION = "The call of a compiled function that does nothing"
CALL = "ten arrays"


@cache
def data():
    """Two arrays that all peers and turns share: no function here changes them."""
    rng = np.random.default_rng(0)
    return tuple(rng.standard_normal(COUNT, np.float32) for _ in range(2))


def torch_functions(torch):
    return {
        CHAIN: lambda x, y: torch.relu(A * x + B * y) * C,
        LOGSUMEXP: lambda x: torch.logsumexp(x, 0),
    }


def jax_functions(jax):
    return {
        CHAIN: lambda x, y: jax.nn.relu(A * x + B * y) * C,
        LOGSUMEXP: lambda x: jax.nn.logsumexp(x),
    }


def numpy_functions():
    """By hand, in memory that is kept."""
    one, two = np.empty(COUNT, np.float32), np.empty(COUNT, np.float32)

    def chain(x, y):
        np.multiply(x, A, out=one)
        np.multiply(y, B, out=two)
        np.add(one, two, out=one)
        np.maximum(one, 0, out=one)
        return np.multiply(one, C, out=one)

    def logsumexp(x):
        largest = x.max()
        np.subtract(x, largest, out=one)
        return np.log(np.exp(one, out=one).sum()) + largest

    return {CHAIN: chain, LOGSUMEXP: logsumexp}


def entrant(peer, module, name) -> Make:
    """Compiles once; each turn calls what was compiled."""
    arrays = data()[: 2 if name == CHAIN else 1]
    match peer:
        case "JAX":
            function = module.jit(jax_functions(module)[name])
            inputs = [module.numpy.asarray(array) for array in arrays]
            return lambda: lambda: function(*inputs).block_until_ready()
        case "NumPy":
            function, inputs = numpy_functions()[name], arrays
        case _:
            # Not copies: caches would keep what the yardsticks read as well, and not those.
            function, inputs = torch_functions(module)[name], [*map(module.from_numpy, arrays)]
            if peer == "wengert":
                function = module.compile(function)
    return lambda: partial(function, *inputs)


def yardsticks(modules, name) -> dict[str, Make]:
    """Ways to move the bytes that a function reads and writes."""
    x, y = data()
    by_hand = modules.get("C")
    if name == CHAIN:
        out = np.zeros(COUNT, np.float32)  # written once, so that its pages are there
        ways = {"memory": partial(np.add, x, y, out=out)}
        if by_hand:
            ways["memory in C"] = by_hand.loop("move", x, y, out)
            ways["memory past caches"] = by_hand.loop("move_past_caches", x, y, out)
    else:
        ways = {"memory": x.max}
        if by_hand:
            ways["memory in C"] = by_hand.loop("read_all", x)
    return {way: partial(lambda work: work, work) for way, work in ways.items()}


def elementwise_case(modules, section: str, targets: tuple[Target, ...], name: str) -> Case:
    entrants = {
        peer: entrant(peer, module, name) for peer, module in modules.items() if peer != "C"
    }
    return Case(section, name, entrants, targets, yardsticks(modules, name))


def nothing(a, b, c, d, e, f, g, h, i, j):
    """Ten arguments, no result."""


def call_case(modules, section: str, targets: tuple[Target, ...]) -> Case:
    arrays = [np.full(8, i, np.float32) for i in range(10)]
    entrants: dict[str, Make] = {}
    for peer, module in modules.items():
        match peer:
            case "wengert":
                call = partial(module.compile(nothing), *map(module.tensor, arrays))
            case "JAX":
                call = partial(module.jit(nothing), *map(module.numpy.asarray, arrays))
            case _:
                continue
        entrants[peer] = partial(lambda work: work, call)
    return Case(section, CALL, entrants, targets)
