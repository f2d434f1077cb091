"""Anomaly mode: which forward line made the backward fail, or produced a NaN.

Inside `detect_anomaly()` every node keeps the traceback of the line that made it. When something
fails in a backward pass, or a rule returns NaN, that traceback is shown first. What the error then
says of the NaN is worked out in `nans.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.errors import WengertError
from wengert.history import modes
from wengert.history.location import user_frame, warn
from wengert.history.node import Node

if TYPE_CHECKING:
    from wengert.autograd import nans


class detect_anomaly(modes.Mode):
    """Find the forward operation behind a failing or NaN backward. Slow: for debugging only.

    With `check_nan` a NaN in a gradient is an error that says which function returned it and for
    which values, what a mask had hidden, and where the forward, or this pass, had first made a NaN
    or an infinity. With `check_forward` a recorded function that returns NaN or inf is an error at
    once.

    >>> import warnings, wengert as wg
    >>> x = wg.zeros(1, requires_grad=True)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     with wg.autograd.detect_anomaly():
    ...         (x / x).sum().backward()
    Traceback (most recent call last):
    ...
    wengert.errors.WengertError: Function 'DivBackward0' returned nan values in its 1th output. ...
    """

    fields = ("anomaly", "check_nan", "check_forward")

    def __init__(self, check_nan: bool = True, *, check_forward: bool = False) -> None:
        self.check_nan = check_nan
        self.check_forward = check_forward
        warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should "
            "only be enabled for debugging."
        )

    def _changed(self, state: modes.State) -> modes.State:
        return state._replace(
            anomaly=True, check_nan=self.check_nan, check_forward=self.check_forward
        )


class set_detect_anomaly(modes.Mode):
    """Switch anomaly mode on or off, at once; back at the end when used in `with`."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._outer = modes.current()
        modes.enter(self._outer._replace(anomaly=mode, check_nan=check_nan))

    def __enter__(self) -> set_detect_anomaly:
        return self

    def __exit__(self, *exception: object) -> None:
        now = modes.current()
        modes.enter(now._replace(anomaly=self._outer.anomaly, check_nan=self._outer.check_nan))


def is_anomaly_enabled() -> bool:
    """Whether this thread is in anomaly mode."""
    return modes.current().anomaly


def is_anomaly_check_nan_enabled() -> bool:
    """Whether this thread's anomaly mode looks for NaN."""
    return modes.current().check_nan


def note(node: Node, creator: Node | None, output: Any) -> None:
    """Keep the traceback of the line that makes this node, and the node whose pull made it.

    What it made is looked at too: it may not be finite.
    """
    import traceback  # for who debugs, as all that `nans` knows is

    from wengert.autograd import nans

    stack = traceback.extract_stack(user_frame(sys._getframe(1)))
    node.metadata["traceback_"] = traceback.format_list(stack)
    if creator is not None:
        # The parent's texts, not the parent: it must not live longer than its own graph.
        node.metadata["parents_"] = [
            (creator.name(), creator.metadata.get("traceback_")),
            *creator.metadata.get("parents_", []),
        ]
    nans.note(node, output, modes.current().check_forward)


def watching(step: Callable[[Node, Any, bool], Any]) -> Callable[[Node, Any, bool], Any]:
    """A step of one sweep with its failure explained and its results looked at."""
    from wengert.autograd import nans

    trail = nans.Trail()

    def watched(node: Node, g: Any, recorded: bool) -> Any:
        state = modes.enter(modes.current()._replace(creator=node))
        try:
            pulled = step(node, g, recorded)
            if state.check_nan:
                refuse_nan(trail, node, g, pulled)
                trail.add(node, g, pulled)
        except Exception:
            explain(node)
            raise
        finally:
            modes.enter(state)
        return pulled

    return watched


def refuse_nan(trail: nans.Trail, node: Node, g: Any, pulled: Any) -> None:
    """Raise if a step of the sweep returned NaN, with all that can be told about it."""
    from wengert.autograd import nans

    for position, item in enumerate(pulled):
        place = nans.find(item, infinite=False)
        if place is not None:
            shape = np.shape(getattr(item, "_array", item))
            raise WengertError(
                f"Function '{node.name()}' returned nan values in its {position}th output. "
                f"{place}. {nans.explain(trail, node, g, place, shape)}\n"
                "The warning above shows the forward line that recorded this function."
            )


def explain(node: Node) -> None:
    """Warn with the forward traceback of the failing node, then with its parents', child first."""
    told(node.name(), node.extras.metadata.get("traceback_") if node.extras else None, first=True)
    parents = node.extras.metadata.get("parents_", []) if node.extras else []
    for name, lines in parents:
        told(name, lines, first=False)


def told(name: str, lines: list[str] | None, first: bool) -> None:
    if first and lines is None:
        text = (
            f"Error detected in {name}. No forward pass information available. Enable detect "
            "anomaly during the forward pass for more information."
        )
    elif first:
        text = (
            f"Error detected in {name}. Traceback of forward call that caused the error:\n"
            f"{''.join(lines or [])}"
        )
    elif lines is None:
        text = f"Previous calculation was induced by {name}. No forward pass information available."
    else:
        text = (
            f"Previous calculation was induced by {name}. Traceback of forward call that induced "
            f"the previous calculation:\n{''.join(lines)}"
        )
    try:
        warn(text)
    except Warning:  # warnings are errors here: the original error must still be the one raised
        sys.stderr.write(text + "\n")
