"""The problems by hand in C: `by_hand.c`, compiled for this machine in the run that times it."""

import ctypes
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.by_hand import OPTIONS, find_compiler

SOURCE = Path(__file__).with_name("by_hand.c")


@cache
def library() -> ctypes.CDLL:
    """ImportError where this machine has no C compiler."""
    compiler = find_compiler()
    if compiler is None:
        raise ImportError("no C compiler is found")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "by_hand.so"
        command = [compiler, *OPTIONS, str(SOURCE), "-o", str(target), "-lm"]
        compiled = subprocess.run(command, capture_output=True, text=True)
        if compiled.returncode:
            raise ImportError(f"{compiler} does not compile {SOURCE.name}: {compiled.stderr}")
        return ctypes.CDLL(str(target))  # the system keeps what is mapped


def call(name: str, *arguments: Any, returns: Any = None) -> Any:
    """A function of the library on integers, floats and arrays; None is a null pointer."""
    function = getattr(library(), name)
    function.restype = returns
    return function(*[_passed(x) for x in arguments])


def value(name: str, *arguments: Any) -> float:
    return call(name, *arguments, returns=ctypes.c_double)


def filled(name: str, *arguments: Any, like: Any) -> np.ndarray:
    """The array of the shape of `like` that a function fills, its last argument."""
    result = np.empty(np.shape(like))
    call(name, *arguments, result)
    return result


def _passed(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        assert x.flags.c_contiguous, "the C code reads arrays row by row"
        return ctypes.c_void_p(x.ctypes.data)
    return ctypes.c_double(x) if isinstance(x, float) else None if x is None else ctypes.c_int64(x)


# ---- the problems, with the arguments of `Problem.prepare` -----------------------------------


def gmm_arguments(alpha, mu, q, l, x, m, gamma):
    k, d = mu.shape
    return d, k, len(x), alpha, mu, q, l, x, float(m), gamma


def gmm_gradient(*arguments):
    alpha, mu, q, l, *_ = arguments
    gradients = tuple(np.empty_like(part) for part in (alpha, mu, q, l))
    call("gmm_gradient", *gmm_arguments(*arguments), *gradients)
    return gradients


def ba_value(cameras, points, weights, features, by, seen):
    errors, weight_errors = np.empty_like(features), np.empty_like(weights)
    arrays = cameras, points, weights, features, by, seen
    call("ba_value", len(weights), *arrays, errors, weight_errors)
    return errors, weight_errors


def ba_jacobian(cameras, points, weights, features, by, seen):
    n, m, p = len(cameras), len(points), len(weights)
    rows, cols, vals = np.empty(3 * p + 1, int), np.empty(31 * p, int), np.empty(31 * p)
    arrays = cameras, points, weights, features, by, seen
    call("ba_jacobian", n, m, p, *arrays, rows, cols, vals)
    return {"rows": rows, "cols": cols, "vals": vals}


def ht(theta, us, hand, corners, points, jacobian=True):
    errors = np.empty(3 * len(points))
    columns = 28 if len(us) else 26
    result = np.empty((len(errors), columns)) if jacobian else None
    call(
        "ht",
        len(hand["base_positions"]),
        len(points),
        theta,
        np.array(hand["parents"]),
        *(
            hand[n]
            for n in ("base_relatives", "inverse_base_absolutes", "base_positions", "weights")
        ),
        int(hand["is_mirrored"]),
        corners,
        us if len(us) else None,
        points,
        errors,
        result,
    )
    return result if jacobian else errors


def lstm_arguments(main, extra, state, sequence):
    return len(main), extra.shape[1], len(sequence), main, extra, state, sequence


def lstm_gradient(main, extra, *others):
    flat = np.empty(main.size + extra.size)
    call("lstm_gradient", *lstm_arguments(main, extra, *others), flat)
    return flat[: main.size].reshape(main.shape), flat[main.size :].reshape(extra.shape)


def kmeans(name, points, centroids):
    return name, len(points), *centroids.shape, points, centroids


MODES = ("ff", "fr", "rf", "rr")

FUNCTIONS: Mapping[str, Mapping[str, Callable[..., Any]]] = {
    "gmm": {
        "objective": lambda *arguments: value("gmm_value", *gmm_arguments(*arguments)),
        "jacobian": gmm_gradient,
    },
    "ba": {"objective": ba_value, "jacobian": ba_jacobian},
    "ht": {"objective": lambda *arguments: ht(*arguments, jacobian=False), "jacobian": ht},
    "lstm": {
        "objective": lambda *arguments: value("lstm_value", *lstm_arguments(*arguments)),
        "jacobian": lstm_gradient,
    },
    "lse": {
        "primal": lambda x: value("lse_value", len(x), x),
        "gradient": lambda x: filled("lse_gradient", len(x), x, like=x),
    },
    "kmeans": {
        "cost": lambda p, c: value(*kmeans("kmeans_cost", p, c)),
        "dir": lambda p, c: filled(*kmeans("kmeans_direction", p, c), like=c),
    },
    "det": {
        "primal": lambda A, ell, columns: value("det_value", ell, A),
        "gradient": lambda A, ell, columns: filled("det_gradient", ell, A, like=A),
    },
    "llsq": {
        "primal": lambda x, n: value("llsq_value", len(x), n, x),
        "gradient": lambda x, n: filled("llsq_gradient", len(x), n, x, like=x),
    },
    "ode": {
        "primal": lambda x, s: filled("ode_value", len(x), s, x, like=x),
        "gradient": lambda x, s: filled("ode_gradient", len(x), s, x, like=x),
    },
    "particle": {mode: lambda w: value("particle", w) for mode in MODES},
    "saddle": {mode: lambda start: filled("saddle", start, like=np.empty(4)) for mode in MODES},
}


def given(name, arguments):
    return arguments


def wait(result):
    return result
