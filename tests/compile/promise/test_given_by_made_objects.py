"""What an object of a library gives that is made anew at each call is what it gives at that call.

A copy of the context, a signature, or a dictionary of either, is asked again, and gives what others
hold: a tensor, a function, an object of the user's.
"""

# ruff: noqa: E501  (a row of a table reads best on a line)
from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("llvmlite")

from tests.compile.promise.test_numbers_beside_arrays import outcome
from tests.compile.stories import module, noted, numbers, same, same_or_refused

GIVEN = {
    # Its items were not asked for: those of a container that the function makes are known.
    "an item of the context": ("cv.set(V)", "contextvars.copy_context()[cv]"),
    "what the context has": ("cv.set(V)", "contextvars.copy_context().get(cv)"),
    "a dictionary of the context": ("cv.set(V)", "dict(contextvars.copy_context())[cv]"),
    "an item of its items": ("cv.set(V)", "[v for k, v in contextvars.copy_context().items() if k is cv][0]"),
    "a default in a signature": ("q.__defaults__ = (V,)", "inspect.signature(q).parameters['v'].default"),
    "what is bound": ("W = V", "inspect.signature(q).bind(W).arguments['v']"),
    "what is bound by default": ("q.__defaults__ = (V,)", "bound(inspect.signature(q).bind())"),
    "a member of an enumeration": ("E.A._value_ = V", "E['A'].value"),
    "the metadata of a field": ("about['m'] = V", "dataclasses.fields(D)[0].metadata['m']"),
    # What C keeps, and pickle is not told.
    "the cause of an error": ("error.__cause__ = KeyError(V)", "error.__cause__.args[0]"),
    # It went by its arguments, as methods of numbers do.
    "a slot's descriptor": ("a.v = V", "A.v.__get__(a)"),
}  # fmt: skip
SETUP = """
import contextvars, dataclasses, enum, inspect
cv = contextvars.ContextVar("cv")
def q(v=1): pass
def bound(b):
    b.apply_defaults()
    return b.arguments["v"]
class E(enum.Enum): A = 1
about = {"m": 1}
@dataclasses.dataclass
class D:
    v: float = dataclasses.field(default=0.0, metadata=about)
error = ValueError(1)
class A: __slots__ = ("v",)
a = A()
class Own:
    def __init__(self, k): self.k = k
def number(v):
    v = v.k if isinstance(v, Own) else v[0] if isinstance(v, list) else v
    return v() if isinstance(v, type(number)) else v
"""
VALUES = {
    "a tensor": ("wg.ones(1)", "wg.zeros(1)", "wg.ones(2)"),
    "a parameter": ("nn.Parameter(wg.ones(1))", "nn.Parameter(wg.zeros(1))"),
    "an array": ("np.ones(1)", "np.zeros(1)", "np.array([2])"),
    "a number": ("2.0", "3.0", "4"),
    "NumPy's number": ("np.float64(2)", "np.float64(3)", "np.int8(3)"),
    "a list": ("[1.0, 2.0]", "[3.0]"),
    "a list of tensors": ("[wg.ones(1)]", "[wg.zeros(1)]"),
    "an object": ("Own(2.0)", "Own(3.0)", "Own(wg.ones(1))"),
    "a function": ("(lambda: 2.0)", "(lambda: 3.0)"),
}  # fmt: skip


@pytest.mark.crossed
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("given", GIVEN)
def test_what_an_object_gives_that_is_made_anew_is_what_it_gives_now(
    given: str, value: str
) -> None:
    change, ask = GIVEN[given]

    def story(compile: Any) -> list[Any]:
        m = module(f"{SETUP}\ndef f(x): return x * number({ask})")
        f, seen = compile(m.f), []
        for text in VALUES[value]:
            m.V = eval(text, vars(m))  # noqa: S307
            exec(change, vars(m))  # noqa: S102
            seen += [outcome(f, numbers(1)) for _ in range(3)]
        return seen

    same_or_refused(story)


@pytest.mark.parametrize("given", ["what the context has", "a default in a signature", "the cause of an error", "a slot's descriptor"])  # fmt: skip
def test_such_an_object_need_not_be_refused(given: str) -> None:
    change, ask = GIVEN[given]

    def story(compile: Any) -> list[Any]:
        m = module(f"{SETUP}\ndef f(x): return x * number({ask})")
        f, seen = compile(m.f), []
        for value in ("wg.ones(1)", "wg.zeros(1)"):
            m.V = eval(value, vars(m))  # noqa: S307
            exec(change, vars(m))  # noqa: S102
            seen += [outcome(f, numbers(1)) for _ in range(3)]
        return seen

    same(story)


@pytest.mark.parametrize("values", ["wg.tensor(2.0), wg.tensor(3.0), wg.tensor(2.0), wg.tensor(5.0)", "2.0, 3.0, 4.0, 5.0"])  # fmt: skip
def test_an_item_of_what_is_made_is_that_of_this_call(values: str) -> None:
    # Once it had changed it was read at each call, and the container kept the one of the trace.
    def story(compile: Any) -> list[Any]:
        m = module(
            "import inspect\ndef q(w, v=1.0): pass\ndef f(x):\n"
            "    b = inspect.signature(q).bind(1)\n    b.apply_defaults()\n    return x, b.arguments['v']"
        )
        f, seen = compile(m.f), []
        for value in eval(f"[{values}]", vars(m)):  # noqa: S307
            m.q.__defaults__ = (value,)
            seen += [noted(f(numbers(1))) for _ in range(2)]
        return seen

    same(story)
