"""no_grad, enable_grad, set_grad_enabled, inference_mode: scopes, decorators, threads."""

from __future__ import annotations

import sys
import threading

import pytest

import wengert as wg
from wengert.history import modes


@pytest.fixture(autouse=True)
def _nothing_leaks():
    assert modes.current() is modes.DEFAULT
    yield
    assert modes.current() is modes.DEFAULT
    assert not modes.special


def test_modes_nest_and_restore(lib):
    assert lib.is_grad_enabled()
    with lib.no_grad():
        assert not lib.is_grad_enabled()
        with lib.enable_grad():
            assert lib.is_grad_enabled()
            with lib.set_grad_enabled(False):
                assert not lib.is_grad_enabled()
            assert lib.is_grad_enabled()
        assert not lib.is_grad_enabled()
    assert lib.is_grad_enabled()


def test_modes_restore_when_the_block_raises(lib):
    with pytest.raises(KeyError), lib.no_grad():
        raise KeyError
    assert lib.is_grad_enabled()


def test_results_inside_no_grad_have_no_history(lib):
    x = lib.ones(2, requires_grad=True)
    with lib.no_grad():
        y = x * 2
        with lib.enable_grad():
            z = x * 2
    assert not y.requires_grad
    assert y.grad_fn is None
    assert z.requires_grad
    assert (x * 2).requires_grad


def test_leaves_may_be_made_under_no_grad(lib):
    with lib.no_grad():
        x = lib.ones(2, requires_grad=True)
    assert x.requires_grad
    assert (x * 2).requires_grad


def test_a_bare_set_grad_enabled_acts_at_once(lib):
    lib.set_grad_enabled(False)
    try:
        assert not lib.is_grad_enabled()
    finally:
        lib.set_grad_enabled(True)
    assert lib.is_grad_enabled()


def test_an_enclosing_context_restores_its_own_mode_after_a_bare_call(lib):
    with lib.no_grad():
        lib.set_grad_enabled(True)
        assert lib.is_grad_enabled()
    assert lib.is_grad_enabled()
    with lib.enable_grad():
        lib.set_grad_enabled(False)
        assert not lib.is_grad_enabled()
    assert lib.is_grad_enabled()


def test_a_context_of_another_kind_does_not_undo_a_bare_call(lib):
    # Saved-tensor hooks restore hooks, not the gradient mode.
    with lib.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        lib.set_grad_enabled(False)
    try:
        assert not lib.is_grad_enabled()
    finally:
        lib.set_grad_enabled(True)


def test_set_grad_enabled_wants_a_bool(lib):
    with pytest.raises(TypeError, match="bool"):
        lib.set_grad_enabled(1)


def test_set_grad_enabled_as_a_decorator_does_not_act_at_once(lib):
    @lib.set_grad_enabled(False)
    def inside():
        return lib.is_grad_enabled()

    assert lib.is_grad_enabled()
    assert not inside()
    assert lib.is_grad_enabled()


@pytest.mark.parametrize("parentheses", [True, False])
@pytest.mark.parametrize("name", ["no_grad", "inference_mode"])
def test_decorators_work_with_and_without_parentheses(lib, name, parentheses):
    decorate = getattr(lib, name)

    def inside(a, *, b=2):
        """What it does."""
        return lib.is_grad_enabled(), a, b

    inside = decorate()(inside) if parentheses else decorate(inside)
    assert inside(1, b=3) == (False, 1, 3)
    assert inside.__doc__ == "What it does."
    assert inside.__name__ == "inside"


def test_enable_grad_decorates(lib):
    @lib.enable_grad()
    def inside():
        return lib.is_grad_enabled()

    with lib.no_grad():
        assert inside()
        assert not lib.is_grad_enabled()


def test_a_decorated_function_may_call_itself(lib):
    @lib.no_grad()
    def count(n):
        assert not lib.is_grad_enabled()
        if n:
            with lib.enable_grad():
                count(n - 1)
                assert lib.is_grad_enabled()
        assert not lib.is_grad_enabled()

    count(5)
    assert lib.is_grad_enabled()


def test_one_context_object_may_be_entered_again_later(lib):
    quiet = lib.no_grad()
    for _ in range(2):
        with quiet:
            assert not lib.is_grad_enabled()
        assert lib.is_grad_enabled()


