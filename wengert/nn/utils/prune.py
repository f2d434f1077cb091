"""Pruning: weights set to 0 by a mask that is kept beside them.

A pruned parameter `weight` becomes `weight_orig`, which is still learned, and a buffer
`weight_mask`; before each forward pass `weight` is their product. `remove` makes it permanent.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from wengert.functions.random import numbers_of
from wengert.nn.functional.shared import reshape
from wengert.nn.module import Module
from wengert.tensor import Tensor, wrap


class BasePruningMethod:
    """A way to choose what is pruned: subclasses write `compute_mask`.

    `PRUNING_TYPE` says what their amount counts where some is pruned already: `unstructured` counts
    the numbers that are left, `structured` the slices along `dim`, `global` everything.
    """

    PRUNING_TYPE: ClassVar[str]
    _tensor_name: str

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask, 0 where a number is pruned and 1 elsewhere, for a tensor of importances."""
        raise NotImplementedError

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    def apply_mask(self, module: Module) -> Tensor:
        """The parameter times its mask."""
        name = self._tensor_name
        mask, original = getattr(module, name + "_mask"), getattr(module, name + "_orig")
        return mask.to(original.dtype) * original

    def prune(
        self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None
    ) -> Tensor:
        """A pruned copy of a tensor."""
        default_mask = _ones(t) if default_mask is None else default_mask
        scores = t if importance_scores is None else importance_scores
        _check_scores(scores, t)
        return t * self.compute_mask(scores, default_mask)

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any
    ) -> Any:
        """Prune the parameter `name`, on top of what prunes it already."""
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        old = _hook_of(module, name)
        if old is not None:
            container = PruningContainer(old[1])
            container.add_pruning_method(method)
            del module._forward_pre_hooks[old[0]]
            method = container
        original = getattr(module, name + "_orig") if old else getattr(module, name)
        scores = original if importance_scores is None else importance_scores
        _check_scores(scores, original)
        before = getattr(module, name + "_mask") if old else _ones(original)
        mask = method.compute_mask(scores.detach(), before)
        if old is None:
            del module._parameters[name]
            module.register_parameter(name + "_orig", original)
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def remove(self, module: Module) -> None:
        """Make the pruned values the parameter's own."""
        name = self._tensor_name
        original = getattr(module, name + "_orig")
        original.data = self.apply_mask(module).detach()
        for suffix in ("", "_mask", "_orig"):
            delattr(module, name + suffix)
        module.register_parameter(name, original)


def _ones(t: Tensor) -> Tensor:
    return wrap(np.ones_like(t._array))


def _check_scores(scores: Tensor, t: Tensor) -> None:
    if scores.shape != t.shape:
        raise AssertionError(
            f"importance_scores should have the same shape as tensor {tuple(t.shape)}, got "
            f"{tuple(scores.shape)}"
        )


def _hook_of(module: Module, name: str) -> tuple[int, Any] | None:
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return key, hook
    return None


class PruningContainer(BasePruningMethod):
    """Several methods on one parameter; each chooses among what the ones before have left."""

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        for method in args[0] if len(args) == 1 and isinstance(args[0], Iterable) else args:
            if not self._pruning_methods:
                self._tensor_name = method._tensor_name
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Add one that prunes further."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method._tensor_name != self._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def __getitem__(self, i: Any) -> Any:
        return self._pruning_methods[i]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The old mask, with what the last method prunes of the rest."""
        method: Any = self._pruning_methods[-1]
        mask = default_mask._array.copy()
        if method.PRUNING_TYPE == "unstructured":
            part: Any = mask == 1
        elif method.PRUNING_TYPE == "structured":
            axis = method.dim % mask.ndim
            others = tuple(d for d in range(mask.ndim) if d != axis)
            part = (slice(None),) * axis + (np.flatnonzero(mask.any(axis=others)),)
        elif method.PRUNING_TYPE == "global":
            part = (slice(None),) * mask.ndim
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        chosen = method.compute_mask(wrap(t._array[part]), wrap(mask[part]))
        mask[part] = chosen._array
        return wrap(mask)


# ---- how much ------------------------------------------------------------------------------


def _check_amount(amount: Any) -> None:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    whole = isinstance(amount, numbers.Integral)
    if float(amount) < 0 or (not whole and float(amount) > 1.0):
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative "
            "integer"
        )


def _count(amount: Any, n: int) -> int:
    """How many of n: a number of them, or a fraction."""
    if isinstance(amount, numbers.Integral):
        if int(amount) > n:
            raise ValueError(
                f"amount={amount} should be smaller than the number of parameters to prune={n}"
            )
        return int(amount)
    return round(amount * n)


def _without(mask: Tensor, places: Any) -> Tensor:
    """The mask with these places, of all numbers in a row, set to 0."""
    out = mask._array.copy()
    out.reshape(-1)[places] = 0
    return wrap(out)


# ---- ways to choose ------------------------------------------------------------------------


class Identity(BasePruningMethod):
    """Prunes nothing, but makes the mask."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class _Amount(BasePruningMethod):
    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: Any) -> None:
        _check_amount(amount)
        self.amount = amount


