"""The node that a compiled call leaves, made and pulled by machine code, and by Python."""

import copy
import gc
import weakref

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.bodies import KINDS
from wengert import nn
from wengert.autograd import engine
from wengert.compile.call import link
from wengert.compile.call.specialization import Specialization
from wengert.errors import FreedGraphError, ModifiedError
from wengert.history.location import line_of


@pytest.fixture(params=KINDS, ids=lambda make: make.__name__, autouse=True)
def kind(request, monkeypatch):
    monkeypatch.setattr(link, "make", request.param)
    return request.param


@pytest.fixture
def slow(monkeypatch):
    """What was pulled without an entry, which is right too, but slow."""
    seen, pulled = [], Specialization.pulled

    def noted(self, *args):
        seen.append(args)
        return pulled(self, *args)

    monkeypatch.setattr(Specialization, "pulled", noted)
    return seen


def linked(f, *args):
    """The compiled function, called and pulled until its entries are there."""
    compiled = wg.compile(f)
    for _ in range(4):
        parts = compiled(*args)
        sum(y.sum() for y in (parts if isinstance(parts, tuple) else (parts,))).backward()
    for x in args:
        if x.is_leaf:
            x.grad = None
    return compiled


def cube(w):
    return (w**3).sum()


def leaf(*numbers):
    return wg.tensor(numbers, requires_grad=True)


def test_the_line_of_the_call_is_that_of_the_node():
    w = leaf(1.0, 2.0)
    f = linked(lambda x: (x * x).sum(), w)
    y = f(w)
    y.backward()
    with pytest.raises(FreedGraphError, match="saved by CompiledBackward") as told:
        y.backward()
    for line in ("\n    y = f(w)\nwere freed", "\n    y.backward()\n"):
        assert line in str(told.value)
    assert w.grad.tolist() == [2.0, 4.0]


def test_the_line_of_a_call_by_the_library_is_the_users():
    # Machine code takes the line of the frame that runs, where that is the user's.
    module = nn.Linear(2, 2)
    module.forward = wg.compile(module.forward)
    network, x = nn.Sequential(nn.Identity(), module), wg.ones(3, 2)
    for _ in range(3):
        node = network(x)._node
        assert node.name() == "CompiledBackward"
        assert line_of(node.code, node.at).endswith("node = network(x)._node")


def test_what_a_node_keeps_goes_with_a_pass_that_frees_it():
    # The arguments stayed as long as the result did, since they were no part of `saved`.
    w = leaf(1.0, 2.0)
    f = linked(lambda w, x: (w * x.sin()).sum(), w, wg.ones(2))
    x = wg.ones(2)
    gone, y = weakref.ref(x), f(w, x)
    del x
    assert gone() is not None
    y.backward()
    assert gone() is None


def test_an_argument_written_since_is_refused_whoever_counts_its_writes(slow):
    for write in (lambda w: w.mul_(2), wg.compile(lambda w: w.mul_(2))):
        w = leaf(1.0, 2.0)
        f = linked(lambda w: (w * w).sum(), w)
        with wg.no_grad():
            for _ in range(3):
                write(w)
        y = f(w)
        with wg.no_grad():
            write(w)
        slow.clear()
        with pytest.raises(ModifiedError, match="was overwritten by"):
            y.backward()
        assert w.grad is None
        z = f(w)
        slow.clear()
        z.backward()
        assert not slow
        assert w.grad.tolist() == (2 * w).tolist()


def test_cotangents_that_numpy_made_numbers_are_pulled_by_machine_code(slow):
    # A product of two arrays of no dimensions is no array.
    w = leaf(1.0, 2.0)
    f, several = linked(cube, w), linked(lambda w: (w.sum(), cube(w)), w)
    slow.clear()
    (f(w) * 2).backward()
    (several(w)[1] * 2).backward()
    assert not slow
    assert w.grad.tolist() == [12.0, 48.0]


