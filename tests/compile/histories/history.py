"""Random histories: a small world, a step over it, calls of it and changes of the world between.

A history is text: a module that makes a world, and the statements that run in it one after
another. It runs eagerly and compiled; after each statement everything that can be seen of the
world is compared. A history that fails is made smaller by leaving out statements and pieces.
"""

# ruff: noqa: E501  (texts of programs read best whole)
from __future__ import annotations

import array
import builtins
import collections
import decimal
import enum
import functools
import gc
import itertools
import linecache
import random
import re
import types
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import wengert as wg
from tests.compile.histories.pieces import CALLS, PRELUDE, Piece, piece
from tests.compile.stories import alike, module, noted
from wengert import nn, optim
from wengert.errors import TracingError

TOLERANCE = 3e-4
LARGE = 1e6
"""Histories whose numbers grow beyond end there: rounding would be all."""


@dataclass(frozen=True)
class Event:
    """A statement between the calls, or a call."""

    kind: str
    text: str
    piece: int | None = None  # whose world it changes


@dataclass(frozen=True)
class History:
    seed: int
    form: str
    pieces: tuple[tuple[int, Piece], ...]  # with the numbers that stand for @ in them
    events: tuple[Event, ...]

    def kinds(self) -> set[str]:
        return {event.kind for event in self.events}

    def world(self) -> str:
        """The text of the module: the world, and the step in it."""
        parts = [(str(n), p) for n, p in self.pieces]
        filled = [filling(self.seed, n) for n, _ in self.pieces]

        def all_of(name: str) -> list[str]:
            texts = [getattr(p, name).replace("@", n) for n, p in parts]
            return [fill(t) for fill, t in zip(filled, texts, strict=True) if t]

        defaults = "".join(f", {text}" for text in all_of("default"))
        body = ["out, h = [], x", *all_of("lines"), "return [h, *out]"]
        first = "self, x, y" if self.form == "method" else "x, y"
        step = f"def raw_step({first}{', *' + defaults if defaults else ''}):\n" + indented(body)
        if self.form == "closure":
            inner = indented([*all_of("enclosing"), step, "return raw_step"])
            step = (
                "def make():\n"
                + inner
                + "raw_step = make()\nstep = compile(raw_step)\nraw = raw_step\n"
            )
        elif self.form == "method":
            step = "class Stepper:\n" + indented([step])
            step += "raw = Stepper.raw_step\nstep = compile(Stepper().raw_step)\n"
        else:
            step += "step = compile(raw_step)\nraw = raw_step\n"
        given = "a, b, p = batch(1), batch(2), batch(3).requires_grad_()\nresult = None\n"
        return "\n".join([*all_of("setup"), step + given])

    def script(self) -> str:
        """A program that shows the history: eagerly, or compiled if it is given a word."""
        head = "import sys\nimport wengert as wg\ncompile = wg.compile if sys.argv[1:] else lambda f: f\n"
        lines = []
        for event in self.events:
            called = event.text.startswith("call(")
            lines.append(f"{'print' * called}({event.text})" if called else event.text)
        return head + PRELUDE + self.world() + "\n".join(lines) + "\n"


def indented(lines: Iterable[str]) -> str:
    return "".join(f"    {line}\n" for text in lines for line in text.splitlines())


FLOATS = (0.3, 0.5, 0.7, 1.1, 1.3, 1.7), (0.4, 0.6, 0.8, 1.2, 1.4, 1.6)
"""Of a world as it is made, and of its changes: a change is to be one."""


def filling(*seed: Any) -> Callable[[str], str]:
    """Put random numbers in the place of %r, %i, %k: the same ones for the same seed."""
    rng = random.Random(repr(seed))
    floats = FLOATS[len(seed) > 2]

    def number(match: re.Match[str]) -> str:
        if match[0] == "%r":
            return repr(rng.choice(floats))
        return repr(
            rng.randint(1, 3) + 3 * (len(seed) > 2) if match[0] == "%i" else rng.randint(10, 99)
        )

    return lambda text: re.sub(r"%[rik]\b", number, text)


