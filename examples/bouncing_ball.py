"""A ball that bounces: a differential equation with events, and the throw that meets a target.

The ball flies through air whose drag grows with the square of the speed,

    dx/dt = v,    dv/dt = -g - c |v| v,

until it meets the floor: `wg.odeint_event` finds when, to rounding, and the ball starts again with
the speed turned about, less what the contact takes. Bounces are the rows of a `wg.scan`, so that a
compiled function has one loop of flights, each of which is a loop of steps. How fast the ball is to
be thrown so that it comes down on a mark with its third bounce is found by Newton's method: the
derivative of that place by the throw goes through all the bounces.
"""

import argparse
from pathlib import Path

import numpy as np

import wengert as wg

GRAVITY, DRAG, KEPT = 9.81, 0.05, 0.85
START = np.array([0.0, 1.5])
MARK = 9.0
BOUNCES = 3


def flight(t, y):
    """Of place (along, up) and velocity."""
    speed = np.sqrt(y[2] ** 2 + y[3] ** 2)
    return [y[2], y[3], -DRAG * speed * y[2], -GRAVITY - DRAG * speed * y[3]]


def height(t, y):
    return y[1]


def thrown(speed, angle=0.6):
    return np.stack([START[0], START[1], speed * np.cos(angle), speed * np.sin(angle)])


def bounces(speed):
    """The times of the contacts with the floor, and the state right after each."""

    def one(state, _):
        t, y = wg.odeint_event(flight, state[1], state[0], height, direction=-1)
        y = np.stack([y[0], 0 * y[1], y[2], -KEPT * y[3]])
        return (t, y), (t, y)

    return wg.scan(one, (np.array(0.0), thrown(speed)), None, length=BOUNCES)[1]


def reach(speed):
    """Where the ball comes down last."""
    return bounces(speed)[1][-1, 0]


def aim(speed):
    """The speed with which it comes down on the mark."""
    both = wg.compile(wg.value_and_grad(reach))
    for _ in range(10):
        place, slope = both(speed)
        print(f"  {speed:.8f} m/s: bounce {BOUNCES} at {place:.8f} m, {slope:.4f} m for each m/s")
        if abs(place - MARK) < 1e-9:
            break
        speed = speed - (place - MARK) / slope
    return speed


def plot(speeds, file):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(9, 3.2), layout="constrained")
    for k, (name, speed) in enumerate(speeds.items()):
        times, states = bounces(speed)
        starts = [(0.0, thrown(speed)), *zip(times, states, strict=True)]
        for (t, y), end in zip(starts, times, strict=False):
            path = wg.odeint(flight, y, np.linspace(t, end, 60))
            ax.plot(path[:, 0], path[:, 1], f"C{k}", label=name if t == 0 else None)
        ax.plot(states[:, 0], 0 * times, "o", color=f"C{k}", markersize=4)
    ax.axhline(0, color="0.4", linewidth=1)
    ax.plot([MARK], [0], "k^", markersize=10, clip_on=False)
    ax.set(xlabel="m", ylabel="m", title="Thrown so that the third bounce is on the mark")
    ax.legend(loc="upper right")
    figure.savefig(file, dpi=110)
    plt.close(figure)
    print(f"drawn in {file}")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="a folder for a picture of the flights")
    args = parser.parse_args(argv)
    first = 5.0
    print("Newton's method for the speed:")
    speed = aim(first)
    times, _ = bounces(speed)
    print(f"thrown with {speed:.6f} m/s it bounces after {np.round(times, 4).tolist()} s")
    h = 1e-5
    quotient = (reach(speed + h) - reach(speed - h)) / (2 * h)
    print(f"derivative by differences: {quotient:.4f}")
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        plot({f"first guess, {first:g} m/s": first, f"{speed:.3f} m/s": speed},
             args.out / "bouncing_ball.png")  # fmt: skip


if __name__ == "__main__":
    main()
