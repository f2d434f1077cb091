"""How autograd records a program, and how it walks the record backwards.

An operation on a tensor that requires grad leaves a node behind: the result's `grad_fn`. A node's
`next_functions` lead to the nodes of its inputs, and end at leaves in `AccumulateGrad`. The graph
so made is directed, has no cycles, and is built anew by every run of the code.

The network and its numbers are those of the lecture on automatic differentiation. (The lecture
calls the weights w0 and w1 where it prints them, but their gradients dw2 and dw1.)
"""

import argparse

import wengert as wg
import wengert.nn.functional as F
from wengert import nn


def outline(root):
    """The nodes below `root`, indented by depth; a node that was met before is not opened again."""
    lines, seen, stack = [], set(), [(root, 0)]
    while stack:
        node, depth = stack.pop()
        label = node.name()
        if hasattr(node, "variable"):
            label += f" of a leaf {tuple(node.variable.shape)}"
        lines.append("  " * depth + label + (" (as above)" if node in seen else ""))
        if node not in seen:
            seen.add(node)
            inputs = [child for child, _ in node.next_functions if child is not None]
            stack += [(child, depth + 1) for child in reversed(inputs)]
    return lines


def the_graph():
    a = wg.tensor([2.0, 3.0], requires_grad=True)
    b = wg.tensor([6.0, 4.0], requires_grad=True)
    q = 3 * a**3 - b**2
    print("The graph of q = 3 a^3 - b^2, from the root to the leaves:")
    print("  " + "\n  ".join(outline(q.grad_fn)))

    s = a.exp()
    print("The graph of s * sin(s) with s = exp(a): two ways lead to the node of s:")
    print("  " + "\n  ".join(outline((s * s.sin()).grad_fn)))


class MyLinear(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(wg.randn(in_features, out_features))

    def forward(self, input):
        return wg.matmul(input, self.weight)


class Net2(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer0 = MyLinear(4, 3)
        self.layer1 = MyLinear(3, 1)

    def forward(self, x):
        x = self.layer0(x)
        x = F.relu(x)
        x = self.layer1(x)
        return x


X = [0.9785, 0.4565, -0.4396, -0.1090]
W0 = [
    [-0.4769, -0.9407, 1.1517],
    [-0.4809, 1.2256, 0.9053],
    [1.5409, -1.2598, -3.7088],
    [-1.0534, -0.5934, 0.0647],
]
W1 = [[1.7888], [0.1920], [-1.8594]]

# What the lecture's program printed, to four digits.
LECTURE = {
    "z": [-5.8328],
    "dz": [1.0],
    "dw1": [[0.0000], [0.2575], [3.1636]],
    "dw0": [
        [0.0, 0.1879, -1.8195],
        [0.0, 0.0877, -0.8488],
        [0.0, -0.0844, 0.8174],
        [0.0, -0.0209, 0.2027],
    ],
    "dx": [-2.3221, -1.4479, 6.6540, -0.2343],
}


def the_network():
    """The lecture's forward and backward pass; returns what it found."""
    net = Net2()
    with wg.no_grad():
        net.layer0.weight.copy_(wg.tensor(W0))
        net.layer1.weight.copy_(wg.tensor(W1))
    x = wg.tensor(X)
    x.requires_grad_(True)
    z = net(x)
    z.retain_grad()  # z is no leaf: without this its gradient passes through and is dropped
    z.backward()
    found = {
        "z": z.detach(),
        "dz": z.grad,
        "dw1": net.layer1.weight.grad,
        "dw0": net.layer0.weight.grad,
        "dx": x.grad,
    }
    print("The lecture's network, z = relu(x W0) W1, and all gradients of z:")
    for name, value in found.items():
        # Its inputs are printed to four digits, so products of them agree to about three.
        assert wg.allclose(value, wg.tensor(LECTURE[name]), atol=1e-3), name
        rows = value.tolist() if value.ndim == 2 else [value.tolist()]
        for i, row in enumerate(rows):
            numbers = " ".join(f"{v:8.4f}" for v in row)
            print(f"  {name if i == 0 else '':>3} {numbers}")
    print("  The lecture's printout agrees in every number (rounded inputs: to three digits).")
    print(f"  z was made by {z.grad_fn.name()} (in the lecture's version, SqueezeBackward4)")
    return found


def leaves():
    x = wg.ones(2, requires_grad=True)
    data = wg.ones(2)
    tensors = {
        "x, made by the user": x,
        "data, requires no grad": data,
        "x * data, computed": x * data,
        "data * 2, computed": data * 2,
        "x.detach()": x.detach(),
    }
    print("Leaves are what nothing recorded has made:")
    print(f"  {'tensor':24} {'is_leaf':8} {'requires_grad':14} grad_fn")
    for name, t in tensors.items():
        made_by = t.grad_fn.name() if t.grad_fn else None
        print(f"  {name:24} {t.is_leaf!s:8} {t.requires_grad!s:14} {made_by}")


def arguments():
    """The four arguments of backward, one at a time."""
    x = wg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    w = wg.tensor([1.0, 1.0, 1.0], requires_grad=True)
    print("backward(gradient, retain_graph, create_graph, inputs):")

    (w * x**2).backward(gradient=wg.tensor([1.0, 10.0, 100.0]))
    print(f"  gradient=v weighs the outputs        x.grad = {x.grad.tolist()}")

    x.grad = None
    y = (x**2).sum()
    y.backward(retain_graph=True)
    y.backward()
    print(f"  retain_graph=True allows another; it accumulates: {x.grad.tolist()}")
    try:
        y.backward()
    except RuntimeError as error:
        print(f"  without it: {str(error).splitlines()[0][:61]} ...")

    (dy,) = wg.autograd.grad((x**3).sum(), x, create_graph=True)
    (ddy,) = wg.autograd.grad(dy.sum(), x)
    print(f"  create_graph=True records the pass   d2(x^3)/dx2 = {ddy.tolist()}")

    x.grad = w.grad = None
    (w * x).sum().backward(inputs=[w])
    print(f"  inputs=[w] fills nothing else        w.grad = {w.grad.tolist()}, x.grad = {x.grad}")


def halve_or_triple(x):
    """The steps of the Collatz sequence, which depend on the value: an ordinary Python loop."""
    while x > 1:
        x = x / 2 if x % 2 == 0 else 3 * x + 1
    return x


def define_by_run():
    print("The graph is what ran, so control flow needs no special care:")
    print("  start  nodes  derivative")
    for start in (8.0, 5.0, 7.0):
        x = wg.tensor(start, requires_grad=True)
        y = halve_or_triple(x)
        y.backward()
        print(f"  {start:5.0f}  {len(outline(y.grad_fn)) - 1:5d}  {x.grad.item():.6f}")


def main(argv=None):
    argparse.ArgumentParser(description=__doc__).parse_args(argv)
    for part in (the_graph, the_network, leaves, arguments, define_by_run):
        part()
        print()


if __name__ == "__main__":
    main()
