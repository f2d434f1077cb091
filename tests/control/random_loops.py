"""Random programs of loops and branches within each other: source text, and what to do with them.

`draw(seed)` writes a function `f(x, w)` of a state of three elements and a matrix. Its statements
go on from the variables that are there, so bodies close over arrays, other states, iteration
numbers and a parameter; the numbers are kept small, so that rounding stays what it is.
"""

from __future__ import annotations

import random
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import wengert as wg

MAPS = (
    "np.tanh({v})", "np.sin({v})", "{v} * {v} * 0.5", "{v} * 0.7 - {v} * 0.4", "{v}[::-1]",
    "np.tanh(w @ {v})", "{v} + {v}.sum() * 0.1", "{v} * {n} * 0.3", "{v} * w[{k}, {k}]",
    "np.cos({v} * {n})",
    "{v} / (1 + abs({v}) ** 2)", "np.where(abs({v}) > 0.4, {v}, {v} * 0.5)", "{v} * p",
    "np.cumsum({v}, 0) * 0.4", "np.exp(-abs({v}) ** 2) * {v}", "({v} + {i} * 0.1) * 0.6",
    "np.sqrt(1 + abs({v}) ** 2) * {v} * 0.5",
    "{v}[{k}] * {v}", "np.stack([{v}[0], {v}[1], {v}[{k}]])", "np.roll({v}, 1)",
    "np.concatenate([{v}[:2], {v}[2:]])",
)  # fmt: skip
REAL = (
    "np.maximum({v}, {v} * 0.3)", "np.max({v}) * {v} * 0.4", "np.sort({v}, 0)",
    "{v}.clip(-0.5, 0.8)",
    "np.log(1 + {v} * {v})", "np.minimum({v}, {n})", "np.arctan2({v}, 1 + {v} * {v})",
    "{v}[np.argmax({v}.reshape(3, -1)[:, 0])] * {v}",
)  # fmt: skip
TESTS = (
    "({n} > 0.2)", "(abs({v}).mean() < 0.5)", "(abs({v}[{k}]).mean() > 0.3)", "({i} > 1)",
    "((abs({v}) > 0.3).any())",
)  # fmt: skip
DTYPES = ("float64", "float64", "float64", "float32", "complex128")
WAYS = (
    "plain", "grad", "grad", "later", "jvp", "twice", "vmap", "vmap of grad", "jvp of grad",
    "grad of jvp",
)  # fmt: skip


