"""The compiler: a traced function becomes a program, fused loops, and machine code.

A call goes through the folders in this order:

    trace/     from a call to a program: arrays that write down what is done to them
    program/   the program: a list of statements, its passes, its text
    plan/      from a program to a plan: which loops are one, where arrays lie
    llvm/      from a plan to machine code, the first back end: see `backend.py` for what one is
    call/      what `wengert.compile` returns: it finds the code for a call, and runs it

Begin with `call/function.py`, or with `docs/compiler.md`, which follows one training step. A folder
imports from `program` and `plan` what it needs; only `call` knows all. `plan` and `call` ask a back
end through `backend.py`. What is no plan, in `call`, is written for LLVM and imports it: the entry
of Python's calls, the listener, and eager mode's `by_blocks.py` and `by_loops.py`.
"""

import functools
from typing import Any

from wengert.rules import loops
from wengert.rules.blocks import MACHINE


@functools.cache
def _by_blocks() -> Any:
    from wengert.compile.call import by_blocks  # the compiler: few programs need it

    return by_blocks


def _code(*call: Any) -> Any:
    code = _by_blocks().code
    if MACHINE.run is _code:  # from now on without this layer
        MACHINE.run = code
    return code(*call)


def _in_turn(*call: Any) -> None:
    _by_blocks().in_turn(*call)


def _loops(*call: Any) -> Any:
    from wengert.compile.call import by_loops

    return by_loops.code(*call)


def _elements(*call: Any) -> Any:
    from wengert.compile.call import by_elements

    return by_elements.code(*call)


MACHINE.elements = _elements
MACHINE.run, MACHINE.in_turn, loops.MACHINE.loops = _code, _in_turn, _loops
