"""Elementary functions of numbers and vectors of numbers, as LLVM IR.

Begin with `scalars.py`, the table: by NumPy's name and the dtype, what a function of one element
is, and whether there is code for it. `casts.py` and `complexes.py` are parts of it, `division.py`
divides by what stays the same. `math.py` collects the functions with series of their own, accurate
to a few units in the last place: `exponentials.py`, `logarithms.py`, `trigonometry.py` (whose far
arguments `reduction.py` reduces), `special.py`, with the coefficients in `polynomials.py`.

Imports `machine`. A function that IR can say is a line in a table of `scalars.py`; one with a
series is written with `lanes.Lanes`, and registered in `math.py`.
"""
