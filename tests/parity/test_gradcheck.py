"""gradcheck beside PyTorch's: the same verdict on the same function, for the same reason."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.autograd.sound_functions import SOUND, inputs

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")

numbers = np.random.default_rng(8)
X = numbers.standard_normal((3, 4))
Z = X[0] + 1j * X[1]


def verdict(lib: Any, run: Any) -> tuple[Any, str]:
    """What a check says: True, or the kind of its error, and the message."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return run(lib), ""
        except Exception as error:
            kind = type(error).__name__
            return ("GradcheckError" if "Gradcheck" in kind else kind), str(error)


# ---- functions that are right --------------------------------------------------------------


@pytest.mark.parametrize("fast", [False, True], ids=["slow", "fast"])
@pytest.mark.parametrize("name", SOUND)
def test_sound_functions_pass_both(name, fast):
    f, arrays = SOUND[name]

    def both(lib: Any) -> Any:
        def func(*xs: Any) -> Any:
            return f(lib, *xs)

        xs = inputs(lib, *arrays)
        first = lib.autograd.gradcheck(
            func, xs, fast_mode=fast, check_forward_ad=True, check_batched_grad=True
        )
        return first, lib.autograd.gradgradcheck(func, xs, fast_mode=fast)

    assert verdict(wg, both) == verdict(torch, both) == ((True, True), "")


# ---- functions that are not ----------------------------------------------------------------


