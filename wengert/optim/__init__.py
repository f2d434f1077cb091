"""`optim`: optimizers and schedules by PyTorch's names."""

from wengert.optim import lr_scheduler as lr_scheduler
from wengert.optim.adam import Adam as Adam
from wengert.optim.adam import AdamW as AdamW
from wengert.optim.adaptive import Adadelta as Adadelta
from wengert.optim.adaptive import Adagrad as Adagrad
from wengert.optim.adaptive import Adamax as Adamax
from wengert.optim.adaptive import RMSprop as RMSprop
from wengert.optim.optimizer import Optimizer as Optimizer
from wengert.optim.sgd import SGD as SGD
