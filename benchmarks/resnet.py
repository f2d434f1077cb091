"""A training step of a deep residual network: many layers that are alike, for first calls.

Each block adds to its input what two convolutions make of it, each normalised by its batch (He,
Zhang, Ren and Sun, 2016). No running means are kept: JAX has no modules that would.
"""

import numpy as np

from benchmarks.cnn import MOMENTUM, RATE
from benchmarks.timing import Case, Target
from benchmarks.training import (
    OPTIMIZER_VARIANTS,
    Training,
    entrants,
    jax_cross_entropy,
    jax_momentum,
    jitted,
)

BLOCKS, CHANNELS, SIDE, BATCH, CLASSES = 24, 16, 16, 8, 10
NAME = (
    f"ResNet: {BLOCKS} blocks of {CHANNELS} channels, {SIDE}×{SIDE}, batch {BATCH}, "
    "SGD with momentum"
)


def parameters() -> dict[str, np.ndarray]:
    """Every parameter by its name in the network."""
    rng = np.random.default_rng(0)
    drawn: dict[str, np.ndarray] = {}

    def add(name, *shape):
        bound = 1 / np.sqrt(np.prod(shape[1:]))
        drawn[f"{name}.weight"] = rng.uniform(-bound, bound, shape).astype(np.float32)
        drawn[f"{name}.bias"] = rng.uniform(-bound, bound, shape[0]).astype(np.float32)

    add("first", CHANNELS, 3, 3, 3)
    for block in range(BLOCKS):
        for k in (1, 2):
            add(f"blocks.{block}.convolution_{k}", CHANNELS, CHANNELS, 3, 3)
            drawn[f"blocks.{block}.norm_{k}.weight"] = np.ones(CHANNELS, np.float32)
            drawn[f"blocks.{block}.norm_{k}.bias"] = np.zeros(CHANNELS, np.float32)
    add("last", CLASSES, CHANNELS)
    return drawn


def data():
    rng = np.random.default_rng(1)
    images = rng.standard_normal((BATCH, 3, SIDE, SIDE)).astype(np.float32)
    return images, rng.integers(CLASSES, size=BATCH)


def network(torch):
    """The network, of any library with PyTorch's API."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.convolution_1 = nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1)
            self.norm_1 = nn.BatchNorm2d(CHANNELS, track_running_stats=False)
            self.convolution_2 = nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1)
            self.norm_2 = nn.BatchNorm2d(CHANNELS, track_running_stats=False)

        def forward(self, x):
            y = self.norm_1(self.convolution_1(x)).relu()
            return (x + self.norm_2(self.convolution_2(y))).relu()

    class ResNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Conv2d(3, CHANNELS, 3, padding=1)
            self.blocks = nn.Sequential(*[Block() for _ in range(BLOCKS)])
            self.last = nn.Linear(CHANNELS, CLASSES)

        def forward(self, images):
            return self.last(self.blocks(self.first(images)).mean((2, 3)))

    return ResNet()


def in_torch(torch, **settings) -> Training:
    net = network(torch)
    net.load_state_dict({name: torch.tensor(p) for name, p in parameters().items()})
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE, momentum=MOMENTUM, **settings)
    batch = tuple(map(torch.tensor, data()))
    return Training(net, torch.nn.functional.cross_entropy, optimizer, batch)


def jax_loss(p, images, labels):
    import jax
    import jax.numpy as jnp

    def convolution(name, x):
        y = jax.lax.conv_general_dilated(x, p[f"{name}.weight"], (1, 1), [(1, 1)] * 2)
        return y + p[f"{name}.bias"][:, None, None]

    def norm(name, x):
        axes = (0, 2, 3)
        mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
        scaled = (x - mean) / jnp.sqrt(variance + 1e-5)
        return scaled * p[f"{name}.weight"][:, None, None] + p[f"{name}.bias"][:, None, None]

    x = convolution("first", images)
    for block in range(BLOCKS):
        at = f"blocks.{block}"
        y = jax.nn.relu(norm(f"{at}.norm_1", convolution(f"{at}.convolution_1", x)))
        x = jax.nn.relu(x + norm(f"{at}.norm_2", convolution(f"{at}.convolution_2", y)))
    return jax_cross_entropy(x.mean((2, 3)) @ p["last.weight"].T + p["last.bias"], labels)


def in_jax():
    return jitted(jax_loss, jax_momentum(RATE, MOMENTUM), parameters(), data())


def resnet_case(modules, section: str, targets: tuple[Target, ...], compiles=True) -> Case:
    racers = entrants(modules, in_torch, in_jax, OPTIMIZER_VARIANTS, compiles)
    return Case(section, NAME, racers, targets)
