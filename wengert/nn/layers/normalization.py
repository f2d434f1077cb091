"""Normalization and dropout as modules."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import dtypes
from wengert.arrays.kind import number
from wengert.autograd.engine import mark_written
from wengert.functions.joining import cat
from wengert.history import modes
from wengert.nn import functional as F
from wengert.nn import init
from wengert.nn.functional.normalization import check_probability
from wengert.nn.layers.applied import Applied
from wengert.nn.layers.linear import new_parameter
from wengert.nn.module import Module
from wengert.nn.parameter import Parameter
from wengert.tensor import Tensor, wrap

# ---- dropout -------------------------------------------------------------------------------


class _Dropout(Applied, function=None):
    """Sets a fraction p of its input to 0 in training."""

    p: float = 0.5
    inplace: bool = False

    def _checked(self, settings: dict[str, Any]) -> dict[str, Any]:
        check_probability(settings["p"])
        return settings

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout, function=F.dropout):
    """Single elements."""


class Dropout1d(_Dropout, function=F.dropout1d):
    """Whole channels of (N, C, L)."""


class Dropout2d(_Dropout, function=F.dropout2d):
    """Whole channels of (N, C, H, W)."""


class Dropout3d(_Dropout, function=F.dropout3d):
    """Whole channels of (N, C, D, H, W)."""


class AlphaDropout(_Dropout, function=F.alpha_dropout):
    """Dropout that keeps mean and variance behind a selu."""


class FeatureAlphaDropout(_Dropout, function=F.feature_alpha_dropout):
    """Alpha dropout of whole channels."""


# ---- what normalizations are followed by ---------------------------------------------------


class _Scaled(Module):
    """A normalization that is scaled by a weight, 1 at first, and shifted by a bias, 0."""

    weight: Parameter  # None without, which types pass over
    bias: Parameter

    def _scale(self, shape: Any, device: Any, dtype: Any, **wanted: bool) -> None:
        """Make the parameters of these names, None if they are not wanted."""
        for name, there in wanted.items():
            self.register_parameter(name, new_parameter(shape, device, dtype) if there else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 1 and bias 0."""
        for name, fill in (("weight", init.ones_), ("bias", init.zeros_)):
            if getattr(self, name, None) is not None:
                fill(getattr(self, name))


# ---- batch and instance normalization ------------------------------------------------------

_RUNNING = {"running_mean": 0, "running_var": 1, "num_batches_tracked": 0}
"""What is kept of the batches so far, and what it is before the first."""


class _Norm(_Scaled):
    """What batch and instance normalization share: parameters, and running mean and variance."""

    _version = 2
    _ranks: tuple[int, ...]
    # Any of these may be None, which types pass over.
    running_mean: Tensor
    running_var: Tensor
    num_batches_tracked: Tensor

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        kind = dtypes.or_default(dtype)
        shapes = {
            **dict.fromkeys(_RUNNING, (num_features, kind)),
            "num_batches_tracked": ((), np.int64),
        }
        for name in _RUNNING:
            self.register_buffer(
                name, wrap(np.zeros(*shapes[name])) if track_running_stats else None
            )
        self._scale(num_features, device, dtype, weight=affine, bias=affine and bias)

    def reset_running_stats(self) -> None:
        """Running mean 0, variance 1, no batches seen."""
        if self.track_running_stats:
            for name, value in _RUNNING.items():
                init.constant_(getattr(self, name), value)

    def reset_parameters(self) -> None:
        """Weight 1 and bias 0, and nothing seen."""
        self.reset_running_stats()
        super().reset_parameters()

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any
    ) -> None:
        """States of version 1, and those without a version, may lack the number of batches."""
        if (local_metadata.get("version") or 1) < 2 and self.num_batches_tracked is not None:
            state_dict.setdefault(prefix + "num_batches_tracked", self.num_batches_tracked)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def _check(self, input: Tensor) -> None:
        if input._array.ndim not in self._ranks:
            expected = " or ".join(f"{r}D" for r in self._ranks)
            raise ValueError(f"expected {expected} input (got {input._array.ndim}D input)")

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_Norm):
    def forward(self, input: Tensor) -> Tensor:
        self._check(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked._array[...] += 1
            mark_written(self.num_batches_tracked, "add_")
            if self.momentum is None:  # the unweighted mean over all batches
                momentum = 1.0 / number(self.num_batches_tracked._array)
        from_batch = self.training or (self.running_mean is None and self.running_var is None)
        keep = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if keep else None,
            self.running_var if keep else None,
            self.weight,
            self.bias,
            from_batch,
            momentum,
            self.eps,
        )

    def _forget_running_stats(self) -> None:
        """Normalize by the batch from now on; see `func.replace_all_batch_norm_modules_`."""
        if self.track_running_stats:
            for name in _RUNNING:
                setattr(self, name, None)
            self.track_running_stats = False