# ---- drawing -------------------------------------------------------------------------------

USUAL = ("call: usual", "call: same again")


def draw(seed: int, kinds: list[str], most: int = 3) -> History:
    """A random history whose changes are of these kinds."""
    rng = random.Random(seed)
    named, calls, groups = _sorted(tuple(kinds))
    chosen = [rng.choice(groups[g]) for g in rng.choices(sorted(groups), k=rng.randint(1, most))]
    pieces = tuple((n, piece(name)) for n, name in enumerate(chosen, 1))
    events = []
    for k in range(rng.randint(4, 9)):
        if k > 2 and rng.random() < 0.6:
            n, p = rng.choice(pieces)
            events.append(change(seed, k, n, p, rng.choice(named[p.name])))
        events.append(called(seed, k, rng.choice([*USUAL, *USUAL, *calls])))
    return History(seed, form(rng, pieces), pieces, tuple(events))


@functools.cache
def _sorted(
    kinds: tuple[str, ...],
) -> tuple[dict[str, list[str]], list[str], dict[str, list[str]]]:
    """The changes of each piece; the calls; and the pieces by their value.

    By value first and place second, so that no kind of value is drawn the less for its places.
    """
    named: dict[str, list[str]] = {}
    for kind in kinds:
        name, _, how = kind.rpartition(": ")
        named.setdefault(name, []).append(how)
    calls = [f"call: {how}" for how in named.pop("call", [])] or list(USUAL)
    groups: dict[str, list[str]] = {}
    for name in named:
        value = name if name.startswith(OWN) else name.rpartition(": ")[2]
        groups.setdefault(value, []).append(name)
    return named, calls, groups


OWN = ("training", "kept", "random", "memory", "asked", "idiom")


def directed(seed: int, kind: str) -> History:
    """A history about one kind of change: three calls, the change thrice, and three calls."""
    name, _, how = kind.rpartition(": ")
    rng = random.Random(seed)
    usual = [called(seed, k, USUAL[k % 2]) for k in range(6)]
    if name == "call":
        first = [called(seed, k, kind) for k in range(9, 12)]
        pieces = ((1, piece("memory: both arguments")),)
        return History(seed, form(rng, pieces), pieces, (*first, *usual[:3], first[0]))
    pieces = ((1, piece(name)),)
    middle = []
    for k in (9, 10, 11):  # what is noticed once may not be noticed again
        middle += [change(seed, k, 1, pieces[0][1], how), called(seed, k, USUAL[1])]
    if name.startswith("memory"):
        middle += [called(seed, 9, f"call: {c}") for c in ("transposed", "expanded", "one object")]
    return History(seed, form(rng, pieces), pieces, (*usual[:3], *middle, *usual[3:]))


def form(rng: random.Random, pieces: tuple[tuple[int, Piece], ...]) -> str:
    if any(p.enclosing for _, p in pieces):
        return "closure"
    return rng.choice(["module", "closure", "method"])


def change(seed: int, k: int, n: int, p: Piece, how: str) -> Event:
    text = filling(seed, n, k)(p.changes[how].replace("@", str(n)))
    return Event(f"{p.name}: {how}", text, n)


def called(seed: int, k: int, kind: str) -> Event:
    text = filling(seed, "call", k)(CALLS[kind.removeprefix("call: ")])
    return Event(kind, text if "result" in text else f"result = {text}")


# ---- running -------------------------------------------------------------------------------


@dataclass
class Run:
    """What was seen after each event: an error ends a call, and not the history."""

    seen: list[dict[str, Any]] = field(default_factory=list)
    retraces: int = 0
    native: bool = True


