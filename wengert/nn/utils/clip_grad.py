"""PyTorch's module for clipping gradients."""

from wengert.nn.utils import clip_grad_norm_ as clip_grad_norm_
from wengert.nn.utils import clip_grad_value_ as clip_grad_value_
from wengert.nn.utils import get_total_norm as get_total_norm
