"""The observer's ear in machine code tells what `sys.setprofile` tells, but for what is noted."""

import contextlib
import random
import sys
import threading
from types import FunctionType

import numpy as np
import pytest

import wengert as wg
from wengert import nn
from wengert.compile.call import listener
from wengert.compile.call.listener import native_listener
from wengert.compile.trace.observe.calls import Calls
from wengert.compile.trace.observe.listeners import EVERY_CALL, Kind


def fresh(function):
    """The function with code of its own, of which nothing is noted."""
    return FunctionType(function.__code__.replace(), function.__globals__, function.__name__)


def heard(listener, run, acting=frozenset()):
    """What is told while `run` runs: events and the names of their functions."""
    told = []

    def event(frame, name, argument):
        said = argument.__name__ if name.startswith("c_") else frame.f_code.co_name
        told.append((name, said))

    before = sys.getprofile()
    try:
        listener.listen(event, acting)
        run()
    finally:
        sys.setprofile(before)
    told = [(name, said) for name, said in told if said not in ("setprofile", "heard", "listen")]
    return [x for x in told if x[0] not in ("c_return", "c_exception")]


def inner():
    return len("abc")


def test_it_tells_of_calls_and_returns_as_python_does():
    callee = fresh(inner)
    expected = heard(EVERY_CALL, callee)
    assert ("call", "inner") in expected
    assert heard(native_listener(), callee) == [x for x in expected if x[0] != "c_call"]


@pytest.mark.parametrize("kind", [Kind.ENGINE, Kind.OBSERVED, Kind.LIBRARY])
def test_code_that_is_noted_is_not_told(kind):
    callee = fresh(inner)
    native_listener().note(callee.__code__, kind)
    assert heard(native_listener(), callee) == []


def test_a_library_called_by_observed_code_is_told_and_one_called_by_the_engine_is_not():
    library = fresh(inner)
    native_listener().note(library.__code__, Kind.LIBRARY)

    def call():
        return library()

    native_listener().note(call.__code__, Kind.OBSERVED)
    assert heard(native_listener(), call) == [("call", "inner"), ("return", "inner")]
    native_listener().note(call.__code__, Kind.ENGINE)
    assert heard(native_listener(), call) == []


def test_functions_in_c_are_told_if_they_act_or_are_methods_of_what_acts():
    generator = random.Random(0)

    def draw():
        return generator.random(), abs(-1), len("a"), [].append(1)

    native_listener().note(draw.__code__, Kind.ENGINE)
    acting = frozenset({id(generator), id(abs)})  # from now on: no other test here calls them
    assert heard(native_listener(), draw, acting) == [("c_call", "random"), ("c_call", "abs")]


def test_an_error_of_the_observer_comes_out_of_the_call():
    def event(frame, name, argument):
        raise KeyError("told")

    def run():
        before = sys.getprofile()
        try:
            native_listener().listen(event, frozenset())
            fresh(inner)()
        finally:
            sys.setprofile(before)

    with pytest.raises(KeyError, match="told"):
        run()


def test_a_trace_is_told_of_few_of_its_calls():
    # Each of some hundred thousand calls of a trace went through Python: a second of first calls.
    f = wg.compile(wg.grad(lambda x: np.sum(np.tanh(x * np.sin(x)))))
    count = 0
    listener = native_listener()
    usual = listener.listen

    def listen(event, acting):
        def counting(*told):
            nonlocal count
            count += 1
            event(*told)

        usual(counting, acting)

    listener.listen = listen
    try:
        f(np.ones(3))
    finally:
        del listener.listen
    assert 0 < count < 20_000


def test_threads_that_first_ask_at_once_have_one_listener(monkeypatch):
    # Each made one, under one name for its memory: of which the first was freed, and still read.
    made, found = [], []
    both = threading.Barrier(2)

    class Slow(listener.NativeListener):
        def __init__(self):
            made.append(self)
            with contextlib.suppress(threading.BrokenBarrierError):
                both.wait(0.2)

    monkeypatch.setattr(listener, "NativeListener", Slow)
    monkeypatch.setattr(listener, "_made", [])
    threads = [
        threading.Thread(target=lambda: found.append(listener.native_listener())) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert found == [made[0], made[0]]


def test_python_hears_of_few_calls_while_a_function_is_traced(monkeypatch):
    # Of fifteen thousand: those of the package that takes code apart, and of the engine's
    # dataclasses, whose `__init__` is made from text, were passed on, each of them each time.
    told = []
    event = Calls._event

    def noted(self, frame, name, argument):
        told.append((frame.f_code.co_name, frame.f_globals.get("__name__")))
        event(self, frame, name, argument)

    monkeypatch.setattr(Calls, "_event", noted)
    net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    for _ in range(2):  # what is met for the first time is told once

        def loss(x):
            return (net(x) ** 2).mean()

        told.clear()
        wg.compile(loss)(wg.ones(4, 2))
    assert not [x for x in told if x[1].startswith("bytecode")]
    assert not [x for x in told if x[0] == "__init__" and x[1].startswith("wengert")]
    assert len(told) < 200
