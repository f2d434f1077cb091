"""Random programs that train, eagerly and compiled: layers, optimizers, schedules, hooks, modes.

WENGERT_FUZZ_PROGRAMS asks for another number of them, WENGERT_FUZZ_SEED says where their seeds
begin. A failure shows the program.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.chunks import chunks
from tests.compile.random_training import Program, Refused, draw

FIRST = int(os.environ.get("WENGERT_FUZZ_SEED", "0"))
ASKED = os.environ.get("WENGERT_FUZZ_PROGRAMS")
PROGRAMS = chunks(FIRST, int(ASKED or 80), int(ASKED or 20), 5)
TOLERANCE = {"float64": 1e-7, "float32": 2e-3, "autocast": 0.1}


@pytest.mark.parametrize("seeds", PROGRAMS)
def test_compiled_steps_train_as_eager_ones(seeds: range) -> None:
    told = []
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in seeds:
            program = draw(seed)
            trouble = trouble_of(program)
            if trouble:
                told.append(f"seed {seed}: {trouble}\n{program}")
    if told:
        pytest.fail("\n\n".join(told), pytrace=False)


def trouble_of(program: Program) -> str:
    """What is otherwise when the step is compiled, or its network; nothing where it is refused.

    Nothing can be said where another rounding of the first weights leads elsewhere.
    """
    narrow = any("net.float()" in changes for changes in program.between)
    kind = "float32" if narrow else program.dtype
    tolerance = TOLERANCE["autocast" if "autocast" in program.body else kind]
    expected = program.run()
    for compiled in ("compile", "within"):
        try:
            found = program.run(**{compiled: wg.compile})
        except Refused:
            continue
        trouble = difference(found, expected, tolerance)
        if trouble and not any(
            difference(program.run(shaken=k), expected, tolerance / 30) for k in range(4)
        ):
            return f"{compiled}: {trouble}"
    return ""


def difference(found: Any, expected: Any, tolerance: float, where: str = "") -> str:
    """Where two structures of arrays differ."""
    if isinstance(expected, list) and isinstance(found, list) and len(found) == len(expected):
        each = (
            difference(a, b, tolerance, f"{where}[{k}]")
            for k, (a, b) in enumerate(zip(found, expected, strict=True))
        )
        return next(filter(None, each), "")
    if isinstance(expected, np.ndarray) and isinstance(found, np.ndarray):
        alike = found.dtype == expected.dtype and found.shape == expected.shape
        if alike and expected.dtype.kind == "f":
            size = np.abs(expected, where=np.isfinite(expected), out=np.zeros_like(expected))
            within = tolerance * max(1.0, size.max(initial=0))
            alike = np.allclose(found, expected, rtol=tolerance, atol=within, equal_nan=True)
        elif alike:
            alike = np.array_equal(found, expected)
    elif isinstance(expected, float) and isinstance(found, float):
        alike = np.isclose(found, expected, rtol=1e-9, atol=0, equal_nan=True)
    else:
        alike = type(found) is type(expected) and found == expected
    return "" if alike else f"{where}: {found!r} instead of {expected!r}"[:600]
