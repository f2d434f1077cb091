"""Checkpoints: run the region again instead of keeping its values."""

from __future__ import annotations

import gc
import weakref

import pytest

import wengert as wg
import wengert.utils
from wengert.history import modes


@pytest.fixture(autouse=True)
def _nothing_leaks():
    yield
    assert modes.current() is modes.DEFAULT


class Counter:
    """A function that counts its runs."""

    def __init__(self, function):
        self.function, self.runs = function, 0

    def __call__(self, *args, **kwargs):
        self.runs += 1
        return self.function(*args, **kwargs)


def checkpoint(lib, function, *args, **options):
    options.setdefault("use_reentrant", False)
    return lib.utils.checkpoint.checkpoint(function, *args, **options)


def ones(lib, *shape):
    return lib.ones(*shape, requires_grad=True)


# ---- non-reentrant -------------------------------------------------------------------------


def test_the_gradient_is_that_of_the_function(lib):
    x = lib.full((3,), 0.5, requires_grad=True)
    f = Counter(lambda x: (x.exp() * x).sin())
    y = checkpoint(lib, f, x)
    assert f.runs == 1
    y.sum().backward()
    assert f.runs == 2
    checkpointed = x.grad.tolist()
    x.grad = None
    f(x).sum().backward()
    assert x.grad.tolist() == checkpointed


def test_nothing_runs_again_if_nothing_saved_is_asked_for(lib):
    x = ones(lib, 2)
    f = Counter(lambda x: x + 1)
    checkpoint(lib, f, x).sum().backward()
    assert f.runs == 1
    assert x.grad.tolist() == [1, 1]


def test_any_structure_of_arguments_and_results(lib):
    x, w = ones(lib, 2), ones(lib, 2)

    def f(data, scale=1, *, extra):
        a, (b, n) = data
        return {"sum": a * b * extra["w"] * scale, "text": "kept", "list": [a * a, None, n]}

    out = checkpoint(lib, f, (x, [x, 7]), 3, extra={"w": w})
    assert out["text"] == "kept"
    assert out["list"][2] == 7
    (out["sum"].sum() + out["list"][0].sum()).backward()
    assert x.grad.tolist() == [8, 8]
    assert w.grad.tolist() == [3, 3]


def test_works_with_grad_and_with_inputs(lib):
    x = ones(lib, 2)
    y = checkpoint(lib, lambda x: x * x * x, x)
    assert lib.autograd.grad(y.sum(), x, retain_graph=True)[0].tolist() == [3, 3]
    y.sum().backward(inputs=[x])
    assert x.grad.tolist() == [3, 3]


def test_second_derivatives(lib):
    x = lib.full((2,), 2.0, requires_grad=True)
    y = checkpoint(lib, lambda x: x**3, x)
    (g,) = lib.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = lib.autograd.grad(g.sum(), x)
    assert g.tolist() == [12, 12]
    assert h.tolist() == [12, 12]


def test_inputs_need_not_require_grad_if_parameters_do(lib):
    w, x = ones(lib, 2), lib.full((2,), 3.0)
    checkpoint(lib, lambda x: x * w * w, x).sum().backward()
    assert w.grad.tolist() == [6, 6]


def test_results_that_need_no_grad_are_fine(lib):
    f = Counter(lambda x: (x * 2, x * 3))
    a, _ = checkpoint(lib, f, lib.ones(2))
    assert not a.requires_grad
    x = ones(lib, 2)
    a, b = checkpoint(lib, lambda x: (x * x, x.detach() * 2), x)
    assert not b.requires_grad
    a.sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_under_no_grad_it_is_a_plain_call(lib):
    x = ones(lib, 2)
    f = Counter(lambda x: x * x)
    with lib.no_grad():
        y = checkpoint(lib, f, x)
    assert not y.requires_grad
    assert f.runs == 1


def test_a_hook_fires_once_although_the_tensor_is_used_inside_and_outside(lib):
    seen = []
    x = ones(lib, 2)
    z = x * 2
    z.register_hook(lambda g: seen.append(g.tolist()))
    y = checkpoint(lib, lambda z: z * z, z) + z
    y.sum().backward()
    assert seen == [[5, 5]]
    assert x.grad.tolist() == [10, 10]