def custom(lib: Any, forward: Any, backward: Any, *, materialize: bool = True) -> Any:
    class Custom(lib.autograd.Function):
        pass

    def run(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(materialize)
        ctx.save_for_backward(x)
        return forward(x)

    def pull(ctx: Any, g: Any) -> Any:
        return backward(g, *ctx.saved_tensors)

    Custom.forward = staticmethod(run)
    Custom.backward = staticmethod(pull)
    return Custom.apply


def refuses(lib: Any) -> Any:
    def backward(g: Any, x: Any) -> Any:
        if g is None:
            raise RuntimeError("nothing came in")
        return g

    return custom(lib, lambda x: x * 1, backward, materialize=False)


class Rattles:
    def __init__(self) -> None:
        self.count = 0

    def __call__(self, g: Any, x: Any) -> Any:
        self.count += 1
        return g * (1 + self.count * 1e-8)


FAULTY: dict[str, tuple[Any, Any, dict[str, Any], str]] = {
    "wrong by a factor": (
        lambda t: custom(t, lambda x: x * x, lambda g, x: 3 * x * g), X, {},
        "Jacobian mismatch for output 0 with respect to input 0",
    ),
    "wrong sign": (
        lambda t: custom(t, lambda x: x.sin(), lambda g, x: -x.cos() * g), X, {},
        "Jacobian mismatch for output 0 with respect to input 0",
    ),
    "conjugate missing": (
        lambda t: custom(t, lambda z: z * z, lambda g, z: g * 2 * z), Z, {},
        "part of complex outputs only, Jacobian mismatch for output 0",
    ),
    "history cut": (
        lambda t: lambda x: x.detach() * 2, X, {},
        "Numerical gradient for function expected to be zero",
    ),
    "history cut halfway": (
        lambda t: lambda x: x * x.detach(), X, {},
        "Jacobian mismatch for output 0 with respect to input 0",
    ),
    "different each time": (
        lambda t: custom(t, lambda x: x * 1, Rattles()), X, {}, "Backward is not reentrant",
    ),
    "different within tolerance": (
        lambda t: custom(t, lambda x: x * 1, Rattles()), X, {"nondet_tol": 1e-4}, "",
    ),
    "ignores what comes in": (
        lambda t: custom(t, lambda x: x.sum(), lambda g, x: x * 0 + 1), X, {},
        "not multiplied by grad_output",
    ),
    "zero times infinity": (
        lambda t: lambda x: x.abs().sqrt() * 0, 0 * X, {}, "mismatch|not multiplied by grad_output",
    ),
    "refuses undefined gradients": (refuses, X, {}, "handle undefined output grads"),
    "refuses them unasked": (refuses, X, {"check_undefined_grad": False}, ""),
    "numbers in a batched backward": (
        lambda t: custom(t, lambda x: x * 1, lambda g, x: g * min(1, float(g.sum()) + 99)),
        X,
        {"check_batched_grad": True}, "While computing batched gradients, got:",
    ),
    "a kink": (lambda t: lambda x: x.abs() + x.clamp(min=0), 0 * X, {}, "Jacobian mismatch"),
    "too large a step": (
        lambda t: lambda x: (50 * x).sin(), X, {"eps": 0.1}, "Jacobian mismatch for output 0",
    ),
    "wide tolerances": (
        lambda t: custom(t, lambda x: x * x, lambda g, x: 2.001 * x * g), X,
        {"atol": 1e-1, "rtol": 1e-1}, "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fast", [False, True], ids=["slow", "fast"])
@pytest.mark.parametrize("name", FAULTY)
def test_faults_are_found_by_both_and_called_the_same(name, fast):
    make, array, options, phrase = FAULTY[name]

    def check(lib: Any) -> Any:
        return lib.autograd.gradcheck(make(lib), inputs(lib, array), fast_mode=fast, **options)

    (mine, said), (theirs, told) = verdict(wg, check), verdict(torch, check)
    assert mine == theirs
    assert mine is (True if not phrase else mine)
    assert re.search(phrase, said)
    assert re.search(phrase, told)


def test_the_printed_jacobians_agree_with_pytorchs():
    f = FAULTY["wrong by a factor"][0]
    said, told = (
        verdict(lib, lambda lib: lib.autograd.gradcheck(f(lib), inputs(lib, [1.0, 2.0])))[1]
        for lib in (wg, torch)
    )
    ours, theirs = (re.findall(r"(?:numerical|analytical):tensor\((\[\[.*?\]\])", text, re.S)
                    for text in (said, told))  # fmt: skip
    assert len(ours) == 2
    assert ours == theirs


# ---- what is refused -----------------------------------------------------------------------

REFUSED: dict[str, tuple[Any, str]] = {
    "nothing requires grad": (
        lambda t: t.autograd.gradcheck(lambda x: x, t.ones(2)),
        "at least one input tensor to require gradient",
    ),
    "stride 0": (
        lambda t: t.autograd.gradcheck(lambda x: x, inputs(t, [1.0])[0].expand(3)),
        "has a dimension with stride 0",
    ),
    "no mode": (
        lambda t: t.autograd.gradcheck(lambda x: x, inputs(t, X), check_backward_ad=False),
        "Expected at least one of",
    ),
    "batched forward without forward": (
        lambda t: t.autograd.gradcheck(lambda x: x, inputs(t, X), check_batched_forward_grad=True),
        "requires check_forward_ad",
    ),
    "a shape that changes": (
        lambda t: t.autograd.gradcheck(
            lambda x: x.sum().repeat(2 if float(x.sum()) > float(X.sum()) else 1), inputs(t, X)
        ),
        "same shape when inputs are perturbed",
    ),
    "an error in the function": (
        lambda t: t.autograd.gradcheck(lambda x: {}["k"], inputs(t, X)),
        "k",
    ),
    "no mode for gradients": (
        lambda t: t.autograd.gradgradcheck(
            lambda x: x, inputs(t, X), check_rev_over_rev=False, check_undefined_grad=False
        ),
        "Expected at least one of",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_refused_by_both_with_the_same_exception(name):
    run, phrase = REFUSED[name]
    (mine, said), (theirs, told) = verdict(wg, run), verdict(torch, run)
    assert mine == theirs
    assert mine not in (True, False, "GradcheckError")
    assert phrase in said
    assert phrase in told
