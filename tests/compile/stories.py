"""Stories: what a program sees when a function of it is compiled, held against eager mode.

A story is a function that is given `compile` and tells what it saw, as a list. It is told three
times: eagerly, compiled, and compiled with the garbage collected after each call (a trace leaves
cycles, and while they live a call goes another way).

    def story(compile):
        f = compile(lambda x, y: x * 10 + y)
        return [*thrice(f, a, a), f(a, b)]

    same(story)
"""

# ruff: noqa: E501  (programs as text read best with a statement on a line)
from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import linecache
import random
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compile.random_functions import compare, plain
from wengert.errors import TracingError

Story = Callable[[Any], Any]


def same(story: Story, tolerance: float = 1e-5) -> None:
    """Raise AssertionError where compiled functions make a difference."""
    expected = told(story, lambda f: f)
    alike(told(story, wg.compile), expected, tolerance, "compiled: ")
    # What is there already need not be gone through after each call. It stays frozen: to thaw it is
    # to thaw all tests, half a million objects, and each later collection took 0.3 s.
    gc.collect()
    gc.freeze()
    alike(told(story, collecting), expected, tolerance, "compiled, with gc: ")


def alike(found: Any, expected: Any, tolerance: float, where: str) -> None:
    if type(found) is list and type(expected) is list:
        assert len(found) == len(expected), f"{where}: {found} instead of {expected}"
        for k, (x, y) in enumerate(zip(found, expected, strict=True)):
            alike(x, y, tolerance, f"{where}[{k}]")
        return
    assert type(found) is type(expected), f"{where}: {found} instead of {expected}"
    compare(found, expected, tolerance, where)


def same_or_refused(story: Story, tolerance: float = 1e-5) -> None:
    """As `same`; or compiled functions refuse it, with an error that shows the user's line."""
    try:
        same(story, tolerance)
    except TracingError as error:
        text = "\n".join([str(error), *getattr(error, "__notes__", ())])
        assert ", line " in text, f"an error that names no line: {text}"


def told(story: Story, compile: Any) -> Any:
    wg.manual_seed(0)
    np.random.seed(0)
    random.seed(0)
    there = len(_modules)
    try:
        with np.errstate(all="ignore"):
            return noted(story(compile))
    finally:
        _forget(there)


def collecting(function: Any) -> Any:
    """A compiled function, after each call of which the garbage is collected."""
    compiled = wg.compile(function)

    @functools.wraps(function, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return compiled(*args, **kwargs)
        finally:
            gc.collect()

    return call


def noted(item: Any) -> Any:
    """What can be compared: arrays as they are now, and numbers with their kind."""
    if isinstance(item, dict):
        return {key: noted(part) for key, part in item.items()}
    if isinstance(item, (list, tuple)):
        return [noted(part) for part in item]
    if isinstance(item, (bool, int, float)):
        return [type(item).__name__, np.float64(item) if item == item else "nan"]
    if isinstance(item, np.generic):
        return [type(item).__name__, plain(item)]
    return plain(item)


def thrice(function: Any, *args: Any, **kwargs: Any) -> list[Any]:
    """Three calls: one traces, one links the native entry, one runs it. Each result as it was."""
    return [noted(function(*args, **kwargs)) for _ in range(3)]


def caught(function: Any, *args: Any, **kwargs: Any) -> Any:
    """What a call gives: its result, or the class and the words of its error."""
    try:
        return noted(function(*args, **kwargs))
    except Exception as error:
        return [type(error).__name__, str(error).splitlines()[0]]


def kind_of_error(function: Any, *args: Any) -> str:
    try:
        function(*args)
    except Exception as error:
        return type(error).__name__
    return "no error"


_numbers = itertools.count()
_modules: list[Any] = []


def _forget(there: int) -> None:
    """Let go of the modules that a story made, and of their classes.

    Each trace sets what all classes of modules inherit: thousands of them took it a tenth of its time.
    """
    for made in _modules[there:]:
        sys.modules.pop(made.__name__, None)
        linecache.cache.pop(made.__file__, None)
    del _modules[there:]


def module(source: str, **names: Any) -> Any:
    """A module of the user's, made from its text: its globals can be replaced, as `m.LR = 0.2`."""
    made: Any = types.ModuleType(f"users_module_{next(_numbers)}")
    made.__file__ = str(Path(__file__).parent / f"{made.__name__}.py")
    linecache.cache[made.__file__] = (len(source), None, source.splitlines(True), made.__file__)
    sys.modules[made.__name__] = made
    _modules.append(made)
    vars(made).update({"wg": wg, "np": np, "nn": wg.nn, "F": wg.nn.functional, **names})
    exec(compile(source, made.__file__, "exec"), vars(made))  # noqa: S102
    return made


def forms(body: str) -> list[Callable[[], Any]]:
    """One function of x and y, returning `body`, in each form that users write."""
    sources = {
        "at module level": f"def f(x, y): return {body}",
        "a closure": f"def make(one):\n    def f(x, y): return ({body}) * one\n    return f\nf = make(1)",
        "a method": f"class C:\n    def f(self, x, y): return {body}\nf = C().f",
        "with defaults": f"def f(x, y, one=1): return ({body}) * one",
        "a module": (f"class M(nn.Module):\n    def forward(self, x, y): return {body}\nf = M()"),
        "a partial": (
            "import functools\n"
            f"def g(one, x, y): return ({body}) * one\nf = functools.partial(g, 1)"
        ),
    }
    return [
        pytest.param(lambda source=source: module(source).f, id=form)
        for form, source in sources.items()
    ]


def ones(*shape: int, **options: Any) -> Any:
    return wg.ones(*shape, **options)


def story_of(
    setup: str, body: str, change: str, ask: str = "None", settings: Any = contextlib.nullcontext
) -> Story:
    """Calls of a function of x with this body, among them a change of the world; and what is to
    be seen outside after each.
    """

    def story(compile: Any) -> Any:
        m = module(f"{setup}\ndef f(x):\n    {body}")
        f, seen = compile(m.f), []
        with settings():
            for text in ("pass", "pass", change, "pass"):
                exec(text, vars(m))  # noqa: S102
                seen.append([noted(f(numbers(1, 2))), noted([eval(ask, vars(m))])])  # noqa: S307
        return seen

    return story


def numbers(*values: Any, **options: Any) -> Any:
    return wg.tensor([float(v) for v in values], **options)
