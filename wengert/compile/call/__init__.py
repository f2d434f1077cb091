"""From a call to its code and back: specializations, the native entry, and the derivative.

Begin with `function.py`, which finds or makes the specialization for a call.
`specialization.py` is one captured program made ready to run, `executable.py` its plan as code of
the back end, `derivative.py` what runs when cotangents arrive. `entry/` is how Python calls the
code without Python in between; `link.py` makes entries, of calls and of derivatives. `report.py`
explains a function, `standalone.py` writes it out as text that needs no compiler, `exports.py` and
`lowlevel.py` hand its code to C and SciPy, and `by_blocks.py` and `by_loops.py` lend machine code
to eager mode.

Imports all of the compiler, the back end through `backend.py`. What a call may read or must check
is one more class of `trace/world/places.py`, and one more case of the entry, native and in Python.
"""
