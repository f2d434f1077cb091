"""What NumPy warns of and PyTorch does not: infinities and NaNs speak for themselves."""

from __future__ import annotations

import subprocess
import sys

BEFORE = """
import numpy as np
import wengert as wg
zero, one, inf = wg.zeros(2, requires_grad=True), wg.ones(2), wg.full((2, 2), float("inf"))
"""
SILENT = {
    "a logarithm": "zero.log().sum().backward()",
    "NumPy's name of it": "np.log(zero)",
    "a quotient": "zero / zero, one / 0, 1 / zero, one // 0, wg.fmod(one, 0)",
    "roots": "wg.sqrt(-one), (-one) ** 0.5, one.atanh(), (2 * one).acos()",
    "overflows": "(1000 * one).exp(), (1e6 * one).half(), (1e6 * one).half().var()",
    "differences": "inf - inf, inf @ wg.zeros(2, 2), inf * 0, wg.softmax(-inf, 0)",
    "in place": "one.div_(0).sub_(one)",
    "casts": "inf.int(), (inf - inf).long()",
    "losses": "wg.nn.functional.cross_entropy(-inf, wg.tensor([0, 1]))",
}


def test_infinities_and_nans_are_made_in_silence():
    # Training logs were full of "divide by zero encountered in log".
    code = BEFORE + "\n".join(SILENT.values())
    said = subprocess.run([sys.executable, "-W", "always", "-c", code], capture_output=True)
    assert said.stderr == b"", said.stderr.decode()


def test_numpys_own_arrays_are_warned_of_as_before():
    code = f"{BEFORE}np.log(np.zeros(2))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "divide by zero encountered in log" in said.stderr
