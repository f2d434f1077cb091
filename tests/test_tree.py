"""Containers: one notion for `wengert.tree`, transforms, compiled functions and files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
from wengert import tree


@tree.register
class Line:
    """An ordinary class, with a name that is no number."""

    def __init__(self, slope: Any, offset: Any, label: str = "line") -> None:
        self.slope, self.offset, self.label = slope, offset, label

    def tree_flatten(self) -> Any:
        return (self.slope, self.offset), self.label

    @classmethod
    def tree_unflatten(cls, label: str, parts: Any) -> Line:
        return cls(*parts, label)

    def __call__(self, x: Any) -> Any:
        return self.slope * x + self.offset


@dataclass
class Pair:
    first: Any
    second: Any


class Point(NamedTuple):
    x: Any
    y: Any


ITEM = {"line": Line(np.array([1.0, 2.0]), 0.5), "pair": Pair(1.0, [2.0]), "p": Point(3.0, (4.0,))}


def test_a_tree_is_taken_apart_and_put_together_again() -> None:
    leaves, structure = tree.flatten(ITEM)
    assert [np.shape(x) for x in leaves] == [(2,), (), (), (), (), ()]
    again = tree.unflatten(structure, leaves)
    assert type(again["line"]) is Line
    assert again["line"].label == "line"
    assert again["pair"] == ITEM["pair"]
    assert tree.structure(again) == structure
    assert repr(structure).startswith("{'line': Line(*, *), 'pair': Pair(first=*, second=[*])")


def test_transforms_look_into_registered_classes() -> None:
    x = np.array([1.0, 3.0])
    slope = wg.grad(lambda item: np.sum(item["line"](x)) + item["pair"].second[0] ** 2)(ITEM)
    assert slope["line"].slope.tolist() == [1.0, 3.0]
    assert slope["line"].offset == 2.0
    assert slope["pair"].second == [4.0]
    many = wg.vmap(lambda line: line(2.0))(Line(np.arange(3.0), np.ones(3)))
    assert many.tolist() == [1.0, 3.0, 5.0]
    value, pushed = wg.jvp(lambda line: line(2.0), (Line(1.0, 2.0),), (Line(1.0, 1.0),))
    assert (value, pushed) == (4.0, 3.0)


def test_compiled_functions_look_into_registered_classes() -> None:
    @wg.compile
    def stepped(line: Line, x: Any) -> Any:
        return Line(line.slope - 0.1 * x, line.offset * 2, line.label)

    for k in range(3):
        made = stepped(Line(np.array([1.0, 2.0 + k]), np.array(0.5), "a"), np.array([1.0, 1.0]))
        assert type(made) is Line
        assert made.label == "a"
        np.testing.assert_allclose(made.slope, [0.9, 1.9 + k])
    assert stepped.retraces == []
    assert stepped(Line(np.ones(2), np.array(1.0), "b"), np.ones(2)).label == "b"


def test_what_a_compiled_function_changes_in_a_registered_object_is_an_error() -> None:
    # The function gets an object of its own; what it sets there would be lost.
    @wg.compile
    def changing(line: Line) -> Any:
        line.slope = line.slope * 2
        return line.offset

    with pytest.raises(wg.errors.TracingError, match="Return a new one"):
        changing(Line(np.ones(2), np.ones(2)))


def test_files_hold_registered_objects(tmp_path: Path) -> None:
    wg.save({"line": Line(wg.ones(2), 0.5)}, tmp_path / "line.wg")
    line = wg.load(tmp_path / "line.wg")["line"]
    assert type(line) is Line
    assert line.slope.tolist() == [1.0, 1.0]
    assert (line.offset, line.label) == (0.5, "line")


def test_map_and_reduce_go_over_several_trees() -> None:
    moved = tree.map(lambda x, y: x + y, Line(1.0, 2.0), Line(10.0, 20.0))
    assert (moved.slope, moved.offset) == (11.0, 22.0)
    assert tree.reduce(max, ITEM["p"], 0.0) == 4.0
    assert tree.all(Pair(True, [1]))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tree.register(3), TypeError, "takes a class"),
        (lambda: tree.register(np.ndarray), TypeError, "a leaf"),
        (lambda: tree.register(object), TypeError, "say what object holds"),
        (lambda: tree.register(Point, lambda p: ((), None)), TypeError, "both"),
        (lambda: tree.unflatten(tree.structure([1, 2]), [1]), ValueError, "room for 2 leaves"),
        (lambda: tree.map(max, [1], [1, 2]), wg.errors.GradError, "structure"),
        (
            lambda: tree.map(max, Line(1, 2, "a"), Line(1, 2, "b")),
            wg.errors.GradError,
            "structure",
        ),
        (lambda: wg.grad(lambda x: x)(object()), TypeError, r"wengert\.tree\.register"),
    ],
)
def test_what_is_no_tree_is_an_error(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_stopped_gradients_are_constants_in_both_modes() -> None:
    def f(p: Any) -> Any:
        q = wg.stop_gradient({"a": p, "b": [p * 2, 5.0, np.ones(2)]})
        return (p * q["a"] + q["b"][0]).sum()

    x = np.array([1.0, 3.0])
    assert wg.grad(f)(x).tolist() == [1.0, 3.0]
    assert wg.jvp(f, (x,), (np.ones(2),))[1] == 4.0


def test_shapes_are_found_without_computing() -> None:
    net = wg.nn.Linear(4, 2)
    found = wg.eval_shape(
        lambda x, line: (net(x), line(2.0), None), wg.ones(3, 4), Line(np.ones(5), 1.0)
    )
    assert found[0].shape == (3, 2)
    assert found[0].dtype == np.float32
    assert found[1].shape == (5,)
    assert found[2] is None
    gradient = wg.eval_shape(
        wg.grad(lambda p: np.sum(p["w"] ** 2)), {"w": wg.ShapeDtype((10**5, 10**5), np.float64)}
    )
    assert gradient["w"] == ((10**5, 10**5), np.float64)
