"""Freezing: parameters that take part in the computation but not in the learning.

`requires_grad_(False)` on a tensor, or on a module for all its parameters. An operation is recorded
only if one of its inputs requires grad, so a frozen parameter is in no graph and its `.grad` stays
`None`; gradients still pass *through* the frozen layer to what lies before it.

First the run with a frozen second layer from the lecture on automatic differentiation, then what
freezing is for: fine-tuning a new head on a trained body.
"""

import argparse

import wengert as wg
import wengert.nn.functional as F
from wengert import nn, optim


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


X = [-0.3019, 0.3072, -0.9097, -2.0537]
W0 = [
    [-1.9223, -0.5765, -0.3053],
    [1.1695, -0.1050, 1.2679],
    [1.0916, 0.5429, -0.6907],
    [-1.3432, 0.0669, 1.4241],
]
W1 = [[0.5816], [0.5796], [2.0542]]

# What the lecture's program printed.
LECTURE_Z = [1.5735]
LECTURE_DW0 = [[-0.1756, 0, 0], [0.1787, 0, 0], [-0.5291, 0, 0], [-1.1945, 0, 0]]
LECTURE_DX = [-1.1181, 0.6803, 0.6349, -0.7813]


def lecture():
    net = Net2()
    with wg.no_grad():
        net.layer0.weight.copy_(wg.tensor(W0))
        net.layer1.weight.copy_(wg.tensor(W1))
    net.layer1.requires_grad_(False)

    x = wg.tensor(X, requires_grad=True)
    z = net(x)
    z.backward()

    dw0, dw1, dx = net.layer0.weight.grad, net.layer1.weight.grad, x.grad
    assert wg.allclose(z.detach(), wg.tensor(LECTURE_Z), atol=1e-3)
    assert wg.allclose(dw0, wg.tensor(LECTURE_DW0), atol=1e-3)
    assert wg.allclose(dx, wg.tensor(LECTURE_DX), atol=1e-3)
    assert dw1 is None
    print("The lecture's network with its second layer frozen:")
    print(f"  z   {z.item():8.4f}")
    print(f"  dw1 {dw1!s:>8}   (frozen)")
    print("  dw0 " + " ".join(f"{v:8.4f}" for v in dw0[:, 0].tolist()) + "   (first column)")
    print("  dx  " + " ".join(f"{v:8.4f}" for v in dx.tolist()))
    print("  The lecture's printout agrees in every number (rounded inputs: to three digits).")


def who_may_be_frozen():
    x = wg.ones(2, requires_grad=True)
    y = x * 2
    print("Only leaves can be frozen:")
    try:
        y.requires_grad_(False)
    except RuntimeError as error:
        print(f"  y = x * 2; y.requires_grad_(False): {str(error).split('. ')[0]}")


def train(net, x, y, steps=300, compiled=False):
    """Fit all data at once with what is not frozen; returns the losses."""
    learning = [p for p in net.parameters() if p.requires_grad]
    optimizer = optim.Adam(learning, lr=0.01)

    def step():
        optimizer.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    step = wg.compile(step) if compiled else step
    return [step().item() for _ in range(steps)]


def fine_tuning(steps=300, compiled=False):
    """A body trained on one target serves another; only the head learns."""
    x = wg.linspace(-2, 2, 64).reshape(-1, 1)
    body = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh())
    net = nn.Sequential(body, nn.Linear(32, 1))
    before = train(net, x, wg.sin(2 * x), steps, compiled)
    print("Fine-tuning:")
    print(f"  body and head learn sin 2x           loss {before[-1]:.5f}")

    body.requires_grad_(False)
    body.zero_grad()  # sets them to None, and frozen they stay None
    kept = [p.clone() for p in body.parameters()]
    net = nn.Sequential(body, nn.Linear(32, 1))
    learning = sum(p.numel() for p in net.parameters() if p.requires_grad)
    total = sum(p.numel() for p in net.parameters())
    after = train(net, x, wg.cos(3 * x), steps, compiled)
    print(
        f"  body frozen, a new head learns cos 3x: {learning} of {total} numbers, "
        f"loss {after[-1]:.5f}"
    )
    assert all(p.grad is None for p in body.parameters())
    assert all(wg.equal(p, old) for p, old in zip(body.parameters(), kept, strict=True))
    print("  the body has not moved")

    body.requires_grad_(True)
    thawed = train(net, x, wg.cos(3 * x), steps, compiled)
    print(f"  thawed, everything learns            loss {thawed[-1]:.5f}")
    assert thawed[-1] < after[-1]
    return before, after, thawed


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compile", action="store_true", help="compile the training steps")
    args = parser.parse_args(argv)
    wg.manual_seed(0)
    lecture()
    print()
    who_may_be_frozen()
    print()
    fine_tuning(compiled=args.compile)


if __name__ == "__main__":
    main()
