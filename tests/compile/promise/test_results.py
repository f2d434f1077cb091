"""What results and written arguments are in memory: versions, views and layout."""

from __future__ import annotations

import copy
import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.stories import (
    caught,
    kind_of_error,
    module,
    noted,
    numbers,
    same,
    same_or_refused,
    thrice,
)
from wengert import nn, optim
from wengert.errors import InplaceError, TracingError

# ---- versions ------------------------------------------------------------------------------


def test_a_weight_that_a_compiled_step_wrote_is_refused_by_an_earlier_graph() -> None:
    def story(compile: Any) -> Any:
        w = numbers(1, 2, requires_grad=True)
        optimizer = optim.SGD([w], lr=0.1)

        def step(x: Any) -> Any:
            optimizer.zero_grad()
            loss = ((w * x) ** 2).sum()
            loss.backward()
            optimizer.step()
            return loss

        step = compile(step)
        seen = thrice(step, numbers(3, 4))
        y = (w * w * numbers(5, 6)).sum()
        step(numbers(3, 4))
        error = caught(y.backward)
        return [*seen, error[0] if error else "no error"]

    same(story)


WRITES = {
    "add_": "t.add_(1)",
    "an item": "t[0] = 3",
    "under no_grad": "exec('with wg.no_grad(): t.mul_(2)')",
    "copy_": "t.copy_(x)",
    "zero_": "t.zero_()",
    "a view": "t[:1].add_(1)",
    "data": "t.data.add_(1)",
}


@pytest.mark.parametrize("name", (WRITES))
@pytest.mark.parametrize("whose", ["argument", "global", "buffer"])
def test_writes_count(name: str, whose: str) -> None:
    def story(compile: Any) -> Any:
        holder = {"argument": "x", "global": "T", "buffer": "net.b"}[whose]
        m = module(
            "T = wg.ones(2)\nnet = nn.Module()\nnet.register_buffer('b', wg.ones(2))\n"
            f"def f(x, y):\n    t, x = {holder}, y\n    {WRITES[name]}\n    return t * 2\n"
        )
        f, seen = compile(m.f), []
        x, y = numbers(1, 2), numbers(3, 4)
        for _ in range(4):
            before = [t._version for t in (x, m.T, m.net.b)]
            f(x, y)
            seen.append([t._version - v for t, v in zip((x, m.T, m.net.b), before, strict=True)])
        return seen

    same(story)


# ---- aliasing ------------------------------------------------------------------------------

RESULTS: dict[str, str] = {
    "the argument": "[x]",
    "the argument in a tuple": "[x, x * 2]",
    "a view of the argument": "[x[0]]",
    "the argument reshaped": "[x.view(-1)]",
    "the argument transposed": "[x.T]",
    "the argument detached": "[x.detach()]",
    "the argument's data": "[x.data]",
    "a tensor from outside": "[T]",
    "a view of a tensor from outside": "[T[0]]",
    "a tensor from outside detached": "[T.detach()]",
    "a parameter": "[net.weight]",
    "a parameter's data": "[net.weight.data]",
    "a parameter detached": "[net.weight.detach()]",
    "a parameter transposed": "[net.weight.mT]",
    "twice the same": "(lambda y: [y, y])(x * 2)",
    "a result and its first row": "(lambda y: [y, y[0]])(x * 2)",
    "a result and all of it in a row": "(lambda y: [y, y.view(-1)])(x * 2)",
    "a result and its transpose": "(lambda y: [y, y.T])(x * 2)",
    "a result and its detached self": "(lambda y: [y, y.detach()])(x * 2)",
    "a result and its data": "(lambda y: [y, y.data])(x * 2)",
    "two rows of one": "(lambda y: [y[0], y[1]])(x * 2)",
    "chunks": "list((x * 2).chunk(2))",
    "an expanded result": "(lambda y: [y, y.expand(2, 2, 2)])(x * 2)",
    "contiguous": "[x.contiguous()]",
    "to the same dtype": "[x.to(wg.float32)]",
    "the result of an in-place function": "[x.add_(1)]",
    "a NumPy array of the argument": "[x.numpy()]",
    "clone": "[x.clone()]",
    "a reshape that copies": "[x.T.reshape(-1)]",
    "a reshape that does not": "[x.reshape(-1)]",
    "flatten": "[x.flatten()]",
    "dropout in evaluation": "[F.dropout(x, 0.5, training=False)]",
    "broadcast_to": "[x[0].broadcast_to((2, 2))]",
    "the gradient of a parameter": "[grad_of(x)]",
}


