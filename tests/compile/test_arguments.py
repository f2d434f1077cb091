"""Containers among a compiled function's arguments: looked into, and changed as in eager mode."""

from __future__ import annotations

import dataclasses
import functools
from collections import OrderedDict, defaultdict, namedtuple
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import TracingError

Pair = namedtuple("Pair", ["first", "second"])


@dataclasses.dataclass
class State:
    weight: Any
    rate: float = 0.5
    power: int = 2
    name: str = "state"


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    weight: Any
    inner: Any = None


class Measured(State):
    """A dataclass that holds more than its fields."""

    @functools.cached_property
    def total(self) -> Any:
        return self.weight.sum()


def powers(state: Any, x: Any) -> Any:
    return (state.weight * x) ** state.power * state.rate


def weights(k: float) -> Any:
    return wg.tensor([1.0, 2.0, 3.0]) * k


# ---- looking in -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "used"),
    [
        (lambda w: State(w, rate=float(w[0])), powers),
        (lambda w: Frozen(w, Frozen(w + 1)), lambda s, x: s.weight * x + s.inner.weight),
        (lambda w: Pair(w, [w + 1]), lambda p, x: p.first * x + p.second[0]),
        (lambda w: OrderedDict(a=w, b=2.0), lambda d, x: d["a"] * x + d["b"]),
        (lambda w: {"s": (Frozen(w),)}, lambda d, x: d["s"][0].weight * x),
        (lambda w: SimpleNamespace(a=w, n=2), lambda s, x: (s.a * x) ** s.n),
        (lambda w: defaultdict(float, a=w), lambda d, x: d["a"] * x + d["none"]),
    ],
    ids=[
        "dataclass",
        "frozen, with slots, nested",
        "named tuple",
        "ordered dictionary",
        "nested",
        "namespace",
        "dictionary with a default",
    ],
)
def test_a_new_container_with_other_numbers_is_no_reason_to_compile_anew(
    made: Any, used: Any
) -> None:
    compiled = wg.compile(used)
    x = wg.tensor([3.0, 2.0, 1.0])
    for k in range(1, 5):
        assert compiled(made(weights(k)), x).tolist() == used(made(weights(k)), x).tolist()
    assert compiled.retraces == []


def test_a_field_that_is_no_number_of_the_computation_is_part_of_the_signature() -> None:
    compiled = wg.compile(powers)
    x = wg.ones(3)
    for power in (2, 3, 2, 3):
        state = State(weights(2), power=power)
        assert compiled(state, x).tolist() == powers(state, x).tolist()
    assert compiled.retraces == ["argument 2 was int 2, and is int 3"]
    compiled(State(weights(2), power=3, name="other"), x)
    assert compiled.retraces[1:] == ["argument 3 was str 'state', and is str 'other'"]


def test_classes_with_equal_fields_are_told_apart() -> None:
    compiled = wg.compile(lambda s: s.weight * (2 if type(s) is State else 3))
    assert compiled(State(weights(1))).tolist() == [2, 4, 6]
    assert compiled(Measured(weights(1))).tolist() == [3, 6, 9]


def test_what_an_object_holds_beside_its_fields_is_no_constant() -> None:
    compiled = wg.compile(lambda s: s.weight * s.factor)
    for k in (2.0, 3.0):
        state = State(weights(1))
        state.factor = k  # type: ignore[attr-defined]
        assert compiled(state).tolist() == [k, 2 * k, 3 * k]


def test_a_property_that_is_cached_in_the_function_is_computed_for_each_object() -> None:
    compiled = wg.compile(lambda s: s.weight * s.total)
    for k in (1, 2):
        state = Measured(weights(k))
        assert compiled(state).tolist() == (weights(k) * weights(k).sum()).tolist()
        assert "total" not in vars(state)


def test_gradients_of_the_first_and_second_order_arrive_at_the_fields() -> None:
    compiled = wg.compile(lambda s, x: (s.weight**3 * x).sum())
    for k in (1, 2):
        w = weights(k).requires_grad_()
        (g,) = wg.autograd.grad(compiled(State(w), wg.ones(3)), w, create_graph=True)
        assert g.tolist() == (3 * w**2).tolist()
        g.sum().backward()
        assert w.grad.tolist() == (6 * w).tolist()
    assert compiled.retraces == []


def test_writes_into_an_array_of_a_field_reach_the_callers() -> None:
    @wg.compile
    def descend(state: Any, g: Any) -> None:
        with wg.no_grad():
            state.weight -= state.rate * g

    for k in (1, 2):
        state = State(weights(k))
        weight = state.weight
        descend(state, wg.ones(3))
        assert state.weight is weight
        assert weight.tolist() == (weights(k) - 0.5).tolist()


def test_a_method_of_a_dataclass_serves_all_its_objects() -> None:
    @dataclasses.dataclass
    class Line:
        slope: Any

        @wg.compile
        def at(self, x: Any) -> Any:
            return self.slope * x

    for k in (1, 2, 3):
        assert Line(weights(k)).at(2.0).tolist() == (2 * weights(k)).tolist()
    assert Line.at.retraces == []


