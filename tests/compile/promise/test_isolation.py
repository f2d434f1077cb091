"""Tracing changes nothing that another thread sees, and leaves nothing behind."""

# ruff: noqa: E501  (programs as text read best with a statement on a line)
from __future__ import annotations

import ast
import contextlib
import gc
import itertools
import os
import select
import signal
import subprocess
import sys
import textwrap
import threading
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.stories import numbers, same
from tests.sweeps import swept
from wengert import nn, optim
from wengert.compile.trace.arrays.array import Trace
from wengert.compile.trace.observe.calls import Calls
from wengert.compile.trace.world import watch

WAIT = 10.0


def during_a_trace(other: Any) -> Any:
    """Run `other` in another thread while this one traces, and return what it gave or raised."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(other())
        except BaseException as error:
            found.append(error)

    def traced(x: Any) -> Any:
        w = numbers(1, 2, requires_grad=True)
        optimizer = optim.SGD([w], lr=0.1, momentum=0.9)
        if not found:
            thread = threading.Thread(target=run)
            thread.start()
            thread.join(WAIT)
        (w * x).sum().backward()
        optimizer.step()
        return w.detach() * 2

    f = wg.compile(traced)
    # Making an optimizer in the function may be refused: what the other thread saw counts.
    with contextlib.suppress(wg.errors.TracingError):
        f(numbers(1, 2))
    assert found
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]


def training(make: Any = optim.SGD, **settings: Any) -> Any:
    w = numbers(1, 2, requires_grad=True)
    optimizer = make([w], lr=0.1, **settings)

    def step() -> Any:
        optimizer.zero_grad()
        ((w * 3) ** 2).sum().backward()
        optimizer.step()
        return w.detach().numpy().copy()

    return step


def test_an_unrelated_optimizer_trains_in_another_thread() -> None:
    step, twin = training(momentum=0.9), training(momentum=0.9)
    expected = [twin() for _ in range(4)]
    found = [step(), *during_a_trace(lambda: [step() for _ in range(3)])]
    np.testing.assert_allclose(found, expected)


def test_settings_of_an_unrelated_optimizer_stay_numbers() -> None:
    w = numbers(1, 2, requires_grad=True)
    optimizer = optim.SGD([w], lr=0.1, momentum=0.9)
    group = during_a_trace(lambda: dict(optimizer.param_groups[0]))
    assert type(group["lr"]) is float
    assert group["lr"] == 0.1


def test_an_optimizer_is_made_in_another_thread() -> None:
    step, twin = during_a_trace(lambda: training(optim.Adam)), training(optim.Adam)
    np.testing.assert_allclose([step() for _ in range(3)], [twin() for _ in range(3)])


def test_a_module_runs_in_another_thread() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5), nn.BatchNorm1d(2))
    net.eval()
    x = wg.ones(3, 2)
    expected = net(x).detach().numpy()
    found = during_a_trace(lambda: net(x).detach().numpy())
    np.testing.assert_allclose(found, expected)


def test_the_classes_give_another_thread_what_they_always_give() -> None:
    """While somebody traces, descriptors stand in them; to others these are what they replace.

    Of `__hash__` it is a function, which gives what it always gives.
    """
    classes, x = (wg.Tensor, nn.Module, wg.Generator, optim.Optimizer), numbers(1, 2)

    def seen() -> Any:
        names = {(c, name) for c in classes for name in vars(c)} - {(wg.Tensor, "__hash__")}
        return {(c, name): getattr(c, name) for c, name in names} | {"hash": hash(x)}

    before = seen()
    found = during_a_trace(seen)
    assert not {key for key in before.keys() | found.keys() if before.get(key) != found.get(key)}
    now = seen()
    assert not {key for key in before.keys() | now.keys() if before.get(key) != now.get(key)}
    assert wg.Tensor.__hash__ is object.__hash__


@pytest.mark.usefixtures("compiled_anew")
def test_two_threads_trace_at_once() -> None:
    pipes, found = [os.pipe(), os.pipe()], {}

    def work(k: int) -> None:
        w = numbers(1, 2, requires_grad=True)
        optimizer = optim.SGD([w], lr=0.1, momentum=0.9)
        mine, others = pipes[:: 1 if k == 1 else -1]
        waited: list[int] = []

        def step(x: Any) -> Any:
            optimizer.zero_grad()
            if not waited:
                waited.append(met(mine, others))
            loss = ((w * x) ** 2).sum()
            loss.backward()
            if len(waited) == 1:
                waited.append(met(mine, others))
            optimizer.step()
            return loss

        step = wg.compile(step)
        try:
            found[k] = [float(step(numbers(1, k))) for _ in range(3)]
        except BaseException as error:
            found[k] = error

    threads = [threading.Thread(target=work, args=(k,)) for k in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(4 * WAIT)
    for k in (1, 2):
        w, v, losses = np.array([1.0, 2.0]), np.zeros(2), []
        x = np.array([1.0, k])
        for _ in range(3):
            losses.append(((w * x) ** 2).sum())
            v = 0.9 * v + 2 * w * x * x
            w = w - 0.1 * v
        if isinstance(found[k], BaseException):
            raise found[k]
        np.testing.assert_allclose(found[k], losses, rtol=1e-5)


def met(mine: Pipe, others: Pipe) -> int:
    """Wait for another thread at the same place."""
    tell(others)
    return len(told(mine, 2.0))


Pipe = tuple[int, int]
"""Functions that are traced wait for others by pipes: what changes an Event is refused."""


def tell(pipe: Pipe) -> None:
    with watch.aside():  # what acts on the system is refused
        os.write(pipe[1], bytearray(b"."))


def told(pipe: Pipe, seconds: float = WAIT) -> bytes:
    found = bytearray(1)
    with watch.aside():
        os.set_blocking(pipe[0], False)
        select.select([pipe[0]], [], [], seconds)  # a statement: its answer would be compared
        try:
            os.readv(pipe[0], [found])
        except BlockingIOError:
            return b""
        return bytes(found)


INTERRUPTED = """
    import gc, sys
    import numpy as np
    import wengert as wg
    from wengert import nn, optim

    net = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))
    optimizer = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    classes = [wg.Tensor, nn.Module, wg.Generator, *{type(m) for m in net.modules()}]
    before = [dict(vars(c)) for c in classes]

    def step(x):
        optimizer.zero_grad()
        loss = (net(x) ** 2).sum()
        loss.backward()
        optimizer.step()
        return loss

    x = wg.ones(3, 2)
    watch = wg.compile.__globals__['watch']
    tracing = watch.__name__.rpartition('.')[0].replace('.', '/')
    places = {
        'lines of the tracer': ('line', lambda code: tracing in code.co_filename),
        'opcodes of its begin and end': ('opcode', {getattr(watch, n).__code__ for n in ('run', '_end', '_settle')}.__contains__),
        'lines of the function': ('line', lambda code: code.co_name == 'step' and code.co_filename == '<string>'),
    }
    wanted, is_place = places[WHERE]

    def interrupt(n):
        def line(frame, event, arg):
            frame.f_trace_opcodes = wanted == 'opcode'
            if not is_place(frame.f_code):
                return line if event == 'call' else None
            if event == wanted:
                count[0] += 1
                if n == 0:
                    states.append([*map(id, [v for c in classes for v in vars(c).values()]), sys.getprofile()])
                elif count[0] == n:
                    sys.settrace(None)
                    raise KeyboardInterrupt
            return line
        return line

    def call(n):
        count[0] = 0
        f = wg.compile(step)
        sys.settrace(interrupt(n))
        try:
            f(x)
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)

    # All lines of the function, and each twelfth opcode from the first that is asked for; of the
    # tracer the lines at and around which something changes that others can see.
    count, states = [0], []
    call(-1)  # the first trace of a process has more lines
    call(0)
    changes = [n for n in range(2, len(states)) if states[n] != states[n - 1]]
    few = [1, 100, len(states) // 2, len(states) - 1, *changes[:20], *changes[-20:]]
    places = sorted({n + d for n in few for d in (-1, 0, 1, 2) if n + d > 0})
    if WHERE != 'lines of the tracer':
        assert 4 < len(states) < 500
        places = range(FIRST, len(states) + 1, 12 if wanted == 'opcode' else 1)
    wrong = []
    for n in places:
        call(n)
        for c, names in zip(classes, before):
            now = dict(vars(c))
            if any(names.get(k) is not now.get(k) for k in names.keys() | now.keys()):
                wrong.append((n, 'class', c.__name__))
        for p in net.parameters():
            if type(p._array) is not np.ndarray or not isinstance(p.grad, (wg.Tensor, type(None))):
                wrong.append((n, 'parameter'))
        if type(optimizer.param_groups[0]['lr']) is not float:
            wrong.append((n, 'setting'))
        scale = wg.ones(3, 2)
        scaled = wg.compile(lambda t: t * scale)
        scaled(x), scale.mul_(3)
        if scaled(x).tolist() != [[3.0, 3.0]] * 3:
            wrong.append((n, 'the next trace'))
        if sys.getprofile() is not None:
            wrong.append((n, 'profile'))
        if wrong:
            break
    assert not wrong, wrong
"""


def in_a_process(text: str, timeout: float = 120.0) -> None:
    """Run a program of its own, and raise AssertionError with the end of what it says."""
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
    try:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", textwrap.dedent(text)],
            capture_output=True, text=True, timeout=timeout, env=environment,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise AssertionError("it hangs") from error
    assert done.returncode == 0, done.stdout[-500:] + done.stderr[-500:]


OPCODES = "opcodes of its begin and end"


@pytest.mark.parametrize(
    ("where", "first"),
    [
        ("lines of the tracer", 1),
        (OPCODES, 1),
        pytest.param(OPCODES, 5, marks=pytest.mark.sweep),
        pytest.param(OPCODES, 9, marks=pytest.mark.sweep),
        ("lines of the function", 1),
    ],
)
def test_an_interrupt_at_any_line_of_a_trace_leaves_all_as_it_was(where: str, first: int) -> None:
    in_a_process(f"WHERE, FIRST = {where!r}, {first}\n" + textwrap.dedent(INTERRUPTED))


def test_signals_at_any_time_of_a_trace_leave_all_as_it_was() -> None:
    # Of 388 processes that were interrupted up to 50 times, 355 kept watched attributes.
    in_a_process(
        """
        import random, signal, sys, time
        import numpy as np
        import wengert as wg
        from wengert import nn, optim
        from wengert.compile.trace.world import watch
        from wengert.errors import TracingError
        from wengert.history import modes

        net = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Dropout(0.1), nn.Linear(2, 1))
        optimizer = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        classes = [wg.Tensor, nn.Module, wg.Generator, optim.Optimizer]
        before = [dict(vars(c)) for c in classes]
        x = wg.ones(3, 2)

        def step():
            optimizer.zero_grad()
            with wg.no_grad():
                doubled = x * 2
            (net(doubled) ** 2).sum().backward()
            optimizer.step()

        def capture():
            begun = time.perf_counter()
            wg.compile(step).capture((), {})
            return time.perf_counter() - begun

        signal.signal(signal.SIGALRM, signal.default_int_handler)
        duration = min(capture() for _ in range(3))
        hits = 0
        for _ in range(1000):
            if hits == 50:
                break
            try:
                try:
                    signal.setitimer(signal.ITIMER_REAL, random.random() * duration + 1e-5)
                    capture()
                finally:  # else an error lets the alarm ring where nobody waits for it
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                hits += 1
            except TracingError as error:  # Python drops an interrupt of what a collection calls
                assert "a collection of garbage runs where" in str(error)
            assert [dict(vars(c)) for c in classes] == before
            assert not watch.CAPTURES and not modes.special and sys.getprofile() is None
            made = sum(map(bool, optimizer.state.values()))
            assert made == 0 or made == len(list(net.parameters())), made
            optimizer.state.clear()
            assert type(optimizer.param_groups[0]["lr"]) is float
            for p in net.parameters():
                assert type(p._array) is np.ndarray and p.grad is None and p.is_leaf
        assert hits == 50, hits
        """
    )


CATCHING = {
    "except": "try:\n    return net(x)\nexcept KeyboardInterrupt:\n    return x * 0",
    "except all": "try:\n    return net(x)\nexcept BaseException:\n    pass\nreturn x * 0",
    "suppress": "with contextlib.suppress(KeyboardInterrupt):\n    return net(x)\nreturn x * 0",
    "finally": "try:\n    y = x * 0\n    y = net(x)\nfinally:\n    return y",
}


@pytest.mark.parametrize("caught", swept(CATCHING, "except"))
def test_an_interrupt_that_the_traced_function_catches_is_none_of_its_ways(caught: str) -> None:
    # The handler's result became the program: all later calls gave it, silently.
    in_a_process(
        f"""
        import contextlib, linecache, random, signal, time
        import numpy as np
        import wengert as wg

        net = wg.nn.Sequential(*[m for _ in range(12) for m in (wg.nn.Linear(2, 2), wg.nn.Tanh())])
        text = "def f(x):\\n" + "".join(f"    {{line}}\\n" for line in {caught!r}.split("\\n"))
        linecache.cache["f.py"] = len(text), None, text.splitlines(True), "f.py"

        def made():
            names = dict(globals(), __name__="users")
            exec(compile(text, "f.py", "exec"), names)
            return wg.compile(names["f"])

        x = wg.ones(3, 2)
        expected = made()(x).detach().numpy()
        begun = time.perf_counter()
        made()(x)
        duration = time.perf_counter() - begun

        signal.signal(signal.SIGALRM, signal.default_int_handler)
        hits = 0
        for _ in range(600):
            if hits == 30:
                break
            f = made()
            try:
                try:
                    signal.setitimer(signal.ITIMER_REAL, random.random() * duration + 1e-5)
                    f(x)
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                hits += 1
            except wg.errors.TracingError as error:
                assert "runs where a compiled function cannot see" in str(error), error
            np.testing.assert_allclose(f(x).detach().numpy(), expected, rtol=1e-5)
        assert hits == 30, hits
        """
    )


@pytest.mark.parametrize("by", swept(["a handler", "another thread"], "a handler"))
def test_an_error_that_comes_at_any_time_is_none_of_the_functions_ways(by: str) -> None:
    # Only interrupts were known. A handler's own error was caught, and what came of that compiled.
    in_a_process(
        f"""
        import ctypes, linecache, random, signal, threading, time
        import numpy as np
        import wengert as wg

        class Late(Exception):
            pass

        net = wg.nn.Sequential(*[m for _ in range(12) for m in (wg.nn.Linear(2, 2), wg.nn.Tanh())])
        text = "def f(x):\\n try:\\n  return net(x)\\n except Exception:\\n  return net(x) * 0\\n"
        linecache.cache["f.py"] = len(text), None, text.splitlines(True), "f.py"
        me, handled = threading.get_ident(), {by!r} == "a handler"

        def made():
            names = dict(globals(), __name__="users")
            exec(compile(text, "f.py", "exec"), names)
            return wg.compile(names["f"])

        def handle(number, frame):
            raise Late

        def in_time():
            time.sleep(random.random() * duration)
            late = ctypes.py_object(Late)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(me), late)

        x = wg.ones(3, 2)
        expected = made()(x).detach().numpy()
        begun = time.perf_counter()
        made()(x)
        duration = time.perf_counter() - begun
        signal.signal(signal.SIGALRM, handle)
        hits = 0
        for _ in range(600):
            if hits == 20:
                break
            f, thread = made(), threading.Thread(target=in_time)
            try:
                if handled:
                    signal.setitimer(signal.ITIMER_REAL, random.random() * duration + 1e-5)
                else:
                    thread.start()
                f(x)
                signal.setitimer(signal.ITIMER_REAL, 0)
                if not handled:
                    thread.join()
                for _ in range(100):
                    pass
            except Late:
                hits += 1
            if not handled:
                thread.join()
            signal.setitimer(signal.ITIMER_REAL, 0)
            np.testing.assert_allclose(f(x).detach().numpy(), expected, rtol=1e-5)
        assert hits == 20, hits
        """
    )


class Late(Exception):
    """What another thread sends."""


@pytest.mark.parametrize("when", range(5))
def test_an_error_between_two_lines_of_what_python_does_not_tell_of_ends_the_call(
    monkeypatch: Any, when: int
) -> None:
    # The function caught it, and the call was refused: what came then ran where nobody listened.
    unheard, calls = Calls.unheard, itertools.count()

    def interrupted(self: Any, function: Any, /, *args: Any) -> Any:
        if function.__name__ != "_called" or next(calls) != when:
            return unheard(self, function, *args)
        self.deaf += 1
        raise Late

    @wg.compile
    def f(x: Any) -> Any:
        try:
            return np.tanh(x) * np.sin(x) + np.cos(x)
        except Late:
            return x * 0

    x = numbers(1, 2)
    with monkeypatch.context() as patch:
        patch.setattr(Calls, "unheard", interrupted)
        with pytest.raises(Late):
            f(x)
    np.testing.assert_allclose(f(x), np.tanh(x) * np.sin(x) + np.cos(x), rtol=1e-6)


def test_signals_are_handled_while_a_function_is_traced() -> None:
    # "on_alarm runs where a compiled function cannot see", though nothing of the function called
    # it; and where its function was known to the trace, it was taken for a part of that.
    net = nn.Sequential(*[m for _ in range(6) for m in (nn.Linear(2, 2), nn.Tanh())])
    seen: list[Any] = []

    class Trainer:
        net = None

        def step(self, x: Any) -> Any:
            return self.net(x) * 2  # type: ignore[misc]

        def on_alarm(self, number: int, frame: Any) -> None:
            seen.append(number)

    trainer: Any = Trainer()
    trainer.net, x = net, wg.ones(2, 2)
    expected = trainer.step(x).tolist()
    outer = signal.signal(signal.SIGALRM, trainer.on_alarm)
    results = []
    try:
        for k in range(10):
            signal.setitimer(signal.ITIMER_REAL, 0.002 + 0.001 * k)
            results.append(wg.compile(trainer.step)(x).tolist())
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, outer)
    np.testing.assert_allclose(results, [expected] * 10, rtol=1e-5)
    assert len(seen) > 5


def test_a_signal_that_comes_while_nobody_hears_is_no_part_of_the_trace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Python tells of no call while the engine answers one of its own: only a stub knows a handler.
    answer, seen = Trace._called, list[Any]()

    def interrupted(self: Trace, *args: Any) -> Any:
        signal.raise_signal(signal.SIGALRM)
        return answer(self, *args)

    def on_alarm(number: int, frame: Any) -> None:
        seen.append((wg.ones(2) * 2).tolist())

    monkeypatch.setattr(Trace, "_called", interrupted)
    outer = signal.signal(signal.SIGALRM, on_alarm)
    try:
        f = wg.compile(lambda x: x * 3)
        result = f(wg.ones(2)).tolist()
    finally:
        signal.signal(signal.SIGALRM, outer)
    assert (result, seen) == ([3.0, 3.0], [[2.0, 2.0]])
    assert len(f.program.statements) == 1


@pytest.mark.parametrize("kind", [KeyboardInterrupt, MemoryError, RecursionError, ValueError])
def test_an_error_that_a_function_raises_and_catches_is_one_of_its_ways(kind: Any) -> None:
    # Three of these ended the call, wherever they came from.
    def story(compile: Any) -> Any:
        now = [True]

        def double(x: Any) -> Any:
            if now[0]:
                raise kind("now")
            return x * 2

        def f(x: Any) -> Any:
            try:
                return double(x)
            except kind:
                return x * 0

        f = compile(f)
        seen = [f(wg.ones(2)) for _ in range(3)]
        now[0] = False
        return [*seen, *(f(wg.ones(2)) for _ in range(3))]

    same(story)


def too_deep(n: int) -> int:
    return too_deep(n + 1)


@pytest.mark.parametrize(
    ("kind", "cause"),
    [(MemoryError, lambda: bytearray(1 << 62)), (RecursionError, lambda: too_deep(0))],
)
def test_an_error_of_what_a_trace_takes_more_of_ends_the_call(kind: Any, cause: Any) -> None:
    # As of interrupts, the handler's result became the program.
    now = [True]

    @wg.compile
    def f(x: Any) -> Any:
        try:
            return cause() if now[0] else x * 2
        except kind:
            return x * 0

    with pytest.raises(kind):
        f(wg.ones(2))
    now[0] = False
    assert f(wg.ones(2)).tolist() == [2, 2]


def test_a_process_forked_while_another_thread_traces_compiles() -> None:
    in_a_process(
        """
        import os, threading, signal
        import wengert as wg

        inside, go = threading.Event(), threading.Event()

        def slow(x):
            inside.set()
            go.wait(20)
            return x * 2

        thread = threading.Thread(target=wg.compile(slow), args=(wg.ones(2),))
        thread.start()
        inside.wait(20)
        pid = os.fork()
        if pid == 0:
            signal.alarm(20)
            f = wg.compile(lambda x: x * 3)
            good = all(f(wg.ones(2)).tolist() == [3.0, 3.0] for _ in range(3))
            os._exit(0 if good else 1)
        status = os.waitpid(pid, 0)[1]
        go.set()
        thread.join()
        assert status == 0, status
        """
    )


def test_a_process_forked_within_the_locks_of_a_trace_compiles() -> None:
    in_a_process(
        """
        import os, signal, sys, threading
        import wengert as wg

        wg.compile(lambda x: x + 1)(wg.ones(2))  # which loads the compiler, and its locks

        # A fork at the moment in which a thread holds a lock of the compiler's, as happens by chance.
        locks = {id(v): v for m in list(sys.modules.values())
                 if getattr(m, '__name__', '').startswith('wengert.') for v in vars(m).values()
                 if type(v) in (type(threading.Lock()), type(threading.RLock()))}
        held, go = threading.Event(), threading.Event()

        def hold():
            for lock in locks.values():
                lock.acquire()
            held.set()
            go.wait(1)
            for lock in locks.values():
                lock.release()

        thread = threading.Thread(target=hold)
        thread.start()
        held.wait(20)
        pid = os.fork()
        if pid == 0:
            signal.alarm(6)
            f = wg.compile(lambda x: x * 3)
            good = all(f(wg.ones(2)).tolist() == [3.0, 3.0] for _ in range(3))
            os._exit(0 if good else 1)
        status = os.waitpid(pid, 0)[1]
        go.set()
        thread.join()
        assert status == 0, status
        """
    )


def test_processes_forked_while_another_thread_compiles_compile_and_differentiate() -> None:
    # LLVM's lock, and that around all of a compilation, stayed held in five children of six.
    in_a_process(
        """
        import os, signal, threading, time

        os.environ["WENGERT_CACHE"] = ""
        import wengert as wg

        stop = threading.Event()

        def compiling():
            for n in range(10**6):
                if stop.is_set():
                    return
                wg.compile(lambda x: (x * (n + 0.5)).tanh() + x.exp() * n)(wg.ones(3))

        thread = threading.Thread(target=compiling)
        thread.start()
        statuses = []
        for k in range(6):
            time.sleep(0.07 * k)
            pid = os.fork()
            if pid == 0:
                signal.alarm(20)
                w = wg.ones(2, requires_grad=True)
                f = wg.compile(lambda x: (x * 3).sum())
                with wg.no_grad():
                    good = f(w) == 6.0
                f(w).backward()
                os._exit(0 if good and w.grad.tolist() == [3.0, 3.0] else 1)
            statuses.append(os.waitpid(pid, 0)[1])
        stop.set()
        thread.join()
        assert not any(statuses), statuses
        """
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_process_forked_while_another_thread_imports_a_part_of_the_compiler_compiles() -> None:
    # Python's lock of the module that was being imported stayed held in the child.
    in_a_process(
        """
        import os, signal, sys, threading, time
        import wengert as wg

        asked = threading.Event()

        class Slow:
            def find_spec(name, path=None, target=None):
                if name.startswith("wengert.compile."):
                    asked.set()
                    time.sleep(0.01)

        sys.meta_path.insert(0, Slow)
        f = wg.compile(lambda x: x * 3)
        for _ in range(3):  # the compiler is imported, and then what makes calls of its code fast
            asked.clear()
            thread = threading.Thread(target=f, args=(wg.ones(2),))
            thread.start()
            asked.wait(0.5)
            pid = os.fork()
            if pid == 0:
                signal.alarm(20)
                os._exit(0 if f(wg.ones(2)).tolist() == [3.0, 3.0] else 1)
            status = os.waitpid(pid, 0)[1]
            thread.join()
            assert status == 0, status
        """
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_takes_the_lock_of_finalizers_last() -> None:
    # It took LLVM's, and waited for one whose holder collected garbage: machine code, which waited
    # for LLVM's. One of two dozen programs that forked while a thread compiled hung so.
    in_a_process(
        """
        import os
        import wengert as wg
        from wengert.history import forks

        wg.compile(lambda x: x + 1)(wg.ones(2))

        class Told:
            def __init__(self, name):
                self.name = name

            def acquire(self):
                order.append(self.name)

            def release(self):
                pass

        order = []
        forks.waited_for(Told("inner"))
        forks.waited_for(Told("a finalizer's"), by_finalizers=True)
        forks.waited_for(Told("outer"))
        if os.fork() == 0:
            os._exit(0)
        os.wait()
        assert order == ["outer", "inner", "a finalizer's"], order
        from wengert.compile.llvm.machine import host
        import llvmlite.binding as llvm
        waited = forks._WAITED_FOR
        assert waited.index(llvm.ffi.lib._lock._lock) == len(waited) - 2
        """
    )


def test_a_compiled_function_that_a_traced_one_calls_is_traced_with_it() -> None:
    # Its native entry ran while tracing, and what it gave became a constant of the caller's.
    count, outside = wg.zeros(1), wg.ones(2)

    @wg.compile
    def inner() -> Any:
        count.add_(1)
        return outside.sum()

    for _ in range(3):
        inner()
    outer = wg.compile(lambda x: x + inner())
    found = []
    for value in (1.0, 5.0, 7.0):
        outside.fill_(value)
        found.append(outer(wg.zeros(1)).item())
    assert found == [2.0, 10.0, 14.0]
    assert count.item() == 6


def test_the_history_of_a_tensor_is_its_own_while_another_thread_traces() -> None:
    # What a trace wrote was counted in the real cells until it ended: others met ModifiedError.
    w = numbers(1, 2, requires_grad=True)
    buffer = wg.ones(2)
    loss = (w * buffer).sum()
    view = buffer[:1]
    found: list[Any] = []

    traced, seen = os.pipe(), os.pipe()

    def other() -> None:
        told(traced)
        loss.backward(retain_graph=True)
        found.append((buffer._version, view.is_leaf, w.is_leaf, w.grad.tolist()))
        tell(seen)

    def step(x: Any) -> Any:
        buffer.mul_(x)
        tell(traced)
        told(seen)
        return buffer * w

    thread = threading.Thread(target=other)
    thread.start()
    wg.compile(step)(wg.ones(2))
    thread.join(WAIT)
    assert found == [(0, True, True, [1.0, 1.0])]
    assert buffer._version == 1


def in_threads(count: int, work: Any) -> list[Any]:
    """What `work(k)` gives in as many threads at once; the first error is raised."""
    barrier, found = threading.Barrier(count), [None] * count

    def run(k: int) -> None:
        try:
            barrier.wait(WAIT)
            found[k] = work(k)
        except BaseException as error:
            found[k] = error

    threads = [threading.Thread(target=run, args=(k,)) for k in range(count)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(6 * WAIT)
    finally:
        sys.setswitchinterval(interval)
    for result in found:
        if isinstance(result, BaseException):
            raise result
    return found


def test_threads_that_link_entries_at_once_share_what_is_kept_for_ever() -> None:
    # The definition that a cache kept was that of the last thread; those of the others were freed,
    # with functions made of them in use: the process crashed.
    from wengert.compile.call.entry.native import _method

    _method("step")
    for n in range(50):
        assert (
            len({id(method) for method in in_threads(4, lambda _, n=n: _method(f"step {n}"))}) == 1
        )


def test_the_code_of_a_function_is_its_own_though_another_thread_lends_it_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # It was looked up before, and read after: what was observed was the stub's code.
    from wengert.compile.trace.observe import stubs

    def lent() -> None: ...

    class Meanwhile(dict[int, Any]):
        def get(self, key: int, default: Any = None) -> Any:
            found = super().get(key, default)
            if asks := [*asked]:
                asked.clear()
                stubs.lend(*asks, self)
            return found

    own, asked = lent.__code__, [lent]
    monkeypatch.setattr(stubs, "_stubs", meanwhile := Meanwhile())
    try:
        assert stubs.code_of(lent) is own
        assert lent.__code__ is not own  # by now it is lent
    finally:
        stubs.take_back([lent], meanwhile)
    assert lent.__code__ is own


HOLDERS: dict[str, Any] = {
    "the optimizer": lambda o: lambda: o.param_groups[0],
    "a variable": lambda o: (lambda g: lambda: g)(o.param_groups[0]),
    "an attribute": lambda o: Kept(o.param_groups[0]).get,
}


class Kept:
    def __init__(self, group: Any) -> None:
        self.group = group

    def get(self) -> Any:
        return self.group


@pytest.mark.parametrize("holder", HOLDERS.values(), ids=HOLDERS)
def test_a_setting_is_read_again_by_whoever_holds_its_group(holder: Any) -> None:
    # Only the groups that an optimizer gives hold traced numbers: others are its own dictionaries.
    optimizer = optim.SGD([numbers(1, 2, requires_grad=True)], lr=0.5)
    group = holder(optimizer)

    @wg.compile
    def scaled(x: Any) -> Any:
        return x * group()["lr"]

    found = []
    for rate in (0.5, 0.25, 0.125, 0.125):
        optimizer.param_groups[0]["lr"] = rate
        found.append(scaled(wg.ones(1)).item())
    assert found == [0.5, 0.25, 0.125, 0.125]


def test_settings_that_the_library_changes_in_a_function_are_refused() -> None:
    # They were changed while tracing, put back, and changed by no call.
    v = numbers(1, 2, requires_grad=True)
    optimizer = optim.SGD([numbers(1, 2, requires_grad=True)], lr=0.5)
    optimizer.step()

    def changing(x: Any) -> Any:
        optimizer.add_param_group({"params": [v]})
        return x * 2

    with pytest.raises(wg.errors.TracingError, match="param_groups"):
        wg.compile(changing)(wg.ones(1))
    assert optimizer.param_groups[0]["lr"] == 0.5
    assert len(optimizer.param_groups) == 1


def test_settings_that_the_function_itself_changes_are_those_of_its_next_step() -> None:
    def story(compile: Any) -> Any:
        w = numbers(1, 2, requires_grad=True)
        optimizer = optim.SGD([w], lr=0.5)

        @compile
        def step(x: Any) -> Any:
            optimizer.zero_grad()
            (w * x).sum().backward()
            optimizer.param_groups[0]["lr"] *= 0.5
            optimizer.step()
            return w.detach() * 1

        return [step(wg.ones(2)).tolist() for _ in range(4)], optimizer.param_groups[0]["lr"]

    assert story(wg.compile) == story(lambda f: f)


@pytest.mark.usefixtures("compiled_anew")
def test_threads_compile_and_train_their_own_steps_at_once() -> None:
    # One in 24 failed: a trace found another's traced numbers in its optimizer's settings.
    def losses(k: int, compile: Any) -> Any:
        layers = nn.Linear(2, 3), nn.Linear(3, 1)
        for layer in layers:
            for p in layer.parameters():
                wg.nn.init.constant_(p, 0.1 * (k + 1))
        net = nn.Sequential(layers[0], nn.Tanh(), layers[1])
        optimizer = optim.SGD(net.parameters(), lr=0.05, momentum=0.9)

        def step(x: Any) -> Any:
            optimizer.zero_grad()
            loss = (net(x) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss

        step = compile(step)
        return [step(wg.ones(3, 2)).item() for _ in range(5)]

    expected = [losses(k, lambda f: f) for k in range(8)]
    for _ in range(2):
        found = in_threads(8, lambda k: losses(k, wg.compile))
        np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.usefixtures("compiled_anew")
def test_threads_share_a_compiled_function() -> None:
    w = wg.ones(2, requires_grad=True)

    @wg.compile
    def loss(x: Any, scale: float) -> Any:
        return ((x * w) ** 2).sum() * scale

    def work(k: int) -> None:
        for n in range(8):
            rows = 1 + n % 3
            x = wg.full((rows, 2), float(k))
            made = loss(x, 0.5 * k)
            assert made.item() == pytest.approx(rows * k**3)
            (gradient,) = wg.autograd.grad(made, [w])
            np.testing.assert_allclose(gradient.numpy(), np.full(2, rows * k**3))

    for _ in range(3):
        in_threads(4, work)


# ---- where garbage is collected other threads get their turn ---------------------------------------


@contextlib.contextmanager
def collected_often(told: Any, threshold: int = 1) -> Any:
    """Garbage is collected whenever more objects were made, and `told` is what comes in between."""
    before = gc.get_threshold()
    gc.callbacks.append(told)
    gc.collect(0)  # it counts from here on
    gc.set_threshold(threshold)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(told)


def test_a_trace_makes_no_tree_of_syntax_while_others_make_theirs() -> None:
    # Python up to 3.11.7 counts in one place how deep the trees of all threads are: a SystemError in
    # the trace, for which one of several ranks ran eagerly, and called other collectives.
    with collected_often(lambda phase, info: ast.parse("1")):
        joined = wg.compile(lambda x: np.concatenate([x, x], 0))
        joined(wg.ones(2))
    assert "concatenate" in str(joined.program)


def test_the_watch_stays_where_a_thread_begins_to_trace_while_another_ends() -> None:
    # Who ended had asked already whether somebody traces: the other then read what is behind it.
    def come(phase: str, info: Any) -> None:
        nonlocal left
        left -= phase == "start" and sys._getframe(1).f_code is watch._settle.__code__
        if left == 0 and not watch.CAPTURES:
            watch.CAPTURES[-1] = None
            watch._settle()

    for threshold, nth in itertools.product(range(1, 12), range(1, 20)):
        left = nth
        with collected_often(come, threshold):
            watch._settle()
        stands = watch.stands_in(vars(wg.Tensor)["_array"])
        traces = bool(watch.CAPTURES)
        watch.CAPTURES.pop(-1, None)
        watch._settle()
        assert stands == traces, (threshold, nth)


def test_python_ends_without_a_word_of_what_is_told_of_collections() -> None:
    # "Exception ignored in ... _begin": its module had been taken apart.
    program = """
        import gc
        import wengert as wg
        wg.compile(lambda x: 2 * x)(wg.ones(2))
        gc.set_threshold(1)
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert ran.stderr == ""
