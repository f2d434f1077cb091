"""What a transform was given is freed when it returns, without the garbage collector."""

import gc

import numpy as np
import pytest

import wengert as wg
from wengert.history.node import Node


def vector(x):
    return np.sin(x) * x


def scalar(x):
    return np.sum(x**3)


def decay(t, y):
    return -y


def half(z, a):
    return 0.5 * z + a


CALLS = {
    "grad": lambda x: wg.grad(scalar)(x),
    "vjp": lambda x: wg.vjp(vector, x)[1](x),
    "jvp": lambda x: wg.jvp(vector, (x,), (x,)),
    "linearize": lambda x: wg.func.linearize(vector, x)[1](x),
    "jacobian": lambda x: wg.jacobian(vector)(x),
    "jacfwd": lambda x: wg.jacfwd(vector)(x),
    "hessian": lambda x: wg.hessian(scalar)(x),
    "hvp": lambda x: wg.hvp(scalar, x, x),
    "vhp": lambda x: wg.vhp(scalar, x, x),
    "vmap": lambda x: wg.vmap(wg.grad(np.sin))(x),
    "sparse_jacobian": lambda x: wg.sparse_jacobian(vector, x)(x),
    "sparse_hessian": lambda x: wg.sparse_hessian(scalar, x)(x),
    "odeint": lambda x: wg.grad(lambda y: scalar(wg.odeint(decay, y, [0.0, 1.0])))(x),
    "fixed_point": lambda x: wg.grad(lambda a: scalar(wg.implicit.fixed_point()(half)(x, a)))(x),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("make", [np.array, wg.tensor], ids=["array", "tensor"])
def test_a_call_leaves_no_cycles(call, make):
    # A recursive function inside of `matched` once kept the tangents of every jvp.
    x = make([1.0, 2.0, 3.0])
    call(x)  # first calls write text and fill tables
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        call(x)
        gc.collect()
        left = [o for o in gc.garbage if isinstance(o, (wg.Tensor, np.ndarray, Node))]
        assert left == []
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
