"""Functions of `torch` that `torch.nn.functional` has in another form.

They are what PyTorch's own layers call: weights come first, settings are numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from wengert import nn
from wengert.autograd.anomaly import set_detect_anomaly
from wengert.errors import ShapeError
from wengert.functions.arguments import of_tensors
from wengert.nn import functional as F
from wengert.nn.functional.shared import REDUCTIONS
from wengert.tensor import Tensor
from wengert.transforms.modules import functional_call

# ---- losses ---------------------------------------------------------------------------------


def _loss(loss: Callable[..., Any], *names: str) -> Callable[..., Any]:
    """A loss with its arguments by position; the reduction is a number: none 0, mean 1, sum 2.

    PyTorch says that the default is the mean, and returns the single losses.
    """

    @wraps(loss)
    def function(*args: Any, reduction: int = 0, **options: Any) -> Any:
        options = {"reduction": reduction, **options, **dict(zip(names, args, strict=False))}
        return loss(**{**options, "reduction": REDUCTIONS[options["reduction"]]})

    return function


cosine_embedding_loss = _loss(
    F.cosine_embedding_loss, "input1", "input2", "target", "margin", "reduction"
)
hinge_embedding_loss = _loss(F.hinge_embedding_loss, "input", "target", "margin", "reduction")
kl_div = _loss(F.kl_div, "input", "target", "reduction")
margin_ranking_loss = _loss(
    F.margin_ranking_loss, "input1", "input2", "target", "margin", "reduction"
)
poisson_nll_loss = _loss(
    F.poisson_nll_loss, "input", "target", "log_input", "full", "eps", "reduction"
)
triplet_margin_loss = _loss(
    F.triplet_margin_loss,
    *("anchor", "positive", "negative", "margin", "p", "eps", "swap", "reduction"),
)
binary_cross_entropy_with_logits = _loss(
    F.binary_cross_entropy_with_logits, "input", "target", "weight", "pos_weight", "reduction"
)
ctc_loss = _loss(
    F.ctc_loss,
    *("log_probs", "targets", "input_lengths", "target_lengths", "blank", "reduction"),
    "zero_infinity",
)


# ---- layers ---------------------------------------------------------------------------------


def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """`nn.functional.batch_norm` with the weights first."""
    return F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


@of_tensors(1, takes_out=True)
def native_batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None,
    running_mean: Tensor | None, running_var: Tensor | None,
    training: bool, momentum: float, eps: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """`batch_norm`, and in training the means and the inverse deviations of the channels,
    which are constants."""
    dims = [d for d in range(input.ndim) if d != 1]
    y = F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    if training:
        return y, *_scales(input.detach(), dims, False, eps)
    none = input.detach().reshape(-1)[:0]
    return y, none, none.clone()


@of_tensors(1)
def native_layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """`nn.functional.layer_norm`, and, as constants, the means and inverse deviations it
    scales by."""
    dims = list(range(input.ndim - len(normalized_shape), input.ndim))
    y = F.layer_norm(input, normalized_shape, weight, bias, eps)
    return y, *_scales(input.detach(), dims, True, eps)


@of_tensors(1)
def native_group_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None,
    N: int, C: int, HxW: int, group: int, eps: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """`nn.functional.group_norm`, and the means and inverse deviations of the groups."""
    if input.shape[:2] != (N, C) or N * C * HxW != input.numel():
        raise ShapeError(
            f"native_group_norm: N={N}, C={C}, HxW={HxW} are not the sizes of an input of shape "
            f"{list(input.shape)}"
        )
    y = F.group_norm(input, group, weight, bias, eps)
    return y, *_scales(input.reshape(N, group, C // group * HxW), [2], False, eps)


def _scales(x: Tensor, dims: list[int], keepdim: bool, eps: float) -> tuple[Tensor, Tensor]:
    """The means along dimensions, and 1 / sqrt(variance + eps)."""
    mean = x.mean(dims, keepdim)
    return mean, (x.var(dims, correction=0, keepdim=keepdim) + eps).rsqrt()


def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """`nn.functional.instance_norm` with the weights first."""
    return F.instance_norm(
        input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps
    )


def embedding(
    weight: Tensor,
    indices: Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """`nn.functional.embedding` with the weight first; padding_idx -1 is none."""
    padding = None if padding_idx == -1 else padding_idx
    return F.embedding(indices, weight, padding, None, 2.0, scale_grad_by_freq, sparse)


@of_tensors(1)
def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Tensor:
    """Any of the convolutions, by the dimensions of the weight."""
    name = f"conv{'_transpose' * transposed}{weight.ndim - 2}d"
    rest = (output_padding, groups, dilation) if transposed else (dilation, groups)
    out: Tensor = getattr(F, name)(input, weight, bias, stride, padding, *rest)
    return out


_MODES = ("bilinear", "nearest", "bicubic")
_BORDERS = ("zeros", "border", "reflection")


@of_tensors(1)
def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`nn.functional.grid_sample` with its choices as numbers."""
    return F.grid_sample(
        input, grid, _MODES[interpolation_mode], _BORDERS[padding_mode], align_corners
    )


