"""Programs as people write them: to no type checker is anything in them unknown, or `Any`.

`mypy` and `basedpyright` read this file with the package. Nothing runs it.
"""

# pyright: reportAny=true

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import wengert as wg
from wengert import Tensor, nn, optim
from wengert.autograd import Function
from wengert.distributions import Normal, kl_divergence
from wengert.nn import functional as F

Floats = NDArray[np.float64]

# ---- a classifier ---------------------------------------------------------------------------


class Attention(nn.Module):
    def __init__(self, width: int, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.project = nn.Linear(width, 3 * width, bias=False)
        self.scale = nn.Parameter(wg.ones(width))
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(2)])

    def forward(self, x: Tensor, *, causal: bool = True) -> Tensor:
        batch, length, width = x.shape
        q, k, v = self.project(self.norm(x)).chunk(3, dim=-1)
        q, k, v = (
            y.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for y in (q, k, v)
        )
        out = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        out = out.transpose(1, 2).reshape(batch, length, width) * self.scale
        return x + F.gelu(out)


def classifier(path: Path) -> float:
    wg.manual_seed(0)
    device = wg.device("cpu")
    images, labels = wg.randn(64, 8, 16), wg.randint(0, 10, (64,))
    net = nn.Sequential(Attention(16), nn.Flatten(), nn.Linear(128, 10)).to(device)
    optimizer = optim.AdamW(net.parameters(), lr=1e-3, weight_decay=0.01)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)
    total, right = 0.0, 0
    for epoch in range(2):
        net.train()
        for x, y in zip(images.split(16), labels.split(16), strict=True):
            optimizer.zero_grad()
            logits = net(x)
            loss = F.cross_entropy(logits, y)
            loss.backward()
            norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            total += loss.item() + float(norm)
            right += int((logits.argmax(dim=1) == y).sum())
        schedule.step()
        print(epoch, f"{total:.3f}", schedule.get_last_lr()[0])
    net.eval()
    with wg.no_grad():
        probabilities = net(images).softmax(-1)
    top = probabilities.topk(3, dim=-1)
    print(top.values.mean().item(), top.indices[0].numpy())
    wg.save(net.state_dict(), path)
    count = sum(p.numel() for p in net.parameters() if p.requires_grad)
    for name, parameter in net.named_parameters():
        print(name, parameter.shape, parameter.grad.norm().item())
    return total / count + right + len(list(net.children()))


# ---- science ----------------------------------------------------------------------------------


def model(p: Floats, t: Floats) -> Floats:
    return np.exp(-t[:, None] * p)


def loss_of(p: Floats, t: Floats, y: Floats) -> np.float64:
    residual = model(p, t) - y
    return np.sum(residual**2)


def decay(t: float, x: Tensor) -> Tensor:
    return -x


def doubled(g: Tensor) -> Tensor:
    return 2 * g


def science() -> None:
    t = np.linspace(0.0, 1.0, 20)
    p = np.array([1.0, 2.0, 0.5])
    y = model(p, t)
    slope = wg.grad(loss_of)(p, t, y)
    curvature = wg.hessian(loss_of)(p, t, y)
    sensitivity = wg.jacobian(model)(p, t)
    value, direction = wg.value_and_grad(loss_of)(p, t, y)
    print(slope.shape, curvature.shape, sensitivity.shape, value, direction)
    out, tangent = wg.jvp(loss_of, (p, t, y), (p, t, y))
    print(out, tangent)
    _, pull = wg.vjp(model, p, t)
    print(pull(y))
    path = wg.odeint(decay, wg.ones(2), wg.linspace(0, 1, 5))
    print(path.shape, math.isfinite(path[-1, 0].item()))
    batched = wg.vmap(decay, in_dims=(None, 0))(0.0, wg.randn(5, 3))
    print(batched.sum().item())


# ---- functions and distributions of one's own ------------------------------------------------


class Clamped(Function):
    @staticmethod
    def forward(ctx: wg.autograd.function.FunctionCtx, x: Tensor, low: float) -> Tensor:
        ctx.save_for_backward(x)
        ctx.mark_non_differentiable()
        return x.clamp(min=low)

    @staticmethod
    def backward(ctx: wg.autograd.function.FunctionCtx, grad: Tensor) -> tuple[Tensor, None]:
        return grad, None


class Gaussian(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mean = nn.Parameter(wg.zeros(2))
        self.log_scale = nn.Parameter(wg.zeros(2))

    def forward(self, count: int) -> tuple[Tensor, Tensor]:
        q = Normal(self.mean, self.log_scale.exp())
        z = q.rsample((count,))
        return z, q.log_prob(z).sum(-1) + kl_divergence(q, Normal(0.0, 1.0)).sum()


def inference() -> None:
    posterior = Gaussian()
    optimizer = optim.SGD(posterior.parameters(), lr=0.1, momentum=0.9)

    @wg.compile
    def step(count: int) -> Tensor:
        optimizer.zero_grad()
        z, entropy = posterior(count)
        loss = (z**2).sum(-1).mean() + entropy.mean()
        loss.backward()
        optimizer.step()
        return loss

    for _ in range(3):
        print(step(8).item())
    handle = posterior.mean.register_hook(doubled)
    handle.remove()
    graph = (posterior.mean * 2).grad_fn
    print(graph.name(), [name for name, _ in posterior.named_buffers()])
    (by_mean,) = wg.autograd.grad(posterior(4)[1].sum(), [posterior.mean])
    print(by_mean.shape, posterior.state_dict().keys())
