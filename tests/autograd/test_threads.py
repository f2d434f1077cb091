"""Order of nodes, nested passes, and passes in several threads at once."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

import pytest

import wengert as wg


def leaf(lib: Any, *values: float) -> Any:
    return lib.tensor(list(values), requires_grad=True)


def noting(lib: Any, seen: list[Any]) -> Any:
    class Note(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, name: str) -> Any:
            ctx.name = name
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            seen.append(ctx.name)
            return g, None

    return Note.apply


def in_threads(n: int, work: Callable[[int], None]) -> list[BaseException]:
    """Run `work` in n threads that start together; what they raised."""
    failures: list[BaseException] = []
    barrier = threading.Barrier(n)

    def run(i: int) -> None:
        barrier.wait()
        try:
            work(i)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    return failures


# ---- order ---------------------------------------------------------------------------------


def test_nodes_that_are_ready_run_latest_first(lib):
    x = leaf(lib, 1.0)
    seen: list[str] = []
    note = noting(lib, seen)
    a, b, c = note(x, "a"), note(x, "b"), note(x, "c")
    (b + c + a).backward()
    assert seen == ["c", "b", "a"]


def test_a_node_waits_for_all_that_use_its_output(lib):
    x = leaf(lib, 1.0)
    seen: list[str] = []
    note = noting(lib, seen)
    a = note(x, "a")
    b = note(a, "b")
    c = note(b, "c")
    (a + c).backward()
    assert seen == ["c", "b", "a"]
    assert x.grad.tolist() == [2]


def test_a_nested_pass_finishes_before_other_nodes_run(lib):
    x = leaf(lib, 1.0)
    seen: list[str] = []
    note = noting(lib, seen)

    class Nests(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            with lib.enable_grad():
                t = leaf(lib, 1.0)
                note(note(t, "inner first"), "inner last").backward()
            seen.append("outer")
            return g

    other = note(x, "other")
    nests = Nests.apply(x)
    (other + nests).backward()
    assert seen == ["inner last", "inner first", "outer", "other"]


def test_an_error_in_a_nested_pass_ends_the_outer_one(lib):
    class Nests(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            with lib.enable_grad():
                t = leaf(lib, 1.0) * 1
                t.register_hook(fail)
                t.backward()
            return g

    def fail(g: Any) -> None:
        raise LookupError("inside")

    x = leaf(lib, 1.0)
    with pytest.raises(LookupError, match="inside"):
        Nests.apply(x).backward()
    assert x.grad is None


# ---- threads -------------------------------------------------------------------------------


def test_a_shared_leaf_receives_the_exact_sum(lib):
    x = lib.zeros(10, dtype=lib.float64, requires_grad=True)

    def work(i: int) -> None:
        for _ in range(50):
            (x * (i + 1)).sum().backward()

    assert in_threads(8, work) == []
    assert x.grad.tolist() == [50 * 36] * 10


def test_threads_share_a_retained_graph(lib):
    x = leaf(lib, 2.0)
    y = (x * x).exp().log().sum()

    def work(i: int) -> None:
        for _ in range(20):
            y.backward(retain_graph=True)

    assert in_threads(4, work) == []
    assert x.grad.item() == pytest.approx(4 * 80, rel=1e-4)


def test_calls_of_grad_do_not_interfere(lib):
    x = leaf(lib, 2.0)
    results: list[float] = []

    def work(i: int) -> None:
        for _ in range(20):
            (g,) = lib.autograd.grad((x * (i + 1)) ** 2, x)
            results.append(g.item() / (i + 1) ** 2)

    assert in_threads(6, work) == []
    assert results == [4] * 120
    assert x.grad is None


def test_sharing_a_graph_that_is_freed_gives_the_usual_error_and_nothing_else(lib):
    for _ in range(10):
        x = leaf(lib, 2.0)
        shared = x
        for _ in range(30):
            shared = shared * shared.detach() / shared
        roots = [shared.exp() for _ in range(4)]
        failures = in_threads(4, lambda i, roots=roots: roots[i].backward())
        assert len(failures) < 4
        for error in failures:
            assert isinstance(error, RuntimeError)
            assert "Specify retain_graph=True" in str(error)


def test_a_graph_may_be_run_in_another_thread_than_it_was_built_in(lib):
    x = leaf(lib, 2.0)
    y = x * x
    assert in_threads(1, lambda i: y.backward()) == []
    assert x.grad.tolist() == [4]


def test_gradient_mode_is_per_thread(lib):
    seen: list[bool] = []
    with lib.no_grad():
        assert in_threads(1, lambda i: seen.append(lib.is_grad_enabled())) == []
    assert seen == [True]

    def leave_it_off(i: int) -> None:
        lib.set_grad_enabled(False)

    assert in_threads(1, leave_it_off) == []
    assert lib.is_grad_enabled()
    assert (leaf(lib, 1.0) * 2).requires_grad


def test_saved_tensor_hooks_are_per_thread(lib):
    packed: list[Any] = []

    def pack(t: Any) -> Any:
        packed.append(t)
        return t

    def work(i: int) -> None:
        x = leaf(lib, 2.0)
        (x * x).backward()

    with lib.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        assert in_threads(2, work) == []
    assert packed == []


def test_hooks_run_in_the_thread_of_the_pass(lib):
    x = leaf(lib, 2.0)
    seen: list[Any] = []
    x.register_hook(lambda g: seen.append(threading.get_ident()))
    idents: list[int] = []

    def work(i: int) -> None:
        idents.append(threading.get_ident())
        (x * 2).backward()

    assert in_threads(1, work) == []
    (x * 2).backward()
    assert seen == [*idents, threading.get_ident()]


def test_a_callback_belongs_to_the_pass_of_its_thread(lib):
    queue = lib.autograd.Variable._execution_engine.queue_callback
    seen: list[int] = []

    def work(i: int) -> None:
        x = leaf(lib, float(i))
        x.register_hook(lambda g: queue(lambda: seen.append(int(x.grad.item()))))
        (x * x).backward()

    assert in_threads(4, work) == []
    assert sorted(seen) == [0, 2, 4, 6]


# ---- wengert's own -------------------------------------------------------------------------


def test_deeply_nested_passes_keep_the_modes_of_the_thread():
    modes: list[bool] = []
    before = {*wg.history.modes.special}

    class Deep(wg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, depth: int) -> Any:
            ctx.depth = depth
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            modes.append(wg.is_grad_enabled())
            if ctx.depth:
                with wg.enable_grad():
                    t = g.detach().requires_grad_()
                    Deep.apply(t, ctx.depth - 1).backward()
            return g, None

    Deep.apply(leaf(wg, 1.0), 130).backward()
    assert modes == [False] * 131
    assert wg.history.modes.special == before


def test_a_thread_that_ends_without_recording_leaves_the_others_as_fast_as_before():
    before = {*wg.history.modes.special}, {*wg.history.modes.pushing}

    def work() -> None:
        wg.set_grad_enabled(False)
        assert len(wg.history.modes.special) == len(before[0]) + 1

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert (wg.history.modes.special, wg.history.modes.pushing) == before


def test_deeply_nested_passes_keep_context_variables():
    name = contextvars.ContextVar("name", default="")
    seen: list[str] = []

    class Deep(wg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, depth: int) -> Any:
            ctx.depth = depth
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            seen.append(name.get())
            if ctx.depth:
                with wg.enable_grad():
                    Deep.apply(g.detach().requires_grad_(), ctx.depth - 1).backward()
            return g, None

    name.set("outer")
    Deep.apply(leaf(wg, 1.0), 50).backward()
    assert seen == ["outer"] * 51