@pytest.mark.parametrize("name", (RESULTS))
def test_results_share_memory_as_in_eager_mode(name: str) -> None:
    def story(compile: Any) -> Any:
        m = module(
            "T = wg.ones(2, 2)\nnet = nn.Linear(2, 2, bias=False)\n"
            "def grad_of(x):\n    net.weight.grad = None\n    (net.weight * x).sum().backward()\n"
            "    return net.weight.grad\n"
            f"def f(x): return {RESULTS[name]}"
        )
        f, seen = compile(m.f), []
        for _ in range(4):
            x = numbers(1, 2, 3, 4).reshape(2, 2).clone()
            results = f(x)
            known = [x, m.T, m.net.weight, m.net.weight.grad, *results]
            seen.append(shared(known))
            seen.append([any(r is k for k in known[:4]) for r in results])
        return seen

    same(story)


def shared(items: list[Any]) -> list[list[bool]]:
    arrays = [
        np.zeros(1) if x is None else x.detach().numpy() if isinstance(x, wg.Tensor) else x
        for x in items
    ]
    return [[bool(np.shares_memory(a, b)) for b in arrays] for a in arrays]


def test_a_write_to_a_result_reaches_what_it_is_a_view_of() -> None:
    def story(compile: Any) -> Any:
        f = compile(lambda x: x[0])
        seen = []
        for _ in range(4):
            x = numbers(1, 2, 3, 4).reshape(2, 2).clone()
            f(x).add_(10)
            seen.append(x)
        return seen

    same(story)


VIEWS = {
    "a row of the argument": "x[0]",
    "the argument, turned": "x.T",
    "all of the argument": "x.view(-1)",
    "a result and its row": "(lambda y: [y, y[1]])(x * 3)",
    "two rows of one that overlap": "(lambda y: [y[:2], y[1:]])(x * 3)",
    "windows": "(lambda y: [y, y.unfold(0, 2, 1)])(x * 3)",
    "a row and a parameter's row": "[x[0], W[0] * 2, W[1]]",
    "of what was turned": "(lambda y: [y, y[0], y.reshape(-1)])(x.T * 3)",
    "detached": "(lambda y: [y.detach(), y, y[0]])(x * 3)",
    "what requires grad by itself": "x.detach().requires_grad_()",
    "twice": "(lambda v: [v, v, x[0]])(x[0])",
    "the diagonal": "x[:2].diagonal()",
    "replaced data": "(lambda y: [exec('y.data = y.data * 2'), y, y[0]])(x * 3)[1:]",
}


@pytest.mark.crossed
@pytest.mark.parametrize("mode", ["enable_grad", "no_grad", "inference_mode"])
@pytest.mark.parametrize("name", VIEWS)
def test_returned_views_are_views_to_writes_versions_and_gradients(name: str, mode: str) -> None:
    def story(compile: Any) -> Any:
        m = module(f"W = wg.ones(3, 2).requires_grad_()\ndef f(x): return {VIEWS[name]}")
        f, seen = compile(m.f), []
        if "overlap" in name and mode == "enable_grad":
            return []  # refused: see below
        for k in range(4):
            leaf = (wg.arange(6.0).reshape(3, 2) + 1 + k).requires_grad_()
            x = leaf * 1
            with getattr(wg, mode)():
                results = f(x)
            results = results if isinstance(results, list) else [results]
            seen.append([[r.requires_grad, r._is_view(), list(r.shape)] for r in results])
            seen.append([[caught(r.mul_, 10), noted([*results, x])] for r in results])
            seen.append([r._version for r in [x, *results] if not r.is_inference()])
            total = sum((r.sum() for r in [x, *results] if r.requires_grad), leaf.sum())
            seen.append([caught(total.backward), leaf.grad, m.W.grad])
        return seen

    same(story)


