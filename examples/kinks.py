"""Gradients where there is no derivative: six conventions, tried on one function after another.

A kink, a jump, the edge of a domain: programs meet such points, and something must be the gradient
there. The conventions are those of the reference on autograd, quoted by the blog post on it, in the
order in which they apply:

  1. differentiable at the point: the derivative
  2. convex there: the subgradient of least norm (the direction of steepest descent)
  3. concave there: the supergradient of least norm
  4. defined: by continuity, infinity included; if several values are possible, one of them
  5. not defined: arbitrary, mostly NaN
  6. not a function (it samples): not differentiable, and an error if one tries

Where wengert departs from them, the table says so, and why.
"""

import argparse
import math

import numpy as np

import wengert as wg
import wengert.nn.functional as F

inf, nan = math.inf, math.nan
zero = wg.tensor(0.0)

# (convention, what it is, the function, the point, the gradient it gives, a remark)
TABLE = [
    (1, "sin x", wg.sin, 0.0, 1.0, ""),
    (1, "x |x|", lambda x: x * x.abs(), 0.0, 0.0, "smooth, though |x| is not"),
    (1, "x ** 0", lambda x: x**0, 0.0, 0.0, "constant: not 0 * 0 ** -1 = NaN"),
    (1, "0 ** b", lambda b: zero**b, 2.0, 0.0, "constant for b > 0: not 0 * log 0"),
    (1, "product of x", lambda x: x.prod(), [0.0, 2.0], [2.0, 0.0], "not product / x"),
    (1, "elu x", F.elu, 0.0, 1.0, ""),
    (2, "|x|", wg.abs, 0.0, 0.0, "any of [-1, 1] is a subgradient"),
    (2, "relu x", wg.relu, 0.0, 0.0, "any of [0, 1]"),
    (2, "leaky_relu(x, 0.01)", lambda x: F.leaky_relu(x, 0.01), 0.0, 0.01, "any of [0.01, 1]"),
    (2, "maximum(a, b)", lambda x: wg.maximum(x[0], x[1]), [1.0, 1.0], [0.5, 0.5], "a tie"),
    (2, "largest of x", lambda x: x.amax(), [1.0, 1.0, 0.0], [0.5, 0.5, 0.0], "a tie"),
    (2, "norm of x", lambda x: x.norm(), [0.0, 0.0], [0.0, 0.0], "any vector up to length 1"),
    (
        2,
        "hypot(a, b)",
        lambda x: wg.hypot(x[0], x[1]),
        [0.0, 0.0],
        [0.0, 0.0],
        "any vector up to length 1",
    ),
    (
        2,
        "clamp(x, min=0)",
        lambda x: x.clamp(min=0),
        0.0,
        1.0,
        "departs, as PyTorch: x was kept",
    ),
    (3, "-|x|", lambda x: -x.abs(), 0.0, 0.0, ""),
    (3, "minimum(a, b)", lambda x: wg.minimum(x[0], x[1]), [1.0, 1.0], [0.5, 0.5], "a tie"),
    (3, "smallest of x", lambda x: x.amin(), [1.0, 1.0, 2.0], [0.5, 0.5, 0.0], "a tie"),
    (4, "sqrt x", wg.sqrt, 0.0, inf, ""),
    (4, "x ** (1/3)", lambda x: x ** (1 / 3), 0.0, inf, ""),
    (4, "asin x", wg.asin, 1.0, inf, ""),
    (4, "acos x", wg.acos, 1.0, -inf, ""),
    (4, "log x", wg.log, 0.0, inf, "log 0 is -inf"),
    (4, "sign x", wg.sign, 0.0, 0.0, "0 on both sides"),
    (4, "floor x", wg.floor, 1.0, 0.0, "0 on both sides"),
    (4, "round x", wg.round, 0.5, 0.0, "0 on both sides"),
    (4, "hardshrink(x, 0.5)", lambda x: F.hardshrink(x, 0.5), 0.5, 0.0, "0 or 1: one of them"),
    (5, "sqrt x", wg.sqrt, -1.0, nan, ""),
    (5, "log x", wg.log, -1.0, -1.0, "1 / x, as in PyTorch; the value is NaN"),
    (5, "asin x", wg.asin, 2.0, nan, ""),
    (5, "acosh x", wg.acosh, 0.0, nan, ""),
    (5, "sin x", wg.sin, nan, nan, "NaN goes in, NaN comes out"),
]

SAMPLERS = [
    ("bernoulli(p)", lambda p: wg.bernoulli(p)),
    ("multinomial(p, 1)", lambda p: wg.multinomial(p, 1)),
    ("poisson(p)", lambda p: wg.poisson(p)),
    ("normal(p, 1)", lambda p: wg.normal(p, 1.0)),
    ("rand_like(p)", lambda p: wg.rand_like(p)),
]

TITLES = {
    1: "1. differentiable: the derivative",
    2: "2. convex: the subgradient of least norm",
    3: "3. concave: the supergradient of least norm",
    4: "4. defined: by continuity",
    5: "5. not defined: NaN, or what the formula gives",
    6: "6. samples: not differentiable",
}


def gradient(function, point):
    x = wg.tensor(point, requires_grad=True)
    with np.errstate(all="ignore"):  # NumPy would warn of log 0 and sqrt -1
        function(x).backward()
    return x.grad.tolist()


def same(found, expected):
    """Equality of numbers and lists, where NaN equals NaN, to float32's precision."""
    if isinstance(found, list):
        return all(same(a, b) for a, b in zip(found, expected, strict=True))
    if math.isnan(expected):
        return math.isnan(found)
    return math.isclose(found, expected, rel_tol=1e-6)


def show(value):
    if isinstance(value, list):
        return "(" + ", ".join(show(v) for v in value) + ")"
    return f"{value + 0.0:g}"


def sampling():
    """An error for each, none left out; returns the messages."""
    p = wg.tensor([0.5, 0.5], requires_grad=True)
    messages = {}
    for text, draw in SAMPLERS:
        try:
            draw(p).sum().backward()
        except RuntimeError as error:
            messages[text] = str(error)
            print(f"  {text:20} refused: {str(error).split('. ')[0]}")
    print("  PyTorch gives zeros for bernoulli, poisson and normal, and refuses the others.")
    return messages


def main(argv=None):
    argparse.ArgumentParser(description=__doc__).parse_args(argv)
    wrong = []
    for convention, title in TITLES.items():
        print(title)
        for number, text, function, point, expected, remark in TABLE:
            if number == convention:
                found = gradient(function, point)
                if not same(found, expected):
                    wrong.append(f"{text} at {point}: {found}, expected {expected}")
                print(f"  {text:20} at {show(point):10} gives {show(found):14} {remark}".rstrip())
    assert len(sampling()) == len(SAMPLERS)
    assert not wrong, "\n".join(wrong)


if __name__ == "__main__":
    main()
