"""Outer functions: a plan as C calls it, with no Python around.

An outer function has the parameters that C knows, and for each array of a plan a source: where its
address comes from. From this description follow the machine code (`llvm/outer.py`), the text of a
C header, and the signatures that SciPy asks for (`call/exports.py`, `call/lowlevel.py`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from wengert.compile.plan.plan import Call, Plan, numbered
from wengert.compile.program.operations import check
from wengert.compile.program.program import Statement


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number of this dtype, or the address of some; of nothing in particular if there is none."""

    dtype: np.dtype | None
    address: bool = True


# ---- where addresses come from ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Given:
    """What a parameter is the address of, so many bytes further; a number that is a parameter."""

    parameter: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Data:
    """An array of the module's own: of this name to others, to be read and written, or constant."""

    array: np.ndarray
    name: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """The address that a table of addresses has at an index: a parameter is that table's."""

    parameter: int
    index: int


@dataclass(frozen=True, slots=True)
class Returned:
    """Room for a double, which the function returns."""


Source: TypeAlias = Given | Data | Entry | Returned


@dataclass(frozen=True, slots=True)
class Outer:
    """A function of C. It returns what `returns` says:

    a "status", 0 or what went wrong (see `failures`); whether all went well ("success": 1 or 0); or
    the "number" that is `Returned`, NaN if something went wrong.

    `expected` are the numbers that parameters must have; others are failures.
    """

    name: str
    parameters: tuple[Parameter, ...]
    inputs: tuple[Source, ...]
    outputs: tuple[Source, ...]
    constants: tuple[Source, ...]
    returns: Literal["status", "success", "number"] = "status"
    expected: tuple[tuple[int, int], ...] = ()


def failures(plan: Plan) -> dict[int, Statement]:
    """The statement that a positive status is about: a check, which did not hold.

    The status -1 says that there was no memory, and -2 that an int lies where no code was made for.
    """
    calls = [(n, step.statement) for n, step, _ in numbered(plan) if isinstance(step, Call)]
    return {n + 1: s for n, s in calls if s.function is check}


_WORDS = {"double": np.dtype(float), "int": np.dtype(np.intc), "npy_intp": np.dtype(np.intp)}


def parameters_of(signature: str) -> tuple[Parameter, ...]:
    """The parameters in a signature such as "int (double *, npy_intp, void *)"."""
    inside = re.sub(r".*\(|\)", "", signature)
    words = [word.partition(" ") for word in inside.split(", ")]
    return tuple(Parameter(_WORDS.get(kind), star == "*") for kind, _, star in words)
