"""A mode of backward passes: where nothing comes in, nothing goes out.

The rule of sqrt multiplies a cotangent by 1/(2 sqrt(x)), which is infinite at 0; and 0 · inf is
NaN, although a cotangent of zero says that this entry has no influence at all. The mode makes that
a choice, not a product: where the incoming cotangent is zero and the product is not finite, zero is
passed on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import dtypes
from wengert.history import modes
from wengert.history.node import Node


class zeros_stay_zero(modes.Mode):
    """Backward passes inside pass a zero cotangent on as zero through singular derivatives.

    For an elementwise function, entry by entry: where the incoming cotangent is zero and its
    product with the derivative is not finite (0 · inf, 0 · nan), the result is 0. For any other
    function of the rule table likewise, but only if its whole incoming cotangent is zero. The
    backward of a custom `Function` is left alone. Compiled functions called inside run eagerly.

    This is the answer when a mask hides a singular point: where(x > 0, sqrt(x), 0) has the gradient
    0 at x = 0, and NaN without the mode. It is not always the derivative: d/dx of sqrt(x)² at 0 is
    1, and the mode says 0, since the square passes a zero on. So it is a mode, to be asked for;
    `wengert.where` with functions needs none.

    >>> import wengert as wg
    >>> x = wg.tensor([0.0, 4.0], requires_grad=True)
    >>> y = wg.where(x > 0, x.sqrt(), 0.0).sum()
    >>> with zeros_stay_zero():
    ...     wg.autograd.grad(y, x)
    (tensor([0.0000, 0.2500]),)
    """

    fields = ("zeros",)

    def _changed(self, state: modes.State) -> modes.State:
        return state._replace(zeros=True)


def kept(g: Any, pulled: Any) -> Any:
    """`pulled`, with zeros where `g` is zero and the product with it is not finite."""
    return np.where((g == 0) & ~np.isfinite(pulled), np.zeros_like(pulled), pulled)


def pull(node: Node, g: Any, recorded: bool) -> Any:
    """What `node` pulls back, zeros kept."""
    rule = node.rule
    if rule is None:
        return node.pull_recorded(g) if recorded else node.pull(g)
    if rule.family == "elementwise":
        return type(node).selecting(recorded)(node, g)
    pulled = node.pull_recorded(g) if recorded else node.pull(g)
    given = [item for item in (g if node.outputs != 1 else [g]) if item is not None]
    nothing = np.logical_and.reduce([np.all(item == 0) for item in given])
    return tuple(
        item
        if item is None or not dtypes.is_inexact(item.dtype)
        else np.where(nothing & ~np.isfinite(item), np.zeros_like(item), item)
        for item in pulled
    )