def test_each_of_several_results_has_its_place_in_the_node(slow):
    w = leaf(1.0, 2.0)
    f = linked(lambda w: (w * 2, w.sin(), w * w), w)
    nodes = [y.grad_fn for y in f(w)]
    assert nodes[0] is nodes[1] is nodes[2]
    for k, slope in enumerate((lambda x: 0 * x + 2, np.cos, lambda x: 2 * x)):
        w.grad, parts = None, f(w)
        slow.clear()
        parts[k].sum().backward()
        assert not slow
        np.testing.assert_allclose(w.grad.numpy(), slope(w.detach().numpy()), rtol=1e-6)


def test_a_result_and_a_view_of_it_have_histories_of_their_own():
    w, v = leaf(1.0, 2.0), leaf(1.0, 2.0)

    def both(w):
        y = w * w
        return y, y[1]

    for function, x in ((linked(both, w), w), (both, v)):
        y, part = function(x)
        (y.sum() * 3 + part).backward()
    assert w.grad.tolist() == v.grad.tolist() == [6.0, 16.0]


def test_an_argument_may_be_a_view_of_something_with_history(slow):
    w, v = leaf(1.0, 2.0), leaf(1.0, 2.0)
    f = linked(lambda x: (x * x).sum(), w)
    for function, x in ((f, w), (f.function, v)):
        for _ in range(3):
            base = x * 3
            row = base[:1]
            y = function(row)
            base.mul_(2)  # the row's history is another one now
            if function is f:
                slow.clear()
            with pytest.raises(ModifiedError):
                y.backward()
            function(row).backward()
    assert w.grad.tolist() == v.grad.tolist()


def test_a_call_leaves_nothing_to_the_collector():
    w = leaf(1.0, 2.0)
    f = linked(lambda w: (w.sin(), w * w), w)
    gc.collect()
    gc.disable()
    try:
        seen = [weakref.ref(f(w)[k].grad_fn) for k in range(2)]
        assert [node() for node in seen] == [None, None]
    finally:
        gc.enable()


def test_the_second_derivative_reads_what_the_node_keeps():
    w = leaf(1.0, 2.0)
    f = linked(lambda w: (w**3, w * 2), w)
    (g,) = wg.autograd.grad(f(w)[0].sum(), w, create_graph=True)
    (h,) = wg.autograd.grad(g.sum(), w)
    assert h.tolist() == [6.0, 12.0]


# ---- the gradients of leaves ---------------------------------------------------------------------


@pytest.fixture
def swept(monkeypatch):
    """What a sweep added to leaves, rather than the pull itself."""
    seen, accumulate = [], engine.accumulate

    def noted(leaves, recorded):
        seen.extend(leaves)
        return accumulate(leaves, recorded)

    monkeypatch.setattr(engine, "accumulate", noted)
    return seen


def test_a_pull_that_is_all_that_is_left_sets_the_gradients(swept):
    w, x = leaf(1.0, 2.0), leaf(3.0, 4.0)
    f = linked(lambda w, x: (w * w * x).sum(), w, x)
    swept.clear()
    f(w, x).backward()
    assert (w.grad.tolist(), x.grad.tolist()) == ([6.0, 16.0], [1.0, 4.0])
    w.grad = x.grad = None
    (f(w, x) * 2).backward()
    assert (w.grad.tolist(), x.grad.tolist()) == ([12.0, 32.0], [2.0, 8.0])
    assert not swept
    assert not w.grad.requires_grad


def test_gradients_that_exist_or_meet_are_added(swept):
    w = leaf(1.0, 2.0)
    f = linked(cube, w)
    for backward in (
        lambda: (f(w).backward(), f(w).backward()),
        lambda: (f(w) + f(w)).backward(),
        lambda: (f(w) + (w**3).sum()).backward(),
        lambda: ((w**3).sum() + f(w)).backward(),
    ):
        w.grad = None
        backward()
        assert w.grad.tolist() == [6.0, 24.0]
    both = linked(lambda a, b: (a * a * b).sum(), leaf(1.0, 2.0), leaf(1.0, 2.0))
    for _ in range(4):
        w.grad = None
        both(w, w).backward()
        assert w.grad.tolist() == [3.0, 12.0]