def test_views_of_what_is_no_result_are_not_written_while_tracked() -> None:
    # Their base has a history that only the function knows.
    f = wg.compile(lambda x: (lambda y: [y[:2], y[1:]])(x * 3))
    for _ in range(3):
        rows = f(numbers(1, 2, 3).requires_grad_())
        with pytest.raises(InplaceError, match="Clone the output"):
            rows[0].mul_(10)
        rows[0].sum().backward()


def test_results_of_two_calls_are_two() -> None:
    def story(compile: Any) -> Any:
        f = compile(lambda x: x * 2)
        kept = [f(numbers(1, k)) for k in range(5)]
        kept[0].add_(1)
        return kept

    same(story)


# ---- layout --------------------------------------------------------------------------------

LAYOUTS: dict[str, Callable[[], Any]] = {
    "dense": lambda: wg.arange(12.0).reshape(3, 4).clone(),
    "transposed": lambda: wg.arange(12.0).reshape(4, 3).clone().T,
    "every other": lambda: wg.arange(24.0).reshape(3, 8).clone()[:, ::2],
    "reversed": lambda: wg.from_numpy(np.arange(12.0, dtype=np.float32).reshape(3, 4)[:, ::-1]),
    "expanded": lambda: wg.arange(4.0).expand(3, 4),
    "offset": lambda: wg.arange(16.0).clone()[4:].view(3, 4),
}
LOOKS = {
    "a copy by reshape": "y = x.reshape(-1); y += 1; return x * 1",
    "a copy by contiguous": "y = x.contiguous(); y += 1; return x * 1",
    "a copy by flatten": "y = x.flatten(); y += 1; return x * 1",
    "is_contiguous": "return x * (2 if x.is_contiguous() else 3)",
    "stride": "return x * x.stride()[0]",
    "stride of a dimension": "return x * x.stride(1)",
    "storage_offset": "return x * (1 + x.storage_offset())",
    "storage_offset of views": "return x * (1 + x[1].storage_offset() + (x * 2).T[1:].storage_offset())",  # noqa: E501
    "flags of the array": "return x * (2 if x.numpy().flags.c_contiguous else 3)",
    "stride of a result": "return x * (x * 2).stride()[0]",
    "view": "return x.view(-1) * 2",
    "a copy of what was computed of it": "y = x.T * 2; z = y.reshape(-1); z += 1; return y",
    "a choice": "y = wg.where(x > 2, x, 0); z = y.view(-1); z += 1; return y",
    "a copy of it": "y = x.clone(); z = y.reshape(-1); z += 1; return y, y.stride()",
    "like it": "y = wg.zeros_like(x); z = y.reshape(-1); z += x.reshape(-1); return y, y.stride()",
    "a write": "x.add_(1); return x * 1",
    "element_size": "return x * x.element_size()",
}


ORDERS = (
    ("dense", "transposed"), ("transposed", "dense"), ("dense", "every other"),
    ("dense", "reversed"), ("dense", "expanded"), ("dense", "offset"),
)  # fmt: skip


@pytest.mark.crossed
@pytest.mark.parametrize("order", ORDERS, ids=", then ".join)
@pytest.mark.parametrize("look", LOOKS)
def test_the_layout_of_an_argument_is_that_of_the_call(look: str, order: tuple[str, str]) -> None:
    def story(compile: Any) -> Any:
        f, seen = compile(module(f"def f(x): {LOOKS[look]}").f), []
        for layout in order:
            x = LAYOUTS[layout]()
            seen += [[caught(f, x), x] for _ in range(3)]
        return seen

    same(story)


def test_the_address_of_a_tensor_is_refused_with_the_line() -> None:
    # It raised AttributeError; each call has another one.
    f = wg.compile(lambda x: x * (2 if x.data_ptr() == x.detach().data_ptr() else 3))
    with pytest.raises(TracingError, match=r"data_ptr\(\) == x.detach"):
        f(numbers(1, 2))


def test_where_a_tensor_from_outside_begins_is_guarded() -> None:
    def story(compile: Any) -> Any:
        m = module("def f(x): return x * (1 + w.storage_offset())")
        f, seen = compile(m.f), []
        for k in (0, 0, 0, 2, 2, 0, 3):
            m.w = wg.arange(6.0)[k:]
            seen.append(f(numbers(1, 2)))
        return seen

    same(story)


