"""Random calls of every function with a name of NumPy's or PyTorch's, its arguments of any class.

`draw(seed)` chooses a function, and arguments for it by trying: an array, a list or a number for
each place, of any dtype and class, passed, found outside, written out or computed. So nothing is
said here of any function but which words stand for which settings. It is called twice with some
numbers, twice with others of their classes, twice with some of another class, and as at first.
"""

# ruff: noqa: S307, SIM905  (texts are programs; a list of names reads best as words)
from __future__ import annotations

import functools
import inspect
import random
import re
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import wengert as wg
from tests.compile.stories import module
from wengert.errors import TracingError

SPACES = "np np np.linalg np.fft np.emath wg wg wg.linalg wg.fft wg.special".split()
METHODS = {"tensor": wg.Tensor, "array": np.ndarray}
LEFT_OUT = frozenset(
    # what acts on files, the process or the library
    """fromfile fromregex fromstring genfromtxt load loadtxt save savetxt savez savez_compressed
    test show_config show_runtime seterr seterrcall setbufsize set_printoptions printoptions info
    get_include geterrcall getbufsize get_printoptions geterr bmat asmatrix nested_iters tofile
    dump compile explain source seed manual_seed set_rng_state get_rng_state initial_seed
    set_anomaly_enabled set_default_device set_default_dtype set_default_tensor_type set_storage
    set_float32_matmul_precision set_flush_denormal set_num_threads share_memory_ pin_memory
    use_deterministic_algorithms register_hook register_post_accumulate_grad_hook backward
    retain_grad requires_grad_ data_ptr set_ storage untyped_storage storage_type storage_offset
    module_load resize setflags setfield getfield byteswap to_dlpack from_dlpack frombuffer dumps
    resize_ resize_as_ as_strided as_strided_ as_strided_copy as_strided_scatter is_set_to
    as_subclass reinforce"""
    # what takes functions
    """ apply_along_axis apply_over_axes fromfunction fromiter frompyfunc piecewise apply_ map_
    map2_ associative_scan eval_shape fori_loop grad hessian hvp jacfwd jacobian jacrev jvp map
    odeint odeint_event scan sparse_hessian sparse_jacobian switch value_and_grad vhp vjp vmap
    while_loop stop_gradient lobpcg"""
    # memory that nobody has written
    """ empty empty_like empty_permuted empty_strided new_empty new_empty_strided new"""
    # where numbers fall that lie on an edge, but for rounding
    """ histogram histogram2d histogramdd histogram_bin_edges histc""".split()
)
DIFFER = frozenset(
    # lists beside tensors, which are arrays to compiled functions
    """tensordot matmul interp take_along_axis convolve correlate rollaxis
    put_along_axis select power"""
    # lists of arrays, along the last axis of which NumPy cuts as if it were the first
    """ hsplit vsplit dsplit split array_split"""
    # errors about arguments that are not looked at
    """ may_share_memory shares_memory nan_to_num alias_copy compress threshold threshold_
    geomspace polyder"""
    # of tensors, what is real or complex by its numbers
    """ roots"""
    # a tensor given to a method of an array
    """ searchsorted"""
    # the dtype of two numbers of NumPy's, and of half precision outside of rules
    """ bitwise_and bitwise_or bitwise_xor addcmul addcdiv logaddexp2 nanpercentile
    nanquantile percentile quantile clip clamp floor_divide floor_divide_""".split()
)
"""Functions of which a call in some hundreds still differs."""
SETTINGS = {
    "axis axis1 axis2 dim dim0 dim1 dim2 axes dims source destination": "0 -1 1 None (0,) (0,1)",
    "shape newshape size sizes reps output_size": "(3,) 3 (1,3) -1 ()",
    "dtype": "np.float32 float np.float16 wg.float64 int 'i1' bool",
    "n num k N M deg decimals ndim m order repeats shift chunks sections bins diagonal offset": (
        "2 1 3 0 2.0"
    ),
    "keepdims keepdim endpoint unbiased copy sparse right rowvar ddof correction": "True False 1 0",
    "mode": "'clip' 'full' 'wrap'",
    "method interpolation": "'linear' 'lower'",
    "reduce": "'sum' 'amax'",
}
WORDS = {name: texts.split() for names, texts in SETTINGS.items() for name in names.split()}
FLOATS = ("float64", "float32", "float32", "float16", "bfloat16")
INTS = ("int64", "int32", "int8", "uint8", "uint64", "int16")
DTYPES = (*FLOATS, *FLOATS, *INTS, "bool", "complex64", "complex128")
SHAPES = ("vector", "vector", "matrix", "number")
PYTHONS = ("float", "int", "bool", "complex", "float", "int")
Random = random.Random


