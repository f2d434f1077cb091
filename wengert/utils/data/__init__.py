"""Data sets, samplers and the loader, as `torch.utils.data` has them.

Begin with `loader.py`. `datasets.py` says what examples are, `samplers.py` in which order they
come; `workers.py` loads them in processes of their own.
"""

from wengert.imports import lacking as _lacking
from wengert.utils.data.datasets import ChainDataset as ChainDataset
from wengert.utils.data.datasets import ConcatDataset as ConcatDataset
from wengert.utils.data.datasets import Dataset as Dataset
from wengert.utils.data.datasets import IterableDataset as IterableDataset
from wengert.utils.data.datasets import StackDataset as StackDataset
from wengert.utils.data.datasets import Subset as Subset
from wengert.utils.data.datasets import TensorDataset as TensorDataset
from wengert.utils.data.datasets import random_split as random_split
from wengert.utils.data.loader import DataLoader as DataLoader
from wengert.utils.data.loader import default_collate as default_collate
from wengert.utils.data.loader import default_convert as default_convert
from wengert.utils.data.samplers import BatchSampler as BatchSampler
from wengert.utils.data.samplers import DistributedSampler as DistributedSampler
from wengert.utils.data.samplers import RandomSampler as RandomSampler
from wengert.utils.data.samplers import Sampler as Sampler
from wengert.utils.data.samplers import SequentialSampler as SequentialSampler
from wengert.utils.data.samplers import SubsetRandomSampler as SubsetRandomSampler
from wengert.utils.data.samplers import WeightedRandomSampler as WeightedRandomSampler
from wengert.utils.data.worker_info import WorkerInfo as WorkerInfo
from wengert.utils.data.worker_info import get_worker_info as get_worker_info

_lacking(__name__)
