"""Every operator at kinks, in tails, at infinity and with NaN: values and gradients.

The samples are those of PyTorch's own table (see `op_db.py`), their numbers replaced. Wherever
PyTorch has a finite number, wengert has the same: a NaN from a branch that was not taken, or a tail
that underflowed, is found so. Every floating-point argument is differentiated, targets and weights
too.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import wengert as wg

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")

from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

from tests.parity.op_db import EXTREMES, comparable, run_extreme, samples  # noqa: E402

LIMIT = 3
DTYPES = (torch.float64, torch.complex128)
ALL = tuple(EXTREMES)
TIED = ("zeros", "ties", "negative ties")
ROUNDING = "rounding errors of numbers near the smallest, which differ between processors"
DEPARTURES: dict[str, tuple[str, tuple[str, ...]]] = {
    "which of equal elements comes first is left open": (
        "argsort kthvalue mode msort nextafter sort topk",
        ALL,
    ),
    "PyTorch's gradient of equal extrema adds up to less than 1, or to more": (
        (
            "index_reduce_amin index_reduce_amax scatter_reduce_amin scatter_reduce_amax "
            "nn_functional_pdist nn_functional_multilabel_margin_loss "
            "_segment_reduce_lengths _segment_reduce_offsets"
        ),
        ALL,
    ),
    "PyTorch gives a gradient to an element that was replaced": ("as_strided_scatter", ALL),
    "PyTorch's gradient is right only behind a log_softmax": ("nn_functional_ctc_loss", ALL),
    "a singular matrix has many subgradients": ("norm_nuc", ("tiny", *TIED)),
    "PyTorch turns negative lengths around, and stops at 0": (
        "polar",
        ("tails", "tiny", *TIED),
    ),
    "a pole is infinite, where PyTorch has its rounding error": (
        (
            "digamma polygamma_polygamma_n_0 polygamma_polygamma_n_1 polygamma_polygamma_n_2 "
            "polygamma_polygamma_n_3 polygamma_polygamma_n_4"
        ),
        ("tails", "negative ties"),
    ),
    "the principal value of a complex logarithm": ("logcumsumexp", ("tails",)),
    ROUNDING: ("corrcoef gradient", ("tiny",)),
    "outside of its domain is an error": (
        "mvlgamma_mvlgamma_p_1 mvlgamma_mvlgamma_p_3 mvlgamma_mvlgamma_p_5",
        ALL,
    ),
    "rows that contain NaN are equal, as in NumPy": ("unique", ("undefined",)),
    "bounds that decrease are an error": ("histogram histogramdd", ALL),
    "outside of its domain the branch for complex numbers has no real slope": (
        "acosh",
        ("negative ties", "tails", "infinite"),
    ),
    "a pixel that has no weight is not read: its NaN goes nowhere": (
        "nn_functional_interpolate_bilinear nn_functional_interpolate_trilinear",
        ("undefined",),
    ),
    "an infinite number spoils what it is multiplied with by 0": (
        (
            "clamp remainder __rmod__ rsqrt special_i1e special_chebyshev_polynomial_t "
            "special_shifted_chebyshev_polynomial_t nn_functional_conv1d nn_functional_conv2d "
            "nn_functional_scaled_dot_product_attention nn_functional_grid_sample "
            "nn_functional_multi_margin_loss"
        ),
        ("infinite",),
    ),
}
"""Where wengert differs: by reason, operators, and at what."""

NOT_HERE = {
    "nn.functional.embedding": "the table has the weight first",
    "nn.functional.embedding_bag": "the table has the weight first",
    "special.polygamma": "the table has the order last",
    "nn.functional.triplet_margin_with_distance_loss": "a sample has a function of PyTorch's",
    "nn.functional.rrelu": "random",
    "nn.functional.fractional_max_pool2d": "random",
    "nn.functional.fractional_max_pool3d": "random",
    "nn.functional.multi_head_attention_forward": "random",
    "nn.functional.linear_cross_entropy": "no options",
}
LINEAR_ALGEBRA = """cholesky cholesky_inverse cholesky_solve geqrf istft logdet lu lu_solve
    lu_unpack matrix_exp ormqr pca_lowrank pinverse qr stft svd svd_lowrank triangular_solve"""
OTHERS = ("linalg.", "fft.", "nn.functional.dropout", "nn.functional.alpha_dropout")
OPERATORS = [
    op
    for op in op_db
    if op.name not in (*LINEAR_ALGEBRA.split(), *NOT_HERE)
    and not op.name.startswith(OTHERS)
    and comparable(op)
]


def differences(op: Any) -> dict[str, str]:
    """What an operator's extremes show, by their names."""
    found = {}
    for dtype in DTYPES:
        if dtype in op.supported_dtypes("cpu"):
            for sample in samples(op, dtype, LIMIT):
                for name, values in EXTREMES.items():
                    try:
                        run_extreme(op, sample, values)
                    except Exception as error:
                        found[name] = f"{str(dtype)[6:]} {type(error).__name__}: {error}"
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.formatted_name)
def test_operator_agrees_where_pytorch_is_finite(op: Any) -> None:
    where = [at for ops, at in DEPARTURES.values() if op.formatted_name in ops.split()]
    found = differences(op)
    allowed = {name for at in where for name in at}
    assert found.keys() <= allowed, {k: v for k, v in found.items() if k not in allowed}
    if op.formatted_name not in DEPARTURES[ROUNDING][0].split():
        assert found or not where, f"{op.formatted_name} no longer differs: it is no departure"