@dataclass(frozen=True)
class Slot:
    """An argument: what it is at each set of calls, and where the function has it from."""

    texts: tuple[str, str, str]
    place: str


@dataclass(frozen=True)
class Call:
    seed: int
    name: str
    slots: tuple[Slot, ...]

    @property
    def source(self) -> str:
        passed = [f"p{i}" for i, slot in enumerate(self.slots) if slot.place == "passed"]
        texts = [_text(i, slot) for i, slot in enumerate(self.slots)]
        if self.name.startswith("."):
            body = f"{texts[0]}{self.name}({', '.join(texts[1:])})"
        else:
            body = f"{self.name}({', '.join(texts)})"
        return f"def f({', '.join(passed)}): return {body}\n"

    def __str__(self) -> str:
        sets = "\n".join(
            f"  {k}: " + ", ".join(slot.texts[k] for slot in self.slots) for k in range(3)
        )
        return f"seed {self.seed}: {self.source}{sets}"


def _text(i: int, slot: Slot) -> str:
    if slot.place == "inline":
        return slot.texts[0]
    name = f"p{i}" if slot.place == "passed" else f"k{i}"
    return f"{name}.flatten()[0].item()" if slot.place == "computed" else name


# ---- drawing ------------------------------------------------------------------------------------


@functools.cache
def names() -> tuple[tuple[str, Any], ...]:
    found = []
    for space in SPACES:
        there = eval(space)
        found += [(f"{space}.{n}", getattr(there, n)) for n in _public(there)]
    for kind in METHODS.values():
        found += [(f".{n}", getattr(kind, n)) for n in _public(kind)]
    return tuple(found)


def _public(there: Any) -> list[str]:
    return [
        n
        for n in sorted(dir(there))
        if n[0] != "_" and n not in LEFT_OUT
        and callable(getattr(there, n)) and not inspect.isclass(getattr(there, n))
    ]  # fmt: skip


