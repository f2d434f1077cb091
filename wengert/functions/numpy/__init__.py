"""What NumPy's functions mean on Tensors, and how their calls get there.

Begin with `calls.py`: it decides whether a call is recorded by its rule, runs as NumPy composes it,
or concerns the arrays alone. The other files are those functions that need a translation, by
subject. To add one, register it as its neighbours are; the table of `docs/numpy_coverage.md` tells
which are missing. Imports autograd, and PyTorch's functions, of which some are composed; the
derivatives are in `rules/`.
"""
