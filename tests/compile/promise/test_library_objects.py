"""What the library's objects hold, and the system around a program: read again, or refused.

The code of libraries is not observed. What an object of theirs held was taken to last for ever.
"""

# ruff: noqa: E501  (programs as text read best with a statement on a line)
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.stories import alike, module, noted, numbers, story_of, told
from wengert.compile.trace.world.places import State
from wengert.errors import TracingError

# The world, what a function of x computes of it, and what changes between its calls.
OBJECTS = {
    "a number of ctypes": ("import ctypes\nv = ctypes.c_double(2)", "x * v.value", "v.value = 3"),
    "an array of ctypes": ("import ctypes\nv = (ctypes.c_double * 2)(1.0, 2.0)", "x * sum(v)", "v[0] = 3"),
    "an array of ctypes for NumPy": ("import ctypes\nv = (ctypes.c_double * 2)(1.0, 2.0)", "x * np.array(v)", "v[0] = 3"),
    "texts that are compared": ("v = np.array(['a', 'b'])", "x * int((v == 'b').sum())", "v[0] = 'b'"),
    "shared memory": ("import multiprocessing\nv = multiprocessing.Array('d', [2.0])", "x * v[0]", "v[0] = 3"),
    "an array of Python": ("import array\nv = array.array('d', [2.0])", "x * sum(v)", "v[0] = 3"),
    "bytes": ("v = bytearray(b'a')", "x * memoryview(v)[0]", "v[0] = 3"),
    "an event": ("import threading\nv = threading.Event()", "x * 2 if v.is_set() else x", "v.set()"),
    "a property of a thread": ("import threading\nv = threading.Thread(name='a')", "x * len(v.name)", "v.name = 'abc'"),
    "a chain of maps": ("import collections\nv = collections.ChainMap({}, {'a': 2.0})", "x * v['a']", "v['a'] = 3.0"),
    "a list of the library": ("import collections\nv = collections.UserList([2.0])", "x * v[0]", "v[0] = 3.0"),
    "a view of a dictionary": ("import types\nd = {'a': 2.0}\nv = types.MappingProxyType(d)", "x * v['a']", "d['a'] = 3.0"),
    "a configuration": ("import configparser\nv = configparser.ConfigParser()\nv.read_string('[a]\\nb = 2.0')", "x * v.getfloat('a', 'b')", "v['a']['b'] = '3.0'"),
    "a context of decimals": ("import decimal\nv = decimal.Context(prec=2)", "x * v.prec", "v.prec = 3"),
    "a level of messages": ("import logging\nv = logging.Logger('v', 10)", "x * 2 if v.isEnabledFor(15) else x", "v.setLevel(20)"),
    "a weak set": ("import weakref\nclass C: pass\nc, d = C(), C()\nv = weakref.WeakSet([c])", "x * len(v)", "v.add(d)"),
    "a text in memory": ("import io\nv = io.StringIO('a')", "x * len(v.getvalue())", "v.write('abc')"),
    "a member of an Enum": ("import enum\nclass E(enum.Enum):\n    A = 2.0", "x * E.A.value", "E.A._value_ = 3.0"),
    "the environment": ("import os\nos.environ['WENGERT_X'] = '2'", "x * float(os.getenv('WENGERT_X'))", "os.environ['WENGERT_X'] = '3'"),
    "a name of Python's own module": ("import sys\nbefore, sys.ps9 = sys.flags, 'a'", "x * len(sys.ps9)", "sys.ps9 = 'abc'"),
    "an array of objects": ("v = np.array([2.0, None], object)", "x * v[0]", "v[0] = 3.0"),
    "an array of texts": ("v = np.array(['a', 'bc'])", "x * len(v[0])", "v[0] = 'bc'"),
    "a masked array": ("v = np.ma.array([1.0, 2.0], mask=[0, 1])", "x * v.sum()", "v[0] = 3"),
    "a sparse matrix": ("import scipy.sparse\nv = scipy.sparse.csr_array(np.eye(2))", "x * v.sum()", "v.data[0] = 3"),
    "where a generator stands": ("v = np.random.default_rng(1)", "x * (v.bit_generator.state['state']['state'] % 7)", "v.random()"),
    "a schedule": ("w = wg.ones(2, requires_grad=True)\no = wg.optim.SGD([w], lr=2.0)\nv = wg.optim.lr_scheduler.StepLR(o, 1)", "x * v.get_last_lr()[0]", "o.step(); v.step()"),
    "a distribution": ("v = wg.distributions.Normal(wg.zeros(2), wg.ones(2))", "x * v.stddev", "v.scale = wg.ones(2) * 3"),
    "a transform": ("v = wg.distributions.transforms.AffineTransform(1.0, 2.0)", "v(x)", "v.loc = 3.0"),
}  # fmt: skip


