"""What calls a function of the user's, what such a function reads and does, and what lies around.

A caller is a feature of the library that is given a function of one vector, and calls it: once,
for each example, in a loop, in a derivative. A row of READS or EFFECTS is the body of such a
function, and what may happen between two calls to what it depends on.
"""

# ruff: noqa: E501  (a row of a table reads best on a line)
from __future__ import annotations

import functools
import random
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import wengert as wg
from wengert import distributions, func, nn, optim
from wengert.utils.checkpoint import checkpoint

Body = Callable[[Any, Any], Any]
Change = Callable[[Any], Any]


def numbers(*values: float) -> Any:
    return np.array(values, np.float32)


class Around:
    """What lies around the function, anew for each story."""

    def __init__(self) -> None:
        wg.manual_seed(0)
        np.random.seed(0)
        random.seed(0)
        self.k, self.n, self.f64, self.flag, self.none = 1.5, 2, np.float64(1.5), True, None
        self.arr, self.ints, self.buf = numbers(1.0, 2.0, 3.0), np.array([0, 2, 1]), np.zeros(3)
        self.t, self.s = wg.tensor([1.0, 2.0, 3.0]), wg.tensor(1.25)
        self.p = nn.Parameter(wg.tensor([1.0, 0.5, 2.0]))
        self.l, self.lt, self.tup = [1.5, 2.0], [wg.ones(3), wg.ones(3) * 2], (1.5, 2)
        self.d: dict[str, float] = {"a": 1.5}
        self.cnt, self.log = [0], list[int]()
        self.fn: Any = wg.tanh
        self.dtype: Any = wg.float64
        self.lin: Any = nn.Linear(3, 3)
        self.lin.scale = 2.0
        self.bn, self.drop = nn.BatchNorm1d(3), nn.Dropout(0.5)
        self.h, self.h2 = wg.zeros(3), wg.zeros(3)
        self.inner = types.SimpleNamespace(c=types.SimpleNamespace(k=1.5))
        self.cls: Any = type("Has", (), {"k": 1.5})
        self.has = self.cls()
        self.gen = np.random.default_rng(0)
        self.q = nn.Parameter(wg.ones(3))
        self.opt = optim.SGD([self.q], lr=0.1, momentum=0.9)
        self.body: Any = None
        self.net = nn.Sequential(nn.Identity(), Calls(self))
        self.compiled = wg.compile(lambda v: self.body(self, v))

    def seen(self) -> list[Any]:
        """What a user could look at, after a call."""
        parameters = [self.p, self.q, *self.lin.parameters(), *self.bn.parameters()]
        tensors = [self.t, self.h, self.h2, self.s, *self.bn.buffers(), *parameters]
        return [
            [*map(shown, tensors), self.buf, self.arr],
            [x.grad for x in (self.t, *parameters)],
            [list(self.cnt), len(self.log), version_of(self.h2)],
            [random.getstate()[1][-1], int(np.random.get_state()[2]), self.gen.bit_generator.state["state"]["state"]],
        ]  # fmt: skip


class Calls(nn.Module):
    def __init__(self, around: Around) -> None:
        super().__init__()
        self.around = around

    def forward(self, x: Any) -> Any:
        return self.around.body(self.around, x)


def shown(x: Any) -> Any:
    try:
        return x if x.numpy(force=True) is not None else None
    except wg.errors.BatchingError as error:
        return type(error).__name__


def version_of(x: Any) -> Any:
    return None if x.is_inference() else x._version


# ---- what the function reads, and does -----------------------------------------------------------


def unrecorded(v: Any) -> Any:
    with wg.no_grad():
        return v * 2


def done(_: Any, result: Any) -> Any:
    return result


def put(name: str, value: Any) -> Change:
    return lambda w: setattr(w, name, value)


def hooked(w: Any) -> Any:
    w.lin.register_forward_hook(lambda module, given, out: out * 2)


