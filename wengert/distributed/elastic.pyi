"""`wengert.serialization.elastic` by PyTorch's name, to type checkers: see `stubs.py`."""

from wengert.serialization.elastic import Commit as Commit
from wengert.serialization.elastic import Keeper as Keeper
from wengert.serialization.elastic import Remembered as Remembered
from wengert.serialization.elastic import State as State
from wengert.serialization.elastic import gradients as gradients
from wengert.serialization.elastic import recall as recall
from wengert.serialization.elastic import remembered as remembered
from wengert.serialization.elastic import run as run
from wengert.serialization.elastic import state_of as state_of
