"""From a call to a program: traced arrays, and the capture of what a function reads and writes.

Begin with `array.py`: an array with a shape and a dtype and no numbers, which appends a statement
for each function of NumPy's that meets it. What functions mean on it is said in `core.py`,
`ufuncs.py`, `reductions.py`, `products.py`, `shapes.py` and `indexing.py`, which this imports.
`ints.py` knows in which interval an int of Python's lies. `capture.py` runs a function on such
arrays: `arguments.py` takes what comes in apart, `watch.py` notices the tensors found outside,
`results.py` puts together what is handed back, `refusals.py` says what cannot be traced.

Imports `program`, and of `plan` the arithmetic of strides. A function gets a meaning beside its
like; one without is kept as a statement that calls it.
"""

from wengert.compile.trace import indexing as indexing
from wengert.compile.trace import products as products
from wengert.compile.trace import reductions as reductions
from wengert.compile.trace import shapes as shapes
from wengert.compile.trace import ufuncs as ufuncs
