"""Training steps of multi-layer perceptrons: forward, backward, update, in each peer's own idiom.

All start from the same float32 parameters and repeat one batch. The peers that bring no optimizers
or no derivatives have them written by hand here, plainly and without waste, as one would for
oneself.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.by_hand import flat
from benchmarks.timing import Case, Make, Target
from benchmarks.training import (
    OPTIMIZER_VARIANTS,
    Training,
    eager,
    entrants,
    jax_cross_entropy,
    jax_sgd,
    jitted,
)

SGD_RATE = 0.01
ADAM_RATE = 0.001


@dataclass(frozen=True)
class Problem:
    """A network of linear layers with ReLU between them, one batch, and a loss."""

    sizes: tuple[int, ...]
    batch: int
    loss: str  # "mse" or "cross_entropy"

    def __str__(self):
        return f"{'-'.join(map(str, self.sizes))}, batch {self.batch}"

    def parameters(self):
        """`[(weight, bias)]`, weights of shape (inputs, outputs), drawn as PyTorch would."""
        draw = np.random.default_rng(0).uniform
        bounds = [1 / np.sqrt(inputs) for inputs in self.sizes[:-1]]
        return [
            (
                draw(-bound, bound, (inputs, outputs)).astype(np.float32),
                draw(-bound, bound, outputs).astype(np.float32),
            )
            for bound, inputs, outputs in zip(bounds, self.sizes[:-1], self.sizes[1:], strict=True)
        ]

    def data(self):
        """One batch: inputs of shape (batch, sizes[0]), and targets as the loss wants them."""
        rng = np.random.default_rng(1)
        inputs = rng.standard_normal((self.batch, self.sizes[0])).astype(np.float32)
        if self.loss == "cross_entropy":
            return inputs, rng.integers(self.sizes[-1], size=self.batch)
        return inputs, rng.standard_normal((self.batch, self.sizes[-1])).astype(np.float32)


PROBLEMS = (
    Problem((2, 16, 16, 1), batch=1, loss="mse"),
    Problem((2, 64, 64, 1), batch=32, loss="mse"),
    Problem((784, 128, 10), batch=64, loss="cross_entropy"),
    Problem((784, 512, 512, 10), batch=128, loss="cross_entropy"),
)
SMALL_1, SMALL_2, MIDDLE, LARGE = PROBLEMS

TARGETS = {
    ("SGD", SMALL_1): (Target("PyTorch", 0.3), Target("NumPy", 1.5)),
    ("SGD", SMALL_2): (Target("PyTorch", 0.3), Target("NumPy", 1.5)),
    ("SGD", MIDDLE): (Target("PyTorch", 0.8), Target("NumPy", 1.1)),
    ("SGD", LARGE): (Target("PyTorch", 1.0), Target("NumPy", 1.1)),
    ("Adam", SMALL_1): (Target("PyTorch", 0.35),),
    ("Adam", SMALL_2): (Target("PyTorch", 0.35),),
}

# --- wengert and PyTorch: one API -------------------------------------------------------------


def torch_network(torch, problem):
    """The network, its loss, and the batch as tensors."""
    nn, functional = torch.nn, torch.nn.functional
    layers = []
    for weight, bias in problem.parameters():
        layer = nn.Linear(*weight.shape)
        with torch.no_grad():
            layer.weight.copy_(torch.tensor(weight.T.copy()))  # stored as (outputs, inputs)
            layer.bias.copy_(torch.tensor(bias))
        layers += [layer, nn.ReLU()]
    criterion = functional.mse_loss if problem.loss == "mse" else functional.cross_entropy
    return nn.Sequential(*layers[:-1]), criterion, tuple(map(torch.tensor, problem.data()))


def torch_training(torch, problem, optimizer_name, **settings) -> Training:
    network, criterion, batch = torch_network(torch, problem)
    if optimizer_name == "SGD":
        optimizer = torch.optim.SGD(network.parameters(), lr=SGD_RATE, **settings)
    else:
        optimizer = torch.optim.Adam(network.parameters(), lr=ADAM_RATE, **settings)
    return Training(network, criterion, optimizer, batch)


def torch_pass(torch, problem):
    """One forward and backward pass that leaves the gradients in place."""
    network, criterion, (inputs, targets) = torch_network(torch, problem)

    def run():
        network.zero_grad()
        criterion(network(inputs), targets).backward()

    return run


# --- autograd: derivatives from the library, optimizers by hand -------------------------------


def autograd_gradients(problem):
    """A function of the parameters that returns the loss and its gradients."""
    import autograd.numpy as anp
    from autograd import value_and_grad
    from autograd.scipy.special import logsumexp

    inputs, targets = problem.data()
    rows = np.arange(problem.batch)

    def compute_loss(parameters):
        x = inputs
        for weight, bias in parameters[:-1]:
            x = anp.dot(x, weight) + bias
            x = x * (x > 0)  # autograd's rule for maximum would turn float32 into float64
        weight, bias = parameters[-1]
        x = anp.dot(x, weight) + bias
        if problem.loss == "mse":
            return anp.mean((x - targets) ** 2)
        return anp.mean(logsumexp(x, axis=1) - x[rows, targets])

    return value_and_grad(compute_loss)


def autograd_step(problem, optimizer):
    parameters = problem.parameters()
    return step_by_hand(parameters, autograd_gradients(problem), optimizer)


# --- NumPy: everything by hand ----------------------------------------------------------------


def mse_by_hand(outputs, targets):
    """The loss, and its derivative by the outputs."""
    difference = outputs - targets
    loss = np.square(difference).mean()
    difference *= 2 / difference.size
    return loss, difference


def cross_entropy_by_hand(logits, labels):
    """The loss, and its derivative by the logits: (softmax - one-hot) / batch."""
    rows = np.arange(len(labels))
    shifted = logits - logits.max(axis=1, keepdims=True)
    exponentials = np.exp(shifted)
    sums = exponentials.sum(axis=1, keepdims=True)
    loss = (np.log(sums[:, 0]) - shifted[rows, labels]).mean()
    exponentials /= sums
    exponentials[rows, labels] -= 1
    exponentials /= len(labels)
    return loss, exponentials


def numpy_gradients(problem):
    """A function of the parameters that returns the loss and its gradients."""
    inputs, targets = problem.data()
    loss_by_hand = mse_by_hand if problem.loss == "mse" else cross_entropy_by_hand

    def gradients(parameters):
        last = len(parameters) - 1
        x, entering = inputs, []
        for i, (weight, bias) in enumerate(parameters):
            entering.append(x)
            x = x @ weight
            x += bias
            if i < last:
                np.maximum(x, 0, out=x)
        loss, g = loss_by_hand(x, targets)

        result = []
        for i in range(last, -1, -1):
            result.append((entering[i].T @ g, g.sum(axis=0)))
            if i > 0:
                g = g @ parameters[i][0].T
                g *= entering[i] > 0
        return loss, result[::-1]

    return gradients


def numpy_step(problem, optimizer):
    return step_by_hand(problem.parameters(), numpy_gradients(problem), optimizer)


def step_by_hand(parameters, gradients, optimizer):
    flat = [array for layer in parameters for array in layer]
    update = OPTIMIZERS_BY_HAND[optimizer](flat)

    def step():
        loss, grads = gradients(parameters)
        update([array for layer in grads for array in layer])
        return loss

    return step


def sgd_by_hand(parameters):
    def update(gradients):
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter -= SGD_RATE * gradient

    return update


def adam_by_hand(parameters, beta1=0.9, beta2=0.999, eps=1e-8):
    moments = [(np.zeros_like(p), np.zeros_like(p)) for p in parameters]
    t = 0

    def update(gradients):
        nonlocal t
        t += 1
        rate = ADAM_RATE / (1 - beta1**t)
        root = (1 - beta2**t) ** 0.5
        for parameter, g, (m, v) in zip(parameters, gradients, moments, strict=True):
            m += (1 - beta1) * (g - m)
            v += (1 - beta2) * (g * g - v)
            parameter -= rate * m / (np.sqrt(v) / root + eps)

    return update


OPTIMIZERS_BY_HAND = {"SGD": sgd_by_hand, "Adam": adam_by_hand}

# --- compiled by others: JAX, and C by hand -----------------------------------------------------


def jax_step(problem):
    import jax
    import jax.numpy as jnp

    def compute_loss(parameters, inputs, targets):
        x = inputs
        for weight, bias in parameters[:-1]:
            x = jax.nn.relu(x @ weight + bias)
        weight, bias = parameters[-1]
        x = x @ weight + bias
        if problem.loss == "mse":
            return jnp.square(x - targets).mean()
        return jax_cross_entropy(x, targets)

    return jitted(compute_loss, jax_sgd(SGD_RATE), problem.parameters(), problem.data())


def c_step(by_hand, problem):
    """`by_hand.c` knows the sizes of the two smallest networks."""
    width = problem.sizes[1]
    assert problem in (SMALL_1, SMALL_2), problem
    return by_hand.train(width, flat(problem.parameters()), *problem.data())


def matmuls_alone(problem, transposed=False):
    """The matrix products of a step and nothing else, into memory that is kept.

    `transposed` stores weights as PyTorch does, (outputs, inputs): which is faster depends on the
    sizes and on the BLAS.
    """
    rng = np.random.default_rng(2)
    weights = [weight for weight, _ in problem.parameters()]
    arrays = [
        rng.standard_normal((problem.batch, size)).astype(np.float32) for size in problem.sizes
    ]
    products = []  # (left, right, out)
    for i, weight in enumerate(weights):
        stored = weight.T.copy() if transposed else weight
        weight = stored.T if transposed else stored
        x, y = arrays[i], arrays[i + 1]
        gradient = np.empty_like(stored)
        products.append((x, weight, np.empty_like(y)))
        products.append((y.T, x, gradient) if transposed else (x.T, y, gradient))
        if i > 0:
            products.append((y, weight.T, np.empty_like(x)))

    def run():
        for left, right, out in products:
            np.matmul(left, right, out=out)

    return run


# --- the cases --------------------------------------------------------------------------------


def eager_entrants(modules, problem, optimizer):
    """Every peer's step; PyTorch's with each of its implementations of the optimizer."""
    result: dict[str, Make] = {}
    for peer, module in modules.items():
        match peer:
            case "NumPy":
                result[peer] = partial(numpy_step, problem, optimizer)
            case "autograd":
                result[peer] = partial(autograd_step, problem, optimizer)
            case "PyTorch":
                for name, settings in OPTIMIZER_VARIANTS.items():
                    build = partial(torch_training, module, problem, optimizer, **settings)
                    result[name] = eager(build)
            case _:
                result[peer] = eager(partial(torch_training, module, problem, optimizer))
    return result


def mlp_cases(modules) -> list[Case]:
    return [
        Case(
            section=f"A training step with {optimizer}",
            name=str(problem),
            entrants=eager_entrants(modules, problem, optimizer),
            targets=TARGETS.get((optimizer, problem), ()),
        )
        for optimizer in ("SGD", "Adam")
        for problem in PROBLEMS
    ]


def compiled_case(modules, section: str, targets: tuple[Target, ...], problem=SMALL_1) -> Case:
    """A step with SGD, compiled, by hand in NumPy and C, and what its matrix products take."""

    def in_torch(library, **settings):
        return torch_training(library, problem, "SGD", **settings)

    racers = entrants(modules, in_torch, partial(jax_step, problem), OPTIMIZER_VARIANTS)
    if "NumPy" in modules:
        racers["NumPy"] = partial(numpy_step, problem, "SGD")
    if "C" in modules and problem in (SMALL_1, SMALL_2):
        racers["C"] = partial(c_step, modules["C"], problem)
    yardsticks = {}
    if problem in (MIDDLE, LARGE):
        yardsticks = {
            "matmuls": partial(matmuls_alone, problem),
            "matmuls transposed": partial(matmuls_alone, problem, transposed=True),
        }
    return Case(section, f"{problem}, SGD", racers, targets, yardsticks)


def gradient_pass(peer, module, problem):
    """One forward and backward pass of a peer, which keeps its gradients until the next one."""
    if peer not in ("NumPy", "autograd"):
        return torch_pass(module, problem)
    make = numpy_gradients if peer == "NumPy" else autograd_gradients
    gradients, parameters = make(problem), problem.parameters()
    kept = []

    def run():
        kept.clear()
        kept.append(gradients(parameters))

    return run
