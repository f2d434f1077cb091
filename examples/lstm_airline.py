"""An LSTM that forecasts a time series: monthly airline passengers, 1949 to 1960.

It learns from ten years to say next month's change from the same month a year before, and forecasts
the last two years month by month, its own forecasts among what it sees. It is compared with the
simplest rule there is: next year will be as this year.
"""

import argparse

import numpy as np

import wengert as wg
from wengert import nn, optim
from wengert.datasets import load_airline
from wengert.nn import functional as F

YEAR, TEST = 12, 24


class Forecaster(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x, state=None):
        out, state = self.lstm(x, state)
        return self.head(out), state


def stepper(net, optimizer):
    """One step of training: each month from those before it."""

    def step(series):
        optimizer.zero_grad()
        loss = F.mse_loss(net(series[:, :-1])[0], series[:, 1:])
        loss.backward()
        optimizer.step()
        return loss

    return step


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--out", help="a folder to draw the forecast in")
    args = parser.parse_args(arguments)

    wg.manual_seed(0)
    passengers = load_airline()
    logs = np.log(passengers)
    growth = logs[YEAR:] - logs[:-YEAR]  # over the same month a year before
    known = growth[:-TEST]
    centre, scale = known.mean(), known.std()
    series = wg.tensor((known - centre) / scale, dtype=wg.float32).view(1, -1, 1)

    net = Forecaster(16)
    step = stepper(net, optim.Adam(net.parameters(), lr=0.01, weight_decay=1e-3))
    losses = [step(series).item() for _ in range(args.steps)]
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}")
    assert losses[-1] < losses[0]

    forecast = list(logs[:-TEST])
    with wg.no_grad():
        out, state = net(series)
        for _ in range(TEST):
            step = out[:, -1:]
            forecast.append(forecast[-YEAR] + step.item() * scale + centre)
            out, state = net(step, state)
    forecast = np.exp(forecast[-TEST:])
    truth = passengers[-TEST:]
    as_before = np.tile(passengers[-TEST - YEAR : -TEST], 2)
    error = lambda guess: float(np.mean(np.abs(guess - truth) / truth))
    print(f"mean error of 24 months: {error(forecast):.1%}; next year as this year: "
          f"{error(as_before):.1%}")  # fmt: skip
    if args.out:
        draw(args.out, passengers, forecast)


def draw(folder, passengers, forecast):
    from pathlib import Path

    from matplotlib.figure import Figure

    Path(folder).mkdir(parents=True, exist_ok=True)
    figure = Figure(figsize=(7, 3.5), layout="constrained")
    axes = figure.subplots()
    months = 1949 + np.arange(len(passengers)) / YEAR
    axes.plot(months, passengers, label="passengers (thousands)")
    axes.plot(months[-TEST:], forecast, "--", label="forecast")
    axes.legend()
    figure.savefig(Path(folder) / "airline.png")


if __name__ == "__main__":
    main()