@dataclass
class Program:
    """A drawn function and how it is called."""

    seed: int
    source: str
    dtype: np.dtype
    way: str
    width: int = 0
    """How many such states lie side by side; 0 for one."""

    def function(self) -> Callable[..., Any]:
        names: dict[str, Any] = {"np": np, "wg": wg, "p": self._parameter()}
        exec(compile(self.source, f"<loops {self.seed}>", "exec"), names)  # noqa: S102
        return names["f"]

    def _parameter(self) -> Any:
        p = np.array([0.4, -0.7, 0.9], self.dtype)
        return wg.nn.Parameter(wg.tensor(p[:, None] if self.width else p))

    def arguments(self, call: int) -> list[np.ndarray]:
        rng = np.random.default_rng([self.seed, call])
        batch = (2,) if self.way.startswith("vmap") else ()
        shape = (*batch, 3, self.width) if self.width else (*batch, 3)
        return [self._data(rng, shape), self._data(rng, (3, 3)) * 0.5]

    def _data(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        x = rng.normal(size=shape)
        if self.dtype.kind == "c":
            x = (x + 1j * rng.normal(size=shape)) * 0.7
        return x.astype(self.dtype)

    @property
    def tolerance(self) -> float:
        return 1e-8 if self.dtype.name != "float32" else 2e-3

    def made(self, compiler: Callable[[Any], Any] = lambda f: f) -> Callable[[list[Any]], Any]:
        """Takes the arguments of a call: all results, as arrays."""
        f = self.function()
        if self.way == "later":
            compiled = compiler(f)
            return lambda given: _later(compiled, given)
        run = compiler(_in_a_way(f, self.way))
        return lambda given: _flat(run(*given))


def _size(y: Any) -> Any:
    """A real number of which the derivative is taken."""
    return (abs(y + 1.3) ** 2).sum()


def _loss(f: Any) -> Any:
    return lambda x, w: _size(f(x, w))


def _pushed(f: Any) -> Any:
    return lambda x, w: wg.jvp(lambda x, w: f(x, w), (x, w), (np.ones_like(x), w * 0.5))[1]


def _slope(f: Any) -> Any:
    return wg.grad(f, (0, 1))


def _sums(f: Any) -> Any:
    """A number of several results."""
    return lambda x, w: sum((abs(g - 0.2) ** 2).sum() for g in f(x, w))


def _in_a_way(f: Any, way: str) -> Any:
    made: dict[str, Callable[[], Any]] = {
        "plain": lambda: f,
        "grad": lambda: _slope(_loss(f)),
        "jvp": lambda: _pushed(f),
        "twice": lambda: _slope(_sums(_slope(_loss(f)))),
        "vmap": lambda: wg.vmap(f, (0, None)),
        "vmap of grad": lambda: wg.vmap(_slope(_loss(f)), (0, None)),
        "jvp of grad": lambda: _pushed(_slope(_loss(f))),
        "grad of jvp": lambda: _slope(_loss(_pushed(f))),
    }
    return made[way]()


def _later(f: Any, given: list[Any]) -> list[np.ndarray]:
    """The derivative of a call, after it."""
    leaves = [wg.tensor(a, requires_grad=True) for a in given]
    y = f(*leaves)
    seed = y.detach() + 1.3  # little work beside the call's own, whose memory is measured
    gs = wg.autograd.grad(y, leaves, seed, allow_unused=True, materialize_grads=True)
    return _flat((y, *gs))


def _flat(made: Any) -> list[np.ndarray]:
    if isinstance(made, tuple | list):
        return [a for y in made for a in _flat(y)]
    return [np.array(made.detach() if isinstance(made, wg.Tensor) else made)]


def draw(seed: int, width: int = 0) -> Program:
    chosen = random.Random(seed)
    dtype = np.dtype(chosen.choice(DTYPES))
    way = chosen.choice(WAYS)
    writer = _Writer(chosen, dtype.kind == "f", draws=not way.startswith("vmap"))
    text, name = writer.function("x, w", writer.body(["x"], [], chosen.choice((1, 2, 2, 3))))
    source = f"{text}def f(x, w):\n    return {name}(x, w) + 0.1 * x * w[0, 0]\n"
    return Program(seed, source, dtype, way, width)


class _Writer:
    """Writes statements; `vectors` and `counts` are the names that are there."""

    def __init__(self, chosen: random.Random, real: bool, draws: bool) -> None:
        self.chosen = chosen
        self.maps = MAPS + (REAL if real else ())
        self.draws = draws
        self.made = 0

    def name(self, letter: str = "v") -> str:
        self.made += 1
        return f"{letter}{self.made}"

    def fill(self, text: str, vectors: list[str], counts: list[str]) -> str:
        while "{v}" in text:
            recent = vectors[-3:] if self.chosen.random() < 0.7 else vectors
            text = text.replace("{v}", self.chosen.choice(recent), 1)
        text = text.replace("{k}", str(self.chosen.randrange(3)))
        number = f"abs({self.chosen.choice(vectors)}[{self.chosen.randrange(3)}]).mean()"
        text = text.replace("{n}", number)
        return text.replace("{i}", self.chosen.choice([*counts, "2"]))

    def body(self, vectors: list[str], counts: list[str], depth: int) -> str:
        """Statements, of which the last returns a vector."""
        lines, vectors = [], list(vectors)
        for _ in range(self.chosen.choice((1, 1, 2, 3))):
            text, name = self.statement(vectors, counts, depth)
            lines.append(text)
            vectors.append(name)
        if self.chosen.random() < 0.3:
            return "\n".join([*lines, self.fill("return {v} * 0.6 + {v} * 0.3", vectors, counts)])
        return "\n".join([*lines, f"return {vectors[-1]}"])

    def statement(self, vectors: list[str], counts: list[str], depth: int) -> tuple[str, str]:
        kinds = [self._map] if depth == 0 else [self._map, *self._loops()]
        return self.chosen.choice(kinds)(vectors, counts, depth)

    def _loops(self) -> list[Any]:
        return [
            self._map, self._fori, self._fori, self._scan, self._scan, self._while, self._while,
            self._mapped, self._cond, self._cond, self._switch, self._prefixes, self._range,
            self._inner, self._apart, *([self._draw] if self.draws else []),
        ]  # fmt: skip

    def _map(self, vectors: list[str], counts: list[str], depth: int) -> tuple[str, str]:
        name = self.name()
        return f"{name} = {self.fill(self.chosen.choice(self.maps), vectors, counts)}", name

    def _draw(self, vectors: list[str], counts: list[str], depth: int) -> tuple[str, str]:
        name, drawn = self.name(), "{v} + wg.rand({v}.shape).numpy() * 0.1"
        return f"{name} = {self.fill(drawn, vectors, counts)}", name

    def function(self, parameters: str, body: str) -> tuple[str, str]:
        """The text of a function, and its name."""
        name = self.name("f")
        return f"def {name}({parameters}):\n{textwrap.indent(body, '    ')}\n", name

    def _count(self) -> int:
        return self.chosen.choice((0, 1, 2, 3, 4, 5, 7))

    def _fori(self, vectors: list[str], counts: list[str], depth: int) -> tuple[str, str]:
        i, h, name = self.name("i"), self.name("h"), self.name()
        inner = self.body([*vectors, h], [*counts, i], depth - 1)
        text, f = self.function(f"{i}, {h}", inner)
        low = self.chosen.choice((0, 0, 2))
        start = self.fill("{v}", vectors, counts)
        return f"{text}{name} = wg.fori_loop({low}, {low + self._count()}, {f}, {start} * 1)", name

    def _rows(self, vectors: list[str], counts: list[str], n: int) -> str:
        """An expression of n rows."""
        parts = [self.fill("{v} * {n}", vectors, counts) for _ in range(n)]
        return f"np.stack([{', '.join(parts)}])" if n else "np.zeros((0, 3))"

    def _scan(self, vectors: list[str], counts: list[str], depth: int) -> tuple[str, str]:
        c, r, i, name, ys = (self.name(k) for k in ("c", "r", "i", "v", "ys"))
        n, numbered = self.chosen.choice((1, 2, 3, 5)), self.chosen.random() < 0.4
        inner = self.body([*vectors, c, r], [*counts, *([i] if numbered else [])], depth - 1)
        given = f"{c}, {r}" if not numbered else f"{c}, pair"
        if numbered:
            inner = f"{r}, {i} = pair\n{inner}"
        lines = inner.splitlines()
        result = lines.pop().removeprefix("return ")
        shown = self.fill(self.chosen.choice(("{v}", "{v}.sum()", "({v}, {v} * 2)")), [c, r], [])
        lines.append(f"return ({result}) * 0.8, {shown}")
        text, f = self.function(given, "\n".join(lines))
        rows = self._rows(vectors, counts, n)
        rows = f"({rows}, np.arange({n}))" if numbered else rows
        reverse = self.chosen.random() < 0.4
        start = self.fill("{v}", vectors, counts)
        text += f"{name}, {ys} = wg.scan({f}, {start} * 1, {rows}, reverse={reverse})\n"
        if "(" in shown and not shown.endswith("()"):
            ys = f"{ys}[{self.chosen.randrange(2)}]"
        read = self.chosen.choice(("{y}.sum(0)", "{y}[-1]", "{y}[0]", "0"))
        return f"{text}{name} = {name} * 0.6 + 0.2 * {read.format(y=ys)}", name

    def _while(self, vectors: list[str], counts: list[str], depth: int) -> tuple[str, str]:
        s, name, i, h = (self.name(k) for k in ("s", "v", "i", "h"))
        draws, self.draws = self.draws, False  # a derivative would run them again
        inner = self.body([*vectors, h], [*counts, i], depth - 1).splitlines()
        self.draws = draws
        result = inner.pop().removeprefix("return ")
        lines = [f"{h}, {i} = {s}", *inner, f"return {result}, {i} + 1"]
        text, f = self.function(s, "\n".join(lines))
        large, small = f" & (abs({s}[0]).mean() < 0.9)", f" & (abs({s}[0][0]).mean() > 0.1)"
        size = self.chosen.choice(("", large, small))
        start = self.fill("{v}", vectors, counts)
        test = f"lambda {s}: ({s}[1] < {self._count()}){size}"
        return f"{text}{name} = wg.while_loop({test}, {f}, ({start} * 1, 0))[0]", name

    def _mapped(self, vectors: list[str], counts: list[str], depth: int) -> tuple[str, str]:
        r, name = self.name("r"), self.name()
        text, f = self.function(r, self.body([*vectors, r], counts, depth - 1))
        rows = self._rows(vectors, counts, self.chosen.choice((1, 2, 4)))
        how = self.chosen.choice(("map", "map", "vmap"))
        run = f"wg.map({f}, {rows})" if how == "map" or self.draws else f"wg.vmap({f})({rows})"
        return f"{text}{name} = {run}.sum(0) * 0.4", name

    def _cond(self, vectors: list[str], counts: list[str], depth: int) -> tuple[str, str]:
        a, name = self.name("a"), self.name()
        one, f = self.function(a, self.body([*vectors, a], counts, depth - 1))
        two, g = self.function(a, self.body([*vectors, a], counts, depth - 1))
        test = self.fill(self.chosen.choice(TESTS), vectors, counts)
        operand = self.fill("{v}", vectors, counts)
        return f"{one}{two}{name} = wg.cond({test}, {f}, {g}, {operand}) * 1", name

    def _switch(self, vectors: list[str], counts: list[str], depth: int) -> tuple[str, str]:
        a, name = self.name("a"), self.name()
        parts = [self.function(a, self.body([*vectors, a], counts, depth - 1)) for _ in range(3)]
        index = self.fill(
            self.chosen.choice(("{i}", "(abs({v}) > 0.4).sum()", "np.argmax(abs({v}))")),
            vectors,
            counts,
        )
        functions = ", ".join(f for _, f in parts)
        operand = self.fill("{v}", vectors, counts)
        text = "".join(text for text, _ in parts)
        return f"{text}{name} = wg.switch({index}, [{functions}], {operand}) * 1", name

    def _prefixes(self, vectors: list[str], counts: list[str], depth: int) -> tuple[str, str]:
        name = self.name()
        rows = self._rows(vectors, counts, self.chosen.choice((1, 2, 3, 5)))
        fn = "lambda a, b: " + self.chosen.choice(("a + b", "a * b", "a + b + a * b"))
        given = f"{fn}, {rows} * 0.5, reverse={self.chosen.random() < 0.3}"
        return f"{name} = wg.associative_scan({given}).sum(0) * 0.3", name

    def _range(self, vectors: list[str], counts: list[str], depth: int) -> tuple[str, str]:
        """A loop of Python's, long enough to be one statement, or short."""
        i, h = self.name("i"), self.name("h")
        inner = self.body([*vectors, h], [*counts, i], min(depth - 1, 1)).splitlines()
        result = inner.pop().removeprefix("return ")
        inner.append(f"{h} = ({result}) * 0.9")
        start = self.fill("{v}", vectors, counts)
        n = self.chosen.choice((3, 66)) if depth >= 2 else 3
        body = textwrap.indent("\n".join(inner), "    ")
        return f"{h} = {start} * 1\nfor {i} in range({n}):\n{body}", h

    def _inner(self, vectors: list[str], counts: list[str], depth: int) -> tuple[str, str]:
        """A derivative within the program."""
        a, name = self.name("a"), self.name()
        text, f = self.function(a, self.body([*vectors, a], counts, min(depth - 1, 1)))
        at = self.fill("{v}", vectors, counts)
        run = self.chosen.choice(
            (
                f"wg.grad(lambda {a}: (abs({f}({a}) + {a} + 0.5) ** 2).sum())({at})",
                f"wg.jvp(lambda {a}: {f}({a}) + {a} * 0.1, ({at} * 1,), ({at} * 0.5,))[1]",
            )
        )
        return f"{text}{name} = np.tanh({run} * 0.3)", name

    def _apart(self, vectors: list[str], counts: list[str], depth: int) -> tuple[str, str]:
        """A number and its derivative, each asked for by itself, the second in a branch or not."""
        a, name = self.name("a"), self.name()
        text, f = self.function(a, self.body([*vectors, a], counts, min(depth - 1, 1)))
        loss = f"lambda {a}: (abs({f}({a}) * 0.8 + {a}) ** 2).sum()"
        at, test = self.fill("{v}", vectors, counts), self.chosen.choice(TESTS)
        text += f"{name} = {at} * 1\nvalue = ({loss})({name})\n"
        slope = f"wg.grad({loss})({name})"
        if self.chosen.random() < 0.7:
            test = self.chosen.choice(
                (f"value < {self._count()}", self.fill(test, vectors, counts))
            )
            slope = f"wg.cond({test}, lambda: {slope} * 1, lambda: {name} * 0.4)"
        return f"{text}{name} = np.tanh({slope} * 0.3) + {name} * np.cos(value) * 0.2", name