READS: dict[str, tuple[Body, list[Change]]] = {
    "a float": (lambda w, v: v * w.k, [put("k", 2.5), put("k", 3), put("k", np.float32(0.5))]),
    "a number of NumPy": (lambda w, v: v * w.f64, [put("f64", np.float64(0.5))]),
    "an int": (lambda w, v: v**w.n, [put("n", 3), put("n", 1)]),
    "a number of steps": (lambda w, v: [v := v * 1.1 for _ in range(w.n)][-1], [put("n", 4)]),
    "an array": (lambda w, v: v * w.arr, [lambda w: w.arr.__setitem__(0, 5.0), put("arr", numbers(3.0, 3.0, 1.0))]),
    "an item of an array": (lambda w, v: v * w.arr[0], [lambda w: w.arr.__setitem__(0, 5.0)]),
    "a tensor": (lambda w, v: v * w.t, [lambda w: w.t.mul_(2), lambda w: setattr(w, "t", wg.ones(3)), lambda w: w.t.requires_grad_()]),
    "a parameter": (lambda w, v: v * w.p, [lambda w: w.p.data.mul_(2), lambda w: setattr(w, "p", nn.Parameter(wg.ones(3))), lambda w: w.p.requires_grad_(False)]),
    "a tensor of one number": (lambda w, v: v * w.s, [lambda w: w.s.fill_(3.0)]),
    "items of a list": (lambda w, v: v * w.l[0] + w.l[-1], [lambda w: w.l.append(9.0), lambda w: w.l.__setitem__(0, 4.0)]),
    "an item": (lambda w, v: v * w.d["a"], [lambda w: w.d.update(a=3.0)]),
    "an item that is missing": (lambda w, v: v * w.d.get("b", 1.0), [lambda w: w.d.update(b=3.0)]),
    "tensors in a list": (lambda w, v: v * sum(w.lt), [lambda w: w.lt.append(wg.ones(3)), lambda w: w.lt[0].add_(1)]),
    "a layer": (lambda w, v: w.lin(v), [lambda w: w.lin.weight.data.mul_(2), lambda w: setattr(w.lin, "bias", None), hooked]),
    "an attribute of a layer": (lambda w, v: w.lin.scale * v, [lambda w: setattr(w.lin, "scale", 3.0)]),
    "a function": (lambda w, v: w.fn(v), [put("fn", wg.sin)]),
    "a flag": (lambda w, v: v * 2 if w.flag else v * 3, [put("flag", False)]),
    "None": (lambda w, v: v if w.none is None else v * w.none, [put("none", 2.0)]),
    "an attribute of an attribute": (lambda w, v: v * w.inner.c.k, [lambda w: setattr(w.inner.c, "k", 2.0), lambda w: setattr(w.inner, "c", types.SimpleNamespace(k=0.5))]),
    "an attribute of a class": (lambda w, v: v * w.has.k, [lambda w: setattr(w.cls, "k", 2.0), lambda w: setattr(w.has, "k", 5.0)]),
    "indices": (lambda w, v: v[w.ints] * 2, [lambda w: w.ints.__setitem__(0, 1)]),
    "a comparison": (lambda w, v: v * 2 if w.k > 2 else v * 3, [put("k", 2.5)]),
    "a length": (lambda w, v: v * len(w.l), [lambda w: w.l.append(1.0)]),
    "a tuple": (lambda w, v: v * w.tup[0], [put("tup", (2.5, 2))]),
    "a dtype": (lambda w, v: v.to(w.dtype).float() * 2, [put("dtype", wg.float16)]),
    "whether a tensor requires grad": (lambda w, v: v * 2 if w.t.requires_grad else v * 3, [lambda w: w.t.requires_grad_()]),
    "nothing": (lambda w, v: v, []),
    "nothing, and writes into its own": (lambda w, v: v.clone().add_(1), []),
    "nothing, unrecorded": (lambda w, v: v + unrecorded(v), []),
    "nothing, detached": (lambda w, v: v.detach() * v, []),
}  # fmt: skip
"""What a function only reads, so that it is compiled."""

