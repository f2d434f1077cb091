"""Objects that a function makes and hands back: each call makes its own, as in eager mode.

Only lists and plain dictionaries were made anew; all else was one object at all calls, so whoever
changed one result changed those before and after it.
"""

# ruff: noqa: E501  (programs as text read best with a statement on a line)
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.stories import alike, module, numbers, same, told
from wengert.errors import TracingError

CLASSES = """
import collections, copy, dataclasses, enum, functools, random, types, weakref
class Box:
    def __init__(self, *a): self.a = list(a)
    def up(self): self.a.append(len(self.a)); return len(self.a)
class Slots:
    __slots__ = ("a",)
    def __init__(self): self.a = [1]
class Items(list):
    made = 0
    def __init__(self, *a): Items.made += 1; super().__init__(*a)
class Names(dict): pass
class Members(set): pass
@dataclasses.dataclass
class Data:
    a: list = dataclasses.field(default_factory=list)
class Color(enum.Enum):
    RED = 1
def counting():
    n = 0
    def step():
        nonlocal n
        n += 1
        return n
    return step
def pair():
    n = [0]
    return (lambda: n.append(1)), (lambda: len(n))
def itself():
    l = [1]
    l.append(l)
    return l
def related():
    a, b = Box(1), Box(2)
    a.child, b.parent = b, a
    return a
def shared():
    l = [1]
    return l, {"k": l}, (l,)
def seen():
    z = np.zeros(4)
    return z, z[1:]
def caught():
    try:
        {}["k"]
    except KeyError as error:
        return error
"""

MADE = {
    "a set": ("{1, 2}", "r.add(len(r) + 5)", "sorted(r)"),
    "a deque": ("collections.deque([1], maxlen=3)", "r.append(7)", "(list(r), r.maxlen)"),
    "bytes": ("bytearray(2)", "r.append(7)", "list(r)"),
    "an array": ("np.zeros(3)", "r += 1", "r.tolist()"),
    "an array and its view": ("seen()", "r[1][...] += 1", "(r[0].tolist(), r[1].tolist())"),
    "an array in another order": ("np.asfortranarray(np.arange(6.0).reshape(2, 3))", "r += 1", "(r.tolist(), r.strides)"),
    "an array that is only read": ("np.broadcast_to(np.arange(3), (2, 3))", "pass", "(r.tolist(), r.flags.writeable, r.strides)"),
    "an array of objects": ("np.array([None, [1]], object)", "r[1].append(2); r[0] = 4", "r.tolist()"),
    "an array with a mask": ("np.ma.masked_array([1.0, 2.0])", "r[0] += 1", "r.tolist()"),
    "an object": ("Box(1)", "r.a.append(1)", "r.a"),
    "an object with slots": ("Slots()", "r.a.append(1)", "r.a"),
    "a list of a class": ("Items([1])", "r.append(1)", "(list(r), Items.made)"),
    "a dictionary of a class": ("Names(a=1)", "r.update(b=2)", "dict(r)"),
    "a set of a class": ("Members([1])", "r.add(len(r) + 1)", "sorted(r)"),
    "an ordered dictionary": ("collections.OrderedDict(a=1)", "r.update(b=2)", "list(r)"),
    "a dictionary with a default": ("collections.defaultdict(list)", "r['q'].append(1)", "dict(r)"),
    "a counter": ("collections.Counter('aab')", "r.update('a')", "dict(r)"),
    "a dataclass": ("Data()", "r.a.append(1)", "r.a"),
    "a namespace": ("types.SimpleNamespace(a=1)", "r.a += 1", "r.a"),
    "a generator": ("np.random.default_rng(0)", "r.random()", "copy.deepcopy(r).random()"),
    "Python's generator": ("random.Random(0)", "r.random()", "copy.deepcopy(r).random()"),
    "a partial": ("functools.partial(max, [1])", "r.args[0].append(len(r.args[0]))", "r.args[0]"),
    "an error": ("ValueError([1])", "r.args[0].append(1)", "r.args"),
    "an error that was caught": ("caught()", "r.n = getattr(r, 'n', 0) + 1", "(repr(r), hasattr(r, 'n'))"),
    "a method": ("Box(1).up", "r()", "r.__self__.a"),
    "a method of a container": ("[1].append", "r(2)", "r.__self__"),
    "a function around a variable": ("counting()", "r()", "r()"),
    "functions around one variable": ("pair()", "r[0]()", "r[1]()"),
    "a list that holds itself": ("itself()", "r.append(3)", "(r[1] is r, len(r))"),
    "objects that hold each other": ("related()", "r.a.append(1)", "(r.child.parent is r, r.a)"),
    "a list that several hold": ("shared()", "r[0].append(1)", "(r[0] is r[1]['k'] is r[2][0], r[0])"),
    "a weak reference and its object": ("(lambda b: (b, weakref.ref(b)))(Box(1))", "r[0].a.append(1)", "(r[1]() is r[0], r[0].a)"),
    "a copy of what is there": ("copy.copy(KNOWN)", "r.b = 1; r.a.append(1)", "(r.a is KNOWN.a, hasattr(KNOWN, 'b'))"),
    "a tuple that is there": ("FIXED", "r[0].append(1)", "(r is FIXED, r[0])"),
    "a member of an enumeration": ("Color(1)", "pass", "r is Color.RED"),
    "an object within a tuple": ("(Box(1), 2)", "r[0].a.append(1)", "r[0].a"),
}  # fmt: skip


