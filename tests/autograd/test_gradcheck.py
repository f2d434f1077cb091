"""gradcheck and gradgradcheck: what passes, what fails and what is told, what is raised anyway."""

from __future__ import annotations

import contextlib
import importlib
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.autograd.sound_functions import SOUND, inputs
from wengert.autograd import gradcheck, gradgradcheck

# PyTorch compiles a few forward-mode formulas by what it calls deprecated itself.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")


def leaf(lib: Any, values: Any, dtype: str = "float64") -> Any:
    return lib.tensor(values, dtype=getattr(lib, dtype), requires_grad=True)


def failure(lib: Any, func: Any, inputs: Any, **options: Any) -> str:
    """The message of a check that fails; with raise_exception=False it is False."""
    error = error_of(lib)
    with quiet(), pytest.raises(error) as caught:
        lib.autograd.gradcheck(func, inputs, **options)
    assert isinstance(caught.value, RuntimeError)
    with quiet():
        assert lib.autograd.gradcheck(func, inputs, raise_exception=False, **options) is False
    return str(caught.value)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def error_of(lib: Any) -> type[Exception]:
    return importlib.import_module(f"{lib.__name__}.autograd.gradcheck").GradcheckError


def custom(lib: Any, backward: Any, forward: Any = lambda x: x.clone()) -> Any:
    """A function with a backward of one's own: `backward(g, x)`."""

    class Custom(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return forward(x)

    def pull(ctx: Any, g: Any) -> Any:
        return backward(g, *ctx.saved_tensors)

    Custom.backward = staticmethod(pull)
    return Custom.apply


X = [0.3, -1.2, 2.5]
MODES = pytest.mark.parametrize("fast", [False, True], ids=["slow", "fast"])


# ---- what passes ---------------------------------------------------------------------------


@MODES
def test_right_derivatives_pass(lib, fast):
    x, y = leaf(lib, [X, X]), leaf(lib, [[2.0], [0.5]])

    def f(x, y):
        return (x * y).sin(), (x**2).sum()

    assert lib.autograd.gradcheck(f, (x, y), fast_mode=fast, check_batched_grad=True)
    assert lib.autograd.gradgradcheck(f, (x, y), fast_mode=fast)


@MODES
@pytest.mark.parametrize("dtypes", [("float64", "complex128"), ("complex128", "complex128")])
def test_real_and_complex_inputs_and_outputs_mix(lib, fast, dtypes):
    x, z = (leaf(lib, [0.7, -1.2], dtype) for dtype in dtypes)

    def f(x, z):
        return (x * z).exp(), (z.abs() * x.abs()), x * x, (z * 2).real

    assert lib.autograd.gradcheck(f, (x, z), fast_mode=fast)
    assert lib.autograd.gradgradcheck(f, (x, z), fast_mode=fast)


def test_inputs_may_be_a_list_with_things_that_are_no_tensors(lib):
    x, frozen = leaf(lib, X), lib.tensor(X, dtype=lib.float64)
    unrelated = leaf(lib, [1.0])
    assert lib.autograd.gradcheck(lambda x, n, c, u: (x**n * c).cos(), [x, 3, frozen, unrelated])


def test_the_inputs_come_back_unchanged_and_without_gradients(lib):
    x = leaf(lib, X)
    version = x._version
    assert lib.autograd.gradcheck(lambda x: x.exp(), x)
    assert x.tolist() == X
    assert x._version == version
    assert x.grad is None


def test_no_outputs_at_all_pass(lib):
    assert lib.autograd.gradcheck(lambda x: (), leaf(lib, X))


def test_outputs_without_history_pass_if_they_are_constant(lib):
    constant = lib.ones(2, dtype=lib.float64)
    assert lib.autograd.gradcheck(lambda x: constant * 2, leaf(lib, X))


@MODES
def test_an_output_without_history_that_depends_on_an_input_fails(lib, fast):
    told = failure(lib, lambda x: x.detach() * 2, leaf(lib, X), fast_mode=fast)
    assert "Numerical gradient for function expected to be zero" in told


def test_integer_outputs_beside_are_left_alone(lib):
    x = leaf(lib, X)
    assert lib.autograd.gradcheck(lambda x: (x.sort()[0], x.argsort() * 2), x)


def test_scalars_and_empty_tensors_are_checked(lib):
    assert lib.autograd.gradcheck(lambda x: x.exp(), leaf(lib, 0.5))
    assert lib.autograd.gradcheck(lambda x: x * 2, leaf(lib, np.empty((0, 3)).tolist()))


def test_derivatives_are_sound_up_to_the_fourth(lib):
    def second(x):
        (g,) = lib.autograd.grad((x.sin() * x).sum(), x, create_graph=True)
        (h,) = lib.autograd.grad(g.sum(), x, create_graph=True)
        return h

    assert lib.autograd.gradcheck(second, leaf(lib, X))
    assert lib.autograd.gradgradcheck(second, leaf(lib, X))


# ---- what fails ----------------------------------------------------------------------------


@MODES
def test_a_wrong_formula_names_output_and_input(lib, fast):
    wrong = custom(lib, lambda g, x: g * 2.1 * x, lambda x: x**2)
    told = failure(
        lib, lambda y, x: (y * 1, wrong(x)), (leaf(lib, X), leaf(lib, X)), fast_mode=fast
    )
    assert "Jacobian mismatch for output 1 with respect to input 1" in told


@MODES
def test_one_wrong_entry_is_noticed(lib, fast):
    scale = lib.tensor([1.0, 1.0, 1.05], dtype=lib.float64)
    wrong = custom(lib, lambda g, x: g * 2 * x * scale, lambda x: x**2)
    assert "Jacobian mismatch" in failure(lib, wrong, leaf(lib, X), fast_mode=fast)


@MODES
def test_of_complex_outputs_the_part_is_named(lib, fast):
    wrong = custom(lib, lambda g, z: g * 1.5, lambda z: z * 1)
    told = failure(lib, wrong, leaf(lib, [1 + 2j], "complex128"), fast_mode=fast)
    assert "While considering the imaginary part of complex outputs only, Jacobian mis" in told


@MODES
def test_a_backward_that_differs_from_run_to_run_fails_unless_allowed(lib, fast):
    runs = []

    def jitters(g, x):
        runs.append(1)
        return g * (1 + 1e-7 * (len(runs) % 2))

    f = custom(lib, jitters)
    assert "Backward is not reentrant" in failure(lib, f, leaf(lib, [1.0]), fast_mode=fast)
    assert lib.autograd.gradcheck(f, leaf(lib, [1.0]), fast_mode=fast, nondet_tol=1e-5)


def test_zero_cotangents_must_give_zero(lib):
    ignores = custom(lib, lambda g, x: lib.ones_like(x), lambda x: x * 1)
    told = failure(lib, lambda x: ignores(x).sum(), leaf(lib, X))
    assert "backward not multiplied by grad_output" in told


def test_masked_allows_for_rounding(lib):
    nearly = custom(lib, lambda g, x: g + 1e-12)
    assert "not multiplied by grad_output" in failure(lib, nearly, leaf(lib, X))
    assert lib.autograd.gradcheck(nearly, leaf(lib, X), masked=True, check_undefined_grad=False)


class TestUndefinedGradients:
    def breaks(self, lib: Any) -> Any:
        class Breaks(lib.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.set_materialize_grads(False)
                return x * 2

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                if g is None:
                    raise RuntimeError("I need numbers")
                return g * 2

        return Breaks.apply

    def test_the_check_feeds_them_and_warns_that_it_does(self, lib):
        with pytest.warns(UserWarning, match="undefined gradient support checking") as caught:
            assert not lib.autograd.gradcheck(self.breaks(lib), leaf(lib, X), raise_exception=False)
        assert "check_undefined_grad=False" in str(caught[0].message)
        assert "handle undefined output grads" in failure(lib, self.breaks(lib), leaf(lib, X))

    def test_it_can_be_left_out(self, lib):
        assert lib.autograd.gradcheck(self.breaks(lib), leaf(lib, X), check_undefined_grad=False)

    def test_what_hooks_raise_is_caught(self, lib):
        def f(x):
            y = x * 2

            def hook(g):
                if g is None:
                    raise RuntimeError("hook met nothing")
                return g

            y.register_hook(hook)
            return y + 0 * x

        assert "handle undefined output grads" in failure(lib, f, leaf(lib, X))

    def test_something_made_from_nothing_fails(self, lib):
        class Invents(lib.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.set_materialize_grads(False)
                return x * 2

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return lib.ones(3, dtype=lib.float64) if g is None else g * 2

        told = failure(lib, Invents.apply, leaf(lib, X))
        assert "Expected all input grads to be undefined or zero" in told


def test_the_dtype_of_a_gradient_is_checked_if_asked(lib):
    # Both libraries cast what a custom backward returns, so only what is right can be shown.
    assert lib.autograd.gradcheck(lambda x: x.exp(), leaf(lib, X), check_grad_dtypes=True)


def test_a_batched_backward_that_goes_wrong_fails(lib):
    takes_numbers = custom(
        lib, lambda g, x: g * (2 if float(g.sum()) < 1e9 else 1), lambda x: 2 * x
    )
    assert lib.autograd.gradcheck(takes_numbers, leaf(lib, X))
    told = failure(lib, takes_numbers, leaf(lib, X), check_batched_grad=True)
    assert "While computing batched gradients, got:" in told
    assert "check_batched_grad=False" in told


def test_random_numbers_in_a_batched_backward_are_refused(lib):
    noisy = custom(lib, lambda g, x: g + 0 * lib.rand_like(g), lambda x: x * 1)
    with quiet(), pytest.raises(RuntimeError, match="random"):
        lib.autograd.gradcheck(noisy, leaf(lib, X), check_batched_grad=True)


# ---- what is raised anyway -----------------------------------------------------------------


@pytest.mark.parametrize("raising", [True, False])
class TestRaisedRegardless:
    def test_no_input_requires_grad(self, lib, raising):
        with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
            lib.autograd.gradcheck(lambda x: x, lib.ones(2), raise_exception=raising)

    def test_an_input_with_stride_zero(self, lib, raising):
        x = leaf(lib, [1.0]).expand(3)
        with pytest.raises(RuntimeError, match="The 0th input has a dimension with stride 0"):
            lib.autograd.gradcheck(lambda x: x, x, raise_exception=raising)

    def test_neither_forward_nor_backward(self, lib, raising):
        with pytest.raises(AssertionError, match="Expected at least one of"):
            lib.autograd.gradcheck(
                lambda x: x, leaf(lib, X), check_backward_ad=False, raise_exception=raising
            )

    def test_an_output_whose_shape_depends_on_the_input(self, lib, raising):
        x = leaf(lib, [1.0, 2.0])
        start = x.tolist()

        def f(x):
            return x.sum().repeat(2 if x.tolist() > start else 1)

        with pytest.raises(AssertionError, match="same shape when inputs are perturbed"):
            lib.autograd.gradcheck(f, x, raise_exception=raising)
        assert x.tolist() == start

    def test_what_the_function_raises(self, lib, raising):
        def f(x):
            raise KeyError("mine")

        with pytest.raises(KeyError, match="mine"):
            lib.autograd.gradcheck(f, leaf(lib, X), raise_exception=raising)


@pytest.mark.parametrize(
    "options",
    [
        {"check_batched_grad": True, "check_backward_ad": False, "check_forward_ad": True},
        {"check_batched_forward_grad": True},
    ],
)
def test_arguments_that_exclude_each_other_are_named(lib, options):
    with pytest.raises(AssertionError, match="requires"):
        lib.autograd.gradcheck(lambda x: x, leaf(lib, X), **options)


def test_single_precision_is_warned_of_by_position(lib):
    x = leaf(lib, [1.0], "float32")
    with pytest.warns(UserWarning, match="Input #1 requires gradient and is not a double"):
        lib.autograd.gradcheck(lambda y, x: x * 2, (3.0, x), eps=1e-2, atol=1e-2)


def test_gradcheck_is_a_function_and_a_module(lib):
    module = importlib.import_module(f"{lib.__name__}.autograd.gradcheck")
    assert callable(lib.autograd.gradcheck)
    assert issubclass(module.GradcheckError, RuntimeError)
    assert module.gradcheck is lib.autograd.gradcheck


# ---- gradgradcheck -------------------------------------------------------------------------


def test_a_gradient_whose_own_derivative_is_wrong_fails(lib):
    half = custom(lib, lambda g, x: g * x.detach() * 2, lambda x: x**2)
    assert lib.autograd.gradcheck(half, leaf(lib, X))
    assert lib.autograd.gradgradcheck(half, leaf(lib, X), raise_exception=False) is False


def test_grad_outputs_may_be_given_one_for_each_output(lib):
    x = leaf(lib, X)
    given = leaf(lib, [1.0, 0.5, 2.0]), leaf(lib, [3.0, 1.0, 1.0])
    assert lib.autograd.gradgradcheck(lambda x: (x**2, x.sin()), x, given)


def test_made_grad_outputs_may_have_gaps(lib):
    seen = []

    class Watches(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            seen.append(g.is_contiguous())
            return g * 2

    x = leaf(lib, [X, X])
    assert lib.autograd.gradgradcheck(Watches.apply, x, gen_non_contig_grad_outputs=True)
    assert not all(seen)


def test_gradgradcheck_needs_a_mode(lib):
    with pytest.raises(AssertionError, match="Expected at least one of check_fwd_over_rev"):
        lib.autograd.gradgradcheck(
            lambda x: x**2, leaf(lib, X), check_rev_over_rev=False, check_undefined_grad=False
        )
    with pytest.raises(AssertionError, match="check_undefined_grad=True requires"):
        lib.autograd.gradgradcheck(
            lambda x: x**2, leaf(lib, X), check_fwd_over_rev=True, check_rev_over_rev=False
        )


# ---- wengert's own: what the messages show -------------------------------------------------


def message(func: Any, inputs: Any, **options: Any) -> str:
    with pytest.raises(wg.errors.GradcheckError) as caught:
        gradcheck(func, inputs, **options)
    return str(caught.value)


@MODES
def test_the_entry_both_values_and_the_error_curve_are_shown(fast):
    scale = wg.tensor([1.0, 1.05, 1.0], dtype=wg.float64)
    wrong = custom(wg, lambda g, x: g * 2 * x * scale, lambda x: x**2)
    told = message(lambda x: wrong(x), leaf(wg, X), fast_mode=fast)
    assert "1 of 9 entries differ" in told
    assert "entry (1,) of output 0 by entry (1,) of input 0, where the input is -1.2" in told
    assert "numerical   -2.4" in told
    assert "analytical  -2.52" in told
    assert "1.0e-06" in told
    assert "<- the step used" in told
    assert "the analytical derivative is at fault" in told


@pytest.mark.parametrize(("eps", "fault"), [(1e-1, "too large"), (1e-14, "too small")])
def test_a_step_at_fault_is_told_from_a_formula_at_fault(eps, fault):
    told = message(lambda x: (100 * x).sin(), leaf(wg, X), eps=eps)
    assert f"eps={eps:g} is {fault} for this function" in told


def test_a_point_without_a_derivative_is_told_from_both():
    told = message(lambda x: x.abs().sqrt(), leaf(wg, [0.0]), check_undefined_grad=False)
    assert "not finite" in told or "no derivative here" in told


def test_where_arguments_are_no_tensors_the_position_is_told():
    wrong = custom(wg, lambda g, x: g * 3)
    told = message(lambda n, x: wrong(x), (2, leaf(wg, X)))
    assert "of input 0 (argument 1)" in told


def test_a_function_that_returns_no_tensor_is_named():
    with pytest.raises(TypeError, match="returns a tensor or several, but output 0 is float"):
        gradcheck(lambda x: x.sum().item(), leaf(wg, X))


def test_the_users_random_numbers_are_left_where_they_are():
    x = leaf(wg, X)
    wg.manual_seed(3)
    expected = wg.rand(1).item()
    wg.manual_seed(3)
    assert gradcheck(lambda x: x**3, x, fast_mode=True, check_batched_grad=True)
    assert gradgradcheck(lambda x: x**3, x)
    assert wg.rand(1).item() == expected


def test_inputs_are_restored_when_the_function_raises():
    x = leaf(wg, [1.0])

    def f(x):
        if x.item() > 1:
            raise ValueError("too far")
        return x * 2

    with pytest.raises(ValueError, match="too far"):
        gradcheck(f, x)
    assert x.tolist() == [1.0]


# ---- forward mode --------------------------------------------------------------------------


def with_jvp(lib: Any, jvp: Any) -> Any:
    """x² with a right backward and a forward derivative of one's own: `jvp(t, x)`."""

    class Custom(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)
            return x**2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 2 * x * g

    def push(ctx: Any, t: Any) -> Any:
        return jvp(t, *ctx.saved_tensors)

    Custom.jvp = staticmethod(push)
    return Custom.apply


@MODES
def test_forward_mode_is_checked_with_reverse_mode_or_alone(lib, fast):
    x, y = leaf(lib, [X, X]), leaf(lib, [[2.0], [0.5]])

    def f(x, y):
        return (x * y).sin(), (x**2).sum()

    check = lib.autograd.gradcheck
    assert check(f, (x, y), fast_mode=fast, check_forward_ad=True)
    assert check(f, (x, y), fast_mode=fast, check_forward_ad=True, check_backward_ad=False)
    assert check(f, (x, y), check_forward_ad=True, check_batched_forward_grad=True)


@pytest.mark.parametrize("dtypes", [("float64", "complex128"), ("complex128", "float64")])
def test_forward_mode_mixes_real_and_complex(lib, dtypes):
    x, z = (leaf(lib, [0.7, -1.2], dtype) for dtype in dtypes)

    def f(x, z):
        return (x * z).exp(), x.abs() * z.abs(), z * 2

    assert lib.autograd.gradcheck(f, (x, z), check_forward_ad=True)


@MODES
def test_a_wrong_forward_derivative_has_a_message_of_its_own(lib, fast):
    wrong = with_jvp(lib, lambda t, x: 2.1 * x * t)
    x = leaf(lib, X)
    assert lib.autograd.gradcheck(wrong, x, fast_mode=fast)
    told = failure(lib, wrong, x, fast_mode=fast, check_forward_ad=True)
    assert "computed with forward mode mismatch for output 0 with respect to input 0" in told


def test_of_complex_inputs_the_part_is_named(lib):
    wrong = with_jvp(lib, lambda t, x: 2.1 * x * t)
    told = failure(
        lib,
        wrong,
        leaf(lib, [1 + 2j], "complex128"),
        check_forward_ad=True,
        check_backward_ad=False,
    )
    assert "While considering the imaginary part of complex inputs only" in told


def test_a_backward_at_fault_is_told_before_a_forward_at_fault(lib):
    class Wrong(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 3

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return t * 3

    told = failure(lib, Wrong.apply, leaf(lib, X), check_forward_ad=True)
    assert "Jacobian mismatch for output 0" in told
    assert "computed with forward mode" not in told


def test_in_forward_mode_the_function_gets_inputs_that_do_not_require_grad(lib):
    seen = []

    def f(x, frozen):
        dual = lib.autograd.forward_ad.unpack_dual(x).tangent is not None
        if dual:
            frozen_tangent = lib.autograd.forward_ad.unpack_dual(frozen).tangent
            seen.append((x.requires_grad, frozen.requires_grad, frozen_tangent is None))
        return x * frozen

    frozen = lib.ones(3, dtype=lib.float64)
    assert lib.autograd.gradcheck(
        f, (leaf(lib, X), frozen), check_forward_ad=True, check_backward_ad=False
    )
    assert set(seen) == {(False, False, True)}


@MODES
def test_gradients_are_checked_by_forward_over_reverse(lib, fast):
    x = leaf(lib, X)
    assert lib.autograd.gradgradcheck(
        lambda x: x.sin() * x, x, check_fwd_over_rev=True, fast_mode=fast
    )
    assert lib.autograd.gradgradcheck(
        lambda x: (x**3).sum(),
        x,
        check_fwd_over_rev=True,
        check_rev_over_rev=False,
        check_undefined_grad=False,
    )


@pytest.mark.parametrize("name", SOUND)
def test_functions_of_many_kinds_pass_every_check_there_is(name):
    f, arrays = SOUND[name]

    def func(*xs: Any) -> Any:
        return f(wg, *xs)

    xs = inputs(wg, *arrays)
    assert gradcheck(
        func,
        xs,
        check_grad_dtypes=True,
        check_forward_ad=True,
        check_batched_grad=True,
        check_batched_forward_grad=True,
    )
    assert gradgradcheck(
        func,
        xs,
        check_grad_dtypes=True,
        check_batched_grad=True,
        check_fwd_over_rev=True,
        gen_non_contig_grad_outputs=True,
    )
