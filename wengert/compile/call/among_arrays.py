"""Calls by code for arrays that is being differentiated, as in `wg.grad(compiled)(array)`.

Such code may overwrite what was saved, which is then copied first (`transforms/run.py`). A node
that machine code makes saves the arguments. So it is given stand-ins, whose arrays can be exchanged
for copies; and a function that does something to its arguments themselves runs eagerly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from wengert.autograd.graph import SavedCopies
from wengert.compile.trace.arguments import flatten, rebuild
from wengert.compile.trace.results import leaves_of, tensors_in
from wengert.compile.trace.world.places import Output
from wengert.errors import StateError, TracingError
from wengert.history import modes
from wengert.tensor import Tensor, current_node, suited

STANDS_IN = modes.NUMPY
"""The mode of a call whose arguments are stand-ins."""


class Declined(Exception):
    """Only the function itself does what this call is to do."""


def decline(*args: Any, **kwargs: Any) -> Any:
    raise Declined


def is_apart(captured: Any) -> bool:
    """Whether a call neither writes anything, nor returns what it was given or a part of it."""
    writes = captured.written or captured.writes or captured.effects or captured.program.updates
    return not writes and all(type(leaf) is Output for leaf in leaves_of(captured.result))


def stands_in(state: modes.State) -> bool:
    """Whether arguments can be stand-ins: there is nothing else that is unusual."""
    return state._replace(clone_saved=None) == STANDS_IN


def called(run: Callable[..., Any], state: modes.State, args: Any, kwargs: Any) -> Any:
    """The result of `run` in that state; Declined if it has to be the function's own."""
    flat: list[Any] = []
    structure = flatten((args, kwargs), flat)
    args, kwargs = rebuild(structure, [_stand_in(x, state.clone_saved) for x in flat])
    modes.enter(STANDS_IN)
    try:
        result = run(*args, **kwargs)
    except (TracingError, StateError):
        raise Declined from None
    finally:
        modes.enter(state)
    for tensor in [result] if isinstance(result, Tensor) else tensors_in(result):
        suited(tensor)
    return result


def _stand_in(x: Any, copies: Any) -> Any:
    if not isinstance(x, Tensor):
        return x
    kept = copies.keep(x)
    kept._node = current_node(x)
    return kept


@contextmanager
def saving_copies() -> Iterator[None]:
    """While a function is traced that was given stand-ins: as where it is differentiated."""
    before = modes.current()
    if before is STANDS_IN:
        modes.enter(SavedCopies.of_arrays(before))
    try:
        yield
    finally:
        modes.enter(before)
