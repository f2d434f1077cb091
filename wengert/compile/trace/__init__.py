"""From a call to a program: traced arrays, and the capture of what a function reads and writes.

Begin with `capture.py`, which runs a function once on traced arrays and keeps what it did:
`arguments.py` takes what comes in apart, `results.py` and `handed.py` put together what is handed
back, `parts.py` and `anew.py` say what of it lies in other memory and what is made at each call,
and `captured.py` is what is left in the end. The rooms below it, from the ground up:

- `observe/` tells what the user's code reads and writes, from its bytecode;
- `arrays/` is the traced kind of array, and what functions mean on it;
- `world/` makes inputs, guards and results of what lies outside;
- `loops/` makes one statement of a loop, of a branch and of their derivatives.

Imports `program`, and of `plan` the arithmetic of strides.
"""

from wengert.compile.trace import arrays as arrays