def run(history: History, compile: Any, nudge: float = 1.0) -> Run:
    made: list[Any] = []

    def compiling(function: Any) -> Any:
        made.append(compile(function))
        return made[-1]

    found = Run()
    told = gc.callbacks[:], gc.get_threshold()
    with warnings.catch_warnings(), np.errstate(all="ignore"), decimal.localcontext():
        warnings.simplefilter("ignore")
        try:
            world = module(PRELUDE)
            own = set(vars(world))
            vars(world).update(compile=compiling, NUDGE=nudge)
            exec(compiled_text(history.world(), world.__file__), vars(world))  # noqa: S102
            for event in history.events:
                found.seen.append(step(event, world, own))
        finally:
            wg.set_default_dtype(wg.float32)
            gc.callbacks[:] = told[0]
            gc.set_threshold(*told[1])
    if hasattr(made[0], "_entry"):
        found.native = made[0]._entry != made[0]._call
        found.retraces = len(made[0].retraces)
    return found


def compiled_text(text: str, file: str) -> types.CodeType:
    """Text as code of the user's, in a file: tracing tells it from code made by libraries."""
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    return builtins.compile(text, file, "exec")


def step(event: Event, world: Any, own: set[str]) -> dict[str, Any]:
    error = None
    # Weakly: a gradient that is kept has memory that no other gradient takes.
    before = {id(t): (weakref.ref(t), version(t)) for t in tensors_of(world, own)}
    try:
        callers = lived(event, world)
    except Exception as raised:
        notes = [n for n in getattr(raised, "__notes__", ()) if "In a compiled function" not in n]
        error = [type(raised).__name__, str(raised), *notes]
        callers = None
    seen = Seeing()
    names = [n for n in vars(world) if n not in own and n not in HIDDEN]
    values = {n: seen.look(vars(world)[n], n) for n in sorted(names)}
    values["cells"] = {n: seen.look(c[0](), n) for n, c in world.cells.items()}
    numbers = np.random.get_state()
    values["random"] = [noted(wg.get_rng_state()), str(numbers[2]), str(hash(random.getstate()))]
    values["defaults"] = seen.look(world.raw.__kwdefaults__, "defaults")
    moved = {
        name: version(t) != before[id(t)][1]
        for name, t in seen.tensors.items()
        if id(t) in before and before[id(t)][0]() is t
    }
    return {
        "error": error,
        "values": values,
        "identity": seen.same,
        "sharing": seen.sharing(),
        "versions": moved,
        "kept": callers is not None and callers() is not None,
    }


def lived(event: Event, world: Any) -> weakref.ref[Any]:
    """What lives as long as the variables of those who called: so long as one frame is kept."""
    variable = Seeing()
    collects = gc.isenabled()
    gc.disable()  # which would free by chance what has to be free by itself
    try:
        exec(event.text, vars(world))  # noqa: S102
    finally:
        if collects:
            gc.enable()
    return weakref.ref(variable)


HIDDEN = {
    "compile",
    "step",
    "raw",
    "raw_step",
    "make",
    "Stepper",
    "__builtins__",
    "__warningregistry__",
    "handles",
}


def version(t: Any) -> int | None:
    return None if t.is_inference() else t._version


def tensors_of(world: Any, own: set[str]) -> list[Any]:
    seen = Seeing()
    for name in sorted(vars(world).keys() - own - HIDDEN):
        seen.look(vars(world)[name], name)
    return list(seen.tensors.values())


PLAIN = str, bytes, bytearray, array.array, types.FunctionType, type, wg.dtype, np.dtype
WEAK = (
    weakref.ReferenceType, weakref.WeakSet, weakref.WeakKeyDictionary, weakref.WeakValueDictionary,
    *weakref.ProxyTypes,
)  # fmt: skip
"""What has others, which are somebody's to see."""