class RandomUnstructured(_Amount):
    """Numbers at random."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        n = t._array.size
        count = _count(self.amount, n)
        return _without(default_mask, numbers_of(None).permutation(n)[:count])


class L1Unstructured(_Amount):
    """The numbers of least absolute value."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = _count(self.amount, t._array.size)
        order = np.argsort(np.abs(t._array).reshape(-1), kind="stable")
        return _without(default_mask, order[:count])


class _Structured(_Amount):
    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def _slices(self, t: Tensor) -> int:
        if t.ndim <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found "
                f"tensor of shape {tuple(t.shape)} with {t.ndim} dims"
            )
        if not -t.ndim <= self.dim < t.ndim:
            raise IndexError(f"Invalid index {self.dim} for tensor of size {tuple(t.shape)}")
        return t.shape[self.dim]

    def _without_slices(self, mask: Tensor, slices: Any) -> Tensor:
        out = mask._array.copy()
        np.moveaxis(out, self.dim, 0)[slices] = 0
        return wrap(out)


class RandomStructured(_Structured):
    """Whole slices along `dim` at random."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        n = self._slices(t)
        chosen = numbers_of(None).permutation(n)[: _count(self.amount, n)]
        return self._without_slices(default_mask, chosen)


class LnStructured(_Structured):
    """The slices along `dim` of least n-norm."""

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        slices = self._slices(t)
        flat = np.moveaxis(t._array, self.dim, 0).reshape(slices, -1)
        sizes = np.linalg.norm(flat, None if self.n == "fro" else self.n, axis=1)
        order = np.argsort(sizes, kind="stable")
        return self._without_slices(default_mask, order[: _count(self.amount, slices)])


class CustomFromMask(BasePruningMethod):
    """What a given mask says."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"mask of shape {tuple(self.mask.shape)} for a parameter of shape "
                f"{tuple(default_mask.shape)}"
            )
        return default_mask * self.mask.to(default_mask.dtype)


# ---- what users call -----------------------------------------------------------------------


def identity(module: Module, name: str) -> Module:
    """Give a parameter a mask of ones."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: Any) -> Module:
    """Prune `amount` numbers (an int), or that fraction of them (a float), at random."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: Module, name: str, amount: Any, importance_scores: Tensor | None = None
) -> Module:
    """Prune the numbers of least absolute value, or of least `importance_scores`.

    >>> import wengert as wg
    >>> layer = wg.nn.Linear(3, 1, bias=False)
    >>> layer.weight.data = wg.tensor([[1.0, -3.0, 2.0]])
    >>> l1_unstructured(layer, "weight", 2).weight
    tensor([[ 0., -3.,  0.]], grad_fn=<MulBackward0>)
    >>> list(layer.state_dict())
    ['weight_orig', 'weight_mask']
    """
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: Any, dim: int) -> Module:
    """Prune whole slices along `dim` at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module,
    name: str,
    amount: Any,
    n: Any,
    dim: int,
    importance_scores: Tensor | None = None,
) -> Module:
    """Prune the slices along `dim` of least n-norm."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune where `mask` is 0."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune several parameters as if they were one long vector."""
    places = list(parameters)
    if not places:
        raise TypeError("global_unstructured(): there are no parameters to prune")
    scores = importance_scores or {}
    values = [scores.get(place, getattr(*place)).detach() for place in places]
    masks = [getattr(m, f"{n}_mask", None) for m, n in places]
    given = zip(masks, values, strict=True)
    flat = lambda tensors: wrap(np.concatenate([t._array.reshape(-1) for t in tensors]))
    before = flat([_ones(v) if m is None else m for m, v in given])
    method: Any = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE is supported for `global_unstructured`, got '
            f"{method.PRUNING_TYPE}"
        )
    method._tensor_name = "temp"
    container = PruningContainer(method)
    final = container.compute_mask(flat(values), before)._array
    start = 0
    for (module, name), value in zip(places, values, strict=True):
        n = value._array.size
        custom_from_mask(module, name, reshape(wrap(final[start : start + n]), value.shape))
        start += n


def remove(module: Module, name: str) -> Module:
    """Make pruning permanent: the parameter is an ordinary one again, with its zeros."""
    hook = _hook_of(module, name)
    if hook is None:
        raise ValueError(
            f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
        )
    hook[1].remove(module)
    del module._forward_pre_hooks[hook[0]]
    return module


def is_pruned(module: Module) -> bool:
    """Whether anything in the module, or below, is pruned."""
    return any(
        isinstance(hook, BasePruningMethod)
        for m in module.modules()
        for hook in m._forward_pre_hooks.values()
    )
