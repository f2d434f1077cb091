"""Backward is a product of a vector with the Jacobian; the Jacobian itself is never made.

For y = f(x) with Jacobian J, `y.backward(gradient=v)` puts vᵀJ into `x.grad`. If v is the gradient
of some scalar l by y, that is the gradient of l by x: the chain rule. So a scalar needs no v (it is
1), and for anything else backward asks which combination of the outputs is meant. After the blog
post on autograd and the reference page on its mechanics.
"""

import argparse
import textwrap

import wengert as wg


def error_of(call):
    try:
        call()
    except RuntimeError as error:
        return str(error)
    raise AssertionError("expected an error")


def f(x):
    """From three numbers to two."""
    return wg.stack([x[0] * x[1], x[1].sin() + x[2] ** 2])


def jacobian_of_f(x):
    x0, x1, x2 = x.tolist()
    return wg.tensor([[x1, x0, 0.0], [0.0, wg.cos(wg.tensor(x1)).item(), 2 * x2]])


def needs_a_vector():
    a = wg.tensor([2.0, 3.0], requires_grad=True)
    b = wg.tensor([6.0, 4.0], requires_grad=True)
    q = 3 * a**3 - b**2
    message = error_of(q.backward)
    assert "grad can be implicitly created only for scalar outputs" in message
    print("q = 3 a^3 - b^2 has two elements, so q.backward() is refused:")
    print(textwrap.indent(textwrap.fill(message, 92), "    "))
    message = error_of(lambda: q.backward(gradient=wg.ones(3)))
    print("and a gradient of another shape too:")
    print(textwrap.indent(textwrap.fill(message, 92), "    "))
    q.backward(gradient=wg.ones(2))
    print("q.backward(gradient=ones(2)) is what q.sum().backward() does:")
    print(f"  a.grad = {a.grad.tolist()}  (9 a^2)")
    print(f"  b.grad = {b.grad.tolist()} (-2 b)")
    assert a.grad.tolist() == [36.0, 81.0]
    assert b.grad.tolist() == [-12.0, -8.0]


def product_with_a_vector():
    x = wg.tensor([2.0, 0.5, 3.0], requires_grad=True)
    v = wg.tensor([1.0, -2.0])
    f(x).backward(gradient=v)
    J = jacobian_of_f(x.detach())
    assert wg.allclose(x.grad, v @ J)
    print("y = (x0 x1, sin x1 + x2^2), v = (1, -2):")
    print(f"  backward(v)  {[round(g, 4) for g in x.grad.tolist()]}")
    print(f"  v J by hand  {[round(g, 4) for g in (v @ J).tolist()]}")
    (g,) = wg.autograd.grad(f(x), x, grad_outputs=v)
    assert wg.equal(g, x.grad)
    print("  autograd.grad(y, x, grad_outputs=v) returns the same, and touches no .grad")


def row_by_row():
    """With unit vectors for v, one pass gives one row of J; the graph is kept between passes."""
    x = wg.tensor([2.0, 0.5, 3.0], requires_grad=True)
    y = f(x)
    rows = [wg.autograd.grad(y, x, e, retain_graph=True)[0] for e in wg.eye(2)]
    J = wg.stack(rows)
    assert wg.allclose(J, jacobian_of_f(x.detach()))
    print("With unit vectors, the Jacobian row by row:")
    for row in J.tolist():
        print("  " + " ".join(f"{entry:8.4f}" for entry in row))


def chain_rule():
    x = wg.tensor([2.0, 0.5, 3.0], requires_grad=True)
    y = f(x)
    l = (y**2).sum()
    (by_one_pass,) = wg.autograd.grad(l, x, retain_graph=True)
    (v,) = wg.autograd.grad(l, y, retain_graph=True)
    (by_two,) = wg.autograd.grad(y, x, grad_outputs=v)
    assert wg.allclose(by_one_pass, by_two)
    print("l = sum(y^2): dl/dx in one pass, and by handing v = dl/dy to y:")
    print(f"  {[round(g, 4) for g in by_one_pass.tolist()]}")
    print(f"  {[round(g, 4) for g in by_two.tolist()]}")


def without_the_jacobian(n=10_000):
    x = wg.randn(n, requires_grad=True)
    y = wg.cumsum(wg.tanh(x), dim=0)
    y.backward(gradient=wg.randn(n))
    gigabytes = 4 * n * n / 1e9
    print(
        f"{n} outputs of {n} inputs: the Jacobian would take {gigabytes:.1f} GB, the product takes"
    )
    print(f"  one pass over vectors of {n}; x.grad has shape {tuple(x.grad.shape)}")


def main(argv=None):
    argparse.ArgumentParser(description=__doc__).parse_args(argv)
    wg.manual_seed(0)
    parts = needs_a_vector, product_with_a_vector, row_by_row, chain_rule, without_the_jacobian
    for part in parts:
        part()
        print()


if __name__ == "__main__":
    main()