# ---- what was wrong without an error ----------------------------------------------------------

F, TF = wg.nn.functional, torch.nn.functional


@pytest.mark.parametrize("run", [lambda f: f, wg.compile], ids=["eager", "compiled"])
@pytest.mark.parametrize("count", [1, 20_000])
def test_sigmoid_is_small_far_below_zero_instead_of_zero(run, count):
    # (1 + tanh(x/2)) / 2 cancels there: the result was 0 from -17 on, its logarithm -inf.
    for dtype in ("float32", "float64"):
        x = np.repeat(np.array([-80.0, -30, -20, -5, 0, 5, 20], dtype), count)
        for name in ("sigmoid", "silu", "logsigmoid"):
            found = run(getattr(F, name))(wg.tensor(x)).numpy()
            expected = getattr(TF, name)(torch.tensor(x)).numpy()
            np.testing.assert_allclose(found, expected, rtol=3e-6 if dtype == "float32" else 1e-14)
    assert wg.sigmoid(wg.tensor(-30.0)).log() == pytest.approx(-30)


def test_numbers_of_16_bits_are_computed_in_32_and_rounded_once():
    # exp(12) is no float16, so that sigmoid(-12) was 0.
    for cast in ("half", "bfloat16"):
        x = getattr(torch.linspace(-14, 9, 24), cast)()
        ours = getattr(wg.tensor(x.float().numpy()), cast)()
        for name in ("sigmoid", "silu", "gelu", "elu", "softplus", "logsigmoid"):
            found = getattr(F, name)(ours)
            assert found.dtype == ours.dtype, name
            expected = getattr(TF, name)(x).float().numpy()
            np.testing.assert_allclose(found.float().numpy(), expected, rtol=1e-2, atol=1e-6)


@pytest.mark.parametrize("run", [lambda f: f, wg.compile], ids=["eager", "compiled"])
def test_kl_div_has_a_gradient_for_its_target(run):
    # NaN stood in a branch that no positive target takes, and its slope was multiplied by 0.
    x, t = np.array([-1.0, -2.0, -0.5]), np.array([0.2, 0.5, 1.0])
    found = run(wg.grad(lambda x, t: F.kl_div(x, t, reduction="sum"), argnums=(0, 1)))(
        wg.tensor(x), wg.tensor(t)
    )
    leaves = [torch.tensor(a, requires_grad=True) for a in (x, t)]
    expected = torch.autograd.grad(TF.kl_div(*leaves, reduction="sum"), leaves)
    for g, h in zip(found, expected, strict=True):
        np.testing.assert_allclose(g.numpy(), h.numpy())


