"""Which kinds of change a compiled function does not honour yet, and why: a table that is to empty.

A repair takes lines out: `python -m tests.compile.histories 8000` says which kinds of the table are
honoured by now, and which that are not in it are not.
"""

# ruff: noqa: E501  (a kind is a line)
from __future__ import annotations

from tests.compile.histories.pieces import PLACES

UNGUARDED = "what is read here has no guard"
NUMBERS = "a number that is no plain Python number, or equal to one of another kind, has no guard"
ARRAYS = "an outside array is a constant of the program where its items are read"
HOOKS = "hooks added or removed later are not noticed"
KEPT = "what a function keeps is written while tracing only"
RANDOM = "NumPy's and Python's random numbers are drawn while tracing"
REFUSED = "refused, with the line: to be said in docs/compiler.md, or to be made to work"

UNCHECKED: tuple[str, ...] = ()
"""What is not compared yet."""

# fmt: off
KINDS_AND_PLACES: tuple[tuple[str, str, str], ...] = (
    ("float: replaced", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", UNGUARDED),
    ("float: by an int", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", NUMBERS),
    ("float: by a bool", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", NUMBERS),
    ("float: by np.float64", "everywhere but argument, argument in a tuple, argument in a dict", NUMBERS),
    ("float: by np.float32", "everywhere but argument, argument in a tuple, argument in a dict", NUMBERS),
    ("float: by a 0-d array", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", NUMBERS),
    ("float: by a tensor", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", UNGUARDED),
    ("float: by None", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", UNGUARDED),
    ("float: by a string", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", UNGUARDED),
    ("float: by -0.0", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", NUMBERS),
    ("float: by a tensor that is trained", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", UNGUARDED),
    ("deciding float: replaced", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", UNGUARDED),
    ("deciding float: by np.float64", "everywhere but argument, argument in a tuple, argument in a dict", NUMBERS),
    ("int: replaced", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", UNGUARDED),
    ("int: by a float", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", UNGUARDED),
    ("int: by a bool", "default, object in a module, nested object, slot, class attribute, attribute of an instance's class, imported module, computed dict item, list item, iterated list, iterated dict, helper's default, partial", NUMBERS),
    ("int: by np.int64", "everywhere but argument, argument in a tuple, argument in a dict", NUMBERS),
    ("int as a size: replaced", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", UNGUARDED),
    ("int as a size: by np.int64", "everywhere but argument, argument in a tuple, argument in a dict", NUMBERS),
    ("bool: replaced", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", UNGUARDED),
    ("bool: by an int", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", NUMBERS),
    ("bool: by np.bool_", "everywhere but argument, argument in a tuple, argument in a dict", NUMBERS),
    ("bool: by a list", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", UNGUARDED),
    ("str: replaced", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", UNGUARDED),
    ("None: replaced", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", UNGUARDED),
    ("None: by a tensor", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", UNGUARDED),
    ("np.float64: replaced", "everywhere but argument, argument in a tuple, argument in a dict", NUMBERS),
    ("np.float64: by a float", "everywhere but argument, argument in a tuple, argument in a dict", NUMBERS),
    ("np.float32: replaced", "everywhere but argument, argument in a tuple, argument in a dict", NUMBERS),
    ("np.int64: replaced", "everywhere but argument, argument in a tuple, argument in a dict", NUMBERS),
    ("np.int64: by an int", "everywhere but argument, argument in a tuple, argument in a dict", NUMBERS),
    ("np.bool_: replaced", "everywhere but argument, argument in a tuple, argument in a dict", NUMBERS),
    ("Fraction: replaced", "everywhere but argument, argument in a tuple, argument in a dict", NUMBERS),
    ("Enum: replaced", "everywhere but argument, argument in a tuple, argument in a dict", NUMBERS),
    ("dtype: replaced", "everywhere but argument, argument in a tuple, argument in a dict", NUMBERS),
    ("tuple of numbers: replaced", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", UNGUARDED),
    ("tuple of numbers: by equal floats", "everywhere but argument, argument in a tuple, argument in a dict", NUMBERS),
    ("function: replaced", "everywhere but argument, argument in a tuple, argument in a dict, attribute of an instance's class", UNGUARDED),
    ("function: by a lambda", "everywhere but argument, argument in a tuple, argument in a dict, attribute of an instance's class", UNGUARDED),
    ("function of the user: replaced", "everywhere but argument, argument in a tuple, argument in a dict, attribute of an instance's class", UNGUARDED),
    ("function of the user: code replaced", "everywhere but attribute of an instance's class", UNGUARDED),
    ("tensor: replaced", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", UNGUARDED),
    ("tensor: of another shape", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", UNGUARDED),
    ("tensor: of another dtype", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", UNGUARDED),
    ("tensor: by a number", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", UNGUARDED),
    ("tensor: by a view", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", UNGUARDED),
    ("tensor: by a parameter", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", UNGUARDED),
    ("tensor: by an expanded one", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", UNGUARDED),
    ("parameter: hook added", "everywhere", HOOKS),
    ("parameter: replaced", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", UNGUARDED),
    ("parameter that is written: replaced", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", UNGUARDED),
    ("tensor that is written: replaced", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", UNGUARDED),
    ("tensor that is written: of another dtype", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", UNGUARDED),
    ("tensor that is written: by a view", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", UNGUARDED),
    ("array: replaced", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", ARRAYS),
    ("array: of another shape", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", ARRAYS),
    ("array: of another dtype", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", ARRAYS),
    ("array's item: replaced", "everywhere but global, cell, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", ARRAYS),
    ("array's item: written", "everywhere", ARRAYS),
    ("array's item: item written", "everywhere", ARRAYS),
    ("array's item: of another shape", "everywhere but global, cell, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", ARRAYS),
    ("array's item: of another dtype", "everywhere but global, cell, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", ARRAYS),
    ("array's sum: replaced", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", ARRAYS),
    ("array's sum: written", "everywhere but argument, argument in a tuple, argument in a dict", ARRAYS),
    ("array's sum: item written", "everywhere but argument, argument in a tuple, argument in a dict", ARRAYS),
    ("array's sum: of another shape", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", ARRAYS),
    ("array's sum: of another dtype", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", ARRAYS),
    ("array in a tensor: replaced", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", ARRAYS),
    ("array in a tensor: written", "everywhere but argument, argument in a tuple, argument in a dict", ARRAYS),
    ("array in a tensor: item written", "everywhere but argument, argument in a tuple, argument in a dict", ARRAYS),
    ("array in a tensor: of another shape", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", ARRAYS),
    ("array in a tensor: of another dtype", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", ARRAYS),
    ("list: replaced", "everywhere but argument, argument in a tuple, argument in a dict", UNGUARDED),
    ("list: item set", "everywhere but argument, argument in a tuple, argument in a dict", UNGUARDED),
    ("list: appended", "everywhere but argument, argument in a tuple, argument in a dict", UNGUARDED),
    ("list: popped", "everywhere but argument, argument in a tuple, argument in a dict", UNGUARDED),
    ("list: emptied", "everywhere but argument, argument in a tuple, argument in a dict", UNGUARDED),
    ("walked list: replaced", "everywhere but argument, argument in a tuple, argument in a dict", UNGUARDED),
    ("walked list: item set", "everywhere but argument, argument in a tuple, argument in a dict", UNGUARDED),
    ("walked list: appended", "everywhere but argument, argument in a tuple, argument in a dict", UNGUARDED),
    ("list of tensors: replaced", "everywhere but argument, argument in a tuple, argument in a dict", UNGUARDED),
    ("list of tensors: item set", "everywhere but argument, argument in a tuple, argument in a dict", UNGUARDED),
    ("list of tensors: appended", "everywhere but argument, argument in a tuple, argument in a dict", UNGUARDED),
    ("dict: replaced", "everywhere but argument, argument in a tuple, argument in a dict", UNGUARDED),
    ("dict: item set", "everywhere but global, cell, argument, argument in a tuple, argument in a dict", UNGUARDED),
    ("walked dict: item set", "everywhere but argument, argument in a tuple, argument in a dict", UNGUARDED),
    ("walked dict: item added", "everywhere but argument, argument in a tuple, argument in a dict", UNGUARDED),
    ("walked dict: emptied", "everywhere but argument, argument in a tuple, argument in a dict", UNGUARDED),
    ("dict of tensors: item set", "everywhere but global, cell, argument, argument in a tuple, argument in a dict", UNGUARDED),
    ("set: replaced", "everywhere but argument, argument in a tuple, argument in a dict", UNGUARDED),
    ("set: added", "everywhere", UNGUARDED),
    ("object: replaced", "everywhere but argument, argument in a tuple, argument in a dict", UNGUARDED),
    ("object: attribute set", "everywhere but global, cell", UNGUARDED),
    ("object with a tensor: replaced", "everywhere but argument, argument in a tuple, argument in a dict", UNGUARDED),
    ("object with a tensor: attribute set", "everywhere but global, cell", UNGUARDED),
    ("module: replaced", "everywhere but global, cell, argument, argument in a tuple, argument in a dict, module attribute, nested module attribute, object, dict item, dict item by get, helper's global, property, getattr", UNGUARDED),
    ("module: hook added", "everywhere", HOOKS),
    ("module: forward replaced", "everywhere", UNGUARDED),
    ("module: class replaced", "everywhere but argument, argument in a tuple, argument in a dict", UNGUARDED),
    ("list of modules: one replaced", "everywhere but argument, argument in a tuple, argument in a dict", UNGUARDED),
    ("list of modules: one appended", "everywhere but argument, argument in a tuple, argument in a dict", UNGUARDED),
    ("list of modules: one popped", "everywhere but argument, argument in a tuple, argument in a dict", UNGUARDED),
    ("list of modules: reversed", "everywhere but argument, argument in a tuple, argument in a dict", UNGUARDED),
    ("ModuleList: one appended", "everywhere", UNGUARDED),
    ("Sequential: one appended", "everywhere", UNGUARDED),
    # Of pieces that have one place only.
    ("training: SGD: tensor hook added", "", HOOKS),
    ("training: SGD: post-accumulate hook added", "", HOOKS),
    ("training: SGD: forward hook added", "", HOOKS),
    ("training: SGD: step hook added", "", HOOKS),
    ("training: momentum: tensor hook added", "", HOOKS),
    ("training: momentum: post-accumulate hook added", "", HOOKS),
    ("training: momentum: forward hook added", "", HOOKS),
    ("training: momentum: step hook added", "", HOOKS),
    ("training: Adam: tensor hook added", "", HOOKS),
    ("training: Adam: post-accumulate hook added", "", HOOKS),
    ("training: Adam: forward hook added", "", HOOKS),
    ("training: Adam: step hook added", "", HOOKS),
    ("kept: a count in a module: kept", "", KEPT),
    ("kept: a tensor in a module: kept", "", KEPT),
    ("kept: a buffer assigned: kept", "", KEPT),
    ("kept: a tensor in an object: kept", "", KEPT),
    ("kept: a tensor in a dict: kept", "", KEPT),
    ("kept: a count in a dict: kept", "", KEPT),
    ("kept: a list appended to: kept", "", KEPT),
    ("kept: a global tensor: kept", "", KEPT),
    ("kept: a global count: kept", "", KEPT),
    ("kept: a nonlocal count: kept", "", KEPT),
    ("kept: a nonlocal tensor: kept", "", KEPT),
    ("kept: a last value: kept", "", KEPT),
    ("kept: an array written: kept", "", KEPT),
    ("kept: a class's count: kept", "", KEPT),
    ("kept: an iterator: kept", "", KEPT),
    ("random: np.random: drawn", "", RANDOM),
    ("random: np.random: reseeded", "", RANDOM),
    ("random: np.random: state set", "", RANDOM),
    ("random: np.random: generator reseeded", "", RANDOM),
    ("random: np.random: drawn from", "", RANDOM),
    ("random: default_rng: drawn", "", RANDOM),
    ("random: default_rng: reseeded", "", RANDOM),
    ("random: default_rng: state set", "", RANDOM),
    ("random: default_rng: generator reseeded", "", RANDOM),
    ("random: default_rng: drawn from", "", RANDOM),
    ("random: random: drawn", "", RANDOM),
    ("random: random: reseeded", "", RANDOM),
    ("random: random: state set", "", RANDOM),
    ("random: random: generator reseeded", "", RANDOM),
    ("random: random: drawn from", "", RANDOM),
)
# fmt: on


def _kinds() -> dict[str, str]:
    found = {}
    for kind, where, why in KINDS_AND_PLACES:
        if not where:
            found[kind] = why
            continue
        first, _, rest = where.partition("everywhere")
        named = [p for p in (rest.removeprefix(" but ") or first).split(", ") if p]
        places = named if first else [p for p in PLACES if p not in named]
        found |= {f"{place}: {kind}": why for place in places}
    return found


NOT_YET = _kinds()


def cause(kind: str) -> str | None:
    """Why a kind of change is not honoured yet, if it is not."""
    return NOT_YET.get(kind)
