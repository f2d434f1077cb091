"""Compiled functions of NumPy's arrays return numbers where NumPy does, arrays where it does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg

X = np.array([1.0, 2.0, 3.0])
ONE = np.array(2.0)


def loss(x: Any) -> Any:
    return np.sum(np.sin(x) * x)


CASES: dict[str, tuple[Any, Any]] = {
    "reduction": (loss, X),
    "method": (lambda x: x.mean(), X),
    "arg": (lambda x: (np.argmax(x), np.any(x > 0), np.max(x)), X),
    "index": (lambda x: x[0] * 2, X),
    "index with dots": (lambda x: x[0, ...], X),
    "index of an index": (lambda x: x[np.array(1)], X),
    "reshaped": (lambda x: np.reshape(x[:1], ()), X),
    "squeezed": (lambda x: np.squeeze(x[:1]), X),
    "squeezed scalar": (lambda x: np.squeeze(np.sum(x)), X),
    "where": (lambda x: np.where(x[0] > 0, x[0], x[1]), X),
    "made alike": (lambda x: (np.zeros_like(x[0]), np.full_like(np.sum(x), 3.0)), X),
    "copies": (lambda x: (np.copy(x[0]), x[0].copy()), X),
    "broadcast": (lambda x: np.broadcast_to(np.sum(x), ()), X),
    "cast": (lambda x: x.sum().astype(np.float32), X),
    "products": (lambda x: (x @ x, np.dot(x, x), np.einsum("i,i->", x, x)), X),
    "tensordot": (lambda x: np.tensordot(x, x, 1), X),
    "linear algebra": (lambda x: np.linalg.slogdet(np.outer(x, x) + np.eye(3)), X),
    "real": (lambda x: (np.real(x[0]), np.real(np.reshape(x[:1], ()))), X),
    "stacked and taken": (lambda x: np.stack([x[0], x[1]])[0], X),
    "in containers": (lambda x: [np.sum(x), {"a": x[0]}], X),
    "function of no dimensions": (np.sin, ONE),
    "argument itself": (lambda x: x, ONE),
    "jvp": (lambda x: wg.jvp(loss, (x,), (x,)), X),
    "jvp of no dimensions": (lambda x: wg.jvp(lambda y: y * y, (x,), (x,)), ONE),
    "jvp of a number": (lambda x: wg.jvp(lambda y: y * y, (x,), (1.0,)), 2.0),
    "value and gradient": (wg.value_and_grad(loss), X),
    "gradient by a number": (wg.grad(lambda x: x**2), 2.0),
    "gradient by a scalar": (lambda x: wg.grad(lambda y: y**2)(x[0]), X),
    "gradient by no dimensions": (wg.grad(lambda x: x**2), ONE),
    "vjp": (lambda x: wg.vjp(loss, x)[0], X),
    "second derivative of a number": (wg.hessian(lambda x: x**3), 2.0),
    "jacobian of no dimensions": (wg.jacobian(lambda x: x * 2), ONE),
    "product with a Hessian": (lambda x: wg.hvp(lambda y: y**3, x, x), ONE),
    "batch": (wg.vmap(loss), np.ones((2, 3))),
}


def kinds(item: Any) -> Any:
    if isinstance(item, dict):
        return {key: kinds(part) for key, part in item.items()}
    if isinstance(item, (list, tuple)):
        return [kinds(part) for part in item]
    return type(item), getattr(item, "dtype", None), np.shape(item)


def numbers(item: Any) -> Any:
    parts = item.values() if isinstance(item, dict) else item
    if isinstance(item, (dict, list, tuple)):
        return [number for part in parts for number in numbers(part)]
    return np.ravel(item).tolist()


@pytest.mark.parametrize("name", CASES)
def test_results_have_the_types_of_an_eager_call(name: str) -> None:
    function, x = CASES[name]
    expected = function(x)
    compiled = wg.compile(function)
    for _ in range(3):  # the third call goes through the native entry, where there is one
        found = compiled(x)
        assert kinds(found) == kinds(expected)
        np.testing.assert_allclose(numbers(found), numbers(expected), rtol=1e-12)
