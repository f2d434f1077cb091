"""Training, step by step: optimizers and schedules, as `torch.optim` has them.

An optimizer holds parameters, and `step()` moves them by the gradients that a backward pass left in
`p.grad`; it never calls the loss on its own (L-BFGS calls the closure it is given). Minimisers that
are given a function and return its minimum are in `wengert.optimize`.

Begin with `optimizer.py` (groups of parameters, state, hooks) and `sgd.py`; each other file is a
family whose update reads like the paper's. To add one, write its update as they do, and name it
here; `tests/optim/` compares it with PyTorch's. `lr_scheduler.py` has the schedules. Imports
tensors and functions, and no networks but in `swa_utils.py`, which averages them.
"""

from wengert.imports import lacking as _lacking
from wengert.optim import lr_scheduler as lr_scheduler
from wengert.optim import swa_utils as swa_utils
from wengert.optim.adafactor import Adafactor as Adafactor
from wengert.optim.adam import Adam as Adam
from wengert.optim.adam import AdamW as AdamW
from wengert.optim.adaptive import Adadelta as Adadelta
from wengert.optim.adaptive import Adagrad as Adagrad
from wengert.optim.adaptive import Adamax as Adamax
from wengert.optim.adaptive import RMSprop as RMSprop
from wengert.optim.averaged import ASGD as ASGD
from wengert.optim.averaged import Rprop as Rprop
from wengert.optim.lbfgs import LBFGS as LBFGS
from wengert.optim.muon import Muon as Muon
from wengert.optim.optimizer import Optimizer as Optimizer
from wengert.optim.rectified import NAdam as NAdam
from wengert.optim.rectified import RAdam as RAdam
from wengert.optim.sgd import SGD as SGD
from wengert.optim.sparse_adam import SparseAdam as SparseAdam

_lacking(__name__)
