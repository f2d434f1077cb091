"""Modules that programs written for PyTorch look up: `wengert.amp`, `wengert.cuda` and their like.

Some group functions that live elsewhere (`fft`, `special`, `random`); most answer truly that there
is nothing of the kind here, so that such a program goes on. `wengert.cuda` is the module
`wengert.pytorch.cuda`, by whichever name it is imported; `imports.py` sees to that, and
`wengert/__init__.py` names the modules for readers and type checkers. Begin with `as_torch`, which
runs a whole program. Nothing in the package leans on this folder.
"""
