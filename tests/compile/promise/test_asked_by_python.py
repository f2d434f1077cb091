"""What Python's syntax and builtins ask of an object is what it answers now.

An object is built in some way, a compiled function uses it in some way, and between calls it, its
class, or what it is built of is changed.
"""

# ruff: noqa: E501  (a row of a table reads best on a line)
from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("llvmlite")

from tests.compile.stories import caught, module, numbers, same

IMPORTS = "import collections, types\n"

FOUND: dict[str, tuple[str, str, tuple[str, ...]]] = {
    # The operand of a format was taken for the format, an atom, of which nothing is told.
    "a format": ("o = collections.UserList([1])", "return x * len(f'{o!r:>4}')", ("o.append(333)",)),
    "a format that is computed": ("o, w = {1}, 2", "return x * len(f'{o!s:>{w}}')", ("o.add(3)", "w = 9")),
    # `a and b` was told of containers only: whether there is a __bool__ was not asked.
    "the truth of what is kept": ("class C: pass\no = C()", "return x * 3 if (o and 2.0) is o else x * 4", ("C.__bool__ = lambda self: False", "C.__bool__ = None")),
    # What a slice of a list is set to was looked into where the list was from outside.
    "what a slice is set to": ("o = {2.0: 3.0}", "k = [1.0]; k[1:] = o; return x * sum(k)", ("o[4.0] = 5.0", "o.pop(2.0)")),
    # An attribute of a dictionary or list was looked for among its items.
    "an attribute of a dictionary": ("class C(dict): pass\no = C(n=7)", "o.n = getattr(o, 'n', 0.0) + 1; return x * o.n", ("del o.n", "o['n'] = 9")),
    "an attribute that a list lacks": ("class C(list): pass\no = C([2])", "return x * (2 + hasattr(o, 'n'))", ("o.n = 1", "del o.n", "C.n = 3")),
    # Where a library's mapping keeps its items was not asked again.
    "an item of a UserDict": ("o = collections.UserDict(a=2.0)", "return x * o['a']", ("o.data = {'a': 5.0}",)),
    "the length of a UserDict": ("o = collections.UserDict(a=2.0)", "return x * len(o)", ("o.data = {}",)),
    # A class was asked by its metaclass alone.
    "an item of an object's class": ("class C(list):\n    def __class_getitem__(cls, k): return 2.0\no = C()", "return x * type(o)['k']", ("C.__class_getitem__ = lambda k: 3.0", "del C.__class_getitem__")),
    # An object that has __next__ was gone through by that, though iter() gives another one.
    "a tuple with __next__": ("class C(tuple):\n    def __next__(self): return 5.0\no = C([1.0])", "return x * sum([v for v in o])", ("C.__next__ = lambda self: 6.0", "C.__iter__ = lambda self: iter([3.0])")),
    # Looking at a view of bytes raised an error, which the function caught.
    "a view of bytes, within try": ("b = bytearray(b'ab')\no = memoryview(b)", "try: k = o[0]\n    except TypeError: k = 1\n    return x * k", ("b[0] = 1",)),
    # A call of what is no function was taken for a call that does something.
    "a call of a number": ("class C:\n    def __getattr__(self, name): return 3.0\no = C()", "o.update(n=1); return x", ("del C.__getattr__",)),
    # C's method of a dictionary calls one of its class.
    "a method that calls another": ("class C(collections.OrderedDict): pass\no = C(a=2.0)", "return x * o.setdefault('a', 1.0)", ("C.__getitem__ = lambda self, k: 4.0", "C.__getitem__ = None")),
    # What a method returned was taken for nothing where it was None.
    "a popped None": ("o = {'k': None}", "v = o.pop('k'); o['k'] = v; return x, v", ("o['k'] = 'a'", "o['k'] = 2.0")),
    "a None that is put where nothing was": ("o = {}", "return x, o.setdefault('k')", ("o.clear()", "o['k'] = 2.0")),
    # How many dimensions an array has that holds one number.
    "a number of a list of one": ("o = np.array([2.0])", "return x * float(o)", ("o = np.array(2.0)", "o = np.array([[3.0]])")),
    # It was that of a number of NumPy's.
    "the imaginary part of a number": ("o = 2.5", "return x, o.imag", ("o = 3.5", "o = 4.5")),
    # A module was sought by the name of another one, or not at all.
    "an import of what is in a package": ("", "import os.path; return x * len(os.path.sep)", ("import os.path; os.path.sep = '//'", "os.path.sep = '/'")),
    "an import by a function": ("import sys; other = sys.modules['users_other'] = types.ModuleType('users_other'); other.k = 2.0", "return x * __import__('users_other').k", ("other.k = 3.0", "del sys.modules['users_other']")),
    # A library that gives a tensor, a function or a class of the user's was not asked for it again.
    "a function of the context": ("import contextvars\nv = contextvars.ContextVar('v')\nv.set(lambda x: x * 2)", "return v.get()(x)", ("v.set(lambda x: x * 3)",)),
    "a tensor of the context": ("import contextvars\nv = contextvars.ContextVar('v')\nv.set(wg.ones(1))", "return x * v.get()", ("v.set(wg.zeros(1))",)),
    # Of a dictionary its items were looked at.
    "a copy of a defaultdict": ("o = collections.defaultdict(float, a=1.0)", "return x, type(o.copy()['k']).__name__", ("o.default_factory = str", "o.default_factory = None")),
    # It was something that is made.
    "NotImplemented": ("", "return x, [].__eq__(3)", ()),
}  # fmt: skip


