"""What a trace leaves: a program, what it depends on, and what becomes of its outputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from wengert.compile.program.program import Program, Value
from wengert.compile.trace.parts import Part
from wengert.compile.trace.results import leaves_of
from wengert.compile.trace.world.places import (
    Did,
    Gradient,
    Guard,
    Known,
    Output,
    Place,
    Put,
    Recorded,
    Write,
    history_of,
    key_of,
    owners,
)
from wengert.errors import WengertError
from wengert.tensor import Tensor


@dataclass
class Joint:
    """What the trace of a function says of its derivative.

    `slots` are the leaves of the result that are differentiable, `leaves` tells by what, if by
    anything outside; the program has one input more per slot, its cotangent, and its last outputs
    are the gradients.
    """

    slots: list[Any]
    leaves: list[Place]
    cotangents: list[Value]
    freed: list[int]
    """Which slots a sweep from each of them makes unusable, a bit for each, as it does in the
    function's own history: those that need something which it frees."""
    reached: list[int]
    """From which slots a sweep comes to each of the leaves, a bit for each."""

    @property
    def frees(self) -> bool:
        """Whether any sweep makes all slots unusable."""
        return all(mask == (1 << len(self.slots)) - 1 for mask in self.freed)


@dataclass
class Captured:
    """The program of one call, and how to use it again."""

    program: Program
    places: dict[Value, Place]
    """Where each of the program's inputs is found."""
    result: Any
    """Containers as in the function's result, around `Output`, `Argument` and other objects."""
    joint: Joint | None = None
    refusal: WengertError | None = None
    """Why its results have no derivative: it has gone through their history itself, say."""
    guards: list[Guard] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    """Gradients, and the arrays of tensors that the function made and that outlive it."""
    written: list[tuple[Place, int]] = field(default_factory=list)
    """The tensors whose versions go up at each call, and by how much."""
    known: list[Tensor] = field(default_factory=list)
    """The tensors from outside whose history was looked at."""
    shared: list[tuple[Place, Place]] = field(default_factory=list)
    """Tensors from outside of which the second lies where the first does."""
    effects: list[Put | Did] = field(default_factory=list)
    """What the function wrote into the world, in order."""
    identifies: bool = False
    """Whether it counts which objects the containers among the arguments are."""
    supposed: Program = field(default_factory=Program)
    """What numbers are supposed to decide: the program begins with it."""
    begun: list[tuple[Any, Any]] = field(default_factory=list)
    """Where state is kept that was made in the trace."""
    longest: int = 0
    """How many iterations the longest loop has."""
    kinds: int = 0
    """How many kinds of blocks it is cut into."""

    def replaced(self) -> set[Value]:
        """What the program reads where the call puts something else: gradients that it sets."""
        written = {key_of(write.place) for write in self.writes}
        return {value for value, place in self.places.items() if key_of(place) in written}

    def whole(self) -> Any:
        """All that a call makes: its result, with what it writes into the world if it does."""
        written = [effect.value for effect in self.effects]
        return [self.result, *written] if written else self.result

    def outside(self) -> set[int]:
        """The ids of what is known outside, if it must be no container among the arguments."""
        if not self.identifies:
            return set()
        places = [
            *(g.place for g in self.guards),
            *(e.place for e in self.effects if type(e) is Put),
        ]
        known = [g.object for g in self.guards] + [x for p in places for x in owners(p)]
        return {*map(id, known), *(id(e.container) for e in self.effects if type(e) is Did)}

    def bases(self) -> list[Place]:
        """In what a call finds some of its results lie."""
        bases: dict[Any, None] = {}
        for leaf in leaves_of(self.whole()):
            *_, base = leaf.chain() if type(leaf) is Part else (leaf,)
            if type(leaf) is Part and type(base) is not Output:
                bases[base] = None
        return list(bases)

    def flags(self) -> list[Guard]:
        """That tensors from outside, which the program reads or the function has asked for their
        history, are recorded as they are now.
        """
        places = [place for value, place in self.places.items() if value in self.program.inputs]
        places += [second for _, second in self.shared]
        owners = [p.tensor if isinstance(p, Gradient) else p for p in places]
        known = {id(p.object): p.object for p in owners if isinstance(p, Known)}
        known |= {id(x): x for x in self.known}
        tensors = [x for x in known.values() if isinstance(x, Tensor)]
        return [Guard(Recorded(Known(x)), history_of(x)) for x in tensors]
