"""The train benchmark: whole steps of small networks, eager and compiled, and what is around them.

Optimizers are beside PyTorch's default implementations, which go through the parameters one by one.
A loader's time is that of an epoch, with shuffling, in the process of the caller.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks import cnn, gpt, lstm
from benchmarks.peers import load
from benchmarks.report import Report
from benchmarks.running import chosen, run_cases
from benchmarks.timing import Case, Target

PEERS = ("wengert", "PyTorch")
LEGEND = (
    "PyTorch is eager, the best of its optimizers' implementations and, where there is attention, "
    "of attention written out and its own (*: not its default)."
)
EAGER, COMPILED = "An eager training step", "A compiled training step"
OPTIMIZERS, LOADERS = "An optimizer step", "An epoch of a DataLoader"

STEPS: list[tuple[Callable[..., Case], float]] = [  # with the eager target
    (gpt.gpt_case, 1.3),
    *((partial(cnn.cnn_case, problem=p), 1.5) for p in (cnn.LENET, cnn.DIGITS)),
    *((partial(lstm.lstm_case, problem=p), 0.7) for p in (lstm.SERIES, lstm.FEATURES)),
]

# ---- optimizers ------------------------------------------------------------------------------

PARAMETERS, SHAPE = 100, (16, 16)
METHODS = {
    "SGD": ("SGD", {}),
    "SGD with momentum": ("SGD", {"momentum": 0.9}),
    "Adam": ("Adam", {}),
    "AdamW": ("AdamW", {}),
}


def optimizer_step(torch, method, settings):
    rng = np.random.default_rng(0)
    draw = lambda: torch.tensor(rng.standard_normal(SHAPE).astype(np.float32))
    parameters = [torch.nn.Parameter(draw()) for _ in range(PARAMETERS)]
    optimizer = getattr(torch.optim, method)(parameters, lr=1e-3, **settings)
    for parameter in parameters:
        parameter.grad = draw()

    def step():
        optimizer.step()
        return parameters[-1]

    return step


def optimizer_case(modules, section, targets, name) -> Case:
    method, settings = METHODS[name]
    step = partial(optimizer_step, method=method)
    entrants = {peer: partial(step, m, settings=settings) for peer, m in modules.items()}
    if torch := modules.get("PyTorch"):
        entrants["PyTorch fused"] = partial(step, torch, settings=settings | {"fused": True})
    return Case(section, f"{name}, {PARAMETERS} parameters of {SHAPE}", entrants, targets)


# ---- loaders ---------------------------------------------------------------------------------

ITEMS, ITEM = 512, (8, 8)


def tensors(torch, images, labels):
    return torch.utils.data.TensorDataset(torch.tensor(images), torch.tensor(labels))


def pairs(torch, images, labels):
    """A data set is anything with lengths and items: here a list."""
    return list(zip(map(torch.tensor, images), labels.tolist(), strict=True))


DATASETS = {"a TensorDataset": tensors, "a list of images and labels": pairs}


def epoch(torch, dataset):
    rng = np.random.default_rng(0)
    images = rng.standard_normal((ITEMS, *ITEM)).astype(np.float32)
    items = dataset(torch, images, rng.integers(10, size=ITEMS))
    loader = torch.utils.data.DataLoader(items, batch_size=32, shuffle=True)
    return lambda: sum(len(labels) for _, labels in loader)


def loader_case(modules, section, targets, name) -> Case:
    entrants = {peer: partial(epoch, m, DATASETS[name]) for peer, m in modules.items()}
    return Case(section, f"{name}, {ITEMS} items of {ITEM}, batch 32", entrants, targets)


# ---- all of them -----------------------------------------------------------------------------


def cases(modules) -> list[Case]:
    target = lambda at_most: (Target("PyTorch", at_most),)
    return [
        *(make(modules, EAGER, target(at_most), compiles=False) for make, at_most in STEPS),
        *(make(modules, COMPILED, target(1.0)) for make, _ in STEPS),
        *(optimizer_case(modules, OPTIMIZERS, target(0.3), method) for method in METHODS),
        *(loader_case(modules, LOADERS, target(1.0), dataset) for dataset in DATASETS),
    ]


def run(peers, quick: bool, only) -> Report:
    """Check that the peers compute the same numbers, and time them."""
    modules, missing = load(peers)
    report = Report("train", list(modules), missing, quick, LEGEND)
    run_cases([case for case in cases(modules) if chosen(case.section, case.name, only)], report)
    return report
