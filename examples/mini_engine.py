"""A whole autodiff engine on NumPy alone, and a model of three weights trained by it.

After the slides on building a mini engine: a `Function` has a forward and a backward, a `Context`
keeps what the backward will need, and a `Tensor` remembers its creator and its parents. Going back
visits the tensors in reversed topological order.

Where the slides disagree with themselves this follows their code: c is made from w2 * a (their
formula has w2 * b), b and c are relu(...) (the formula squares them), and the model gives 4 sin d
(the formula: sin d). Three things are done differently: the order is found by a loop (the slides
recurse, and fail at a depth of a thousand), gradients are summed to the shape of what was
broadcast, and the backwards compute on plain arrays, so that they do not record themselves.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


class Context:
    """Keeps what the backward will need."""

    def __init__(self):
        self.saved = ()

    def save_for_backward(self, *arrays):
        self.saved = arrays


class Function:
    """z = f(x, ...): `forward` computes z, `backward` turns dL/dz into dL/dx, ..."""

    forward: Callable[..., Any]
    backward: Callable[..., Any]


class Neg(Function):
    @staticmethod
    def forward(ctx, x):
        return -x

    @staticmethod
    def backward(ctx, g):
        return (-g,)


class Add(Function):
    @staticmethod
    def forward(ctx, x, y):
        return x + y

    @staticmethod
    def backward(ctx, g):
        return g, g


class Sub(Function):
    @staticmethod
    def forward(ctx, x, y):
        return x - y

    @staticmethod
    def backward(ctx, g):
        return g, -g


class Mul(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved
        return g * y, g * x


class PowConst(Function):
    @staticmethod
    def forward(ctx, x, n):
        ctx.save_for_backward(x, n)
        return x**n

    @staticmethod
    def backward(ctx, g):
        x, n = ctx.saved
        return g * n * x ** (n - 1), None  # the exponent counts as a constant


class Dot(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x.dot(y)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved
        return g * y, g * x


class Sum(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return np.sum(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved
        return (g * np.ones_like(x),)


class Sin(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return np.sin(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved
        return (g * np.cos(x),)


class Cos(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return np.cos(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved
        return (-g * np.sin(x),)


class ReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return np.maximum(0, x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved
        return (g * (x > 0),)


class Tensor:
    def __init__(self, data, creator=None, parents=(), ctx=None):
        self.data = np.asarray(data, dtype=float)
        self.grad: Any = None
        self.creator = creator
        self.parents = parents
        self.ctx = ctx

    def __repr__(self):
        made_by = self.creator.__name__ if self.creator else None
        return f"Tensor({self.data.tolist()}, grad_fn={made_by})"

    def apply(self, creator, *others):
        others = [other if isinstance(other, Tensor) else Tensor(other) for other in others]
        parents = (self, *others)
        ctx = Context()
        data = creator.forward(ctx, *(parent.data for parent in parents))
        return Tensor(data, creator, parents, ctx)

    def __neg__(self):
        return self.apply(Neg)

    def __add__(self, other):
        return self.apply(Add, other)

    def __sub__(self, other):
        return self.apply(Sub, other)

    def __mul__(self, other):
        return self.apply(Mul, other)

    def __pow__(self, other):
        return self.apply(PowConst, other)

    def dot(self, other):
        return self.apply(Dot, other)

    def sum(self):
        return self.apply(Sum)

    def sin(self):
        return self.apply(Sin)

    def cos(self):
        return self.apply(Cos)

    def relu(self):
        return self.apply(ReLU)

    def backward(self):
        """Add dL/dt to the `grad` of every tensor t that this one, L, was computed from."""
        self.grad = np.ones_like(self.data)
        for tensor in reversed(topological_order(self)):
            if tensor.creator is None:
                continue
            gradients = tensor.creator.backward(tensor.ctx, tensor.grad)
            for parent, g in zip(tensor.parents, gradients, strict=True):
                if g is not None:
                    g = unbroadcast(g, parent.data.shape)
                    parent.grad = g if parent.grad is None else parent.grad + g


def topological_order(root):
    """Every tensor below `root` once, parents before what was made of them; by a loop."""
    order, seen = [], {root}
    path = [(root, iter(root.parents))]
    while path:
        tensor, parents = path[-1]
        for parent in parents:
            if parent not in seen:
                seen.add(parent)
                path.append((parent, iter(parent.parents)))
                break
        else:
            order.append(tensor)
            path.pop()
    return order


def unbroadcast(g, shape):
    """Sum over the axes along which an array of this shape was repeated."""
    g = g.sum(axis=tuple(range(g.ndim - len(shape))))
    repeated = tuple(i for i, n in enumerate(shape) if n == 1 and g.shape[i] != 1)
    return g.sum(axis=repeated, keepdims=True)


class Model:
    def __init__(self):
        self.w1 = Tensor([[1.7]])
        self.w2 = Tensor([[0.2]])
        self.w3 = Tensor([[0.6]])

    def parameters(self):
        return [self.w1, self.w2, self.w3]

    def __call__(self, x):
        a = x**2
        b = (self.w1 * a + self.w3).relu()
        c = (self.w2 * a + self.w3).relu()
        d = b + c
        return d.sin() * 4


def target(x):
    return (x**4).sin() * 4


def loss_of(model, x):
    """The squared error, and the same plus a tenth of the squared weights."""
    mse = ((target(x) - model(x)) ** 2).sum()
    weights = Tensor(0)
    for w in model.parameters():
        weights = weights + (w**2).sum()
    return mse, mse + weights * 0.1


def train(steps=500, lr=1e-3, seed=0):
    rng = np.random.default_rng(seed)
    model = Model()
    losses = []
    for _ in range(steps):
        mse, loss = loss_of(model, Tensor(rng.random(1)))
        loss.backward()
        losses.append(mse.data.item())
        for param in model.parameters():
            param.data -= param.grad * lr
            param.grad = None
    return model, losses


def shared_weights(x=0.8):
    """The gradient of w3, which is used twice, is the sum over its two uses."""
    model = Model()
    loss_of(model, Tensor([x]))[1].backward()
    shared = model.w3.grad.item()

    a, split = Tensor([x]) ** 2, (Tensor([[0.6]]), Tensor([[0.6]]))
    b = (Tensor([[1.7]]) * a + split[0]).relu()
    c = (Tensor([[0.2]]) * a + split[1]).relu()
    y_hat = (b + c).sin() * 4
    ((target(Tensor([x])) - y_hat) ** 2).sum().backward()
    by_b, by_c = (w.grad.item() for w in split)
    penalty = 0.1 * 2 * 0.6
    print("w3 is used in b, in c and in the penalty; its gradient is the sum:")
    print(f"  {by_b:.6f} + {by_c:.6f} + {penalty:.6f} = {shared:.6f}")
    assert np.isclose(by_b + by_c + penalty, shared)
    return shared


def beside_wengert(x=0.8):
    """The same model on wengert's tensors: only the names of the constructors differ."""
    import wengert as wg

    model = Model()
    loss_of(model, Tensor([x]))[1].backward()

    w1, w2, w3 = (wg.tensor(w.data, requires_grad=True) for w in model.parameters())
    a = wg.tensor([x], dtype=wg.float64) ** 2
    d = (w1 * a + w3).relu() + (w2 * a + w3).relu()
    mse = (((a**2).sin() * 4 - d.sin() * 4) ** 2).sum()
    (mse + 0.1 * sum((w**2).sum() for w in (w1, w2, w3))).backward()
    print("The gradients, by this engine and by wengert:")
    for name, mine, theirs in zip(
        ("w1", "w2", "w3"), model.parameters(), (w1, w2, w3), strict=True
    ):
        print(f"  {name}  {mine.grad.item():10.6f}  {theirs.grad.item():10.6f}")
        assert np.isclose(mine.grad.item(), theirs.grad.item())


def depth(n=50_000):
    y = x = Tensor(1.0)
    for _ in range(n):
        y = y + 1
    y.backward()
    print(f"A chain of {n} additions: derivative {x.grad.item()}, without recursion")


def plot(losses, file):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    axes.plot(losses, linewidth=0.8)
    axes.set(title="Loss against iteration", xlabel="iteration", ylabel="squared error")
    figure.savefig(file, dpi=120)
    plt.close(figure)
    print(f"  drawn in {file}")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--out", type=Path, help="a folder for the loss curve")
    args = parser.parse_args(argv)
    print(f"A result knows its creator: {Tensor([1.0, 2.0]) + 1}")
    shared_weights()
    beside_wengert()
    depth()

    model, losses = train(args.steps)
    print(f"Training for {args.steps} steps; the mean loss of each fifth of them:")
    fifths = [f"{fifth.mean():.4f}" for fifth in np.array_split(losses, 5)]
    print("  " + "  ".join(fifths))
    print("  weights " + ", ".join(f"{w.data.item():.4f}" for w in model.parameters()))
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        plot(losses, args.out / "mini_engine_loss.png")


if __name__ == "__main__":
    main()