grid_sampler_2d = grid_sampler_3d = grid_sampler


def affine_grid_generator(theta: Tensor, size: Any, align_corners: bool) -> Tensor:
    return F.affine_grid(theta, size, align_corners)


def adaptive_max_pool1d(input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    """`nn.functional.adaptive_max_pool1d` with the indices."""
    pair: Any = F.adaptive_max_pool1d(input, output_size, return_indices=True)
    return pair


def max_pool1d_with_indices(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    pool: Any = F.max_pool1d
    return pool(*args, **kwargs, return_indices=True)


def dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    return F.dropout(input, p, train, inplace=True)


def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    return F.alpha_dropout(input, p, train, inplace=True)


def feature_alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    return F.feature_alpha_dropout(input, p, train, inplace=True)


@of_tensors(1)
def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Dropout of whole channels."""
    return F.dropout2d(input, p, train) if input.ndim == 4 else F.dropout3d(input, p, train)


# ---- recurrent networks ---------------------------------------------------------------------


def _recurrent(layer: Any, gates: int, **options: Any) -> Callable[..., Any]:
    """The function of a recurrent layer: its parameters are a list in the layer's order."""

    @of_tensors(1)
    def function(
        input: Tensor,
        hx: Any,
        params: Any,
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool = False,
    ) -> Any:
        if isinstance(has_biases, (list, tuple)):
            raise NotImplementedError(
                "data and batch sizes were given: use the layer with a PackedSequence instead."
            )
        size, hidden = params[0].shape[1], params[0].shape[0] // gates
        state = params[1].shape[1]
        projected = {"proj_size": state} if state != hidden else {}
        module = layer(
            *(size, hidden, num_layers),
            bias=has_biases,
            batch_first=batch_first,
            dropout=dropout,
            bidirectional=bidirectional,
            **options,
            **projected,
        )
        named = dict(zip(dict(module.named_parameters()), params, strict=True))
        out, last = functional_call(module.train(train), named, (input, hx))
        return (out, *last) if isinstance(last, tuple) else (out, last)

    return function


lstm = _recurrent(nn.LSTM, 4)
gru = _recurrent(nn.GRU, 3)
rnn_tanh = _recurrent(nn.RNN, 1)
rnn_relu = _recurrent(nn.RNN, 1, nonlinearity="relu")


def _cell(layer: Any, **options: Any) -> Callable[..., Any]:
    @of_tensors(1)
    def function(
        input: Tensor,
        hx: Any,
        w_ih: Tensor,
        w_hh: Tensor,
        b_ih: Tensor | None = None,
        b_hh: Tensor | None = None,
    ) -> Any:
        module = layer(w_ih.shape[1], w_hh.shape[1], bias=b_ih is not None, **options)
        named = dict(zip(dict(module.named_parameters()), (w_ih, w_hh, b_ih, b_hh), strict=False))
        return functional_call(module, named, (input, hx))

    return function


lstm_cell = _cell(nn.LSTMCell)
gru_cell = _cell(nn.GRUCell)
rnn_tanh_cell = _cell(nn.RNNCell)
rnn_relu_cell = _cell(nn.RNNCell, nonlinearity="relu")


# ---- settings --------------------------------------------------------------------------------


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    set_detect_anomaly(mode, check_nan)