class Seeing:
    """A walk over a world: its values, which of them are one object, and which share memory."""

    def __init__(self) -> None:
        self.first: dict[int, str] = {}
        self.same: dict[str, str] = {}  # where an object was met again -> where it was met first
        self.tensors: dict[str, Any] = {}
        self.arrays: dict[str, np.ndarray] = {}
        self.kept: list[Any] = []

    def look(self, x: Any, path: str) -> Any:
        if isinstance(x, WEAK):
            return type(x).__name__
        if x is None or isinstance(x, PLAIN):
            return x.__name__ if hasattr(x, "__name__") else str(x)
        if isinstance(x, (bool, int, float, np.generic)):
            return noted(x)
        if isinstance(x, enum.Enum):
            return str(x)
        if id(x) in self.first:
            self.same[path] = self.first[id(x)]
            return "again"
        self.first[id(x)] = path
        self.kept.append(x)
        return self._inside(x, path)

    def _inside(self, x: Any, path: str) -> Any:
        if isinstance(x, wg.Tensor):
            self.tensors[path] = x
            self.arrays[path] = x.detach().numpy()
            grad = None if not x.is_leaf or x.grad is None else self.look(x.grad, f"{path}.grad")
            return [noted(x), x.is_leaf, x.is_inference(), grad]
        if isinstance(x, np.ndarray):
            self.arrays[path] = x
            return noted(x)
        if isinstance(x, (list, tuple, collections.deque)):
            return [self.look(part, f"{path}[{k}]") for k, part in enumerate(x)]
        if isinstance(x, set):
            return sorted(map(repr, x))
        if isinstance(x, dict):
            return {str(k): self.look(v, f"{path}[{k!r}]") for k, v in x.items()}
        if isinstance(x, nn.Module):
            names = {**dict(x.named_parameters()), **dict(x.named_buffers())}
            own = {k: v for k, v in vars(x).items() if not k.startswith("_")}
            parts = {**names, **own, **{f"/{k}": m for k, m in x.named_children()}}
            return {k: self.look(v, f"{path}.{k}") for k, v in parts.items()}
        if isinstance(x, optim.Optimizer):
            state = [
                self.look(dict(s), f"{path}.state[{k}]") for k, s in enumerate(x.state.values())
            ]
            return [state, self.look(x.param_groups, f"{path}.groups")]
        if hasattr(x, "__slots__") and not hasattr(x, "__dict__"):
            return [self.look(getattr(x, "a", None), f"{path}.a")]
        if isinstance(x, functools.partial):
            return self.look(x.keywords, f"{path}.keywords")
        if isinstance(x, wg.Generator):
            return noted(x.get_state())
        if isinstance(x, np.random.Generator) or not hasattr(x, "__dict__"):
            return type(x).__name__
        return {k: self.look(v, f"{path}.{k}") for k, v in vars(x).items() if not k.startswith("_")}

    def sharing(self) -> list[str]:
        pairs = itertools.combinations(self.arrays.items(), 2)
        return [f"{m} and {n}" for (m, a), (n, b) in pairs if np.may_share_memory(a, b)]


# ---- comparing -----------------------------------------------------------------------------


@dataclass
class Difference:
    event: int
    how: str  # silent, error, refused
    text: str

    @property
    def place(self) -> str | None:
        """Whose numbers are beyond the tolerance, if that is the difference."""
        found = re.match(r"Not equal to tolerance \S+ \S+ (.*?) Mismatched elements", self.text)
        return found and found[1]


CHECKS = ("values", "identity", "sharing", "versions", "kept")


def difference(history: History, ignored: Iterable[str] = ()) -> Difference | None:
    """Where a compiled run is first seen to be another than the eager one."""
    eager = run(history, lambda f: f)
    found = compared(eager, run(history, wg.compile), ignored)
    return None if found is not None and rounded(history, eager, found, ignored) else found


NUDGES = 1 + 2.0**-23, 1 - 2.0**-23, 1 + 2.0**-22


def rounded(history: History, eager: Run, found: Difference, ignored: Iterable[str]) -> bool:
    """Whether the eager run is as different from itself, in the same place, when what it begins
    with is changed in its last bits: a zero behind a normalization of two rows is 4e-4 in float32.
    """
    if found.place is None:
        return False
    moved = (compared(eager, run(history, lambda f: f, n), ignored) for n in NUDGES)
    return any(m is not None and m.place == found.place for m in moved)


