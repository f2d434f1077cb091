"""An observed function does what the function does, and each read and write outside is told."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib.util
import io
import json.encoder
import os
import random
import statistics
import sys
import textwrap
import threading
import traceback
import types
from collections import deque
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from wengert.compile.trace.observe import MISSING, Observer, rewrite
from wengert.compile.trace.observe.users import is_users_code
from wengert.history.location import line_number


class Recorder(Observer):
    """Keeps what it is told, as (kind, owner in words, key, value)."""

    def __init__(self, *files: str) -> None:
        super().__init__()
        self.files = files
        self.reads: list = []
        self.writes: list = []
        self.unobserved: list = []

    def on_read(self, read):
        self.reads.append(read)
        return read.value

    def on_write(self, write):
        self.writes.append(write)

    def on_unobserved(self, ran):
        self.unobserved.append(ran)

    def is_users(self, code, namespace):
        return code.co_filename in self.files or is_users_code(code, namespace)

    def read(self, kind, key=None):
        """The owner and the value of the one read of a kind and a key."""
        ((owner, value),) = [
            (r.owner, r.value) for r in self.reads if r.kind == kind and r.key == key
        ]
        return owner, value

    def wrote(self, kind, key=None):
        ((owner, before, after),) = [
            (w.owner, w.before, w.after) for w in self.writes if w.kind == kind and w.key == key
        ]
        return owner, before, after


def observe(function, *args, **named):
    observer = Recorder()
    observer.run(function, *args, **named)
    return observer


# ---- reads ---------------------------------------------------------------------------------------

SCALE = 2.0
LAYERS = [3, 4, 5]
TABLE = {"k": 1, "l": [1, 2]}
ARRAY = np.arange(3.0)
MODULE = types.ModuleType("configuration")
MODULE.rate = 0.1


class Configuration:
    step = 0.5

    def __init__(self):
        self.width = 3
        self.nested = types.SimpleNamespace(depth=2)

    @property
    def area(self):
        return self.width * SCALE

    def grown(self, by=1):
        return self.width + by


class Slotted:
    __slots__ = ("x",)


class Called:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, x):
        return x * self.factor


CONFIGURATION = Configuration()


def helper(x, power=2, *, shift=1):
    return x**power + shift


def test_globals_are_read_with_their_namespace():
    observer = observe(lambda: SCALE * 2)
    assert observer.read("global", "SCALE") == (globals(), 2.0)


def test_a_module_s_attribute_is_its_global():
    observer = observe(lambda: MODULE.rate)
    owner, value = observer.read("global", "rate")
    assert owner is vars(MODULE)
    assert value == 0.1


def test_cells_are_read_as_cells():
    n = 3
    observer = observe(lambda: n + 1)
    owner, value = observer.read("cell", "n")
    assert owner.cell_contents == value == 3


def test_a_cell_of_an_inner_function_is_no_outside():
    def f():
        n = 3
        return (lambda: n + 1)()

    assert [r.kind for r in observe(f).reads] == ["code"]


def test_attributes_are_read_with_their_owner_through_any_chain():
    observer = observe(lambda: CONFIGURATION.nested.depth + CONFIGURATION.step)
    assert observer.read("attribute", "depth") == (CONFIGURATION.nested, 2)
    assert observer.read("attribute", "step") == (CONFIGURATION, 0.5)
    assert observer.words(CONFIGURATION.nested) == "CONFIGURATION.nested"


def test_slots_are_attributes_too():
    x = Slotted()
    x.x = 4
    observer = observe(lambda s: s.x, x)
    assert observer.read("attribute", "x") == (x, 4)


def test_behind_a_property_its_code_is_observed():
    observer = observe(lambda: CONFIGURATION.area)
    assert observer.read("attribute", "area") == (Configuration, vars(Configuration)["area"])
    assert observer.read("attribute", "width") == (CONFIGURATION, 3)
    assert observer.read("global", "SCALE")[1] == 2.0
    assert not observer.unobserved


def test_a_function_that_is_called_is_read_code_and_defaults():
    observer = observe(lambda: helper(2) + CONFIGURATION.grown())
    assert (helper, helper.__code__) in [(r.owner, r.value) for r in observer.reads]
    assert observer.read("default", "power") == (helper, 2)
    assert observer.read("default", "shift") == (helper, 1)
    assert observer.read("default", "by") == (Configuration.grown, 1)


def test_a_partial_is_read_with_what_it_holds():
    partial = functools.partial(helper, shift=7)
    observer = observe(lambda: partial(3))
    assert observer.read("attribute", "func") == (partial, helper)
    owners = [r.owner for r in observer.reads if r.kind == "contents"]
    assert partial.keywords in owners


def test_items_are_read_by_key():
    observer = observe(lambda: TABLE["k"] + TABLE["l"][1])
    assert observer.read("item", "k") == (TABLE, 1)
    assert observer.read("item", 1) == (TABLE["l"], 2)
    assert observer.words(TABLE["l"]) == "TABLE['l']"


def test_the_environment_is_read_by_key(monkeypatch):
    monkeypatch.setenv("OBSERVED", "yes")
    observer = observe(lambda: os.environ["OBSERVED"])
    assert observer.read("item", "OBSERVED") == (os.environ, "yes")


def test_items_of_arrays_are_read():
    observer = observe(lambda: float(ARRAY[1]) + ARRAY.sum())
    assert observer.read("item", 1)[0] is ARRAY
    assert observer.read("attribute", "sum")[0] is ARRAY


@pytest.mark.parametrize(
    "f",
    [
        lambda: [x + 1 for x in LAYERS],
        lambda: sum(LAYERS),
        lambda: max(LAYERS),
        lambda: sorted(LAYERS),
        lambda: list(LAYERS),
        lambda: [*LAYERS],
        lambda: helper(*LAYERS[:1]),
        lambda: 4 in LAYERS,
        lambda: LAYERS == [3, 4, 5],
        lambda: LAYERS + LAYERS[:0],
        lambda: LAYERS * 2,
        lambda: LAYERS.index(4),
        lambda: LAYERS.count(4),
        lambda: LAYERS.copy(),
        lambda: list(enumerate(LAYERS)),
        lambda: list(zip(LAYERS, [1, 2, 3], strict=True)),
        lambda: list(map(str, LAYERS)),
        lambda: list(reversed(LAYERS)),
        lambda: any(LAYERS) and all(LAYERS),
        lambda: np.array(LAYERS),
        lambda: f"{LAYERS}",
        lambda: str(LAYERS),
        lambda: next(iter(LAYERS)),
        lambda: (lambda a, b, c: a)(*LAYERS),
        lambda: json.dumps({"a": 1}) and json.dumps(LAYERS),
    ],
)
def test_who_goes_through_a_container_reads_its_contents(f):
    observer = observe(f)
    assert observer.read("contents") == (LAYERS, (3, 4, 5))


@pytest.mark.parametrize(
    "f",
    [
        lambda: TABLE.items(),
        lambda: TABLE.keys(),
        lambda: list(TABLE),
        lambda: {**TABLE},
        lambda: dict(TABLE),
        lambda: TABLE | {},
        lambda: {}.update(TABLE),
    ],
)
def test_a_dictionary_s_contents_are_keys_and_values(f):
    whole = [r.value for r in observe(f).reads if r.kind == "contents" and r.owner is TABLE]
    assert whole == [("k", "l", 1, [1, 2])]


def test_what_was_gone_through_is_outside_in_turn():
    def f():
        for layer in HOLDERS:
            layer.factor
        return [value.factor for _, value in enumerate(HOLDERS)]

    HOLDERS[:] = [Called(2)]
    observer = observe(f)
    assert observer.read("attribute", "factor") == (HOLDERS[0], 2)
    assert observer.words(HOLDERS[0]) == "HOLDERS[0]"


HOLDERS: list = []


@pytest.mark.parametrize("f", [lambda: len(LAYERS), lambda: not LAYERS, lambda: 1 if LAYERS else 2])
def test_the_length_alone_may_be_read(f):
    observer = observe(f)
    assert observer.read("length") == (LAYERS, 3)
    assert "contents" not in [r.kind for r in observer.reads]


def test_presence_is_read():
    observer = observe(lambda: ("k" in TABLE, "z" not in TABLE, hasattr(CONFIGURATION, "zz")))
    assert observer.read("has", "k") == (TABLE, True)
    assert observer.read("has", "z") == (TABLE, False)
    assert observer.read("has", "zz") == (CONFIGURATION, False)


def test_get_and_getattr_read_one_value():
    observer = observe(lambda: TABLE.get("k") + getattr(CONFIGURATION, "width"))  # noqa: B009
    assert observer.read("item", "k") == (TABLE, 1)
    assert observer.read("attribute", "width") == (CONFIGURATION, 3)


def test_the_class_of_an_object_is_read():
    observer = observe(lambda: isinstance(CONFIGURATION, Slotted))
    assert observer.read("class") == (CONFIGURATION, Configuration)


def test_what_a_library_gets_is_told():
    generator = random.Random(1)
    observer = observe(lambda: generator.random() + random.random())
    owners = [r.owner for r in observer.reads if r.kind == "call"]
    assert owners == [generator, random.random.__self__]


def test_attributes_through_super():
    class Child(Configuration):
        def grown(self):
            return super().grown() + super().step

    child = Child()
    observer = observe(child.grown)
    owner, value = observer.read("attribute", "step")
    assert owner.__self__ is child
    assert value == 0.5


def test_what_the_program_makes_is_its_own():
    def f():
        made = [1, 2]
        made.append(3)
        box = types.SimpleNamespace(a=made)
        box.b = len(box.a)
        return sum(made) + made[0] + box.b

    kinds = {r.kind for r in observe(f).reads}
    assert kinds == {"code", "global"}


def test_what_is_seen_may_stand_for_the_value():
    class Lifts(Recorder):
        def on_read(self, read):
            return 100.0 if read.key == "SCALE" else read.value

    assert Lifts().run(lambda: SCALE + SCALE) == 200.0


# ---- writes --------------------------------------------------------------------------------------

COUNT = 0


def test_globals_that_are_written():
    def f():
        global COUNT
        COUNT += 1
        return COUNT

    observer = observe(f)
    assert observer.read("global", "COUNT")[1] == observer.wrote("global", "COUNT")[1]
    assert observer.wrote("global", "COUNT")[2] == COUNT


def test_cells_that_are_written():
    n = 1

    def f():
        nonlocal n
        n += 1

    observer = observe(f)
    assert observer.wrote("cell", "n")[1:] == (1, 2)
    assert n == 2


def test_attributes_and_items_that_are_written_and_deleted():
    x, d = Configuration(), {"a": 1}

    def f(x, d):
        x.width = 5
        x.new = 6
        d["b"] = 2
        del d["a"], x.nested
        setattr(x, "late", 7)  # noqa: B010
        return x.width + x.new + d["b"]

    nested = x.nested
    observer = observe(f, x, d)
    assert observer.wrote("attribute", "width") == (x, 3, 5)
    assert observer.wrote("attribute", "new") == (x, MISSING, 6)
    assert observer.wrote("attribute", "nested") == (x, nested, MISSING)
    assert observer.wrote("attribute", "late") == (x, MISSING, 7)
    assert observer.wrote("item", "b") == (d, MISSING, 2)
    assert observer.wrote("item", "a") == (d, 1, MISSING)
    assert [r for r in observer.reads if r.kind in ("item", "attribute")] == []


@pytest.mark.parametrize(
    ("container", "change"),
    [
        ([1], lambda x: x.append(2)),
        ([2, 1], lambda x: x.sort(key=lambda v: v)),
        ({}, lambda x: x.update(a=1)),
        ({}, lambda x: x.setdefault("a", 1)),
        ({1}, lambda x: x.add(2)),
        (deque([1], maxlen=1), lambda x: x.append(2)),
        ([1], lambda x: list.append(x, 2)),
    ],
)
def test_methods_that_change_a_container_have_written(container, change):
    before = list(container)
    observer = observe(change, container)
    (write,) = observer.writes
    assert (write.kind, write.owner) == ("call", container)
    assert list(write.before[: len(before)]) == before
    assert container != type(container)(before)


def test_a_change_alone_reads_no_contents_and_a_later_look_reads_those_of_before():
    log = [1]
    assert [r.kind for r in observe(lambda x: x.append(2), log).reads if r.kind == "contents"] == []

    def f(x):
        x.append(3)
        return sum(x)

    assert observe(f, log).read("contents") == (log, (1, 2))


def test_in_place_operators_write():
    def f(array, numbers):
        array += 1
        numbers += [2]

    array, numbers = np.zeros(2), [1]
    observer = observe(f, array, numbers)
    assert [(w.kind, w.owner is array or w.owner is numbers, w.key) for w in observer.writes] == [
        ("in place", True, "add"),
        ("in place", True, "add"),
    ]
    assert numbers == [1, 2]


def test_an_array_s_items_that_are_written():
    array = np.zeros(2)

    def f(x):
        x[0] = 1

    owner, _, after = observe(f, array).wrote("item", 0)
    assert owner is array
    assert after == 1


# ---- what runs unobserved ------------------------------------------------------------------------


class Shown:
    def __repr__(self):
        return f"Shown({SCALE})"


def test_code_that_a_library_finds_by_itself_is_detected_with_the_line():
    hidden = types.FunctionType((lambda x: x * SCALE).__code__, {"SCALE": 2.0})
    space = {"hidden": hidden, "__name__": "textwrap", "__file__": textwrap.__file__}
    library = types.FunctionType(compile("hidden(3)", textwrap.__file__, "eval"), space)
    observer = observe(lambda: library())
    (ran,) = observer.unobserved
    assert ran.code is hidden.__code__
    here = test_code_that_a_library_finds_by_itself_is_detected_with_the_line
    assert line_number(ran.caller, ran.at) == here.__code__.co_firstlineno + 4


def test_methods_that_c_calls_are_observed():
    observer = observe(lambda: str(Shown()))
    assert "SCALE" in [r.key for r in observer.reads]
    assert observer.unobserved == []
    assert Shown.__repr__.__code__.co_filename == __file__


class Vector:
    def __init__(self, x):
        self.x = x

    def __add__(self, other):
        return Vector(self.x + (other.x if isinstance(other, Vector) else other))

    __radd__ = __add__

    def __eq__(self, other):
        return self.x == other.x

    __hash__ = None

    def __len__(self):
        return 3

    def __iter__(self):
        yield self.x

    def __contains__(self, item):
        return item == self.x

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return name

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return error[0] is KeyError

    def __call__(self, f):
        return f(self.x)


def test_special_methods_are_observed():
    def f(v):
        w = 1 + (v + v + 1)
        with v:
            raise KeyError
        (x,) = v
        return w.x, w == v, len(v), x, 3 in v, v.anything, v(lambda a: a + 1), bool(v), [*v]

    observer = Recorder()
    v = Vector(2)
    assert observer.run(f, v) == (6, False, 3, 2, False, "anything", 3, True, [2])
    assert observer.unobserved == []


@pytest.mark.parametrize(
    "f",
    [
        lambda: list(map(helper, [1, 2])),
        lambda: sorted([1, 2], key=helper),
        lambda: functools.reduce(lambda a, b: a + helper(b), [1, 2]),
        lambda: max([1, 2], key=lambda x: helper(x)),
        lambda: wg.grad(lambda x: helper(x).sum())(wg.tensor([1.0])),
        lambda: decorated(3),
    ],
)
def test_functions_that_are_given_to_libraries_are_observed(f):
    observer = observe(f)
    assert observer.read("default", "power") == (helper, 2)
    assert observer.unobserved == []


@contextlib.contextmanager
def managed(x):
    yield helper(x)


def decorated(x):
    with managed(x) as y:
        return y


# ---- an observed function does what the function does --------------------------------------------


def outcome(call):
    """What comes of a call: result or error with its place, and what it prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            result = "returned", call()
        except Exception as error:
            steps = traceback.extract_tb(error.__traceback__)
            ours = [(s.name, s.lineno) for s in steps if s.filename == __file__]
            result = type(error), str(error), [s for s in ours if s[0] not in _HARNESS]
    return result, out.getvalue()


