"""Whether derivatives are what difference quotients say: `gradcheck` and `gradgradcheck`.

A check compares Jacobians (`checks/comparison.py`), then tries what else a derivative must stand:
to be given zeros, or nothing, to be batched (`checks/robustness.py`). What it finds is told entry
by entry, with the error curve of the difference quotient around the step, which shows whose fault
it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from wengert.autograd import checks
from wengert.autograd.differentiate import grad
from wengert.errors import GradcheckError as GradcheckError
from wengert.history.location import warn
from wengert.imports import lacking as _lacking
from wengert.tensor import Tensor, wrap


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """True if the derivatives of `func` at `inputs` are what difference quotients say.

    |analytical - numerical| <= atol + rtol |numerical|    for each entry of each Jacobian

    where numerical = (func(x + eps) - func(x - eps)) / (2 eps). `inputs` is a tensor or a sequence
    of arguments; those tensors that require grad are differentiated by, and should be float64 or
    complex128. `func` returns one tensor or several. A complex output counts as two real ones; a
    complex input, in forward mode, likewise.

    `check_forward_ad` checks forward mode too, `check_backward_ad=False` only that. Beyond the
    Jacobians it is checked that the backward gives the same twice, up to `nondet_tol`; gives zeros
    for zeros (with `masked`, up to rounding); survives undefined incoming gradients
    (`check_undefined_grad`); gives gradients of the inputs' dtypes (`check_grad_dtypes`); can be
    batched (`check_batched_grad`, `check_batched_forward_grad`). `fast_mode` compares products with
    random vectors instead of whole matrices.

    Raises GradcheckError if a check fails, or returns False with `raise_exception=False`. Raised in
    any case: ValueError if no input requires grad, RuntimeError for an input with stride 0,
    AssertionError for arguments that exclude each other and for outputs whose shape or dtype
    depends on the inputs, and what `func` itself raises.

    >>> import wengert as wg
    >>> x = wg.tensor([2.0, 5.0], dtype=wg.float64, requires_grad=True)
    >>> gradcheck(lambda x: x[0].log() + x[0] * x[1] - x[1].sin(), x)
    True
    """
    _check_arguments(check_backward_ad, check_forward_ad, check_batched_grad,
                     check_batched_forward_grad)  # fmt: skip
    arguments = checks.as_tuple(inputs)
    _check_inputs(arguments)
    outputs = checks.as_tuple(func(*arguments))
    _check_outputs(outputs)
    check = checks.Check(
        func, arguments, outputs, eps, atol, rtol, nondet_tol, check_grad_dtypes, fast_mode,
        bool(masked),
    )  # fmt: skip
    try:
        if check_backward_ad:
            for part in _parts_of_outputs(check):
                checks.compare(part)
        if check_forward_ad:
            for part in _parts_of_inputs(check):
                checks.compare(part)
                if check_undefined_grad:
                    checks.robustness.absent_tangents(part)
        if check_batched_forward_grad:
            checks.robustness.batched_tangents(check)
        if check_backward_ad:
            if check_batched_grad:
                checks.robustness.batched_cotangents(check)
            checks.robustness.zeros_for_zeros(check)
            if check_undefined_grad:
                checks.robustness.undefined_cotangents(check)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """True if the derivatives of the gradients of `func` are what difference quotients say.

    It is `gradcheck` of the function from the inputs and `grad_outputs` to the gradients of the
    inputs. `grad_outputs` are one for each output that requires grad, random numbers between -1 and
    1 if they are not given (not contiguous with `gen_non_contig_grad_outputs`).
    `check_fwd_over_rev` differentiates the gradients by forward mode, `check_rev_over_rev` by
    reverse mode. The other arguments and errors are those of `gradcheck`.

    >>> import wengert as wg
    >>> x = wg.tensor([2.0, 5.0], dtype=wg.float64, requires_grad=True)
    >>> gradgradcheck(lambda x: x[0].log() + x[0] * x[1] - x[1].sin(), x)
    True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError(
            "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"
        )
    for name, given in [
        ("check_undefined_grad", check_undefined_grad),
        ("check_batched_grad", check_batched_grad),
    ]:
        if given and not check_rev_over_rev:
            raise AssertionError(f"Setting {name}=True requires check_rev_over_rev to be True")
    arguments = checks.as_tuple(inputs)
    if grad_outputs is None:
        outputs = checks.tracked(checks.as_tuple(func(*arguments)))
        cotangents = _random_cotangents(outputs, gen_non_contig_grad_outputs)
    else:
        cotangents = checks.as_tuple(grad_outputs)
    places = checks.tracked_places(arguments)
    given_places = checks.tracked_places(cotangents)
    count = len(arguments)

    def gradients(*args: Any) -> tuple[Any, ...]:
        # Forward mode gives inputs that do not require grad; the gradients are still by them.
        xs = _requiring(args[:count], places)
        outputs = checks.tracked(checks.as_tuple(func(*xs)))
        given = _requiring(args[count:], given_places)
        wanted = [xs[i] for i in places]
        gs = grad(outputs, wanted, given, create_graph=True, allow_unused=True) if wanted else ()
        return tuple(g for g in gs if g is not None)

    return gradcheck(
        gradients,
        (*arguments, *cotangents),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


def _random_cotangents(outputs: Sequence[Tensor], gaps: bool) -> tuple[Tensor, ...]:
    numbers = checks.generator()
    cotangents = []
    for y in outputs:
        array = numbers.uniform(-1, 1, (*y.shape, 2) if gaps else y.shape)
        if checks.is_complex(y):
            array = array + 1j * numbers.uniform(-1, 1, array.shape)
        array = array.astype(y.dtype)
        cotangents.append(wrap(array[..., 0] if gaps else array).requires_grad_())
    return tuple(cotangents)


def _requiring(values: Sequence[Any], places: Sequence[int]) -> list[Any]:
    return [x.requires_grad_() if i in places else x for i, x in enumerate(values)]


# ---- what is given -------------------------------------------------------------------------


def _check_arguments(backward: bool, forward: bool, batched: bool, batched_forward: bool) -> None:
    if not (forward or backward):
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    if batched and not backward:
        raise AssertionError(
            "Setting check_batched_grad=True requires check_backward_ad to be True"
        )
    if batched_forward and not forward:
        raise AssertionError(
            "Setting check_batched_forward_grad=True requires check_forward_ad to be True"
        )


def _check_inputs(inputs: Sequence[Any]) -> None:
    if not checks.tracked(inputs):
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them "
            "have requires_grad=True. Mark one with requires_grad_()."
        )
    for i, x in enumerate(inputs):
        if not (isinstance(x, Tensor) and x.requires_grad):
            continue
        if x.dtype not in (np.float64, np.complex128):
            warn(
                f"Input #{i} requires gradient and is not a double precision floating point or "
                f"complex: it has dtype {x.dtype}, in which difference quotients have few digits. "
                "This check will likely fail; give it x.double()."
            )
        if any(s == 0 and n > 1 for s, n in zip(x._array.strides, x.shape, strict=True)):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs "
                "that are non-overlapping to be able to compute the numerical gradients correctly. "
                "You should call .contiguous on the input before passing it to gradcheck."
            )


