"""PyTorch's own table of operators, with its sample inputs, to be run by wengert beside PyTorch.

`torch.testing` describes each operator by an `OpInfo`: sample inputs for every dtype, inputs that
are errors, the method and the in-place variant. Here a sample is translated, and the two results
are compared. A `Difference` says what was found.
"""

from __future__ import annotations

import fnmatch
import functools
import itertools
import random
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.testing._internal import common_utils
from torch.testing._internal.opinfo import core

import wengert as wg

DTYPES = {
    getattr(torch, name): np.dtype(name)
    for name in (
        *("float64", "float32", "float16", "complex128", "complex64"),
        *("int64", "int32", "int16", "int8", "uint8", "bool"),
    )
} | {torch.bfloat16: wg.bfloat16}
FORMATS = {
    torch.contiguous_format: wg.contiguous_format,
    torch.preserve_format: wg.preserve_format,
    torch.channels_last: wg.channels_last,
    torch.channels_last_3d: wg.channels_last_3d,
}


def _seed(seed: int = common_utils.SEED) -> None:
    """As PyTorch's own, which also notes the stack, for each kind of GPU that is not there."""
    torch.default_generator.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)


# Each series of samples is seeded, and looks through the stack for a test of PyTorch's own: under
# pytest, whose stack is deep, that took most of the time.
common_utils.set_rng_seed = _seed
common_utils.extract_test_fn = core.extract_test_fn = lambda: None


class Difference(AssertionError):
    """What the two libraries do not agree about."""


# ---- from one library to the other ---------------------------------------------------------


def numbers(x: Any) -> np.ndarray:
    """The elements of a tensor of either library."""
    if isinstance(x, wg.Tensor):
        return x.detach().numpy()
    x = x.detach()
    x = torch.zeros(x.shape, dtype=x.dtype) if x._is_zerotensor() else x
    x = x.resolve_conj().resolve_neg()
    if x.dtype == torch.bfloat16:
        return x.view(torch.int16).numpy().view(wg.bfloat16)
    return x.numpy()


def translated(x: Any, storages: dict[int, np.ndarray] | None = None) -> Any:
    """A sample's arguments for wengert: tensors copied, with their layout in memory.

    What shares memory there does so here.
    """
    storages = {} if storages is None else storages
    if isinstance(x, torch.Tensor):
        copy = wg.from_numpy(_laid_out(x, storages))
        return copy.requires_grad_() if x.requires_grad else copy
    if isinstance(x, torch.Size):
        return wg.Size(tuple(x))
    if isinstance(x, (list, tuple)):
        return type(x)(translated(item, storages) for item in x)
    if isinstance(x, dict):
        return {name: translated(value, storages) for name, value in x.items()}
    if isinstance(x, slice):
        return slice(*(translated(v, storages) for v in (x.start, x.stop, x.step)))
    if isinstance(x, torch.device):
        return "cpu"
    if x is torch.strided:
        return wg.strided
    if isinstance(x, torch.nn.Module):  # a distance, without parameters
        return getattr(wg.nn, type(x).__name__)()
    return (
        DTYPES.get(x, FORMATS.get(x, x)) if isinstance(x, (torch.dtype, torch.memory_format)) else x
    )


def our_function(op: Any) -> Callable[..., Any] | None:
    """What wengert has for an operator: by its name, or what the table itself writes with torch."""
    if of_the_table(op.op):
        return with_names(op.op, torch=wg, wrapper_set_seed=call)
    if getattr(op.op, "__objclass__", None) in TENSORS:
        return getattr(wg.Tensor, op.op.__name__, None)
    if isinstance(op.op, OPERATORS):
        return getattr(wg.ops.aten, op.op.__name__.split(".")[0], None)
    found: Any = wg
    theirs: Any = torch
    for part in op.name.split("."):
        found, theirs = getattr(found, part, None), getattr(theirs, part, None)
    if found is None or isinstance(
        found, type
    ):  # a name that has no meaning here, or a private one
        found = getattr(wg.ops.aten, getattr(op.op, "__name__", "no name"), None)
    return found if theirs is not None else getattr(wg.Tensor, op.name, None)


def their_function(op: Any) -> Callable[..., Any]:
    """PyTorch's; functions that draw numbers take them from the generator as it is."""
    return with_names(op.op, wrapper_set_seed=call) if of_the_table(op.op) else op.op


def call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


TENSORS = (torch.Tensor, torch.Tensor.__mro__[1])
OPERATORS = (type(torch.ops.aten.add), type(torch.ops.aten.add.Tensor))
"""Functions of ATen's, in all their forms and in one."""