@pytest.mark.parametrize("name", FOUND)
def test_what_python_asks_is_answered_as_it_is_now(name: str) -> None:
    setup, body, changes = FOUND[name]
    same(lambda compile: calls_of(setup, body, changes, compile))


def calls_of(setup: str, body: str, changes: tuple[str, ...], compile: Any) -> list[Any]:
    m = module(f"{IMPORTS}{setup}\ndef f(x):\n    {body}")
    f, seen = compile(m.f), []
    for change in ("", "", *changes):
        exec(change, vars(m))  # noqa: S102
        seen += [caught(f, numbers(1)) for _ in range(2)]
    return seen


WITH_ANOTHER_CLASS = {
    "list": ("C([2.0])", {"__len__": "3", "__iter__": "iter([5.0, 1.0])", "__eq__": "True", "__contains__": "True"}),
    "dict": ("C(a=2.0)", {"__len__": "3", "__iter__": "iter([5.0])", "__getitem__": "7.0", "__missing__": "8.0", "__bool__": "False"}),
    "float": ("C(2.0)", {"__neg__": "7.0", "__bool__": "False", "__eq__": "False", "__round__": "5"}),
    "object": ("C()", {"__bool__": "False", "__str__": "'abc'", "__repr__": "'abcd'", "__hash__": "7", "__call__": "3.0"}),
    "collections.UserDict": ("C(a=2.0)", {"__len__": "3", "__iter__": "iter([5.0])", "__getitem__": "7.0"}),
}  # fmt: skip
USES = "len(o)", "sum(o)", "sum([v for v in o])", "2.0 in o", "o == 2.0", "-o", "bool(o)", "o['a']", "o['b']", "len(str(o))", "len(f'{o!r}')", "o()", "round(o)", "hash(o) == 7"  # fmt: skip


@pytest.mark.crossed
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("base", WITH_ANOTHER_CLASS)
def test_an_object_may_be_given_another_class(base: str, use: str) -> None:
    # What its class has was a condition; that it is its class was one of attributes only.
    made, methods = WITH_ANOTHER_CLASS[base]
    body = f"return x * ({use})"
    for name, value in methods.items():
        setup = f"class C({base}): pass\nclass E(C):\n    def {name}(self, *args): return {value}\no = {made}"
        same(lambda compile, s=setup: calls_of(s, body, ("o.__class__ = E",), compile))


UTC = "timezone.utc"
EQUAL = {
    "Decimal": ("Decimal('1.0')", "Decimal('1.00')"),
    "range": ("range(0, 3, 2)", "range(0, 4, 2)"),
    "time": ("time(1)", "time(1, fold=1)"),
    "datetime": (f"datetime(2020, 1, 1, tzinfo={UTC})", f"datetime(2020, 1, 1, 1, tzinfo={UTC[:-4]}(timedelta(hours=1)))"),
    "int": ("1", "1.0"),
    "bool": ("1", "True"),
    "tuple": ("(1, 2)", "(1, 2.0)"),
    "frozenset": ("frozenset([0.0])", "frozenset([-0.0])"),
}  # fmt: skip


@pytest.mark.parametrize("form", ["v", "(v,)", "{'k': v}", "{v: 1}", "[(v, v)]"])
@pytest.mark.parametrize("name", EQUAL)
def test_equal_arguments_may_differ(name: str, form: str) -> None:
    # Numbers were told apart by their bits, but other values, and keys, by equality alone.
    def story(compile: Any) -> list[Any]:
        m = module("from datetime import *\nfrom decimal import Decimal\ndef f(x, v): return x, repr(v)")  # fmt: skip
        f = compile(m.f)
        given = [eval(form, {"v": eval(text, vars(m))}) for text in EQUAL[name] for _ in range(3)]  # noqa: S307
        return [caught(f, numbers(1), v) for v in (*given, *given)]

    same(story)
