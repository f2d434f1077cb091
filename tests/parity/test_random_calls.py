"""Calls that no table lists: samples whose tensors lie otherwise, are of other dtypes, or empty.

Each tensor of a sample of PyTorch's own table (see `op_db.py`) is changed at random. Where PyTorch
takes what comes out of that, wengert gives the same numbers of the same dtype and shape.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import wengert as wg

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")

from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

from tests.parity.op_checks import replaced, representable  # noqa: E402
from tests.parity.op_db import (  # noqa: E402
    Difference,
    among,
    close,
    comparable,
    leaves_of,
    numbers,
    our_function,
    samples,
    tensors,
    their_function,
    translated,
)
from wengert.pytorch import overrides  # noqa: E402

Call = Callable[[Any], Any]
NAN, INF = float("nan"), float("inf")


def told(call: Call, library: Any) -> list[Any]:
    with np.errstate(all="ignore"):
        results = leaves_of(call(library))
    arrays = [numbers(t) for t in results]
    return [(a.dtype.name, a.astype(float) if a.dtype.kind != "c" else a) for a in arrays]


def same(call: Call) -> None:
    for (there, y), (here, z) in zip(told(call, torch), told(call, wg), strict=True):
        assert here == there
        np.testing.assert_allclose(z, y, rtol=1e-2 if "16" in there else 1e-6, atol=1e-6)


UNORDERED = [3.0, NAN, 1.0, 2.0, -1.0]
SORTING: dict[str, Call] = {
    "sort": lambda x: x.sort(),
    "descending": lambda x: x.sort(descending=True),
    "median": lambda x: x.median(),
    "median of rows": lambda x: x[None].median(1),
    "nanmedian": lambda x: x.nanmedian(),
    "topk": lambda x: x.topk(2),
    "kthvalue": lambda x: x.kthvalue(2),
    "unique": lambda x: x.unique(),
}


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
@pytest.mark.parametrize("name", SORTING)
def test_nan_counts_as_largest_in_every_dtype(name, dtype):
    # NumPy's order of bfloat16 left a NaN where it was, and the numbers around it unsorted.
    same(lambda l: SORTING[name](l.tensor(UNORDERED, dtype=getattr(l, dtype))))


def test_numbers_are_found_among_sorted_bfloat16_ones():
    same(
        lambda l: l.searchsorted(
            l.tensor([1.0, 2.0, 3.0]).bfloat16(), l.tensor([2.0, 2.5, NAN]).bfloat16()
        )
    )


@pytest.mark.parametrize("name", ["sub", "mul", "atan2", "maximum", "logaddexp", "eq"])
def test_the_two_formats_of_sixteen_bits_meet_in_float32(name):
    # NumPy has no dtype for both, and said so.
    def call(library):
        a = library.tensor([1.5, 0.1], dtype=library.float16)
        return getattr(library, name)(a, library.tensor([1.5, 0.1], dtype=library.bfloat16))

    same(call)
    same(lambda l: l.cat([l.ones(1, dtype=l.float16), l.ones(1, dtype=l.bfloat16)]))


@pytest.mark.parametrize("size", [(4, 4), (5, 3)])
@pytest.mark.parametrize("factor", [1.2, 2.2, 0.7, (1.1, 2.3), (0.5, 1.2), 1.0, 2.0])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic", "area"])
def test_images_are_resized_by_any_factor_as_in_pytorch(mode, factor, size):
    # A dimension that keeps its size is copied, or doubled where it is doubled, whatever the
    # factor was that gave the size: it was stepped through by the factor.
    def call(library):
        x = library.arange(1.0 * size[0] * size[1], dtype=library.float64).reshape(1, 1, *size)
        return library.nn.functional.interpolate(x, scale_factor=factor, mode=mode)

    same(call)


def half(library: Any, *values: float) -> Any:
    return library.tensor(values, dtype=library.bfloat16)


def wide(library: Any, *values: float) -> Any:
    return library.tensor(values, dtype=library.float64)


FOUND: dict[str, Call] = {
    # The factor was rounded to the first one's dtype, or made integers floats.
    "a multiple in the common dtype": lambda l: l.add(half(l, 0.7), wide(l, 3), alpha=0.3),
    "a multiple of integers": lambda l: l.sub(half(l, 0.7), l.tensor([3]), alpha=-5),
    "logaddexp2, rounded once": lambda l: l.logaddexp2(half(l, 0.3), wide(l, 0.7)),
    # Losses have the dtype of the input, or that of both as if they had one shape.
    "huber": lambda l: l.nn.functional.huber_loss(half(l, 0.3), wide(l, 0.7)),
    "soft margin": lambda l: l.nn.functional.soft_margin_loss(half(l, 0.3), wide(l, 1)),
    "poisson": lambda l: l.nn.functional.poisson_nll_loss(half(l, 3), l.tensor([7]), full=True),
    "squares of another shape": lambda l: l.nn.functional.mse_loss(wide(l, 3)[0], l.ones(2)),
    "a ranking of integers": lambda l: l.nn.functional.margin_ranking_loss(
        l.tensor([1, 2]), l.tensor([1, 4]), l.tensor([1, -1]), margin=1, reduction="none"
    ),
    "several targets of one class": lambda l: l.nn.functional.multilabel_soft_margin_loss(
        wide(l, 1), wide(l, 1, 0, 1)
    ),
    # The degree counts for the dtype, and blocks without dimensions count less.
    "polynomial": lambda l: l.special.chebyshev_polynomial_t(l.tensor([0.3]), wide(l, 2)),
    "polynomial of integers": lambda l: l.special.hermite_polynomial_h(
        l.tensor([1, 2]), wide(l, 2)[0]
    ),
    "blocks": lambda l: l.block_diag(wide(l, 1)[0], l.ones(2)),
    # At the borders.
    "step at NaN": lambda l: l.heaviside(l.tensor([NAN, 0.0, -0.0]), l.tensor(0.5)),
    "angle of -0": lambda l: l.angle(l.tensor([-0.0, 0.0, -1.0])),
    "NaN is not 0": lambda l: l.tensor([[3.0, NAN, 0.0, -1.0]]).norm(0, 1),
    "variance of none": lambda l: l.var(l.zeros(0, 2), 0, correction=-2),
    "fewer than no observations": lambda l: l.cov(
        wide(l, 1, 2, 3, 5).reshape(2, 2), correction=3, aweights=wide(l, 1, 2)
    ),
    "bounds that cross": lambda l: l.logit(wide(l, 0.1, 0.8), 0.7),
    "all along no dimension": lambda l: l.all(l.tensor([[1.0, 0.0]]), dim=()),
    "any along no dimension": lambda l: l.any(l.tensor([[1.0, 0.0]]), dim=()),
    "bytes under a curve": lambda l: l.trapezoid(l.tensor([200, 100, 100], dtype=l.uint8)),
    "joined to nothing": lambda l: l.cat([l.ones(2, 1), wide(l)], 1),
    # What is written is cast.
    "diagonal": lambda l: l.diagonal_scatter(l.zeros(2, 2), wide(l, 1.5, 2)),
    "strided": lambda l: l.as_strided_scatter(l.zeros(2, 2), wide(l, 1.5, 2), (2,), (1,)),
}


@pytest.mark.parametrize("name", FOUND)
@pytest.mark.filterwarnings("ignore:.*(target size|degrees of freedom|observations)")
def test_rare_calls_give_what_pytorch_gives(name):
    same(FOUND[name])


# ---- at random -----------------------------------------------------------------------------

OTHER = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.uint8]


def changed(draw: random.Random, t: Any) -> Any:
    """The numbers of a tensor that lie otherwise, in another dtype, some or none of them."""
    t, n = t.detach(), t.dim()
    ways: list[Callable[[], Any]] = [
        lambda: t,
        lambda: t.flip(tuple(range(n))),
        lambda: t.transpose(0, -1).contiguous().transpose(0, -1) if n else t,
        lambda: t[..., None].expand(*t.shape, 2)[..., 0],
        lambda: t.to(draw.choice(OTHER)),
        lambda: t[:0] if n else t,
        lambda: t[0] if n and len(t) else t,
        lambda: t[None],
        lambda: t[:1] if n else t,
    ]
    return draw.choice(ways)()


ROUNDED = """masked_* _softmax_backward_data native_* *batch_norm* *bilinear *grid_sample*
    nn_functional_hinge_embedding_loss nn_functional_cosine_similarity __rdiv__ div_trunc_rounding
    histc nn_functional_local_response_norm *upsample* nn_functional_interpolate* stft addr"""
"""Of these PyTorch rounds 16 bits, or bytes, at each step: what comes out is no nearer."""
OWN = """topk kthvalue sort argsort mode unique* special_*polynomial*
    special_bessel* nn_functional_scaled_dot_product_attention *dropout*
    logcumsumexp einsum sum_to_size nn_functional_pixel_unshuffle triangular_solve addmv
    as_strided* nn_functional_binary_cross_entropy* logspace* linalg_* svd* qr geqrf lu* ormqr
    pca_lowrank nn_functional_rrelu *fractional* eig* lobpcg cholesky* pinverse __rpow__
    _unsafe_masked_index* polygamma* searchsorted nn_functional_soft_margin_loss
    nn_functional_multilabel_margin_loss nn_functional_triplet_margin_with_distance_loss"""
"""Ties, drawn numbers, branches and vectors' signs are PyTorch's own; so are some dtypes of 0-d
and integer operands, shapes where the result is empty, and what lies beyond a function's range."""