def test_an_object_that_contains_itself_is_taken_whole() -> None:
    @dataclasses.dataclass
    class Part:
        weight: Any
        owner: Any = None

    part = Part(weights(1))
    part.owner = part
    compiled = wg.compile(lambda p: p.weight * 2)
    assert compiled(part).tolist() == [2, 4, 6]
    part.weight = weights(2)
    assert compiled(part).tolist() == [4, 8, 12]


def test_arrays_of_numpy_in_a_dataclass_give_arrays() -> None:
    compiled = wg.compile(lambda s: np.sin(s.weight) * s.rate)
    for k in (1.0, 2.0):
        found = compiled(State(np.full(3, k)))
        assert type(found) is np.ndarray
        np.testing.assert_allclose(found, np.sin(np.full(3, k)) * 0.5)


# ---- changing them --------------------------------------------------------------------------


def change_list(items: Any, x: Any) -> Any:
    items.append(x * items[0])
    items[0] = items[0] + 1
    return x + 1


def change_dictionary(d: Any, x: Any) -> Any:
    d["new"] = d["w"] * x
    del d["old"]
    return d["new"].sum()


def change_dataclass(s: Any, x: Any) -> Any:
    s.weight = s.weight + x
    s.name = "changed"
    s.more = [x, "text"]
    del s.rate
    return s.weight.sum()


@pytest.mark.parametrize(
    ("change", "made"),
    [
        (change_list, lambda w: [w]),
        (change_dictionary, lambda w: {"w": w, "old": w}),
        (change_dictionary, lambda w: OrderedDict(w=w, old=1.0)),
        (change_dataclass, State),
        (change_dataclass, lambda w: SimpleNamespace(weight=w, rate=2.0, name="a")),
        (lambda d, x: d["sums"].append(x * 2), lambda w: defaultdict(list)),
        (lambda pair, x: change_list(pair.second, x), lambda w: Pair(w, [w, 2.0])),
        (lambda d, x: change_dataclass(d["s"], x), lambda w: {"s": State(w)}),
        (lambda items, x: items.reverse(), lambda w: [w, w + 1]),
        (lambda items, x: items.clear(), lambda w: [w, w + 1]),
    ],
    ids=[
        "list",
        "dictionary",
        "ordered",
        "dataclass",
        "namespace",
        "default",
        "in a tuple",
        "nested",
        "moved",
        "emptied",
    ],
)
def test_each_call_changes_the_callers_container_as_in_eager_mode(change: Any, made: Any) -> None:
    # Only the first call did, or none: the containers that the function got were its own.
    compiled = wg.compile(change)
    for k in range(1, 4):
        expected, found = made(weights(k)), made(weights(k))
        wanted = change(expected, wg.ones(3))
        got = compiled(found, wg.ones(3))
        assert plain(got) == plain(wanted)
        assert plain(found) == plain(expected)
    assert compiled.retraces == []


def plain(item: Any) -> Any:
    """Containers and tensors as something that compares by value."""
    if isinstance(item, wg.Tensor):
        return item.tolist()
    if dataclasses.is_dataclass(item) or isinstance(item, SimpleNamespace):
        return type(item), plain(vars(item))
    if isinstance(item, dict):
        return [(key, plain(part)) for key, part in item.items()]
    return [plain(part) for part in item] if isinstance(item, (list, tuple)) else item


def test_what_is_put_into_a_container_has_its_history() -> None:
    def put(state: Any, x: Any) -> Any:
        state.weight = state.weight * x
        return state.weight.sum()

    compiled = wg.compile(put)
    for k in (1, 2):
        w = weights(k).requires_grad_()
        state = State(w)
        total = compiled(state, wg.tensor([2.0, 3.0, 4.0]))
        (state.weight * 10).sum().backward()
        assert w.grad.tolist() == [20, 30, 40]
        (g,) = wg.autograd.grad(compiled(State(w), w), w, create_graph=True)
        g.sum().backward()
        assert w.grad.tolist() == [22, 32, 42]
        assert total.item() == (w * wg.tensor([2.0, 3.0, 4.0])).sum().item()


def test_parts_that_are_not_changed_stay_the_same_objects() -> None:
    inner, weight = {"a": weights(1)}, weights(2)
    state = State(weight)
    state.inner = inner  # type: ignore[attr-defined]
    compiled = wg.compile(lambda s: setattr(s, "rate", 2.0))
    compiled(state)
    assert state.rate == 2.0
    assert state.inner is inner  # type: ignore[attr-defined]
    assert state.weight is weight


def test_text_for_numpy_takes_fields_by_name_and_refuses_to_change_containers() -> None:
    text = str(wg.source(lambda s, x: s.weight * x + s.rate, State(np.ones(2)), np.ones(2)))
    assert "s.weight" in text
    with pytest.raises(TracingError, match="changes a list, a dictionary or a dataclass"):
        wg.source(lambda counts, x: counts.update(n=counts["n"] + 1) or 2 * x, {"n": 1}, np.ones(2))
