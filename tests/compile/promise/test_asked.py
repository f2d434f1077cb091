"""What a function asks of what it finds, and does not compute with, is asked again at each call."""

# ruff: noqa: E501  (a piece of a program reads best on a line)
from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.stories import caught, noted, numbers, same, same_or_refused
from wengert import nn
from wengert.errors import InferenceError, InplaceError, TracingError


def turned(owner: Any, there: Callable[[Any], bool], take: Any, put: Any) -> Callable[[Any], Any]:
    """A function that takes something away where it is, and puts it there where it is not."""

    def f(x: Any) -> Any:
        if there(owner):
            take(owner)
            return x * 2
        put(owner, x)
        return x * 3

    return f


def emptied(o: Any) -> None:
    o.h = None


def taken(o: Any) -> None:
    del o.h


def with_a_tensor(o: Any, x: Any) -> None:
    o.h = x.sum()


def with_a_number(o: Any, x: Any) -> None:
    o.h = 4.0


def with_an_int(o: Any, x: Any) -> None:
    o.h = 3


def halved(o: Any) -> None:
    o.h = 1.5


def item_emptied(o: Any) -> None:
    o.d["h"] = None


def item_put(o: Any, x: Any) -> None:
    o.d["h"] = x.sum()


TURNED: dict[str, Any] = {
    "a tensor or None": (lambda o: o.h is not None, emptied, with_a_tensor),
    "a number or None": (lambda o: o.h is not None, emptied, with_a_number),
    "a tensor or no attribute": (lambda o: hasattr(o, "h"), taken, with_a_tensor),
    "a number or no attribute": (lambda o: hasattr(o, "h"), taken, with_a_number),
    "a number, which getattr() tells": (lambda o: getattr(o, "h", None) is not None, emptied, with_a_number),
    "an int or another number": (lambda o: isinstance(o.h, int), halved, with_an_int),
    "an item or None": (lambda o: o.d.get("h") is not None, item_emptied, item_put),
}  # fmt: skip


@pytest.mark.parametrize("name", TURNED)
def test_what_the_function_itself_puts_and_takes_away_decides_at_each_call(name: str) -> None:
    # It became an input, which the program did not read, so nothing asked whether it was there.
    def story(compile: Any) -> list[Any]:
        o = types.SimpleNamespace(h=None, d={})
        f = compile(turned(o, *TURNED[name]))
        return [noted([f(numbers(1, k)), vars(o)]) for k in range(6)]

    same(story)


def a_gradient(o: Any) -> None:
    o.t.grad = wg.ones(3)


ASKED: dict[str, Any] = {
    "whether it requires grad": (lambda o, x: x * (2 + o.t.requires_grad), lambda o: o.t.requires_grad_(False)),
    "whether it is a leaf": (lambda o, x: x * (2 + o.t.is_leaf), lambda o: setattr(o, "t", o.t * 1)),
    "its shape": (lambda o, x: x * o.t.shape[0], lambda o: setattr(o.t, "data", wg.ones(1))),
    "its length": (lambda o, x: x * len(o.t), lambda o: setattr(o.t, "data", wg.ones(1))),
    "how many axes it has": (lambda o, x: x * o.t.ndim, lambda o: setattr(o.t, "data", wg.ones(1, 1))),
    "how many numbers it has": (lambda o, x: x * o.t.numel(), lambda o: setattr(o.t, "data", wg.ones(6))),
    "its dtype": (lambda o, x: x * (2 + (o.t.dtype == wg.float32)), lambda o: setattr(o.t, "data", wg.ones(3, dtype=wg.float64))),
    "how it lies": (lambda o, x: x * (2 + o.t.is_contiguous()), lambda o: setattr(o.t, "data", wg.ones(3, 2)[:, 0])),
    "whether it has a gradient": (lambda o, x: x * (2 + (o.t.grad is None)), a_gradient),
    "the dtype of its gradient": (lambda o, x: x * (2 + (o.t.grad is not None and o.t.grad.dtype == wg.float32)), a_gradient),
    "whether it fits": (lambda o, x: (o.t + wg.ones(3), x * 2)[1], lambda o: setattr(o.t, "data", wg.ones(4))),
}  # fmt: skip