def _check_outputs(outputs: Sequence[Any]) -> None:
    for i, y in enumerate(outputs):
        if not isinstance(y, Tensor):
            raise TypeError(
                f"gradcheck takes a function that returns a tensor or several, but output {i} is "
                f"{type(y).__name__}. Return wengert tensors."
            )


# ---- complex numbers: one part at a time ---------------------------------------------------


def _parts_of_outputs(check: checks.Check) -> list[checks.Check]:
    """Reverse mode differentiates real functions: those of the imaginary and of the real part."""
    if not any(map(checks.is_complex, check.outputs)):
        return [check]

    def part(take: str, name: str) -> checks.Check:
        def func(*args: Any) -> tuple[Any, ...]:
            outputs = checks.as_tuple(check.func(*args))
            return tuple(getattr(y, take) if checks.is_complex(y) else y for y in outputs)

        note = f"While considering the {name} part of complex outputs only, "
        return replace(check, func=func, outputs=func(*check.inputs), note=note)

    return [part("imag", "imaginary"), part("real", "real")]


def _parts_of_inputs(check: checks.Check) -> list[checks.Check]:
    """Forward mode differentiates by real numbers: the imaginary, then the real parts."""
    check = replace(check, forward=True)
    if not any(map(checks.is_complex, check.inputs)):
        return [check]

    def part(name: str) -> checks.Check:
        real = name == "real"

        def func(*args: Any) -> Any:
            whole = [
                (a + 1j * x.detach().imag if real else x.detach().real + 1j * a)
                if checks.is_complex(x)
                else a
                for a, x in zip(args, check.inputs, strict=True)
            ]
            return check.func(*whole)

        inputs = tuple(
            _leaf(x.real if real else x.imag, x) if checks.is_complex(x) else x
            for x in check.inputs
        )
        note = f"While considering the {name} part of complex inputs only, "
        outputs = checks.as_tuple(func(*inputs))
        return replace(check, func=func, inputs=inputs, outputs=outputs, note=note)

    return [part("imaginary"), part("real")]


def _leaf(part: Tensor, x: Tensor) -> Tensor:
    return wrap(part._array.copy()).requires_grad_(x.requires_grad)


gradcheck.GradcheckError = GradcheckError  # type: ignore[attr-defined]  # as if of the module

_lacking(__name__)
