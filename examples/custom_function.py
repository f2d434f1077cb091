"""Functions with a derivative of one's own, and what nodes save for the way back.

A `Function` states a forward and a backward. What the backward needs of the forward is handed over
with `ctx.save_for_backward` and read from `ctx.saved_tensors`; built-in operations show what they
saved in attributes that begin with `_saved`. `Exp` is the example of the blog post on autograd.
(The post says that forward cannot be called directly. It can; but then it is an ordinary function,
whose inner operations are recorded one by one, and the backward is never used.)
"""

import argparse

import wengert as wg
from wengert.autograd import Function


class Exp(Function):
    @staticmethod
    def forward(ctx, i):
        result = i.exp()
        ctx.save_for_backward(result)  # exp is its own derivative
        return result

    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return grad_output * result


class Scale(Function):
    """x * factor, where the factor is a number: one gradient per argument, None for the number."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor  # not a tensor, so an attribute
        return x * factor

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.factor, None


class Product(Function):
    """x * y, computing only the gradients that somebody needs."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        wanted = ctx.needs_input_grad
        return (
            grad_output * y if wanted[0] else None,
            grad_output * x if wanted[1] else None,
        )


def own_functions():
    x = wg.tensor([0.0, 1.0, 2.0], requires_grad=True)
    y = Exp.apply(x)
    print("Exp.apply(x):")
    print(f"  value       {y.detach()}")
    print(f"  grad_fn     {y.grad_fn.name()}")
    print(f"  saved       {y.grad_fn.saved_tensors[0].detach()}")
    y.sum().backward()
    print(f"  x.grad      {x.grad}")
    built_in = wg.autograd.grad(x.exp().sum(), x)[0]
    assert wg.allclose(x.grad, built_in)
    print("  the built-in exp gives the same")

    (second,) = wg.autograd.grad(
        wg.autograd.grad(Exp.apply(x).sum(), x, create_graph=True)[0].sum(), x
    )
    assert wg.allclose(second, built_in)
    print("  and so does its second derivative: the backward is recorded like any code")

    x = wg.ones(2, requires_grad=True)
    Scale.apply(x, 5.0).sum().backward()
    print(f"Scale.apply(x, 5.0): x.grad = {x.grad.tolist()}")
    x, data = wg.ones(2, requires_grad=True), wg.tensor([3.0, 4.0])
    z = Product.apply(x, data)
    print(f"Product.apply(x, data): needs_input_grad = {z.grad_fn.needs_input_grad}")
    z.sum().backward()
    print(f"  x.grad = {x.grad.tolist()}")


def what_is_saved():
    x = wg.tensor([1.0, 2.0], requires_grad=True)
    w = wg.tensor([3.0, 4.0])
    results = {
        "x.pow(2)": x.pow(2),
        "x.exp()": x.exp(),
        "x.tanh()": x.tanh(),
        "x.sin()": x.sin(),
        "x * w": x * w,
        "x + w": x + w,
    }
    print("What built-in operations keep for the way back:")
    print(f"  {'operation':10} {'grad_fn':14} {'_saved_self':12} {'_saved_other':13} _saved_result")
    for text, y in results.items():
        node = y.grad_fn
        known = {id(x): "x", id(w): "w"}
        kept = {}
        for field in ("self", "other", "result"):
            value = getattr(node, f"_saved_{field}", None)
            if isinstance(value, wg.Tensor):
                kept[field] = known.get(id(value), "the result")
        print(
            f"  {text:10} {node.name():14} {kept.get('self', '-'):12} {kept.get('other', '-'):13} "
            f"{kept.get('result', '-')}"
        )
    y = results["x.exp()"]
    assert results["x.pow(2)"].grad_fn._saved_self is x  # an input: the very object
    assert wg.equal(y.grad_fn._saved_result, y)  # an output: equal, but another object
    assert y.grad_fn._saved_result is not y
    print(
        "  An input is kept as it is; of a result its memory, or result and node would be a cycle."
    )

    y.sum().backward()
    try:
        print(y.grad_fn._saved_result)
    except RuntimeError as error:
        print(f"After backward they are gone: {str(error).splitlines()[0][:58]} ...")


def called_directly():
    x = wg.tensor([0.5], requires_grad=True)

    class Notes:
        def save_for_backward(self, *tensors):
            pass

    y = Exp.forward(Notes(), x)
    print("Recorded as one step, or as what it does inside:")
    print(f"  Exp.apply(x)         {Exp.apply(x).grad_fn.name()}")
    print(f"  Exp.forward(ctx, x)  {y.grad_fn.name()}")


def main(argv=None):
    argparse.ArgumentParser(description=__doc__).parse_args(argv)
    for part in (own_functions, what_is_saved, called_directly):
        part()
        print()


if __name__ == "__main__":
    main()