@pytest.mark.parametrize("name", ASKED)
def test_what_is_asked_of_a_tensor_that_is_not_computed_with_is_a_condition(name: str) -> None:
    ask, change = ASKED[name]

    def story(compile: Any) -> list[Any]:
        o = types.SimpleNamespace(t=nn.Parameter(wg.ones(3)))
        f, seen = compile(lambda x: ask(o, x)), []
        for k in range(6):
            if k == 3:
                change(o)
            seen.append(noted(caught(lambda: f(numbers(1, 2)))))
        return seen

    same(story)


@pytest.mark.parametrize("tracked", [False, True])
def test_an_int_that_only_decides_is_compared_at_each_call(tracked: bool) -> None:
    def story(compile: Any) -> list[Any]:
        w = wg.ones(2, requires_grad=tracked)
        f = compile(lambda x, n: x * w * (2 if n > 3 else 3))
        return [noted(f(numbers(1, 2), n)) for n in (5, 6, 6, 7, 8, 2, 2, 1, 5, 1)]

    same(story)


def test_an_array_that_only_decides_is_asked_at_each_call() -> None:
    def story(compile: Any) -> list[Any]:
        o = types.SimpleNamespace(a=np.ones(3))
        f, seen = compile(lambda x: x * len(o.a)), []
        for n in (3, 3, 3, 4, 4, 3):
            o.a = np.ones(n)
            seen.append(noted(f(numbers(1, 2))))
        return seen

    same(story)


class Raising:
    n = 0

    @property
    def half(self) -> float:
        if self.n % 3 == 1:
            raise AttributeError("half")
        if self.n % 3 == 2:
            raise ValueError("half")
        return 2.0


def of_class(o: Any) -> int:
    try:
        return int(o.half)
    except AttributeError:
        return 5
    except ValueError:
        return 7


@pytest.mark.parametrize(
    "ask", [of_class, lambda o: getattr(o, "half", 3), lambda o: 4 + hasattr(o, "half")]
)
def test_what_raises_another_error_when_it_is_asked_again_is_asked_by_the_function(
    ask: Any,
) -> None:
    # Whether there was such an attribute was asked at each call, and that raised a property's error.
    def story(compile: Any) -> list[Any]:
        o = Raising()
        f, seen = compile(lambda x: x * ask(o)), []
        for o.n in (0, 1, 2, 0, 1, 2, 2, 0):
            seen.append(caught(f, numbers(1)))
        return seen

    same(story)


# ---- what a tensor's past is ---------------------------------------------------------------------


def tracked() -> Any:
    return wg.ones(3, requires_grad=True)


def in_inference_mode() -> Any:
    with wg.inference_mode():
        return wg.ones(3)


def retaining() -> Any:
    t = tracked() * 1
    t.retain_grad()
    return t


def hooked() -> Any:
    t = tracked()
    t.register_hook(lambda g: g)
    return t


KINDS: dict[str, Callable[[], Any]] = {
    "plain": lambda: wg.ones(3),
    "a leaf": tracked,
    "computed": lambda: tracked() * 1,
    "a view": lambda: wg.ones(4)[1:],
    "a view of a leaf": lambda: tracked()[:],
    "written": lambda: wg.ones(3).add_(1).sub_(1),
    "of several": lambda: (tracked() * wg.ones(2, 3)).unbind()[1],
    "retaining its gradient": retaining,
    "hooked": hooked,
    "a parameter": lambda: nn.Parameter(wg.ones(3)),
    "of inference mode": in_inference_mode,
}

TOLD: dict[str, Callable[[Any], Any]] = {
    "requires_grad": lambda t: t.requires_grad,
    "is_leaf": lambda t: t.is_leaf,
    "by getattr()": lambda t: getattr(t, "is_leaf"),  # noqa: B009
    "that it has a grad_fn": lambda t: t.grad_fn is not None,
    "the name of grad_fn": lambda t: t.grad_fn.name() if t.grad_fn is not None else "",
    "_version": lambda t: t._version,
    "_is_view": lambda t: t._is_view(),
    "_base": lambda t: t._base is None,
    "output_nr": lambda t: t.output_nr,
    "retains_grad": lambda t: t.retains_grad,
    "_backward_hooks": lambda t: t._backward_hooks is None,
    "is_inference": lambda t: t.is_inference(),
    "its class": lambda t: type(t).__name__,
    "what is computed of it": lambda t: (t * 2).is_leaf,
}


