"""A training step of small convolutional networks, with momentum."""

from dataclasses import dataclass
from functools import partial
from itertools import pairwise

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

BATCH, CLASSES = 32, 10
RATE, MOMENTUM = 0.01, 0.9


@dataclass(frozen=True)
class Problem:
    """Square images of one channel, and a network that halves them after each convolution."""

    side: int
    channels: tuple[int, ...]
    kernel: int
    paddings: tuple[int, ...]
    hidden: tuple[int, ...] = ()  # linear layers before the one that gives the classes

    def __str__(self):
        widths = "-".join(map(str, (1, *self.channels)))
        hidden = "".join(f"-{n}" for n in self.hidden)
        return (
            f"CNN: {widths} channels{hidden}, {self.side}×{self.side}, batch {BATCH}, "
            "SGD with momentum"
        )

    @property
    def convolutions(self) -> dict[int, tuple[int, int, int]]:
        """Each one's place in the network: its channels in and out, and its padding."""
        sizes = zip((1, *self.channels), self.channels, self.paddings, strict=False)
        return {3 * i: found for i, found in enumerate(sizes)}  # a ReLU and a pool follow each

    @property
    def linears(self) -> dict[int, tuple[int, int]]:
        """Each linear layer's place in the network: its numbers of inputs and outputs."""
        side = self.side
        for padding in self.paddings:
            side = (side + 2 * padding - self.kernel + 1) // 2
        widths = self.channels[-1] * side * side, *self.hidden, CLASSES
        first = 3 * len(self.channels) + 1
        return {first + 2 * i: sizes for i, sizes in enumerate(pairwise(widths))}

    def parameters(self) -> dict[str, np.ndarray]:
        """Every parameter by its name in the network, drawn as PyTorch would."""
        rng = np.random.default_rng(0)
        window = (self.kernel, self.kernel)
        shapes = {i: (n_out, n_in, *window) for i, (n_in, n_out, _) in self.convolutions.items()}
        shapes |= {i: (n_out, n_in) for i, (n_in, n_out) in self.linears.items()}
        found = {}
        for i, shape in shapes.items():
            bound = 1 / np.sqrt(np.prod(shape[1:]))
            found[f"{i}.weight"] = rng.uniform(-bound, bound, shape).astype(np.float32)
            found[f"{i}.bias"] = rng.uniform(-bound, bound, shape[0]).astype(np.float32)
        return found

    def data(self):
        rng = np.random.default_rng(1)
        images = rng.standard_normal((BATCH, 1, self.side, self.side)).astype(np.float32)
        return images, rng.integers(CLASSES, size=BATCH)


PLAIN = Problem(28, (8, 16), 3, (0, 0))
LENET = Problem(28, (6, 16), 5, (2, 0), (120, 84))  # LeNet-5 (LeCun et al., 1998), with maxima
DIGITS = Problem(8, (16, 32), 3, (1, 1), (64,))


def in_torch(torch, problem=PLAIN, **settings) -> Training:
    nn = torch.nn
    layers: list = []
    for n_in, n_out, padding in problem.convolutions.values():
        layers.append(nn.Conv2d(n_in, n_out, problem.kernel, padding=padding))
        layers += nn.ReLU(), nn.MaxPool2d(2)
    layers.append(nn.Flatten())
    for n_in, n_out in problem.linears.values():
        layers += nn.Linear(n_in, n_out), nn.ReLU()
    network = nn.Sequential(*layers[:-1])
    network.load_state_dict({name: torch.tensor(p) for name, p in problem.parameters().items()})
    optimizer = torch.optim.SGD(network.parameters(), lr=RATE, momentum=MOMENTUM, **settings)
    return Training(
        network, nn.functional.cross_entropy, optimizer, tuple(map(torch.tensor, problem.data()))
    )


def jax_loss(p, images, labels, problem):
    import jax
    import jax.numpy as jnp

    def pool(x):
        """The maximum of each two by two pixels. XLA's own reduce_window is slower on a CPU."""
        h, w = x.shape[2:]
        x = x[:, :, : h // 2 * 2, : w // 2 * 2]
        upper = jnp.maximum(x[:, :, ::2, ::2], x[:, :, ::2, 1::2])
        return jnp.maximum(upper, jnp.maximum(x[:, :, 1::2, ::2], x[:, :, 1::2, 1::2]))

    x = images
    for i, (_, _, padding) in problem.convolutions.items():
        weight, bias = p[f"{i}.weight"], p[f"{i}.bias"]
        x = jax.lax.conv_general_dilated(x, weight, (1, 1), [(padding, padding)] * 2)
        x = pool(jax.nn.relu(x + bias[:, None, None]))
    x = x.reshape(len(x), -1)
    for i in problem.linears:
        if i != min(problem.linears):
            x = jax.nn.relu(x)
        x = x @ p[f"{i}.weight"].T + p[f"{i}.bias"]
    return jax_cross_entropy(x, labels)


def in_jax(problem):
    loss = partial(jax_loss, problem=problem)
    return jitted(loss, jax_momentum(RATE, MOMENTUM), problem.parameters(), problem.data())


def cnn_case(
    modules, section: str, targets: tuple[Target, ...], problem=PLAIN, compiles=True
) -> Case:
    racers = entrants(
        modules,
        partial(in_torch, problem=problem),
        partial(in_jax, problem),
        OPTIMIZER_VARIANTS,
        compiles,
    )
    return Case(section, str(problem), racers, targets)
