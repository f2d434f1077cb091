"""Functions that run in eager mode, and raise when they are compiled."""

# ruff: noqa: E501  (programs as text read best with a statement on a line)
from __future__ import annotations

import contextlib
import gc
import weakref
from typing import Any

import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.stories import caught, module, numbers, same, thrice
from wengert.errors import TracingError

FUNCTIONS: dict[str, str] = {
    "storage_offset": "def f(x): return x * (1 + x.storage_offset())",
    "a write to what was saved, never differentiated": (
        "w = wg.ones(3, requires_grad=True)\n"
        "def f(x):\n    y = (w * x).exp()\n    z = y * y\n    with wg.no_grad(): y.mul_(2)\n    return z.detach()"
    ),
    "a write to what was saved, returned": (
        "w = wg.ones(3, requires_grad=True)\n"
        "def f(x):\n    y = (w * x).exp()\n    z = y * y\n    with wg.no_grad(): y.mul_(2)\n    return z"
    ),
    "a write to one of several views, never differentiated": (
        "w = wg.ones(4, requires_grad=True)\n"
        "def f(x):\n    a, b = (w * 2).chunk(2)\n    with wg.no_grad(): a.add_(1)\n    return (a + b).detach()"
    ),
    "a write to a view of several, returned": (
        "w = wg.ones(4, requires_grad=True)\n"
        "def f(x):\n    y = w * 2\n    a, b = y.unbind(0)[:2]\n    y.add_(1)\n    return y"
    ),
    "take of an array of truth values": (
        "M = np.array([True, False, True])\n"
        "def f(x): return wg.from_numpy((x.numpy() > 0).take(1)) if False else (x.numpy() > 1).take(1)"
    ),
    "take by indices": "def f(x): return (x.numpy() > 1).take(np.array([0, 2]))",
    "isclose of truth values": "def f(x): return wg.isclose(x > 1, x > 2)",
    "allclose of truth values": "def f(x): return (x > 1).isclose(x > 1)",
    "BatchNorm with a cumulative average": (
        "net = nn.BatchNorm1d(1, momentum=None)\ndef f(x): return net(x.reshape(3, 1)).detach()"
    ),
    "an inner function over a traced value": (
        "def f(x):\n    def inner(y): return (y * x).sum()\n    return wg.grad(inner)(x * 2)"
    ),
    "an inner function under vmap": (
        "def f(x):\n    def inner(y): return (y * x).sum()\n    return wg.vmap(inner)(wg.ones(2, 3))"
    ),
    "jacfwd of a function": "def g(y): return y * y.sum()\nf = wg.jacfwd(g)",
    "jacrev of a function": "def g(y): return y * y.sum()\nf = wg.jacrev(g)",
    "jacfwd over an inner function": (
        "def f(x):\n    def inner(y): return y * (x * y).sum()\n    return wg.jacfwd(inner)(x * 2)"
    ),
    "vmap of grad": "def g(y): return (y * y).sum()\nh = wg.vmap(wg.grad(g))\ndef f(x): return h(x.reshape(3, 1))",
    "vmap of grad, compiled itself": ("def g(y): return y * y * y\nf = wg.vmap(wg.grad(g))"),
    "vmap of grad over an inner function": (
        "def g(y):\n    def inner(z): return y * z * z\n    return wg.grad(inner)(y)\nf = wg.vmap(g)"
    ),
    "jacfwd of an inner function, compiled itself": (
        "def g(y):\n    def inner(z): return (y * z).sum()\n    return inner(y * 2) * y\nf = wg.jacfwd(g)"
    ),
    "hessian": "def g(y): return (y * y * y).sum()\nf = wg.hessian(g)",
    "grad, compiled itself": "def g(y): return (y * y).sum()\nf = wg.grad(g)",
    "grad of a function with an inner one": (
        "def g(y):\n    def inner(z): return (y * z).sum()\n    return inner(y * 2)\nf = wg.grad(g)"
    ),
    "an inner function over a list of traced values, under vmap": (
        "def g(y):\n    parts = [y * 2, y]\n    def inner(z): return parts[0] * z * parts[1]\n    return wg.grad(inner)(y)\n"
        "f = wg.vmap(g)"
    ),
    "a checkpoint that draws, without reentrance": (
        "from wengert.utils.checkpoint import checkpoint\nw = wg.ones(3, requires_grad=True)\n"
        "def g(y): return F.dropout(y * w, 0.5) * y\n"
        "def f(x):\n    y = checkpoint(g, x, use_reentrant=False)\n    return y + wg.rand(3)"
    ),
    "a checkpoint that draws, with reentrance": (
        "from wengert.utils.checkpoint import checkpoint\nw = wg.ones(3, requires_grad=True)\n"
        "def g(y): return F.dropout(y, 0.5) * y\n"
        "def f(x):\n    y = checkpoint(g, w * x, use_reentrant=True)\n    return y + wg.rand(3)"
    ),
    "a print": "def f(x):\n    repr(x.shape)\n    return x * 2",
}


@pytest.mark.parametrize("name", (FUNCTIONS))
def test_what_runs_eagerly_runs_compiled(name: str) -> None:
    def story(compile: Any) -> Any:
        f = compile(module(FUNCTIONS[name]).f)
        return [caught(f, numbers(1, 2, 3)) for _ in range(4)]

    same(story)


