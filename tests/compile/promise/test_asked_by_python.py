"""What Python's syntax and builtins ask of an object is what it answers now.

An object is built in some way, a compiled function uses it in some way, and between calls it, its
class, or what it is built of is changed.
"""

# ruff: noqa: E501  (a row of a table reads best on a line)
from __future__ import annotations

import contextlib
import re
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from tests.compile.stories import caught, module, numbers, same, same_or_refused
from wengert.errors import TracingError

IMPORTS = "import collections, collections.abc, types\n"

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
    # What a class gives, and what is in a list that a library makes, was taken for new.
    "members of an enumeration": ("import enum\nclass E(enum.Enum):\n    A = 2.0\n    B = 3.0", "return x * sum([m.value for m in E])", ("E.A._value_ = 7.0",)),
    "subclasses": ("class C: pass\nclass D(C): k = [2.0]", "return x * sum(c.k[0] for c in C.__subclasses__())", ("D.k[0] = 3.0", "class B(C): k = [5.0]")),
    # It was gone through as a list, and was no mapping then: the function ran eagerly, with a warning.
    "what a library's mapping holds": ("o = collections.ChainMap({'a': 2.0})", "return x, {**o}, dict(**o)", ("o['b'] = 3.0", "o.maps.append({'c': 4.0})")),
    # What stands for it while tracing was asked, and has a shape, a dtype and other things.
    "what a number lacks": ("o = 2.5", "return x * [2, 3][hasattr(o, 'shape') or hasattr(o, 'sum')]", ("o = 3.5", "o = np.float64(4.5)", "o = 5.5")),
    "what an array lacks": ("o = np.ones(1)", "return x, getattr(o, 'value', 3.0)", ("o = types.SimpleNamespace(value=4.0)",)),
    # What stands for it lacks what it has, or has it for numbers of other classes.
    "what a computed number has": ("", "v = x.item(); return x, hasattr(v, 'is_integer'), hasattr(v, 'to_bytes'), hasattr(x.numpy(), 'dumps')", ()),
    "a method that takes no such number": ("o = 2", "return x, o.__add__(2.0), o.__radd__(3), o.__lt__(2.5), (2.5).__lt__(o)", ("o = 3", "o = 4")),
    "an axis that is none": ("o = np.array(2.0)", "return x, o.min('a')", ("o = np.array([2.0])", "o = np.array(3.0)")),
    # A class may be registered as a sequence, or a mapping, which patterns ask its flags.
    "a pattern of a sequence": ("class C:\n    def __len__(self): return 0\no = C()", "match o:\n        case [*_]: return x * 2\n    return x * 3", ("collections.abc.Sequence.register(C)",)),
    "a pattern of a mapping": ("class C: pass\no = C()", "match o:\n        case {}: return x * 2\n    return x * 3", ("collections.abc.Mapping.register(C)",)),
    # What it is a view of, it keeps to itself: the question was refused.
    "a view of a dictionary": ("d = {'a': 2.0}\no = d.items()", "return x * len(o), ('a', 2.0) in o", ("d['b'] = 3.0", "d['a'] = 4.0", "d = {}\no = d.items()")),
    # An operator of a library's object that raised was not asked again.
    "an error of an operator": ("import decimal\ndecimal.setcontext(decimal.Context())\no = decimal.Decimal(1)", "try: return x * float(o / 3)\n    except decimal.Inexact: return x * 7", ("decimal.getcontext().traps[decimal.Inexact] = True", "decimal.getcontext().traps[decimal.Inexact] = False")),
    # A module's own __getattr__ was asked for what every module has.
    "a module's dictionary": ("o = types.ModuleType('o')\no.a = 2.0", "return x * vars(o)['a'] * len(o.__class__.__name__)", ("o.__getattr__ = lambda name: {'a': 7.0}", "o.a = 3.0")),
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


OF_NO_NUMBERS = "np.array(['a', 'b'])", "np.array([None, 'a'])", "np.ones(2, np.longdouble)", "np.array(['2020-01-01'], 'M8[D]')"  # fmt: skip


