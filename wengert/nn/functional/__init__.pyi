"""What type checkers see of `wengert.nn.functional`; written by `python -m docs.generate.stubs`."""

import builtins
import types
import typing
from collections.abc import Callable as _Callable, Iterator as _Iterator, Sequence as _Sequence
from typing import Any as _Any, NoReturn as _NoReturn

import numpy as _np

from wengert.functions import results as _results
from wengert.functions.results import _Number as _Number, _TensorLike as _TensorLike, _Out as _Out, _Index as _Index, _Dtype as _Dtype, _Ints as _Ints
from wengert.tensor import Size as _Size, Tensor as _Tensor

def relu_(self: _Tensor) -> _Tensor:
    """`relu`, in place."""
def celu(input: _Tensor, alpha: builtins.float = ..., inplace: builtins.bool = False) -> _Tensor:
    """max(x, 0) + min(0, alpha (exp(x/alpha) - 1))."""
def celu_(input: _Tensor, alpha: builtins.float = ...) -> _Tensor:
    """`celu`, written into the input."""
def elu(input: _Tensor, alpha: builtins.float = ..., inplace: builtins.bool = False) -> _Tensor:
    """x where x > 0, else alpha (exp(x) - 1)."""
def elu_(input: _Tensor, alpha: builtins.float = ...) -> _Tensor:
    """`elu`, written into the input."""
def gelu(input: _Tensor, approximate: builtins.str = 'none', *, out: _Out | None = None) -> _Tensor:
    """x Phi(x), with the normal distribution function Phi; 'tanh' approximates it."""
def glu(input: _Tensor, dim: builtins.int = -1) -> _Tensor:
    """a sigmoid(b), for the halves a and b of the input along `dim`."""
def gumbel_softmax(logits: _Tensor, tau: builtins.float | _Tensor = 1, hard: builtins.bool = False, eps: builtins.float = ..., dim: builtins.int = -1) -> _Tensor:
    """A sample of the Gumbel-softmax distribution (Jang et al., 2017); one-hot if `hard`."""
def hardshrink(input: _Tensor, lambd: builtins.float = ..., *, out: _Out | None = None) -> _Tensor:
    """x where |x| > lambd, else 0."""
def hardsigmoid(input: _Tensor, inplace: builtins.bool = False) -> _Tensor:
    """min(max(x + 3, 0), 6) / 6."""
def hardswish(input: _Tensor, inplace: builtins.bool = False) -> _Tensor:
    """x hardsigmoid(x)."""
def hardtanh(input: _Tensor, min_val: builtins.float = ..., max_val: builtins.float = ..., inplace: builtins.bool = False) -> _Tensor:
    """x, cut off at `min_val` and `max_val`."""
def hardtanh_(input: _Tensor, min_val: builtins.float = ..., max_val: builtins.float = ...) -> _Tensor:
    """`hardtanh`, written into the input."""
def leaky_relu(input: _Tensor, negative_slope: builtins.float = ..., inplace: builtins.bool = False) -> _Tensor:
    """x where x > 0, else negative_slope * x."""
def leaky_relu_(input: _Tensor, negative_slope: builtins.float = ...) -> _Tensor:
    """`leaky_relu`, written into the input."""
def log_softmax(input: _Tensor, dim: builtins.int | None = None, dtype: _Dtype | None = None) -> _Tensor:
    """x - log(sum(exp(x))) along `dim`."""
def logsigmoid(input: _Tensor, *, out: _Out | None = None) -> _Tensor:
    """log(sigmoid(x)), without overflow."""
def mish(input: _Tensor, inplace: builtins.bool = False) -> _Tensor:
    """x tanh(log(1 + exp(x)))."""
def prelu(input: _Tensor, weight: _Tensor) -> _Tensor:
    """x where x > 0, else weight * x: one weight, or one for each channel (dimension 1)."""
from wengert.nn.functional.activations import relu as relu
def relu6(input: _Tensor, inplace: builtins.bool = False) -> _Tensor:
    """x, cut off at 0 and 6."""
def rrelu(input: _Tensor, lower: builtins.float = ..., upper: builtins.float = ..., training: builtins.bool = False, inplace: builtins.bool = False) -> _Tensor:
    """A leaky relu whose slope is random in training, and the middle of its range otherwise."""
def rrelu_(input: _Tensor, lower: builtins.float = ..., upper: builtins.float = ..., training: builtins.bool = False) -> _Tensor:
    """`rrelu`, written into the input."""
