"""The copying forms of functions that return views: `x.narrow_copy(...)` is `x.narrow(...)`
copied.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from wengert.dispatch import called
from wengert.functions import joining, limits, shapes
from wengert.functions.arguments import one_dim, takes_out, tensor_of
from wengert.tensor import Tensor


def _copying(view: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(view)
    def copied(*args: Any, **kwargs: Any) -> Any:
        result = view(*args, **kwargs)
        return (
            tuple(shapes.clone(x) for x in result)
            if isinstance(result, tuple)
            else shapes.clone(result)
        )

    return takes_out(called(copied, name, f"As `{view.__name__}`, but a copy.", __name__))


def _sliced(input: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Tensor:
    input = tensor_of(input)
    axis = one_dim(dim, input._array.ndim)
    return input[(slice(None),) * axis + (slice(start, end, step),)]


_sliced.__name__ = "x[start:end:step]"

slice_copy = _copying(_sliced, "slice_copy")
VIEWS: dict[Any, str] = {
    shapes: """
        alias as_strided diagonal expand narrow permute select squeeze t transpose unfold unsqueeze
        view view_as_complex view_as_real
    """,
    joining: "split split_with_sizes unbind",
    limits: "detach",
}
"""Functions that have a form named `_copy`, by the module they are in."""
for _module, _names in VIEWS.items():
    for _name in _names.split():
        globals()[f"{_name}_copy"] = _copying(getattr(_module, _name), f"{_name}_copy")
__all__ = [name for name in globals() if name.endswith("_copy")]