def told(ask: Any, *args: Any) -> Any:
    try:
        return ask(*args)
    except (TracingError, InferenceError) as error:
        return type(error)


@pytest.mark.parametrize("passed", [True, False], ids=["passed", "found"])
@pytest.mark.parametrize("name", TOLD)
def test_what_a_tensor_says_of_its_past_is_that_of_the_tensor_at_each_call(
    name: str, passed: bool
) -> None:
    # What stood for it was a leaf that nobody had written, whatever it was itself.
    ask, order = TOLD[name], [*KINDS, *reversed(KINDS)]
    for first in KINDS:
        o, f = types.SimpleNamespace(), wg.compile(lambda x, *t: ask(t[0] if t else o.t))  # noqa: B023
        for kind in (first, first, first, *order[order.index(first) :][:3]):
            o.t = t = KINDS[kind]()
            expected = told(ask, t)
            found = told(f, numbers(1, 2), *([t] if passed else []))
            assert found is TracingError or found == expected, (first, kind)


def in_place(t: Any) -> Any:
    return (t.mul_(2), t * 2)[1]


def an_item(t: Any) -> Any:
    t[0] = 5.0
    return t * 2


def through_a_view(t: Any) -> Any:
    t[:1].mul_(2)
    return t * 2


def unrecorded(t: Any) -> Any:
    with wg.no_grad():
        t.mul_(2)
    return t * 2


def a_hook(t: Any) -> Any:
    t.register_hook(lambda g: g * 2)
    return t * 2


def a_hook_that_is_removed(t: Any) -> Any:
    t.register_hook(lambda g: g * 2).remove()
    return t * 2


def its_gradient_retained(t: Any) -> Any:
    t.retain_grad()
    return t * 2


def a_sweep_to_it(t: Any) -> Any:
    (t * t).sum().backward(inputs=[t])
    return t * 2


def a_sweep(t: Any) -> Any:
    (t * t).sum().backward()
    return t * 2


def a_gradient_by_it(t: Any) -> Any:
    return wg.autograd.grad((t * t).sum(), t)[0] * t


DONE = [in_place, an_item, through_a_view, unrecorded, a_hook, a_hook_that_is_removed]
DONE += [its_gradient_retained, a_sweep_to_it, a_sweep, a_gradient_by_it]


@pytest.mark.parametrize("passed", [True, False], ids=["passed", "found"])
@pytest.mark.parametrize("computed", [False, True])
@pytest.mark.parametrize("f", DONE)
def test_what_is_done_to_a_tensor_with_a_past_is_as_in_eager_mode_or_refused(
    f: Any, computed: bool, passed: bool
) -> None:
    # A sweep ended at an argument that was computed outside, and set its gradient, as if it were
    # a leaf; hooks were lost; and a write left the history of what was written as it was.
    def story(compile: Any) -> list[Any]:
        seen, o = [], types.SimpleNamespace()
        compiled = compile(lambda x, *t: f(t[0] if t else o.t))
        for k in range(4):
            w = numbers(1, k + 2, requires_grad=True)
            o.t = t = w * 3 if computed else w
            try:
                result = compiled(numbers(1), *([t] if passed else []))
                (t * t).sum().backward()
            except InplaceError as error:
                result = str(error).splitlines()[0]
            seen.append(noted([result, t, w.grad]))
        return seen

    same_or_refused(story)


# ---- which object it is --------------------------------------------------------------------------

ONE: Any = wg.ones(2)
PLAIN: Any = np.ones(2, np.float32)
KEYS = {ONE: 5.0}
SEVERAL = [ONE, wg.zeros(2)]

