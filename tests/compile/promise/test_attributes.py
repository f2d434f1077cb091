"""Attributes that users give tensors: those of arguments are asked for, those of results are set.

What stood for an argument had none of them, and kept what it was given to itself; a result lost
what the function had set. All of it was silent, but where an attribute was missing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.stories import module
from tests.sweeps import swept
from wengert.errors import TracingError


class Scaled(wg.Tensor):
    scale = 1.0


def given(k: int, kind: type = wg.Tensor, **attributes: Any) -> Any:
    x = wg.tensor([1.0, 2.0 + k]).as_subclass(kind).requires_grad_()
    for name, value in attributes.items():
        setattr(x, name, value)
    return x


def scaled(k: int, **attributes: Any) -> Any:
    return given(k, Scaled, **attributes)


def sets(x: Any) -> Any:
    x.tag = 3
    return x * x.tag


def keeps(x: Any) -> Any:
    x.cache = x * 2
    return x.cache.sum()


def counts(x: Any) -> Any:
    x.calls = getattr(x, "calls", 0) + 1
    return x * x.calls


def forgets(x: Any) -> Any:
    del x.tag
    return x * 2


def changes(x: Any) -> Any:
    x.seen.append(1)
    return x * len(x.seen)


def gives(x: Any) -> Any:
    y = x * 2
    y.tag, y.source = "doubled", x
    return y


def gives_many(x: Any) -> Any:
    y, z = x * 2, x.detach() * 3
    y.other, z.other = z, y
    return {"y": y, "z": z}


def gives_a_subclass(x: Any) -> Any:
    y = (x * 2).as_subclass(Scaled)
    y.scale = 5.0
    return y


def own(x: Any) -> Any:
    """What a tensor says of itself to a test."""
    if isinstance(x, dict):
        return {key: own(part) for key, part in x.items()}
    names = ("tag", "scale", "calls", "cache", "source", "other", "seen")
    held = {name: getattr(x, name) for name in names if hasattr(x, name)}
    told = {n: v.tolist() if isinstance(v, wg.Tensor) else v for n, v in held.items()}
    return type(x).__name__, x.tolist(), told


STORIES: dict[str, tuple[Callable[..., Any], Callable[[int], Any]]] = {
    "one that comes and goes": (
        lambda x: x * (2 if hasattr(x, "tag") else 3),
        lambda k: given(k, **({"tag": 1} if k % 2 else {})),
    ),
    "one with a default": (lambda x: x * getattr(x, "tag", 5), lambda k: given(k, tag=k // 2)),
    "a text": (lambda x: x * len(x.tag), lambda k: given(k, tag="abc"[: k % 3 + 1])),
    "a tensor": (lambda x: x * x.w, lambda k: given(k, w=WEIGHTS[k % 2])),
    "a dictionary": (lambda x: x * x.meta["s"], lambda k: given(k, meta=META[k % 2])),
    "of an item of a list": (
        lambda xs: xs[0] * getattr(xs[0], "tag", 1),
        lambda k: [given(k, tag=k)],
    ),
    "of a subclass": (lambda x: x * x.scale, lambda k: scaled(k, scale=k + 1.0)),
    "its class's": (lambda x: x * x.scale, scaled),
    "one that is set": (sets, lambda k: given(k)),
    "one that is set to a tensor": (keeps, lambda k: given(k)),
    "one that is changed": (counts, lambda k: given(k, **({"calls": 7} if k > 2 else {}))),
    "one that is deleted": (forgets, lambda k: given(k, tag=1)),
    "a list that is changed": (changes, lambda k: given(k, seen=[0] * (k % 2))),
    "of a result": (gives, lambda k: given(k)),
    "of results that lead to each other": (gives_many, lambda k: given(k)),
    "of a result of a subclass": (gives_a_subclass, lambda k: given(k)),
    "how often it was written": (lambda x: x * x.detach()._version, lambda k: given(k)),
}  # fmt: skip
WEIGHTS = [wg.tensor([2.0, 3.0], requires_grad=True), wg.tensor([4.0, 5.0])]
META = [{"s": 1.0}, {"s": 2.0}]


@pytest.mark.parametrize("name", STORIES)
def test_attributes_of_tensors_are_as_in_eager_mode(name: str) -> None:
    f, make = STORIES[name]
    compiled = wg.compile(f)
    for k in range(6):
        mine, eager = make(k), make(k)
        for x in (mine, eager):
            if name == "how often it was written":
                with wg.no_grad():
                    [x.add_(1) for _ in range(k)]
        found, known = compiled(mine), f(eager)
        assert own(found) == own(known), k
        if isinstance(mine, wg.Tensor):
            assert own(mine) == own(eager), k
            (found.sum() if isinstance(found, wg.Tensor) else found["y"].sum()).backward()
            (known.sum() if isinstance(known, wg.Tensor) else known["y"].sum()).backward()
            assert mine.grad.tolist() == eager.grad.tolist()


def test_what_leads_to_an_argument_is_that_argument() -> None:
    compiled = wg.compile(gives)
    for k in range(4):
        x = given(k)
        assert compiled(x).source is x


@pytest.mark.parametrize("ask", [vars, dir, lambda x: x.__dict__], ids=["vars", "dir", "__dict__"])
def test_all_attributes_at_once_are_refused(ask: Any) -> None:
    compiled = wg.compile(lambda x: x * len(ask(x)))
    with pytest.raises(TracingError, match="is asked for all its attributes"):
        compiled(given(0))


OF_THE_CLASS = [
    name
    for name in dir(wg.Tensor)
    if name not in wg.Tensor.__annotations__
    and not hasattr(type(inspect.getattr_static(wg.Tensor, name)), "__set__")
]
PLACES = {"an argument": "x", "found outside": "w", "made inside": "x * 1"}
HIDES = """
import wengert as wg

