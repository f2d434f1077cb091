"""Ready-made parametrizations: weights of unit norm, of unit spectral norm, orthogonal ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.autograd.engine import mark_written
from wengert.functions.random import gaussian
from wengert.nn.functional.shared import apply, rows_of, total
from wengert.nn.layers.convolution import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from wengert.nn.module import Module
from wengert.nn.utils import parametrize
from wengert.tensor import Tensor, wrap


def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norm over all dimensions but one, which are kept; over all for dim=-1, as in PyTorch."""
    if dim == -1:
        return v.norm(pow)
    others = tuple(d for d in range(v.ndim) if d != dim % v.ndim)
    if pow == 2:
        return apply(np.sqrt, total(v * v, others, True))
    return total(v.abs() ** pow, others, True) ** (1 / pow)


class _WeightNorm(Module):
    """weight = g v / |v|."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_v * (weight_g / norm_except_dim(weight_v, 2, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Length and direction of a weight as parameters of their own (Salimans and Kingma, 2016).

    weight = g v / |v|, with a norm for each index along `dim`, or one for all if that is None. g
    and v are `parametrizations.weight.original0` and `.original1`.

    >>> import wengert as wg
    >>> layer = weight_norm(wg.nn.Linear(3, 2))
    >>> [tuple(p.shape) for p in layer.parameters()]
    [(2,), (2, 1), (2, 3)]
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def old_names(state: dict[str, Any], prefix: str, *rest: Any) -> None:
        """What `nn.utils.weight_norm` saved, under its names."""
        for old, new in (("_g", "original0"), ("_v", "original1")):
            if f"{prefix}{name}{old}" in state:
                state[f"{prefix}parametrizations.{name}.{new}"] = state.pop(f"{prefix}{name}{old}")

    module._register_load_state_dict_pre_hook(old_names)
    return module


# ---- spectral norm -------------------------------------------------------------------------


def unit(x: Any, eps: float) -> Any:
    return x / np.maximum(np.linalg.norm(x), eps)


def power_iteration(matrix: Any, u: Tensor, v: Tensor, times: int, eps: float) -> None:
    """Move u and v, in place, towards the singular vectors of the largest singular value."""
    for _ in range(times):
        u._array[...] = unit(matrix @ v._array, eps)
        v._array[...] = unit(matrix.T @ u._array, eps)
    mark_written(u, "spectral_norm")
    mark_written(v, "spectral_norm")


class _SpectralNorm(Module):
    """weight / sigma, with sigma = u^T W v estimated by power iteration."""

    _u: Tensor
    _v: Tensor

    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        if not -weight.ndim <= dim < weight.ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{weight.ndim}, "
                f"{weight.ndim - 1}] but got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.dim = dim % weight.ndim
        self.eps = eps
        self.n_power_iterations = n_power_iterations
        if weight.ndim > 1:
            matrix = rows_of(weight.detach(), self.dim)._array
            for name, n in (("_u", matrix.shape[0]), ("_v", matrix.shape[1])):
                self.register_buffer(name, wrap(unit(gaussian((n,), weight.dtype, None), eps)))
            power_iteration(matrix, self._u, self._v, 15, eps)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return weight / total(weight * weight) ** 0.5
        matrix = rows_of(weight, self.dim)
        if self.training:
            power_iteration(
                matrix.detach()._array, self._u, self._v, self.n_power_iterations, self.eps
            )
        u, v = self._u.clone(), self._v.clone()  # they may change before the way back
        return weight / (u @ (matrix @ v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value  # that its norm is 1 is for whoever assigns it to see to


def _tensor_of(module: Module, name: str) -> Tensor:
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """The weight divided by its largest singular value (Miyato et al., 2018).

    That is estimated by power iteration, one step for each forward pass in training. `dim` counts
    the outputs: 1 for transposed convolutions, else 0, unless given.
    """
    weight = _tensor_of(module, name)
    dim = output_dim(module) if dim is None else dim
    normalized = _SpectralNorm(weight, n_power_iterations, dim, eps)
    return parametrize.register_parametrization(module, name, normalized)


def output_dim(module: Module) -> int:
    """Which dimension of a module's weight counts its outputs."""
    return int(isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)))


# ---- orthogonal weights --------------------------------------------------------------------


class _Orthogonal(Module):
    """Q A(X), with A(X) orthogonal for every X; Q, `base`, lets X start where A is the identity."""

    base: Tensor | None

    def __init__(self, weight: Tensor, orthogonal_map: str) -> None:
        super().__init__()
        self.shape = tuple(weight.shape)
        self.orthogonal_map = orthogonal_map
        self.register_buffer("base", None)

    def forward(self, x: Tensor) -> Tensor:
        wide = x.shape[-2] < x.shape[-1]
        x = x.mT if wide else x
        n, k = x.shape[-2:]
        skew = self._skew(x, n, k)
        if self.orthogonal_map == "matrix_exp":
            q = skew.matrix_exp()
        else:
            eye = wrap(np.eye(n, dtype=x.dtype))
            q = apply(np.linalg.solve, eye - skew * 0.5, eye + skew * 0.5)  # Cayley's map
        q = q[..., :k]
        q = q if self.base is None else self.base @ q
        return q.mT if wide else q

    def _skew(self, x: Tensor, n: int, k: int) -> Tensor:
        lower = x.tril(-1)
        if n != k:
            none = wrap(np.zeros((*x.shape[:-1], n - k), x.dtype))
            lower = apply(np.concatenate, [lower, none], lower.ndim - 1)
        return lower - lower.mT

    def right_inverse(self, weight: Tensor) -> Tensor:
        """X = 0, with a base that has the weight's directions for its first columns."""
        if tuple(weight.shape) != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of "
                f"shape {tuple(weight.shape)}."
            )
        array = weight.detach()._array
        array = np.swapaxes(array, -1, -2) if array.shape[-2] < array.shape[-1] else array
        q, r = np.linalg.qr(array, mode="complete")
        # The sign of each column is free: such that an orthogonal weight stays what it is.
        diagonal = np.diagonal(r, axis1=-2, axis2=-1)
        signs = np.where(diagonal < 0, -1, 1).astype(q.dtype)
        q[..., : signs.shape[-1]] *= signs[..., None, :]
        self.base = wrap(q)
        return wrap(np.zeros_like(weight._array))


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Module:
    """The weight as an orthogonal matrix, or with orthonormal rows or columns (Lezcano, 2019).

    weight = Q exp(A), with A = X - X^T skew-symmetric and Q where it began, or Cayley's map of A
    for `orthogonal_map="cayley"`. Householder reflections are not available.
    """
    weight = _tensor_of(module, name)
    if weight.ndim < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions."
        )
    orthogonal_map = orthogonal_map or "matrix_exp"
    if orthogonal_map not in ("matrix_exp", "cayley", "householder"):
        raise ValueError(
            'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: '
            f"{orthogonal_map}"
        )
    if orthogonal_map == "householder" or not use_trivialization:
        raise NotImplementedError(
            "orthogonal: maps are 'matrix_exp' and 'cayley', with use_trivialization=True; "
            "Householder reflections are not available"
        )
    matrix = _Orthogonal(weight, orthogonal_map)
    return parametrize.register_parametrization(module, name, matrix, unsafe=True)
