"""`utils`: data sets and loaders, checkpointing, and what goes around a training loop."""

from wengert.utils import checkpoint as checkpoint
from wengert.utils import data as data
from wengert.utils import dlpack as dlpack
from wengert.utils import training as training
