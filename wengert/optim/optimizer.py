"""What all optimizers share: parameter groups, state, and how an update is carried out quickly.

A subclass states its formula once, in `update`, on plain arrays and in place. It is applied

    to many small parameters at once: their values, gradients and state lie one after the other in
        flat buffers (`Bundle`), since an operation on few numbers costs its call, not its sums;
    to large parameters block by block, so that what the formula writes down in between stays in the
        cache.
"""

from __future__ import annotations

import functools
import operator
import sys
import weakref
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any, ClassVar, Self

import numpy as np

from wengert import dtypes
from wengert.arrays.kind import kind_of, number
from wengert.autograd.methods import clear_gradients
from wengert.functions.rows import RowsArray
from wengert.history import modes
from wengert.history.location import INTERNAL, here, user_frame, warn
from wengert.history.node import RemovableHandle, tick
from wengert.history.surroundings import SETTINGS
from wengert.imports import lacking as _lacking
from wengert.rules.shapes import real_pairs
from wengert.tensor import Tensor, cell_of, is_leaf, wrap

Group = dict[str, Any]
Array = Any
State = dict[str, Array]

SMALL = 1 << 14
"""Parameters of at most so many elements are updated together."""
BLOCK = 1 << 17
"""Elements of a large parameter that are updated at a time; half as many if there is state."""
PATIENCE = 3
"""How often a bundle may turn out not to fit before its group is updated one by one for good."""
_PLAN_AGAIN = ("",)


