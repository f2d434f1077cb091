"""Wrong calls made of right ones: each argument in turn replaced by what it is not.

The calls are the samples of PyTorch's own table of operators; see `op_db.py`. What PyTorch refuses
is refused here by the same kind of error, and never by one that comes from inside.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")

from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

import wengert as wg  # noqa: E402
from tests.parity.op_checks import replaced, representable  # noqa: E402
from tests.parity.op_db import (  # noqa: E402
    INTERNAL,
    among,
    our_function,
    samples,
    tensors,
    their_function,
    translated,
)
from wengert.pytorch import overrides  # noqa: E402

SHARE = 97
"""Of the calls that PyTorch refuses, and wengert does, so many in a hundred by the same kind."""
TAKEN = 1
"""Of those that PyTorch refuses, at most so many in a hundred are taken here: None where a default
stands for it, truth values in the operator -, as in NumPy, complex numbers in erf and its like."""
INSIDE = (AttributeError, KeyError, AssertionError, UnboundLocalError, ZeroDivisionError)

Call = tuple[Any, tuple[Any, ...], dict[str, Any]]


def wrong(call: Call) -> Iterator[tuple[str, Call]]:
    """What is changed, and the call."""
    x, args, kwargs = call
    given = dict(enumerate((x, *args))) | kwargs
    for name, value in given.items():
        for other in instead(value):
            changed = {**given, name: other}
            first, *rest = (changed.pop(i) for i in range(1 + len(args)))
            yield f"{name} {other!r}"[:60], (first, tuple(rest), changed)
    for n in range(len(args)):
        yield f"only {n + 1} by position", (x, args[:n], kwargs)
    yield "a keyword", (x, args, {**kwargs, "colour": 1})
    yield "too many", (x, (*args, *[3] * 9), kwargs)


def instead(value: Any) -> list[Any]:
    """What an argument is not: of another kind, of another dtype, out of range.

    Other shapes, and indices out of range, are left out: PyTorch reads past the end of some.
    """
    if isinstance(value, torch.Tensor):
        plain = value.detach()
        others = [torch.int64, torch.bool, torch.complex128] if plain.is_floating_point() else []
        return ["a word", None, *map(plain.to, others)]
    if isinstance(value, bool):
        return ["a word", 1]
    if isinstance(value, str):
        return []
    if isinstance(value, int):
        return ["a word", 99, -99, 1.5, 0, None]
    if isinstance(value, float):
        return ["a word", None, torch.tensor(value, requires_grad=True)]
    if isinstance(value, (tuple, list)):
        return ["a word", None]
    return []


def copied(t: Any) -> Any:
    copy = t.detach().clone()
    return copy.requires_grad_() if t.requires_grad and not t.ndim else copy


def outcome(function: Any, call: Call) -> Exception | None:
    x, args, kwargs = call
    try:
        function(x, *args, **kwargs)
    except Exception as error:
        return error
    return None


@pytest.fixture(autouse=True)
def _functions_with_their_own_code():
    """Some samples are of classes derived from Tensor."""
    yield
    overrides.restore()


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore")
def test_wrong_calls_are_refused_by_the_same_kind_of_error():
    same, taken, others, inside = 0, [], [], []
    for op in op_db:
        dtype = next((d for d in (torch.float64, torch.bool) if d in op.supported_dtypes("cpu")), 0)
        theirs, ours = their_function(op), our_function(op)
        if among(op, INTERNAL) or not dtype or ours is None:
            continue
        for chosen in samples(op, dtype, 1):
            right: Call = (chosen.input, tuple(chosen.args), dict(chosen.kwargs))
            if not all(map(representable, tensors(list(right)))):
                continue
            for what, call in wrong(right):
                copies = replaced(list(call), copied)
                expected, found = outcome(theirs, copies), outcome(ours, translated(list(call)))
                if expected is None or isinstance(expected, INSIDE):
                    continue
                if "descriptor" in str(expected):  # a method of tensors, of something else
                    continue
                if found is None:
                    taken.append(f"{op.formatted_name}, {what}")
                    continue
                alike = isinstance(found, type(expected))
                same += alike
                line = f"{op.formatted_name}, {what}: {found!r} here, {expected!r} there"
                if not alike and isinstance(found, INSIDE):
                    inside.append(line)
                elif not alike:
                    others.append(line)
    assert not inside, "\n".join(inside)
    assert 100 * same >= SHARE * (same + len(others)), "\n".join([f"{same} alike", *others])
    assert 100 * len(taken) <= TAKEN * (same + len(others) + len(taken)), "\n".join(taken)


REFUSED = 1
"""Of the numbers that PyTorch takes as tensors, at most so many in a hundred are refused here."""


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore")
def test_a_tensor_of_one_number_stands_for_that_number():
    # A size or a dimension that was computed had to be made a number first, in half of the calls.
    taken, refused = 0, []
    for op in op_db:
        theirs, ours = their_function(op), our_function(op)
        if torch.float64 not in op.supported_dtypes("cpu") or among(op, INTERNAL) or ours is None:
            continue
        for chosen in samples(op, torch.float64, 2):
            right: Call = (chosen.input, tuple(chosen.args), dict(chosen.kwargs))
            if not all(map(representable, tensors(list(right)))):
                continue
            for what, call in with_tensors(right):
                if outcome(ours, translated(list(right))) or outcome(theirs, call):
                    continue
                taken += 1
                if error := outcome(ours, translated(list(call))):
                    refused.append(f"{op.formatted_name}, {what}: {error!r}")
    assert 100 * len(refused) <= REFUSED * taken, "\n".join(refused)


def with_tensors(call: Call) -> Iterator[tuple[str, Call]]:
    """Each number in turn as a tensor."""
    x, args, kwargs = call
    for i, value in enumerate(args):
        if type(value) in (int, float):
            given = (*args[:i], torch.tensor(value), *args[i + 1 :])
            yield f"{i + 1}", (x, given, kwargs)
    for name, value in kwargs.items():
        if type(value) in (int, float):
            yield name, (x, args, {**kwargs, name: torch.tensor(value)})


@pytest.mark.parametrize("t", [torch, wg], ids=["torch", "wengert"])
def test_a_setting_that_requires_grad_is_an_error(t: Any) -> None:
    # What was learned of a threshold, a margin or a factor was silently lost.
    x, factor = t.ones(3), t.tensor(1.0, requires_grad=True)
    f = t.nn.functional
    for call in (
        lambda: t.add(x, x, alpha=factor),
        lambda: x.clone().add_(x, alpha=factor),
        lambda: t.full((2,), factor),
        lambda: x.norm(factor),
        lambda: t.var_mean(x, correction=factor),
        lambda: f.huber_loss(x, x, delta=factor),
        lambda: f.margin_ranking_loss(x, x, x, margin=factor),
        lambda: f.pad(x, (1, 1), value=factor),
        lambda: t.arange(factor, 5.0),
    ):
        with pytest.raises(TypeError):
            call()
    assert f.gumbel_softmax(x, tau=factor).requires_grad
    assert f.local_response_norm(t.ones(1, 3, 2), 2, alpha=factor).requires_grad


def shapes_that_do_not_fit(t: Any) -> list[Any]:
    x, f = t.ones(2, 3), t.nn.functional
    return [
        lambda: f.cosine_embedding_loss(x, x, t.ones(2, 3)),
        lambda: f.cosine_embedding_loss(x, x, t.tensor(1.0)),
        lambda: f.triplet_margin_loss(x, x, t.tensor(1.0)),
        lambda: t.roll(x, (1, 2)),
        lambda: t.nn.PReLU(device="gpu"),
        lambda: f.pad(x, [1.0, 2.0]),
        lambda: t.arange(3, out=3),
        lambda: f.unfold(t.ones(1, 1, 2, 3), (3, 2)),
        lambda: t.utils.data.default_collate([x, 3]),
    ]


@pytest.mark.parametrize("place", range(9))
def test_what_does_not_fit_is_refused(place: int) -> None:
    # They gave results: of other shapes broadcast, of all shifts but the first left out.
    for t in (torch, wg):
        with pytest.raises((RuntimeError, TypeError)):
            shapes_that_do_not_fit(t)[place]()


def test_arrays_stand_for_tensors_wherever_they_are() -> None:
    # Beside a tensor they were an AttributeError from inside.
    f, x = wg.nn.functional, wg.ones(3)
    assert f.mse_loss(x, np.zeros(3, np.float32)) == 1
    assert f.l1_loss(x, np.zeros(3, np.float32)) == 1
    assert f.cosine_embedding_loss(x, x, np.array(1)) == 0


def test_an_object_for_a_tensor_is_a_type_error() -> None:
    # Of strings and lists it was said; of a layer, say, that it has no ndim.
    with pytest.raises(TypeError, match="must be a Tensor, not ReLU"):
        wg.nn.functional.cosine_embedding_loss(wg.ones(3), wg.ones(3), wg.nn.ReLU())
