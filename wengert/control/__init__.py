"""Loops and branches that depend on numbers: the same functions run, differentiate and compile.

`states` says what a state is, a container of arrays that keeps its form from one iteration to the
next; `loops` and `branches` are what users call. Eagerly they are Python's own, so the derivative
is autograd's. Inside of `vmap` a condition has a value for each example, and inside of a
compiled function it has none yet: `choice` says what becomes of a decision there.
"""
