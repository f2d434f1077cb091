"""The copying forms of functions that return views: `x.narrow_copy(...)` is `x.narrow(...)`
copied.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from wengert.dispatch import called
from wengert.functions import joining, shapes
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


def _detached(input: Tensor) -> Tensor:
    return tensor_of(input).detach()


_detached.__name__ = "detach"


def _sliced(input: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Tensor:
    input = tensor_of(input)
    axis = one_dim(dim, input._array.ndim)
    return input[(slice(None),) * axis + (slice(start, end, step),)]


_sliced.__name__ = "x[start:end:step]"

detach_copy = _copying(_detached, "detach_copy")
slice_copy = _copying(_sliced, "slice_copy")
alias_copy = _copying(shapes.alias, "alias_copy")
as_strided_copy = _copying(shapes.as_strided, "as_strided_copy")
diagonal_copy = _copying(shapes.diagonal, "diagonal_copy")
expand_copy = _copying(shapes.expand, "expand_copy")
narrow_copy = _copying(shapes.narrow, "narrow_copy")
permute_copy = _copying(shapes.permute, "permute_copy")
select_copy = _copying(shapes.select, "select_copy")
split_copy = _copying(joining.split, "split_copy")
split_with_sizes_copy = _copying(joining.split_with_sizes, "split_with_sizes_copy")
squeeze_copy = _copying(shapes.squeeze, "squeeze_copy")
t_copy = _copying(shapes.t, "t_copy")
transpose_copy = _copying(shapes.transpose, "transpose_copy")
unbind_copy = _copying(joining.unbind, "unbind_copy")
unfold_copy = _copying(shapes.unfold, "unfold_copy")
unsqueeze_copy = _copying(shapes.unsqueeze, "unsqueeze_copy")
view_copy = _copying(shapes.view, "view_copy")
view_as_real_copy = _copying(shapes.view_as_real, "view_as_real_copy")
view_as_complex_copy = _copying(shapes.view_as_complex, "view_as_complex_copy")
