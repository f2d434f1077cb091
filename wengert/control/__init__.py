"""Loops and branches that depend on numbers: the same functions run, differentiate and compile.

Begin with `loops.py` and `branches.py`, which users call, and `states.py`, which says what a state
is: a container of arrays that keeps its form from one iteration to the next. Eagerly they are
Python's own, so the derivative is autograd's. Inside of `vmap` a condition has a value for each
example, and inside of a compiled function it has none yet: `choice.py` says what becomes of a
decision there. `recorded.py` makes one statement of a loop in a trace; `rolled.py`,
`iterations.py` and `written.py` do so for Python's own `for`, and `blocks.py` saves memory.

Imports functions and autograd, and of the compiler what traces loops (`compile/trace/loops/`). A
further loop is written in terms of `scan` or `while_loop`, which know all this.
"""