_HARNESS = {"outcome", "<lambda>"}


def scopes():
    total = 0

    def add(n):
        nonlocal total
        total += n
        return locals()

    kept = [add(i) for i in range(3)]
    names = sorted(locals())
    return kept, names, [(a, b) for a in range(2) for b in range(a)], dict.fromkeys("ab", total)


def generators():
    def inner():
        try:
            got = yield 1
            yield got
        finally:
            print("closed")

    def outer():
        yield from inner()
        yield from (x * x for x in range(3))

    g = outer()
    first = next(g)
    return first, g.send(5), list(g), tuple(i for i in range(3) if i)


def handlers():
    out = []
    for action in (lambda: 1 / 0, lambda: {}["k"], lambda: None.missing, lambda: undefined):  # noqa: F821
        try:
            action()
        except ZeroDivisionError as error:
            out.append(str(error))
        except (KeyError, AttributeError) as error:
            out.append(f"{error!r:>40}")
        except NameError as error:
            text = traceback.format_exc()
            out.append((str(error), "observe" in text.replace("test_observe", "")))
        else:
            out.append("no")
    return out


def classes():
    class Base:
        kind = SCALE

        def __init_subclass__(cls, tag=None):
            cls.tag = tag

        def name(self):
            return "base"

    class Derived(Base, tag="x"):
        def __init__(self, a, *, b=2):
            super().__init__()
            self.a, self.b = a, b

        def name(self):
            return "derived " + super().name()

        @classmethod
        def make(cls):
            return cls(1)

        @staticmethod
        def plain(x):
            return x

        @functools.cached_property
        def cached(self):
            print("once")
            return self.a

    @dataclass(order=True)
    class Point:
        x: int
        y: int = 3

        def __post_init__(self):
            self.z = self.x + self.y

    d = Derived.make()
    return d.name(), d.tag, d.kind, d.plain(4), d.cached + d.cached, Point(1) < Point(2), Point(1).z


