"""Transforms of functions: Jacobians and Hessians beside PyTorch's, and what derivatives cost.

A Jacobian is one run with all unit vectors as a batch. The costs are ratios to the function itself,
which theory bounds (Griewank and Walther, 2008): a directional derivative is at most 2.5 times the
function, a gradient 4 times, whatever the number of variables.
"""

from functools import partial

import numpy as np

from benchmarks.peers import load
from benchmarks.report import Report
from benchmarks.running import chosen, run_cases
from benchmarks.timing import Case, Target

PEERS = ("wengert", "PyTorch")
LEGEND = "PyTorch's Jacobian is that of jacfwd or of jacrev (*), whichever is faster."

WIDTH = 100
POINTS = 1_000
LARGE = 300_000
ROWS, LAYER = 500, 256
MATRICES = f"A network with {WIDTH} inputs and {WIDTH} outputs"
BATCHES = f"A small function at {POINTS:,} points"
COSTS = "What derivatives cost, on large arrays"

JVP, GRADIENT, HVP = Target("plain", 2.5), Target("plain", 4.0), Target("gradient", 3.0)


def numbers(*shape, scale=1.0):
    return scale * np.random.default_rng(len(shape)).standard_normal(shape)


# ---- whole matrices --------------------------------------------------------------------------


def network(torch):
    """Three layers, the same for every library that has PyTorch's names."""
    weights = [torch.from_numpy(numbers(WIDTH, WIDTH, scale=0.1)) for _ in range(3)]

    def outputs(x):
        for weight in weights:
            x = torch.tanh(weight @ x)
        return x

    return outputs, torch.from_numpy(numbers(WIDTH))


def matrix(torch, transform, scalar):
    outputs, x = network(torch)
    f = (lambda x: (outputs(x) ** 2).sum()) if scalar else outputs
    derivative = transform(torch)(f)
    return lambda: derivative(x)


def compiled(transform):
    return lambda wg: lambda f: wg.compile(transform(wg)(f))


WAYS = {
    "Jacobian": (
        {
            "wengert": lambda m: m.func.jacobian,
            "PyTorch": lambda m: m.func.jacfwd,
            "PyTorch jacrev": lambda m: m.func.jacrev,
        },
        False,
    ),
    "Hessian": ({k: lambda m: m.func.hessian for k in ("wengert", "PyTorch")}, True),
}


def matrix_cases(modules):
    for name, (ways, scalar) in WAYS.items():
        entrants = {
            k: partial(matrix, modules[k.split()[0]], transform, scalar)
            for k, transform in ways.items()
            if k.split()[0] in modules
        }
        targets = (Target("PyTorch", 0.5),)
        yield Case(MATRICES, name, entrants, targets)
        if "wengert" in modules:
            mine = partial(matrix, modules["wengert"], compiled(ways["wengert"]), scalar)
            yield Case(MATRICES, f"{name}, compiled", dict(entrants, wengert=mine), targets)


# ---- batches ---------------------------------------------------------------------------------


def small(torch):
    return lambda x: (torch.sin(x) * x).sum() / (1 + (x**2).sum())


def mapped(torch, derivative):
    f = derivative(torch)(small(torch))
    batch = torch.from_numpy(numbers(POINTS, 3))
    every = torch.func.vmap(f)
    return lambda: every(batch)


def looped(torch, derivative):
    f = derivative(torch)(small(torch))
    batch = torch.from_numpy(numbers(POINTS, 3))
    return lambda: torch.stack([f(x) for x in batch])


def batch_cases(modules):
    for name, derivative in {
        "vmap": lambda m: lambda f: f,
        "vmap of its gradient": lambda m: m.func.grad,
    }.items():
        entrants = {k: partial(mapped, m, derivative) for k, m in modules.items()}
        yardsticks = {}
        if "wengert" in modules:
            yardsticks["loop"] = partial(looped, modules["wengert"], derivative)
        yield Case(BATCHES, name, entrants, (Target("loop", 0.05),), yardsticks)


# ---- costs -----------------------------------------------------------------------------------


def elementwise(torch):
    return lambda x: (torch.tanh(x) * torch.exp(-x * x)).sum(), torch.from_numpy(numbers(LARGE))


def layers(torch):
    weights = [torch.from_numpy(numbers(LAYER, LAYER, scale=0.05)) for _ in range(3)]

    def loss(x):
        for weight in weights:
            x = torch.tanh(x @ weight)
        return (x**2).sum()

    return loss, torch.from_numpy(numbers(ROWS, LAYER))


def plain(function, torch):
    f, x = function(torch)

    def run():
        with torch.no_grad():
            return f(x)

    return run


def pushed(function, torch):
    f, x = function(torch)
    v = torch.ones_like(x)
    return lambda: torch.func.jvp(f, (x,), (v,))[1]


def pulled(function, torch):
    f, x = function(torch)
    gradient = torch.func.grad(f)
    return lambda: gradient(x)


def second(function, torch):
    f, x = function(torch)
    v = torch.ones_like(x)
    return lambda: torch.func.jvp(torch.func.grad(f), (x,), (v,))[1]


FUNCTIONS = {
    f"{LARGE:,} numbers, one by one": elementwise,
    f"three layers of {LAYER} on {ROWS:,} rows": layers,
}


def cost_cases(modules):
    for about, function in FUNCTIONS.items():
        for name, work, beside, target in [
            ("a directional derivative", pushed, {"plain": plain}, JVP),
            ("a gradient", pulled, {"plain": plain}, GRADIENT),
            ("a Hessian-vector product", second, {"gradient": pulled}, HVP),
        ]:
            entrants = {k: partial(work, function, m) for k, m in modules.items()}
            yardsticks = {
                k: partial(make, function, modules["wengert"])
                for k, make in beside.items()
                if "wengert" in modules
            }
            yield Case(COSTS, f"{name}: {about}", entrants, (target,), yardsticks)


def cases(modules):
    yield from matrix_cases(modules)
    yield from batch_cases(modules)
    yield from cost_cases(modules)


def run(peers, quick: bool, only) -> Report:
    """Check that the peers agree, then time them."""
    modules, missing = load(peers)
    report = Report("transforms", list(modules), missing, quick, LEGEND)
    run_cases([case for case in cases(modules) if chosen(case.section, case.name, only)], report)
    return report
