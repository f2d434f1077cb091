"""The processor: types, vectors and memory, the target, and machine code kept on disk.

`values.py` has LLVM's types for NumPy's dtypes, and constants; `memory.py` moves elements between
memory and vectors; `control.py` writes loops; `scratch.py` takes working memory; `functions.py` has
functions, whose bodies `text.py` writes; `lanes.py` lets formulas of floats be written with
operators. `host.py` makes modules into machine code, for this processor, which `history/cache.py`
keeps on disk.

Imports nothing else of the compiler. Begin with `values.py` to write code, with `host.py` to see
how it comes to run. What a processor can do besides is asked of `host.Host`.
"""