def hook_of_tensor(w, told):
    return w.register_hook(lambda g: told.append(g.tolist()))


def hook_of_node(w, told):
    node = (w * 1).grad_fn.next_functions[0][0]
    return node.register_prehook(lambda gs: told.append(gs[0].tolist()))


def hook_after(w, told):
    return w.register_post_accumulate_grad_hook(lambda p: told.append(p.grad.tolist()))


@pytest.mark.parametrize("register", [hook_of_tensor, hook_of_node, hook_after])
def test_hooks_of_a_leaf_are_told_as_ever(register):
    w, told = leaf(1.0, 2.0), []
    f = linked(cube, w)
    handle = register(w, told)
    f(w).backward()
    handle.remove()
    w.grad = None
    f(w).backward()
    assert told == [[3.0, 12.0]]
    assert w.grad.tolist() == [3.0, 12.0]


def test_the_hook_of_a_result_changes_what_is_pulled():
    w = leaf(1.0, 2.0)
    f = linked(cube, w)
    y = f(w)
    y.register_hook(lambda g: g * 2)
    y.backward()
    assert w.grad.tolist() == [6.0, 24.0]


def test_a_leaf_that_lies_otherwise_or_wants_no_gradient_is_left_to_the_sweep():
    rows = wg.from_numpy(np.arange(6.0).reshape(2, 3).T).requires_grad_()
    f = linked(cube, rows)
    f(rows).backward()
    assert rows.grad.stride() == rows.stride() == (1, 3)
    np.testing.assert_array_equal(rows.grad, 3 * rows.detach().numpy() ** 2)

    w = leaf(1.0, 2.0)
    f = linked(cube, w)
    y = f(w)
    w.requires_grad_(False)
    y.backward()
    assert w.grad is None
    y = f(w.requires_grad_())
    del w
    y.backward()  # nobody is left to have a gradient


def test_a_pull_inside_of_a_trace_is_part_of_the_trace():
    w = leaf(1.0, 2.0)
    f = linked(cube, w)

    @wg.compile
    def step(x):
        w.grad = None
        f(w * x).backward()
        return w.grad * 1

    for k in range(1, 5):
        assert step(wg.tensor(float(k))).tolist() == [3.0 * k**3, 12.0 * k**3]


def test_retained_graphs_settle_again(swept):
    w = leaf(1.0, 2.0)
    f = linked(cube, w)
    y = f(w)
    for retain in (True, True, False):
        w.grad = None
        swept.clear()
        y.backward(retain_graph=retain)
        assert not swept
        assert w.grad.tolist() == [3.0, 12.0]
    with pytest.raises(FreedGraphError, match=r"y\.backward\(retain_graph=retain\)"):
        y.backward()


def test_large_gradients_are_handed_over_without_a_copy(swept):
    w = wg.ones(300, 400, requires_grad=True)
    f = linked(cube, w)
    w.grad = None
    f(w).backward()
    first = w.grad
    w.grad = None
    f(w).backward()
    assert not np.shares_memory(first._array, w.grad._array)
    assert first.sum() == w.grad.sum() == 3 * 300 * 400


def made(n=2):
    """A leaf that nobody has after the call."""
    return wg.full((n,), 3.0, requires_grad=True)


SWEPT = {
    "a sum": lambda w, v: w.sum(),
    "negated": lambda w, v: -w[0],
    "added": lambda w, v: (w + v).sum(),
    "scaled, and several": lambda w, v: ((w * 2).sum(), v.mean()),
    "what is saved": lambda w, v: (w * v).sum(),
    "what is saved after a sum": lambda w, v: w.sum().exp(),
    "what is saved for a leaf made inside": lambda w, v: (made() * v.detach()).sum(),
    "a sum of a leaf made inside": lambda w, v: made().sum(),
    "what is saved for a constant": lambda w, v: (w + v.detach() * v.detach()).sum(),
}


