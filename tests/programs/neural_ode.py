"""A neural ordinary differential equation: Runge-Kutta steps, and the adjoint method."""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn.utils import parameters_to_vector

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 25
torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(5)


def rk4(f, y, t, h):
    k1 = f(t, y)
    k2 = f(t + h / 2, y + h / 2 * k1)
    k3 = f(t + h / 2, y + h / 2 * k2)
    k4 = f(t + h, y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


class Adjoint(torch.autograd.Function):
    """Solves forward without a graph, and the adjoint equation backward in time."""

    @staticmethod
    def forward(ctx, func, y0, times, flat):
        with torch.no_grad():
            ys = [y0]
            for a, b in zip(times[:-1], times[1:]):
                ys.append(rk4(func, ys[-1], a, b - a))
            ys = torch.stack(ys)
        ctx.func = func
        ctx.save_for_backward(times, ys)
        return ys

    @staticmethod
    def backward(ctx, grad):
        func, (times, ys) = ctx.func, ctx.saved_tensors
        params = tuple(func.parameters())
        adjoint, total = grad[-1].clone(), [torch.zeros_like(p) for p in params]
        for i in range(len(times) - 1, 0, -1):
            with torch.enable_grad():
                y = ys[i - 1].detach().requires_grad_(True)
                step = rk4(func, y, times[i - 1], times[i] - times[i - 1])
            pulled = torch.autograd.grad(step, (y, *params), adjoint, allow_unused=True)
            adjoint = pulled[0] + grad[i - 1]
            total = [a if b is None else a + b for a, b in zip(total, pulled[1:])]
        return None, adjoint, None, torch.cat([g.reshape(-1) for g in total])


class ODEFunc(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
        for m in self.net.modules():
            if isinstance(m, nn.Linear):
                m.weight.data = torch.from_numpy(rng.normal(0, 0.3, m.weight.shape))
                nn.init.constant_(m.bias, val=0)

    def forward(self, t, y):
        return self.net(y**3)


true_A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
times = torch.linspace(0.0, 2.0, 21)
truth = [torch.tensor([[2.0, 0.0]])]
with torch.no_grad():
    for a, b in zip(times[:-1], times[1:]):
        truth.append(rk4(lambda t, y: torch.mm(y**3, true_A), truth[-1], a, b - a))
truth = torch.stack(truth)

func = ODEFunc()
optimizer = torch.optim.RMSprop(func.parameters(), lr=1e-2)
losses = []
for step in range(steps):
    begin = rng.integers(0, 10, size=5)
    y0 = truth[torch.from_numpy(begin)]
    target = torch.stack([truth[torch.from_numpy(begin + i)] for i in range(10)], dim=0)
    optimizer.zero_grad()
    flat = parameters_to_vector(func.parameters())
    pred = Adjoint.apply(func, y0, times[:10], flat)
    loss = torch.mean(torch.abs(pred - target))
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"loss {losses[-1]:.5f}")