EFFECTS: dict[str, tuple[Body, list[Change]]] = {
    "whether it is recorded": (lambda w, v: v * 2 if wg.is_grad_enabled() else v * 3, []),
    "whether its argument requires grad": (lambda w, v: v * 2 if v.requires_grad else v * 3, []),
    "counts": (lambda w, v: done(w.cnt.__setitem__(0, w.cnt[0] + 1), v * 2), [lambda w: w.cnt.__setitem__(0, 9)]),
    "uses its count": (lambda w, v: done(w.cnt.__setitem__(0, w.cnt[0] + 1), v * w.cnt[0]), [lambda w: w.cnt.__setitem__(0, 9)]),
    "appends": (lambda w, v: done(w.log.append(1), v * 2), []),
    "keeps its argument": (lambda w, v: done(setattr(w, "h", v), v * 2), []),
    "keeps it detached": (lambda w, v: done(setattr(w, "h", v.detach()), v * 2), []),
    "has a state": (lambda w, v: done(setattr(w, "h2", w.h2 + 1), v * w.h2), [lambda w: setattr(w, "h2", wg.ones(3))]),
    "writes into a state": (lambda w, v: done(w.h2.add_(1), v * w.h2.clone()), [lambda w: w.h2.zero_()]),
    "writes into an array": (lambda w, v: done(w.buf.__setitem__(0, w.buf[0] + 1), v * 2), []),
    "a normalization": (lambda w, v: w.bn(wg.stack([v, v * 2]))[0], [lambda w: w.bn.eval(), lambda w: setattr(w.bn, "momentum", 0.5)]),
    "dropout": (lambda w, v: w.drop(v), [lambda w: w.drop.eval(), lambda w: setattr(w.drop, "p", 0.2)]),
    "random numbers": (lambda w, v: v * wg.rand(3), [lambda w: wg.manual_seed(3)]),
    "NumPy's": (lambda w, v: v * np.random.rand(), [lambda w: np.random.seed(3)]),
    "a generator's": (lambda w, v: v * w.gen.normal(size=3), []),
    "Python's": (lambda w, v: v * random.random(), [lambda w: random.seed(3)]),
}  # fmt: skip
"""What may be refused where no program can do it as often as eager mode."""


# ---- what calls it -------------------------------------------------------------------------------


@dataclass
class Caller:
    """`call(around, function, x)`, and what docs/compiler.md says is told otherwise: gradients of
    zero for `none`, `tracked` results, `versions`, and what eager mode does not take at all.
    """

    call: Callable[[Any, Any, Any], Any]
    otherwise: frozenset[str] = field(default_factory=frozenset)


def caller(call: Any, *otherwise: str) -> Caller:
    return Caller(call, frozenset(otherwise))


class TimesThree(wg.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, g: Any) -> Any:
        return g(x)

    @staticmethod
    def backward(ctx: Any, d: Any) -> Any:
        return d * 3, None


class Backwards(wg.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, g: Any) -> Any:
        ctx.g = g
        return x * 2

    @staticmethod
    def backward(ctx: Any, d: Any) -> Any:
        return ctx.g(d), None


def in_hook(w: Any, g: Any, x: Any) -> Any:
    y = x * 2
    y.register_hook(g)
    return y * 3


def in_forward_hook(w: Any, g: Any, x: Any) -> Any:
    handle = w.lin.register_forward_hook(lambda module, given, out: g(out))
    try:
        return w.lin(x)
    finally:
        handle.remove()


def in_context(context: Any, *more: Any) -> Any:
    def call(w: Any, g: Any, x: Any) -> Any:
        with context(*more):
            r = g(x)
        return x * 2 if context is wg.inference_mode else r.float()

    return call


