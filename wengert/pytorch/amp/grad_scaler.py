"""Losses scaled so that gradients of 16 bits neither vanish nor overflow."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from wengert.dispatch import supposed
from wengert.dtypes import float32, int32
from wengert.functions.creation import as_tensor, tensor
from wengert.history.location import warn
from wengert.history.modes import no_grad
from wengert.history.surroundings import IN_TENSORS
from wengert.imports import lacking as _lacking
from wengert.tensor import Tensor


class GradScaler:
    """Multiplies losses by a scale that it learns, and divides gradients by it before each step.

    A step whose gradients hold inf or nan is left out, and the scale multiplied by
    `backoff_factor`; after `growth_interval` good steps it is multiplied by `growth_factor`. For a
    GPU, of which there is none, it is switched off with a warning, as PyTorch does.

    >>> import wengert as wg
    >>> w = wg.tensor([1.0], requires_grad=True)
    >>> optimizer, scaler = wg.optim.SGD([w], lr=0.1), GradScaler("cpu")
    >>> scaler.scale((w * w).sum()).backward()
    >>> _ = scaler.step(optimizer)
    >>> scaler.update()
    >>> w
    tensor([0.8000], requires_grad=True)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if enabled and device != "cpu":
            warn(f"GradScaler is enabled, but {device.upper()} is not available. Disabling.")
            enabled = False
        if enabled and growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if enabled and backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._enabled = enabled
        # Tensors, as a compiled step that changes them writes its state.
        self._scale = tensor(init_scale, dtype=float32)
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._good_steps = tensor(0, dtype=int32)
        self._finite: dict[int, Any] = {}  # whether gradients are, of unscaled optimizers, by id
        self._stepped: set[int] = set()

    def is_enabled(self) -> bool:
        """Whether anything is scaled."""
        return self._enabled

    def scale(self, outputs: Any) -> Any:
        """A loss, or several in a list or tuple, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(self.scale(x) for x in outputs)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients by the scale now: to clip them before `step`, for instance."""
        if not self._enabled:
            return
        if id(optimizer) in self._stepped:
            raise RuntimeError("unscale_() is being called after step().")
        if id(optimizer) in self._finite:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        inverse = (1 / self._scale._array.astype(np.float64)).astype(np.float32)
        finite = np.bool_(True)
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p._grad is not None:
                    p._grad._array *= inverse.astype(p._grad.dtype)
                    finite = finite & np.isfinite(p._grad._array).all()
        self._finite[id(optimizer)] = finite

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """The optimizer's step, on unscaled gradients, unless they hold inf or nan."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        if id(optimizer) in self._stepped:
            raise RuntimeError("step() has already been called since the last update().")
        if id(optimizer) not in self._finite:
            self.unscale_(optimizer)
        self._stepped.add(id(optimizer))
        return optimizer.step(*args, **kwargs) if supposed(self._finite[id(optimizer)]) else None

    def update(self, new_scale: Any = None) -> None:
        """Adapt the scale to what the steps since the last call have found."""
        if not self._enabled:
            return
        if new_scale is not None:
            self._set(scale=new_scale)
        elif not self._finite:
            raise AssertionError("No inf checks were recorded prior to update.")
        else:
            self._adapt(functools.reduce(operator.and_, self._finite.values()))
        self._finite.clear()
        self._stepped.clear()

    def _adapt(self, finite: Any) -> None:
        scale, steps = self._scale._array, self._good_steps._array + 1
        grown, smaller = scale * self._growth_factor, scale * self._backoff_factor
        grows = finite & (steps == self._growth_interval)
        kept = np.where(grows & np.isfinite(grown), grown, scale)
        self._set(np.where(finite, kept, smaller), np.where(finite & ~grows, steps, 0))

    def _set(self, scale: Any, good_steps: Any = None) -> None:
        with no_grad():
            self._scale.copy_(as_tensor(scale))
            if good_steps is not None:
                self._good_steps.copy_(as_tensor(good_steps))

    def get_scale(self) -> float:
        """The scale; 1 if nothing is scaled."""
        return self._scale.item() if self._enabled else 1.0

    def state_dict(self) -> dict[str, Any]:
        """The scale and how it changes; empty if nothing is scaled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._good_steps.item(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled "
                "instance of GradScaler."
            )
        self._set(state_dict["scale"], state_dict["_growth_tracker"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]


IN_TENSORS.append(GradScaler)
_lacking(__name__)