def selu(input: _Tensor, inplace: builtins.bool = False) -> _Tensor:
    """A scaled elu that keeps mean 0 and variance 1 (Klambauer et al., 2017)."""
def selu_(input: _Tensor) -> _Tensor:
    """`selu`, written into the input."""
def sigmoid(input: _Tensor) -> _Tensor:
    """1 / (1 + exp(-x))."""
def silu(input: _Tensor, inplace: builtins.bool = False) -> _Tensor:
    """x sigmoid(x), also known as swish."""
def softmax(input: _Tensor, dim: builtins.int | None = None, dtype: _Dtype | None = None) -> _Tensor:
    """exp(x) / sum(exp(x)) along `dim`."""
def softmin(input: _Tensor, dim: builtins.int | None = None, dtype: _Dtype | None = None) -> _Tensor:
    """softmax(-x)."""
def softplus(input: _Tensor, beta: builtins.float = 1, threshold: builtins.float = 20, *, out: _Out | None = None) -> _Tensor:
    """log(1 + exp(beta x)) / beta; x itself where beta x exceeds `threshold`."""
def softshrink(input: _Tensor, lambd: builtins.float = ..., *, out: _Out | None = None) -> _Tensor:
    """x moved towards 0 by `lambd`, 0 where |x| <= lambd."""
def softsign(input: _Tensor) -> _Tensor:
    """x / (1 + |x|)."""
def tanh(input: _Tensor) -> _Tensor:
    """The hyperbolic tangent."""
def tanhshrink(input: _Tensor) -> _Tensor:
    """x - tanh(x)."""
def threshold(input: _Tensor, threshold: builtins.float, value: builtins.float, inplace: builtins.bool = False) -> _Tensor:
    """x where x > threshold, else `value`."""
def threshold_(input: _Tensor, threshold: builtins.float, value: builtins.float) -> _Tensor:
    """`threshold`, written into the input."""
from wengert.nn.functional.attention import multi_head_attention_forward as multi_head_attention_forward
def scaled_dot_product_attention(query: _Tensor, key: _Tensor, value: _Tensor, attn_mask: _Tensor | None = None, dropout_p: builtins.float = ..., is_causal: builtins.bool = False, *, scale: builtins.float | None = None, enable_gqa: builtins.bool = False) -> _Tensor:
    """softmax(Q K^T scale + mask) V, with scale 1/sqrt(features) if not given."""
def affine_grid(theta: _Tensor, size: _Ints, align_corners: builtins.bool | None = None) -> _Tensor:
    """Where each pixel of an output of `size` lies in the input, by the affine maps `theta`."""
def grid_sample(input: _Tensor, grid: _Tensor, mode: builtins.str = 'bilinear', padding_mode: builtins.str = 'zeros', align_corners: builtins.bool | None = None) -> _Tensor:
    """The values of (N, C, H, W) at the points of grid, (N, H', W', 2): (N, C, H', W')."""
def channel_shuffle(input: _Tensor, groups: builtins.int) -> _Tensor:
    """Channels of `groups` groups, dealt out in turn."""
def interpolate(input: _Tensor, size: _Ints | None = None, scale_factor: _Any = None, mode: builtins.str = 'nearest', align_corners: builtins.bool | None = None, recompute_scale_factor: builtins.bool | None = None, antialias: builtins.bool = False) -> _Tensor:
    """The input resized along its last dimensions, (N, C, *S)."""
def native_channel_shuffle(input: _Tensor, groups: builtins.int) -> _Tensor:
    """Channels of `groups` groups, dealt out in turn."""
def pad(input: _Tensor, pad: _Any, mode: builtins.str = 'constant', value: builtins.complex | None = None) -> _Tensor:
    """A border around the last dimensions: `pad` is (left, right, top, bottom, ...), last first."""
def pixel_shuffle(input: _Tensor, upscale_factor: builtins.int) -> _Tensor:
    """(*, C r^2, H, W) to (*, C, H r, W r)."""
def pixel_unshuffle(input: _Tensor, downscale_factor: builtins.int) -> _Tensor:
    """(*, C, H r, W r) to (*, C r^2, H, W)."""
def upsample(input: _Tensor, size: _Ints | None = None, scale_factor: _Any = None, mode: builtins.str = 'nearest', align_corners: builtins.bool | None = None) -> _Tensor:
    """The old name of `interpolate`."""
