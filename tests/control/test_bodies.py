"""Bodies of many kinds: compiled, each gives the values and gradients of eager mode."""

import numpy as np
import pytest

import wengert as wg
from tests.control.test_compiled import F64, gradients, tensor

cases = {}


def case(*args):
    def d(f):
        cases[f.__name__] = (f, args)
        return f

    return d


X, W = tensor(4), tensor(4, seed=1)
M = tensor(4, 4, seed=3)


@case(X, W)
def inplace(x, w):
    def body(i, y):
        y = y * 1.0
        y[i] = (y * 2).sum() * w[0]
        return y

    return wg.fori_loop(0, 4, body, x)


@case(X, W)
def inplace_carry(x, w):
    def body(i, y):
        y.mul_(0.5)
        y[0] = w[1]
        return y

    return wg.fori_loop(0, 4, body, x * 1.0)


@case(X, W)
def swap(x, w):
    a, b = wg.fori_loop(0, 5, lambda i, s: (s[1] * w, s[0]), (x, w))
    return a * 2 + b


@case(X, W)
def same(x, w):
    a, b = wg.fori_loop(0, 5, lambda i, s: ((s[0] + s[1]).sin(),) * 2, (x, w))
    return a * 2 + b


@case(X, W)
def constant_state(x, w):
    a, b = wg.fori_loop(0, 5, lambda i, s: (w, s[0] * s[1]), (x, w))
    return a * 2 + b


@case(X, W)
def invariant_row(x, w):
    c, y = wg.scan(lambda c, r: (c * r, (w, r, c)), w, M.detach() * 1.0)
    return c, y[0] * y[1], y[2]


@case(X, M)
def transposed(x, m):
    c, y = wg.scan(lambda c, r: ((c + r).tanh(), c * r), x, m.T)
    return c, y


@case(X, M)
def inner_grad(x, m):
    def body(i, y):
        g = wg.grad(lambda z: ((m @ z).sin() ** 2).sum())(y)
        return y - 0.1 * g

    return wg.fori_loop(0, 5, body, x)


@case(tensor(300), tensor(300, 300, seed=5))
def large(x, m):
    return wg.fori_loop(0, 5, lambda i, y: (m * 0.05 @ y).tanh() + (m.sin() * y).sum(0) * 1e-2, x)


@case(X, W)
def dtypes(x, w):
    def body(i, s):
        a, b, c, d = s
        return (a * w).float().double(), b + i, c ^ True, d * 0.5 + a.float()

    a, b, c, d = wg.fori_loop(0, 5, body, (x, wg.tensor([1, 2]), wg.tensor(True), x.float()))
    return a * b.sum() * c, d.double()


@case(X, W)
def complexes(x, w):
    z = wg.fori_loop(0, 5, lambda i, z: z * wg.complex(w, x) + 1, wg.complex(x, w))
    return z.real * 2 + z.imag


@case(X, W)
def views(x, w):
    def body(i, y):
        return y.flip(0)[1:].cumsum(0).sum() * w + y.view(2, 2).T.reshape(4)

    return wg.fori_loop(0, 3, body, x)


@case(X, W)
def maxsort(x, w):
    def body(i, y):
        v, idx = (y * w).sort()
        return v + y.max() * w.softmax(0) + y[idx]

    return wg.fori_loop(0, 3, body, x)


@case(M, tensor(4, 4, seed=9))
def linalg(a, b):
    return wg.fori_loop(0, 3, lambda i, y: wg.linalg.solve(y + 3 * wg.eye(4, dtype=F64), b) + a, a)


@case(X, W)
def nograd(x, w):
    def body(i, s):
        with wg.no_grad():
            k = (s * s).sum()
        return s * w + k * s.detach()

    return wg.fori_loop(0, 3, body, x)


@case(X, W)
def cond_inplace(x, w):
    def a():
        y = x * 1.0
        y[0] = w[1]
        return y

    return wg.cond(x.sum() > 0, a, lambda: wg.cat([x[:2], w[2:]]))


@case(X, W)
def branch_returns_operand(x, w):
    return wg.cond(x.sum() > 0, lambda a: a, lambda a: w, x)


@case(X, W)
def scan_in_while(x, w):
    def body(y):
        c, _ = wg.scan(lambda c, r: (c * 1.1 + r * r + 0.2, None), y, w)
        return c

    return wg.while_loop(lambda y: y.sum() < 3, body, x)


@case(X, W)
def while_in_cond_in_scan(x, w):
    def step(c, r):
        d = wg.cond(r > 0, lambda: c * r, lambda: c + r * w)
        return d, wg.switch(
            (d.sum() * 10).long(), [lambda: d.sum(), lambda: d.prod(), lambda: (d * d).sum()]
        )

    c, y = wg.scan(step, x, w)
    return c, y


@pytest.mark.sweep
@pytest.mark.parametrize("name", cases)
def test_bodies_of_many_kinds(name):
    f, args = cases[name]
    compiled = wg.compile(f)
    for scale in (1.0, -1.3, 0.5):
        given = [a.detach().mul(scale).requires_grad_() for a in args]
        for mine, known in zip(gradients(compiled, *given), gradients(f, *given), strict=True):
            assert mine.dtype == known.dtype
            assert np.allclose(mine.detach(), known.detach(), rtol=1e-9, atol=1e-11)
    assert {s.name for s in compiled.program.statements} & {"repeat", "choose", "until"}