UNCHECKED = "nn_functional_embedding_bag *unpool* nn_functional_ctc_loss"
"""Which PyTorch ends in a crash where offsets, indices or lengths are not what they should be."""


@pytest.fixture(autouse=True)
def _functions_with_their_own_code():
    """Some samples are of classes derived from Tensor."""
    yield
    overrides.restore()


def compare(op: Any, given: list[Any]) -> str | None:
    """What differs, if PyTorch takes the call and wengert does not refuse it."""
    mine = translated(given)
    first, args, named = replaced(given, lambda t: t.detach())
    try:
        there = leaves_of(their_function(op)(first, *args, **named))
    except Exception:
        return None
    try:
        here = leaves_of(our_function(op)(mine[0], *mine[1], **mine[2]))
    except Exception:
        return None
    for y, z in zip(there, here, strict=True):
        if isinstance(y, torch.Tensor) and representable(y):
            p, q = numbers(y), numbers(z)
            if (p.dtype, p.shape) != (q.dtype, q.shape):
                return f"{p.dtype} {p.shape} there, {q.dtype} {q.shape} here"
            try:
                with np.errstate(all="ignore"):
                    close(p, q, "numbers")
            except Difference as error:
                return str(error)
    return None


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore")
def test_changed_samples_give_what_pytorch_gives():
    found, count = [], 0
    for op in op_db:
        if not comparable(op) or among(op, f"{ROUNDED} {OWN} {UNCHECKED}"):
            continue
        draw = random.Random(op.formatted_name)
        for dtype in (torch.float64, torch.int64, torch.bfloat16, torch.complex64):
            if dtype not in op.supported_dtypes("cpu"):
                continue
            for chosen in samples(op, dtype, 6):
                given = [chosen.input, list(chosen.args), dict(chosen.kwargs)]
                if not all(t.layout is torch.strided for t in tensors(given)):
                    continue
                given = replaced(given, partial(changed, draw))
                if all(map(representable, tensors(given))):
                    count += 1
                    wrong = compare(op, given)
                    if wrong:
                        kinds = [f"{tuple(t.shape)} {t.dtype}" for t in tensors(given)]
                        found.append(f"{op.formatted_name} of {', '.join(kinds)}: {wrong}"[:300])
    assert count > 3000
    assert not found, "\n".join([f"{len(found)} of {count}", *found])
