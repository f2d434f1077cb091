"""`wengert.optim.sharded` by PyTorch's name, to type checkers: see `stubs.py`."""

from wengert.optim.sharded import ZeroRedundancyOptimizer as ZeroRedundancyOptimizer