def compared(eager: Run, compiled: Run, ignored: Iterable[str] = ()) -> Difference | None:
    for k, (expected, found) in enumerate(zip(eager.seen, compiled.seen, strict=True)):
        if large(expected["values"]):
            return None
        if worded(found["error"]) != worded(expected["error"]):
            return Difference(
                k,
                how(found["error"], expected["error"]),
                f"{found['error']} instead of {expected['error']}",
            )
        found_text = unlike(found, expected, ignored)
        if found_text and expected["error"] is not None:
            return None  # how far a call came that failed is not promised
        if found_text:
            return Difference(k, "silent", found_text)
    return None


def unlike(found: dict[str, Any], expected: dict[str, Any], ignored: Iterable[str]) -> str:
    for check in CHECKS:
        try:
            if check not in ignored:
                alike_in(found[check], expected[check], check)
        except AssertionError as error:
            return " ".join(str(error).split())[:400]
    return ""


def worded(error: list[str] | None) -> list[str] | None:
    """An error, but for which of NumPy's functions met the shapes that do not go together, for
    what freed a graph, which of a compiled function is the call as a whole, for the numbers of the
    module and of the version that it names, and for those of objects: where they lie in memory.
    """
    if error is not None and "broadcast" in error[1]:
        return [error[0], "broadcast"]
    if error is not None and error[0] == "FreedGraphError":
        return error[:1]
    return None if error is None else [_NUMBERS.sub(_name_only, x) for x in error]


_NUMBERS = re.compile(r"(users_module_|version |0x)[0-9a-f]+|(?<![\w.])\d{9,}(?![\w.])")


def _name_only(found: re.Match[str]) -> str:
    return found[1] or ""


def how(found: list[str] | None, expected: list[str] | None) -> str:
    if found is None:
        return "silent"
    refused = found[0] == TracingError.__name__ and ", line " in "\n".join(found)
    return "refused" if refused else "error"


def alike_in(found: Any, expected: Any, where: str) -> None:
    if isinstance(expected, dict) and isinstance(found, dict):
        assert found.keys() == expected.keys(), f"{where}: {sorted(found.keys() ^ expected.keys())}"
        for key, part in expected.items():
            alike_in(found[key], part, f"{where} {key}")
    elif isinstance(expected, list) and isinstance(found, list) and not plain_number(expected):
        assert len(found) == len(expected), f"{where}: {found} instead of {expected}"
        for k, (x, y) in enumerate(zip(found, expected, strict=True)):
            alike_in(x, y, f"{where}[{k}]")
    else:
        alike(found, expected, TOLERANCE, where)


def plain_number(item: list[Any]) -> bool:
    return len(item) == 2 and isinstance(item[0], str)


def large(values: Any) -> bool:
    return any(
        not np.isfinite(a).all() or float(np.abs(a).max(initial=0)) > LARGE for a in arrays(values)
    )


def arrays(item: Any) -> Iterator[np.ndarray]:
    if isinstance(item, dict):
        item = list(item.values())
    if isinstance(item, list):
        for part in item:
            yield from arrays(part)
    elif hasattr(item, "array") and item.array.dtype.kind == "f":
        yield item.array


# ---- shrinking -----------------------------------------------------------------------------


def shrunk(history: History, fails: Callable[[History], bool], tries: int = 60) -> History:
    """The smallest history that still fails, found by leaving out one thing at a time."""
    while True:
        for smaller in candidates(history):
            tries -= 1
            if tries < 0:
                return history
            if fails(smaller):
                history = smaller
                break
        else:
            return history


def candidates(history: History) -> Iterator[History]:
    for n, _ in history.pieces:
        pieces = tuple(p for p in history.pieces if p[0] != n)
        events = tuple(e for e in history.events if e.piece != n)
        yield replace(history, pieces=pieces, events=events)
    for k in reversed(range(len(history.events))):
        yield replace(history, events=history.events[:k] + history.events[k + 1 :])


def report(history: History, found: Difference) -> str:
    kinds = "\n".join(f"    {k}: {e.kind}: {e.text}" for k, e in enumerate(history.events))
    return f"seed {history.seed}: after event {found.event}: {found.how}: {found.text}\n{kinds}\n{history.script()}"