def test_what_was_overwritten_is_refused_when_it_is_differentiated() -> None:
    # The derivative is traced with the function, and its error was raised at the call.
    def story(compile: Any) -> Any:
        f = compile(module(FUNCTIONS["a write to what was saved, returned"]).f)

        def differentiated(x: Any) -> None:
            f(x).sum().backward()

        return [caught(differentiated, numbers(1, 2, 3)) for _ in range(4)]

    same(story)


def test_what_an_inner_function_encloses_does_not_outlive_the_trace() -> None:
    # Its variable was a condition on later calls, which kept the tensor, which became a result.
    def g(x: Any) -> Any:
        def inner(y: Any) -> Any:
            return (y * x).sum()

        return inner(x * 2)

    f = wg.compile(wg.grad(g))
    f(numbers(1, 2, 3))
    assert len(f.program.outputs) == 1


def test_arguments_of_bfloat16() -> None:

    def story(compile: Any) -> Any:
        return thrice(compile(lambda x: (x * 2 + 1).float()), numbers(1, 2).to(wg.bfloat16))

    same(story, 1e-2)


def test_parameters_of_bfloat16() -> None:

    def story(compile: Any) -> Any:
        w = numbers(1, 2).to(wg.bfloat16).requires_grad_()

        def step(x: Any) -> Any:
            w.grad = None
            loss = (w * x).sum()
            loss.backward()
            with wg.no_grad():
                w.sub_(w.grad * 0.5)
            return loss.detach().float()

        return [*thrice(compile(step), numbers(1, 2).to(wg.bfloat16)), w.detach().float()]

    same(story, 1e-2)


def test_a_compiled_gradient_of_an_inner_function_keeps_its_native_entry() -> None:
    def g(x: Any) -> Any:
        def inner(y: Any) -> Any:
            return (y * x).sum()

        return inner(x * 2)

    f = wg.compile(wg.grad(g))
    for _ in range(3):
        f(numbers(1, 2, 3))
    assert f._entry != f._call


class Held:
    pass


def _held_while_called(f: Any) -> weakref.ref[Held]:
    """Of an object that lasts as long as this call of the function."""
    held = Held()
    with contextlib.suppress(Exception):
        f(numbers(1, 2))
    return weakref.ref(held)


ENDING = {
    "an error of its own": "raise ValueError",
    "a key that is not there": "return x * {}['a']",
    "an error of the library": "return x.reshape(3)",
    "an error of Python's, in a function that is asked again": "return x * json.loads('{')",
    "a refusal": "return x if x.sum() > 0 else -x",
    "a refusal that is caught": "try: return x if x.sum() > 0 else -x\n    except Exception: pass",
    "a refusal that becomes another error": "try: return x if x.sum() > 0 else -x\n    except Exception as e: raise ValueError from e",
    "a refusal within try": "try: json.loads('{')\n    except ValueError: return x",
    "an error that it catches": "try: int('a')\n    except ValueError: return x",
    "an error of a generator, which it catches": "try: random.choice([])\n    except IndexError: return x",
    "an array that a function of its own gives": "y = x * wg.tensor(given())\n    box.n += 1\n    return y * 2 if box.n % 3 == 0 else y",
}


@pytest.mark.parametrize("ending", ENDING)
@pytest.mark.filterwarnings("ignore:.*runs eagerly")
def test_an_error_in_a_trace_keeps_no_variables_of_those_who_call(ending: str) -> None:
    # The call held the error, whose frames held the call, and all that were on the way to it: what
    # the caller let go of was there until garbage was collected, and in sets of weak references.
    m = module(
        "import json, random\nclass Box: n = 0\nbox = Box(); box.n = 0\n"
        "def given(*, a=np.ones(2, np.float32)): return a\n"
        f"def f(x):\n    {ENDING[ending]}"
    )
    f = wg.compile(m.f)
    gc.collect()
    gc.disable()
    try:
        seen = [_held_while_called(f)() for _ in range(3)]
    finally:
        gc.enable()
    assert seen == [None] * 3


def test_a_generator_from_outside_is_refused_however_it_was_written() -> None:
    # The parameter of an expression's code has a name that no stand-in can have: the function was
    # not traced, by a SyntaxError from inside, and ran eagerly.
    def written() -> Any:
        yield from (0.5, 1.5)

    for numbers_outside in (written(), (k / 2 for k in range(3))):
        f = wg.compile(lambda x, numbers=numbers_outside: x * next(numbers))
        with pytest.raises(TracingError, match="a generator from outside is gone through"):
            f(numbers(1, 2))
        assert next(numbers_outside) in (0.5, 0)


@pytest.mark.parametrize("raised", ["ValueError(v)", "Own(v)", "KeyError(v * 2)"])
def test_an_error_may_hold_what_is_computed(raised: str) -> None:
    # Its words were asked for, which the trace's own array has not: a refusal took its place.
    def story(compile: Any) -> list[Any]:
        m = module(
            "class Own(Exception): pass\nv = np.array([2.0])\n"
            f"def f(x):\n    if v > 1: raise {raised}\n    return x * 2"
        )
        f, seen = compile(m.f), []
        for k in (2.0, 2.0, 0.0, 3.0):
            m.v = m.np.array([k])
            seen += [caught(f, wg.ones(1)) for _ in range(2)]
        return seen

    same(story)
