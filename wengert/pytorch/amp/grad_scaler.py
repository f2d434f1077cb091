"""Losses scaled so that gradients of 16 bits neither vanish nor overflow."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from wengert.arrays.kind import kind_of
from wengert.errors import TracingError
from wengert.history.location import here, line_of, stacklevel
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
            warnings.warn(
                f"GradScaler is enabled, but {device.upper()} is not available. Disabling.",
                UserWarning,
                stacklevel=stacklevel(),
            )
            enabled = False
        if enabled and growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if enabled and backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._enabled = enabled
        self._scale = init_scale
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._good_steps = 0
        self._unscaled: dict[int, bool] = {}  # of optimizers, by id: whether infinite ones appeared
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
        if id(optimizer) in self._unscaled:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        infinite = False
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p._grad is not None:
                    _check_is_known(p._grad._array)
                    p._grad._array *= np.asarray(1 / self._scale, p._grad._array.dtype)
                    infinite = infinite or not np.isfinite(p._grad._array).all()
        self._unscaled[id(optimizer)] = infinite

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """The optimizer's step, on unscaled gradients, unless they hold inf or nan."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        if id(optimizer) in self._stepped:
            raise RuntimeError("step() has already been called since the last update().")
        if id(optimizer) not in self._unscaled:
            self.unscale_(optimizer)
        self._stepped.add(id(optimizer))
        if self._unscaled[id(optimizer)]:
            return None
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale: Any = None) -> None:
        """Adapt the scale to what the steps since the last call have found."""
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        elif not self._unscaled:
            raise AssertionError("No inf checks were recorded prior to update.")
        elif any(self._unscaled.values()):
            self._scale *= self._backoff_factor
            self._good_steps = 0
        else:
            self._good_steps += 1
            if self._good_steps == self._growth_interval:
                self._scale *= self._growth_factor
                self._good_steps = 0
        self._unscaled.clear()
        self._stepped.clear()

    def get_scale(self) -> float:
        """The scale; 1 if nothing is scaled."""
        return self._scale if self._enabled else 1.0

    def state_dict(self) -> dict[str, Any]:
        """The scale and how it changes; empty if nothing is scaled."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale,
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._good_steps,
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
        self._scale = state_dict["scale"]
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._good_steps = state_dict["_growth_tracker"]


def _check_is_known(gradient: Any) -> None:
    """A compiled function cannot leave a step out by numbers that it does not know yet."""
    if kind_of(gradient).runs_later:
        raise TracingError(
            f"GradScaler.step() in a compiled function, at\n  {line_of(*here())}\n"
            "It leaves a step out if gradients are infinite. Give GradScaler enabled=False, for "
            "bfloat16 and float32 need no scale; or compile the loss and its backward(), and step "
            "outside."
        )


_lacking(__name__)
