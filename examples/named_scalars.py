"""A home-grown autodiff of named scalars, whose expressions print.

A `Var` is a number with a name; arithmetic on Vars makes Vars that know their inputs and the
derivative by each. `backprop` then carries derivatives from a result back to the names it was made
of. It solves the exponent problem of the blog post on reverse-mode autodiff, after the post's own
small checks.

Where this differs from the post's program. The post walks back along every *path*, so what several
others share is walked again for each of them, which takes exponential time where sharing repeats;
here a Var waits until all its users have spoken, and is handled once. The post's `__pow__` prints
as "-", and its names have no parentheses: (a+b)*c prints as a+b*c. And it writes each name out at
once, which doubles its length wherever a value is used twice; here an expression is spelled only
when printed.
"""

import argparse
import math
import random
from pathlib import Path
from typing import Any

SUM, PRODUCT, POWER, ATOM = range(4)  # how tightly the last operation of an expression binds


class Var:
    def __init__(self, name, value, inputs=(), binds=ATOM, constant=False):
        self.name = name  # a text, or for a result a function that spells it
        self.value = value
        self.inputs = inputs  # pairs (Var, derivative of this Var by that one)
        self.binds = binds
        self.constant = constant
        self.grad: Any = None

    def __str__(self):
        return self.name if isinstance(self.name, str) else self.name()

    def within(self, binds):
        """This expression as an operand of an operation that binds so tightly."""
        return str(self) if self.binds >= binds else f"({self})"

    def __add__(a, b):
        spell = lambda: f"{a.within(SUM)} + {b.within(SUM)}"
        return Var(spell, a.value + b.value, [(a, 1.0), (b, 1.0)], SUM)

    def __sub__(a, b):
        spell = lambda: f"{a.within(SUM)} - {b.within(PRODUCT)}"
        return Var(spell, a.value - b.value, [(a, 1.0), (b, -1.0)], SUM)

    def __mul__(a, b):
        spell = lambda: f"{a.within(PRODUCT)} * {b.within(PRODUCT)}"
        return Var(spell, a.value * b.value, [(a, b.value), (b, a.value)], PRODUCT)

    def __pow__(a, b):
        spell = lambda: f"{a.within(ATOM)} ** {b.within(POWER)}"
        power = a.value**b.value
        by_base = b.value * a.value ** (b.value - 1)
        by_exponent = power * math.log(a.value) if a.value > 0 else math.nan
        return Var(spell, power, [(a, by_base), (b, by_exponent)], POWER)


def constant(name, value):
    return Var(name, value, constant=True)


def sin(a):
    return Var(lambda: f"sin({a})", math.sin(a.value), [(a, math.cos(a.value))])


def sqrt(a):
    root = math.sqrt(a.value)
    return Var(lambda: f"sqrt({a})", root, [(a, 0.5 / root if root else math.inf)])


def backprop(result):
    """Add d(result)/d(leaf) to the `grad` of every leaf; returns how many Vars were handled."""
    waiting = count_uses(result)
    arrived = {result: 1.0}
    ready, handled = [result], 0
    while ready:
        var = ready.pop()
        handled += 1
        derivative = arrived.pop(var)
        if not var.inputs:
            var.grad = derivative if var.grad is None else var.grad + derivative
        for used, slope in var.inputs:
            if used.constant:
                continue
            arrived[used] = arrived.get(used, 0.0) + derivative * slope
            waiting[used] -= 1
            if not waiting[used]:
                ready.append(used)
    return handled


def count_uses(result):
    """How often each Var below `result` is an input of another."""
    uses, stack = {}, [result]
    while stack:
        for used, _ in stack.pop().inputs:
            if used not in uses:
                uses[used] = 0
                stack.append(used)
            uses[used] += 1
    return uses


def backprop_by_paths(result):
    """The post's way: every path from the result to a leaf is walked separately."""
    stack, handled = [(result, 1.0)], 0
    while stack:
        var, derivative = stack.pop()
        handled += 1
        if not var.inputs and not var.constant:
            var.grad = derivative if var.grad is None else var.grad + derivative
        stack += [(used, derivative * slope) for used, slope in var.inputs]
    return handled


