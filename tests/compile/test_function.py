"""`wengert.compile` as its users see it: the same results and effects as eager mode."""

from __future__ import annotations

import dataclasses
import functools
import gc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import nn, optim
from wengert.compile.trace.arrays.array import Trace, TracedArray
from wengert.compile.trace.capture import Capture
from wengert.compile.trace.handed import HandedBack
from wengert.compile.trace.world.conditions import Conditions
from wengert.compile.trace.world.inputs import Inputs, Passed
from wengert.compile.trace.world.outside import Outside
from wengert.errors import FreedGraphError, ModifiedError, TracingError
from wengert.nn import functional as F


def network(*layers: Any) -> nn.Module:
    wg.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 8), nn.ReLU(), *[make() for make in layers], nn.Linear(8, 4))


def batch(i: int, n: int = 5) -> tuple[wg.Tensor, wg.Tensor]:
    rng = np.random.default_rng(i)
    x = wg.tensor(rng.standard_normal((n, 3)).astype(np.float32))
    return x, wg.tensor(rng.integers(0, 4, n))


def stepper(net: Any, optimizer: Any) -> Callable[..., Any]:
    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def trained(compiled: bool, make: Any, between: Any = None, steps: int = 6) -> Any:
    net = network(lambda: nn.Linear(8, 8), nn.Tanh)
    optimizer = make(net.parameters())
    step = stepper(net, optimizer)
    step = wg.compile(step) if compiled else step
    wg.manual_seed(1)
    losses = []
    for i in range(steps):
        losses.append(float(step(*batch(i))))
        if between is not None:
            between(i, net, optimizer)
    return np.array(losses), net, step