class BatchNorm1d(_BatchNorm):
    """Normalization of each feature over the batch: (N, C) or (N, C, L)."""

    _ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalization of each channel over the batch: (N, C, H, W)."""

    _ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """Normalization of each channel over the batch: (N, C, D, H, W)."""

    _ranks = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch normalization by the mean and variance of the batches of all ranks together.

    Before there is a process group, and in evaluation, it is that of one's own batch. Every rank
    has to come to it, forward and backward.
    """

    _ranks = tuple(range(2, 64))

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        self.process_group = process_group

    def forward(self, input: Tensor) -> Tensor:
        from wengert.distributed import functional, groups  # only who asks for it needs it

        alone = not self.training and self.running_mean is not None
        if alone or groups.get_world_size(self.process_group) == 1:
            return super().forward(input)
        self._check(input)
        axes = (0, *range(2, input.ndim))
        column = (1, -1, *(1,) * (input.ndim - 2))
        count = input.numel() // input.shape[1]
        mean = input.mean(axes)
        squares = (input - mean.reshape(column)).square().sum(axes)
        mine = cat([mean, squares, mean.new_full((1,), count)])
        means, sums, counts = functional.exchanged(mine, "all_gather", self.process_group).split(
            [self.num_features, self.num_features, 1], 1
        )
        # Means and sums of squares of parts give those of the whole (Chan, Golub, LeVeque, 1979).
        total = counts.sum()
        mean = (means * counts).sum(0) / total
        squares = (sums + counts * (means - mean).square()).sum(0)
        self._track(mean.detach(), (squares / (total - 1)).detach())
        out = (input - mean.reshape(column)) / (squares / total + self.eps).sqrt().reshape(column)
        if self.weight is not None:
            out = out * self.weight.reshape(column)
        return out if self.bias is None else out + self.bias.reshape(column)

    def _track(self, mean: Tensor, variance: Tensor) -> None:
        """Move the running mean and variance towards those of a batch."""
        if not (self.training and self.track_running_stats):
            return
        mean_so_far, variance_so_far, count = (
            self.running_mean,
            self.running_var,
            self.num_batches_tracked,
        )
        assert mean_so_far is not None
        assert variance_so_far is not None
        assert count is not None
        with modes.no_grad():
            count += 1
            share = 1 / count if self.momentum is None else self.momentum
            mean_so_far.copy_(mean_so_far + share * (mean - mean_so_far))
            variance_so_far.copy_(variance_so_far + share * (variance - variance_so_far))

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """The module with every BatchNorm layer replaced by one over all ranks, in place."""
        if isinstance(module, _BatchNorm):
            layer = cls(
                module.num_features, module.eps, module.momentum, module.affine,
                module.track_running_stats, process_group, bias=module.bias is not None,
            )  # fmt: skip
            for name, parameter in module._parameters.items():
                layer._parameters[name] = parameter
            layer._buffers.update(module._buffers)
            layer.training = module.training
            return layer
        for name, child in module.named_children():
            setattr(module, name, cls.convert_sync_batchnorm(child, process_group))
        return module


class _InstanceNorm(_Norm):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def forward(self, input: Tensor) -> Tensor:
        self._check(input)
        lone = input._array.ndim == self._ranks[0]
        out = F.instance_norm(
            input[None] if lone else input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return out[0] if lone else out


class InstanceNorm1d(_InstanceNorm):
    """Normalization of each channel of each sample: (N, C, L)."""

    _ranks = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Normalization of each channel of each sample: (N, C, H, W)."""

    _ranks = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Normalization of each channel of each sample: (N, C, D, H, W)."""

    _ranks = (4, 5)


# ---- normalization of each sample ----------------------------------------------------------


class _OverLast(_Scaled):
    """What normalizations over the last dimensions share."""

    def _over(self, normalized_shape: Any, eps: float | None, elementwise_affine: bool) -> None:
        super().__init__()
        lone = isinstance(normalized_shape, int)
        self.normalized_shape: tuple[int, ...] = (
            (normalized_shape,) if lone else tuple(normalized_shape)
        )
        self.eps = eps
        self.elementwise_affine = elementwise_affine

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class LayerNorm(_OverLast):
    """Normalization over the last dimensions, of shape `normalized_shape`."""

    eps: float

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        self._over(normalized_shape, eps, elementwise_affine)
        wanted = {"weight": elementwise_affine, "bias": elementwise_affine and bias}
        self._scale(self.normalized_shape, device, dtype, **wanted)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, bias={self.bias is not None}"


class RMSNorm(_OverLast):
    """Division by the root mean square over the last dimensions."""

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        self._over(normalized_shape, eps, elementwise_affine)
        self._scale(self.normalized_shape, device, dtype, weight=elementwise_affine)

    def forward(self, input: Tensor) -> Tensor:
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)


class GroupNorm(_Scaled):
    """Normalization of groups of channels of each sample."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self._scale(num_channels, device, dtype, weight=affine, bias=affine and bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class _OverChannels(Applied, function=None):
    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class LocalResponseNorm(_OverChannels, function=F.local_response_norm):
    """Division by a power of the mean square of neighbouring channels."""

    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 1.0


class CrossMapLRN2d(_OverChannels, function=F.local_response_norm):
    """x / (k + alpha / size * sum of squares over neighbouring channels)^beta."""

    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 1