WHICH: dict[str, Callable[[Any, Any], Any]] = {
    "the argument": lambda o, x: 2 if x is ONE else 3,
    "an attribute": lambda o, x: 2 if o.t is ONE else 3,
    "an attribute and the argument": lambda o, x: 2 if o.t is x else 3,
    "two attributes": lambda o, x: 2 if o.t is o.one else 3,
    "the argument among several": lambda o, x: 2 if any(x is t for t in SEVERAL) else 3,
    "an attribute among several": lambda o, x: 2 if any(o.t is t for t in SEVERAL) else 3,
    "the argument as a key": lambda o, x: KEYS.get(x, 1.0),
    "an attribute as a key": lambda o, x: KEYS.get(o.t, 1.0),
    "the argument in a set": lambda o, x: len({x, ONE}),
    "an attribute in a set": lambda o, x: len({o.t, ONE}),
    "the id of the argument": lambda o, x: 2 if id(x) == id(ONE) else 3,
    "the id of an attribute": lambda o, x: [id(t) for t in SEVERAL].index(id(o.t)) if o.t is ONE else 3,
    "the argument, an array": lambda o, x: 2 if o.a is PLAIN else 3,
}  # fmt: skip


@pytest.mark.parametrize("first", [True, False], ids=["known first", "another first"])
@pytest.mark.parametrize("name", WHICH)
def test_which_object_it_is_that_a_function_gets_is_asked_at_each_call(
    name: str, first: bool
) -> None:
    # What stood for it was no other object at any call.
    def story(compile: Any) -> list[Any]:
        o, seen = types.SimpleNamespace(one=ONE), []
        f = compile(lambda x: x * WHICH[name](o, x))
        for known in (*[first] * 4, *[not first] * 3, first, not first):
            o.t = x = ONE if known else wg.ones(2)
            o.a = PLAIN if known else np.ones(2, np.float32)
            seen.append(noted(f(x)))
        return seen

    same(story)


MODES: dict[str, tuple[Any, Any]] = {
    "no_grad": (wg.no_grad, wg.is_grad_enabled),
    "enable_grad": (wg.enable_grad, wg.is_grad_enabled),
    "inference": (wg.inference_mode, wg.is_inference_mode_enabled),
    "anomaly": (lambda: wg.autograd.set_detect_anomaly(True), wg.is_anomaly_enabled),
    "autocast": (lambda: wg.autocast("cpu", dtype=wg.bfloat16), wg.is_autocast_enabled),
    "a dtype": (lambda: using(wg.float64), wg.get_default_dtype),
}
"""Modes that functions enter, and what asks for them."""


@contextlib.contextmanager
def using(dtype: Any) -> Iterator[None]:
    before = wg.get_default_dtype()
    wg.set_default_dtype(dtype)
    try:
        yield
    finally:
        wg.set_default_dtype(before)


@pytest.mark.filterwarnings("ignore:autocast")
@pytest.mark.parametrize("when", ["inside", "before and inside", "inside and after"])
@pytest.mark.parametrize("name", MODES)
def test_what_is_asked_in_a_mode_that_the_function_has_entered_is_no_condition_on_the_next_call(
    name: str, when: str
) -> None:
    # The answer from inside was compared with that from outside, which is another one: who first
    # asked inside was refused, as by "what changes each time it is called".
    enter, ask = MODES[name]

    def f(x: Any) -> Any:
        answers = [ask()] if when.startswith("before") else []
        with enter():
            answers.append(ask())
        if when.endswith("after"):
            answers.append(ask())
        for k, answer in enumerate(answers):
            x = x * (k + 2) if answer in (True, wg.float64) else x + 0.5
        return x.detach()

    compiled = wg.compile(f)
    for around in (wg.enable_grad, wg.no_grad, wg.inference_mode, enter) * 2:
        x = numbers(1, 2)
        with around():
            np.testing.assert_allclose(compiled(x).numpy(), f(x).numpy())


def test_a_function_of_ones_own_may_ask_for_the_mode_of_both_its_passes() -> None:
    # It was refused: forward() runs in one mode, and what backward() has entered is another.
    class Asks(wg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * (2 if wg.is_grad_enabled() else 3)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            with wg.enable_grad():
                return g * (5 if wg.is_grad_enabled() else 7)

    def f(x: Any) -> Any:
        y = Asks.apply(x)
        y.sum().backward()
        return y.detach()

    for g in (f, wg.compile(f)):
        x = wg.ones(2, requires_grad=True)
        assert [*g(x).tolist(), *x.grad.tolist()] == [3, 3, 5, 5]
