"""Wrong calls of what programs are built of: modules, losses, optimizers, schedules, first values.

PyTorch's own table of modules says how each is made and called; optimizers, schedules and
initializers have their signatures. Each argument in turn is replaced by what it is not. What
PyTorch refuses is refused here by the same kind of error, and never by one from inside.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")

from torch.testing._internal.common_modules import module_db  # noqa: E402

import wengert as wg  # noqa: E402
from tests.parity.op_checks import replaced, representable  # noqa: E402
from tests.parity.op_db import tensors, translated  # noqa: E402
from tests.parity.test_wrong_calls import INSIDE  # noqa: E402

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
Outcome = Exception | None


class Found(NamedTuple):
    """What was changed in a call, and the errors there and here."""

    what: str
    there: Outcome
    here: Outcome


def instead(value: Any) -> list[Any]:
    """What an argument is not, of either library."""
    if isinstance(value, (torch.Tensor, wg.Tensor)):
        if value.is_sparse:
            return ["a word", None, 3]
        library = torch if isinstance(value, torch.Tensor) else wg
        kinds = library.int64, library.bool, library.complex64
        others = kinds if value.is_floating_point() else ()
        shapes = [value[None], value.reshape(-1), value.new_zeros((0,))]
        return ["a word", None, 3, *map(value.to, others), *shapes]
    if isinstance(value, bool):
        return ["a word", None, 2]
    if isinstance(value, str):
        return ["a word", 3]
    if isinstance(value, int):
        return ["a word", None, -1, 0, 1.5, (1, 2), 37]
    if isinstance(value, float):
        return ["a word", None, -1.0, float("nan"), [1.0]]
    if isinstance(value, (tuple, list)):
        return ["a word", None, (), 1, (*value, *value)]
    return ["a word", 3, -1.0]


def wrong(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[str, Arguments]]:
    given = dict(enumerate(args)) | kwargs
    for name, value in given.items():
        for other in instead(value):
            changed = {**given, name: other}
            placed = tuple(changed.pop(i) for i in range(len(args)))
            yield f"{name} = {other!r}"[:60], (placed, changed)
    for n in range(len(args)):
        yield f"only {n}", (args[:n], kwargs)
    yield "a keyword", (args, {**kwargs, "colour": 1})
    yield "too many", ((*args, *[3] * 9), kwargs)


def outcome(call: Callable[..., Any], *args: Any, **named: Any) -> Outcome:
    try:
        call(*args, **named)
    except Exception as error:
        return error
    return None


def defaults(function: Any, skipped: int) -> dict[str, Any]:
    named = list(inspect.signature(function).parameters.values())[skipped:]
    out = {p.name: p.default for p in named if not callable(p.default)}  # a class stands for none
    return {n: v for n, v in out.items() if n not in ("device", "dtype", "generator")}


def of_modules() -> Iterator[Found]:
    """Each made with wrong arguments, and called with them."""
    for info in module_db:
        theirs, name = info.module_cls, info.module_cls.__name__
        ours = getattr(wg.nn, name, None)
        if ours is None:
            continue
        settings = {"device": "cpu", "dtype": torch.float32, "requires_grad": False}
        first, *_ = info.module_inputs_func(info, **settings, training=True)
        made, called = first.constructor_input, first.forward_input
        if any(isinstance(x, torch.nn.Module) for x in made.args) or called is None:
            continue
        at = called.args, called.kwargs
        more = {**defaults(theirs.__init__, 1 + len(made.args)), **made.kwargs}
        for what, given in wrong(made.args, more):
            if not any(type(v) is int and v == 37 for v in given[0]):  # too large in 3 dimensions
                yield Found(f"{name} of {what}", *both(theirs, ours, given, at))
        for what, given in wrong(*at):
            if all(map(representable, tensors(list(given)))):
                yield Found(
                    f"{name} at {what}", *both(theirs, ours, (made.args, made.kwargs), given)
                )


def both(theirs: Any, ours: Any, made: Arguments, at: Arguments) -> tuple[Outcome, Outcome]:
    def run(kind: Any, made: Any, at: Any) -> None:
        kind(*made[0], **made[1])(*at[0], **at[1])

    return outcome(run, theirs, made, at), outcome(
        run, ours, translated(list(made)), translated(list(at))
    )


def of_optimizers() -> Iterator[Found]:
    """Made with wrong settings, and a step."""

    def run(library: Any, name: str, given: Any) -> None:
        p = library.nn.Parameter(library.ones(2, 2))
        p.grad = library.ones(2, 2)
        getattr(library.optim, name)([p], **given).step(lambda: (p * p).sum())

    for name in torch.optim.__all__:
        kind = getattr(torch.optim, name, None)
        if not inspect.isclass(kind) or name in ("Optimizer", "SparseAdam"):  # dense here
            continue
        for what, (_, given) in wrong((), {**defaults(kind.__init__, 2), "lr": 0.1}):
            yield Found(
                f"{name}, {what}", outcome(run, torch, name, given), outcome(run, wg, name, given)
            )


SCHEDULES: dict[str, tuple[Any, ...]] = {
    "StepLR": (3,), "MultiStepLR": ([1, 2],), "ConstantLR": (), "LinearLR": (),
    "ExponentialLR": (0.9,), "PolynomialLR": (), "CosineAnnealingLR": (5,), "CyclicLR": (0.1, 0.2),
    "OneCycleLR": (0.1, 10), "CosineAnnealingWarmRestarts": (5,), "LambdaLR": (lambda e: 0.9,),
}  # fmt: skip


def of_schedules() -> Iterator[Found]:
    """Made with wrong settings, and a step; and made of what is no optimizer."""

    def run(library: Any, name: str, placed: Any, named: Any, steps: Any = None) -> None:
        p = library.nn.Parameter(library.ones(2))
        steps = steps or library.optim.SGD([p], lr=0.1, momentum=0.9)
        schedule = getattr(library.optim.lr_scheduler, name)(steps, *placed, **named)
        steps.step()
        schedule.step()

    for name, args in SCHEDULES.items():
        kind = getattr(torch.optim.lr_scheduler, name)
        for what, given in wrong(args, defaults(kind.__init__, 2 + len(args))):
            here, there = (outcome(run, library, name, *given) for library in (wg, torch))
            yield Found(f"{name}, {what}", there, here)
        here, there = (outcome(run, library, name, args, {}, "a word") for library in (wg, torch))
        yield Found(f"{name}, no optimizer", there, here)


def of_first_values() -> Iterator[Found]:
    for name in dir(torch.nn.init):
        theirs, ours = getattr(torch.nn.init, name), getattr(wg.nn.init, name, None)
        if not name.endswith("_") or name.startswith("_") or ours is None:
            continue
        extra = (0.1,) if name in ("constant_", "sparse_") else ()
        shape = (3, 3, 3) if name == "dirac_" else (4, 4)
        for what, (args, named) in wrong((torch.ones(shape), *extra), defaults(theirs, 1)):
            if all(map(representable, tensors(list(args)))):
                here = outcome(ours, *translated(list(args)), **named)
                there = outcome(theirs, *replaced(list(args), torch.clone), **named)
                yield Found(f"{name}, {what}", there, here)


GROUPS: dict[str, Callable[[], Iterator[Found]]] = {
    "modules": of_modules, "optimizers": of_optimizers, "schedules": of_schedules,
    "first values": of_first_values,
}  # fmt: skip
SHARE = 95
"""Of the calls that PyTorch refuses, so many in a hundred are refused by the same kind of error.
Others are mostly a ValueError for a TypeError, or the other way round, for a word."""
TAKEN = 1.5
"""At most so many in a hundred are taken: numbers for tensors that are one operand of several."""


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("group", GROUPS)
def test_wrong_layers_and_optimizers_are_refused_by_the_same_kind_of_error(group: str) -> None:
    # Masks of attention that are words were AttributeErrors, and what draws took integers.
    judge(GROUPS[group](), SHARE, TAKEN)


def judge(calls: Iterator[Found], share: float, most: float) -> None:
    """Of calls that PyTorch refuses none shows an error from inside, `share` in a hundred the same
    kind of error, and at most so many in a hundred are taken.
    """
    same, inside, taken, others = 0, [], [], []
    for found in calls:
        if found.there is None or isinstance(found.there, INSIDE):
            continue
        alike = isinstance(found.here, type(found.there))
        same += alike
        if not alike:
            kind = (
                taken
                if found.here is None
                else inside
                if isinstance(found.here, INSIDE)
                else others
            )
            kind.append(f"{found.what}: {found.here!r} here, {found.there!r} there"[:300])
    count = same + len(inside) + len(taken) + len(others)
    assert count > 100
    assert not inside, "\n".join(inside)
    assert 100 * len(taken) <= most * count, "\n".join([f"{count}", *taken])
    assert 100 * same >= share * count, "\n".join([f"{same} of {count}", *others])