@pytest.mark.parametrize("array", OF_NO_NUMBERS)
def test_an_array_that_is_passed_may_hold_what_no_tensor_does(array: str) -> None:
    # It was refused without a line; one of another byte order runs eagerly.
    def story(compile: Any) -> list[Any]:
        m = module("def f(x, t): return x * len(t), str(t[0])")
        f, given = compile(m.f), eval(array, {"np": np})  # noqa: S307
        return [caught(f, numbers(1), t) for t in (given, given[:1], given)]

    same(story)


@pytest.mark.parametrize("base", ["object", "dict", "float", "Exception"])
def test_a_trace_leaves_nothing_in_a_class(base: str) -> None:
    # Python keeps the names of a class's slots in it when pickle, or a copy, asks for them.
    source = f"class C({base}): pass\ndef f(x, o): return x, C(), repr(o)[:3], hash(C)"

    def story(compile: Any) -> list[str]:
        m = module(source)
        compile(m.f)(numbers(1), m.C())
        return sorted(vars(m.C))

    same(story)


MOVED = {
    "a file": "import tempfile\no = tempfile.TemporaryFile('w+')\no.write('abcd')\no.seek(0)",
    "a text": "import io\no = io.StringIO('abcd')",
    "bytes": "import io\no = io.BytesIO(b'abcd')",
}  # fmt: skip


@pytest.mark.parametrize("body", ["o.read(1); return x", "return x, o.close()", "with o: return x", "return x, o.read(1)", "o.seek(2); return x"])  # fmt: skip
@pytest.mark.parametrize("kind", MOVED)
def test_what_a_call_does_to_a_file_is_done_or_refused_with_its_line(kind: str, body: str) -> None:
    # A file has an attribute, so what C keeps of it was taken for seen, and a statement was carried
    # out by the trace alone; what the trace had closed could not be put back, by an error of C's.
    def story(compile: Any) -> list[Any]:
        m = module(f"{MOVED[kind]}\ndef f(x):\n    {body}")
        f = compile(m.f)
        with contextlib.closing(m.o):
            return [(in_words(f, numbers(1)), m.o.closed or m.o.tell()) for _ in range(3)]

    same_or_refused(story)


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


WORLDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "list": ("o = [2.0, 3.0]", ("o.append(7.0)", "o[0] = 4.0", "o.reverse()", "o = [2, 3]", "o.clear()")),
    "tuple": ("o = (2.0, 3.0)", ("o = (2.0, 4.0)", "o = (2, 3)", "o = [2.0]")),
    "dict": ("o = {'a': 2.0, 'b': 3.0}", ("o['c'] = 4.0", "del o['a']", "o['a'] = 6.0", "o = {'a': 6.0}")),
    "set": ("o = {2, 3}", ("o.add(5)", "o.discard(2)", "o = frozenset([1])")),
    "deque": ("o = collections.deque([2.0, 3.0], maxlen=3)", ("o.append(4.0)", "o.rotate(1)", "o[0] = 9.0")),
    "Counter": ("o = collections.Counter('aab')", ("o['a'] += 1", "o.update('c')", "del o['a']")),
    "defaultdict": ("o = collections.defaultdict(float, a=2.0)", ("o.default_factory = int", "o['b'] = 3.0", "o.default_factory = None")),
    "OrderedDict": ("o = collections.OrderedDict(a=2.0, b=3.0)", ("o.move_to_end('a')", "o['c'] = 1.0")),
    "ChainMap": ("p, q = {'a': 2.0}, {'b': 3.0}\no = collections.ChainMap(p, q)", ("p['b'] = 4.0", "o.maps.reverse()", "q['c'] = 1.0")),
    "UserDict": ("o = collections.UserDict(a=2.0)", ("o['b'] = 3.0", "o.data = {'a': 5.0}")),
    "UserList": ("o = collections.UserList([2.0])", ("o.append(4.0)", "o.data = [5.0]")),
    "array": ("import array\no = array.array('d', [2.0])", ("o.append(4.0)", "o[0] = 9.0")),
    "bytearray": ("o = bytearray(b'ab')", ("o.append(99)", "o[0] = 1")),
    "range": ("o = range(0, 3, 2)", ("o = range(0, 4, 2)", "o = [0, 2]")),
    "view": ("d = {'a': 2.0}\no = types.MappingProxyType(d)", ("d['c'] = 1.0", "d['a'] = 9.0")),
    "namespace": ("o = types.SimpleNamespace(a=2.0)", ("o.c = 4.0", "o.a = 1.0", "del o.a")),
    "dataclass": ("import dataclasses\n@dataclasses.dataclass\nclass D:\n    a: float = 2.0\no = D()", ("o.a = 4.0", "D.__eq__ = lambda s, t: True", "D.__repr__ = lambda s: 'D!'")),
    "named tuple": ("D = collections.namedtuple('D', 'a b')\no = D(2.0, 3.0)", ("o = o._replace(a=4.0)", "D.__len__ = lambda s: 7", "D.a = property(lambda s: 50.0)")),
    "enumeration": ("import enum\nclass E(enum.Enum):\n    A = 2.0\n    B = 3.0\no = E.A", ("o = E.B", "E.B._value_ = 7.0", "E.__str__ = lambda s: 'q'")),
    "Fraction": ("from fractions import Fraction\no = Fraction(5, 2)", ("o = Fraction(7, 2)", "o = 3")),
    "class": ("class o: a = 2.0", ("o.a = 3.0", "o.c = 1.0", "o = type('o', (), {})")),
    "function": ("def o(a=2.0, *, b=3.0): return a * b", ("o.__defaults__ = (4.0,)", "o.__kwdefaults__ = {'b': 1.0}", "o.a = 5.0")),
    "float": ("o = 2.5", ("o = 3.5", "o = 2", "o = True", "o = np.float64(2.5)")),
    "array of NumPy": ("o = np.array([2.0, 3.0])", ("o[0] = 5.0", "o = np.array([2, 3])", "o = np.array([2.0])")),
}  # fmt: skip
ASKS = (
    "len(o)", "1 if o else 2", "[v for v in o]", "[*o]", "{**o}", "2.0 in o", "'a' in o", "o == 2.0", "float(o)", "o[0]", "o['a']", "o[:1]", "o.a",
    "hasattr(o, 'c')", "getattr(o, 'c', 9.0)", "list(vars(o).items())", "any(o)", "sum(o)", "max(o)", "sorted(o, reverse=True)", "list(zip(o, o))",
    "list(map(str, o))", "list(enumerate(o))", "list(reversed(o))", "next(iter(o))", "len(repr(o))", "f'{o!s:>9}'", "list(o.keys())", "o.get('a')",
    "o.copy()", "o._value_", "o()", "-o", "o + o", "o * 2", "list(o.items())", "o.pop()", "o.append(1.0)", "isinstance(o, collections.abc.Sequence)",
    "type(o).__name__", "hash(o) == 3", "(lambda *a: a)(*o)", "(lambda **k: k)(**o)", "o and 2.0", "o.index(3.0)", "o.a.real", "[v for v in type(o)]",
)  # fmt: skip


@pytest.mark.crossed
@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize("world", WORLDS)
def test_whatever_is_asked_of_whatever_changes_is_answered_as_it_is_now(
    world: str, ask: str
) -> None:
    setup, changes = WORLDS[world]

    def story(compile: Any) -> list[str]:
        m = module(f"{IMPORTS}{setup}\ndef f(x):\n    return {ask}, x * 2")
        f, seen = compile(m.f), []
        for change in ("", *changes):
            with contextlib.suppress(Exception):  # of another object than it was made for
                exec(change, vars(m))  # noqa: S102
            seen += [in_words(f, numbers(1)) for _ in range(3)]
        return seen

    same_or_refused(story)


def in_words(function: Any, *args: Any) -> str:
    """What a function returns, or raises, without what differs between stories."""
    try:
        text = repr(function(*args))
    except TracingError:
        raise
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
    return re.sub(r"users_module_\d+|0x\w+", "", text)