@pytest.mark.parametrize("name", SWEPT)
def test_a_second_sweep_is_refused_where_the_first_has_freed_something(name):
    # A sum has saved nothing, and the node of the compiled call was freed as if it had.
    def story(f):
        w, v = leaf(1.0, 2.0), leaf(3.0, 4.0)
        seen = []
        for _ in range(4):
            y = f(w, v)
            for _ in range(3):
                try:
                    (sum(y) if isinstance(y, tuple) else y).backward()
                except FreedGraphError:
                    seen.append("freed")
            seen += [None if x.grad is None else x.grad.tolist() for x in (w, v)]
        return seen

    assert str(story(wg.compile(SWEPT[name]))) == str(story(SWEPT[name]))


def overwritten(x, y):
    z = x.reshape(-1)
    z += 1
    return y


NET = wg.nn.Linear(3, 3)

ON_THE_WAY = {
    "to a leaf": lambda x: overwritten(x, (made(3) * x).sum()),
    "to a leaf beside one from outside": lambda x: overwritten(x, (NET.bias * made(3) * x).sum()),
    "to a copied module": lambda x: overwritten(x, copy.deepcopy(NET)(x)),
    "to a leaf, of what is swept already": lambda x: swept_twice(x.detach().requires_grad_()),
}


def swept_twice(x):
    y = (x * x).sum()
    y.backward()
    return y


@pytest.mark.parametrize("name", ON_THE_WAY)
def test_a_sweep_to_a_leaf_made_inside_looks_at_what_was_saved_on_the_way(name):
    # Nobody has the leaf, so nothing was pulled back to it, and nothing looked at.
    def story(f):
        seen = []
        for _ in range(4):
            with pytest.raises((ModifiedError, FreedGraphError)) as caught:
                f(wg.ones(2, 3)).sum().backward()
            seen.append(caught.type)
        return seen

    assert story(wg.compile(ON_THE_WAY[name])) == story(ON_THE_WAY[name])


def test_of_several_results_without_a_derivative_each_says_why():
    # Their cotangents, of two shapes, were added before anybody said so.
    def f(w):
        y = w * w, wg.stack([w.exp()] * 3, 1)
        w.detach().add_(1)
        return y

    compiled = wg.compile(f)
    for _ in range(4):
        w = leaf(1.0, 2.0)
        a, b = compiled(w)
        with pytest.raises(ModifiedError):
            (a.sum() + b.sum()).backward()


TAKING = {
    "a row": lambda x: x * x,
    "a number": lambda x: (x * x).sum(),
    "two results": lambda x: (x * x.sum(), x.prod()),
    "random numbers": lambda x: wg.nn.functional.dropout(x, 0.5) + x,
    "a write": lambda x: WRITTEN.add_(1) * x,
}
WRITTEN = wg.ones(2)


@pytest.mark.parametrize("name", TAKING)
def test_a_batch_of_cotangents_goes_through_the_program_one_by_one(name):
    # Machine code asked the batch for its numbers: a BatchingError.
    def gradients(function):
        wg.manual_seed(0)
        WRITTEN.fill_(1.0)
        for _ in range(3):
            x = wg.tensor([1.0, 2.0], requires_grad=True)
            results = function(x)
            results = results if isinstance(results, tuple) else (results,)
            gs = [wg.stack([wg.ones_like(y), wg.zeros_like(y), y.detach()]) for y in results]
            (g,) = wg.autograd.grad(results, x, gs, is_grads_batched=True)
        return g.tolist()

    assert gradients(wg.compile(TAKING[name])) == gradients(TAKING[name])


def test_the_jacobian_of_a_compiled_function_is_found_where_no_history_is_kept():
    cube = wg.compile(lambda x: x**3)
    with wg.no_grad():
        assert wg.func.jacrev(cube)(wg.ones(2)).tolist() == [[3.0, 0.0], [0.0, 3.0]]
        assert wg.func.jacrev(wg.func.jacrev(cube))(wg.ones(2)).shape == (2, 2, 2)


