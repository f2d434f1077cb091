"""Optimizers of variables, with Keras's formulas and defaults."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from wengert.history.location import warn
from wengert.tape.variables import Variable


class Optimizer:
    """What the optimizers share: `apply_gradients`, and a state for each variable."""

    def __init__(self, learning_rate: float) -> None:
        if not learning_rate >= 0:
            raise ValueError(f"learning_rate={learning_rate} is not a number from 0 on")
        self.learning_rate = learning_rate
        self.iterations = 0
        self._state: dict[int, tuple[Variable, dict[str, Any]]] = {}

    def apply_gradients(self, grads_and_vars: Iterable[tuple[Any, Variable]]) -> None:
        """One step: pairs of a gradient and its variable, as `zip(grads, variables)` gives them.

        A variable whose gradient is None is left alone, with a warning; ValueError if all are.
        """
        pairs = list(grads_and_vars)
        for _, variable in pairs:
            if not isinstance(variable, Variable):
                raise TypeError(
                    f"apply_gradients takes pairs of a gradient and a Variable, but got "
                    f"{type(variable).__name__} for a variable: zip(grads, variables), in this "
                    "order"
                )
        without = [variable.name for gradient, variable in pairs if gradient is None]
        if len(without) == len(pairs):
            raise ValueError(
                f"No gradients provided for any variable: {without}. The loss has to be computed "
                "from them inside the tape's with block, by tensor functions."
            )
        if without:
            warn(f"Gradients do not exist for variables {without} when minimizing the loss.")
        self.iterations += 1
        for gradient, variable in pairs:
            if gradient is not None:
                _, state = self._state.setdefault(id(variable), (variable, {}))
                self._step(np.asarray(gradient), variable, state)

    def _step(self, g: np.ndarray, variable: Variable, state: dict[str, Any]) -> None:
        raise NotImplementedError


class SGD(Optimizer):
    """v ← momentum v - lr g;  w ← w + v, or with nesterov w ← w + momentum v - lr g.

    >>> w = Variable([1.0, 2.0])
    >>> SGD(0.5).apply_gradients([([1.0, 1.0], w)])
    >>> w.numpy()
    array([0.5, 1.5], dtype=float32)
    """

    def __init__(
        self, learning_rate: float = 0.01, momentum: float = 0.0, nesterov: bool = False
    ) -> None:
        super().__init__(learning_rate)
        if not 0 <= momentum <= 1:
            raise ValueError(f"momentum={momentum} is not between 0 and 1")
        self.momentum = momentum
        self.nesterov = nesterov

    def _step(self, g: np.ndarray, variable: Variable, state: dict[str, Any]) -> None:
        update = -self.learning_rate * g
        if self.momentum:
            velocity = state["v"] = self.momentum * state.get("v", 0.0) + update
            update = self.momentum * velocity + update if self.nesterov else velocity
        variable.assign_add(update)


class Adam(Optimizer):
    """Kingma and Ba (2015), in the form that ends their section 2.

    m ← m + (1 - β₁)(g - m);  v ← v + (1 - β₂)(g² - v)
    w ← w - lr √(1 - β₂ᵗ) / (1 - β₁ᵗ) · m / (√v + epsilon)
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
    ) -> None:
        super().__init__(learning_rate)
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon

    def _step(self, g: np.ndarray, variable: Variable, state: dict[str, Any]) -> None:
        t = self.iterations
        m, v = state.get("m", np.zeros_like(g)), state.get("v", np.zeros_like(g))
        m = state["m"] = m + (1 - self.beta_1) * (g - m)
        v = state["v"] = v + (1 - self.beta_2) * (g * g - v)
        rate = self.learning_rate * np.sqrt(1 - self.beta_2**t) / (1 - self.beta_1**t)
        variable.assign_sub(rate * m / (np.sqrt(v) + self.epsilon))
