"""Whole training steps, as published programs write them, compiled beside eager mode."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.stories import noted, same
from wengert import nn, optim
from wengert.distributions import Normal, kl_divergence
from wengert.func import functional_call, stack_module_state, vmap
from wengert.nn import functional as F

Program = Callable[[], tuple[Callable[..., Any], Callable[[], Any]]]
PROGRAMS: dict[str, Program] = {}
"""Each makes a step, and what tells the tensors that it changes."""


def program(make: Program) -> Program:
    PROGRAMS[make.__name__] = make
    return make


def layers(*sizes: int) -> nn.Sequential:
    pairs = itertools.pairwise(sizes)
    return nn.Sequential(*[m for a, b in pairs for m in (nn.Linear(a, b), nn.Tanh())][:-1])


def batch(k: int) -> tuple[wg.Tensor, wg.Tensor]:
    numbers = np.random.default_rng(k).normal(size=(8, 6)).astype("f4")
    return wg.tensor(numbers[:, :4]), wg.tensor(numbers[:, 4:])


@program
def average_of_weights() -> Any:
    m = layers(4, 8, 2)
    average = copy.deepcopy(m).requires_grad_(False)
    o = optim.Adam(m.parameters(), 1e-2)

    def step(x: Any, y: Any) -> Any:
        o.zero_grad()
        loss = F.mse_loss(m(x), y)
        loss.backward()
        o.step()
        with wg.no_grad():
            for p, q in zip(average.parameters(), m.parameters(), strict=True):
                p.mul_(0.9).add_(q, alpha=0.1)
        return loss

    return step, lambda: [*m.parameters(), *average.parameters()]


@program
def adversaries() -> Any:
    G, D = layers(4, 8, 2), layers(2, 8, 1)
    of_g, of_d = optim.Adam(G.parameters(), 1e-2), optim.Adam(D.parameters(), 1e-2)
    judged = F.binary_cross_entropy_with_logits

    def step(x: Any, y: Any) -> Any:
        fake = G(x)
        of_d.zero_grad()
        loss_d = judged(D(y), wg.ones(8, 1)) + judged(D(fake.detach()), wg.zeros(8, 1))
        loss_d.backward()
        of_d.step()
        of_g.zero_grad()
        loss_g = judged(D(fake), wg.ones(8, 1))
        loss_g.backward()
        of_g.step()
        return loss_d, loss_g

    return step, lambda: [*G.parameters(), *D.parameters()]


@program
def gradient_penalty() -> Any:
    D = layers(2, 8, 1)
    o = optim.RMSprop(D.parameters(), 1e-2)

    def step(x: Any, y: Any) -> Any:
        o.zero_grad()
        z = (y * 1).requires_grad_()
        out = D(z)
        (g,) = wg.autograd.grad(out.sum(), z, create_graph=True)
        loss = ((g.norm(2, dim=1) - 1) ** 2).mean() + out.mean()
        loss.backward()
        o.step()
        return loss

    return step, lambda: [*D.parameters()]


@program
def sharpness_aware() -> Any:
    m = layers(4, 8, 2)
    o = optim.SGD(m.parameters(), 1e-1, momentum=0.9)

    def step(x: Any, y: Any) -> Any:
        loss = F.mse_loss(m(x), y)
        loss.backward()
        moves = []
        with wg.no_grad():
            norm = wg.stack([p.grad.norm() for p in m.parameters()]).norm()
            for p in m.parameters():
                moves.append(p.grad * (0.05 / (norm + 1e-12)))
                p.add_(moves[-1])
        o.zero_grad()
        F.mse_loss(m(x), y).backward()
        with wg.no_grad():
            for p, move in zip(m.parameters(), moves, strict=True):
                p.sub_(move)
        o.step()
        o.zero_grad()
        return loss

    return step, lambda: [*m.parameters()]


@program
def hypernetwork() -> Any:
    target, h, z = nn.Linear(4, 2), layers(3, 8, 10), nn.Parameter(wg.ones(3))
    o = optim.AdamW([*h.parameters(), z], 1e-2)

    def step(x: Any, y: Any) -> Any:
        o.zero_grad()
        w = h(z)
        made = {"weight": w[:8].view(2, 4), "bias": w[8:]}
        loss = F.mse_loss(functional_call(target, made, (x,)), y)
        loss.backward()
        o.step()
        return loss

    return step, lambda: [*h.parameters(), z]


@program
def mixed_examples() -> Any:
    m = layers(4, 8, 2)
    o = optim.SGD(m.parameters(), 1e-1)

    def step(x: Any, y: Any) -> Any:
        part, order = wg.rand(()), wg.randperm(8)
        o.zero_grad()
        mixed = [part * t + (1 - part) * t[order] for t in (x, y)]
        loss = F.mse_loss(m(mixed[0]), mixed[1])
        loss.backward()
        o.step()
        return loss

    return step, lambda: [*m.parameters()]


@program
def clipped_and_smoothed() -> Any:
    m = layers(4, 8, 2)
    o = optim.AdamW(m.parameters(), 1e-2)

    def step(x: Any, y: Any) -> Any:
        o.zero_grad(set_to_none=True)
        loss = F.cross_entropy(m(x), (y[:, 0] > 0).long(), label_smoothing=0.1)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(m.parameters(), 0.1)
        o.step()
        return loss, norm

    return step, lambda: [*m.parameters()]


@program
def truncated_in_time() -> Any:
    cell, out = nn.LSTMCell(4, 6), nn.Linear(6, 2)
    o = optim.Adam([*cell.parameters(), *out.parameters()], 1e-2)
    state = [wg.zeros(8, 6), wg.zeros(8, 6)]

    def step(x: Any, y: Any) -> Any:
        o.zero_grad()
        h, loss = (state[0].detach(), state[1].detach()), wg.zeros(())
        for k in range(3):
            h = cell(x * (k + 1), h)
            loss = loss + F.mse_loss(out(h[0]), y)
        loss.backward()
        o.step()
        state[:] = h
        return loss

    return step, lambda: [*cell.parameters(), *[t.detach() for t in state]]


@program
def target_network() -> Any:
    q = layers(4, 8, 2)
    target, o, count = copy.deepcopy(q), optim.Adam(q.parameters(), 1e-2), [0]

    def step(x: Any, y: Any) -> Any:
        count[0] += 1
        o.zero_grad()
        with wg.no_grad():
            aim = y[:, 0] + 0.9 * target(x).max(1).values
        action = (y[:, 1] > 0).long()
        loss = F.smooth_l1_loss(q(x).gather(1, action[:, None]).squeeze(1), aim)
        loss.backward()
        o.step()
        if count[0] % 2 == 0:
            target.load_state_dict(q.state_dict())
        return loss

    return step, lambda: [*q.parameters(), *target.parameters()]


@program
def variational() -> Any:
    encoder, decoder = layers(4, 8, 4), layers(2, 8, 4)
    o = optim.Adam([*encoder.parameters(), *decoder.parameters()], 1e-2)

    def step(x: Any, y: Any) -> Any:
        o.zero_grad()
        mean, log_variance = encoder(x).chunk(2, -1)
        q = Normal(mean, (0.5 * log_variance).exp())
        loss = F.mse_loss(decoder(q.rsample()), x) + kl_divergence(q, Normal(0.0, 1.0)).mean()
        loss.backward()
        o.step()
        return loss

    return step, lambda: [*encoder.parameters(), *decoder.parameters()]


@program
def contrastive() -> Any:
    m, scale = layers(4, 8, 2), nn.Parameter(wg.tensor(1.0))
    o = optim.SGD([*m.parameters(), scale], 0.1, nesterov=True, momentum=0.9)

    def step(x: Any, y: Any) -> Any:
        o.zero_grad()
        scores = F.normalize(m(x), dim=-1) @ F.normalize(y, dim=-1).T * scale.exp()
        pairs = wg.arange(8)
        loss = (F.cross_entropy(scores, pairs) + F.cross_entropy(scores.T, pairs)) / 2
        loss.backward()
        o.step()
        return loss

    return step, lambda: [*m.parameters(), scale]


@program
def lookahead() -> Any:
    m = layers(4, 8, 2)
    slow = [p.detach().clone() for p in m.parameters()]
    o, count = optim.Adam(m.parameters(), 1e-2), [0]

    def step(x: Any, y: Any) -> Any:
        o.zero_grad()
        loss = F.mse_loss(m(x), y)
        loss.backward()
        o.step()
        count[0] += 1
        if count[0] == 3:
            count[0] = 0
            for s, p in zip(slow, m.parameters(), strict=True):
                s += 0.5 * (p.detach() - s)
                p.data.copy_(s)
        return loss

    return step, lambda: [*m.parameters(), *slow]


@program
def accumulated() -> Any:
    m = layers(4, 8, 2)
    o, count = optim.SGD(m.parameters(), 0.1), [0]

    def step(x: Any, y: Any) -> Any:
        loss = F.mse_loss(m(x), y) / 2
        loss.backward()
        count[0] += 1
        if count[0] % 2 == 0:
            o.step()
            o.zero_grad()
        return loss

    return step, lambda: [*m.parameters()]


@program
def mixture_of_experts() -> Any:
    experts, gate = nn.ModuleList(layers(4, 8, 2) for _ in range(3)), nn.Linear(4, 3)
    o = optim.Adam([*experts.parameters(), *gate.parameters()], 1e-2)

    def step(x: Any, y: Any) -> Any:
        o.zero_grad()
        share = gate(x).softmax(-1)
        top, out = share.topk(2, -1), wg.zeros(8, 2)
        for k, expert in enumerate(experts):
            weight = (top.values * (top.indices == k)).sum(-1, keepdim=True)
            out = out + weight * expert(x)
        loss = F.mse_loss(out, y) + 0.01 * (share.mean(0) ** 2).sum()
        loss.backward()
        o.step()
        return loss

    return step, lambda: [*experts.parameters(), *gate.parameters()]


@program
def learned_to_learn() -> Any:
    m = layers(4, 8, 2)
    o = optim.Adam(m.parameters(), 1e-2)

    def step(x: Any, y: Any) -> Any:
        o.zero_grad()
        own = dict(m.named_parameters())
        loss = F.mse_loss(functional_call(m, own, (x[:4],)), y[:4])
        gradients = wg.autograd.grad(loss, own.values(), create_graph=True)
        pairs = zip(own.items(), gradients, strict=True)
        adapted = {name: p - 0.1 * g for (name, p), g in pairs}
        outer = F.mse_loss(functional_call(m, adapted, (x[4:],)), y[4:])
        outer.backward()
        o.step()
        return outer

    return step, lambda: [*m.parameters()]


@program
def ensemble() -> Any:
    members = [layers(4, 8, 2) for _ in range(3)]
    stacked, _ = stack_module_state(members)
    o = optim.SGD(stacked.values(), 0.1)

    def step(x: Any, y: Any) -> Any:
        o.zero_grad()
        out = vmap(lambda own: functional_call(members[0], own, (x,)))(stacked)
        loss = ((out - y) ** 2).mean((1, 2)).sum()
        loss.backward()
        o.step()
        return loss

    return step, lambda: [*stacked.values()]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_training_step_does_what_it_does_in_eager_mode(name: str) -> None:
    def told(compile: Any) -> Any:
        wg.manual_seed(0)
        step, tensors = PROGRAMS[name]()
        f, seen = compile(step), []
        for k in range(6):
            losses = f(*batch(k))
            losses = losses if isinstance(losses, tuple) else (losses,)
            seen.append(noted([loss.detach() for loss in losses]))
        return [*seen, noted([x.detach() for x in tensors()])]

    same(told, 1e-4)
