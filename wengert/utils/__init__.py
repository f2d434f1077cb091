"""Around a training loop, as `torch.utils` has it: data, checkpointing, saving a run.

`data/` has data sets and their loader, `checkpoint.py` recomputes instead of saving, `training.py`
saves a run and resumes it, and measures it, `tensorboard.py` and `dlpack.py` speak to others. Data
that comes with the package is in `wengert.datasets`. Nothing in the package leans on this folder.
"""

from wengert.imports import lacking as _lacking
from wengert.utils import checkpoint as checkpoint
from wengert.utils import data as data
from wengert.utils import dlpack as dlpack
from wengert.utils import training as training

_lacking(__name__)