def minimized(w: Any, g: Any, x: Any) -> Any:
    def closure() -> Any:
        w.opt.zero_grad()
        loss = ((g(w.q) - x.detach()) ** 2).sum()
        loss.backward()
        return loss

    w.opt.step(closure)
    return x * w.q.detach().sum()


def descended(w: Any, g: Any, x: Any) -> Any:
    theta = wg.ones(3, requires_grad=True)
    for _ in range(2):
        (d,) = wg.autograd.grad(((g(theta) * x) ** 2).sum(), theta, create_graph=True)
        theta = theta - 0.1 * d
    return theta * x


def looped(w: Any, g: Any, x: Any) -> Any:
    for _ in range(4):
        x = g(x)
    return x


def rolled(w: Any, g: Any, x: Any) -> Any:
    for _ in range(40):
        x = x * 0.9 + g(x) * 0.01
    return x


def graded(w: Any, g: Any, x: Any) -> Any:
    if not x.requires_grad:
        return g(x)
    return wg.autograd.grad((g(x) ** 2).sum(), x, create_graph=True)[0]


def square(g: Any) -> Any:
    return lambda y: (g(y) ** 2).sum()


def cube(g: Any) -> Any:
    return lambda y: (g(y) ** 3).sum()


def counted(g: Any, n: int, x: Any) -> Any:
    step = lambda s: (s[0] + 1, g(s[1]) * 0.5)
    return wg.while_loop(lambda s: s[0] < n, step, (wg.tensor(0), x))[1]


def halved(g: Any, x: Any) -> Any:
    return wg.scan(lambda c, _: (g(c) * 0.5, None), x, None, length=2)[0]


def flow(g: Any, x: Any, **how: Any) -> Any:
    return wg.odeint(lambda t, y: g(y) * 0.1, x, wg.linspace(0, 1, 3), **how)[-1]


same, different = {"randomness": "same"}, {"randomness": "different"}
twice = lambda x: wg.stack([x, x * 2])
double = lambda y: y * 2