def test_a_hook_on_a_weight_used_inside_and_outside_fires_once(lib):
    seen = []
    x, w = ones(lib, 2), ones(lib, 2)
    w.register_hook(lambda g: seen.append(g.tolist()))
    y = checkpoint(lib, lambda x: x * w, x) + x * w
    y.sum().backward()
    assert seen == [[2, 2]]


def test_the_forward_is_replayed_when_the_first_saved_value_is_asked_for(lib):
    x = ones(lib, 2)
    order = []

    def f(x):
        order.append("forward")
        return x.exp()

    y = checkpoint(lib, f, x)
    z = y * 2
    z.register_hook(lambda g: order.append("z"))
    z.sum().backward()
    assert order == ["forward", "z", "forward"]


def test_one_replay_serves_all_values_of_the_region(lib):
    f = Counter(lambda x: x.exp().sin() * x.exp())
    x = ones(lib, 2)
    checkpoint(lib, f, x).sum().backward()
    assert f.runs == 2


def test_looking_at_a_saved_value_before_the_pass_works_twice(lib):
    f = Counter(lambda x: x.exp())
    x = ones(lib, 2)
    y = checkpoint(lib, f, x)
    for runs in (2, 3):
        assert y.grad_fn._saved_result.tolist() == y.tolist()
        assert f.runs == runs
    node = y.grad_fn
    y.sum().backward()
    assert f.runs == 4
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        node._saved_result
    assert f.runs == 4


def test_each_pass_over_a_retained_graph_replays(lib):
    f = Counter(lambda x: x.exp())
    x = ones(lib, 2)
    y = checkpoint(lib, f, x).sum()
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    y.backward()
    assert f.runs == 4
    with pytest.raises(RuntimeError, match="Specify retain_graph=True"):
        y.backward()