def arguments():
    def f(a, b=2, *args, c, d=4, **rest):
        return a, b, args, c, d, rest

    more = {"c": 1, "z": 2}
    return f(1, **more), f(*[1, 2, 3], c=3), f(1, *(4,), *(5,), c=1, q=2), f(b=1, a=2, c=3)


def matching(x={"a": [1, 2], "b": 3}):  # noqa: B006
    match x:
        case {"a": [first, *others], **rest}:
            return first, others, rest
        case _:
            return None


def asynchronous():
    async def child(n):
        await asyncio.sleep(0)
        return n

    @contextlib.asynccontextmanager
    async def around():
        print("in")
        yield 3
        print("out")

    async def main():
        async with around() as n:
            values = [await child(i) async for i in counted(n)]
        return values

    async def counted(n):
        for i in range(n):
            yield i

    return asyncio.run(main())


def text_made_code():
    namespace = {"k": 2}
    exec("def f(x): return x * k", namespace)  # noqa: S102
    return namespace["f"](4) + eval("SCALE + 1")  # noqa: S307


def deep(n=150):
    return 0 if n == 0 else 1 + deep(n - 1)


def slices():
    x = list(range(10))
    x[2:4] = [9]
    del x[0], x[1:3]
    x[0] += 5
    (a, *b), c = x[:3], x[::2]
    return x, a, b, c, "abc"[1:], x[-1]


