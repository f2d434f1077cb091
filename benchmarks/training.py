"""A training step as its users write it: in PyTorch's API, eager or compiled, and in JAX.

PyTorch and wengert run the same program, a function that takes the library as its argument. JAX
has no modules or optimizers of its own, so its losses and updates are written by hand, and one
`jax.jit` holds them all.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.timing import Make


class Training(NamedTuple):
    """What a step in PyTorch's API needs: `batch` holds its arguments, inputs and targets."""

    network: Any
    criterion: Callable
    optimizer: Any
    batch: tuple


def training_step(network, criterion, optimizer):
    def step(inputs, targets):
        optimizer.zero_grad()
        loss = criterion(network(inputs), targets)
        loss.backward()
        optimizer.step()
        return loss

    return step


def eager(build: Callable[[], Training]) -> Make:
    """The step of a network that is built afresh for every turn."""

    def make():
        *parts, batch = build()
        return partial(training_step(*parts), *batch)

    return make


def compiled(library, build: Callable[[], Training]) -> Make:
    """The compiled step of a network that is built once.

    A compiled step belongs to the network it was traced with, so each turn only gives that network
    the parameters it started from. The optimizer's state stays what the turns before have left.
    """

    @cache
    def built():
        *parts, batch = build()
        network = parts[0]
        start = [parameter.detach().clone() for parameter in network.parameters()]
        return network, start, partial(library.compile(training_step(*parts)), *batch)

    def make():
        network, start, step = built()
        with library.no_grad():
            for parameter, value in zip(network.parameters(), start, strict=True):
                parameter.copy_(value)
        return step

    return make


def jitted(loss, optimizer, parameters, batch) -> Make:
    """JAX's step: `loss(parameters, inputs, targets)` is differentiated, and all is one `jit`.

    The parameters and the optimizer's state are given away (donated), so XLA may write the new ones
    over the old. Each repetition waits for its result, as the other peers do.
    """
    import jax
    import jax.numpy as jnp

    leaves, structure = jax.tree.flatten(parameters)
    start, update = optimizer
    inputs, targets = map(jnp.asarray, batch)

    @partial(jax.jit, donate_argnums=0)
    def step(carry, inputs, targets):
        leaves, state = carry
        value, gradients = jax.value_and_grad(
            lambda leaves: loss(jax.tree.unflatten(structure, leaves), inputs, targets)
        )(leaves)
        return update(leaves, gradients, state), value

    def make():
        # Copies: an array given away cannot serve the next turn.
        carry = jax.tree.map(partial(jnp.array, copy=True), (leaves, start(leaves)))

        def work():
            nonlocal carry
            carry, value = step(carry, inputs, targets)
            return value.block_until_ready()

        return work

    return make


def entrants(modules, in_torch, in_jax, variants, compiles=True) -> dict[str, Make]:
    """The peers that run whole programs: wengert compiled or eager, PyTorch in each variant, JAX.

    `in_torch(library, **settings)` builds a `Training`, `in_jax()` is a `Make` for JAX. `variants`
    gives PyTorch's names and settings.
    """
    result: dict[str, Make] = {}
    for peer, module in modules.items():
        match peer:
            case "wengert":
                build = partial(in_torch, module)
                result[peer] = compiled(module, build) if compiles else eager(build)
            case "PyTorch":
                for name, settings in variants.items():
                    result[name] = eager(partial(in_torch, module, **settings))
            case "JAX":
                result[peer] = in_jax()
    return result


OPTIMIZER_VARIANTS = {
    "PyTorch": {},
    "PyTorch foreach": {"foreach": True},
    "PyTorch fused": {"fused": True},
}

# --- optimizers for JAX, by hand: (state at the start, update) of lists of arrays ---------------


def jax_cross_entropy(logits, labels):
    """The mean over all but the last axis of `logits`, which holds the classes."""
    import jax
    import jax.numpy as jnp

    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], axis=-1)
    return -chosen.mean()


def jax_sgd(rate):
    def update(parameters, gradients, state):
        return [p - rate * g for p, g in zip(parameters, gradients, strict=True)], state

    return lambda parameters: (), update


def jax_momentum(rate, momentum):
    def update(parameters, gradients, velocities):
        velocities = [momentum * v + g for v, g in zip(velocities, gradients, strict=True)]
        return [p - rate * v for p, v in zip(parameters, velocities, strict=True)], velocities

    return lambda parameters: [np.zeros_like(p) for p in parameters], update


def jax_adamw(rate, beta1=0.9, beta2=0.999, eps=1e-8, decay=0.01):
    import jax.numpy as jnp

    def update(parameters, gradients, state):
        m, v, t = state
        t = t + 1
        m = [m + (1 - beta1) * (g - m) for m, g in zip(m, gradients, strict=True)]
        v = [v + (1 - beta2) * (g * g - v) for v, g in zip(v, gradients, strict=True)]
        scale, root = rate / (1 - beta1**t), jnp.sqrt(1 - beta2**t)
        moved = [
            p * (1 - rate * decay) - scale * m / (jnp.sqrt(v) / root + eps)
            for p, m, v in zip(parameters, m, v, strict=True)
        ]
        return moved, (m, v, t)

    def start(parameters):
        zeros = [np.zeros_like(p) for p in parameters]
        return zeros, zeros, np.float32(0)

    return start, update