def test_reading_saved_tensors_twice_in_a_backward_is_an_error(lib):
    class Square(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            with pytest.raises(RuntimeError, match="already unpacked once"):
                ctx.saved_tensors
            return 2 * x * g

    x = lib.full((2,), 3.0, requires_grad=True)
    checkpoint(lib, Square.apply, x).sum().backward()
    assert x.grad.tolist() == [6, 6]


def test_a_custom_function_inside(lib):
    class Cube(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, n):
            ctx.n = n
            y = x**n
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * ctx.n * y / x, None

    x = lib.full((2,), 2.0, requires_grad=True)
    checkpoint(lib, lambda x: Cube.apply(x * 1, 3), x).sum().backward()
    assert x.grad.tolist() == [12, 12]


def test_random_numbers_repeat_in_the_replay(lib):
    x = ones(lib, 100)
    draws = []

    def f(x):
        noise = lib.rand(100)
        draws.append(noise.tolist())
        return x * noise

    y = checkpoint(lib, f, x)
    after = lib.rand(1).tolist()
    y.sum().backward()
    assert draws[0] == draws[1]
    assert x.grad.tolist() == draws[0]
    assert lib.rand(1).tolist() != after  # the stream outside went on undisturbed


def test_random_numbers_differ_if_the_state_is_not_kept(lib):
    draws = []

    def f(x):
        draws.append(lib.rand(3).tolist())
        return x * x

    checkpoint(lib, f, ones(lib, 3), preserve_rng_state=False).sum().backward()
    assert draws[0] != draws[1]


def test_a_thousand_checkpoints_in_one_graph(lib):
    x = ones(lib, 2)
    y = x
    for _ in range(1000):
        y = checkpoint(lib, lambda y: (y * y) * 0.5 + 0.5, y)
    y.sum().backward()
    assert x.grad.tolist() == [1, 1]


def test_nested_checkpoints(lib):
    x = lib.full((2,), 0.5, requires_grad=True)
    inner, outer = Counter(lambda x: x.sin().exp()), None

    def middle(x):
        return checkpoint(lib, inner, x.cos()) * x

    outer = Counter(middle)
    y = checkpoint(lib, outer, x.exp())
    y.sum().backward()
    got = x.grad.tolist()
    x.grad = None
    e = x.exp()
    (e.cos().sin().exp() * e).sum().backward()
    assert got == pytest.approx(x.grad.tolist())


def test_a_checkpoint_deep_inside_others(lib):
    def deep(n):
        if n == 0:
            return lambda x: x.sin()
        return lambda x: checkpoint(lib, deep(n - 1), x * 1.5).cos()

    x = lib.full((2,), 0.1, requires_grad=True)
    deep(4)(x).sum().backward()
    got = x.grad.tolist()
    x.grad = None
    y = x
    for _ in range(4):
        y = y * 1.5
    y = y.sin()
    for _ in range(4):
        y = y.cos()
    y.sum().backward()
    assert got == pytest.approx(x.grad.tolist(), rel=1e-5)


def test_hooks_around_and_inside_a_checkpoint(lib):
    seen = []
    x = ones(lib, 2)
    with lib.autograd.graph.saved_tensors_hooks(lambda t: seen.append("outer") or t, lambda t: t):
        y = checkpoint(lib, lambda x: x.exp(), x)
        z = y * y
    z.sum().backward()
    assert "outer" in seen
    e = y[0].item()
    assert x.grad.tolist() == pytest.approx([2 * e * e] * 2)

    def inside(x):
        with lib.autograd.graph.save_on_cpu():
            return x * x * x

    x.grad = None
    checkpoint(lib, inside, x).sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_save_on_cpu_around_a_checkpoint(lib):
    x = lib.full((2,), 3.0, requires_grad=True)
    with lib.autograd.graph.save_on_cpu():
        y = checkpoint(lib, lambda x: x * x, x * 1)
    y.sum().backward()
    assert x.grad.tolist() == [6, 6]


def test_the_values_of_the_region_are_not_kept(lib):
    alive = []

    def f(x):
        a = x.exp()
        alive.append(weakref.ref(a))
        return a.sin().exp()

    x = ones(lib, 2)
    gc.collect()
    gc.disable()
    try:
        y = checkpoint(lib, f, x)
        assert alive[0]() is None
        y.sum().backward()
        assert all(reference() is None for reference in alive)
    finally:
        gc.enable()


def test_an_error_in_the_replay_reaches_the_caller(lib):
    runs = []

    def f(x):
        runs.append(1)
        if len(runs) == 2:
            raise KeyError("second run")
        return x.exp()

    x = ones(lib, 2)
    y = checkpoint(lib, f, x)
    with pytest.raises(KeyError):
        y.sum().backward()
    assert x.grad is None
    x.exp().sum().backward()


def test_a_replay_that_saves_fewer_values_is_an_error(lib):
    first = [True]

    def f(x):
        y = x.exp()
        if first.pop() if first else False:
            y = y.sin()
        return y

    y = checkpoint(lib, f, ones(lib, 2))
    with pytest.raises(RuntimeError, match="different number of tensors was saved"):
        y.sum().backward()


def test_a_replay_that_saves_other_shapes_is_an_error(lib):
    sizes = [2, 3]

    def f(x):
        return (x[: sizes.pop(0)] * 1).exp().sum()

    y = checkpoint(lib, f, ones(lib, 4))
    with pytest.raises(RuntimeError, match="have different metadata"):
        y.backward()


def test_use_reentrant_should_be_said(lib):
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
        y = lib.utils.checkpoint.checkpoint(lambda x: x * x, ones(lib, 2))
    y.sum().backward()


def test_a_region_that_changes_its_own_values_in_place(lib):
    def f(x):
        y = x * 1
        y[:1].mul_(3)
        y.exp_()
        return y * y

    x = ones(lib, 2)
    checkpoint(lib, f, x).sum().backward()
    got = x.grad.tolist()
    x.grad = None
    f(x).sum().backward()
    assert got == x.grad.tolist()


# ---- reentrant -----------------------------------------------------------------------------


def reentrant(lib, function, *args, **options):
    return checkpoint(lib, function, *args, use_reentrant=True, **options)


def test_reentrant_gradients(lib):
    x, w = lib.full((2,), 2.0, requires_grad=True), ones(lib, 2)
    f = Counter(lambda x, n: (x * x * w * n, "text"))
    y, text = reentrant(lib, f, x, 3)
    assert text == "text"
    assert f.runs == 1
    y.sum().backward()
    assert f.runs == 2
    assert x.grad.tolist() == [12, 12]
    assert w.grad.tolist() == [12, 12]


def test_reentrant_is_an_error_under_grad_after_which_the_next_pass_works(lib):
    x = ones(lib, 2)
    for attempt in (
        lambda y: lib.autograd.grad(y.sum(), x),
        lambda y: y.sum().backward(inputs=[x]),
    ):
        y = reentrant(lib, lambda x: x * x, x)
        with pytest.raises(RuntimeError, match="use_reentrant=True"):
            attempt(y)
    reentrant(lib, lambda x: x * x, x).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_reentrant_needs_a_result_that_requires_grad(lib):
    y = reentrant(lib, lambda x: x.detach() * 2, ones(lib, 2))
    with pytest.raises(RuntimeError, match="none of output has requires_grad=True"):
        y.sum().backward()


def test_reentrant_warns_if_no_input_requires_grad(lib):
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        y = reentrant(lib, lambda x: x * 2, lib.ones(2))
    assert not y.requires_grad


def test_reentrant_refuses_keyword_arguments(lib):
    with pytest.raises(ValueError, match="Unexpected keyword arguments: scale"):
        reentrant(lib, lambda x, scale: x * scale, ones(lib, 2), scale=3)


@pytest.mark.filterwarnings("ignore:None of the inputs")
def test_reentrant_checkpoints_nest(lib):
    x = lib.full((2,), 0.5, requires_grad=True)
    y = reentrant(lib, lambda x: reentrant(lib, lambda z: z.sin(), x * 2) * x, x)
    y.sum().backward()
    got = x.grad.tolist()
    x.grad = None
    ((x * 2).sin() * x).sum().backward()
    assert got == pytest.approx(x.grad.tolist())


def test_reentrant_random_numbers_repeat(lib):
    draws = []

    def f(x):
        noise = lib.rand(5)
        draws.append(noise.tolist())
        return x * noise

    x = ones(lib, 5)
    reentrant(lib, f, x).sum().backward()
    assert x.grad.tolist() == draws[0] == draws[1]


# ---- sequences -----------------------------------------------------------------------------


@pytest.mark.parametrize("segments", [1, 2, 3])
def test_a_sequence_in_segments(lib, segments):
    steps = [lambda x: x.exp(), lambda x: x * 2, lambda x: x.sin(), lambda x: x * x]
    x = lib.full((2,), 0.5, requires_grad=True)
    lib.utils.checkpoint.checkpoint_sequential(
        steps, segments, x, use_reentrant=False
    ).sum().backward()
    got = x.grad.tolist()
    x.grad = None
    y = x
    for step in steps:
        y = step(y)
    y.sum().backward()
    assert got == x.grad.tolist()


# ---- ours alone ----------------------------------------------------------------------------


def test_a_function_that_catches_exceptions_does_not_catch_the_early_end_of_the_replay():
    def f(x):
        try:
            y = x.exp()
            z = y.sin()
        except Exception:
            raise AssertionError("the early end was taken for an error") from None
        return z

    x = ones(wg, 2)
    checkpoint(wg, f, x).sum().backward()
    assert x.grad is not None


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_an_argument_in_a_container_that_was_overwritten_is_an_error(use_reentrant):
    # Only arguments by themselves were looked at: the second run took what was written, silently.
    x, pair = ones(wg, 2), {"factors": [wg.tensor([2.0, 3.0])]}
    f = lambda x, pair: (x * pair["factors"][0]).sin()
    y = wg.utils.checkpoint.checkpoint(f, x, pair, use_reentrant=use_reentrant)
    pair["factors"][0].mul_(5)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_the_second_run_gets_containers_as_they_were_at_the_first(use_reentrant):
    # What the caller, or the function itself, had put into a list was there at the second run.
    def f(x, factors):
        y = (x * sum(factors)).exp()
        factors.append(y.detach())
        return y

    x, factors = ones(wg, 2), [wg.tensor([2.0, 3.0])]
    y = wg.utils.checkpoint.checkpoint(f, x, factors, use_reentrant=use_reentrant)
    known = (y * factors[0]).tolist()
    factors.append(wg.tensor([7.0, 7.0]))
    y.sum().backward()
    assert x.grad.tolist() == known


def test_a_parameter_that_was_overwritten_before_the_second_run_is_an_error():
    # Without the checkpoint it is one: with it, the gradients were those of the new parameter.
    x, layer = ones(wg, 2), wg.nn.Linear(2, 2)
    y = checkpoint(wg, layer, x).sum()
    with wg.no_grad():
        layer.weight.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_what_a_region_overwrites_before_it_reads_it_may_be_overwritten_by_each_run():
    x, scale = ones(wg, 2), wg.zeros(2)

    def f(x):
        scale.copy_(x.detach() * 3)
        return x * scale

    checkpoint(wg, f, x).sum().backward()
    assert x.grad.tolist() == [3, 3]
