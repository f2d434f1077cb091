"""How a vmap and the history get along: into a level and out of it, recorded.

Tensors inside a vmap carry batched arrays, and the engine runs on those as on any others. What is
left to say is where the batch begins and where it ends: these functions are recorded like those of
the table. (Operations inside that read a tensor of outside: see `Bridge` in `arrays/batched/`.)
"""

from __future__ import annotations

from typing import Any

from wengert.arrays.batched.array import entered, left, left_view, same, total
from wengert.arrays.facts import COMPOSED
from wengert.autograd import record
from wengert.rules.rule import Rule


def _recorder(function: Any, name: str, transpose: Any, *names: str, view: bool = False) -> Any:
    """A rule's recorder. It is not in the table, whose rules are about arrays without levels."""
    rule = Rule(function, name, "linear", ("x", *names), {}, {"x": transpose}, {}, view=view)
    recorder = record.RECORDERS[function] = record._unwritten(rule)
    COMPOSED[function] = recorder
    return recorder


def _enter(g: Any, axis: int, level: Any) -> Any:
    return entered(g, axis, level)


entering = _recorder(
    entered, "IntoVmap", lambda g, axis, level: left(g, axis, level), "axis", "level", view=True
)
leaving = _recorder(left, "FromVmap", _enter, "axis", "level")
leaving_view = _recorder(left_view, "FromVmap", _enter, "axis", "level", view=True)
_recorder(total, "SumOverVmap", lambda g, level: same(g, level), "level")
_recorder(same, "RepeatInVmap", lambda g, level: total(g, level), "level")