CALLERS: dict[str, Caller] = {
    "itself": caller(lambda w, g, x: g(x)),
    "vmap": caller(lambda w, g, x: wg.vmap(g, **same)(twice(x)).sum(0)),
    "vmap, each its own": caller(lambda w, g, x: wg.vmap(g, **different)(twice(x)).sum(0)),
    "vmap of grad": caller(lambda w, g, x: wg.vmap(func.grad(lambda r: g(r).sum()), **same)(twice(x)).sum(0)),
    "grad": caller(lambda w, g, x: func.grad(square(g))(x)),
    "grad with more": caller(lambda w, g, x: func.grad(lambda y: (square(g)(y), y), has_aux=True)(x)[0]),
    "grad and value": caller(lambda w, g, x: func.grad_and_value(square(g))(x)[0] * x),
    "vjp": caller(lambda w, g, x: func.vjp(g, x)[1](x)[0]),
    "vjp's value": caller(lambda w, g, x: func.vjp(g, x)[0]),
    "jvp": caller(lambda w, g, x: func.jvp(g, (x,), (x,))[1]),
    "jacrev": caller(lambda w, g, x: func.jacrev(g)(x).sum(0)),
    "jacfwd": caller(lambda w, g, x: func.jacfwd(g, **same)(x).sum(0)),
    "hessian": caller(lambda w, g, x: func.hessian(cube(g))(x).sum(0)),
    "linearize": caller(lambda w, g, x: func.linearize(g, x)[1](x)),
    "functional_call": caller(lambda w, g, x: func.functional_call(w.lin, {"weight": w.lin.weight * 2, "bias": g(x)}, (x,))),
    "checkpoint": caller(lambda w, g, x: checkpoint(g, x, use_reentrant=False)),
    "reentrant checkpoint": caller(lambda w, g, x: checkpoint(g, x, use_reentrant=True)),
    "fori_loop": caller(lambda w, g, x: wg.fori_loop(0, 3, lambda i, s: g(s) * 0.5, x)),
    "while_loop": caller(lambda w, g, x: counted(g, 3, x), "versions"),
    "scan": caller(lambda w, g, x: wg.scan(lambda c, r: (g(c) * 0.5 + r, c.sum()), x, wg.ones(3, 3))[0]),
    "scan of rows": caller(lambda w, g, x: wg.scan(lambda c, r: (c + r, g(r)), x, wg.ones(3, 3) * x)[1].sum(0)),
    "map": caller(lambda w, g, x: wg.map(g, wg.stack([x, x])).sum(0)),
    "cond": caller(lambda w, g, x: wg.cond(x.sum() > 0, g, double, x)),
    "cond, not taken": caller(lambda w, g, x: wg.cond(x.sum() < 0, g, double, x), "none", "tracked", "versions"),
    "cond, both": caller(lambda w, g, x: wg.cond(x.sum() < 0, g, lambda y: g(y) * 2, x)),
    "switch": caller(lambda w, g, x: wg.switch((x.sum() > 0).long(), [double, g], x)),
    "associative_scan": caller(lambda w, g, x: wg.associative_scan(lambda a, b: a + b * g(wg.ones(3)).mean(), wg.stack([x, x, x])).sum(0)),
    "a loop": caller(looped),
    "a long loop": caller(rolled),
    "a Function": caller(lambda w, g, x: TimesThree.apply(x, g)),
    "a Function's backward": caller(lambda w, g, x: Backwards.apply(x, g)),
    "a hook": caller(in_hook),
    "a forward hook": caller(in_forward_hook),
    "saved_tensors_hooks": caller(in_context(wg.autograd.graph.saved_tensors_hooks, lambda t: t, lambda t: t)),
    "autocast": caller(in_context(functools.partial(wg.autocast, "cpu", dtype=wg.bfloat16))),
    "no_grad": caller(in_context(wg.no_grad)),
    "enable_grad": caller(in_context(wg.enable_grad)),
    "inference_mode": caller(in_context(wg.inference_mode)),
    "odeint": caller(lambda w, g, x: flow(g, x), "versions", "taken"),
    "odeint by fixed steps": caller(lambda w, g, x: flow(g, x, method="rk4"), "versions", "taken"),
    "compile": caller(lambda w, g, x: wg.compile(g)(x)),
    "a compiled function": caller(lambda w, g, x: w.compiled(x)),
    "log_prob": caller(lambda w, g, x: distributions.Normal(g(x), 1.0).log_prob(x)),
    "rsample": caller(lambda w, g, x: distributions.Normal(g(x), 1.0).rsample()),
    "jacobian": caller(lambda w, g, x: wg.autograd.functional.jacobian(g, x, create_graph=True).sum(0)),
    "hvp": caller(lambda w, g, x: wg.autograd.functional.hvp(cube(g), x, x, create_graph=True)[1]),
    "autograd.grad": caller(graded),
    "steps of descent": caller(descended),
    "an optimizer": caller(minimized),
    "a module": caller(lambda w, g, x: w.net(x)),
    "a partial": caller(lambda w, g, x: functools.partial(g)(x)),
    "sparse_jacobian": caller(lambda w, g, x: wg.sparse_jacobian(g)(x).to_dense().sum(0)),
    "vmap of scan": caller(lambda w, g, x: wg.vmap(lambda r: halved(g, r), **same)(wg.stack([x, x])).sum(0)),
    "grad of scan": caller(lambda w, g, x: func.grad(lambda y: halved(g, y).sum())(x), "none"),
    "grad of while_loop": caller(lambda w, g, x: func.grad(lambda y: counted(g, 2, y).sum())(x), "none", "versions"),
    "grad of cond": caller(lambda w, g, x: func.grad(lambda y: wg.cond(y.sum() > 0, g, double, y).sum())(x)),
}  # fmt: skip
