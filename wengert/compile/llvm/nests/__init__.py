"""Kernels as loop nests in LLVM IR: their order, their passes over a row, and vectors.

A kernel goes through `schedule.py` (the order of the loops, and which is taken in vectors),
`phases.py` (what is computed in which pass over a row), `streams.py` (two passes that may be one),
`traffic.py` (what is fetched ahead or written past the caches), and `loops.py`, which writes the
code; its reductions are in `accumulators.py`, sums with products in `products.py`, and sums at
computed places in `scatters.py`. What threads share is cut by `parts.py`, and along long rows by
`pieces.py`.

Begin with `kernels.define`. Imports `machine` and `elementary`, and of the plan its kernels. A new
operation of kernels needs a class in `plan/kernel.py`, its cost in `schedule.py`, and its code in
`loops.py`.
"""
