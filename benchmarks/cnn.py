"""A training step of a small convolutional network on images of 28 by 28, with momentum."""

import numpy as np

from benchmarks.timing import Case, Target
from benchmarks.training import (
    OPTIMIZER_VARIANTS,
    Training,
    entrants,
    jax_cross_entropy,
    jax_momentum,
    jitted,
)

BATCH, SIDE, CLASSES = 32, 28, 10
FEATURES = 16 * 5 * 5  # 28 -> 26 -> 13 -> 11 -> 5 pixels a side
RATE, MOMENTUM = 0.01, 0.9
NAME = f"CNN: 1-8-16 channels, {SIDE}×{SIDE}, batch {BATCH}, SGD with momentum"


def parameters() -> dict[str, np.ndarray]:
    """Every parameter by its name in the network, drawn as PyTorch would."""
    rng = np.random.default_rng(0)
    found = {}
    for name, shape in {"0": (8, 1, 3, 3), "3": (16, 8, 3, 3), "7": (CLASSES, FEATURES)}.items():
        bound = 1 / np.sqrt(np.prod(shape[1:]))
        found[f"{name}.weight"] = rng.uniform(-bound, bound, shape).astype(np.float32)
        found[f"{name}.bias"] = rng.uniform(-bound, bound, shape[0]).astype(np.float32)
    return found


def data():
    rng = np.random.default_rng(1)
    images = rng.standard_normal((BATCH, 1, SIDE, SIDE)).astype(np.float32)
    return images, rng.integers(CLASSES, size=BATCH)


def in_torch(torch, **settings) -> Training:
    nn = torch.nn
    network = nn.Sequential(
        nn.Conv2d(1, 8, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(FEATURES, CLASSES),
    )
    network.load_state_dict({name: torch.tensor(p) for name, p in parameters().items()})
    optimizer = torch.optim.SGD(network.parameters(), lr=RATE, momentum=MOMENTUM, **settings)
    return Training(
        network, nn.functional.cross_entropy, optimizer, tuple(map(torch.tensor, data()))
    )


def jax_loss(p, images, labels):
    import jax
    import jax.numpy as jnp

    def convolve(name, x):
        weight, bias = p[f"{name}.weight"], p[f"{name}.bias"]
        return jax.lax.conv(x, weight, (1, 1), "VALID") + bias[:, None, None]

    def pool(x):
        """The maximum of each two by two pixels. XLA's own reduce_window is slower on a CPU."""
        h, w = x.shape[2:]
        x = x[:, :, : h // 2 * 2, : w // 2 * 2]
        upper = jnp.maximum(x[:, :, ::2, ::2], x[:, :, ::2, 1::2])
        return jnp.maximum(upper, jnp.maximum(x[:, :, 1::2, ::2], x[:, :, 1::2, 1::2]))

    x = pool(jax.nn.relu(convolve("0", images)))
    x = pool(jax.nn.relu(convolve("3", x)))
    logits = x.reshape(len(x), -1) @ p["7.weight"].T + p["7.bias"]
    return jax_cross_entropy(logits, labels)


def in_jax():
    return jitted(jax_loss, jax_momentum(RATE, MOMENTUM), parameters(), data())


def cnn_case(modules, section: str, targets: tuple[Target, ...]) -> Case:
    return Case(section, NAME, entrants(modules, in_torch, in_jax, OPTIMIZER_VARIANTS), targets)
