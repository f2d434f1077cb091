"""The program: a straight list of NumPy calls on values of known shape and dtype.

Begin with `program.py`, which also interprets: what `Program.run` gives, machine code has to agree
with. Then `operations.py` (what a program may call besides NumPy), `infer.py` (shapes and dtypes of
results), `passes/` (simpler programs), `partition.py` (what runs forward, what backward), and
`source.py` (programs as text that runs).

Imports nothing of the compiler from outside of this folder. A new operation is a function in
`operations.py` and a line in `infer.py`; a new rewriting is a rule in one of the `passes/`.
"""

from wengert.compile.program import source as source  # programs print as it says