def test_what_only_other_results_were_computed_from_gets_no_gradient():
    # It got zeros, and an optimizer with momentum or decay moved parameters that eager mode left.
    def trained(compile):
        heads = [wg.nn.Parameter(wg.ones(2) * k) for k in (1, 2, 3)]
        optimizer = wg.optim.SGD(heads, lr=0.1, momentum=0.9, weight_decay=0.5)
        forward = compile(lambda x: (x * heads[0], x * heads[1] * heads[2], x.sum() * heads[2]))
        seen = []
        for k in (0, 1, 2, 0, 2, 2):
            x = wg.ones(2, requires_grad=True)
            forward(x)[k].sum().backward()
            seen.append([None if p.grad is None else p.grad.tolist() for p in (*heads, x)])
            optimizer.step()
            optimizer.zero_grad()
        for results in ((0,), (1,), (0, 2)):
            x = wg.ones(2, requires_grad=True)
            ys = forward(x)
            outs, gs = [ys[k] for k in results], [wg.ones_like(ys[k]) for k in results]
            options = {"allow_unused": True, "retain_graph": True}
            for more in ({}, {"create_graph": True}):
                found = wg.autograd.grad(outs, [*heads, x], gs, **options, **more)
                seen.append([None if g is None else g.tolist() for g in found])
        return [*seen, *(p.tolist() for p in heads)]

    assert trained(wg.compile) == trained(lambda f: f)


def handed_on(x):
    return wg.func.jvp(lambda t: t, (x,), (wg.ones(2),))[0]


THROUGH = {
    "the gradient beside a tensor": lambda x, k: wg.func.grad(lambda t: (t * k).sum())(x),
    "the tangent beside a tensor": lambda x, k: wg.func.jvp(lambda t: t * k, (x,), (x + 1,))[1],
    "the Jacobian beside a tensor": lambda x, k: wg.func.jacrev(lambda t: t * k)(x),
    "the pullback of a tensor": lambda x, k: wg.func.vjp(lambda t: t * k, x)[1](x + 1)[0],
    "what jvp hands on": lambda x, k: handed_on(x),
    "what jvp hands on, and more": lambda x, k: (handed_on(x), x * k)[0] * 1,
    "what vjp hands on": lambda x, k: wg.func.vjp(lambda t: t, x)[0],
}


@pytest.mark.parametrize("computed", [False, True])
@pytest.mark.parametrize("name", THROUGH)
def test_history_from_outside_goes_through_transforms(name, computed):
    # It began when it was met, and transforms took it for their own: the result had no gradient.
    def gradients(compile):
        w = wg.tensor([2.0, 3.0], requires_grad=True)
        function = compile(lambda x, k=w * 2: THROUGH[name](x, k))
        seen = []
        for _ in range(3):
            x = wg.tensor([1.0, 2.0], requires_grad=True)
            y = function(x * 1 if computed else x)
            seen.append(y.requires_grad)
            if y.requires_grad:
                by = wg.autograd.grad(y.sum(), [w, x], retain_graph=True, allow_unused=True)
                seen.append([None if g is None else g.tolist() for g in by])
        return seen

    assert gradients(wg.compile) == gradients(lambda f: f)


@pytest.mark.parametrize("unused", [False, True])
@pytest.mark.parametrize("later", [False, True])
def test_a_gradient_that_cannot_be_computed_is_an_error_for_grad_too(unused, later):
    # The result led to no leaf, so grad() said that none was used; allow_unused=True gave None.
    w = wg.ones(3, requires_grad=True)

    def f(x):
        y = (w * x).sigmoid()
        y.relu_()
        y.mul_(2)  # what sigmoid has saved
        return y

    for function in (f, wg.compile(f)):
        for _ in range(3):
            x = wg.ones(3, requires_grad=True)
            loss = function(x).sum()
            with pytest.raises(ModifiedError):
                wg.autograd.grad(loss, [x if later else w], allow_unused=unused)