def checks():
    """The post's examples: expressions, their values and derivatives."""
    x1, x2 = Var("x1", 0.5), Var("x2", 4.2)
    x, t, r = Var("x", 3.0), Var("theta", 4.0), Var("r", 4.0)
    one, two, three = constant("1", 1.0), constant("2", 2.0), constant("3", 3.0)
    y, y_hat = constant("y", 2.828), Var("y_hat", 2.3)
    cases = [
        (x1 * x2 + sin(x1), {x1: 4.2 + math.cos(0.5), x2: 0.5}),
        (x * x * x + x * x + one, {x: 33.0}),
        (three**t, {t: 81 * math.log(3)}),
        (sqrt(r), {r: 0.25}),
        (sqrt((y - y_hat) ** two), {y_hat: -1.0}),
    ]
    print("Expressions and their derivatives:")
    for result, expected in cases:
        backprop(result)
        found = ", ".join(f"d/d{var} = {var.grad:.6g}" for var in expected)
        assert all(math.isclose(var.grad, value) for var, value in expected.items())
        for var in expected:
            var.grad = None
        print(f"  {result!s:28} = {result.value:<9.6g} {found}")


def fan_out(sizes=(1, 2, 4, 8, 16)):
    """y = y * y, n times over: every value is used twice. Returns the counts."""
    print("Vars handled on the way back from y = y * y, repeated:")
    print(f"  {'n':>3} {'once each':>10} {'by paths':>10}")
    counts = {}
    for n in sizes:
        x = Var("x", 1.0 + 1e-5)
        y = x
        for _ in range(n):
            y = y * y
        once = backprop(y)
        derivative, x.grad = x.grad, None
        by_paths = backprop_by_paths(y)
        assert math.isclose(derivative, x.grad, rel_tol=1e-9)
        counts[n] = (once, by_paths)
        print(f"  {n:3d} {once:10d} {by_paths:10d}")
    return counts


def loss_of(x, y, theta):
    two = constant("2", 2.0)
    return sqrt((constant("y", y) - constant("x", x) ** theta) ** two)


def slope_by_hand(x, y, theta):
    residual = x**theta - y
    return math.copysign(1.0, residual) * math.log(x) * x**theta


def descend(samples, theta=4.0, lr=5e-6, epochs=2000, rng=None):
    """Stochastic gradient descent; returns the losses, the thetas, the worst error of a slope."""
    losses, thetas, worst = [], [], 0.0
    for _ in range(epochs):
        if rng:
            samples = rng.sample(samples, len(samples))
        for x, y in samples:
            guess = Var("theta", theta)
            loss = loss_of(x, y, guess)
            if loss.value == 0:
                continue  # a perfect fit: sqrt(0²) has a kink there, and 0 is its slope
            backprop(loss)
            by_hand = slope_by_hand(x, y, theta)
            worst = max(worst, abs(guess.grad - by_hand) / abs(by_hand))
            losses.append(loss.value)
            thetas.append(theta)
            theta -= lr * guess.grad
    return losses, thetas, worst


def plot(losses, thetas, file):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    left.semilogy(losses, linewidth=0.5)
    left.set(title="loss of the sample", xlabel="step")
    right.plot(thetas)
    right.set(title="exponent θ", xlabel="step")
    figure.savefig(file, dpi=120)
    plt.close(figure)
    print(f"  drawn in {file}")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=2000)
    parser.add_argument("--out", type=Path, help="a folder for the plots of loss and theta")
    args = parser.parse_args(argv)
    checks()
    print()
    fan_out()
    print()

    rng = random.Random(0)
    samples = [(x, x**1.5) for x in (10 * rng.random() for _ in range(10))]
    print(f"The exponent estimator: {loss_of(*samples[0], Var('theta', 4.0))}")
    losses, thetas, worst = descend(samples, epochs=args.epochs, rng=rng)
    print(f"  theta: {thetas[0]} -> {thetas[-1]:.6f} in {len(thetas)} steps (true: 1.5)")
    print(f"  slopes agree with those by hand to {worst:.0e}")
    assert worst < 1e-12
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        plot(losses, thetas, args.out / "exponent_named_scalars.png")


if __name__ == "__main__":
    main()
