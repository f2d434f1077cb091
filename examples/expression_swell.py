"""Symbolic differentiation, and how its expressions swell.

The lecture repeats the logistic map l_{n+1} = 4 l_n (1 - l_n), l_1 = x, and writes down l_n and its
derivative for n = 1 to 4: as the product rule gives it, and simplified. Here both are made by
running the step on symbols. The lecture writes l_n in factors before it differentiates; so does
the first table. The second counts operations, and goes on: written out, a derivative more than
doubles with each step, while automatic differentiation does the same work at each.

The derivatives come from the same table of rules that differentiates programs on numbers.
"""

import argparse
from pathlib import Path

import sympy

from wengert.symbolic import Formula, formula, swell

LECTURE = {
    1: "1",
    2: "4 - 8*x",
    3: "16*(1 - 10*x + 24*x**2 - 16*x**3)",
    4: "64*(1 - 42*x + 504*x**2 - 2640*x**3 + 7040*x**4 - 9984*x**5 + 7168*x**6 - 2048*x**7)",
}
"""d/dx l_n in the lecture's simplified form."""

FACTORED = {
    1: lambda x: x,
    2: lambda x: 4 * x * (1 - x),
    3: lambda x: 16 * x * (1 - x) * (1 - 2 * x) ** 2,
    4: lambda x: 64 * x * (1 - x) * (1 - 2 * x) ** 2 * (1 - 8 * x + 8 * x**2) ** 2,
}
"""l_n in factors, as the lecture has it."""


def step(l):
    return 4 * l * (1 - l)


def the_lectures_table(rows):
    """l_n, its derivative by the product rule, and simplified: equal to the lecture's."""
    x = sympy.Symbol("x", real=True)
    for row in rows[: len(LECTURE)]:
        factored: Formula = formula(FACTORED[row.n])
        print(f"n = {row.n}")
        print(f"  l_n              {factored}")
        print(f"  by product rule  {factored.derivative()}")
        print(f"  simplified       {row.simplified}")
        expected = sympy.parse_expr(LECTURE[row.n], {"x": x})
        for found in (row.derivative.sympy(), factored.derivative().sympy(), row.simplified):
            assert sympy.expand(found - expected) == 0, (row.n, found)


def the_sizes(rows):
    print("\noperations in")
    print(
        f"{'n':>3} {'l_n':>9} {'derivative':>11} {'simplified':>11} {'parts shared':>13} "
        f"{'forward mode':>13}"
    )
    for row in rows:
        simplified = "" if row.simplified_size is None else row.simplified_size
        print(
            f"{row.n:3} {row.size:9} {row.derivative_size:11} {simplified:>11} "
            f"{row.shared_size:13} {row.forward_mode:13}"
        )
    print(
        "Written out, the derivative's formula grows without bound; with common parts computed "
        "once\nit is what automatic differentiation computes: so many operations more per step."
    )


def plot(rows, file):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    n = [row.n for row in rows[1:]]
    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    for label, style, sizes in (
        ("the derivative, written out", "C3o-", [row.derivative_size for row in rows[1:]]),
        ("the function, written out", "C1o-", [row.size for row in rows[1:]]),
        ("the derivative, common parts once", "C0o-", [row.shared_size for row in rows[1:]]),
        ("forward mode", "C2s--", [row.forward_mode for row in rows[1:]]),
    ):
        axes.semilogy(n, sizes, style, ms=5, label=label)
        down = -12 if label == "forward mode" else -1  # it ends close below another
        axes.annotate(f"{sizes[-1]:,}", (n[-1], sizes[-1]), (6, down), textcoords="offset points")
    axes.set(xlabel="steps of the logistic map", ylabel="operations", xlim=(1.8, n[-1] + 0.9))
    axes.set_title("How a derivative's formula swells, and the work stays")
    axes.legend(loc="upper left")
    axes.grid(alpha=0.3)
    figure.savefig(file, dpi=110)
    plt.close(figure)
    print(f"drawn in {file}")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=12, help="how far the table goes (12)")
    parser.add_argument("--out", type=Path, help="a folder for a picture of the sizes")
    options = parser.parse_args(argv)
    rows = swell(step, options.steps, simplify=5)
    the_lectures_table(rows)
    the_sizes(rows)
    third = formula(lambda x1, x2: x1 * x2 + (x1 / x2) ** 2)
    print(f"\nA formula of two variables, f = {third}, and in LaTeX {third.latex()}")
    for name, derivative in third.gradient().items():
        print(f"  df/d{name} = {derivative}")
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        plot(rows, options.out / "expression_swell.png")


if __name__ == "__main__":
    main()
