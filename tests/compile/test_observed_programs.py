"""An observed function does what the function does: its results, its errors, what it prints."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib.util
import io
import json.encoder
import random
import statistics
import sys
import textwrap
import traceback
import types
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from tests.compile.observers import Recorder

SCALE = 2.0
LAYERS = [3, 4, 5]
TABLE = {"k": 1, "l": [1, 2]}


def helper(x, power=2, *, shift=1):
    return x**power + shift


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
SHORT = {"exponent_autograd": ["--epochs", "20"]}


@pytest.mark.parametrize(
    "name",
    ["autograd_graph", "exponent_autograd", "inplace", "vector_jacobian", "modules", "kinks"],
)
def test_examples_run_observed(name, monkeypatch):
    def ran(how):
        monkeypatch.setattr(sys, "argv", [name, *SHORT.get(name, [])])
        wg.manual_seed(0)
        np.random.seed(0)
        spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        return outcome(lambda: how(module.main))[1]

    assert ran(lambda main: Recorder().run(main)) == ran(lambda main: main())


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


SEEDS = [pytest.param(seed, marks=[pytest.mark.sweep] * (seed % 5 != 0)) for seed in range(120)]


@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs_run_observed_as_they_run(seed):
    source = random_program(seed)
    try:
        code = compile(source, "<program>", "exec")
    except SyntaxError:
        code = None
    if code is not None:
        plain = ran(source, lambda f, *args: f(*args))
        assert ran(source, lambda f, *args: Recorder().run(f, *args)) == plain, source