class _Required:
    """Stands for a setting that must be given."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


def _with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """A subclass's own `step`, with the hooks around it and the note that schedules ask for."""

    @functools.wraps(step)
    def hooked(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if self._before or self._after:
            return self._step_with_hooks(args, kwargs)
        self._stepped = True
        return step(self, *args, **kwargs)

    return hooked


class Optimizer:
    """Base of optimizers: `params` is an iterable of tensors, or of dictionaries, one per group.

    Subclasses name their state in `keeps`, or in `buffers` where it depends on the group, and write
    `update`; or write `step` themselves.
    """

    counts: ClassVar[bool] = False
    """Whether the state of each parameter counts its steps."""
    keeps: ClassVar[tuple[str, ...]] = ()
    """The arrays that the formula keeps for each parameter."""
    scalars: ClassVar[tuple[str, ...]] = ()
    """What else the state of each parameter has that is one number: see `advance`."""
    whole: ClassVar[bool] = False
    """Whether the formula looks at a parameter's shape; else it sees any part of it, flat."""
    param_groups: list[Group] = None  # type: ignore[assignment]  # has a place: traces watch it

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in vars(cls):
            cls.step = _with_hooks(vars(cls)["step"])  # type: ignore[method-assign]

    def __init__(self, params: Any, defaults: Group) -> None:
        if isinstance(params, Tensor) or not isinstance(params, Iterable):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                f"but got {type(params).__name__}. Write [x] for a single tensor, and "
                "net.parameters() for a module."
            )
        self.defaults = defaults
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError(
                "optimizer got an empty parameter list. A generator such as net.parameters() is "
                "empty once it has been gone through: call it again, or keep list(...) of it. "
                "Layers in a Python list or dict are no part of a module: use nn.ModuleList or "
                "nn.ModuleDict."
            )
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        self = super().__new__(cls)
        self._begin()  # here: a subclass may have its own `__init__` without calling this one
        return self

    def _begin(self) -> None:
        self._plans: dict[int, Plan] = {}
        self._scratch: dict[Any, Array] = {}
        self._before: OrderedDict[int, Any] = OrderedDict()
        self._after: OrderedDict[int, Any] = OrderedDict()
        self._state_hooks: dict[str, OrderedDict[int, Any]] = defaultdict(OrderedDict)
        self._stepped = False

    # ---- the formula ----------------------------------------------------------------------

    def buffers(self, group: Group) -> tuple[str, ...]:
        """The names of the arrays that the formula keeps for each parameter."""
        return self.keeps

    def update(
        self, group: Group, t: float, p: Array, g: Array, state: State, a: Array, b: Array
    ) -> None:
        """Change `p` and the arrays of `state` in place; `g` must not change. `a`, `b` are scratch.

        `t` counts the steps from 1; without `counts` it is 1 in the first and 2 in all others. In
        the first the state holds what `initial` gave; what `advance` returned is in it too.
        """
        raise NotImplementedError

    def advance(self, group: Group, t: float, scalars: dict[str, Array]) -> dict[str, Any]:
        """Change the state's scalars, arrays of shape (), in place; the numbers for `update`."""
        return {}

    # ---- one step -------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update all parameters that have a gradient.

        `closure` computes the loss anew, with its gradients, and returns it; so does `step` then.
        """
        if self._before or self._after:
            return self._step_with_hooks(() if closure is None else (closure,), {})
        loss = None
        if closure is not None:
            with modes.enable_grad():
                loss = closure()
        self._stepped = True
        for group in self.param_groups:
            self._step_group(group)
        return loss

    def _step_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        for hook in list(self._before.values()):
            result = hook(self, args, kwargs)
            if result is not None:
                if not (isinstance(result, tuple) and len(result) == 2):
                    raise RuntimeError(
                        f"{self.step} must return None or a tuple of (new_args, new_kwargs), but "
                        f"got {result}."
                    )
                args, kwargs = result
        after, before = self._after, self._before
        self._before, self._after = OrderedDict(), OrderedDict()
        try:
            loss = self.step(*args, **kwargs)
        finally:
            self._before, self._after = before, after
        for hook in list(after.values()):
            hook(self, args, kwargs)
        return loss

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before each step."""
        return RemovableHandle(self._before, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return RemovableHandle(self._after, hook)

    def _step_group(self, group: Group) -> None:
        names = self.buffers(group)
        params = group["params"]
        if params and type(params[0]._array) is not np.ndarray:
            self._step_each(group, names, ())  # plans are about memory
            return
        plan = self._plans.get(id(group))
        if plan is None or not plan.fits(group, names, self.state):
            plan = self._plan(group, names, plan)
        bundle = plan.bundle
        together: Any = ()
        if bundle is not None:
            gradients = bundle.gather(self.state)
            if gradients is not None:
                bundle.step(self, group, gradients)
                if plan.bundled_all:
                    return
                together = bundle.members
            else:
                # A gradient is missing, or an array was replaced: now one by one, then a new plan.
                bundle.dissolve()
                plan.bundle, plan.patience = None, plan.patience - 1
                plan.names = _PLAN_AGAIN if plan.patience else names
        self._step_each(group, names, together)

    def _step_each(self, group: Group, names: tuple[str, ...], without: Any) -> None:
        mark = Mark()
        for p in group["params"]:
            if p._grad is not None and p not in without:
                self._step_one(group, p, names)
                mark.written(p)

    def _plan(self, group: Group, names: tuple[str, ...], old: Plan | None) -> Plan:
        if old is not None and old.bundle is not None:
            old.bundle.dissolve()
        patience = PATIENCE if old is None else old.patience
        plan = self._plans[id(group)] = Plan(self, group, names, patience)
        return plan

    def _step_one(self, group: Group, p: Tensor, names: tuple[str, ...]) -> None:
        grad = p._grad
        assert grad is not None
        array, g = p._array, grad._array
        index = None
        if isinstance(g, RowsArray):
            alone = self.leaves_rows(group)
            index, g = g.summed() if alone else (None, g.dense())
        t, arrays, told = 2.0, {}, {}
        if names or self.counts:
            state = self.state[p]
            t = 1.0 if self._start(group, p, state, names) else 2.0
            arrays = {name: state[name]._array for name in names}
            if self.counts:
                state["step"]._array[...] += 1
                t = number(state["step"]._array)
            if self.scalars:
                told = self.advance(group, t, {name: state[name]._array for name in self.scalars})
        update = self._update_complex if array.dtype.kind == "c" else self._update_array
        if index is None:
            update(group, t, array, g, arrays, told)
            return
        rows, parts = array[index], {name: x[index] for name, x in arrays.items()}
        update(group, t, rows, g, parts, told)
        array[index] = rows
        for name, part in parts.items():
            arrays[name][index] = part

    def leaves_rows(self, group: Group) -> bool:
        """Whether the formula leaves rows alone whose gradient is zero, and needs only the others.

        RuntimeError unless it takes sparse gradients.
        """
        raise RuntimeError(
            f"{type(self).__name__} does not support sparse gradients, please consider SparseAdam "
            "instead, Adagrad or SGD; or make the embedding without sparse=True."
        )

    def _start(self, group: Group, p: Tensor, state: Any, names: tuple[str, ...]) -> bool:
        """Make what is missing of a parameter's state; whether it was the first time."""
        for name in self.numbers():
            if name not in state:
                scalar = np.zeros_like(p._array, counter_dtype(), shape=())
                if name != "step":
                    scalar = self.initial(group, name, scalar)
                state[name] = wrap(kind_of(scalar).lasting(scalar, state, name))
        first = False
        for name in names:
            if state.get(name) is None:
                first = True
                initial = self.initial(group, name, p._array)
                state[name] = wrap(kind_of(initial).lasting(initial, state, name))
        return first

    def numbers(self) -> tuple[str, ...]:
        """The names of all that is one number in a parameter's state."""
        return ("step", *self.scalars) if self.counts else self.scalars

    def initial(self, group: Group, name: str, like: Array) -> Array:
        """The array with which a state begins."""
        return np.zeros_like(like)

    def _update_complex(
        self, group: Group, t: Any, p: Array, g: Array, arrays: dict[str, Array], told: Group
    ) -> None:
        """The formula on real and imaginary parts, each a number of its own, as in PyTorch."""
        if type(p) is not np.ndarray:
            pairs = {name: real_pairs(array) for name, array in arrays.items()}
            self._update_array(group, t, real_pairs(p), real_pairs(g), pairs, told)
            return
        pieces = {name: _parts(array) for name, array in arrays.items()}
        values = _parts(p)
        self._update_array(group, t, values, _parts(g), pieces, told)
        for array, parts in ((p, values), *((arrays[name], pieces[name]) for name in arrays)):
            if not np.shares_memory(array, parts):
                array[...] = parts.view(array.dtype).reshape(array.shape)

    def _update_array(
        self, group: Group, t: Any, p: Array, g: Array, arrays: dict[str, Array], told: Group
    ) -> None:
        """The formula on one parameter: in blocks if it is large."""
        if self.whole or not _alike(p, g, *arrays.values()):
            state = {**arrays, **told}
            self.update(group, t, p, g, state, np.empty_like(p), np.empty_like(p))
            return
        size, block = p.size, BLOCK >> 1 if arrays else BLOCK
        p, g = p.reshape(-1), g.reshape(-1)
        a, b = self._block(p.dtype)
        if size <= block:
            flat = {name: array.reshape(-1) for name, array in arrays.items()}
            self.update(group, t, p, g, {**flat, **told}, a[:size], b[:size])
            return
        arrays = {name: array.reshape(-1) for name, array in arrays.items()}
        for start in range(0, size, block):
            part = slice(start, start + block)
            n = min(block, size - start)
            state = {name: array[part] for name, array in arrays.items()} | told
            self.update(group, t, p[part], g[part], state, a[:n], b[:n])

    def _block(self, dtype: Any) -> Any:
        if dtype not in self._scratch:
            self._scratch[dtype] = np.empty((2, BLOCK), dtype)
        return self._scratch[dtype]

    # ---- gradients and groups -------------------------------------------------------------

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget all gradients, or set them to 0."""
        for group in self.param_groups:
            clear_gradients(group["params"], set_to_none)

    def add_param_group(self, param_group: Group) -> None:
        """Add parameters with settings of their own."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the "
                "ordering of tensors in sets will change between runs. Please use a list instead."
            )
        items = [params] if isinstance(params, Tensor) else list(params)
        if items and isinstance(items[0], tuple):
            param_group["param_names"] = [name for name, _ in items]
            items = [p for _, p in items]
        for p in items:
            if not isinstance(p, Tensor):
                raise TypeError(
                    "optimizer can only optimize Tensors, but one of the params is "
                    f"{type(p).__name__}. The parameters of a module are net.parameters()."
                )
            if not is_leaf(p):
                by = "" if p.grad_fn is None else f", made by {p.grad_fn.name()}"
                raise ValueError(
                    f"can't optimize a non-leaf Tensor{by}: optimize what it was computed from, "
                    "or start from its value with x.detach().requires_grad_(). x.to(...), x * 0.1 "
                    "and x.view(...) of a parameter are results too."
                )
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    "parameter group didn't specify a value of required optimization parameter "
                    f"{name}"
                )
            param_group.setdefault(name, default)
        if len({id(p) for p in items}) != len(items):
            warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this "
                "will cause an error"
            )
        known = {id(p) for group in self.param_groups for p in group["params"]}
        if any(id(p) in known for p in items):
            raise ValueError("some parameters appear in more than one parameter group")
        param_group["params"] = items
        self.param_groups = [*self.param_groups, param_group]

    # ---- saving and loading ---------------------------------------------------------------

    def register_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer)` before `state_dict`."""
        return self._state_hook("before saving", hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` after `state_dict`; it may return another one."""
        return self._state_hook("after saving", hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before loading; it may return another one."""
        return self._state_hook("before loading", hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer)` after `load_state_dict`."""
        return self._state_hook("after loading", hook, prepend)

    def _state_hook(self, when: str, hook: Any, prepend: bool) -> RemovableHandle:
        return RemovableHandle(self._state_hooks[when], hook, prepend)

    def state_dict(self) -> dict[str, Any]:
        """State and settings, parameters replaced by their number."""
        for hook in [*self._state_hooks["before saving"].values()]:
            hook(self)
        packed = self._packed()
        for hook in [*self._state_hooks["after saving"].values()]:
            packed = hook(self, packed) or packed
        return packed

    def _packed(self) -> dict[str, Any]:
        number: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for p in group["params"]:
                number.setdefault(id(p), len(number))
            packed = {k: v for k, v in group.items() if k != "params"}
            packed["params"] = [number[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {
            (number[id(p)] if isinstance(p, Tensor) else p): dict(values)
            if isinstance(values, dict)
            else values
            for p, values in self.state.items()
        }
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state that `state_dict` returned."""
        for hook in [*self._state_hooks["before loading"].values()]:
            state_dict = hook(self, state_dict) or state_dict
        self._unpack(state_dict)
        for hook in [*self._state_hooks["after loading"].values()]:
            hook(self)

    def _unpack(self, state_dict: dict[str, Any]) -> None:
        groups, saved = self.param_groups, state_dict["param_groups"]
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(groups, saved, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of "
                "optimizer's group"
            )
        parameter = {
            number: p
            for old, new in zip(saved, groups, strict=True)
            for number, p in zip(old["params"], new["params"], strict=True)
        }
        state: defaultdict[Any, Any] = defaultdict(dict)
        counted = ("step", *self.scalars)
        for key, values in state_dict["state"].items():
            p = parameter.get(key)
            if p is None:
                state[key] = deepcopy(values)
            else:
                state[p] = {
                    name: _taken(value, None if name in counted else p)
                    for name, value in values.items()
                }
        self.state = state
        for old, new in zip(saved, groups, strict=True):
            params = new["params"]
            settings = {k: deepcopy(v) for k, v in old.items() if k != "params"}
            new.clear()
            new.update(settings)
            new["params"] = params
        for plan in self._plans.values():
            if plan.bundle is not None:
                plan.bundle.dissolve()
        self._plans.clear()

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __repr__(self) -> str:
        text = type(self).__name__ + " ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            for name in sorted(group):
                if name != "params":
                    text += f"    {name}: {group[name]}\n"
        return text + ")"


def _taken(value: Any, p: Tensor | None) -> Any:
    """A copy of a loaded value of a parameter's state, in the dtype of `p` if that is given."""
    if isinstance(value, (list, tuple)):
        return type(value)(_taken(v, p) for v in value)
    if not isinstance(value, Tensor):
        return deepcopy(value)
    dtype = value._array.dtype
    if p is not None and p._array.dtype.kind in "fc":
        dtype = p._array.dtype
    return wrap(np.array(value._array, dtype))


def counter_dtype() -> Any:
    """The dtype of what is counted: numbers of steps are exact in it for long enough."""
    double = dtypes.get_default_dtype() == np.float64
    return np.dtype(np.float64 if double else np.float32)


def _parts(x: Array) -> Array:
    """A complex array's real and imaginary parts, flat: a view where its memory allows it."""
    real = np.float32 if x.dtype == np.complex64 else np.float64
    return np.ascontiguousarray(x).reshape(-1).view(real)


def _alike(*arrays: Array) -> bool:
    """Whether all are plain arrays, contiguous and of one size: then they can be cut in blocks."""
    size = arrays[0].size
    return all(type(x) is np.ndarray and x.flags.c_contiguous and x.size == size for x in arrays)


class Mark:
    """Counts the writes of one step: the time and the user's line are looked up once for all."""

    __slots__ = ("stamp", "writer")

    def __init__(self) -> None:
        self.stamp = tick()
        self.writer = ("optimizer.step()", *here())

    def written(self, p: Tensor) -> None:
        cell = cell_of(p)
        cell.count += 1
        cell.stamp = self.stamp
        cell.writer = self.writer


# ---- many small parameters at once ---------------------------------------------------------


class Plan:
    """How one group is updated: a bundle of its small parameters, if it has some."""

    __slots__ = ("bundle", "bundled_all", "names", "params", "patience", "state")

    def __init__(
        self, optimizer: Optimizer, group: Group, names: tuple[str, ...], patience: int
    ) -> None:
        self.names = names
        self.params = tuple(group["params"])
        self.state = optimizer.state
        self.patience = patience
        worth = patience and not optimizer.whole
        self.bundle = Bundle.of(optimizer, group, names) if worth else None
        self.bundled_all = self.bundle is not None and len(self.bundle.params) == len(self.params)

    def fits(self, group: Group, names: tuple[str, ...], state: Any) -> bool:
        params = group["params"]
        return (
            (self.names is names or self.names == names)
            and self.state is state
            and len(self.params) == len(params)
            and all(map(operator.is_, self.params, params))
        )


class Bundle:
    """Small parameters of one dtype whose values, gradients and state lie in flat buffers.

    The parameters' arrays become views of the buffer. So only arrays that nobody else holds are
    taken in: whoever has an alias of a parameter (a state dict, a NumPy array) keeps it.
    """

    __slots__ = (
        "a", "b", "dicts", "entries", "flat", "fresh", "members", "numbers", "pairs", "params",
        "state",
    )  # fmt: skip

    @staticmethod
    def of(optimizer: Optimizer, group: Group, names: tuple[str, ...]) -> Bundle | None:
        """A bundle of the parameters that can be taken in; None if it is not worth it."""
        stateful = bool(names) or optimizer.counts
        chosen: list[Tensor] = []
        for p in group["params"]:
            if p._grad is None:
                continue
            # Whether taken in or not: states are in the order of the parameters.
            state = optimizer.state[p] if stateful else {}
            if not _own(p) or (chosen and p._array.dtype != chosen[0]._array.dtype):
                continue
            kept = [state[name] for name in names if state.get(name) is not None]
            if not kept or (len(kept) == len(names) and all(map(_own, kept))):
                chosen.append(p)
        if stateful:
            states = [optimizer.state[p] for p in chosen]
            begun = {bool(names) and state.get(names[0]) is not None for state in states}
            for name in optimizer.numbers():
                counts = {float(state[name]._array) if name in state else None for state in states}
                if len(counts) > 1:
                    return None  # the formula is told one number of steps
            if len(begun) > 1:
                return None
        return Bundle(optimizer, group, names, chosen) if len(chosen) > 1 else None

    def __init__(
        self, optimizer: Optimizer, group: Group, names: tuple[str, ...], params: list[Tensor]
    ) -> None:
        self.params = params
        self.members = set(params)
        self.fresh = False
        self.state: State = {}
        self.dicts: list[Any] = []
        self.entries: list[tuple[Any, str, Tensor, Array]] = []
        self.numbers: dict[str, Array] = {}
        if names or optimizer.counts:
            self.dicts = [optimizer.state[p] for p in params]
        for name in optimizer.numbers():
            self._count_together(optimizer, group, name)
        for name in names:
            self._take_in(optimizer, group, name)
        self.flat, views = _flattened([p._array for p in params])
        for p, view in zip(params, views, strict=True):
            p._array = view
            cell_of(p)
        self.pairs = list(zip(params, views, strict=True))
        self.a, self.b = np.empty((2, self.flat.size), self.flat.dtype)

    def _count_together(self, optimizer: Optimizer, group: Group, name: str) -> None:
        """All parameters' numbers of steps, say, in one array."""
        begun = [state.get(name) for state in self.dicts]
        if begun[0] is not None:
            value = begun[0]._array
        else:
            value = np.zeros((), counter_dtype())
            if name != "step":
                value = optimizer.initial(group, name, value)
        numbers = self.numbers[name] = np.full(len(begun), value)
        for i, state in enumerate(self.dicts):
            self._enter(state, name, begun[i], numbers[i : i + 1].reshape(()))

    def _take_in(self, optimizer: Optimizer, group: Group, name: str) -> None:
        begun = [state.get(name) for state in self.dicts]
        self.fresh = begun[0] is None
        parts = [
            optimizer.initial(group, name, p._array) if tensor is None else tensor._array
            for p, tensor in zip(self.params, begun, strict=True)
        ]
        self.state[name], views = _flattened(parts)
        for state, tensor, view in zip(self.dicts, begun, views, strict=True):
            self._enter(state, name, tensor, view)

    def _enter(self, state: Any, name: str, tensor: Tensor | None, view: Array) -> None:
        if tensor is None:
            tensor = state[name] = wrap(view)
        else:
            tensor._array = view
        self.entries.append((state, name, tensor, view))

    def gather(self, states: Any) -> Array | None:
        """All gradients in one array; None if one is missing, or something was replaced."""
        dtype, ndarray = self.flat.dtype, np.ndarray
        gradients: list[Any] = []
        for p, view in self.pairs:
            g = p._grad
            if g is None or p._array is not view:
                return None
            array = g._array
            if array.dtype is not dtype or type(array) is not ndarray:
                return None
            gradients.append(array)
        for p, state in zip(self.params, self.dicts):  # noqa: B905  (on the hot path)
            if states.get(p) is not state:
                return None
        for state, name, tensor, view in self.entries:
            if state.get(name) is not tensor or tensor._array is not view:
                return None
        try:
            # Joining their bytes takes a quarter of the time of np.concatenate.
            joined = b"".join(gradients)
            return np.frombuffer(joined, dtype)
        except TypeError:  # a gradient that is not contiguous
            return np.concatenate(gradients, axis=None)

    def step(self, optimizer: Optimizer, group: Group, gradients: Array) -> None:
        t, state, numbers = 1.0 if self.fresh else 2.0, self.state, self.numbers
        if "step" in numbers:
            numbers["step"] += 1
            t = float(numbers["step"][0])
        if optimizer.scalars:
            firsts = {name: numbers[name][:1].reshape(()) for name in optimizer.scalars}
            state = state | optimizer.advance(group, t, firsts)
            for name, value in firsts.items():
                numbers[name][1:] = value
        optimizer.update(group, t, self.flat, gradients, state, self.a, self.b)
        self.fresh = False
        frame = sys._getframe(3)
        code = frame.f_code
        if INTERNAL.get(code.co_filename, True):
            frame = user_frame(frame)
            code = frame.f_code
        writer, stamp = ("optimizer.step()", code, frame.f_lasti), tick()
        for p in self.params:
            cell: Any = p._cell
            cell.count += 1
            cell.stamp = stamp
            cell.writer = writer

    def dissolve(self) -> None:
        """Give every tensor an array of its own again, unless somebody has an alias of it."""
        held = [*self.pairs, *((tensor, view) for _, _, tensor, view in self.entries)]
        self.pairs, self.entries = [], []
        while held:
            tensor, view = held.pop()
            if tensor._array is view and sys.getrefcount(view) <= _ALONE:
                tensor._array = view.copy()


def _own(x: Tensor) -> bool:
    """Whether this is a small plain array, known to this tensor alone."""
    array = x._array
    return (
        type(array) is np.ndarray
        and array.size <= SMALL
        and array.dtype.kind == "f"
        and (array.base is None or _FLAT.get(id(array.base)) is array.base)
        and array.flags.c_contiguous
        and array.flags.writeable
        and sys.getrefcount(array) <= _ALONE
    )


def _measure() -> int:
    """What `_own` counts for an array that only its tensor holds: Python versions differ."""

    def count(x: Tensor) -> int:
        array = x._array
        return sys.getrefcount(array)

    return count(wrap(np.empty(1)))


_ALONE = _measure()


_FLAT: weakref.WeakValueDictionary[int, Array] = weakref.WeakValueDictionary()
"""The buffers of bundles: a view of one may move to another, like an array of its own."""


def _flattened(arrays: list[Array]) -> tuple[Array, list[Array]]:
    """One flat copy of several arrays, and the views of it in their shapes."""
    flat = np.concatenate(arrays, axis=None)
    _FLAT[id(flat)] = flat
    stops = np.cumsum([x.size for x in arrays]).tolist()
    views = [
        flat[stop - x.size : stop].reshape(x.shape) for x, stop in zip(arrays, stops, strict=True)
    ]
    return flat, views


SETTINGS.append(Optimizer)

_lacking(__name__)
