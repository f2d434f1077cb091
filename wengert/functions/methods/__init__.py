"""The methods of Tensor: short for the functions beside this folder.

`operators.py` has `x + y` and its like, `named.py` the methods that are functions under their own
names, `inplace.py` those that write, `conversations.py` how tensors meet Python and NumPy. To add
one, name it where functions of its form stand; those of elementwise functions stand with their
rules, see `functions/declared.py`. Type checkers read all of them in the stub
`wengert/functions/methods/attached.pyi`.
"""