@pytest.mark.parametrize("p", [0.5, 1, 2, 3, math.inf])
def test_lengths_of_complex_vectors_are_of_their_moduli(p):
    # squares were summed without a modulus
    z = np.array([[3 + 4j, 1j, 2], [1, -1j, 0.5]])
    calls = [
        lambda f, z: f.normalize(z, p=p, dim=1),
        lambda f, z: f.pairwise_distance(z, (2j * z).detach(), p=p),
    ]
    for call in calls:
        ours, theirs = wg.tensor(z, requires_grad=True), torch.tensor(z, requires_grad=True)
        y, expected = call(F, ours), call(TF, theirs)
        np.testing.assert_allclose(y.detach().numpy(), expected.detach().numpy())
        y.backward(wg.ones_like(y))
        expected.backward(torch.ones_like(expected))
        np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy())


@pytest.mark.parametrize("name", ["mse_loss", "smooth_l1_loss", "huber_loss", "kl_div"])
def test_losses_of_squares_refuse_complex_numbers(name):
    z = wg.tensor([1 + 1j, 2])
    with pytest.raises(RuntimeError, match="not implemented for complex64"):
        getattr(F, name)(z, z)
    with pytest.raises(RuntimeError, match="not implemented for complex64"):
        F.cosine_similarity(z, z, dim=0)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize(
    ("stride", "dilation", "kernel", "extra"),
    [(1, 2, 2, 1), (1, 3, 1, 2), (2, 3, 2, 2), (1, 2, 3, 1), (2, 3, 3, 1)],
)
def test_transposed_convolutions_take_output_padding_as_wide_as_the_stride(
    n, stride, dilation, kernel, extra
):
    # The input's gradient is a convolution, which found room for one more window.
    random = np.random.default_rng(0)
    arrays = [random.normal(size=(2, 2) + (3,) * n), random.normal(size=(2, 4) + (kernel,) * n)]
    found = []
    for library in (wg, torch):
        x, w = (library.tensor(a, requires_grad=True) for a in arrays)
        function = getattr(library.nn.functional, f"conv_transpose{n}d")
        y = function(x, w, None, stride, 0, extra, 1, dilation)
        first = library.autograd.grad((y * y).sum(), [x, w], create_graph=True)
        second = library.autograd.grad(sum((g * g).sum() for g in first), [x, w])
        found.append([t.detach().numpy() for t in (y, *first, *second)])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)


@pytest.mark.parametrize("widths", [(-1, 2), (2, -1), (-1, -1), (-2, 1), (1, 2)])
def test_circular_padding_repeats_what_is_left_of_a_cropped_side(widths):
    x = np.arange(10.0).reshape(1, 1, 10)
    found = F.pad(wg.tensor(x), widths, mode="circular").numpy()
    expected = TF.pad(torch.tensor(x), widths, mode="circular").numpy()
    np.testing.assert_array_equal(found, expected)


NOT_NUMBERS = {
    "an item": lambda x, value: x.__setitem__(0, value),
    "masked items": lambda x, value: x.__setitem__(x > 0, value),
    "where": lambda x, value: wg.where(x > 0, x, value),
    "scatter": lambda x, value: x.scatter(0, wg.tensor([0]), value),
    "pad": lambda x, value: F.pad(x, (1, 1), value=value or "no"),
    "full_like": lambda x, value: wg.full_like(x, np.array(value)),
}


