"""The native entry: from Python's objects to machine code and back, without a frame of Python.

Begin with `entry.py`, an entry described as data, and `reference.py`, what it means, in
Python. `words.py` writes the description as a table, `code.py` and `parts.py` are the machine code
that reads any such table, and `phases.py` what few calls need besides, each made when it is first
needed (`writer.py` writes it, `layouts.py` knows where CPython and NumPy keep what it reads).
`native.py` puts both together, and `entries.py` takes the fastest kind there is.

Imports `trace.world.places` for what is read and written. A new kind of place gets its meaning in
`reference.py`, its words in `words.py` and its code in `parts.py`; tests hold them to each other.
"""
