"""`wengert.utils.data.datasets` by PyTorch's name, to type checkers: see `stubs.py`."""

from wengert.utils.data.datasets import ChainDataset as ChainDataset
from wengert.utils.data.datasets import ConcatDataset as ConcatDataset
from wengert.utils.data.datasets import Dataset as Dataset
from wengert.utils.data.datasets import IterableDataset as IterableDataset
from wengert.utils.data.datasets import StackDataset as StackDataset
from wengert.utils.data.datasets import Subset as Subset
from wengert.utils.data.datasets import TensorDataset as TensorDataset
from wengert.utils.data.datasets import random_split as random_split