@pytest.mark.parametrize("value", [None, "1"])
@pytest.mark.parametrize("name", NOT_NUMBERS)
def test_what_is_no_number_is_not_stored_as_one(name, value):
    # NumPy makes NaN of None, and 1 of "1".
    x = wg.tensor([1.0, 2.0])
    with pytest.raises(TypeError):
        NOT_NUMBERS[name](x, value)
    assert x.tolist() == [1.0, 2.0]


def test_vecdot_of_tensors_contracts_equal_lengths_and_keeps_integers():
    # It was a product, broadcast, and a sum, which widens.
    a = np.arange(6, dtype=np.int32).reshape(2, 3)
    found = np.vecdot(wg.tensor(a), wg.tensor(a))
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found.numpy(), np.vecdot(a, a))
    with pytest.raises(ValueError, match="shapes"):
        np.vecdot(wg.tensor(a), wg.tensor(a[:, :1]))
    z = wg.tensor([1 + 2j, 3j])
    assert np.vecdot(z, z).item() == 14


PARTNERS = {
    "linear": lambda f, a, b: f.linear(a, b),
    "bias": lambda f, a, b: f.linear(a, a, b[0]),
    "conv2d": lambda f, a, b: f.conv2d(a[None, None], b[None, None]),
    "conv_transpose2d": lambda f, a, b: f.conv_transpose2d(a[None, None], b[None, None]),
    "bilinear": lambda f, a, b: f.bilinear(a, b, b[None]),
    "layer_norm": lambda f, a, b: f.layer_norm(a, (2,), b[0], b[0]),
    "group_norm": lambda f, a, b: f.group_norm(a, 1, b[0], b[0]),
    "batch_norm": lambda f, a, b: f.batch_norm(a, b[0], b[0] ** 2 + 1, b[0], b[0]),
    "prelu": lambda f, a, b: f.prelu(a, b[0]),
    "grid_sample": lambda f, a, b: f.grid_sample(a[None, None], b[None, None]),
    "binary_cross_entropy": lambda f, a, b: f.binary_cross_entropy(a * 0.5, b),
    "weights of classes": lambda f, a, b: f.nll_loss(a, (a[0] * 0).long(), b[0]),
}


@pytest.mark.filterwarnings("ignore:Default grid_sample")
@pytest.mark.parametrize("name", PARTNERS)
def test_layers_refuse_what_pytorch_refuses_to_mix(name):
    # A float64 or integer input of a float32 layer was computed in float64.
    kinds = ("float16", "float32", "float64", "int64")
    for a, b in itertools.permutations(kinds, 2):
        outcomes = []
        for library in (torch, wg):
            x, y = (library.ones(2, 2, dtype=getattr(library, kind)) for kind in (a, b))
            try:
                outcomes.append(str(PARTNERS[name](library.nn.functional, x, y).dtype))
            except (RuntimeError, TypeError):
                outcomes.append("refused")
        assert outcomes[0].removeprefix("torch.") == outcomes[1], (name, a, b)


def test_the_error_of_mixed_dtypes_names_both_and_says_what_to_type():
    with pytest.raises(RuntimeError, match=r"float64 and float32.*layer\.double\(\)"):
        wg.nn.Linear(2, 2)(wg.ones(1, 2, dtype=wg.float64))


@pytest.mark.parametrize("shape", [(0, 4, 3), (0, 4, 3, 3), (2, 4, 0)])
def test_normalizations_take_empty_batches(shape):
    for library in (torch, wg):
        f = library.nn.functional
        x, w = library.zeros(shape).requires_grad_(), library.ones(4).requires_grad_()
        mean, var = library.zeros(4), library.ones(4)
        for y in (
            f.batch_norm(x, mean, var, w, None, True),
            f.group_norm(x, 2, w),
            f.local_response_norm(x, 2),
        ):
            y.sum().backward()
            assert y.shape == x.grad.shape == shape
        assert mean.tolist() == [0] * 4
        assert var.tolist() == [1] * 4
