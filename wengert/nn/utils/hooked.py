"""Weights computed by a hook before each forward pass: the older weight and spectral norm.

New programs use those of `nn.utils.parametrizations`.
"""

from __future__ import annotations

from typing import Any

from wengert.functions.random import gaussian
from wengert.history import modes
from wengert.history.location import warn
from wengert.nn.functional.shared import rows_of
from wengert.nn.module import Module
from wengert.nn.parameter import Parameter
from wengert.nn.utils.parametrizations import norm_except_dim, output_dim, power_iteration, unit
from wengert.tensor import Tensor, wrap


class _Hook:
    """A pre-forward hook that computes the attribute `name` of a module."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute(module))

    def compute(self, module: Module) -> Tensor:
        raise NotImplementedError

    def install(self, module: Module) -> None:
        for hook in module._forward_pre_hooks.values():
            if type(hook) is type(self) and hook.name == self.name:
                raise RuntimeError(
                    f"Cannot register two {type(self).__name__} hooks on the same parameter "
                    f"{self.name}"
                )

    def _replaces(self, module: Module, **parameters: Tensor) -> None:
        """Put other parameters in the place of the weight, which becomes an attribute."""
        del module._parameters[self.name]
        for suffix, value in parameters.items():
            parameter = value if isinstance(value, Parameter) else Parameter(value.detach())
            module.register_parameter(self.name + suffix, parameter)
        setattr(module, self.name, self.first(module))
        module.register_forward_pre_hook(self)

    def first(self, module: Module) -> Tensor:
        """The attribute until the first pass: it has memory of its own, as PyTorch's has."""
        return self.compute(module)

    def remove(self, module: Module, *suffixes: str) -> None:
        with modes.no_grad():
            weight = self.compute(module)
        delattr(module, self.name)
        for suffix in suffixes:
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))


def _removed(module: Module, name: str, kind: type[_Hook], what: str) -> Any:
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, kind) and hook.name == name:
            del module._forward_pre_hooks[key]
            return hook
    raise ValueError(f"{what} of '{name}' not found in {module}")


class WeightNorm(_Hook):
    """weight = g v / |v|, of the parameters `weight_g` and `weight_v`."""

    def __init__(self, name: str, dim: int) -> None:
        super().__init__(name)
        self.dim = dim

    def compute(self, module: Module) -> Tensor:
        g, v = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return v * (g / norm_except_dim(v, 2, self.dim))


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Length and direction of a weight as parameters `weight_g` and `weight_v`.

    Deprecated in favour of `nn.utils.parametrizations.weight_norm`.
    """
    warn(
        "`nn.utils.weight_norm` is deprecated in favor of `nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
    )
    hook = WeightNorm(name, -1 if dim is None else dim)
    hook.install(module)
    weight = getattr(module, name)
    with modes.no_grad():
        length = norm_except_dim(weight, 2, hook.dim)
    hook._replaces(module, _g=length, _v=weight.detach())
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Make the weight an ordinary parameter again."""
    _removed(module, name, WeightNorm, "weight_norm").remove(module, "_g", "_v")
    return module


class SpectralNorm(_Hook):
    """weight_orig / sigma, with sigma = u^T W v estimated by power iteration."""

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        super().__init__(name)
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.n_power_iterations = n_power_iterations
        self.dim = dim
        self.eps = eps

    def compute(self, module: Module) -> Tensor:
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = rows_of(weight, self.dim)
        if module.training:
            turned = matrix.detach()._array.T  # here v moves first
            power_iteration(turned, v, u, self.n_power_iterations, self.eps)
        return weight / (u.clone() @ (matrix @ v.clone()))

    def first(self, module: Module) -> Tensor:
        return getattr(module, self.name + "_orig").detach()  # whose memory it shares in PyTorch


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """The weight divided by its largest singular value, of the parameter `weight_orig`.

    New programs use `nn.utils.parametrizations.spectral_norm`.
    """
    hook = SpectralNorm(name, n_power_iterations, output_dim(module) if dim is None else dim, eps)
    hook.install(module)
    weight = module._parameters.get(name)
    if weight is None:
        raise ValueError(f"Module '{module}' has no parameter with name '{name}'")
    matrix = rows_of(weight.detach(), hook.dim)._array
    for suffix, n in (("_u", matrix.shape[0]), ("_v", matrix.shape[1])):
        start = unit(gaussian((n,), weight.dtype, None), eps)
        module.register_buffer(name + suffix, wrap(start))
    hook._replaces(module, _orig=weight)
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Make the weight, divided, an ordinary parameter again."""
    hook = _removed(module, name, SpectralNorm, "spectral_norm")
    hook.remove(module, "_orig", "_u", "_v")
    return module
