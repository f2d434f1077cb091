"""HIPS autograd's names in terms of this package, so that its own tests run with other imports.

Its test files say `import autograd.numpy as np`; inside of `instead_of_autograd()` that is NumPy
itself, `autograd.scipy` is `wengert.scipy`, and `check_grads` compares wengert's derivatives with
difference quotients. The files are not part of this repository: `test_hips.py` says where from.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import itertools
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np

import wengert as wg
import wengert.numpy
from wengert.tree import collect, rebuild

_STEP = 1e-6
_TOLERANCE = 2e-5  # the differential equations are solved to 1e-8


def _arrays(item: Any) -> tuple[list[np.ndarray], Any]:
    leaves: list[Any] = []
    tree = collect(item, leaves)
    return [np.asarray(x.detach() if isinstance(x, wg.Tensor) else x) for x in leaves], tree


def _floating(item: Any) -> Any:
    """What is differentiated by: whole numbers as floating-point ones."""
    leaves: list[Any] = []
    tree = collect(item, leaves)
    return rebuild(tree, iter([x if np.result_type(x).kind in "fc" else x * 1.0 for x in leaves]))


def _random(item: Any) -> Any:
    arrays, tree = _arrays(item)
    random = np.random.default_rng(len(arrays) + sum(x.size for x in arrays))
    made = [
        random.normal(size=x.shape)
        + (1j * random.normal(size=x.shape) if x.dtype.kind == "c" else 0.0)
        for x in arrays
    ]
    return rebuild(tree, iter([m if m.ndim else m[()] for m in made]))


def _moved(item: Any, direction: Any, step: float) -> Any:
    leaves: list[Any] = []
    tree = collect(item, leaves)
    along, _ = _arrays(direction)
    return rebuild(tree, iter([x + step * t for x, t in zip(leaves, along, strict=True)]))


def _inner(a: Any, b: Any) -> float:
    pairs = zip(_arrays(a)[0], _arrays(b)[0], strict=True)
    return float(sum(np.real(np.vdot(x, y)) for x, y in pairs))


def _close(found: float, expected: float) -> bool:
    return abs(found - expected) <= _TOLERANCE * max(1.0, abs(expected))


def check_grads(f: Any, argnum: Any = 0, modes: Any = ("fwd", "rev"), order: int = 2) -> Any:
    """A function of arguments that checks the derivatives of `f` at them."""

    def check(*args: Any, **kwargs: Any) -> None:
        places = (argnum,) if isinstance(argnum, int) else tuple(argnum)

        def of_chosen(*chosen: Any) -> Any:
            given = list(args)
            for i, x in zip(places, chosen, strict=True):
                given[i] = x
            return f(*given, **kwargs)

        chosen = tuple(_floating(args[i]) for i in places)
        _check(of_chosen, chosen, modes, order)

    return check


def _check(f: Callable[..., Any], xs: tuple[Any, ...], modes: Any, order: int) -> None:
    y = f(*xs)
    v, w = _random(xs), _random(y)
    up, down = f(*_moved(xs, v, _STEP)), f(*_moved(xs, v, -_STEP))
    expected = (_inner(w, up) - _inner(w, down)) / (2 * _STEP)
    if not any(x.size for x in _arrays(xs)[0]):
        return
    if "rev" in modes:
        _, pull = wg.func.vjp(f, *xs)
        found = _inner(pull(w), v)
        assert _close(found, expected), f"reverse: {found}, by differences {expected}"
        if order > 1:
            _check(lambda *xs: wg.func.vjp(f, *xs)[1](w), xs, modes, order - 1)
    if "fwd" in modes:
        _, t = wg.jvp(f, xs, v)
        found = _inner(w, t)
        assert _close(found, expected), f"forward: {found}, by differences {expected}"


def combo_check(f: Any, *args: Any, **kwargs: Any) -> Any:
    check = functools.partial(check_grads, f, *args, **kwargs)

    def all_of(*lists: Any, **named: Any) -> None:
        settings = [[(k, x) for x in xs] for k, xs in named.items()]
        for values in itertools.product(*lists):
            for chosen in itertools.product(*settings):
                check()(*values, **dict(chosen))

    return all_of


def _elementwise_grad(f: Any, argnum: int = 0) -> Any:
    def gradient(*args: Any, **kwargs: Any) -> Any:
        return wg.grad(lambda *xs: np.sum(f(*xs, **kwargs)), argnum)(*map(_floating, args))

    return gradient


def _transform(transform: Any) -> Any:
    """A transform that takes whole numbers for floating-point ones, as autograd's do."""

    def of(f: Any, argnum: Any = 0) -> Any:
        def called(*args: Any, **kwargs: Any) -> Any:
            chosen = {argnum} if isinstance(argnum, int) else {*argnum}
            given = [_floating(x) if i in chosen else x for i, x in enumerate(args)]
            return transform(f, argnum)(*given, **kwargs)

        return called

    return of


def _make_vjp(f: Any, x: Any) -> Any:
    y, pull = wg.func.vjp(f, _floating(x))
    return (lambda g: pull(g)[0]), y


def _modules() -> dict[str, Any]:
    autograd: Any = ModuleType("autograd")
    autograd.grad = _transform(wg.grad)
    autograd.jacobian = _transform(wg.jacrev)
    autograd.hessian = wg.hessian
    autograd.value_and_grad = _transform(wg.value_and_grad)
    autograd.elementwise_grad = autograd.deriv = _elementwise_grad
    autograd.make_vjp = _make_vjp
    autograd.holomorphic_grad = autograd.grad
    autograd.isinstance, autograd.tuple = isinstance, tuple
    autograd.list, autograd.dict = list, dict
    util: Any = ModuleType("autograd.test_util")
    util.check_grads, util.combo_check = check_grads, combo_check
    util.scalar_close = lambda a, b: abs(a - b) < 1e-6
    core: Any = ModuleType("autograd.core")
    core.make_vjp = lambda f, x: _make_vjp(f, x)
    builtins: Any = ModuleType("autograd.builtins")
    builtins.list, builtins.tuple, builtins.dict, builtins.isinstance = (
        list,
        tuple,
        dict,
        isinstance,
    )
    made = {
        "autograd": autograd, "autograd.test_util": util, "autograd.core": core,
        "autograd.builtins": builtins, "autograd.numpy": wengert.numpy,
        "autograd.numpy.random": np.random, "autograd.numpy.linalg": wengert.numpy.linalg,
        "autograd.numpy.fft": wengert.numpy.fft,
    }  # fmt: skip
    with contextlib.suppress(ImportError):
        scipy = importlib.import_module("wengert.scipy")
        made["autograd.scipy"] = scipy
        for name in ("linalg", "signal", "special", "stats", "integrate"):
            part = made[f"autograd.scipy.{name}"] = getattr(scipy, name)
            if name == "stats":
                for kind in ("norm", "multivariate_normal", "t", "dirichlet"):
                    made[f"autograd.scipy.stats.{kind}"] = getattr(part, kind)
    for name, module in made.items():
        parent, _, last = name.rpartition(".")
        if parent == "autograd":
            setattr(autograd, last, module)
    return made


@contextlib.contextmanager
def instead_of_autograd() -> Iterator[None]:
    """Imports of autograd give this package, until the block ends."""
    before = {name: m for name, m in sys.modules.items() if name.partition(".")[0] == "autograd"}
    for name in before:
        del sys.modules[name]
    made = _modules()
    sys.modules.update(made)
    try:
        yield
    finally:
        for name in made:
            sys.modules.pop(name, None)
        sys.modules.update(before)
