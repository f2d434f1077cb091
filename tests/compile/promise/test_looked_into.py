"""What installed packages, Python's iterators and the system do in a compiled function.

Code of packages was trusted as the engine's own is, and what was given something that the function
computes was not asked again.
"""

# ruff: noqa: E501  (programs as text read best with a statement on a line)
from __future__ import annotations

import abc
import csv
import gc
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.stories import alike, module, numbers, story_of, thrice, told
from wengert.errors import TracingError

LIBRARY = """
SCALE, COUNT = 2.0, 0
class Settings: pass
settings = Settings(); settings.a = 2.0
def scale(y): return y * SCALE
def scale_by_setting(y): return y * settings.a
def count():
    global COUNT
    COUNT += 1
    return 2.0
class Rows:
    def __init__(self, n): self.n = n
    def __iter__(self): return iter([SCALE] * self.n)
class Box:
    def __init__(self, y): self.y = y
    def get(self): return self.y * SCALE
    @property
    def scaled(self): return self.y * SCALE
"""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A package that is installed."""
    place = tmp_path / "site-packages"
    place.mkdir()
    (place / "lent_library.py").write_text(LIBRARY)
    monkeypatch.syspath_prepend(place)
    yield importlib.import_module("lent_library")
    sys.modules.pop("lent_library")


PACKAGE = {
    "a global": ("return q.scale(x * 1)", "q.SCALE = 5.0"),
    "an argument": ("return q.scale(x)", "q.SCALE = 5.0"),
    "a setting": ("return q.scale_by_setting(x * 1)", "q.settings.a = 5.0"),
    "a method": ("return q.Box(x * 1).get()", "q.SCALE = 5.0"),
    "a property": ("return q.Box(x * 1).scaled", "q.SCALE = 5.0"),
    "through a builtin": ("return sum(map(q.scale, [x * 1, x]))", "q.SCALE = 5.0"),
    "a loop": ("for r in q.Rows(2): x = x * r\n    return x", "q.SCALE = 5.0"),
    "unpacked": ("a, b = q.Rows(2)\n    return x * a", "q.SCALE = 5.0"),
    "what it counts": ("return x * q.count()", "pass"),
}  # fmt: skip


@pytest.mark.parametrize("name", PACKAGE)
def test_installed_packages_are_looked_into_as_the_user_s_modules_are(
    name: str, library: Any
) -> None:
    # By its folder a module was taken for one of a library, which is trusted: so was a program
    # of the user's that is installed.
    def told_from_the_start(compile: Any) -> Any:
        exec(LIBRARY, vars(library))  # noqa: S102
        return told(story_of("import lent_library as q", *PACKAGE[name], "q.COUNT"), compile)

    alike(told_from_the_start(wg.compile), told_from_the_start(lambda f: f), 1e-5, name)


COMPUTED = {
    "whether it is of a class": ("import abc\nclass A(abc.ABC): pass", "return x * 2 if isinstance(x * 1, A) else x * 3", "A.register(wg.Tensor)"),
    "whether a number is": ("import abc\nclass A(abc.ABC): pass", "return x * 2 if isinstance(x.sum().item(), A) else x * 3", "A.register(float)"),
    "whether a parameter is": ("import abc\nclass A(abc.ABC): pass\nw = wg.ones(2, requires_grad=True)", "return w * x * (2 if isinstance(w, A) else 3)", "A.register(wg.Tensor)"),
    "a method that dispatches": ("import functools\nclass Q:\n    @functools.singledispatchmethod\n    def g(self, a): return a * 2.0\nq = Q()", "return q.g(x * 1)", "vars(Q)['g'].register(wg.Tensor, lambda s, a: a * 3.0)"),
    "a variable of a context": ("import contextvars\nV = contextvars.ContextVar('V', default=2.0)", "return x * V.get()", "V.set(5.0)"),
    "a pattern": ("import re\nP = re.compile('a+')", "return x * len(P.findall('aabab'))", "P = re.compile('a')"),
}  # fmt: skip


@pytest.mark.parametrize("name", COMPUTED)
def test_what_is_asked_of_something_computed_is_asked_again(name: str) -> None:
    # It is given what stands for a traced array: nothing else could decide the answer.
    story = story_of(*COMPUTED[name])
    try:
        alike(told(story, wg.compile), told(story, lambda f: f), 1e-5, name)
    finally:
        abc.ABCMeta.register(type("Other", (abc.ABC,), {}), int)  # what was answered is forgotten


CSV = "import csv, io\ncsv.register_dialect('d', delimiter=',')\ndef rows(): return csv.reader(io.StringIO('1,2;3;4\\n5;6'), 'd')"
SEMICOLON = "csv.register_dialect('d', delimiter=';')"
GONE_THROUGH = {
    "a loop": (CSV, "n = 0\n    for r in rows(): n += len(r)\n    return x * n", SEMICOLON),
    "after its first item": (CSV, "r = rows()\n    a = next(r)\n    n = sum(len(k) for k in r)\n    return x * n * len(a)", SEMICOLON),
    "beside tensors": (CSV, "n = 0\n    for r, k in zip(rows(), [x, x * 2]): n = n + len(r) * k\n    return n", SEMICOLON),
    "counted": (CSV, "n = 0\n    for k, r in enumerate(rows()): n += (k + 1) * len(r)\n    return x * n", SEMICOLON),
    "a generator": ("import difflib\nS = ['a', 'b']", "return x * len([k for k in difflib.ndiff(S, ['a'])])", "S.append('c')"),
    "items that are asked": ("import inspect\ndef g(a=3.0): pass", "n = 0\n    for p in inspect.signature(g).parameters.values(): n += p.default\n    return x * n", "g.__defaults__ = (5.0,)"),
}  # fmt: skip


@pytest.mark.parametrize("name", GONE_THROUGH)
def test_what_an_object_made_inside_gives_that_is_gone_through_is_asked_again(name: str) -> None:
    # `next` of it was asked, but not a loop.
    try:
        story = story_of(*GONE_THROUGH[name])
        alike(told(story, wg.compile), told(story, lambda f: f), 1e-5, name)
    finally:
        csv.register_dialect("d", delimiter=",")


WEAK = "import weakref\nclass O: pass\no = O(); o.a = 2.0\n"
REFUSED = {
    "a command": ("import os", "k = os.system('true')\n    return x + k", "or does"),
    "a folder": ("import os\nN = __file__ + '_'", "k = os.mkdir(N)\n    os.rmdir(N)\n    return x", "or does"),
    "another program": ("import subprocess", "return x + subprocess.run(['true']).returncode", "or does"),
    "what is done at the end": ("import atexit\ndef g(): pass", "k = atexit.register(g)\n    return x", "or does"),
    "what has very many items": (CSV, "for k in csv.reader(io.StringIO('1\\n' * 20000)): pass\n    return x", "never ends"),
    "a weak reference": (WEAK + "r = weakref.ref(o)", "return x * r().a", "ReferenceType"),
    "a weak set": (WEAK + "r = weakref.WeakSet([o])", "return x * sum(k.a for k in r)", "holds weakly"),
    "a weak mapping": (WEAK + "r = weakref.WeakValueDictionary({1: o})", "return x * r[1].a", "holds weakly"),
    "a weak mapping that may have none": (WEAK + "r = weakref.WeakValueDictionary({1: o})", "return x * r.get(1).a", "holds weakly"),
    "a proxy": (WEAK + "r = weakref.proxy(o)", "return x * r.a", "holds weakly"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_asking_would_do_again_or_keep_alive_is_refused_with_the_line(name: str) -> None:
    setup, body, words = REFUSED[name]
    m = module(f"{setup}\ndef f(x):\n    {body}")
    with pytest.raises(TracingError, match=r"line \d+, in f:\n") as caught:
        wg.compile(m.f)(numbers(1, 2))
    assert words in str(caught.value)


def test_a_message_whose_length_is_used_is_given_once(capsys: Any) -> None:
    # It was asked again as any call is: twice while tracing, and once more at each call.
    m = module("import sys\ndef f(x): return x * sys.stdout.write('abc')")
    f = wg.compile(m.f)
    assert [f(numbers(1)).item() for _ in range(3)] == [3.0] * 3
    assert capsys.readouterr().out == "abc"


# ---- garbage -------------------------------------------------------------------------------------


@pytest.fixture
def often() -> Iterator[None]:
    """Garbage is collected all the time, old garbage too.

    The oldest is collected where a quarter of all that lives is new: what lives now is not counted,
    nor what the first compilation of a process imports.
    """
    thrice(wg.compile(lambda x: x + 1), numbers(1, 2))
    before, threshold = gc.callbacks[:], gc.get_threshold()
    gc.freeze()
    gc.collect()
    gc.set_threshold(1, 1, 1)
    yield
    gc.set_threshold(*threshold)
    gc.unfreeze()
    gc.callbacks[:] = before


def test_what_is_told_of_collections_is_no_part_of_a_trace(often: None) -> None:
    # A function of the user's in gc.callbacks ran unobserved: the trace was refused, now and then.
    m = module(
        "import gc\nT, K = [0], [2.0]\ndef told(phase, info):\n    T[0] += 1\n"
        "gc.callbacks.append(told)\ndef f(x):\n    y = [x * k for k in range(9)]\n"
        "    return sum(y) * K[0]"
    )
    f = wg.compile(m.f)
    for _ in range(3):
        assert f(numbers(1, 2)).tolist() == [72.0, 144.0]
    m.K[0] = 3.0
    assert f(numbers(1, 2)).tolist() == [108.0, 216.0]
    assert m.T[0] > 0


def test_a_finalizer_that_changes_what_the_function_writes_is_refused(often: None) -> None:
    # What a trace writes is put back when it ends, and with it went what others had written.
    m = module(
        "class O:\n    def __del__(self): S[0] += 100\nS = [0]\n"
        "def waste():\n    o = O()\n    o.o = o\n"
        "def f(x):\n    S[0] += 1\n    for _ in range(500): waste()\n"
        "    return sum([x * k for k in range(9)])"
    )  # so many that some are collected, whatever else is new, as after a first compilation
    with pytest.raises(TracingError, match="finalizer"):
        wg.compile(m.f)(numbers(1, 2))


def test_what_a_collection_may_change_is_not_read_after_it(often: None) -> None:
    gc.set_threshold(700)
    m = module(
        "import gc\nT = [2.0]\ndef told(phase, info): T[0] += 1\ngc.callbacks.append(told)\n"
        "def f(x):\n    gc.collect()\n    return x * T[0]"
    )
    with pytest.raises(TracingError, match="may be changed"):
        wg.compile(m.f)(numbers(1, 2))


# ---- errors of arithmetic ------------------------------------------------------------------------


class Halved(wg.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g / x


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("function", [wg.sqrt, Halved.apply], ids=["ours", "the user's"])
def test_a_sweep_passes_errors_of_arithmetic_by_whatever_numpy_is_to_do_now(
    function: Any, again: bool
) -> None:
    def story(compile: Any) -> Any:
        f, seen = compile(lambda x: function(x)), []
        for _ in range(4):
            x = numbers(0, 1, requires_grad=True)
            y = f(x).sum()
            with np.errstate(all="raise"):
                seen += wg.autograd.grad(y, x, create_graph=again)
        return seen

    alike(told(story, wg.compile), told(story, lambda f: f), 1e-5, "a sweep")


def test_globals_that_a_function_asks_for_are_there_for_others_while_they_are_put_back():
    # They were cleared and filled again: other threads and collections of garbage met none.
    missed = []
    m = module(
        "import gc\nG, H = 1.5, 2.0\n"
        "def told(phase, info):\n    if 'H' not in globals(): missed.append(phase)\n"
        "def f(x):\n    globals()['G'] = globals()['G'] * 0.5\n    return x * G * H\n",
        missed=missed,
    )
    before, threshold = gc.callbacks[:], gc.get_threshold()
    gc.callbacks.append(m.told)
    gc.set_threshold(1)
    try:
        wg.compile(m.f)(wg.ones(2))
    finally:
        gc.callbacks[:] = before
        gc.set_threshold(*threshold)
    assert m.G == 0.75
    assert not missed