w = wg.tensor([3.0])

def told(x):
    return x if isinstance(x, int) else "of the class"

def f(x):
    t = {place}
    before = told(t.{name})
    t.{name} = 5
    during = t.{name}
    del t.{name}
    after = told(t.{name})
    t.{name} = 7 if type(before) is str else before + 1
    return x * 2, before, during, after, t
"""


def hidden(place: str, name: str, compile: Callable[..., Any]) -> Any:
    """What a function sees and does where a tensor's own attribute hides one of its class."""
    users = module(HIDES.format(place=PLACES[place], name=name))
    f, w = compile(users.f), users.w
    for k in range(6):
        x = wg.tensor([1.0, 2.0])
        for t in (x, w):
            if k in (1, 2):
                setattr(t, name, k)
            elif k == 4 and name in vars(t):
                delattr(t, name)
        y, before, during, after, t = f(x)
        yield y._array.tolist(), before, during, after, *map(dict, map(vars, (t, x, w)))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", swept(OF_THE_CLASS, "where", "is_xla", "__len__"))
def test_an_attribute_of_the_users_hides_that_of_the_class(name: str, place: str) -> None:
    # The class's was read all the same, and one found outside kept the trace's numbers.
    for mine, eager in zip(
        hidden(place, name, wg.compile), hidden(place, name, lambda f: f), strict=True
    ):
        assert mine == eager


def test_a_count_that_is_kept_on_a_tensor_is_that_of_the_one_that_is_there_now() -> None:
    # What stands for the tensor got the count, and whether it had one was asked of that.
    def counts(compile: Callable[..., Any]) -> list[Any]:
        users = module(
            "class C: pass\nc = C()\nc.t = wg.ones(2)\ndef f(x):\n"
            "    c.t.calls = getattr(c.t, 'calls', 0) + 1\n    return x * c.t * c.t.calls"
        )
        f, seen = compile(users.f), []
        for k in range(8):
            seen.append((f(wg.ones(2)).tolist(), users.c.t.calls))
            if k in (1, 4):
                users.c.t = wg.ones(2) * k
            if k == 6:
                del users.c.t.calls
        return seen

    assert counts(wg.compile) == counts(lambda f: f)
