"""The backward of a linear layer Y = XW, with and without its Jacobians.

Given dL/dY, the lecture derives dL/dX = dL/dY Wᵀ and dL/dW = Xᵀ dL/dY. Here the Jacobians dY/dX and
dY/dW are made for small sizes, to see how empty they are and that contracting them with dL/dY gives
the same; then the memory of both ways is counted for the sizes of a real layer.
"""

import argparse

import numpy as np

import wengert as wg


def small(batch=2, inputs=3, outputs=2):
    """The Jacobians, entry by entry, and their contraction with dL/dY."""
    rng = np.random.default_rng(0)
    X, W = rng.normal(size=(batch, inputs)), rng.normal(size=(inputs, outputs))
    dY = rng.normal(size=(batch, outputs))

    by_x = wg.jacrev(np.matmul, 0)(X, W)  # (batch, outputs, batch, inputs)
    by_w = wg.jacrev(np.matmul, 1)(X, W)  # (batch, outputs, inputs, outputs)
    print(f"X is {batch} x {inputs}, W is {inputs} x {outputs}.")
    first = by_x[:, :, 0, 0].round(3).tolist()
    print(f"dY by X[0, 0] is the first row of W, above zeros: {first}")
    assert np.allclose(by_x[0, :, 0, 0], W[0])
    assert not by_x[1, :, 0, 0].any()
    for name, jacobian in (("dY/dX", by_x), ("dY/dW", by_w)):
        zeros = np.mean(jacobian == 0)
        print(f"  {name} has {jacobian.size} entries, {zeros:.0%} of them zero")

    contracted = np.einsum("bo,boni->ni", dY, by_x), np.einsum("bo,boij->ij", dY, by_w)
    _, pull = wg.vjp(np.matmul, X, W)
    found = pull(dY)
    formulas = dY @ W.T, X.T @ dY
    for name, g, by_formula, by_jacobian in zip("XW", found, formulas, contracted, strict=True):
        assert np.allclose(g, by_formula)
        assert np.allclose(g, by_jacobian)
        print(f"  dL/d{name}: backward = the formula = the Jacobian's contraction")


def tensors():
    """The same by backward(); its rule saves X and W, and nothing of the size of a Jacobian."""
    X, W = wg.randn(4, 3, requires_grad=True), wg.randn(3, 2, requires_grad=True)
    Y = X @ W
    dY = wg.randn(4, 2)
    Y.backward(dY)
    assert wg.allclose(X.grad, dY @ W.T)
    assert wg.allclose(W.grad, X.T @ dY)
    node = Y.grad_fn
    print(f"{node.name()} keeps {', '.join(node.fields)} and two products are its backward")


def memory(batch=64, inputs=4096, outputs=4096, itemsize=4):
    """Bytes of the Jacobians, and of what backward needs instead."""
    jacobians = batch * outputs * (batch * inputs + inputs * outputs) * itemsize
    needed = (batch * inputs + inputs * outputs + batch * outputs) * itemsize
    return jacobians, needed


def spelled(size):
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            return f"{size:.4g} {unit}"
        size /= 1024
    return f"{size:.4g} PiB"


def main(argv=None):
    argparse.ArgumentParser(description=__doc__).parse_args(argv)
    small()
    tensors()
    print("Memory, in float32:")
    for sizes in ((2, 3, 2), (64, 784, 128), (64, 4096, 4096)):
        jacobians, needed = memory(*sizes)
        print(
            f"  batch {sizes[0]:2d}, {sizes[1]:4d} -> {sizes[2]:4d}: "
            f"Jacobians {spelled(jacobians):>11}, X, W and dL/dY {spelled(needed):>11}"
        )


if __name__ == "__main__":
    main()
