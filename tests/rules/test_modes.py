"""The table of rules through dual tensors: every rule, in every mix of modes, to third order.

A derivative in given directions is one number, whichever modes computed it: reverse mode three
times, which `test_table.py` checks against difference quotients, or forward mode over reverse mode
over forward mode. At points without a derivative both modes follow one convention.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.rules import test_boundaries as boundaries
from tests.rules.calls import (
    Call,
    allowed,
    arrays_of,
    bent,
    completed,
    like,
    number,
    places,
    pushed,
    recorded,
    scalar,
)
from tests.rules.test_table import CASES, every_sample, own_rules, some_samples
from wengert.autograd import pushing
from wengert.autograd.record import recorder
from wengert.rules import RULES, Rule
from wengert.rules.rule import push
from wengert.tensor import Tensor, wrap

Function = Callable[[list[Any]], Any]


def forward(f: Function, directions: list[np.ndarray]) -> Function:
    """The derivative of a scalar function in these directions, by forward mode."""
    return lambda xs: wg.jvp(f, (xs,), ([wrap(u) for u in directions],))[1]


def reverse(f: Function, directions: list[np.ndarray]) -> Function:
    """What `forward` gives, by reverse mode."""
    return lambda xs: scalar(directions, wg.grad(f)(xs))


MODES = {"F": forward, "R": reverse}


def derivative(mix: str, f: Function, arrays: list[np.ndarray], directions: Any) -> np.ndarray:
    """The derivative in several directions, the first letter of the mix being the innermost."""
    for letter, us in zip(mix, directions, strict=True):
        f = MODES[letter](f, us)
    return number(f([wrap(x) for x in arrays]))


def bent_sum(rule: Rule, call: Call, random: np.random.Generator) -> Function:
    """Re <w, bent(f(x))>, as in the test of the higher orders."""
    weights: list[np.ndarray] = []

    def f(xs: list[Any]) -> Any:
        ys = recorded(rule, call, xs)
        if not weights:
            weights.extend(like(y._array, random) for y in ys)
        return scalar(weights, [bent(y) for y in ys])

    return f


@some_samples
def test_all_mixes_of_modes_agree(rule: Rule, call: Call) -> None:
    random = np.random.default_rng(7)
    arrays = arrays_of(rule, call)
    if not arrays:
        return  # nothing to differentiate by
    f = bent_sum(rule, call, random)
    directions = [[allowed(rule, like(x, random)) for x in arrays] for _ in range(3)]
    expected = derivative("RRR", f, arrays, directions)
    room = 1e-8 * max(1.0, abs(expected))
    for mix in ("FFF", "FRF", "RFR"):
        found = derivative(mix, f, arrays, directions)
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=room, err_msg=mix)


@every_sample
def test_dual_tensors_carry_what_the_rule_pushes(rule: Rule, call: Call) -> None:
    random = np.random.default_rng(7)
    for k, place in enumerate(places(rule, call)):
        arrays = arrays_of(rule, call)
        t = allowed(rule, like(arrays[k], random))
        with wg.autograd.forward_ad.dual_level():
            xs: list[Any] = [wrap(x) for x in arrays]
            xs[k] = wg.autograd.forward_ad.make_dual(xs[k], wrap(t))
            found = [
                wg.autograd.forward_ad.unpack_dual(y).tangent for y in recorded(rule, call, xs)
            ]
        for x, y in zip(found, pushed(rule, call, place, t), strict=True):
            assert isinstance(x, Tensor)
            np.testing.assert_allclose(x._array, np.broadcast_to(y, x.shape), rtol=1e-14)


# ---- many numbers --------------------------------------------------------------------------

CUT = [r for f, r in RULES.items() if isinstance(f, np.ufunc) and r.family == "elementwise"]


@pytest.mark.parametrize("rule", CUT, ids=str)
def test_tangents_of_many_numbers_are_those_of_few(rule: Rule) -> None:
    random = np.random.default_rng(0)
    n = pushing.LARGE + 5
    operands = [0.1 + 0.8 * random.random(n) for _ in rule.arguments]
    directions = [random.standard_normal(n) for _ in rule.arguments]

    def pushed(part: slice) -> Any:
        f = recorder(rule.function)
        xs = tuple(wrap(x[part]) for x in operands)
        return wg.jvp(lambda *xs: f(*xs), xs, tuple(wrap(t[part]) for t in directions))[1].numpy()

    with np.errstate(all="ignore"):
        if recorder(rule.function)(*map(wrap, operands)).dtype.kind != "f":
            pytest.skip("its result has no tangent")
        few = [pushed(slice(0, n // 2)), pushed(slice(n // 2, n))]
        np.testing.assert_allclose(pushed(slice(n)), np.concatenate(few), rtol=1e-12, atol=1e-13)


def test_only_formulas_of_several_steps_are_made_into_machine_code() -> None:
    with_code = {
        rule.function
        for rule in CUT
        if pushing._formula(rule, (True,) * len(rule.reverse))[0] is not None
    }
    assert {np.multiply, np.divide, np.tanh, np.sin} <= with_code
    assert not {np.add, np.negative, np.exp, np.log} & with_code


# ---- points without a derivative -----------------------------------------------------------


def _ids(value: Any) -> str:
    return getattr(value, "__name__", str(value))


@pytest.mark.parametrize(("function", "x", "slope"), boundaries.POINTS, ids=_ids)
def test_forward_mode_has_the_convention_of_reverse_mode(function: Any, x: Any, slope: Any) -> None:
    rule = RULES[function]
    settings = boundaries.SETTINGS.get(function, {})
    call = completed(rule, {rule.arguments[0]: np.asarray(x), **settings})
    with np.errstate(all="ignore"):
        y = rule.apply(call)
        found = push(rule, rule.arguments[0], np.ones_like(np.asarray(x)), call, y)
    np.testing.assert_allclose(found, np.broadcast_to(slope, np.shape(x)), rtol=1e-12)


@pytest.mark.parametrize(("function", "a", "b", "da", "db"), boundaries.PAIRS, ids=_ids)
def test_forward_mode_has_the_convention_for_two_arguments(
    function: Any, a: float, b: float, da: float, db: float
) -> None:
    for k, slope in enumerate((da, db)):
        given = [np.asarray(a), np.asarray(b)]
        with np.errstate(all="ignore"):
            _, t = wg.jvp(
                lambda x: function(*[x if i == k else g for i, g in enumerate(given)]),  # noqa: B023
                (given[k],),
                (np.asarray(1.0),),
            )
        np.testing.assert_allclose(t, slope, rtol=1e-12)


@pytest.mark.parametrize(("function", "x", "gradient"), boundaries.VECTORS, ids=_ids)
def test_forward_mode_has_the_convention_for_reductions(
    function: Any, x: list[float], gradient: list[float]
) -> None:
    rule = RULES[function]

    def reduced(x: Any) -> Any:
        settings = {"axis": 0} if "axis" in rule.arguments else {}
        return rule.apply(completed(rule, {rule.arguments[0]: x, **settings}))

    with np.errstate(all="ignore"):
        found = [wg.jvp(reduced, (np.array(x),), (row,))[1] for row in np.eye(len(x))]
    np.testing.assert_allclose(found, gradient, rtol=1e-12)


def test_every_rule_is_walked() -> None:
    assert {case.values[0].function for case in CASES} == own_rules()