RESULTS_IN_ORDER = (
    "x.T * 2", "(x @ x.T).T", "x.T + 1", "x.permute(1, 0).exp()", "x.T.clone()", "x.T.contiguous()",
    "(x * 2).flip(0).T", "x.T.softmax(0)", "x.T.sort(0)[0]", "wg.stack([x.T, x.T]).mT",
    "x[None].mT * x.T",
    "(lambda y: [y, y[1:], y.detach()])(x.T * 2)", "(lambda y: [y[:3], y[1:]])((x * 2).detach().T)",
)  # fmt: skip


@pytest.mark.crossed
@pytest.mark.parametrize("expression", RESULTS_IN_ORDER)
@pytest.mark.parametrize("layout", ["dense", "transposed"])
def test_a_result_lies_in_memory_as_in_eager_mode(expression: str, layout: str) -> None:
    # It was row-major, so what was given it next took a reshape of it for a view, or not.
    def story(compile: Any) -> Any:
        f, seen = compile(module(f"def f(x): return {expression}").f), []
        for k in range(4):
            x = LAYOUTS[layout]().requires_grad_(k > 2)
            results = f(x)
            results = results if isinstance(results, list) else [results]
            seen += [[y, y.stride(), y.is_contiguous(), y.requires_grad] for y in results]
        return seen

    same(story)


# ---- other ---------------------------------------------------------------------------------


CHAINS = {
    "mT.diagonal": "v.mT.diagonal().fill_(1)",
    "T.diagonal": "v.T.diagonal().fill_(1)",
    "diagonal": "v.diagonal().fill_(1)",
    "diagonal of a slice": "v[1:].diagonal().fill_(1)",
    "slice of a diagonal": "v.diagonal()[1:].fill_(1)",
    "transposed slices": "v[::2].T[1:].fill_(1)",
    "flattened": "v.view(-1)[::5].fill_(1)",
    "unfold": "v.unfold(0, 2, 1)[0].fill_(1)",
    "expand": "v[:1].expand(1, 4).fill_(1)",
    "movedim": "v.movedim(0, 1)[0].fill_(1)",
    "select": "v.select(1, 2).fill_(1)",
    "narrow": "v.narrow(1, 1, 2).fill_(1)",
    "split": "v.split(1)[1].fill_(1)",
    "unbind": "v.unbind(1)[1].fill_(1)",
    "real": "v.real[0].fill_(1)",
    "a row of what is expanded": "v[:1].expand(3, 4)[1].fill_(1)",
    "windows that are apart": "v.unfold(1, 2, 2)[:, 1].fill_(1)",
    "fill_diagonal_ of a transposed view": "v.T.fill_diagonal_(1)",
    "put_ of a transposed view": "v.T.put_(wg.tensor([1]), wg.tensor([1.0]))",
    "np.put of a transposed view": "np.put(v.detach().numpy().T, [1, 2], 1)",
    "diagonal of a permuted view": "v.permute(1, 0).diagonal(1).fill_(1)",
    "data": "v.data[0].fill_(1)",
    "detach": "v.detach()[0].fill_(1)",
    "numpy": "v.numpy()[0] = 1",
}


@pytest.mark.crossed
@pytest.mark.parametrize("name", (CHAINS))
@pytest.mark.parametrize("whose", ["own", "argument", "global"])
def test_a_write_through_a_chain_of_views_arrives(name: str, whose: str) -> None:
    def story(compile: Any) -> Any:
        start = {"own": "(x * 0)", "argument": "x", "global": "T"}[whose]
        m = module(
            f"T = wg.zeros(3, 4)\ndef f(x):\n    v = {start}\n    {CHAINS[name]}\n    return v * 2"
        )
        f, seen = compile(m.f), []
        for _ in range(4):
            x = wg.arange(12.0).reshape(3, 4).clone()
            seen += [f(x), x, m.T.clone()]
        return seen

    same_or_refused(story)


