"""The lecture's traces of f(x1, x2) = ln x1 + x1 x2 - sin x2 at (2, 5), and two Jacobians.

Forward mode pushes tangents from the first step to the last: one pass for each argument, a column
of the Jacobian each. Reverse mode pulls adjoints from the last step to the first: one pass for each
result, a row each. `wengert trace "log(x1) + x1*x2 - sin(x2)" x1=2 x2=5` prints the same table.
"""

import argparse

import numpy as np

import wengert as wg


def f(x1, x2):
    return np.log(x1) + x1 * x2 - np.sin(x2)


def both(x):
    """From three numbers to two, for a Jacobian that is not square."""
    return np.stack([np.log(x[0]) + x[0] * x[1] - np.sin(x[1]), x[1] * x[2]])


def traces():
    shown = wg.explain(f, 2.0, 5.0)
    print(shown)
    assert abs(shown.gradient["x1"] - 5.5) < 1e-12
    assert abs(shown.gradient["x2"] - (2 - np.cos(5))) < 1e-12


def column_by_column(x):
    """n forward passes, each with another tangent 1."""
    columns = []
    for k, tangent in enumerate(np.eye(len(x))):
        _, column = wg.jvp(both, (x,), (tangent,))
        columns.append(column)
        print(f"  forward pass {k + 1}, tangent {tangent.astype(int)}: column {column.round(3)}")
    return np.stack(columns, axis=1)


def row_by_row(x):
    """m reverse passes, each with another adjoint 1; the function runs once."""
    y, pull = wg.vjp(both, x)
    rows = []
    for k, adjoint in enumerate(np.eye(len(y))):
        (row,) = pull(adjoint)
        rows.append(row)
        print(f"  reverse pass {k + 1}, adjoint {adjoint.astype(int)}: row {row.round(3)}")
    return np.stack(rows)


def main(argv=None):
    argparse.ArgumentParser(description=__doc__).parse_args(argv)
    traces()
    x = np.array([2.0, 5.0, 3.0])
    print("\nThe Jacobian of (x1, x2, x3) -> (f(x1, x2), x2 x3) at (2, 5, 3):")
    by_columns, by_rows = column_by_column(x), row_by_row(x)
    assert np.allclose(by_columns, by_rows)
    print("  both ways give the same matrix: 3 forward passes, or 2 reverse ones")


if __name__ == "__main__":
    main()
