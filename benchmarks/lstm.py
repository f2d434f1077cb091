"""A training step of an LSTM that forecasts: what follows each sequence, from its last output."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.timing import Case, Target
from benchmarks.training import OPTIMIZER_VARIANTS, Training, entrants

RATE = 1e-3


@dataclass(frozen=True)
class Problem:
    inputs: int
    hidden: int
    layers: int
    times: int
    batch: int

    def __str__(self):
        return (
            f"LSTM: {self.layers} × {self.hidden}, {self.inputs} inputs, {self.times} times, "
            f"batch {self.batch}, Adam"
        )

    def data(self):
        rng = np.random.default_rng(1)
        x = rng.standard_normal((self.batch, self.times, self.inputs)).astype(np.float32)
        return x, rng.standard_normal((self.batch, self.inputs)).astype(np.float32)


SERIES = Problem(inputs=1, hidden=32, layers=1, times=24, batch=32)
FEATURES = Problem(inputs=16, hidden=64, layers=2, times=32, batch=32)


def in_torch(torch, problem=SERIES, **settings) -> Training:
    nn = torch.nn

    class Forecast(nn.Module):
        def __init__(self):
            super().__init__()
            sizes = problem.inputs, problem.hidden, problem.layers
            self.lstm = nn.LSTM(*sizes, batch_first=True)
            self.head = nn.Linear(problem.hidden, problem.inputs)

        def forward(self, x):
            outputs, _ = self.lstm(x)
            return self.head(outputs[:, -1])

    network = Forecast()
    rng = np.random.default_rng(0)
    bound = problem.hidden**-0.5
    with torch.no_grad():
        for parameter in network.parameters():
            values = rng.uniform(-bound, bound, tuple(parameter.shape))
            parameter.copy_(torch.tensor(values.astype(np.float32)))
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE, **settings)
    batch = tuple(map(torch.tensor, problem.data()))
    return Training(network, nn.functional.mse_loss, optimizer, batch)


def lstm_case(
    modules, section: str, targets: tuple[Target, ...], problem=SERIES, compiles=True
) -> Case:
    build = partial(in_torch, problem=problem)
    racers = entrants(modules, build, None, OPTIMIZER_VARIANTS, compiles)
    return Case(section, str(problem), racers, targets)
