"""Sparse Jacobians and Hessians: which entries are zero, and how few products give the others.

Begin with `derivatives.py`, which users call. `sparsity.py` finds the pattern, by running the
function on numbers that know where they came from (`arrays/dependent/`), and `colouring.py` the
columns and rows that one product can give together. It stands on `transforms/` and `autograd/`.
"""