def test_methods_can_be_decorated(lib):
    class Model:
        @lib.no_grad()
        def run(self, x):
            return x * 2

    assert not Model().run(lib.ones(2, requires_grad=True)).requires_grad


def test_modes_are_per_thread(lib):
    seen = []
    with lib.no_grad():
        thread = threading.Thread(target=lambda: seen.append(lib.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_one_decorated_function_in_several_threads_keeps_each_ones_mode(lib):
    inside, go_on = threading.Event(), threading.Event()
    after = {}

    @lib.no_grad()
    def wait():
        inside.set()
        go_on.wait(5)

    def plain():
        wait()
        after["plain"] = lib.is_grad_enabled()

    def quiet():
        with lib.no_grad():
            inside.wait(5)
            second()
            after["quiet"] = lib.is_grad_enabled()

    @lib.no_grad()
    def second():
        go_on.set()
        threads[0].join(5)

    threads = [threading.Thread(target=plain), threading.Thread(target=quiet)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert after == {"plain": True, "quiet": False}


# ---- generators ----------------------------------------------------------------------------


def test_the_mode_holds_only_while_the_generators_body_runs(lib):
    @lib.no_grad()
    def numbers():
        for i in range(3):
            assert not lib.is_grad_enabled()
            yield i

    for _ in numbers():
        assert lib.is_grad_enabled()
    with lib.no_grad():
        for _ in numbers():
            assert not lib.is_grad_enabled()


def test_the_bodys_own_mode_is_put_back_on_resumption(lib):
    @lib.enable_grad()
    def body():
        assert lib.is_grad_enabled()
        yield 1
        assert lib.is_grad_enabled()
        yield 2

    with lib.no_grad():
        generator = body()
        assert next(generator) == 1
        assert not lib.is_grad_enabled()
    assert next(generator) == 2


def test_a_generator_gets_its_mode_for_send(lib):
    @lib.no_grad()
    def echo():
        got = yield None
        while got is not None:
            got = yield (got, lib.is_grad_enabled())
        return "done"

    generator = echo()
    next(generator)
    assert generator.send(5) == (5, False)
    assert lib.is_grad_enabled()
    with pytest.raises(StopIteration) as stop:
        generator.send(None)
    assert stop.value.value == "done"
    assert lib.is_grad_enabled()


def test_a_generator_gets_its_mode_for_throw(lib):
    @lib.no_grad()
    def swallow():
        while True:
            try:
                yield "waiting"
            except ValueError:
                yield lib.is_grad_enabled()

    generator = swallow()
    next(generator)
    assert generator.throw(ValueError()) is False
    assert lib.is_grad_enabled()
    with pytest.raises(KeyError):
        generator.throw(KeyError())
    assert lib.is_grad_enabled()


def test_a_generator_gets_its_mode_for_close(lib):
    seen = []

    @lib.no_grad()
    def body():
        try:
            yield 1
        finally:
            seen.append(lib.is_grad_enabled())

    generator = body()
    next(generator)
    generator.close()
    assert seen == [False]
    assert lib.is_grad_enabled()


def test_an_exception_in_a_generator_restores_the_mode(lib):
    @lib.no_grad()
    def body():
        yield 1
        raise KeyError

    generator = body()
    next(generator)
    with pytest.raises(KeyError):
        next(generator)
    assert lib.is_grad_enabled()


def test_closing_a_generator_that_refuses_is_pythons_own_error(lib):
    @lib.no_grad()
    def stubborn():
        try:
            yield 1
        except GeneratorExit:
            yield 2

    generator = stubborn()
    next(generator)
    with pytest.raises(RuntimeError, match="ignored GeneratorExit"):
        generator.close()
    assert lib.is_grad_enabled()


@pytest.mark.parametrize("name", ["no_grad", "inference_mode"])
def test_interleaved_generators_do_not_mix_up_their_modes(lib, name):
    @getattr(lib, name)()
    def off():
        while True:
            yield lib.is_grad_enabled()

    @lib.enable_grad()
    def on():
        while True:
            yield lib.is_grad_enabled()

    a, b = off(), on()
    assert [next(a), next(b), next(a), next(b)] == [False, True, False, True]


# ---- what modes do -------------------------------------------------------------------------


def test_a_nested_pass_restores_the_surrounding_mode(lib):
    class Nested(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            assert not lib.is_grad_enabled()
            (x,) = ctx.saved_tensors
            with lib.enable_grad():
                y = x.detach().requires_grad_()
                (y * y).sum().backward()
                assert lib.is_grad_enabled()
            assert not lib.is_grad_enabled()
            return g * y.grad

    x = lib.full((2,), 3.0, requires_grad=True)
    Nested.apply(x).sum().backward()
    assert x.grad.tolist() == [6, 6]
    assert lib.is_grad_enabled()


def test_numpy_refuses_a_tensor_that_requires_grad_while_recording(lib):
    x = lib.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\)"):
        x.numpy()
    with lib.no_grad():
        assert x.numpy().tolist() == [1, 1]
    assert x.detach().numpy().tolist() == [1, 1]
    assert x.numpy(force=True).tolist() == [1, 1]


def test_in_place_on_a_leaf_under_no_grad_leaves_it_a_leaf(lib):
    x = lib.ones(2, requires_grad=True)
    with lib.no_grad():
        x.add_(1)
    assert x.is_leaf
    assert x.requires_grad
    assert x.grad_fn is None
    assert x._version == 1
    (x * x).sum().backward()
    assert x.grad.tolist() == [4, 4]


def test_out_refuses_operands_and_outputs_that_require_grad(lib):
    x, y = lib.ones(2, requires_grad=True), lib.zeros(2)
    with pytest.raises(RuntimeError, match="out="):
        lib.add(x, 1, out=y)
    with pytest.raises(RuntimeError, match="out="):
        lib.add(y, 1, out=x)
    with lib.no_grad():
        assert lib.add(x, 1, out=y) is y
        lib.add(y, 1, out=x)
    assert y.tolist() == [2, 2]
    assert x.tolist() == [3, 3]
    assert x.requires_grad


# ---- inference_mode as a mode --------------------------------------------------------------


def test_inference_mode_nests_and_restores(lib):
    assert not lib.is_inference_mode_enabled()
    with lib.inference_mode():
        assert lib.is_inference_mode_enabled()
        assert not lib.is_grad_enabled()
        with lib.inference_mode(False):
            assert not lib.is_inference_mode_enabled()
            assert lib.is_grad_enabled()
            with lib.inference_mode(True):
                assert lib.is_inference_mode_enabled()
            assert not lib.is_inference_mode_enabled()
        assert lib.is_inference_mode_enabled()
    assert not lib.is_inference_mode_enabled()
    assert lib.is_grad_enabled()


def test_the_inference_decorator_takes_the_flag(lib):
    @lib.inference_mode(True)
    def inside():
        return lib.ones(2)

    @lib.inference_mode(mode=False)
    def outside():
        return lib.ones(2)

    assert inside().is_inference()
    with lib.inference_mode():
        assert not outside().is_inference()


def test_a_generator_can_be_decorated_with_inference_mode(lib):
    @lib.inference_mode()
    def tensors():
        for _ in range(2):
            yield lib.ones(2)

    for t in tensors():
        assert t.is_inference()
        assert not lib.ones(1).is_inference()


def test_enable_grad_inside_inference_mode_records_nothing(lib):
    with lib.inference_mode(), lib.enable_grad():
        y = lib.ones(2, requires_grad=True) * 2
    assert not y.requires_grad
    assert y.is_inference()


# ---- ours alone ----------------------------------------------------------------------------


def test_set_grad_enabled_says_what_to_write():
    with pytest.raises(TypeError, match="True or False"):
        wg.set_grad_enabled(lambda: None)


@pytest.mark.parametrize("mode", [wg.no_grad, wg.inference_mode])
def test_an_interrupt_while_a_mode_is_entered_or_left_is_not_counted_for_ever(mode):
    # Ctrl-C between two statements left a thread counted: all operations went the long way round.
    instruction = 0

    def trace(frame, event, arg):
        nonlocal left
        if frame.f_code.co_filename != modes.__file__:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
        return trace

    interrupted = True
    while interrupted:
        instruction += 1
        left = instruction
        try:
            sys.settrace(trace)
            with mode():
                pass
            interrupted = False
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
        modes.enter(modes.DEFAULT)  # a scope that was never left
        with wg.no_grad():
            assert len(modes.special) == 1, instruction
        assert not modes.special, instruction
        assert wg.is_grad_enabled(), instruction
    assert instruction > 50
