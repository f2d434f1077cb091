"""Adam for the gradients of large tables, which name few rows."""

from __future__ import annotations

from typing import Any

from wengert.arrays.kind import number
from wengert.imports import lacking as _lacking
from wengert.optim.moments import Moments, descend, gradient
from wengert.optim.optimizer import Array, Group, State
from wengert.optim.settings import settings
from wengert.tensor import Tensor


class SparseAdam(Moments):
    """Adam on the rows that a sparse gradient names; the others, and their moments, stay.

    A dense gradient is a RuntimeError: nothing says which rows it names.

    >>> import wengert as wg
    >>> table = wg.nn.Embedding(1000, 2, sparse=True)
    >>> table(wg.tensor([3, 5])).sum().backward()
    >>> SparseAdam(table.parameters(), lr=0.1).step()
    >>> table.weight.grad._indices()
    tensor([[3, 5]])
    """

    whole = True  # the formula sees rows

    @settings("lr", "eps")
    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        for name, value in (("learning rate", lr), ("epsilon value", eps)):
            if not value > 0:
                raise ValueError(f"Invalid {name}: {value}")

    def leaves_rows(self, group: Group) -> bool:
        return True

    def _step_one(self, group: Group, p: Tensor, names: tuple[str, ...]) -> None:
        if p._grad is not None and not p._grad.is_sparse:
            raise RuntimeError(
                "SparseAdam does not support dense gradients, please consider Adam instead; or "
                "make the embedding with sparse=True, and compile what is around the step."
            )
        super()._step_one(group, p, names)

    def update(
        self, group: Group, t: float, p: Array, g: Array, state: State, a: Array, b: Array
    ) -> None:
        beta1, beta2 = group["betas"]
        m, v = self.average(group, gradient(self, group, p, g, b, a), state, a)
        rate = number(group["lr"]) * (1 - beta2**t) ** 0.5 / (1 - beta1**t)
        descend(p, rate, m, v, group["eps"], a)


_lacking(__name__)