def assertions():
    assert len(LAYERS) == 4, f"has {len(LAYERS)}"


def wrong_call():
    return helper()


def wrong_star():
    return helper(*3)


def wrong_context():
    with 3:
        pass


def unbound():
    if SCALE < 0:
        x = 1
    return x


def sorts():
    return (
        sorted(TABLE, key=lambda k: -ord(k)),
        min(LAYERS, key=lambda v: -v),
        list(filter(lambda v: v > 3, LAYERS)),
    )


def walrus():
    return [y for x in LAYERS if (y := x * 2) > 6], y


def environment():
    return sys._getframe().f_code.co_name, sys._getframe().f_back is not None, __name__


PROGRAMS = [
    scopes,
    generators,
    handlers,
    classes,
    arguments,
    matching,
    asynchronous,
    text_made_code,
    deep,
    slices,
    assertions,
    wrong_call,
    wrong_star,
    wrong_context,
    unbound,
    sorts,
    walrus,
    environment,
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_observed_program_does_what_it_does(program):
    code = program.__code__
    assert outcome(lambda: Recorder().run(program)) == outcome(program)
    assert program.__code__ is code


TEXT = "It was the best of times, it was the worst of times.\n\n  A tale --- of two cities. " * 4


@pytest.mark.parametrize(
    ("module", "call"),
    [
        (textwrap, lambda: textwrap.fill(TEXT, 30)),
        (textwrap, lambda: textwrap.dedent(textwrap.indent(TEXT, "  "))),
        (statistics, lambda: statistics.linear_regression([1, 2, 3.5], [2, 3, 7])),
        (statistics, lambda: statistics.quantiles([1, 5, 2, 8, 3], n=3)),
        (statistics, lambda: statistics.mean([])),
        (
            json.encoder,
            lambda: "".join(
                json.encoder.JSONEncoder(indent=1).iterencode({"a": [1, {"b": None}], "c": 1.5})
            ),
        ),
        (json.encoder, lambda: json.encoder.JSONEncoder().encode({1: object})),
    ],
)
def test_python_s_own_modules_run_observed(module, call):
    observer = Recorder(module.__file__)
    plain, seen = outcome(call), outcome(lambda: observer.run(call))
    assert seen == plain
    assert observer.reads


EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.parametrize(
    "name",
    ["autograd_graph", "exponent_autograd", "inplace", "vector_jacobian", "modules", "kinks"],
)
def test_examples_run_observed(name, monkeypatch):
    def ran(how):
        monkeypatch.setattr(sys, "argv", [name])
        wg.manual_seed(0)
        np.random.seed(0)
        spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        return outcome(lambda: how(module.main))[1]

    assert ran(lambda main: Recorder().run(main)) == ran(lambda main: main())


# ---- nothing is left behind ----------------------------------------------------------------------


def test_a_copy_that_leaks_does_what_the_original_does():
    kept = []

    class Library:
        def __init__(self, function):
            kept.append(function)

    Library.__init__.__code__ = Library.__init__.__code__.replace(co_filename=textwrap.__file__)
    Recorder().run(lambda: Library(helper))
    assert kept[0](3) == helper(3)


def test_an_interrupt_leaves_nothing_behind():
    def f():
        raise KeyboardInterrupt

    profile = sys.getprofile()
    with pytest.raises(KeyboardInterrupt):
        Recorder().run(f)
    assert rewrite.THREAD.observer is None
    assert sys.getprofile() is profile


def test_other_threads_are_not_observed():
    seen = []

    def f():
        thread = threading.Thread(target=lambda: seen.append(SCALE))
        thread.start()
        thread.join()

    observer = observe(f)
    assert seen == [2.0]
    assert "SCALE" not in [r.key for r in observer.reads]


def test_methods_that_a_library_calls_are_observed():
    def library(configuration):
        return configuration.grown(2)

    library.__code__ = library.__code__.replace(co_filename=textwrap.__file__)
    observer = observe(lambda: library(CONFIGURATION))
    assert observer.read("attribute", "width") == (CONFIGURATION, 3)
    assert observer.unobserved == []


# ---- random programs -----------------------------------------------------------------------------

STATEMENTS = [
    "a = a + {n}",
    "a = a * G % 97",
    "b = [a, *L, {n}]",
    "L.append(a)",
    "L[{n} % len(L)] = a",
    "D['k{n}'] = a",
    "a += D.get('k{n}', {n})",
    "a += sum(b) % 13",
    "O.x = a",
    "O.x += {n}",
    "a += O.x",
    "del L[0]",
    "a += len(L) + ('k{n}' in D)",
    "a, *b = L",
    "G = a",
    "b = sorted(b, key=lambda v: (v * {n}) % 7)",
    "a += next((v for v in b if v > a), {n})",
    "a = h(a, k={n})",
    "a += h(*b[:1] or [1])",
    "a //= {n}",
    "b = {{v: a for v in b}}; b = list(b.values())",
    "print(a, b, f'{{a:>{n}}}')",
    "a = D.pop('k{n}', 1)",
    "a += int(b == L) + int(a is b)",
    "L = L[::-1]",
]
BLOCKS = [
    "for i in range({n}):",
    "if a % {m}:",
    "while a > {n} and a % 2: a //= 2\nif True:",
    "try:\n    a //= a % {m}\nexcept ZeroDivisionError as e:\n    print(e)\nfinally:",
    "with manager({n}) as w:",
    "def inner(v=a):\n    nonlocal a\n    a += v\n    return a\nb.append(inner())\nif b:",
    "for v in L[:9]:",
    "match b:\n    case [x, *_]: a += x\n    case _: a = 1\nif a:",
]


def random_program(seed: int) -> str:
    draw = random.Random(seed)

    def block(depth: int, indent: str) -> list[str]:
        lines = []
        for _ in range(draw.randrange(2, 6)):
            n, m = draw.randrange(9), draw.randrange(1, 5)
            if depth and draw.random() < 0.35:
                head = draw.choice(BLOCKS).format(n=n, m=m)
                lines += [indent + line for line in head.split("\n")]
                lines += block(depth - 1, indent + "    ")
            else:
                lines.append(indent + draw.choice(STATEMENTS).format(n=n))
        return lines

    return "\n".join(
        ["def f(a):", "    global G, L", "    b = [a]", *block(3, "    "), "    return a, b"]
    )


def world() -> dict:
    @contextlib.contextmanager
    def manager(n):
        print("enter", n)
        yield n
        print("exit", n)

    def h(x, k=2, *, m=1):
        return x + k * m

    return {
        "G": 3,
        "L": [1, 2, 3],
        "D": {"k1": 1},
        "O": types.SimpleNamespace(x=1),
        "h": h,
        "manager": manager,
        "__name__": "world",
    }


def ran(source: str, run) -> tuple:
    namespace = world()
    exec(compile(source, "<program>", "exec"), namespace)  # noqa: S102
    result = outcome(lambda: run(namespace["f"], 5))
    return result, namespace["G"], namespace["L"], namespace["D"], namespace["O"].x


@pytest.mark.parametrize("seed", range(120))
def test_random_programs_run_observed_as_they_run(seed):
    source = random_program(seed)
    try:
        code = compile(source, "<program>", "exec")
    except SyntaxError:
        code = None
    if code is not None:
        plain = ran(source, lambda f, *args: f(*args))
        assert ran(source, lambda f, *args: Recorder().run(f, *args)) == plain, source
