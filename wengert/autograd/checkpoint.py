"""Checkpointing: trade computation for memory.

A checkpointed region keeps its inputs only; when the backward first asks for one of its saved
values, the region is run again and all of them are filled in (Chen et al., 2016, "Training deep
nets with sublinear memory cost"). It stands on saved-tensor hooks, so the engine knows nothing
of it. The older, reentrant variant is a custom Function that runs a pass within the pass.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable
from typing import Any

from wengert.autograd import differentiate, engine
from wengert.autograd.function import Function
from wengert.autograd.graph import saved_tensors_hooks
from wengert.history import modes
from wengert.tensor import Tensor


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """Run `function` without keeping what its backward needs; run it again in the backward.

    `use_reentrant=False` (recommended) takes arguments and results of any structure and works
    with `autograd.grad`; `True` needs a tensor argument that requires grad. Random numbers repeat
    in the second run if `preserve_rng_state`.

    >>> import wengert as wg
    >>> x = wg.ones(2, requires_grad=True)
    >>> checkpoint(lambda x: (x * x).sum(), x, use_reentrant=False).backward()
    >>> x.grad
    tensor([2., 2.])
    """
    if use_reentrant is None:
        warnings.warn(
            "checkpoint: the use_reentrant parameter should be passed explicitly. "
            "use_reentrant=False is recommended; the default is True for PyTorch's sake.",
            stacklevel=2,
        )
        use_reentrant = True
    if use_reentrant:
        if kwargs:
            raise ValueError(f"Unexpected keyword arguments: {','.join(kwargs)}. Use use_reentrant=False to pass them.")
        return _Reentrant.apply(function, preserve_rng_state, *args)
    region = _Region(function, args, kwargs, preserve_rng_state)
    with saved_tensors_hooks(region.pack, region.unpack):
        return function(*args, **kwargs)


def checkpoint_sequential(functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any) -> Any:
    """Run a sequence of functions (or a Sequential) in checkpointed segments, the last one plainly."""
    steps = list(functions)
    size = max(1, len(steps) // segments)

    def run(start: int, stop: int) -> Callable[[Any], Any]:
        def forward(x: Any) -> Any:
            for step in steps[start:stop]:
                x = step(x)
            return x

        return forward

    start = 0
    for _ in range(segments - 1):
        input = checkpoint(run(start, start + size), input, use_reentrant=use_reentrant, **kwargs)
        start += size
    return run(start, len(steps))(input)


class _Slot:
    """Stands for one saved value; `value` is there once the region has been run again."""

    __slots__ = ("__weakref__", "index", "value")

    def __init__(self, index: int) -> None:
        self.index = index
        self.value: Tensor | None = None


class _Stop(Exception):  # noqa: N818  (no error: it ends the second run early)
    """All values that are still wanted have been computed."""


class _Region:
    """One checkpointed call: its slots, and how to run it again."""

    def __init__(self, function: Callable[..., Any], args: Any, kwargs: Any, preserve: bool) -> None:
        self.call = (function, args, kwargs)
        self.slots: list[weakref.ref[_Slot]] = []
        self.state = modes.current()
        self.random = _random_state() if preserve else None

    def pack(self, tensor: Tensor) -> _Slot:
        slot = _Slot(len(self.slots))
        self.slots.append(weakref.ref(slot))
        return slot

    def unpack(self, slot: _Slot) -> Tensor:
        if slot.value is None:
            self.run_again()
        if slot.value is None:
            raise RuntimeError(
                "checkpoint: a different number of tensors was saved during the original forward "
                f"and recomputation: value {slot.index} was not saved again. The function must do "
                "the same each time it is called with the same arguments."
            )
        return slot.value

    def run_again(self) -> None:
        function, args, kwargs = self.call
        seen = 0
        last = max((i for i, slot in enumerate(self.slots) if slot() is not None), default=-1)

        def fill(tensor: Tensor) -> Tensor:
            nonlocal seen
            slot = self.slots[seen]() if seen < len(self.slots) else None
            if slot is not None:
                slot.value = tensor.detach()
            seen += 1
            if seen > last:
                raise _Stop
            return tensor

        before, random = modes.enter(modes.State(grad=True)), _random_state()
        try:
            if self.random is not None:
                _set_random_state(self.random)
            with saved_tensors_hooks(fill, lambda tensor: tensor):
                function(*args, **kwargs)
        except _Stop:
            pass
        finally:
            if self.random is not None:
                _set_random_state(random)
            modes.enter(before)


class _Reentrant(Function):
    """The older variant: the region as one custom Function."""

    @staticmethod
    def forward(ctx: Any, function: Any, preserve: bool, *args: Any) -> Any:
        ctx.call = function
        ctx.random = _random_state() if preserve else None
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.others = [None if isinstance(a, Tensor) else a for a in args]
        ctx.save_for_backward(*(a for a in args if isinstance(a, Tensor)))
        return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if engine.has_targets():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or "
                "passing an `inputs` parameter to .backward(). To resolve this error, use "
                "use_reentrant=False."
            )
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
            args[place] = tensor.detach().requires_grad_(tensor.requires_grad)
        random = _random_state()
        with modes.enable_grad():
            if ctx.random is not None:
                _set_random_state(ctx.random)
            try:
                outputs = ctx.call(*args)
            finally:
                _set_random_state(random)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        pairs = [(o, g) for o, g in zip(outputs, grads, strict=True) if isinstance(o, Tensor) and o.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        differentiate.backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None, *(a._grad if isinstance(a, Tensor) else None for a in args))


def _random_state() -> Any:
    from wengert.functions import random

    return random.get_rng_state()


def _set_random_state(state: Any) -> None:
    from wengert.functions import random

    random.set_rng_state(state)