INTERNAL = "hash_tensor torch__scaled_mm* jiterator_*"
"""Operators that are PyTorch's own business, in the patterns of files."""
DRAWN = """bernoulli cauchy empty empty_like empty_permuted empty_strided exponential geometric
    log_normal multinomial new_empty new_empty_strided normal rand_like randint randint_like randn
    randn_like resize_ resize_as_ uniform svd_lowrank pca_lowrank"""
"""Operators whose numbers are random, or left open."""


def among(op: Any, patterns: str) -> bool:
    return any(fnmatch.fnmatchcase(op.formatted_name, p) for p in patterns.split())


def comparable(op: Any) -> bool:
    """Whether both have it, and its numbers tell something."""
    return (
        our_function(op) is not None
        and op.name not in DRAWN.split()
        and not among(op, INTERNAL)
        and not op.name.startswith(("sparse.", "to_sparse", "chalf", "native_", "grid_sampler_"))
    )


def of_the_table(function: Any) -> bool:
    """Whether it is a Python function of PyTorch's tests."""
    inner = function.func if isinstance(function, functools.partial) else function
    return isinstance(inner, types.FunctionType) and inner.__module__.startswith("torch.testing")


def with_names(function: Any, **names: Any) -> Any:
    """A Python function in which these names mean something else."""
    if isinstance(function, functools.partial):
        inner = with_names(function.func, **names)
        return functools.partial(inner, *function.args, **function.keywords)
    cells = (
        types.CellType(with_names(cell.cell_contents, **names))
        if of_the_table(cell.cell_contents)
        else cell
        for cell in function.__closure__ or ()
    )
    copy = types.FunctionType(
        function.__code__,
        {**function.__globals__, **names},
        function.__name__,
        function.__defaults__,
        tuple(cells),
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def samples(op: Any, dtype: Any, limit: int) -> Iterator[Any]:
    """At most `limit` sample inputs, spread over those that the table has."""
    torch.default_generator.manual_seed(0)
    tracked = op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
    found = list(op.sample_inputs("cpu", dtype, requires_grad=tracked))
    chosen = np.unique(np.linspace(0, len(found) - 1, limit).astype(int)) if found else []
    for k in chosen:
        yield found[k]


def _laid_out(x: Any, storages: dict[int, np.ndarray]) -> np.ndarray:
    """The numbers of a tensor, as a view of a copy of its storage."""
    array = numbers(x)
    address = x.untyped_storage().data_ptr()
    if not array.size or array.__array_interface__["data"][0] != x.data_ptr() or not address:
        return np.copy(array)
    if address not in storages:
        whole = numbers(
            x.detach().as_strided((x.untyped_storage().nbytes() // x.itemsize,), (1,), 0)
        )
        storages[address] = np.copy(whole)
    home = storages[address].view(array.dtype)[x.storage_offset() :]
    steps = tuple(n * x.itemsize for n in x.stride())
    return np.lib.stride_tricks.as_strided(home, array.shape, steps)


# ---- comparing -----------------------------------------------------------------------------


def tensors(x: Any) -> list[Any]:
    if isinstance(x, (torch.Tensor, wg.Tensor)):
        return [x]
    if isinstance(x, dict):
        x = list(x.values())
    return [t for item in x for t in tensors(item)] if isinstance(x, (list, tuple)) else []


def leaves_of(x: Any) -> list[Any]:
    """The results of a call, one after another."""
    if isinstance(x, (list, tuple)) and not isinstance(x, (torch.Size, wg.Size)):
        return [y for item in x for y in leaves_of(item)]
    return [x]


def close(y: np.ndarray, z: np.ndarray, what: str, tolerance: float | None = None) -> None:
    if tolerance is None:
        tolerance = {"bfloat16": 2e-2, "float16": 1e-2, "float32": 1e-4, "complex64": 1e-4}.get(
            y.dtype.name, 1e-7
        )
    y, z = (a.astype(np.float32) if a.dtype == wg.bfloat16 else a for a in (y, z))
    exact = y.dtype.kind not in "fc"
    scale = 1 if exact else max(1, np.max(np.abs(y[np.isfinite(y)]), initial=0))
    if not np.allclose(
        z, y, rtol=0 if exact else tolerance, atol=0 if exact else tolerance * scale, equal_nan=True
    ):
        raise Difference(f"{what}: {y.ravel()[:5]} there, {z.ravel()[:5]} here")


def gradients(library: Any, result: Any, arguments: Any, second: bool) -> list[list[Any]]:
    """The first derivatives of random sums of a result, and, if asked for, second ones."""
    ys = [t for t in tensors(result) if t.requires_grad]
    xs = [t for t in tensors(arguments) if t.requires_grad]
    if not ys or not xs:
        return []
    random = np.random.default_rng(0)

    def like(t: Any) -> Any:
        noise = random.normal(size=(2, *t.shape))
        return library.tensor(noise[0] + 1j * noise[1] if t.is_complex() else noise[0]).to(t.dtype)

    cotangents = [like(y) for y in ys]
    first = library.autograd.grad(ys, xs, cotangents, allow_unused=True, create_graph=second)
    bent = [g for g in first if g is not None and g.requires_grad]
    if not second:
        return [list(first)]
    total: Any = 0
    for g in bent:
        product = g * like(g)
        total = total + (product.real if g.is_complex() else product).sum()
    return [list(first), list(library.autograd.grad(total, xs, allow_unused=True)) if bent else []]


# ---- extreme values ------------------------------------------------------------------------

EXTREMES = {
    "zeros": (0.0, -0.0),
    "ties": (1.0,),
    "negative ties": (-1.0,),
    "tails": (20.0, -20.0, 40.0, -40.0, 750.0, -750.0, 0.25),
    "tiny": (1e-30, -1e-30, 1e-60),
    "infinite": (np.inf, 1.0, -np.inf, 0.5),
    "undefined": (np.nan, 1.0, 2.0, -0.5),
}
"""What takes the place of all floating-point numbers of a sample, over and over."""


def filled(x: Any, values: tuple[float, ...], turn: Iterator[int]) -> Any:
    """A sample's argument with these numbers, each tensor from another one on, and all tracked."""
    if isinstance(x, torch.Tensor) and (x.is_floating_point() or x.is_complex()):
        numbers = np.resize(np.roll(values, next(turn)), x.shape)
        numbers = numbers + 1j * np.roll(numbers, 1) if x.is_complex() else numbers
        return torch.tensor(numbers, dtype=x.dtype).requires_grad_()
    if isinstance(x, (list, tuple)) and not isinstance(x, torch.Size):
        return type(x)(filled(item, values, turn) for item in x)
    if isinstance(x, dict):
        return {name: filled(value, values, turn) for name, value in x.items()}
    return x


def finite(y: Any, z: Any, what: str) -> None:
    """Where PyTorch has a finite number, so has wengert, and the same; else a `Difference`."""
    y, z = (np.zeros(0) if t is None else numbers(t) for t in (y, z))
    y, z = (np.zeros(max(y.shape, z.shape, key=len)) if not t.size else t for t in (y, z))
    known = np.isfinite(y)
    apart = np.abs(np.where(known, y, 0) - np.where(known, z, 0))
    wrong = ~(apart <= 1e-6 * np.maximum(1, np.abs(np.where(known, y, 0))))
    if y.shape != z.shape or wrong.any():
        raise Difference(f"{what}: {y[wrong][:4]} there, {z[wrong][:4]} here")


def kept(y: Any, z: Any, what: str) -> None:
    """Where PyTorch's result is NaN, so is wengert's: none is made a number."""
    lost = np.isnan(numbers(y)) & ~np.isnan(numbers(z))
    if lost.any():
        raise Difference(f"{what}: NaN there, {numbers(z)[lost][:4]} here")


def run_extreme(op: Any, sample: Any, values: tuple[float, ...]) -> None:
    """The function and its gradient for every argument, where PyTorch has one.

    Of NaN the result alone is compared: what derivatives are there is left open.
    """
    turn = itertools.count()
    call = [filled(part, values, turn) for part in (sample.input, sample.args, sample.kwargs)]
    try:
        theirs = op.op(call[0], *call[1], **call[2])
    except Exception:
        return  # it takes no such numbers
    function = our_function(op)
    assert function is not None, f"wengert has no {op.name}"
    copies = [translated(part) for part in call]
    ours = function(copies[0], *copies[1], **copies[2])
    for y, z in zip(tensors(theirs), tensors(ours), strict=True):
        (kept if np.nan in values else finite)(y, z, "result")
    if np.nan in values:
        return
    try:
        (expected,) = gradients(torch, theirs, call, False)
    except (RuntimeError, NotImplementedError, ValueError):
        return  # PyTorch has no derivative here
    (found,) = gradients(wg, ours, copies, False) or [[None] * len(expected)]
    for k, (g, h) in enumerate(zip(expected, found, strict=True)):
        finite(g, h, f"derivative by tensor {k}")