@pytest.mark.parametrize("name", OBJECTS)
def test_what_an_object_of_a_library_holds_is_asked_again(name: str) -> None:
    setup, body, change = OBJECTS[name]

    story = story_of(setup, f"return {body}", change)
    alike(told(story, wg.compile), told(story, lambda f: f), 1e-5, name)


REFUSED = {
    "a lock": ("import threading\nv = threading.Lock()", "x * v.locked()"),
    "a variable of a context that is set": ("import contextvars\nv = contextvars.ContextVar('v', default=2)", "x * v.set(3).var.get()"),
    "a queue": ("import queue\nv = queue.Queue()\nv.put(2.0)", "x * v.get()"),
    "an iterator": ("import itertools\nv = itertools.count(1)", "x * next(v)"),
    "a sequence that is drawn from": ("import scipy.stats\nv = scipy.stats.qmc.Sobol(1, seed=1)", "x * v.random()[0, 0]"),
    "a schedule that is moved on": ("w = wg.ones(2, requires_grad=True)\no = wg.optim.SGD([w], lr=2.0)\nv = wg.optim.lr_scheduler.StepLR(o, 1)\no.step()", "(x, v.step())"),
    "a state that is set": ("v = np.random.default_rng(1)\ns = v.bit_generator.state", "(x * v.random(), setattr(v.bit_generator, 'state', s))"),
    "draws by another library": ("import scipy.stats", "x * scipy.stats.norm.rvs()"),
    "draws by Python's library": ("import statistics\nv = statistics.NormalDist()", "x * v.samples(1)[0]"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_call_could_do_again_is_refused_with_the_line(name: str) -> None:
    setup, body = REFUSED[name]
    m = module(f"{setup}\ndef f(x): return {body}")
    with pytest.raises(TracingError, match=r"line \d+, in f:\n    def f"):
        wg.compile(m.f)(numbers(1, 2))


def test_what_a_call_that_is_refused_changed_of_a_library_s_object_is_put_back() -> None:
    m = module(REFUSED["a schedule that is moved on"][0] + "\ndef f(x): return (x, v.step())")
    before = repr((m.v.state_dict(), m.o.state_dict()))
    for _ in range(2):
        with pytest.raises(TracingError, match="changes what a StepLR holds"):
            wg.compile(m.f)(numbers(1, 2))
    assert repr((m.v.state_dict(), m.o.state_dict())) == before


ARRAY = "import array\nv = array.array('d', [1.0])"
USERS = "import collections\nv = collections.UserDict(a=0, b=1)"
OBJECT = "v = np.array([3, 1], object)"
WEAKLY = "import weakref\nclass C: pass\nc = C()\nv = weakref.WeakKeyDictionary()"
CHANGED = {
    # the world, what a function does there, and how that looks from outside
    "an item of an array of objects": (OBJECT, "v[0] = x", "v.tolist()"),
    "all of an array of objects": (OBJECT, "v.fill(x)", "v.tolist()"),
    "the order of an array of objects": (OBJECT, "v.sort()", "v.tolist()"),
    "what NumPy puts into one": (OBJECT, "np.put(v, [0], 7)", "v.tolist()"),
    "a weak dictionary": (WEAKLY, "v[c] = x", "len(v)"),
    "a weak dictionary that is updated": (WEAKLY, "v.update({c: x})", "len(v)"),
    "a chain of maps": ("import collections\nv = collections.ChainMap({})", "v['a'] = x", "dict(v)"),
    "a dictionary of the library": (USERS, "v['a'] = x", "dict(v)"),
    "one that is updated": (USERS, "v.update(a=v['a'] + 1)", "dict(v)"),
    "one that gives items away": (USERS, "v.pop('a', None)", "dict(v)"),
    "a byte": ("v = bytearray(b'ab')", "v[0] = 7", "bytes(v)"),
    "the number of bytes": ("v = bytearray(b'ab')", "v.append(7)", "bytes(v)"),
    "bytes through a view": ("v = memoryview(bytearray(b'ab'))", "v[0] = 7", "bytes(v)"),
    "bytes by a module": ("import struct\nv = bytearray(8)", "struct.pack_into('d', v, 0, 3.0)", "bytes(v)"),
    "an item of an array of Python": (ARRAY, "v[0] = 7.0", "v.tolist()"),
    "the length of one": (ARRAY, "v.append(7.0)", "v.tolist()"),
    "the length by a method that knows its class": (ARRAY, "v.extend([7.0])", "v.tolist()"),
    "a text in memory": ("import io\nv = io.BytesIO()", "v.write(b'ab')", "v.getvalue()"),
    "a text by a writer made inside": ("import csv, io\nv = io.StringIO()", "csv.writer(v).writerow([1, 2])", "v.getvalue()"),
    "an order by a generator made inside": ("import random\nv = [1, 2, 3, 4]", "random.Random(0).shuffle(v)", "v"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGED)
@pytest.mark.parametrize("form", ["statement", "expression"])
def test_a_change_is_that_of_each_call_or_is_refused_and_put_back(name: str, form: str) -> None:
    # What was refused had been written: an array of objects held a traced tensor after it. A call
    # that could not be traced was made again. A dictionary of the library was changed once only.
    setup, change, look = CHANGED[name]
    if form == "expression" and " = " in change:
        change = "v.__setitem__" + change.replace("v[", "(").replace("] = ", ", ") + ")"
    body = change if form == "statement" else f"_ = [{change}]"
    text = f"{setup}\ndef f(x):\n    {body}\n    return x * 2\ndef look(): return {look}"
    mine, eager = module(text), module(text)
    f, x = wg.compile(mine.f), numbers(1, 2)
    before = repr(mine.look())
    for _ in range(3):
        try:
            f(x)
        except TracingError:
            assert repr(mine.look()) == before
            return
        eager.f(x)
        assert repr(mine.look()) == repr(eager.look())


QUICK = {
    "a compiled function": "v = wg.compile(lambda t: t * 2)\ndef f(x): return v(x)",
    "a distribution": "v = wg.distributions.Normal(wg.zeros(2), wg.ones(2))\ndef f(x): return v.log_prob(x)",
    "a device": "v = wg.device('cpu')\ndef f(x): return x.to(v)",
    "a function of NumPy": "def f(x): return np.concatenate([x, x])",
}


@pytest.mark.parametrize("name", QUICK)
def test_what_has_attributes_only_is_not_looked_into_by_python_at_each_call(name: str) -> None:
    # A compiled function in another one took 390 us a call: all that it holds was gone through.
    f = wg.compile(module(QUICK[name]).f)
    f(numbers(1, 2))
    assert [g for g in f._latest().guards if isinstance(g.place, State)] == []


# ---- generators ----------------------------------------------------------------------------------

SEEDS = {
    "Python's seeded": "random.seed(3); y = x * random.random()",
    "Python's set": "random.setstate(R); y = x * random.random()",
    "NumPy's seeded": "np.random.seed(3); y = x * np.random.rand()",
    "NumPy's seeded after a draw": "y = x * np.random.rand(); np.random.seed(7); y = y + np.random.rand()",
    "NumPy's set": "np.random.set_state(S); y = x * np.random.rand()",
    "one's own": "own.seed(3); y = x * own.random()",
    "functions that are no methods": "y = x * np.random.ranf() + np.random.sample()",
    "a draw as a float": "y = x * float(np.random.rand())",
}


@pytest.mark.parametrize("name", SEEDS)
def test_a_generator_is_seeded_at_each_call(name: str) -> None:
    # np.random.seed is no method of a generator: it was called once, while tracing.
    def story(compile: Any) -> Any:
        m = module(
            "import random\nS, R = np.random.RandomState(4).get_state(), random.Random(5).getstate()\n"
            f"own = random.Random(1)\ndef f(x):\n    {SEEDS[name]}\n    return y"
        )
        f, seen = compile(m.f), []
        for k in range(4):
            seen += [f(numbers(1, k)), [m.random.random(), np.random.rand(), m.own.random()]]
        return seen

    alike(told(story, wg.compile), told(story, lambda f: f), 1e-5, name)


def test_a_function_may_do_nothing_but_seed() -> None:
    # A call without arrays had nowhere to be made from if no other call had any.
    m = module("def f(x):\n    np.random.seed(3)\n    return x")
    f = wg.compile(m.f)
    for _ in range(3):
        f(numbers(1))
        assert np.random.rand() == np.random.RandomState(3).rand()


OWN = {
    "seeded": ("", "wg.manual_seed(3)\n    return x * wg.rand(2)", "wg.manual_seed(4)"),
    "seeded after a draw": ("", "y = wg.rand(2)\n    wg.manual_seed(3)\n    return x * wg.rand(2) + y", "wg.manual_seed(4)"),
    "one's own": ("g = wg.Generator()", "g.manual_seed(3)\n    return x * wg.rand(2, generator=g)", "g.manual_seed(4)"),
    "one that is made inside": ("", "g = wg.Generator()\n    return x * wg.rand(2, generator=g)", "pass"),
    "its seed": ("", "return x * (wg.initial_seed() % 7)", "wg.manual_seed(5)"),
    "its seed after seeding": ("g = wg.Generator()", "g.manual_seed(6)\n    return x * (g.initial_seed() % 7)", "g.manual_seed(4)"),
    "put back where it stood": ("", "with wg.random.fork_rng():\n        wg.manual_seed(3)\n        y = x * wg.rand(2)\n    return y + wg.rand(2)", "wg.manual_seed(4)"),
    "where it stands": ("s = wg.get_rng_state()", "global s\n    s = wg.get_rng_state()\n    return x * wg.rand(2)", "wg.set_rng_state(s)"),
    "a copy of it": ("g = wg.Generator()", "return x * wg.rand(2, generator=g.clone_state())", "g.manual_seed(4)"),
}  # fmt: skip


@pytest.mark.parametrize("name", OWN)
def test_a_generator_of_wengert_is_seeded_and_asked_at_each_call(name: str) -> None:
    # Its seed was kept as it was while tracing, and seeding it was refused.
    setup, body, change = OWN[name]

    def story(compile: Any) -> Any:
        m = module(f"{setup}\ndef f(x):\n    {body}")
        f, seen = compile(m.f), []
        for text in ("pass", "pass", change, "pass"):
            exec(text, vars(m))  # noqa: S102
            seen += [noted(f(numbers(1, 2))), noted(wg.rand(1))]
            if hasattr(m, "g"):
                seen.append(noted(wg.rand(1, generator=m.g)))
        return seen

    alike(told(story, wg.compile), told(story, lambda f: f), 1e-5, name)


def test_a_seed_that_nobody_can_foresee_is_refused() -> None:
    with pytest.raises(TracingError, match="unpredictable seed"):
        wg.compile(module("def f(x):\n    wg.seed()\n    return x").f)(numbers(1))
