"""An attribute is found at each call where it is found then: in the object, its class, or a base.

What the class has decides by its kind: a property comes before what the object has itself, another
descriptor after it, and `__getattr__` where there is nothing.
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest

pytest.importorskip("llvmlite")

from tests.compile.stories import caught, module, numbers, same

SETUP = """
import functools
K = 2.0
class Given:
    def __init__(self, v): self.v = v
    def __get__(self, owner, cls): return self.v * K
class First(Given):
    def __set__(self, owner, v): pass
class Base: pass
class A(Base): pass
a = A()
def cached(function):
    made = functools.cached_property(function)
    made.__set_name__(A, "k")
    return made
def f(x): return x * (a.k() if callable(a.k) else a.k)
"""
FALLBACK = "A.__getattr__ = lambda self, name: K * 12.0"
MEMBERS = {
    "a number": "3.0",
    "a method": "lambda *self: K * 5.0",
    "a class method": "classmethod(lambda cls: K * 6.0)",
    "a static method": "staticmethod(lambda: K * 7.0)",
    "a property": "property(lambda self: K * 8.0)",
    "a cached property": "cached(lambda self: K * 9.0)",
    "a descriptor": "Given(10.0)",
    "one that comes first": "First(11.0)",
}
GIVE = "{place}.k = {member}"
TAKE = "'k' in vars({place}) and delattr({place}, 'k')"
OWN = "vars(a)['k'] = 4.0", "vars(a).pop('k', None)"
CHANGES = {
    **{
        f"{name} of {place}": GIVE.format(place=place, member=member)
        for place in ("A", "Base")
        for name, member in MEMBERS.items()
    },
    **{f"nothing of {place}": TAKE.format(place=place) for place in ("A", "Base")},
    **dict(zip(("its own", "nothing of its own"), OWN, strict=True)),
}
PAIRS = list(itertools.product(CHANGES, CHANGES))


@pytest.mark.crossed
@pytest.mark.parametrize("fallback", ["", FALLBACK], ids=["", "getattr"])
@pytest.mark.parametrize(("first", "second"), PAIRS, ids=" then ".join)
def test_an_attribute_is_that_which_python_finds_now(
    first: str, second: str, fallback: str
) -> None:
    # Where the user's code made it of something, nobody asked whether the class still says so, or
    # whether the object had got one itself; and a property that came later hid what that had.
    def told(compile: Any) -> Any:
        m = module(f"{SETUP}\n{fallback}")
        f, seen = compile(m.f), []
        for change in (CHANGES[first], CHANGES[second], "K += 1", *OWN):
            exec(change, vars(m))  # noqa: S102
            seen += [caught(f, numbers(1)) for _ in range(2)]
        return seen

    same(told)


WITH_BASES = """
class One:
    k = 2.0
    def m(self): return 3.0
class Other:
    k = 5.0
    def m(self): return 7.0
    @property
    def own(self): return 11.0
class Empty: pass
class A(One, Empty):
    def m(self): return super().m()
    @classmethod
    def c(cls): return super().__init_subclass__ and cls.k
a = A()
a.own = 13.0
"""


@pytest.mark.parametrize("read", ["a.k", "a.m()", "a.c()", "a.own", "A.k"])
def test_what_is_found_in_bases_is_that_of_the_bases_now(read: str) -> None:
    # What super() found was asked of the classes that were behind it at first.
    def told(compile: Any) -> Any:
        m = module(f"{WITH_BASES}\ndef f(x): return x * {read}")
        f, seen = compile(m.f), []
        for change in ("", "A.__bases__ = (Other, Empty)", "A.__bases__ = (One, Other)"):
            exec(change, vars(m))  # noqa: S102
            seen += [caught(f, numbers(1)) for _ in range(2)]
        return seen

    same(told)


def test_a_module_that_looks_in_the_one_within_compiles() -> None:
    # The name of the function was asked of it, by code of its own that nobody saw.
    def told(compile: Any) -> Any:
        m = module(
            "class Around(nn.Module):\n    def __init__(self, inner):\n"
            "        super().__init__()\n        self.inner = inner\n"
            "    def __getattr__(self, name):\n"
            "        try: return super().__getattr__(name)\n"
            "        except AttributeError: return getattr(self.inner, name)\n"
            "    def forward(self, x): return self.inner(x) * self.scale\n"
            "inner = nn.ReLU()\ninner.scale = 3.0\naround = Around(inner)"
        )
        f, seen = compile(m.around), []
        for m.inner.scale in (3.0, 3.0, 4.0):
            seen.append(caught(f, numbers(1)))
        return seen

    same(told)


def test_what_a_module_makes_by_its_own_getattr_is_that_of_each_call() -> None:
    # It was refused, as code that nobody sees.
    def told(compile: Any) -> Any:
        m = module(
            "import types\nK = 2.0\nother = types.ModuleType('other')\n"
            "other.__getattr__ = lambda name: K * len(name)\ndef f(x): return x * other.k"
        )
        f, seen = compile(m.f), []
        changes = "K = 3.0", "other.k = 5.0", "del other.k", "other.__getattr__ = lambda n: 7.0"
        for change in ("", *changes):
            exec(change, vars(m))  # noqa: S102
            seen += [caught(f, numbers(1)) for _ in range(2)]
        return seen

    same(told)


@pytest.mark.parametrize("kind", ["dict", "list", "collections.deque", "collections.Counter"])
def test_a_truth_is_asked_of_a_bool_that_the_class_has_got_since(kind: str) -> None:
    # It was asked of the length alone, as the class had none.
    def told(compile: Any) -> Any:
        m = module(
            f"import collections\nclass A({kind}): pass\na = A([(1, 2)])\n"
            "def f(x): return x * 3 if a else x * 4"
        )
        f, seen = compile(m.f), []
        for change in ("", "A.__bool__ = lambda self: False", "A.__len__ = lambda self: 0"):
            exec(change, vars(m))  # noqa: S102
            seen += [caught(f, numbers(1)) for _ in range(2)]
        return seen

    same(told)
