"""Whole statements as LLVM IR: products, convolutions, pools, running sums, sorts.

Products are `matmul.py`: in tiles of registers (`tiles.py`), in blocks that fit the caches
(`blocks.py`), or by SciPy's BLAS. The other statements register in `natives.py`, which says whether
a step has code here: `convolution.py` (by `correlation.py`) and `pooling.py`, both over windows
(`windows.py`), `scans.py`, `sorts.py`.

Begin with `natives.py`. Imports `machine` and `elementary`, and of the plan its steps. A new file
registers its functions in `NATIVES`, and is one of the `FILES`.
"""
