"""Loops, branches and regions in a trace: the body is run once, and becomes one statement.

Begin with `repeats.py` (as many iterations as are known) and `whiles.py` (as many as a test asks
for); `choices.py` has branches, `regions.py` what is computed twice to keep less of it, and
`pullback.py` the derivative that is traced with each.

Imports `arrays`, and from above the capture of a body. A new form of loop says how its state is
carried (`layers.py`) and what its derivative is.
"""
