"""PyTorch's functions: thin lines onto NumPy's functions, and onto primitives of our own.

One file for each subject, as PyTorch's documentation groups them: begin with `math.py`, whose lines
are the shortest. `arguments.py` and `results.py` are what the others share. `numpy/` says what
NumPy's own functions mean on Tensors, `methods/` gives Tensor its methods.

To add a function, write it in terms of NumPy's with a docstring that says what it computes, name it
in `wengert/__init__.py` and in `methods/`, and give it a sample in `tests/functions/`; what has no
rule yet gets one in `rules/`. It imports `autograd` and all below, and nothing that is above.
"""
