"""Automatic differentiation: recording, the reverse sweep, and what controls them.

Read in this order: `wengert.history.node`, then here `template` and `record` (how an operation is
recorded), `engine` and `hooks` (the sweep), `saved` and `inplace` (what may be overwritten),
`differentiate` (what users call). `forward` and `pushing` carry tangents. Functions with a
derivative of one's own are in `function` (PyTorch's form) and `primitive` (the table's).

Nothing here knows a single function: derivatives are in `rules/`, and a function is added there.
It imports what lies below, `tensor` and `arrays` included; PyTorch's functions are above.
"""

from wengert.autograd import forward_ad as forward_ad
from wengert.autograd import function as function
from wengert.autograd import functional as functional
from wengert.autograd import graph as graph
from wengert.autograd import methods as methods
from wengert.autograd.anomaly import detect_anomaly as detect_anomaly
from wengert.autograd.anomaly import set_detect_anomaly as set_detect_anomaly
from wengert.autograd.differentiate import backward as backward
from wengert.autograd.differentiate import grad as grad
from wengert.autograd.function import Function as Function
from wengert.autograd.gradcheck import gradcheck as gradcheck
from wengert.autograd.gradcheck import gradgradcheck as gradgradcheck
from wengert.autograd.variable import Variable as Variable
from wengert.autograd.zeros import zeros_stay_zero as zeros_stay_zero
from wengert.history import modes as grad_mode  # PyTorch's name for the module
from wengert.history.modes import enable_grad as enable_grad
from wengert.history.modes import inference_mode as inference_mode
from wengert.history.modes import no_grad as no_grad
from wengert.history.modes import set_grad_enabled as set_grad_enabled
from wengert.imports import lacking as _lacking

_lacking(__name__)