def _programs(name: str, kept: bool) -> str:
    made, change, shown = MADE[name]
    out = "STATE.append(r)" if kept else "pass"
    text = CLASSES + "KNOWN, FIXED, STATE = Box(1), ([1], 2), []\n"
    text += f"def f(x):\n    r = {made}\n    {out}\n    return x * 2, r\n"
    text += f"def look(r): return {shown}\ndef change(r):\n    {change}\n"
    return text


@pytest.mark.crossed
@pytest.mark.parametrize("kept", [False, True], ids=["returned", "returned and kept"])
@pytest.mark.parametrize("name", MADE)
def test_what_a_function_makes_is_another_object_at_each_call(name: str, kept: bool) -> None:
    def story(compile: Any) -> Any:
        m = module(_programs(name, kept))
        f, seen = compile(m.f), []
        for _ in range(4):
            y, r = f(wg.ones(3))
            assert not kept or m.STATE[-1] is r
            seen += [y, repr(m.look(r))]
            m.change(r)
            seen += [repr(m.look(r))]
        return seen

    same(story)


REFUSED = {
    "a class": "type('C', (), {'n': 0})",
    "an object of a class that it makes": "local()",
    "a view of bytes": "memoryview(bytearray(2))",
    "a generator of wengert's": "wg.Generator().manual_seed(0)",
}
LOCAL = """
def local():
    class C:
        items = []
    return C()
"""


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_call_could_make_again_is_refused(name: str) -> None:
    m = module(f"{LOCAL}def f(x): return x * 2, {REFUSED[name]}")
    with pytest.raises(TracingError, match="Make it outside"):
        wg.compile(m.f)(wg.ones(3))


def test_a_class_made_by_a_call_of_type_is_of_the_module_that_calls() -> None:
    # It was of the observer's.
    m = module("def f(x): return x * len(type('C', (), {}).__module__)")
    alike(
        told(lambda c: [c(m.f)(numbers(3))], wg.compile),
        told(lambda c: [c(m.f)(numbers(3))], lambda f: f),
        1e-6,
        "",
    )


def test_arrays_that_a_function_keeps_are_its_callers_to_change() -> None:
    m = module(
        "import types\ns = types.SimpleNamespace(h=None)\ndef f(x):\n    s.h = np.zeros(2)\n    return x"
    )
    f = wg.compile(m.f)
    for _ in range(4):
        f(wg.ones(2))
        m.s.h += 1
        assert np.array_equal(m.s.h, [1, 1])


@pytest.mark.parametrize("where", ["returned", "kept"])
def test_what_has_a_finalizer_is_not_made_anew(where: str) -> None:
    # That of the trace's own object ran as well: what it counted was too much.
    class Counted:
        def __del__(self) -> None:
            pass

    kept: list[Any] = [None]

    @wg.compile
    def f(x: Any) -> Any:
        made = Counted()
        if where == "returned":
            return x * 2, made
        kept[0] = made
        return x * 2

    with pytest.raises(TracingError, match="finalizer would run"):
        f(wg.ones(2))
    assert kept == [None]