def upsample_bilinear(input: _Tensor, size: _Ints | None = None, scale_factor: _Any = None) -> _Tensor:
    """The old name of `interpolate(mode='bilinear', align_corners=True)`."""
def upsample_nearest(input: _Tensor, size: _Ints | None = None, scale_factor: _Any = None) -> _Tensor:
    """The old name of `interpolate(mode='nearest')`."""
def binary_cross_entropy(input: _Tensor, target: _Tensor, weight: _Tensor | None = None, size_average: builtins.bool | None = None, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean') -> _Tensor:
    """-(t log p + (1 - t) log(1 - p)), for probabilities p; logarithms stop at -100."""
def binary_cross_entropy_with_logits(input: _Tensor, target: _Tensor, weight: _Tensor | None = None, size_average: builtins.bool | None = None, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean', pos_weight: _Tensor | None = None) -> _Tensor:
    """Binary cross entropy of sigmoid(input), without overflow; `pos_weight` weighs target 1."""
def cosine_embedding_loss(input1: _Tensor, input2: _Tensor, target: _Tensor, margin: builtins.float = 0, size_average: builtins.bool | None = None, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean') -> _Tensor:
    """1 - cos(x1, x2) where t = 1, max(0, cos(x1, x2) - margin) where t = -1."""
def cosine_similarity(x1: _Tensor, x2: _Tensor, dim: builtins.int = 1, eps: builtins.float = ...) -> _Tensor:
    """x1 . x2 / (max(|x1|, eps) max(|x2|, eps)) along `dim`."""
def cross_entropy(input: _Tensor, target: _Tensor, weight: _Tensor | None = None, size_average: builtins.bool | None = None, ignore_index: builtins.int = -100, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean', label_smoothing: builtins.float = ...) -> _Tensor:
    """-log softmax(input)[target]: scores (N, C, ...) and class numbers (N, ...)."""
def gaussian_nll_loss(input: _Tensor, target: _Tensor, var: _TensorLike, full: builtins.bool = False, eps: builtins.float = ..., reduction: builtins.str = 'mean') -> _Tensor:
    """(log var + (input - target)^2 / var) / 2, with var at least eps and without its constant."""
def hinge_embedding_loss(input: _Tensor, target: _Tensor, margin: builtins.float = ..., size_average: builtins.bool | None = None, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean') -> _Tensor:
    """x where t = 1, max(0, margin - x) where t = -1."""
def huber_loss(input: _Tensor, target: _Tensor, reduction: builtins.str = 'mean', delta: builtins.float = ..., weight: _Tensor | None = None) -> _Tensor:
    """d^2 / 2 where |d| < delta, else delta (|d| - delta/2), for d = input - target."""
def kl_div(input: _Tensor, target: _Tensor, size_average: builtins.bool | None = None, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean', log_target: builtins.bool = False) -> _Tensor:
    """target (log target - input): the input holds log probabilities."""
def l1_loss(input: _Tensor, target: _Tensor, size_average: builtins.bool | None = None, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean', weight: _Tensor | None = None) -> _Tensor:
    """The mean of |input - target|."""
def margin_ranking_loss(input1: _Tensor, input2: _Tensor, target: _Tensor, margin: builtins.float = 0, size_average: builtins.bool | None = None, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean') -> _Tensor:
    """max(0, -t (x1 - x2) + margin)."""
def mse_loss(input: _Tensor, target: _Tensor, size_average: builtins.bool | None = None, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean', weight: _Tensor | None = None) -> _Tensor:
    """The mean of (input - target)^2."""
def multi_margin_loss(input: _Tensor, target: _Tensor, p: builtins.int = 1, margin: builtins.float = ..., weight: _Tensor | None = None, size_average: builtins.bool | None = None, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean') -> _Tensor:
    """sum over other classes j of max(0, margin - x[t] + x[j])^p / C."""
def multilabel_margin_loss(input: _Tensor, target: _Tensor, size_average: builtins.bool | None = None, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean') -> _Tensor:
    """Sums of max(0, 1 - (x[j] - x[i])) over target classes j and others i, divided by C."""
def multilabel_soft_margin_loss(input: _Tensor, target: _Tensor, weight: _Tensor | None = None, size_average: builtins.bool | None = None, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean') -> _Tensor:
    """The mean over classes of the binary cross entropy with logits."""
def nll_loss(input: _Tensor, target: _Tensor, weight: _Tensor | None = None, size_average: builtins.bool | None = None, ignore_index: builtins.int = -100, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean') -> _Tensor:
    """-weight[target] input[target]: log probabilities (N, C, ...) and class numbers (N, ...)."""
def pairwise_distance(x1: _Tensor, x2: _Tensor, p: builtins.float = ..., eps: builtins.float = ..., keepdim: builtins.bool = False) -> _Tensor:
    """The p-norm of x1 - x2 + eps along the last dimension."""
def pdist(input: _Tensor, p: builtins.float = ...) -> _Tensor:
    """The p-norm distance of every pair of rows, in the order (0,1), (0,2), ..., (1,2), ..."""
def poisson_nll_loss(input: _Tensor, target: _Tensor, log_input: builtins.bool = True, full: builtins.bool = False, size_average: builtins.bool | None = None, eps: builtins.float = ..., reduce: builtins.bool | None = None, reduction: builtins.str = 'mean') -> _Tensor:
    """exp(x) - target x, or x - target log(x + eps); `full` adds Stirling's term."""
def smooth_l1_loss(input: _Tensor, target: _Tensor, size_average: builtins.bool | None = None, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean', beta: builtins.float = ...) -> _Tensor:
    """d^2 / (2 beta) where |d| < beta, else |d| - beta/2, for d = input - target."""
def soft_margin_loss(input: _Tensor, target: _Tensor, size_average: builtins.bool | None = None, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean') -> _Tensor:
    """log(1 + exp(-t x)), for t of 1 or -1."""
def triplet_margin_loss(anchor: _Tensor, positive: _Tensor, negative: _Tensor, margin: builtins.float = ..., p: builtins.float = 2, eps: builtins.float = ..., swap: builtins.bool = False, size_average: builtins.bool | None = None, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean') -> _Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin)."""
def triplet_margin_with_distance_loss(anchor: _Tensor, positive: _Tensor, negative: _Tensor, *, distance_function: _Any = None, margin: builtins.float | _Tensor = ..., swap: builtins.bool = False, reduction: builtins.str = 'mean') -> _Tensor:
    """`triplet_margin_loss` with a distance of one's own."""
def alpha_dropout(input: _Tensor, p: builtins.float = ..., training: builtins.bool = False, inplace: builtins.bool = False, *, train: builtins.bool = ...) -> _Tensor:
    """Dropout that keeps mean and variance behind a selu (Klambauer et al., 2017)."""
def batch_norm(input: _Tensor, running_mean: _Tensor | None, running_var: _Tensor | None, weight: _Tensor | None = None, bias: _Tensor | None = None, training: builtins.bool = False, momentum: builtins.float = ..., eps: builtins.float = ...) -> _Tensor:
    """(x - mean) / sqrt(var + eps) for each channel (dimension 1), then weight and bias."""
def dropout(input: _Tensor, p: builtins.float = ..., training: builtins.bool = True, inplace: builtins.bool = False, *, train: builtins.bool = ...) -> _Tensor:
    """Each element set to 0 with probability `p`, the others divided by 1 - p."""
def dropout1d(input: _Tensor, p: builtins.float = ..., training: builtins.bool = True, inplace: builtins.bool = False) -> _Tensor:
    """Whole channels of (N, C, L) or (C, L) set to 0."""
def dropout2d(input: _Tensor, p: builtins.float = ..., training: builtins.bool = True, inplace: builtins.bool = False) -> _Tensor:
    """Whole channels of (N, C, H, W) or (C, H, W) set to 0."""
def dropout3d(input: _Tensor, p: builtins.float = ..., training: builtins.bool = True, inplace: builtins.bool = False) -> _Tensor:
    """Whole channels of (N, C, D, H, W) or (C, D, H, W) set to 0."""
def feature_alpha_dropout(input: _Tensor, p: builtins.float = ..., training: builtins.bool = False, inplace: builtins.bool = False, *, train: builtins.bool = ...) -> _Tensor:
    """`alpha_dropout` of whole channels."""
def group_norm(input: _Tensor, num_groups: builtins.int, weight: _Tensor | None = None, bias: _Tensor | None = None, eps: builtins.float = ...) -> _Tensor:
    """Normalization of each group of channels of each sample."""
def instance_norm(input: _Tensor, running_mean: _Tensor | None = None, running_var: _Tensor | None = None, weight: _Tensor | None = None, bias: _Tensor | None = None, use_input_stats: builtins.bool = True, momentum: builtins.float = ..., eps: builtins.float = ...) -> _Tensor:
    """Normalization of each channel of each sample, over the spatial dimensions."""
def layer_norm(input: _Tensor, normalized_shape: _Any, weight: _Tensor | None = None, bias: _Tensor | None = None, eps: builtins.float = ...) -> _Tensor:
    """(x - mean) / sqrt(var + eps) over the last dimensions, then weight and bias."""
def local_response_norm(input: _Tensor, size: builtins.int, alpha: builtins.float | _Tensor = ..., beta: builtins.float | _Tensor = ..., k: builtins.float | _Tensor = ...) -> _Tensor:
    """x / (k + alpha mean of x^2 over `size` neighbouring channels)^beta."""
def normalize(input: _Tensor, p: builtins.float = ..., dim: _Any = 1, eps: builtins.float | _Tensor = ..., *, out: _Out | None = None, axis: _Any = ...) -> _Tensor:
    """x / max(|x|_p, eps) along `dim`."""
def rms_norm(input: _Tensor, normalized_shape: _Any, weight: _Tensor | None = None, eps: builtins.float | None = None) -> _Tensor:
    """x / sqrt(mean(x^2) + eps) over the last dimensions, then weight."""
def ScalingType(*args: _Any, **kwargs: _Any) -> _NoReturn:
    """NotImplementedError: products of 8-bit floating-point numbers, which NumPy has not."""
def SwizzleType(*args: _Any, **kwargs: _Any) -> _NoReturn:
    """NotImplementedError: products of 8-bit floating-point numbers, which NumPy has not."""
def assert_int_or_pair(arg: _Any, arg_name: builtins.str, message: builtins.str) -> None:
    """AssertionError, with the message about this argument, unless it is a number or two."""
def conv_tbc(input: _Tensor, weight: _Tensor, bias: _Tensor, pad: builtins.int = 0) -> _Tensor:
    """A convolution along time: input (T, N, C), weight (K, C, C_out)."""
def embedding(input: _Tensor, weight: _Tensor, padding_idx: builtins.int | None = None, max_norm: builtins.float | None = None, norm_type: builtins.float = ..., scale_grad_by_freq: builtins.bool = False, sparse: builtins.bool = False) -> _Tensor:
    """The rows of `weight` that `input` names."""
def embedding_bag(input: _Tensor, weight: _Tensor, offsets: _Tensor | None = None, max_norm: builtins.float | None = None, norm_type: builtins.float = 2, scale_grad_by_freq: builtins.bool = False, mode: builtins.str = 'mean', sparse: builtins.bool = False, per_sample_weights: _Tensor | None = None, include_last_offset: builtins.bool = False, padding_idx: builtins.int | None = None) -> _Tensor:
    """Sums, means or maxima of bags of rows: rows of `input`, or runs from `offsets`."""
def grouped_mm(mat_a: _Tensor, mat_b: _Tensor, *, offs: _Tensor | None = None, bias: _Tensor | None = None, out_dtype: _Any = None) -> _Tensor:
    """Products of groups of matrices: `offs` says where each group of rows or columns ends."""
def one_hot(tensor: _Tensor, num_classes: builtins.int = -1, *, input: _Tensor = ...) -> _Tensor:
    """1 at the class number, 0 elsewhere: one more dimension, of `num_classes`, int64."""
def scaled_grouped_mm(*args: _Any, **kwargs: _Any) -> _NoReturn:
    """NotImplementedError: products of 8-bit floating-point numbers, which NumPy has not."""
def scaled_mm(*args: _Any, **kwargs: _Any) -> _NoReturn:
    """NotImplementedError: products of 8-bit floating-point numbers, which NumPy has not."""
def adaptive_max_pool1d_with_indices(input: _Tensor, output_size: _Ints, return_indices: builtins.bool = False) -> builtins.tuple[_Tensor, _Tensor]:
    """Maxima over as many bins of (N, C, L) as asked for; and their places."""
def adaptive_max_pool2d_with_indices(input: _Tensor, output_size: _Ints, return_indices: builtins.bool = False) -> builtins.tuple[_Tensor, _Tensor]:
    """Maxima over as many bins of (N, C, H, W) as asked for; and their places."""
def adaptive_max_pool3d_with_indices(input: _Tensor, output_size: _Ints, return_indices: builtins.bool = False) -> builtins.tuple[_Tensor, _Tensor]:
    """Maxima over as many bins of (N, C, D, H, W) as asked for; and their places."""
def fractional_max_pool2d(input: _Tensor, kernel_size: _Ints, output_size: _Ints | None = None, output_ratio: _Any = None, return_indices: builtins.bool = False) -> _Tensor:
    """Maxima of windows at random places, as many as asked for (Graham, 2014)."""
def fractional_max_pool2d_with_indices(input: _Tensor, kernel_size: _Ints, output_size: _Ints | None = None, output_ratio: _Any = None, return_indices: builtins.bool = False) -> builtins.tuple[_Tensor, _Tensor]:
    """Maxima of windows at random places, as many as asked for (Graham, 2014); and their places."""
def fractional_max_pool3d(input: _Tensor, kernel_size: _Ints, output_size: _Ints | None = None, output_ratio: _Any = None, return_indices: builtins.bool = False) -> _Tensor:
    """Maxima of windows at random places, as many as asked for (Graham, 2014)."""
def fractional_max_pool3d_with_indices(input: _Tensor, kernel_size: _Ints, output_size: _Ints | None = None, output_ratio: _Any = None, return_indices: builtins.bool = False) -> builtins.tuple[_Tensor, _Tensor]:
    """Maxima of windows at random places, as many as asked for (Graham, 2014); and their places."""
def max_pool1d_with_indices(input: _Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: builtins.bool = False, return_indices: builtins.bool = False) -> builtins.tuple[_Tensor, _Tensor]:
    """The largest number in each window of (N, C, L); and their places."""
def max_pool2d_with_indices(input: _Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: builtins.bool = False, return_indices: builtins.bool = False) -> builtins.tuple[_Tensor, _Tensor]:
    """The largest number in each window of (N, C, H, W); and their places."""
def max_pool3d_with_indices(input: _Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: builtins.bool = False, return_indices: builtins.bool = False) -> builtins.tuple[_Tensor, _Tensor]:
    """The largest number in each window of (N, C, D, H, W); and their places."""
def max_unpool1d(input: _Tensor, indices: _Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, output_size: _Ints | None = None) -> _Tensor:
    """Each maximum back at its place, zeros elsewhere: nearly undoes `max_pool1d`."""
def max_unpool2d(input: _Tensor, indices: _Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, output_size: _Ints | None = None) -> _Tensor:
    """Each maximum back at its place, zeros elsewhere: nearly undoes `max_pool2d`."""
def max_unpool3d(input: _Tensor, indices: _Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, output_size: _Ints | None = None) -> _Tensor:
    """Each maximum back at its place, zeros elsewhere: nearly undoes `max_pool3d`."""
def ctc_loss(log_probs: _Tensor, targets: _Tensor, input_lengths: _Any, target_lengths: _Any, blank: builtins.int = 0, reduction: builtins.str = 'mean', zero_infinity: builtins.bool = False) -> _Tensor:
    """-log of the probability that the inputs spell the targets, over all alignments."""
def linear_cross_entropy(input: _Tensor, linear_weight: _Tensor, target: _Tensor, *, linear_bias: _Tensor | None = None, weight: _Tensor | None = None, reduction: builtins.str = 'mean', ignore_index: builtins.int | None = None, label_smoothing: builtins.float = ..., options: _Any = None) -> _Tensor:
    """cross_entropy(linear(input, linear_weight, linear_bias), target, ...)."""
def adaptive_avg_pool1d(input: _Tensor, output_size: _Ints) -> _Tensor:
    """Means over as many bins of (N, C, L) as asked for."""
def adaptive_avg_pool2d(input: _Tensor, output_size: _Ints) -> _Tensor:
    """Means over as many bins of (N, C, H, W) as asked for."""
def adaptive_avg_pool3d(input: _Tensor, output_size: _Ints) -> _Tensor:
    """Means over as many bins of (N, C, D, H, W) as asked for."""
def adaptive_max_pool1d(input: _Tensor, output_size: _Ints, return_indices: builtins.bool = False) -> _Tensor:
    """Maxima over as many bins of (N, C, L) as asked for."""
def adaptive_max_pool2d(input: _Tensor, output_size: _Ints, return_indices: builtins.bool = False) -> _Tensor:
    """Maxima over as many bins of (N, C, H, W) as asked for."""
def adaptive_max_pool3d(input: _Tensor, output_size: _Ints, return_indices: builtins.bool = False) -> _Tensor:
    """Maxima over as many bins of (N, C, D, H, W) as asked for."""
def avg_pool1d(input: _Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = True) -> _Tensor:
    """The mean of each window of (N, C, L)."""
def avg_pool2d(input: _Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = True, divisor_override: builtins.int | None = None, *, out: _Out | None = None) -> _Tensor:
    """The mean of each window of (N, C, H, W)."""
def avg_pool3d(input: _Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = True, divisor_override: builtins.int | None = None, *, out: _Out | None = None) -> _Tensor:
    """The mean of each window of (N, C, D, H, W)."""
def bilinear(input1: _Tensor, input2: _Tensor, weight: _Tensor, bias: _Tensor | None = None) -> _Tensor:
    """y_k = x1 W_k x2 + b_k."""
def conv1d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _Ints = 1, padding: _Ints = 0, dilation: _Ints = 1, groups: builtins.int = 1) -> _Tensor:
    """Cross-correlation of (N, C, L) or (C, L) with weight (O, C/groups, *kernel)."""
def conv2d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _Ints = 1, padding: _Ints = 0, dilation: _Ints = 1, groups: builtins.int = 1) -> _Tensor:
    """Cross-correlation of (N, C, H, W) or (C, H, W) with weight (O, C/groups, *kernel)."""
def conv3d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _Ints = 1, padding: _Ints = 0, dilation: _Ints = 1, groups: builtins.int = 1) -> _Tensor:
    """Cross-correlation of (N, C, D, H, W) or (C, D, H, W) with weight (O, C/groups, *kernel)."""
def conv_transpose1d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _Ints = 1, padding: _Ints = 0, output_padding: _Any = 0, groups: builtins.int = 1, dilation: _Ints = 1) -> _Tensor:
    """The transpose of `conv1d` as a linear map, for weight (C, O/groups, *kernel)."""
def conv_transpose2d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _Ints = 1, padding: _Ints = 0, output_padding: _Any = 0, groups: builtins.int = 1, dilation: _Ints = 1) -> _Tensor:
    """The transpose of `conv2d` as a linear map, for weight (C, O/groups, *kernel)."""
def conv_transpose3d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _Ints = 1, padding: _Ints = 0, output_padding: _Any = 0, groups: builtins.int = 1, dilation: _Ints = 1) -> _Tensor:
    """The transpose of `conv3d` as a linear map, for weight (C, O/groups, *kernel)."""
def fold(input: _Tensor, output_size: _Ints, kernel_size: _Ints, dilation: _Ints = 1, padding: _Ints = 0, stride: _Ints = 1) -> _Tensor:
    """Columns added back into an image: the transpose of `unfold`."""
from wengert.nn.functional.windows import linear as linear
def lp_pool1d(input: _Tensor, norm_type: builtins.float, kernel_size: _Ints, stride: _Ints | None = None, ceil_mode: builtins.bool = False) -> _Tensor:
    """(sum |x|^p)^(1/p) of each window of (N, C, L)."""
def lp_pool2d(input: _Tensor, norm_type: builtins.float, kernel_size: _Ints, stride: _Ints | None = None, ceil_mode: builtins.bool = False) -> _Tensor:
    """(sum |x|^p)^(1/p) of each window of (N, C, H, W)."""
def lp_pool3d(input: _Tensor, norm_type: builtins.float, kernel_size: _Ints, stride: _Ints | None = None, ceil_mode: builtins.bool = False) -> _Tensor:
    """(sum |x|^p)^(1/p) of each window of (N, C, D, H, W)."""
def max_pool1d(input: _Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: builtins.bool = False, return_indices: builtins.bool = False) -> _Tensor:
    """The largest number in each window of (N, C, L)."""
def max_pool2d(input: _Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: builtins.bool = False, return_indices: builtins.bool = False) -> _Tensor:
    """The largest number in each window of (N, C, H, W)."""
def max_pool3d(input: _Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: builtins.bool = False, return_indices: builtins.bool = False) -> _Tensor:
    """The largest number in each window of (N, C, D, H, W)."""
def unfold(input: _Tensor, kernel_size: _Ints, dilation: _Ints = 1, padding: _Ints = 0, stride: _Ints = 1) -> _Tensor:
    """The windows of (N, C, H, W) as columns: (N, C * KH * KW, windows)."""
