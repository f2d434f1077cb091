"""What a captured program depends on: what it reads at each call, and what must be as it was.

A `Captured` is a program with its sources, its guards and the structure of its result.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from wengert.compile.program.program import Program, Value
from wengert.compile.trace import watch
from wengert.tensor import Tensor

# ---- what a program reads at each call --------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Argument:
    """The array of the argument at this place among the flattened ones, or its number."""

    place: int


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """The array that a tensor holds at the time."""

    tensor: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Gradient:
    """The array of a tensor's gradient at the time."""

    tensor: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Outside:
    """An array that the function found in its surroundings: this very one."""

    array: Any


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """A number in a dictionary, such as a learning rate."""

    mapping: dict[str, Any]
    key: str


@dataclass(frozen=True, slots=True)
class Cotangent:
    """The cotangent of a differentiable result, which arrives in the backward pass."""

    slot: int


@dataclass(frozen=True, slots=True)
class ArgumentGradient:
    """The array of the gradient of the argument at this place at the time."""

    place: int


Source = Argument | Held | Gradient | ArgumentGradient | Outside | Item | Cotangent


# ---- what must be as it was for a program to be used again --------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class ItemIs:
    """A dictionary has this object under this key: a global, an attribute, a setting."""

    mapping: dict[str, Any]
    key: str
    value: Any

    def holds(self) -> bool:
        now = self.mapping.get(self.key, _ABSENT)
        return now is self.value or _same(now, self.value)

    def __str__(self) -> str:
        now = self.mapping.get(self.key, "nothing")
        return f"{self.key} was {_shown(self.value)} and is {_shown(now)}"


@dataclass(frozen=True, slots=True, eq=False)
class CellIs:
    """A closure's cell contains this object."""

    cell: Any
    value: Any

    def holds(self) -> bool:
        try:
            now = self.cell.cell_contents
        except ValueError:
            return False
        return now is self.value or _same(now, self.value)

    def __str__(self) -> str:
        return f"a variable of an enclosing function was {_shown(self.value)}"


@dataclass(frozen=True, slots=True, eq=False)
class HasGradient:
    """A tensor has a gradient, or has none."""

    tensor: Tensor
    has: bool

    def holds(self) -> bool:
        return (self.tensor._grad is not None) is self.has

    def __str__(self) -> str:
        return (
            f"a tensor of shape {list(self.tensor.shape)} had {'a' if self.has else 'no'} gradient"
        )


Guard = ItemIs | CellIs | HasGradient
_ABSENT = object()


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and type(a) in watch.PLAIN and bool(a == b)


def _shown(x: Any) -> str:
    return repr(x) if type(x) in watch.PLAIN else f"an object of class {type(x).__name__}"


@dataclass
class Captured:
    """The program of one call, and how to use it again."""

    program: Program
    sources: dict[Value, Source]
    result: Any  # a structure of Output and plain objects
    joint: Any = None  # of the derivative, if there is one
    guards: list[Guard] = field(default_factory=list)
    gradients: list[tuple[Tensor | Argument, int | None]] = field(default_factory=list)
    """Tensors whose gradient becomes an output of the program, or None."""
    leaked: list[tuple[Tensor, int]] = field(default_factory=list)
    """Tensors made by the function that outlive it: they receive an output after each call."""
    written: list[Tensor] = field(default_factory=list)
    made: list[tuple[Any, Any]] = field(default_factory=list)
    """Where state is kept that was made in the trace."""


@dataclass(frozen=True, slots=True)
class Output:
    """In a result's structure: this output of the program, as a tensor or a plain array."""

    number: int
    tensor: bool
    requires_grad: bool = False
    leaf: bool = False  # made by the function to differentiate by
    weak: bool = False  # a Python number
    scalar: bool = False  # one of NumPy's


@dataclass(frozen=True, slots=True)
class Given:
    """In a result's structure: the argument at this place itself."""

    place: int
