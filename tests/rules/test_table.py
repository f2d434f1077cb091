"""The table of rules, tested as a table: every rule, by every sample, in every reading.

A difference quotient anchors the forward direction; adjointness carries it to the reverse one; the
compiled recorder must agree with the literal reading; running rules on Tensors gives the higher
orders, which difference quotients check again; and a last test says that nothing is missing.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest

from tests.rules.calls import (
    Call,
    allowed,
    arrays_of,
    completed,
    derivatives,
    difference_quotient,
    gradients,
    inner,
    leaf,
    like,
    listed,
    number,
    outputs,
    places,
    pulled,
    pushed,
    recorded,
    with_arrays,
)
from tests.rules.each import each_sample
from tests.rules.samples import SAMPLES
from wengert.autograd.record import recorder
from wengert.errors import FreedGraphError
from wengert.history.node import source
from wengert.rules import RULES, Rule
from wengert.rules.indexing import overwritten, refilled
from wengert.rules.rule import parameters
from wengert.rules.shapes import as_strided
from wengert.tensor import Tensor, View, wrap


def own_rules() -> set[Any]:
    """The functions of the table of rules. Leaves of the package add theirs if they were imported,
    which tests/test_scipy.py and tests/distributed check.
    """
    home = lambda f: getattr(f, "__module__", None) or ""
    return {f for f in RULES if not home(f).startswith(("wengert.scipy", "wengert.distributed"))}


def test_every_rule_has_a_sample() -> None:
    assert set(SAMPLES) == own_rules()


def _named(rule: Rule) -> str:
    return f"{rule.function.__module__.rpartition('.')[2]}.{rule.function.__name__}"


CASES = [
    pytest.param(
        RULES[function], completed(RULES[function], call), id=f"{_named(RULES[function])}-{k}"
    )
    for function, calls in SAMPLES.items()
    if function in RULES
    for k, call in enumerate(calls)
]
FIRST = [case for case in CASES if str(case.id).endswith("-0")]
every_sample = each_sample(CASES)
some_samples = each_sample(CASES, one_in=3)
"""For tests of what takes long: the full run tries all."""
every_rule = pytest.mark.parametrize(("rule", "call"), FIRST)


def seeded() -> np.random.Generator:
    return np.random.default_rng(7)


def assert_close(found: list[Any], expected: list[Any], tolerance: float) -> None:
    """Equal up to `tolerance`, relative to the largest of the numbers compared."""
    for k, (x, y) in enumerate(zip(found, expected, strict=True)):
        scale = np.max(np.abs(y), initial=1.0)
        np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * scale, err_msg=f"number {k}")


# ---- the two directions --------------------------------------------------------------------


@every_sample
def test_pushed_tangent_is_the_difference_quotient(rule: Rule, call: Call) -> None:
    random = seeded()
    for place in places(rule, call):
        x = place.of(call)
        # A complex array is perturbed along 1 and along i.
        for unit in (1, 1j) if x.dtype.kind == "c" else (1,):
            t = allowed(rule, (unit * random.uniform(-1, 1, x.shape)).astype(x.dtype))
            quotient = difference_quotient(
                lambda h: outputs(rule, place.replaced(call, np.asarray(x + h * t)))  # noqa: B023  (called at once)
            )
            tangents = pushed(rule, call, place, t)
            assert_close(tangents, quotient, 1e-7)
            assert [t.dtype for t in tangents] == [y.dtype for y in outputs(rule, call)]


@every_sample
def test_pull_is_the_transpose_of_push(rule: Rule, call: Call) -> None:
    random = seeded()
    gs = [like(y, random) for y in outputs(rule, call)]
    for place, cotangent in zip(places(rule, call), pulled(rule, call, gs), strict=True):
        x = place.of(call)
        t = allowed(rule, like(x, random))
        assert cotangent.shape == x.shape
        assert cotangent.dtype == x.dtype
        assert inner(gs, pushed(rule, call, place, t)) == pytest.approx(
            inner([cotangent], [t]), rel=1e-11, abs=1e-11
        )


# ---- the compiled reading ------------------------------------------------------------------


@every_sample
def test_recorder_agrees_with_the_literal_reading(rule: Rule, call: Call) -> None:
    random = seeded()
    arrays, expected = arrays_of(rule, call), outputs(rule, call)
    gs = [like(y, random) for y in expected]
    cotangents = pulled(rule, call, gs)
    for create_graph in (False, True):
        xs = [leaf(x) for x in arrays]
        ys = recorded(rule, call, xs)
        for y, array in zip(ys, expected, strict=True):
            # Powers by products round otherwise.
            np.testing.assert_allclose(y._array, array, rtol=1e-15, atol=1e-15, strict=True)
        found = gradients(ys, xs, [wrap(g) for g in gs], create_graph=create_graph)
        assert_close([x._array for x in found], cotangents, 1e-14)
        assert [x.dtype for x in found] == [x.dtype for x in arrays]


@every_sample
def test_each_argument_can_be_the_only_one_tracked(rule: Rule, call: Call) -> None:
    random = seeded()
    arrays = arrays_of(rule, call)
    gs = [like(y, random) for y in outputs(rule, call)]
    for k, cotangent in enumerate(pulled(rule, call, gs)):
        xs = [leaf(x) if i == k else x for i, x in enumerate(arrays)]
        (found,) = gradients(recorded(rule, call, xs), [xs[k]], [wrap(g) for g in gs])
        assert_close([found._array], [cotangent], 1e-14)


@every_rule
def test_numpy_dispatches_to_the_recorder(rule: Rule, call: Call) -> None:
    xs = [leaf(x) for x in arrays_of(rule, call)]
    ys = listed(rule.apply(with_arrays(rule, call, xs)))
    assert all(isinstance(y, Tensor) for y in ys)
    assert {y.grad_fn.rule for y in ys} == {rule}


# ---- derivatives of every order ------------------------------------------------------------


@some_samples
def test_rules_run_on_tensors_give_the_higher_derivatives(rule: Rule, call: Call) -> None:
    """The derivatives of order 1, 2 and 3 are slopes of those of order 0, 1 and 2."""
    random = seeded()
    arrays = arrays_of(rule, call)
    ts = [allowed(rule, like(x, random)) for x in arrays]

    def lower(h: float) -> list[np.ndarray]:
        moved = [np.asarray(x + h * t) for x, t in zip(arrays, ts, strict=True)]
        return [number(value) for value in derivatives(3, rule, call, moved, seed=1)[0]]

    values, leaves = derivatives(3, rule, call, arrays, seed=1)
    found = [np.asarray(inner(slopes_of(value, leaves), ts)) for value in values]
    # Third derivatives near poles are large, and so is the quotient's own error.
    assert_close(found, difference_quotient(lower, 2**-7), 1e-6)


def slopes_of(value: Any, leaves: list[Tensor]) -> list[np.ndarray]:
    if isinstance(value, Tensor) and value.requires_grad:
        return [number(g) for g in gradients([value], leaves, None, retain_graph=True)]
    return [np.zeros(x.shape) for x in leaves]


# ---- dtypes and layouts --------------------------------------------------------------------


def _single(value: Any) -> Any:
    if isinstance(value, list):
        return [_single(item) for item in value]
    if isinstance(value, np.ndarray) and value.dtype.kind in "fc":
        return value.astype(np.float32 if value.dtype.kind == "f" else np.complex64)
    if isinstance(value, np.dtype):
        return np.dtype("float32" if value.kind == "f" else "complex64")
    return value


@every_sample
def test_single_precision_stays_single(rule: Rule, call: Call) -> None:
    random = seeded()
    call = {name: _single(value) for name, value in call.items()}
    arrays = arrays_of(rule, call)
    ys = outputs(rule, call)
    assert all(y.dtype in (np.float32, np.complex64) for y in ys)
    gs = [like(y, random) for y in ys]
    assert [g.dtype for g in pulled(rule, call, gs)] == [x.dtype for x in arrays]
    for place in places(rule, call):
        tangents = pushed(rule, call, place, like(place.of(call), random))
        assert [t.dtype for t in tangents] == [y.dtype for y in ys]
    for create_graph in (False, True):
        xs = [leaf(x) for x in arrays]
        found = gradients(
            recorded(rule, call, xs), xs, [wrap(g) for g in gs], create_graph=create_graph
        )
        assert [g.dtype for g in found] == [x.dtype for x in arrays]


@every_sample
def test_numpy_scalars_stand_for_0d_cotangents(rule: Rule, call: Call) -> None:
    random = seeded()
    # Arithmetic turns 0-d arrays into scalars, so they travel between nodes.
    gs = [like(y, random) for y in outputs(rule, call)]
    found = pulled(rule, call, [g[()] for g in gs])
    assert_close(found, pulled(rule, call, gs), 1e-14)


def _strided(x: np.ndarray) -> np.ndarray:
    """Numbers with gaps between them, the last dimension outermost."""
    wide = np.zeros((*x.T.shape, 2), x.dtype)
    wide[..., 1] = x.T
    return wide[..., 1].T


# This one is about strides: they are among its arguments.
_not_about_strides = [case for case in FIRST if case.values[0].function is not as_strided]


@each_sample(_not_about_strides)
def test_strides_do_not_matter(rule: Rule, call: Call) -> None:
    random = seeded()
    strided = with_arrays(rule, call, [_strided(x) for x in arrays_of(rule, call)])
    ys = outputs(rule, call)
    gs = [like(y, random) for y in ys]
    assert_close(outputs(rule, strided), ys, 1e-14)
    assert_close(pulled(rule, strided, [_strided(g) for g in gs]), pulled(rule, call, gs), 1e-13)


# What an in-place operation writes is copied at once, so it need not be.
_kept_results = [case for case in CASES if case.values[0].function not in (overwritten, refilled)]


@each_sample(_kept_results)
def test_results_that_share_memory_are_known_as_views(rule: Rule, call: Call) -> None:
    xs = [wrap(np.array(x)) for x in arrays_of(rule, call)]
    for y in recorded(rule, call, xs):
        shared = [x for x in xs if np.shares_memory(x._array, y._array)]
        for x in shared:
            assert isinstance(y._origin, View)
            assert y._origin.base is x


# ---- saved values --------------------------------------------------------------------------


def _kept_names(rule: Rule) -> set[str]:
    """The names of the arrays that some derivative of the rule asks for."""
    arrays = {*rule.reverse, "y"}
    return {p for n in rule.reverse for p in parameters(rule.reverse[n]) if p in arrays}


@every_rule
def test_a_node_keeps_exactly_what_its_rule_names(rule: Rule, call: Call) -> None:
    xs = [leaf(np.array(x)) for x in arrays_of(rule, call)]
    where = places(rule, call)
    y = recorded(rule, call, xs)[0]
    node, _ = source(y._node)
    assert node is not None
    array = weakref.ref(y._array)
    alive = {place: weakref.ref(x) for place, x in zip(where, xs, strict=True)}
    del xs, y  # reference counts alone must free the rest
    kept = _kept_names(rule)
    for place, reference in alive.items():
        assert (reference() is not None) == (place.argument in kept), place
    if not rule.view:
        assert (array() is not None) == ("y" in kept)


@every_rule
def test_a_second_pass_needs_the_graph_only_if_something_was_saved(rule: Rule, call: Call) -> None:
    xs = [leaf(x) for x in arrays_of(rule, call)]
    ys = recorded(rule, call, xs)
    gs = [wrap(np.ones_like(y._array)) for y in ys]
    gradients(ys, xs, gs)
    if _kept_names(rule) or _names_data(rule):
        with pytest.raises(FreedGraphError):
            gradients(ys, xs, gs)
    else:
        gradients(ys, xs, gs)


def _names_data(rule: Rule) -> bool:
    """Whether a derivative asks for an array of indices or conditions."""
    return any(p in rule.constants for n in rule.reverse for p in parameters(rule.reverse[n]))


@every_rule
def test_recorder_is_compiled_once(rule: Rule, call: Call) -> None:
    assert recorder(rule.function) is recorder(rule.function)
