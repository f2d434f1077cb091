"""Lazy modules: how many inputs they have, their first input tells."""

from __future__ import annotations

from typing import Any, ClassVar

from wengert.history import surroundings
from wengert.nn.layers import convolution, linear, normalization
from wengert.nn.layers.applied import beginning_with
from wengert.nn.module import Module
from wengert.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy
from wengert.tensor import Tensor


class LazyModuleMixin(Module):
    """What lazy modules share: they wait for the first input, then become an ordinary module."""

    cls_to_become: ClassVar[type[Module] | None] = None

    def _wait(self) -> None:
        """Forget the shapes of parameters and buffers, until the first input comes."""
        for name, old in self._parameters.items():
            if old is not None:
                self._parameters[name] = UninitializedParameter(dtype=old.dtype)
        for name, kept in self._buffers.items():
            if kept is not None and kept.ndim:
                self._buffers[name] = UninitializedBuffer(dtype=kept.dtype)
        self._load_hook = self._register_load_state_dict_pre_hook(_take_shapes, with_module=True)
        self._initialize_hook = self.register_forward_pre_hook(_first_input, with_kwargs=True)

    def has_uninitialized_params(self) -> bool:
        """Whether the module still waits for its first input."""
        return any(map(is_lazy, (*self._parameters.values(), *self._buffers.values())))

    def initialize_parameters(self, input: Any) -> None:
        """Give parameters and buffers the shapes that the first input asks for, and values."""
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}"
        )


def _first_input(module: Any, args: Any, kwargs: Any) -> None:
    for tell in surroundings.BEFORE_ONCE:
        tell()
    module.initialize_parameters(*args, **kwargs)
    if module.has_uninitialized_params():
        raise RuntimeError(f"module {module._get_name()} has not been fully initialized")
    module._initialize_hook.remove()
    module._load_hook.remove()
    del module._initialize_hook, module._load_hook
    if module.cls_to_become is not None:
        module.__class__ = module.cls_to_become


def _take_shapes(module: Any, state: Any, prefix: str, *rest: Any) -> None:
    """Shapes come from a loaded state as well."""
    for name, tensor in (*module._parameters.items(), *module._buffers.items()):
        given = state.get(prefix + name)
        if is_lazy(tensor) and isinstance(given, Tensor) and not is_lazy(given):
            tensor.materialize(tuple(given.shape))


class _Lazy(LazyModuleMixin):
    """A lazy module that becomes the last of the classes it is derived from."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        ordinary: Any = cls.__bases__[-1]
        if not issubclass(ordinary, LazyModuleMixin):
            cls.cls_to_become = ordinary

    def _take(self, **shapes: tuple[int, ...]) -> None:
        """Give the parameters that there are these shapes."""
        waiting: dict[str, Any] = {n: self._parameters[n] for n in shapes}
        for name, parameter in waiting.items():
            if parameter is not None:
                parameter.materialize(shapes[name])


class LazyLinear(_Lazy, linear.Linear):
    """A Linear that takes its `in_features` from its first input.

    >>> import wengert as wg
    >>> layer = LazyLinear(2)
    >>> _ = layer(wg.zeros(1, 3))
    >>> layer
    Linear(in_features=3, out_features=2, bias=True)
    """

    @beginning_with(0, linear.Linear.__init__)
    def __init__(self) -> None:
        self._wait()

    def initialize_parameters(self, input: Tensor) -> None:
        if self.has_uninitialized_params():
            self.in_features = input.shape[-1]
            self._take(weight=(self.out_features, self.in_features), bias=(self.out_features,))
            self.reset_parameters()
        elif self.in_features == 0:  # its state was loaded
            self.in_features = self.weight.shape[1]


class _LazyConvolution(_Lazy, convolution._Convolution):
    def initialize_parameters(self, input: Tensor, *rest: Any) -> None:
        n = self._n
        if input.ndim not in (n + 1, n + 2):
            raise RuntimeError(
                f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to "
                f"{self._get_name()}, but got input of size: {tuple(input.shape)}"
            )
        self.in_channels = input.shape[-n - 1]
        if self.in_channels % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        if not self.has_uninitialized_params():
            return
        self._take(weight=self._weight_shape(), bias=(self.out_channels,))
        self.reset_parameters()


class _LazyConv(_LazyConvolution):
    @beginning_with(0, convolution._Conv.__init__)
    def __init__(self) -> None:
        self._wait()


class _LazyConvTranspose(_LazyConvolution):
    @beginning_with(0, convolution._ConvTranspose.__init__)
    def __init__(self) -> None:
        self._wait()


class LazyConv1d(_LazyConv, convolution.Conv1d):
    """A Conv1d that takes its `in_channels` from its first input."""


class LazyConv2d(_LazyConv, convolution.Conv2d):
    """A Conv2d that takes its `in_channels` from its first input."""


class LazyConv3d(_LazyConv, convolution.Conv3d):
    """A Conv3d that takes its `in_channels` from its first input."""


class LazyConvTranspose1d(_LazyConvTranspose, convolution.ConvTranspose1d):
    """A ConvTranspose1d that takes its `in_channels` from its first input."""


class LazyConvTranspose2d(_LazyConvTranspose, convolution.ConvTranspose2d):
    """A ConvTranspose2d that takes its `in_channels` from its first input."""


class LazyConvTranspose3d(_LazyConvTranspose, convolution.ConvTranspose3d):
    """A ConvTranspose3d that takes its `in_channels` from its first input."""


class _LazyNorm(_Lazy, normalization._Norm):
    @beginning_with(0, normalization._Norm.__init__)
    def __init__(self) -> None:
        self._wait()

    def initialize_parameters(self, input: Tensor) -> None:
        self._check(input)
        lone = input.ndim < max(self._ranks) and isinstance(self, normalization._InstanceNorm)
        self.num_features = input.shape[0 if lone else 1]
        if self.has_uninitialized_params():
            tensors: list[Any] = [*self._parameters.values(), *self._buffers.values()]
            for tensor in filter(is_lazy, tensors):
                tensor.materialize((self.num_features,))
            self.reset_parameters()


class LazyBatchNorm1d(_LazyNorm, normalization.BatchNorm1d):
    """A BatchNorm1d that takes its `num_features` from its first input."""


class LazyBatchNorm2d(_LazyNorm, normalization.BatchNorm2d):
    """A BatchNorm2d that takes its `num_features` from its first input."""


class LazyBatchNorm3d(_LazyNorm, normalization.BatchNorm3d):
    """A BatchNorm3d that takes its `num_features` from its first input."""


class LazyInstanceNorm1d(_LazyNorm, normalization.InstanceNorm1d):
    """An InstanceNorm1d that takes its `num_features` from its first input."""


class LazyInstanceNorm2d(_LazyNorm, normalization.InstanceNorm2d):
    """An InstanceNorm2d that takes its `num_features` from its first input."""


class LazyInstanceNorm3d(_LazyNorm, normalization.InstanceNorm3d):
    """An InstanceNorm3d that takes its `num_features` from its first input."""