@functools.cache
def parameters(function: Any) -> tuple[tuple[str, ...], int]:
    """The names of a function's arguments, and how many it needs."""
    if isinstance(function, np.ufunc):
        return ("x",) * function.nin, function.nin
    try:
        given = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):
        return ("a", "b", "c"), 1
    placed = [p for p in given if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = sum(p.default is p.empty for p in placed)
    if any(p.kind is p.VAR_POSITIONAL for p in given):
        return (*(p.name for p in placed), "a", "b"), needed
    return tuple(p.name for p in placed), needed


def draw(seed: int) -> Call:
    rng = Random(seed)
    name, function = rng.choice(names())
    while name.rpartition(".")[2] in DIFFER:
        name, function = rng.choice(names())
    call = None
    for _ in range(30):
        call = _drawn(rng, seed, name, function)
        if call is not None and (_works(call) or rng.random() < 0.03):
            break
    assert call is not None
    return call


def _drawn(rng: Random, seed: int, name: str, function: Any) -> Call:
    words, needed = parameters(function)
    count = min(len(words), needed + rng.choice((0, 0, 1, 1, 2)))
    count = max(count, 1 if name.startswith(".") else 0)
    slots = []
    for i in range(count):
        if i == 0 and name.startswith("."):
            kind = "tensor" if function is getattr(wg.Tensor, name[1:], None) else "array"
            slots.append(_array(rng, kind))
        elif words[i] in WORDS and rng.random() < 0.85:
            texts = WORDS[words[i]]
            place = rng.choice(("inline", "inline", "outside"))
            a = rng.choice(texts)
            slots.append(Slot((a, a, rng.choice(texts)), place))
        else:
            slots.append(_operand(rng))
    return Call(seed, name, tuple(slots))


def _operand(rng: Random) -> Slot:
    what = rng.choice(("array", "array", "array", "number", "number", "number", "list", "arrays"))
    if what == "array":
        return _array(rng, rng.choice(("tensor", "array")))
    if what == "number":
        kinds = [_number_kind(rng)] * 2 + [_number_kind(rng)]
        if rng.random() < 0.15:  # computed of a tensor, or an array
            return Slot(_array(rng, rng.choice(("tensor", "array"))).texts, "computed")
        return Slot(tuple(_number(rng, k) for k in kinds), _place(rng))
    if what == "list":
        kinds = [rng.choice(PYTHONS)] * 2 + [_number_kind(rng)]
        return Slot(tuple(_list(rng, k) for k in kinds), _place(rng))
    kind, dtype = rng.choice(("tensor", "array")), rng.choice(DTYPES)
    shape = rng.choice(SHAPES[:3])
    pair = lambda: f"[{_of(rng, kind, dtype, shape)}, {_of(rng, kind, dtype, shape)}]"
    return Slot((pair(), pair(), pair()), rng.choice(("passed", "outside")))


def _place(rng: Random) -> str:
    return rng.choice(("inline", "outside", "outside", "passed"))


def _array(rng: Random, kind: str) -> Slot:
    dtype, shape = rng.choice(DTYPES), rng.choice(SHAPES)
    other = dtype if rng.random() < 0.7 else rng.choice(DTYPES)
    texts = tuple(_of(rng, kind, d, shape) for d in (dtype, dtype, other))
    return Slot(texts, rng.choice(("passed", "passed", "outside")))


def _of(rng: Random, kind: str, dtype: str, shape: str) -> str:
    """An array, or a tensor, as text."""
    row = lambda: sorted((_item(rng, dtype) for _ in range(3)), key=np.real)  # as some have to be
    numbers: Any = _item(rng, dtype) if shape == "number" else row()
    if shape == "matrix":
        numbers = [numbers, row(), row()]
    if kind == "tensor":
        grad = ", requires_grad=True" if "float" in dtype and rng.random() < 0.1 else ""
        return f"wg.tensor({numbers}, dtype=wg.{dtype}{grad})"
    return f"np.array({numbers}).astype(wg.{dtype})"


def _item(rng: Random, dtype: str) -> Any:
    if dtype == "bool":
        return rng.random() < 0.6
    if "int" in dtype:
        return rng.choice(
            (0, 1, 2, 1, 2, 3) if dtype[0] == "u" or rng.random() < 0.7 else (-1, -2, 5)
        )
    x = round(rng.uniform(0.1, 3.0) if rng.random() < 0.7 else rng.uniform(-3, 0), 2)
    return complex(x, round(rng.uniform(-2, 2), 2)) if dtype.startswith("complex") else x


def _number_kind(rng: Random) -> str:
    return rng.choice(
        (*PYTHONS, *PYTHONS, "np.float64", "np.float32", "np.float16", "np.int64", "np.int8",
         "np.uint8", "np.uint64", "np.bool_", "np.complex64", "np.complex128", "array", "tensor")
    )  # fmt: skip


def _number(rng: Random, kind: str) -> str:
    if kind in ("array", "tensor"):
        return _of(rng, kind, rng.choice(DTYPES), "number")
    name = kind.removeprefix("np.").rstrip("_")
    text = repr(_item(rng, name))
    return text if kind in PYTHONS else f"{kind}({text})"


def _list(rng: Random, kind: str) -> str:
    return f"[{', '.join(_number(rng, kind) for _ in range(3))}]"


def _works(call: Call) -> bool:
    try:
        run = _Run(call, lambda f: f, alone=True)
        run.call(0)
    except Exception:
        return False
    return True


# ---- calling ------------------------------------------------------------------------------------

CALLS = (0, 0, 1, 1, 2, 2, 0)


class _Run:
    """A function of a call's, in a module of its own."""

    def __init__(self, call: Call, compile: Any, alone: bool = False) -> None:
        self.slots = call.slots
        if alone:
            self.names: dict[str, Any] = {"np": np, "wg": wg}
            exec(call.source, self.names)  # noqa: S102
        else:
            self.names = vars(module(call.source))
        self.function = compile(self.names["f"])

    def call(self, k: int) -> Any:
        values = [eval(slot.texts[k], {"np": np, "wg": wg}) for slot in self.slots]
        for i, slot in enumerate(self.slots):
            if slot.place in ("outside", "computed"):
                self.names[f"k{i}"] = values[i]
        passed = [x for x, slot in zip(values, self.slots, strict=True) if slot.place == "passed"]
        return self.function(*passed), values


REFUSED = "refused"


def told(call: Call, compile: Any) -> list[Any]:
    """What each call gave, and made of its arguments."""
    wg.manual_seed(0)
    run, seen = _Run(call, compile), []
    for k in CALLS:
        try:
            seen.append(noted(run.call(k)))
        except TracingError:
            seen.append(REFUSED)
        except Exception as error:
            words = re.sub(r"0x\w+", "", str(error).partition("\n")[0])
            seen.append(f"{type(error).__name__}: {words}")
    return seen


def noted(x: Any) -> Any:
    """What there is to compare: classes, dtypes, shapes, and numbers."""
    kind = type(x).__name__
    if isinstance(x, wg.Tensor) and x.is_sparse:
        return [kind, noted(x.to_dense())]
    if isinstance(x, wg.Tensor):
        return (f"{kind} {x.dtype} {[*x.shape]} {x.requires_grad}", np.array(x.detach().numpy()))
    if isinstance(x, np.ndarray) and x.dtype == object:
        return f"{kind} {x!r}"
    if isinstance(x, np.ndarray | np.generic):
        return (f"{kind} {x.dtype} {[*x.shape]}", np.array(x))
    if isinstance(x, list | tuple):
        return [kind, *map(noted, x)]
    if isinstance(x, dict):
        return [kind, *[[str(k), noted(v)] for k, v in x.items()]]
    return (kind, np.array(x)) if isinstance(x, bool | int | float | complex) else f"{kind} {x}"


def difference(found: Any, expected: Any) -> str:
    """Where two outcomes differ by more than rounding, in words."""
    if isinstance(expected, list) and isinstance(found, list) and len(found) == len(expected):
        parts = (difference(x, y) for x, y in zip(found, expected, strict=True))
        return next(filter(None, parts), "")
    same = type(found) is type(expected)
    if same and isinstance(expected, tuple) and isinstance(expected[1], np.ndarray):
        x, y = found[1], expected[1]
        same = found[0] == expected[0] and x.dtype == y.dtype and x.shape == y.shape
        if same and _near(x, y):
            return ""
    elif same and found == expected:
        return ""
    return f"{_short(found)} instead of {_short(expected)}"


def _short(x: Any) -> str:
    return re.sub(r"\s+", " ", str(x))[:300]


PRECISION = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-4, "complex64": 1e-4}


def _near(x: Any, y: Any) -> bool:
    if y.dtype.kind not in "fcV":
        return bool(np.array_equal(x, y))
    wide = np.complex128 if y.dtype.kind == "c" else np.float64
    names = {y.dtype.name, *(n for n in ("float16", "float32") if _are(n, x) and _are(n, y))}
    x, y = x.astype(wide), y.astype(wide)
    tolerance = max(PRECISION.get(name, 1e-9) for name in names)
    finite = np.abs(y[np.isfinite(y)])
    return bool(np.allclose(x, y, tolerance, tolerance * finite.max(initial=1e-3), equal_nan=True))


def _are(name: str, x: Any) -> bool:
    """Whether numbers were rounded to this dtype, whatever they are now."""
    return x.dtype.kind == "f" and bool(np.array_equal(x.astype(name), x, equal_nan=True))


def trouble(call: Call) -> str:
    """What differs when the function is compiled; the empty text if nothing does."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = told(call, lambda f: f)
        found = told(call, wg.compile)
    for n, (x, y) in enumerate(zip(found, expected, strict=True)):
        if x == REFUSED:
            continue
        if words := difference(x, y):
            return f"call {n} (set {CALLS[n]}): {words}"
    return ""