OPTIMIZERS = {
    "sgd": lambda p: optim.SGD(p, lr=0.1),
    "momentum": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.5, weight_decay=0.01),
    "nesterov": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "maximize": lambda p: optim.SGD(p, lr=0.1, maximize=True),
    "adam": lambda p: optim.Adam(p, lr=0.01),
    "amsgrad": lambda p: optim.Adam(p, lr=0.01, amsgrad=True, weight_decay=0.1),
    "adamw": lambda p: optim.AdamW(p, lr=0.01),
    "rmsprop": lambda p: optim.RMSprop(p, lr=0.01, momentum=0.5, centered=True),
    "adagrad": lambda p: optim.Adagrad(p, lr=0.1, lr_decay=0.1),
    "adadelta": lambda p: optim.Adadelta(p, lr=1.0),
    "adamax": lambda p: optim.Adamax(p, lr=0.01),
    "nadam": lambda p: optim.NAdam(p, lr=0.01, weight_decay=0.1),
    "radam": lambda p: optim.RAdam(p, lr=0.01, betas=(0.9, 0.99)),
    "rprop": lambda p: optim.Rprop(p, lr=0.01),
    "asgd": lambda p: optim.ASGD(p, lr=0.01, t0=2),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_gives_the_losses_and_parameters_of_eager_mode(name: str) -> None:
    eager, net, _ = trained(False, OPTIMIZERS[name])
    compiled, twin, step = trained(True, OPTIMIZERS[name])
    np.testing.assert_allclose(compiled, eager, rtol=2e-5)
    for p, q in zip(net.parameters(), twin.parameters(), strict=True):
        np.testing.assert_allclose(q.detach(), p.detach(), rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(q.grad, p.grad, rtol=1e-3, atol=1e-5)
    assert len(step.retraces) == 0


def test_a_scheduler_changes_the_rate_without_a_retrace() -> None:
    def run(compiled: bool) -> Any:
        rates = {}

        def between(i: int, net: Any, optimizer: Any) -> None:
            scheduler = rates.setdefault("s", optim.lr_scheduler.StepLR(optimizer, 2, 0.5))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                scheduler.step()

        return trained(compiled, OPTIMIZERS["adam"], between)

    eager, _, _ = run(False)
    compiled, _, step = run(True)
    np.testing.assert_allclose(compiled, eager, rtol=2e-5)
    assert step.retraces == []


def test_another_shape_is_traced_anew_and_the_reason_is_kept() -> None:
    @wg.compile
    def f(x: Any) -> Any:
        return (x * 2).sum()

    assert f(wg.ones(3)).item() == 6
    assert f(wg.ones(4)).item() == 8
    assert f(wg.ones(3)).item() == 6
    (reason,) = f.retraces
    assert "argument 0 was Tensor of shape [3]" in reason
    assert "[4]" in reason


def test_shapes_that_always_change_end_in_a_warning_that_names_the_argument() -> None:
    @wg.compile
    def f(x: Any) -> Any:
        return x + 1

    for n in range(16):
        f(wg.ones(n))
    with pytest.warns(UserWarning, match="argument 0 was Tensor of shape"):
        assert f(wg.ones(20)).shape == (20,)


def test_train_and_eval_are_different_programs() -> None:
    net = network(lambda: nn.BatchNorm1d(8))
    f = wg.compile(lambda x: net(x))
    x, _ = batch(0)
    twin = network(lambda: nn.BatchNorm1d(8))
    np.testing.assert_allclose(f(x).detach(), twin(x).detach(), rtol=1e-4, atol=1e-6)
    net.eval(), twin.eval()
    np.testing.assert_allclose(f(x).detach(), twin(x).detach(), rtol=1e-4, atol=1e-6)
    assert "training was True and is False" in f.retraces[0]
    for name, buffer in net.named_buffers():
        np.testing.assert_allclose(buffer, dict(twin.named_buffers())[name], rtol=1e-5)


def test_dropout_draws_the_numbers_that_eager_mode_draws() -> None:
    net = network(lambda: nn.Dropout(0.5))
    x, _ = batch(0)
    f = wg.compile(net)
    f(x)
    wg.manual_seed(3)
    first, second = f(x), f(x)
    wg.manual_seed(3)
    np.testing.assert_allclose(first.detach(), net(x).detach(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(second.detach(), net(x).detach(), rtol=1e-5, atol=1e-6)
    assert not wg.equal(first, second)


def test_gradients_accumulate_over_calls() -> None:
    def run(compiled: bool) -> Any:
        net = network()

        def accumulate(x: Any, y: Any) -> Any:
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            return loss

        f = wg.compile(accumulate) if compiled else accumulate
        for i in range(4):
            f(*batch(i))
        first = [p.grad.clone() for p in net.parameters()]
        net.zero_grad()
        f(*batch(9))
        return [*first, *[p.grad for p in net.parameters()]]

    for g, h in zip(run(False), run(True), strict=True):
        np.testing.assert_allclose(h, g, rtol=1e-4, atol=1e-6)


def test_a_gradient_that_the_user_kept_is_not_overwritten() -> None:
    net = network()
    optimizer = optim.SGD(net.parameters(), lr=0.1)
    step = wg.compile(stepper(net, optimizer))
    step(*batch(0))
    kept = net[0].weight.grad
    before = kept.clone()
    step(*batch(1))
    assert wg.equal(kept, before)
    assert not wg.equal(net[0].weight.grad, before)


def test_compiled_functions_are_differentiable_to_second_order() -> None:
    w = wg.tensor(np.random.default_rng(0).standard_normal((3, 4)), requires_grad=True)

    def f(x: Any) -> Any:
        return (x @ w).tanh().sum(), (x * 2).exp()

    def derivatives(g: Any) -> list[wg.Tensor]:
        x = wg.tensor(np.linspace(-1, 1, 6).reshape(2, 3), requires_grad=True)
        a, b = g(x * 1.0)
        first = wg.autograd.grad(a * a + b.sum(), [x, w], create_graph=True)
        second = wg.autograd.grad(sum((t * t).sum() for t in first), [x, w])
        return [a, b, *first, *second]

    for eager, compiled in zip(derivatives(f), derivatives(wg.compile(f)), strict=True):
        np.testing.assert_allclose(compiled.detach(), eager.detach(), rtol=1e-12)


def test_a_compiled_module_trains_inside_an_eager_step() -> None:
    net, twin = network(), network()
    compiled = wg.compile(net)
    assert [n for n, _ in compiled.named_parameters()] == [n for n, _ in twin.named_parameters()]
    for f, m in ((compiled, net), (twin, twin)):
        optimizer = optim.SGD(m.parameters(), lr=0.1)
        for i in range(3):
            stepper(f, optimizer)(*batch(i))
    for p, q in zip(net.parameters(), twin.parameters(), strict=True):
        np.testing.assert_allclose(q.detach(), p.detach(), rtol=1e-4, atol=1e-6)


def test_backward_through_a_step_that_ran_its_own_backward_is_refused() -> None:
    net = network()
    step = wg.compile(stepper(net, optim.SGD(net.parameters(), lr=0.1)))
    step(*batch(0))
    loss = step(*batch(1))
    assert loss.requires_grad
    with pytest.raises(FreedGraphError, match="itself"):
        loss.backward()


def test_a_parameter_changed_between_forward_and_backward_is_noticed() -> None:
    net = network()
    f = wg.compile(net)
    x, y = batch(0)
    f(x)
    loss = F.cross_entropy(f(x), y)
    with wg.no_grad():
        net[2].weight.add_(1)
    with pytest.raises(ModifiedError, match="add_"):
        loss.backward()


def test_no_grad_is_another_program() -> None:
    w = wg.ones(2, requires_grad=True)
    f = wg.compile(lambda x: x * w)
    assert f(wg.ones(2)).requires_grad
    with wg.no_grad():
        assert not f(wg.ones(2)).requires_grad


def test_arguments_may_be_arrays_numbers_and_containers() -> None:
    @wg.compile
    def f(data: dict[str, Any], pair: Any, power: int = 2, *, scale: float) -> Any:
        a, b = pair
        return {"sum": np.sum(data["x"]) * scale, "rest": [a**power, (b, power)]}

    x = np.arange(3.0)
    for scale in (2.0, 3.5):
        out = f({"x": x}, (x, wg.ones(2)), scale=scale)
        assert out["sum"] == x.sum() * scale
        np.testing.assert_array_equal(out["rest"][0], x**2)
        assert type(out["rest"][0]) is np.ndarray
        assert out["rest"][1][1] == 2
    assert f.retraces == []
    assert f({"x": x}, (x, wg.ones(2)), power=3, scale=1.0)["rest"][1][1] == 3


def test_a_number_that_decides_a_branch_becomes_part_of_the_signature() -> None:
    @wg.compile
    def f(x: Any, slope: float) -> Any:
        return x * slope if slope > 0 else -x

    x = wg.ones(2)
    assert f(x, 2.0).tolist() == [2, 2]
    assert f(x, -2.0).tolist() == [-1, -1]
    assert f(x, 3.0).tolist() == [3, 3]


SCALE = 2.0


def test_globals_and_closures_are_read_anew_when_they_change() -> None:
    global SCALE
    shift, table = 1.0, np.array([1.0, 2.0])
    f = wg.compile(lambda x: x * SCALE + shift + table)
    x = wg.ones(2)
    assert f(x).tolist() == [4, 5]
    table[0] = 7.0
    assert f(x).tolist() == [10, 5]
    SCALE = 3.0
    assert f(x).tolist() == [11, 6]
    shift = 0.0
    assert f(x).tolist() == [10, 5]
    SCALE = 2.0


def enclosing() -> tuple[dict[str, Any], Callable[[float], None]]:
    """Functions with an enclosed variable in the places where programs keep them; what sets it."""
    slope = 2.0

    def change(number: float) -> None:
        nonlocal slope
        slope = number

    def inner(x: Any) -> Any:
        return x * slope

    @functools.wraps(inner)
    def wrapped(*args: Any) -> Any:
        return inner(*args)

    @dataclasses.dataclass
    class Box:
        run: Any = inner

    box, partial, listed = Box(), functools.partial(inner), [inner]
    places: dict[str, Any] = {
        "a caller's variable": lambda x: inner(x),
        "a wrapper": lambda x: wrapped(x),
        "an attribute": lambda x: box.run(x),
        "a partial function": lambda x: partial(x),
        "a list": lambda x: listed[0](x),
        "a comprehension": lambda x: sum([y * slope for y in (x,)]),
        "a function made inside": lambda x: (lambda y: y * slope)(x),
    }
    return places, change


@pytest.mark.parametrize("place", enclosing()[0])
def test_an_enclosed_variable_is_read_anew_wherever_the_function_is_kept(place: str) -> None:
    places, change = enclosing()
    f = wg.compile(places[place])
    assert f(wg.ones(2)).tolist() == [2, 2]
    assert f(wg.ones(2)).tolist() == [2, 2]
    change(5.0)
    assert f(wg.ones(2)).tolist() == [5, 5]
    assert len(f.retraces) == 1


@pytest.mark.parametrize("second", [2.0, 3.0])
def test_functions_of_one_text_enclose_each_their_own_variable(second: float) -> None:
    def scaling(slope: float) -> Any:
        def change(number: float) -> None:
            nonlocal slope
            slope = number

        return lambda x: x * slope, change

    (one, _), (two, change) = scaling(2.0), scaling(second)
    f = wg.compile(lambda x: one(x) + two(x))
    assert f(wg.ones(1)).tolist() == [2 + second]
    change(5.0)
    assert f(wg.ones(1)).tolist() == [7]


def test_functions_that_a_program_names_are_found_without_a_search_of_its_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unexpected(*objects: Any) -> Any:
        raise AssertionError(f"looked for what refers to {objects}")

    monkeypatch.setattr(gc, "get_referrers", unexpected)
    places, _ = enclosing()
    del places["a list"]
    for f in places.values():
        assert wg.compile(f)(wg.ones(2)).tolist() == [2, 2]


def test_a_gradient_that_a_function_has_taken_itself_is_a_constant_at_every_call() -> None:
    # At the first one it required grad, as the tensor beside it does.
    @wg.compile
    def f(x: Any, w: Any) -> Any:
        y = x * w
        return *wg.autograd.grad((y * y).sum(), w), y

    for _ in range(3):
        gradient, y = f(wg.ones(2), wg.tensor(3.0, requires_grad=True))
        assert not gradient.requires_grad
        assert y.requires_grad


@pytest.mark.crossed
@pytest.mark.parametrize("number", [0.5, 3, True, 2j])
@pytest.mark.parametrize("x", [1.5, 2, [1.5, 2.0], [1, 2]])
def test_an_array_of_no_dimensions_counts_as_a_number_beside_a_tensor(x: Any, number: Any) -> None:
    for f in (lambda x, y: x * y, lambda x, y: y - x, lambda x, y: wg.where(x > 1, x, y)):
        try:
            expected = f(wg.tensor(x), np.array(number))
        except (TypeError, RuntimeError):
            continue
        found = wg.compile(f)(wg.tensor(x), np.array(number))
        assert found.dtype == expected.dtype
        assert wg.allclose(found, expected)


def test_a_view_from_outside_is_read_at_each_call() -> None:
    # An array with a base was once a constant, whoever held it: table.reshape(...) went stale.
    rows = np.arange(6.0).reshape(2, 3)
    columns = np.arange(6.0).reshape(3, 2).T
    f = wg.compile(lambda x: x + rows + columns)
    for _ in range(3):
        np.testing.assert_array_equal(f(np.ones((2, 3))), 1 + rows + columns)
        rows += 1
        columns *= 2
    assert f.retraces == []


def test_arguments_changed_in_place_are_changed_for_the_caller() -> None:
    @wg.compile
    def f(x: Any, y: Any) -> Any:
        x[0] += y.sum()
        row = x[1]
        row *= 2
        return x.sum()

    x, y = wg.ones(2, 3), wg.arange(3.0)
    for k in (1, 2):
        f(x, y)
        assert x.tolist() == [[1 + 3 * k] * 3, [2**k] * 3]


def test_arguments_that_are_one_array_are_as_in_eager_mode() -> None:
    def f(x: Any, y: Any) -> Any:
        x += 1
        return x * y

    x = np.ones(3)
    z = np.ones(3)
    np.testing.assert_array_equal(wg.compile(f)(x, x), f(z, z))
    np.testing.assert_array_equal(x, z)


def test_strided_and_read_only_arguments() -> None:
    f = wg.compile(lambda x: x * 2)
    x = np.arange(12.0).reshape(3, 4)
    x.flags.writeable = False
    for y in (x, x.T, x[:, ::2], x[::-1], np.broadcast_to(1.0, (3, 4))):
        np.testing.assert_array_equal(f(y), y * 2)


def test_a_read_only_argument_cannot_be_written() -> None:
    @wg.compile
    def f(x: Any) -> None:
        x += 1

    x = np.ones(3)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        f(x)


@pytest.mark.parametrize(
    ("use", "said"),
    [
        (lambda x: x * 2 if x.sum() > 0 else x, r"bool\(\)"),
        (lambda x: x if float(x.sum()) > 0 else -x, r"bool\(\)"),
        (lambda x: f"{x.sum().item():.3f}", r"format\(\)"),
        (lambda x: [0] * int(x.sum()), "an index"),
        (lambda x: {3: "a"}.get(int(x.sum())), r"hash\(\)"),
        (lambda x: int(x.sum()) * int(x.sum()), r"np\.multiply\(\)"),
        (lambda x: x[x > 0], "shape depends"),
        (lambda x: x.nonzero(), "shape depends"),
        (lambda x: x.repeat(30).tolist(), r"\.tolist\(\)"),  # of more than 64 numbers
    ],
)
def test_what_needs_numbers_is_an_error_that_shows_the_line(use: Any, said: str) -> None:
    w = wg.ones(3, requires_grad=True)
    optimizer = optim.SGD([w], lr=0.1, momentum=0.9)
    before = dict(optimizer.param_groups[0])

    def f(x: Any) -> Any:
        with wg.no_grad():
            w.mul_(2)
        return use(x)  # the line

    with pytest.raises(TracingError, match=said) as caught:
        wg.compile(f)(wg.ones(3))
    assert "lambda" in str(caught.value)
    assert w.tolist() == [1, 1, 1]
    assert type(w._array) is np.ndarray
    assert optimizer.param_groups[0] == before


def test_an_error_in_the_function_leaves_everything_as_eager_mode_does() -> None:
    # The trace that meets it is undone, and the function runs as it is written.
    def after(compile: Any) -> list[Any]:
        net = network()
        optimizer = optim.SGD(net.parameters(), lr=0.1)

        @compile
        def step(x: Any) -> None:
            net(x).sum().backward()
            optimizer.step()
            raise KeyError("mine")

        for _ in range(2):
            with pytest.raises(KeyError, match="mine"):
                step(batch(0)[0])
        assert type(optimizer.param_groups[0]["lr"]) is float
        return [x for p in net.parameters() for x in (p, p.grad)]

    for p, q in zip(after(wg.compile), after(lambda f: f), strict=True):
        assert type(p._array) is np.ndarray
        assert wg.equal(p, q)


def test_tensors_made_inside_that_outlive_the_call_follow_later_calls() -> None:
    kept = {}

    @wg.compile
    def f(x: Any) -> Any:
        kept["square"] = x * x
        return x + 1

    f(wg.ones(2) * 3)
    assert kept["square"].tolist() == [9, 9]
    f(wg.ones(2) * 4)
    assert kept["square"].tolist() == [16, 16]


def test_indices_out_of_range_are_an_error_when_the_program_runs() -> None:
    f = wg.compile(lambda x, i: x[i])
    x = wg.arange(3.0)
    assert f(x, wg.tensor([0, -1])).tolist() == [0, 2]
    with pytest.raises(IndexError):
        f(x, wg.tensor([0, 3]))


def test_compiled_functions_call_each_other() -> None:
    g = wg.compile(lambda x: x * 2)
    f = wg.compile(lambda x: g(x) + 1)
    assert f(wg.ones(2)).tolist() == [3, 3]


def test_methods_can_be_compiled() -> None:
    class Model:
        def __init__(self) -> None:
            self.w = wg.ones(2)

        @wg.compile
        def double(self, x: Any) -> Any:
            return 2 * x * self.w

    assert Model().double(wg.ones(2)).tolist() == [2, 2]


def test_the_program_is_numpy_source_with_the_users_lines() -> None:
    def f(x: Any) -> Any:
        return np.tanh(x).sum()

    g = wg.compile(f)
    g(np.ones(3))
    text = str(g.program)
    assert "np.tanh(x0)" in text
    assert "test_function.py" in text
    assert "return np.tanh(x).sum()" in text


def test_options_are_refused() -> None:
    with pytest.raises(TypeError, match="takes a function and memory="):
        wg.compile(backend="inductor")
    with pytest.raises(TypeError, match="function or a module"):
        wg.compile(3)


def test_a_tensor_that_is_an_argument_and_found_outside_is_one_tensor() -> None:
    net = nn.Linear(2, 1)
    ps = list(net.parameters())

    @wg.compile
    def slopes(parameters: Any, x: Any) -> Any:
        return wg.autograd.grad(net(x).sum(), parameters)

    for k in (1.0, 2.0):
        weight, bias = slopes(ps, wg.ones(3, 2) * k)
        assert weight.tolist() == [[3 * k, 3 * k]]
        assert bias.tolist() == [3]
    assert slopes.retraces == []


def test_numbers_in_the_users_own_objects_are_read_anew_when_they_change() -> None:
    class Settings:
        scale = 1.0

        def __init__(self) -> None:
            self.shift = 1.0
            self.calls = 0

    settings, table = Settings(), {"power": 2}

    @wg.compile
    def f(x: Any) -> Any:
        settings.calls += 1
        return x ** table["power"] + settings.shift

    x = wg.ones(1) * 3
    assert f(x).tolist() == [10]
    assert f(x).tolist() == [10]
    settings.shift = 2.0
    assert f(x).tolist() == [11]
    table["power"] = 3
    assert f(x).tolist() == [29]
    assert settings.calls == 4


class Model:
    """Compared by what it holds, and so without a hash."""

    def __init__(self, weight: Any) -> None:
        self.weight = weight

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and bool((self.weight == other.weight).all())

    __hash__ = None  # type: ignore[assignment]


def test_objects_that_live_after_one_another_are_not_taken_for_one() -> None:
    # The key was the object's id, which the next one got when the first was gone.
    double = wg.compile(lambda model: model.weight * 2)
    first = Model(wg.ones(2))
    assert double(first).tolist() == [2, 2]
    place = id(first)
    del first
    others = [Model(wg.ones(2) * 3) for _ in range(100)]
    for model in others:
        if id(model) == place:
            assert double(model).tolist() == [6, 6]
    assert double(others[0]).tolist() == [6, 6]


def test_threads_that_use_the_same_tensors_do_not_see_a_trace() -> None:
    import threading

    net = network()
    x, y = batch(0)
    seen: list[Any] = []
    stop = threading.Event()

    def use() -> None:
        while not stop.is_set():
            with wg.no_grad():
                seen.append(type(net(x)._array))

    thread = threading.Thread(target=use)
    thread.start()
    for _ in range(5):
        wg.compile(stepper(net, optim.SGD(net.parameters(), lr=0.01)))(x, y)
    stop.set()
    thread.join()
    assert set(seen) == {np.ndarray}


def test_calls_without_gradients_leave_later_calls_their_history() -> None:
    w = wg.ones(3, requires_grad=True)
    f = wg.compile(lambda x: (x * w).sum())
    with wg.no_grad():
        for _ in range(4):
            assert not f(wg.ones(3)).requires_grad
    for _ in range(4):
        assert f(wg.ones(3)).requires_grad
    with wg.inference_mode():
        assert not f(wg.ones(3)).requires_grad
    assert f(wg.ones(3)).requires_grad


@pytest.mark.parametrize("order", [1.0, 2.0, 3.0, float("inf")])
def test_gradients_are_clipped_inside_of_a_step(order: float) -> None:
    def losses(compiled: bool) -> list[float]:
        wg.manual_seed(0)
        net = wg.nn.Sequential(wg.nn.Linear(3, 4), wg.nn.Tanh(), wg.nn.Linear(4, 1))
        optimizer = wg.optim.SGD(net.parameters(), 0.1)

        def step(x: wg.Tensor) -> tuple[wg.Tensor, wg.Tensor]:
            optimizer.zero_grad()
            loss = (net(x) * 3).pow(2).mean()
            loss.backward()
            norm = wg.nn.utils.clip_grad_norm_(net.parameters(), 0.5, order)
            wg.nn.utils.clip_grad_value_(net.parameters(), 0.2)
            optimizer.step()
            return loss.detach(), norm

        run = wg.compile(step) if compiled else step
        return [y.item() for _ in range(4) for y in run(wg.ones(5, 3))]

    np.testing.assert_allclose(losses(True), losses(False), rtol=1e-5)


def test_a_setting_that_decides_is_a_condition() -> None:
    # It was looked at while a traced number stood in its place, and so was dropped.
    optimizer = optim.SGD([nn.Parameter(wg.ones(3))], lr=0.1)
    group = optimizer.param_groups[0]
    f = wg.compile(lambda x: x * 2 if optimizer.param_groups[0]["lr"] > 0.05 else x * 3)
    x = wg.ones(2)
    assert [f(x)[0].item() for _ in range(3)] == [2, 2, 2]
    group["lr"] = 0.01
    assert [f(x)[0].item() for _ in range(3)] == [3, 3, 3]
    assert f.retraces == ["lr was 0.1 and is 0.01"]


def test_a_change_of_requires_grad_is_named() -> None:
    w = wg.ones(3)
    f = wg.compile(lambda x: x * w)
    for _ in range(3):
        f(wg.ones(3))
    w.requires_grad_()
    for _ in range(3):
        assert f(wg.ones(3)).requires_grad
    told = "requires_grad of a tensor of shape [3], or what computed it,"
    assert f.retraces == [f"{told} was None and is AccumulateGrad"]


@pytest.mark.parametrize("make", [lambda p: optim.SGD(p, lr=0.1), lambda p: optim.Adam(p)])
def test_nothing_of_a_trace_outlives_it(make: Any) -> None:
    # A cycle kept what the trace held until the collector came, and made the next calls slow.
    net = network(nn.Tanh)
    step = wg.compile(stepper(net, make(net.parameters())))
    kinds = (Capture, Trace, Inputs, Passed, Conditions, Outside, HandedBack, TracedArray)

    def alive() -> int:
        return sum(type(x) in kinds for x in gc.get_objects())

    gc.collect()
    before = alive()
    gc.disable()
    try:
        for i in range(3):
            step(*batch(i))
            assert alive() == before
    finally:
        gc.enable()


@pytest.mark.parametrize("uses", [1, 2])
def test_past_the_limit_nobody_looks_for_a_program_any_more(uses: int) -> None:
    # Each call asked all programs, in Python, whether they fit: 40 times the eager step.
    tag = ["t"]
    compiled = wg.compile(lambda x: x * len(tag[0]))
    x = wg.ones(2)

    def call_with_many() -> None:
        for n in range(20):
            tag[0] = "t" * n
            for _ in range(uses):
                assert compiled(x).tolist() == [n, n]

    with pytest.warns(UserWarning, match="was compiled 16 times, and now runs eagerly"):
        call_with_many()
    kept = [s for known in compiled.specializations.values() for s in known]
    assert len(kept) == (16 if uses > 1 else 0)
    asked: list[Any] = []
    compiled._signature = lambda *_: asked.append(_)  # type: ignore[method-assign]
    for n in (3, 30, 7):
        tag[0] = "t" * n
        assert compiled(x).tolist() == [n, n]
    assert not asked
    assert len(compiled.retraces) == 15
