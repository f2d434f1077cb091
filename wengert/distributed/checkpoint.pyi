"""`wengert.serialization.sharded` by PyTorch's name, to type checkers: see `stubs.py`."""

from wengert.serialization.sharded import latest as latest
from wengert.serialization.sharded import load as load
from wengert.serialization.sharded import read as read
from wengert.serialization.sharded import remove as remove
from wengert.serialization.sharded import save as save
