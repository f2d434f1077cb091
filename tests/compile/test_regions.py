"""Checkpoints in compiled programs: what they keep, and their derivatives beside eager ones."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compile.stories import module
from wengert import nn
from wengert.errors import TracingError
from wengert.nn import functional as F
from wengert.utils.checkpoint import checkpoint, checkpoint_scan, checkpoint_sequential

W = wg.tensor(np.linspace(-1, 1, 9).reshape(3, 3))
ROWS = np.linspace(-1, 1, 36).reshape(12, 3)


def again(f: Callable[..., Any], *args: Any, **rest: Any) -> Any:
    return checkpoint(f, *args, use_reentrant=False, **rest)


def layer(x: Any) -> Any:
    return (x @ W).tanh().sin()


def block(h: Any, rows: Any) -> Any:
    return wg.scan(lambda h, row: (np.tanh(h @ W + row * h), h.sum()), h, rows)


def in_blocks(h: Any) -> Any:
    return wg.scan(lambda h, rows: again(block, h, rows), h, ROWS.reshape(3, 4, 3))


def branched(x: Any) -> Any:
    return wg.cond(x.sum() > 0, layer, lambda x: again(layer, x), x)


def shared(y: Any) -> Any:
    z = y * y
    return z, z[1:]


def summed(tree: Any) -> Any:
    return sum(x.sum() for x in wg.tree.leaves(tree))


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "one": lambda x: again(layer, x).sum(),
    "a chain": lambda x: again(layer, again(layer, again(layer, x))).sum(),
    "in each other": lambda x: again(lambda y: again(layer, y * 2) * y, x).sum(),
    "several results, one of them the argument": lambda x: summed(
        again(lambda y: {"own": y, "made": [layer(y), y * y]}, x)
    ),
    "the argument itself": lambda x: (again(lambda y: y, x) * x).sum(),
    "a view of the argument": lambda x: (again(lambda y: y[1:], x) ** 2).sum(),
    "two views of one": lambda x: summed(again(shared, x)),
    "a container as argument": lambda x: again(
        lambda d: d["a"] * d["b"][0], {"a": x, "b": [x.sin()]}
    ).sum(),
    "a write inside": lambda x: again(lambda y: (y * 2).mul_(y).exp(), x).sum(),
    "a loop inside": lambda x: again(block, x, ROWS)[0].sum(),
    "inside of a loop": lambda x: wg.scan(
        lambda h, r: (again(layer, h + r), None), x, ROWS
    )[0].sum(),
    "blocks of a loop": lambda x: in_blocks(x)[0].sum() + (in_blocks(x)[1] ** 2).sum(),
    "in a branch": lambda x: branched(x).sum() + branched(-x).sum(),
    "a loop that ends when it ends": lambda x: wg.while_loop(
        lambda s: (s * s).sum() < 30, lambda s: again(lambda s: s * 1.5 + s.sin(), s), x
    ).sum(),
    "of what was recorded before": lambda x: (again(layer, x.exp()) * x).sum(),
    "with a call of grad": lambda x: again(
        lambda y: wg.grad(lambda z: (z**3).sum())(y) * y, x
    ).sum(),
}  # fmt: skip

WAYS: dict[str, Callable[[Any], Any]] = {
    "value and gradient": wg.value_and_grad,
    "second derivative": lambda f: wg.grad(lambda x: (wg.grad(f)(x) ** 2).sum()),
    "forward": lambda f: lambda x: wg.jvp(f, (x,), (x * x,)),
    "forward over reverse": wg.hessian,
    "batched": lambda f: wg.vmap(wg.grad(f)),
}
X = np.array([0.5, -0.3, 0.9])
SOON = {"in each other", "a loop inside", "a write inside", "two views of one"}
"""Tried in all ways always, the others only with their gradients."""


def _cases() -> Iterator[Any]:
    for name, way in itertools.product(FUNCTIONS, WAYS):
        soon = name in SOON or way == "value and gradient"
        yield pytest.param(name, way, marks=() if soon else pytest.mark.sweep)


@pytest.mark.crossed
@pytest.mark.parametrize(("name", "way"), list(_cases()))
def test_derivatives_through_a_checkpoint_are_those_of_eager_mode(name: str, way: str) -> None:
    if way == "batched" and name == "in a branch":
        pytest.skip("eager mode asks for one number")
    x = wg.tensor(np.stack([X, X * 1.1]) if way == "batched" else X)
    f = WAYS[way](FUNCTIONS[name])
    expected, found = f(x), wg.compile(f)(x)
    for a, b in zip(wg.tree.leaves(expected), wg.tree.leaves(found), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-9)


def arena(f: Any) -> int:
    return f.explain().arena  # type: ignore[no-any-return]


def deep(way: Callable[..., Any], x: Any) -> Any:
    for _ in range(16):
        x = way(layer, x)
    return (x * x).sum()


def test_what_lies_between_checkpoints_is_not_kept() -> None:
    # Compiled programs once kept all that the derivative reads, whatever was checkpointed.
    x = np.ones((1000, 3))
    four = lambda x: layer(layer(layer(layer(x))))
    kept = wg.compile(wg.grad(lambda x: (four(four(four(x))) ** 2).sum()))
    fewer = wg.compile(wg.grad(lambda x: (again(four, again(four, again(four, x))) ** 2).sum()))
    np.testing.assert_allclose(kept(x), fewer(x))
    assert arena(fewer) < 0.7 * arena(kept)


def test_of_a_loop_in_blocks_the_states_between_them_are_kept() -> None:
    rows = np.ones((1024, 3))

    def last(h: Any, rows: Any) -> Any:
        return wg.scan(lambda h, row: (np.tanh(h @ W + row), None), h, rows)[0]

    whole = wg.compile(wg.grad(lambda h: last(h, rows).sum()))
    blocks = wg.compile(
        wg.grad(
            lambda h: wg.scan(
                lambda h, rows: (again(last, h, rows), None), h, rows.reshape(32, 32, 3)
            )[0].sum()
        )
    )
    np.testing.assert_allclose(whole(X), blocks(X), rtol=1e-12)
    assert arena(blocks) < 0.1 * arena(whole)


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpoint_in_a_compiled_step_draws_once(reentrant: bool) -> None:
    def step(x: Any) -> Any:
        y = checkpoint(lambda x: F.dropout(x @ W, 0.5) * x, x, use_reentrant=reentrant)
        (gradient,) = wg.autograd.grad((y * y).sum(), x) if not reentrant else (None,)
        if reentrant:
            (y * y).sum().backward()
            gradient, x.grad = x.grad, None
        return gradient, wg.rand(2)

    compiled = wg.compile(step)
    for _ in range(3):
        x = wg.tensor(ROWS, requires_grad=True)
        wg.manual_seed(7)
        expected = step(x)
        wg.manual_seed(7)
        for a, b in zip(expected, compiled(x), strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12)


def test_a_sequence_in_segments_trains_compiled() -> None:
    def trained(compile: Any) -> list[float]:
        wg.manual_seed(0)
        net = wg.nn.Sequential(*[wg.nn.Linear(4, 4) for _ in range(6)])
        optimizer = wg.optim.SGD(net.parameters(), 0.1)

        @compile
        def step(x: Any) -> Any:
            optimizer.zero_grad()
            loss = (checkpoint_sequential(net, 3, x, use_reentrant=False) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss

        return [float(step(wg.ones(5, 4))) for _ in range(4)]

    np.testing.assert_allclose(trained(wg.compile), trained(lambda f: f), rtol=1e-6)


def test_hooks_on_saved_values_act_inside_of_wg_grad() -> None:
    # wg.grad keeps copies of what is overwritten, and hooks inside of it were passed over: so were
    # checkpoints.
    seen: list[Any] = []

    def f(x: Any) -> Any:
        with wg.autograd.graph.saved_tensors_hooks(
            lambda t: seen.append(t.shape) or t, lambda t: t
        ):
            y = np.exp(x)
            z = y * y
            y[0] = 0.0  # what a hook keeps as it is must be what it was
        return z.sum() + y.sum()

    found = wg.grad(f)(X)
    assert seen
    np.testing.assert_allclose(found, 2 * np.exp(2 * X) + [0, *np.exp(X[1:])])
    runs: list[int] = []
    wg.grad(lambda x: again(lambda y: (runs.append(1), np.sin(y).sum())[1], x))(X)
    assert len(runs) == 2


def test_a_tangent_packed_by_a_hook_is_not_that_of_a_later_write() -> None:
    # What a hook packed shared its tangents with the tensor, and a write gave that others.
    keep = wg.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t)

    def f(x: Any) -> Any:
        with keep:
            return ((x * 2).mul_(x)).exp().sum()

    np.testing.assert_allclose(np.diag(wg.hessian(f)(X)), np.exp(2 * X**2) * (4 + 16 * X**2))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("n", "checkpoints"), [(23, 12), (27, 9), (64, 16)])
def test_a_scan_with_checkpoints_is_a_scan(n: int, checkpoints: int, reverse: bool) -> None:
    rows = np.linspace(-1, 1, n * 3).reshape(n, 3)

    def step(h: Any, row: Any) -> Any:
        h = np.tanh(h @ W + row * h)
        return h, {"sum": h.sum()}

    def total(scan: Any, **how: Any) -> Any:
        def f(x: Any) -> Any:
            h, made = scan(step, x, rows, reverse=reverse, **how)
            return h.sum() + (made["sum"] * np.arange(n)).sum()

        return f

    plain = total(wg.scan)
    blocks = total(checkpoint_scan, checkpoints=checkpoints)
    expected = wg.grad(plain)(X)
    np.testing.assert_allclose(wg.grad(blocks)(X), expected, rtol=1e-9)
    np.testing.assert_allclose(wg.compile(wg.grad(blocks))(X), expected, rtol=1e-9)


def test_the_memory_of_a_scan_with_checkpoints_grows_as_the_logarithm_of_its_length() -> None:
    def used(n: int, checkpoints: int) -> int:
        rows = np.ones((n, 3))
        step = lambda h, row: (np.tanh(h @ W + row), None)
        last = lambda x: checkpoint_scan(step, x, rows, checkpoints=checkpoints)[0].sum()
        compiled = wg.compile(wg.grad(last))
        compiled(X)
        return arena(compiled)

    few, more = used(3**3, 9), used(3**6, 18)
    assert more < 3 * few
    with pytest.raises(ValueError, match="for 1000 iterations it takes at least 20"):
        used(1000, 5)


class Around:
    """What lies around a checkpointed function."""

    def __init__(self) -> None:
        self.n = 0
        self.items: list[int] = []
        self.array = np.zeros(2)
        self.tensor = wg.zeros(2)
        self.norm = wg.nn.BatchNorm1d(3)
        self.numbers = np.random.default_rng(0)
        wg.manual_seed(0)

    def change(self, x: Any) -> Any:
        self.n += 1
        self.items.append(1)
        self.array[0] += 1
        self.tensor.add_(1)
        return x

    def seen(self) -> list[Any]:
        drawn = float(self.numbers.random())
        norm = int(self.norm.num_batches_tracked)
        return [self.n, len(self.items), self.array[0], self.tensor[0].item(), norm, drawn]


RECORDED = "a reentrant checkpoint that asks in its first run whether it is recorded"
TWICE: dict[str, tuple[Any, str]] = {
    "before what is kept": (lambda w, x: w.change(x).tanh() * 2, ""),
    "after what is kept": (lambda w, x: w.change(x.tanh()) * 2, "after what it has saved"),
    "where nothing is kept": (lambda w, x: w.change(x) * 2, ""),
    "of a normalization": (lambda w, x: w.norm(x).relu(), ""),
    "of wengert's numbers": (lambda w, x: (x * wg.rand(2, 3)).tanh(), ""),
    "of the mode": (lambda w, x: x.tanh() * (2 if wg.is_grad_enabled() else 3), RECORDED),
    "of a history": (lambda w, x: x.tanh() * (2 if (x * 1).requires_grad else 3), RECORDED),
    "of NumPy's numbers": (lambda w, x: (x * w.numbers.random()).tanh(), "draw anew"),
}
"""What a checkpointed function does beside its result, and how that is refused."""


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("name", TWICE)
def test_a_second_run_does_what_it_does_in_eager_mode_or_is_refused(
    name: str, reentrant: bool
) -> None:
    # In eager mode it ends with the last tensor that the first run has saved: what the function
    # does after that was done twice. NumPy's numbers were the first run's, though nobody kept them.
    # The first run of a reentrant one is not recorded there, and a compiled function said it was.
    function, refusal = TWICE[name]

    def run(compile: Any) -> Any:
        world = Around()

        def step(x: Any) -> Any:
            y = checkpoint(lambda x: function(world, x), x, use_reentrant=reentrant)
            y.sum().backward()
            return y.detach()

        step = compile(step)
        found = []
        for k in range(3):
            x = wg.tensor([[0.5, 1.0, -0.5], [0.1 * k, 2.0, 0.3]], requires_grad=True)
            found.append([step(x).tolist(), x.grad.tolist(), world.seen()])
        return found

    if refusal and reentrant == (refusal is RECORDED):
        with pytest.raises(TracingError, match=refusal):
            run(wg.compile)
        return
    for expected, got in zip(run(lambda f: f), run(wg.compile), strict=True):
        for a, b in zip(expected, got, strict=True):
            np.testing.assert_allclose(np.array(b), np.array(a), rtol=1e-4, atol=1e-5)


def test_a_reentrant_checkpoint_sees_only_its_arguments() -> None:
    # A compiled function had a gradient there, of the parameters that the region closes over.
    w = wg.ones(2, requires_grad=True)
    f = lambda x: checkpoint(lambda x: x * w, x, use_reentrant=True)
    with pytest.warns(UserWarning, match="None of the inputs"):
        assert not wg.compile(f)(wg.ones(2)).requires_grad


COUNTED = {
    "a count": (
        "class Counter: n = 0\ncounter = Counter()\n"
        "def g(x):\n    counter.n += 1\n    return x * x * counter.n"
    ),
    "a float": (
        "rate = 1.0\n"
        "def g(x):\n    global rate\n    rate = rate * 0.5\n    return (x.sin() + rate) * x"
    ),
    "an item": "calls = []\ndef g(x):\n    calls.append(0)\n    return x * x / len(calls)",
}


@pytest.mark.parametrize("name", COUNTED)
def test_a_checkpoint_that_computes_with_a_number_of_its_own_is_refused(name):
    # Eager mode differentiates with the number of the first run, beside tensors that the second one
    # has computed: compiled, the gradient was that of the second run's number.
    m = module(
        f"{COUNTED[name]}\ndef f(x):\n    checkpoint(g, x, use_reentrant=False).sum().backward()"
    )
    m.checkpoint = checkpoint
    with pytest.raises(TracingError, match="a checkpoint that computes with a number which it has"):
        wg.compile(m.f)(wg.ones(3, requires_grad=True))


def test_a_checkpoint_may_count_its_calls():
    m = module(
        "calls = 0\ndef g(x):\n    global calls\n    calls += 1\n    return x.sin() * x * 2\n"
        "def f(x):\n    checkpoint(g, x, use_reentrant=False).sum().backward()\n    return x.grad"
    )
    m.checkpoint = checkpoint
    f = wg.compile(m.f)
    for k in range(3):
        x = wg.ones(3, requires_grad=True)
        expected = 2 * (wg.cos(x) * x + wg.sin(x))
        assert wg.allclose(f(x), expected.detach())
        assert m.calls == 2 * k + 2


LOOPS: dict[str, Callable[[Any, Any], Any]] = {
    "no region": lambda f, x: f(x),
    "a checkpoint": again,
    "a scan": lambda f, x: wg.scan(lambda h, _: (f(h), None), x, None, 3)[0],
    "a while loop": lambda f, x: wg.while_loop(
        lambda s: s[1] < 3, lambda s: (f(s[0]), s[1] + 1), (x, wg.tensor(0))
    )[0],
    "a branch": lambda f, x: wg.cond(x.sum() > 0, f, lambda x: x * 2, x),
    "a checkpoint in a scan": lambda f, x: wg.scan(
        lambda h, _: (again(f, h), None), x, None, 3
    )[0],
}  # fmt: skip
ON_LEAVES: dict[str, Callable[[Any, Any], Any]] = {
    "of a leaf": lambda w, hook: w.register_hook(hook),
    "once it is accumulated": lambda w, hook: w.register_post_accumulate_grad_hook(
        lambda w: w.grad.copy_(hook(w.grad))
    ),
}
WITHIN: dict[str, Callable[[Any, Any], Any]] = {
    "of what is computed": lambda w, hook: (v := w * 1).register_hook(hook) and v,
    "before a node": lambda w, hook: (v := w * 1).grad_fn.register_prehook(
        lambda gs: (hook(gs[0]),)
    ) and v,
}  # fmt: skip
ABOUT = lambda g: g.clamp(max=0.4)


def hooked(w: Any, x: Any, hooks: str, loop: str, way: str) -> Any:
    v = WITHIN[hooks](w, ABOUT) if hooks in WITHIN else w
    loss = (LOOPS[loop](lambda x: (v * x).tanh(), x) * v).sum()
    if way == "grad":
        return wg.autograd.grad(loss, [w])
    if way == "twice":
        loss.backward(retain_graph=True)
    if way == "second":
        loss = loss + (wg.autograd.grad(loss, [v], create_graph=True)[0] ** 2).sum()
    loss.backward()
    return w.grad.clone()


@pytest.mark.crossed
@pytest.mark.parametrize("way", ["once", "grad", "twice", "second"])
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("hooks", [*ON_LEAVES, *WITHIN])
def test_hooks_around_a_body_see_the_whole_gradient_once(hooks: str, loop: str, way: str) -> None:
    # The sweep within the body called them for its part, and the one around it for the sum.
    def run(compile: Any) -> Any:
        w = wg.tensor([0.5, 2.0], requires_grad=True)
        ON_LEAVES.get(hooks, lambda *_: None)(w, ABOUT)
        f = compile(lambda x: hooked(w, x, hooks, loop, way))
        return f(wg.tensor([1.0, 2.0]))

    for a, b in zip(run(lambda f: f), run(wg.compile), strict=True):
        np.testing.assert_allclose(np.asarray(b), np.asarray(a), rtol=1e-5)


@pytest.mark.parametrize("hooks", ["of a leaf", "of what is computed", "once it is accumulated"])
def test_hooks_that_a_reentrant_checkpoint_would_call_in_parts_are_refused(hooks: str) -> None:
    w = wg.tensor([0.5, 2.0], requires_grad=True)
    ON_LEAVES.get(hooks, lambda *_: None)(w, ABOUT)

    def f(x: Any) -> Any:
        v = WITHIN[hooks](w, ABOUT) if hooks in WITHIN else w
        (checkpoint(lambda x: (v * x).tanh(), x, use_reentrant=True) * v).sum().backward()

    with pytest.raises(TracingError, match="a reentrant checkpoint of a tensor with hooks"):
        wg.compile(f)(wg.tensor([1.0, 2.0], requires_grad=True))


def test_a_reentrant_checkpoint_refuses_grad_compiled_too() -> None:
    def f(x: Any) -> Any:
        return wg.autograd.grad(checkpoint(layer, x, use_reentrant=True).sum(), [x])

    x = wg.tensor(ROWS, requires_grad=True)
    for g in (f, wg.compile(f)):
        with pytest.raises(RuntimeError, match="is incompatible with"):
            g(x)


@pytest.mark.parametrize("passes", ["once", "twice", "of a gradient", "of that one's gradient"])
def test_a_checkpoint_counts_as_often_as_the_passes_run_it(passes: str) -> None:
    # A gradient of a gradient ran it once more than eager mode does.
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 2))

    def step(x: Any) -> None:
        loss = again(net, x).square().mean()
        for _ in range({"of a gradient": 1, "of that one's gradient": 2}.get(passes, 0)):
            parts = wg.autograd.grad(loss, list(net.parameters()), create_graph=True)
            loss = loss + sum(g.square().sum() for g in parts)
        if passes == "twice":
            loss.backward(retain_graph=True)
        loss.backward()

    x = wg.tensor(ROWS[:4], dtype=wg.float32)
    step(x)
    expected = int(net[1].num_batches_tracked)
    compiled = wg.compile(step)
    for k in range(3):
        compiled(x)
        assert net[1].num_batches_tracked == expected * (k + 2)


@pytest.mark.parametrize("read_before", [False, True])
def test_a_hook_that_a_call_leaves_on_a_leaf_is_refused_and_not_left(read_before: bool) -> None:
    # Before the trace had read the leaf, the hook went to the leaf itself, and was not called.
    w = wg.tensor([0.5, 2.0], requires_grad=True)

    def f(x: Any) -> Any:
        loss = (w * x).sum() if read_before else 0
        w.register_hook(ABOUT)
        (loss + (w * x).sum()).backward()

    for _ in range(2):
        with pytest.raises(TracingError, match="gets a hook"):
            wg.compile(f)(wg.tensor([1.0, 2.0]))
        w.sum().backward()
        assert w.grad.tolist() == [1.0, 1.0]
        w.register_hook(lambda g: g * 1)
        w.grad = None


def test_a_hook_that_a_call_takes_away_again_is_called_in_each() -> None:
    w = wg.tensor([0.5, 2.0], requires_grad=True)
    w.register_hook(lambda g: g * 2)

    def f(x: Any) -> Any:
        handle = w.register_hook(ABOUT)
        (w * x).sum().backward()
        handle.remove()
        found, w.grad = w.grad, None
        return found

    compiled, x = wg.compile(f), wg.tensor([0.1, 2.0])
    for k in range(3):
        assert compiled(x * (k + 1)).tolist() == f(x * (k + 1)).tolist()


@pytest.mark.parametrize("written", ["in place", "anew"])
@pytest.mark.parametrize("way", ["once", "twice", "of a gradient"])
def test_a_checkpoint_that_computes_with_what_it_changes(way: str, written: str) -> None:
    # Its second derivative was that of another run than eager mode's.
    def run(compile: Any) -> list[Any]:
        w, kept = wg.tensor([0.5, 2.0], requires_grad=True), {"high": wg.ones(())}

        def body(x: Any) -> Any:
            y = F.dropout(w * x, 0.5)
            now = 0.9 * kept["high"] + 0.1 * y.detach().abs().amax()
            if written == "anew":
                kept["high"] = now
            else:
                kept["high"].copy_(now)
            return (y / kept["high"].clone()).tanh()

        def step(x: Any) -> Any:
            loss = again(body, x).square().sum()
            if way == "of a gradient":
                (g,) = wg.autograd.grad(loss, [w], create_graph=True)
                loss = loss + 0.1 * g.square().sum()
            if way == "twice":
                loss.backward(retain_graph=True)
            loss.backward()
            found, w.grad = w.grad, None
            return found

        wg.manual_seed(0)
        step = compile(step)
        return [x.tolist() for _ in range(3) for x in (step(wg.tensor([1.0, 2.0])), kept["high"])]

    if way == "of a gradient":
        with pytest.raises(TracingError, match="computes with what it has itself changed"):
            run(wg.compile)
        return
    for a, b in zip(run(wg.compile), run(lambda f: f), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_a_checkpoint_that_draws_has_a_second_derivative() -> None:
    def run(compile: Any) -> list[Any]:
        w = wg.tensor([0.5, 2.0], requires_grad=True)

        def step(x: Any) -> Any:
            loss = again(lambda x: (F.dropout(w * x, 0.5)).tanh(), x).square().sum()
            (g,) = wg.autograd.grad(loss, [w], create_graph=True)
            return wg.autograd.grad(g.square().sum(), [w])[0]

        wg.manual_seed(0)
        step = compile(step)
        return [step(wg.tensor([1.0, 2.0])).tolist() for _ in range(3)]

    np.testing.assert_allclose(run(wg.compile), run(lambda f: f), rtol=1e-5)