@pytest.mark.parametrize(
    "case",
    (
        [
            f"{v} to {d}"
            for v in ("nan", "inf", "-inf", "1e30", "-1.5", "300.0")
            for d in ("int32", "int64", "uint8", "int8", "bool")
        ]
    ),
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_numbers_that_no_integer_is_become_the_same(case: str) -> None:
    value, dtype = case.split(" to ")

    def story(compile: Any) -> Any:
        f = compile(lambda x: x.to(getattr(wg, dtype)))
        return thrice(f, wg.full((5,), float(value)))

    same(story)


def test_inference_mode_marks_results() -> None:
    def story(compile: Any) -> Any:
        w = numbers(1, 2, requires_grad=True)
        f = compile(lambda x: w * x)
        with wg.inference_mode():
            return [f(numbers(3, 4)).is_inference() for _ in range(3)]

    same(story)


def _made_outside(x: Any, made: Any = None) -> Any:
    with wg.inference_mode(False):
        return made(x) if made else x * 2


def _made_inside(x: Any) -> Any:
    with wg.inference_mode():
        return x * 2


def _counted(x: Any) -> Any:
    return wg.fori_loop(0, 3, lambda i, y: y * 2, x)


MARKED = {
    "computed": lambda x: x * 2,
    "a parameter": lambda x: nn.Parameter(x.detach() * 2),
    "a leaf": lambda x: wg.full((2,), 3.0, requires_grad=True),
    "a view of a parameter": lambda x: nn.Parameter(x.detach() * 2).view(1, 2),
    "parts of a parameter": lambda x: [*nn.Parameter(x.detach() * 2).split(1)],
    "a deep copy": lambda x: copy.deepcopy(x * 2),
    "a copy": lambda x: copy.copy(x * 2),
    "a deep copy of a module": lambda x: list(copy.deepcopy(LINEAR).parameters()),
    "transposed": lambda x: (x[None] * wg.ones(3, 1)).T,
    "made in the mode": _made_inside,
    "made outside the mode": _made_outside,
    "a parameter made outside the mode": functools.partial(_made_outside, made=nn.Parameter),
    "of a loop": _counted,
    "of a loop outside the mode": functools.partial(_made_outside, made=_counted),
    "of a loop of unknown length": lambda x: wg.while_loop(lambda y: y.sum() < 50, wg.exp, x),
    "of a choice": lambda x: wg.cond(x.sum() > 5, lambda: x * 2, lambda: x * 3),
}
LINEAR = nn.Linear(2, 2)


@pytest.mark.crossed
@pytest.mark.parametrize("mode", [wg.enable_grad, wg.no_grad, wg.inference_mode])
@pytest.mark.parametrize("made", MARKED)
def test_results_have_the_mark_of_the_mode_that_they_were_made_in(made: str, mode: Any) -> None:
    # The mode of the call marked them all: parameters, copies, what was made in another mode.
    def story(compile: Any) -> Any:
        f, seen = compile(MARKED[made]), []
        for k in range(4):
            with mode():
                y = f(numbers(1, 2 + k))
            tensors = y if isinstance(y, list) else [y]
            seen.append([(t.is_inference(), t.requires_grad, t.is_leaf, type(t)) for t in tensors])
        return seen

    same(story)


def test_what_inference_mode_has_made_is_not_written_outside_of_it() -> None:
    # The mark of an argument was part of no signature, and a program that writes took any.
    def story(compile: Any) -> Any:
        def add(x: Any) -> Any:
            x += 1
            return x * 2

        f, seen = compile(add), []
        with wg.inference_mode():
            marked = numbers(1, 2) * 1
        for x in (numbers(1, 2), numbers(3, 4), numbers(5, 6), marked, marked.view(-1)):
            seen.append([caught(f, x), x])
        with wg.inference_mode():
            return [*seen, *thrice(f, marked), f(numbers(1, 2)), f(marked[1:])]

    same(story)


def test_what_is_fetched_at_a_call_may_have_come_to_require_grad() -> None:
    # Machine code took it as it took the one before, and the result had no history.
    def story(compile: Any) -> Any:
        class Holder:
            h = wg.ones(2)

        holder, w = Holder(), numbers(1, 2, requires_grad=True)
        f, seen = compile(lambda x: x * holder.h), []
        for k in range(12):
            holder.h = w * k if k % 6 > 3 else wg.ones(2) * k
            y = f(numbers(3, 4))
            seen.append([y, y.requires_grad])
        y.sum().backward()
        return [*seen, w.grad]

    same(story)


def test_results_under_each_grad_mode() -> None:
    def story(compile: Any) -> Any:
        w = numbers(1, 2, requires_grad=True)
        f = compile(lambda x: w * x)
        seen = []
        for mode in (wg.enable_grad, wg.no_grad, wg.inference_mode, wg.enable_grad, wg.no_grad):
            with mode():
                seen += thrice(f, numbers(3, 4))
        return seen

    same(story)


@pytest.mark.parametrize("first", ["requires grad", "is plain"])
def test_a_result_requires_grad_if_an_argument_of_this_call_does(first: str) -> None:
    def story(compile: Any) -> Any:
        f = compile(lambda x, y: x * 10 + y)
        p, a, b = numbers(1, 2, requires_grad=True), numbers(3, 4), numbers(5, 6)
        one, other = (p, a) if first == "requires grad" else (a, p)
        return [*thrice(f, one, b), *thrice(f, other, b), f(one, b)]

    same(story)


@pytest.mark.parametrize("when", ["before the first call", "after it"])
def test_a_hook_on_a_leaf_runs_once(when: str) -> None:
    def story(compile: Any) -> Any:
        w = numbers(1, 2, requires_grad=True)
        f, seen = compile(lambda x: x * w), []
        if when == "after it":
            f(numbers(3, 4))
        w.register_hook(lambda g: g * 2)
        for _ in range(3):
            w.grad = None
            f(numbers(3, 4)).sum().backward()
            seen.append(w.grad)
        return seen

    same(story)


GRADIENTS = {
    "with a history": lambda q, w, x: setattr(q, "grad", x * w),
    "that is a leaf": lambda q, w, x: setattr(q, "grad", (x * 2).requires_grad_()),
    "that is a parameter": lambda q, w, x: setattr(q, "grad", wg.nn.Parameter(x * 2)),
    "that lies in an argument": lambda q, w, x: setattr(q, "grad", x[:]),
    "that lies in something else": lambda q, w, x: setattr(q, "grad", w.data),
    "that is something else": lambda q, w, x: setattr(q, "grad", w),
    "that a result lies in": lambda q, w, x: (setattr(q, "grad", x * 2), q.grad.view(1, 2))[1],
    "that lies in a result": lambda q, w, x: (y := x * 2, setattr(q, "grad", y[:]))[0],
    "that is a result": lambda q, w, x: (setattr(q, "grad", x * w), q.grad)[1],
    "of two": lambda q, w, x: (setattr(w, "grad", x * 2), setattr(q, "grad", w.grad))[0],
    "of two, which lie together": lambda q, w, x: (
        setattr(w, "grad", x * 2),
        setattr(q, "grad", w.grad[:]),
    )[0],
    "that backward() records": lambda q, w, x: (q * q * w * x).sum().backward(create_graph=True),
    "that is made in inference mode": lambda q, w, x: setattr(q, "grad", inferred(x)),
    "that is a result of inference mode": lambda q, w, x: (
        setattr(q, "grad", inferred(x)),
        q.grad,
    )[1],
}


def inferred(x: Any) -> Any:
    with wg.inference_mode():
        return x * 2


@pytest.mark.filterwarnings("ignore:Using backward")
@pytest.mark.parametrize("name", GRADIENTS)
def test_a_gradient_that_is_set_is_a_result_as_any_other(name: str) -> None:
    # Only its numbers were set: no history, no memory that others have, no mark, no class.
    def story(compile: Any) -> list[Any]:
        q, w, seen = wg.ones(2, requires_grad=True), wg.tensor([2.0, 3.0], requires_grad=True), []
        f = compile(lambda x: GRADIENTS[name](q, w, x))
        for k in range(4):
            q.grad = w.grad = None
            x = wg.tensor([1.0, k])
            result, g = f(x), q.grad
            seen += [type(g), g.requires_grad, g.is_leaf, g.is_inference(), g is w, g is w.grad]
            seen += [g is result, noted(g)]
            if g.grad_fn is not None:
                pulled = wg.autograd.grad(g.sum(), [q, w], allow_unused=True)
                seen += map(noted, pulled)
            g.numpy(force=True)[0] = 7.0
            seen += [noted(t) for t in (x, w, w.grad, result)]
        return seen

    same(story)


def test_what_is_kept_and_replaced_before_the_end_has_no_part_in_the_derivative() -> None:
    # A KeyError from inside: the first value was to be pulled back, and was no result.
    def story(compile: Any) -> list[Any]:
        w, o, seen = wg.tensor([2.0, 3.0], requires_grad=True), nn.Module(), []

        def f(x: Any) -> Any:
            o.h = x * w
            o.h = o.h * 2
            return x + w

        f = compile(f)
        for k in range(3):
            (f(numbers(1, k)) + o.h).sum().backward()
            seen.append(noted([o.h, w.grad]))
        return seen

    same(story)


REPLACED = [
    "v = w.grad; w.grad = None; return x * v",
    "v = w.grad; w.grad = x.detach() * 7; return x * v",
    "v = w.grad; w.grad = wg.flip(v, (0,)) * 2; return x * wg.sort(v)[0]",
    "v = w.grad.clone(); w.grad.zero_(); return x * v",
    "(w * 2).sum().backward(); v = w.grad * 1; w.grad = None; return x * v",
    "((w * x.detach()) ** 2).sum().backward(); w.data -= 0.1 * w.grad; w.grad = None; return x * 1",
]


@pytest.mark.parametrize("body", REPLACED)
def test_a_gradient_that_a_call_reads_and_replaces_is_what_it_was_for_the_derivative(
    body: str,
) -> None:
    # The node took what was there after the call: nothing, or the next gradient in its memory.
    def story(compile: Any) -> list[Any]:
        m = module(f"w = wg.ones(2, requires_grad=True)\ndef f(x): {body}")
        f, seen = compile(m.f), []
        for k in range(4):
            x, m.w.grad = numbers(1, 2, requires_grad=True), wg.ones(2) * (k + 2)
            m.w.data = wg.ones(2)
            result = f(x)
            m.w.grad = None
            result.sum().backward()
            seen += [result.detach(), x.grad]
        return seen

    same(story)


def test_what_a_call_only_writes_may_be_written_again_before_its_derivative() -> None:
    # The backward program had all that the forward one writes among its inputs.
    def story(compile: Any) -> list[Any]:
        w = wg.ones(2)
        f, seen = compile(lambda x: (w.add_(1), x * 2)[1]), []
        for _ in range(4):
            x = numbers(1, 2, requires_grad=True)
            result = f(x)
            w.add_(1)
            result.sum().backward()
            seen += [w.clone(), x.grad]
        return seen

    same(story)


SEVERAL = {
    "one saves nothing": "return x.sum(), (x * x).sum()",
    "none saves anything": "return x.sum(), (x * 3.0).sum()",
    "each saves its own": "return (x * x).sum(), x.exp().sum()",
    "both lead to what is saved": "y = x * x; return y.sum(), (y * 2).sum()",
    "two of three share": "y = x * x; return y.sum(), x.exp().sum(), (y * y).sum()",
    "a loop that saves nothing": "return wg.fori_loop(0, 3, lambda i, s: s + x, x).sum(), x.sum()",
    "a loop": "return wg.fori_loop(0, 3, lambda i, s: s * x, x + 1.0).sum(), x.sum()",
    "a scan": "c, ys = wg.scan(lambda c, a: (c + a, a.sin()), x.sum(), x); return c + ys.sum(), x",
    "while": "return wg.while_loop(lambda s: s.sum() < 20, lambda s: s + x, x), x.sum()",
    "branches": "return wg.cond(x.sum() > 0, lambda a: a * 2.0, lambda a: a + 1, x).sum(), x.sum()",
}  # fmt: skip


@pytest.mark.parametrize("name", SEVERAL)
def test_results_may_be_gone_through_again_if_what_they_need_is_not_freed(name: str) -> None:
    # A sweep from one of several results freed the node of all, and every loop.
    def story(compile: Any) -> list[Any]:
        m = module(f"def f(x):\n    {SEVERAL[name]}")
        f, seen = compile(m.f), []
        for order in itertools.product(range(2), repeat=3):
            x = numbers(1, 2, requires_grad=True)
            results = f(x)
            for k in order:
                seen.append(kind_of_error(results[k].sum().backward))
                seen.append(noted(x.grad))
        return seen

    same(story)
