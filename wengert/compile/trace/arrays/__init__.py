"""The traced kind of array: what is done to it becomes a statement of a program.

Begin with `array.py`: an array with a shape and a dtype and no numbers, which appends a statement
for each function of NumPy's that meets it. What functions mean on it is said in `core.py`,
`ufuncs.py`, `reductions.py`, `products.py`, `shapes.py` and `indexing.py`, which this imports; one
without a meaning is kept as a statement that calls it (`opaque.py`). `storage.py` knows in whose
memory an array lies, `operands.py` what type an operand has, `ints.py` in which interval an int of
Python's lies, `scopes.py` where statements go and `lines.py` from which of the user's lines they
come, and `refusals.py` what cannot be traced.

Imports `program`, and of `plan` the arithmetic of strides. A function gets a meaning beside its
like.
"""

from wengert.compile.trace.arrays import indexing as indexing
from wengert.compile.trace.arrays import products as products
from wengert.compile.trace.arrays import reductions as reductions
from wengert.compile.trace.arrays import shapes as shapes
from wengert.compile.trace.arrays import ufuncs as ufuncs
