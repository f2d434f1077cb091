"""`wengert.utils.data.samplers` by PyTorch's name, to type checkers: see `stubs.py`."""

from wengert.utils.data.samplers import BatchSampler as BatchSampler
from wengert.utils.data.samplers import DistributedSampler as DistributedSampler
from wengert.utils.data.samplers import RandomSampler as RandomSampler
from wengert.utils.data.samplers import Sampler as Sampler
from wengert.utils.data.samplers import SequentialSampler as SequentialSampler
from wengert.utils.data.samplers import SubsetRandomSampler as SubsetRandomSampler
from wengert.utils.data.samplers import WeightedRandomSampler as WeightedRandomSampler
