"""Sampling, rarer pools and losses of sequences against PyTorch."""

import itertools

import numpy as np
import pytest

import wengert as wg

torch = pytest.importorskip("torch")

from tests.parity.test_nn import both, randn  # noqa: E402

IMAGE = randn(2, 3, 5, 6)
GRID = randn(2, 4, 3, 2) * 0.8


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("corners", [True, False])
def test_grid_sample_agrees(mode, padding, corners):
    call = lambda lib, F, x, g: F.grid_sample(x, g, mode, padding, corners)
    both(call, [IMAGE, GRID], second=False)
    if mode != "bicubic":
        both(call, [randn(1, 2, 3, 4, 5), randn(1, 2, 3, 2, 3)], second=False)


@pytest.mark.parametrize("corners", [True, False])
def test_affine_grid_agrees(corners):
    both(lambda lib, F, t: F.affine_grid(t, (2, 3, 4, 5), corners), [randn(2, 2, 3)])
    both(lambda lib, F, t: F.affine_grid(t, (2, 3, 4, 5, 2), corners), [randn(2, 3, 4)])


@pytest.mark.parametrize("size", [(7, 11), (3, 2), (5, 6)])
@pytest.mark.parametrize("corners", [True, False])
def test_cubic_and_antialiased_interpolation_agrees(size, corners):
    for mode, antialias in (("bicubic", False), ("bilinear", True), ("bicubic", True)):
        options = {"mode": mode, "align_corners": corners, "antialias": antialias}
        call = lambda lib, F, x, o=options: F.interpolate(x, size, **o)
        both(call, [IMAGE], second=False)
    call = lambda lib, F, x: F.interpolate(x, scale_factor=0.6, mode="bicubic", antialias=True)
    both(call, [IMAGE], second=False)


@pytest.mark.parametrize("n", [2, 3])
def test_samples_for_more_images_than_there_are_are_those_of_the_first(n):
    # A lone image with the samples of two ended in NumPy's words about a reshape.
    samples = np.random.default_rng(0).random((2, 4, n))

    def call(lib, F, x):
        pool = getattr(F, f"fractional_max_pool{n}d")
        return pool(x, 2, output_ratio=(0.5,) * n, _random_samples=lib.tensor(samples))

    both(call, [randn(4, *(5,) * n)])
    with pytest.raises(RuntimeError, match="_random_samples have the shape"):
        both(call, [randn(3, 4, *(5,) * n)])


@pytest.mark.parametrize(
    ("n", "shape", "size"),
    [
        (1, (2, 3, 8), None),
        (2, (2, 3, 6, 8), None),
        (2, (3, 7, 9), (7, 9)),
        (3, (1, 2, 4, 6, 4), None),
    ],
)
def test_unpooling_agrees(n, shape, size):
    def call(lib, F, x):
        y, places = getattr(F, f"max_pool{n}d_with_indices")(x, 2)
        return getattr(F, f"max_unpool{n}d")(y * 1.5, places, 2, output_size=size)

    both(call, [randn(*shape)])


@pytest.mark.parametrize("n", [2, 3])
def test_fractional_pooling_agrees_on_the_same_samples(n):
    shape, samples = (2, 3, 7, 9, 6)[: n + 2], np.random.default_rng(1).random((2, 3, n))
    for sizes in ({"output_size": (3, 4, 2)[:n]}, {"output_ratio": (0.6,) * n}):
        for k in (0, 1):

            def call(lib, F, x, sizes=sizes, k=k):
                drawn = lib.tensor(samples)
                function = getattr(F, f"fractional_max_pool{n}d")
                return function(x, 2, return_indices=True, _random_samples=drawn, **sizes)[k]

            both(call, [randn(*shape)], second=False)


def test_lp_pool3d_agrees():
    both(lambda lib, F, x: F.lp_pool3d(x, 2, 2), [np.abs(randn(1, 2, 4, 4, 4))], second=False)


# ---- losses --------------------------------------------------------------------------------

SCORES = randn(12, 3, 6)
LABELS = np.array([[1, 2, 2, 4], [3, 3, 1, 5], [5, 1, 2, 2]])


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_ctc_loss_agrees(reduction):
    options = {"reduction": reduction}

    def padded(lib, F, x, targets):
        lengths = lib.tensor([12, 10, 7]), lib.tensor([4, 3, 2])
        return F.ctc_loss(F.log_softmax(x, 2), targets, *lengths, **options)

    both(padded, [SCORES, LABELS], second=False)

    def too_long(lib, F, x, targets):
        p = F.log_softmax(x, 2)
        return F.ctc_loss(p, targets, (12, 10, 2), (4, 0, 3), zero_infinity=True, **options)

    both(too_long, [SCORES, LABELS], second=False)
    flat = np.concatenate([LABELS[i, :n] for i, n in enumerate((4, 3, 2))])

    def joined(lib, F, x, targets):
        return F.ctc_loss(F.log_softmax(x, 2), targets, (12, 10, 7), (4, 3, 2), **options)

    both(joined, [SCORES, flat], second=False)


def test_ctc_loss_of_one_sequence_agrees():
    def call(lib, F, x, t):
        return F.ctc_loss(F.log_softmax(x, 1), t, lib.tensor(12), lib.tensor(4), reduction="none")

    both(call, [SCORES[:, 0], LABELS[0]], second=False)


def test_an_impossible_target_has_an_infinite_loss():
    p = wg.zeros(2, 1, 3).log_softmax(2)
    loss = wg.nn.functional.ctc_loss(p, wg.tensor([[1, 1]]), [2], [2], reduction="none")
    assert loss.tolist() == [np.inf]


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_multilabel_margin_loss_agrees(reduction):
    targets = np.array([[3, 0, -1, 1], [1, -1, -1, -1], [-1, 0, 1, 2]])
    call = lambda lib, F, x, t: F.multilabel_margin_loss(x, t, reduction=reduction)
    both(call, [randn(3, 4), targets], second=False)
    both(call, [randn(4), targets[0]], second=False)


def test_linear_cross_entropy_agrees():
    for x, w, b, t in (
        (randn(2, 3), randn(4, 3), randn(4), np.array([1, 2])),
        (randn(2, 3), randn(4, 2, 3), randn(4, 2), np.array([[1, 2], [0, 3]])),
    ):

        def call(lib, F, x, w, b, t):
            return F.linear_cross_entropy(x, w, t, linear_bias=b, label_smoothing=0.1)

        both(call, [x, w, b, t])


@pytest.mark.parametrize("causal", [False, True])
def test_attention_agrees(causal):
    shapes = (2, 4, 5, 3), (2, 2, 7, 3), (2, 2, 7, 6)
    for mask in (None, np.random.default_rng(2).random((5, 7)) < 0.7, randn(5, 7)):
        if causal and mask is not None:
            continue

        def call(lib, F, q, k, v, mask=mask):
            given = None if mask is None else lib.tensor(mask)
            return F.scaled_dot_product_attention(
                q, k, v, given, is_causal=causal, scale=0.3, enable_gqa=True
            )

        both(call, [randn(*s) for s in shapes])


@pytest.mark.parametrize(("rows", "length"), [*itertools.product([1, 700], [1, 5, 130])])
def test_softmax_and_layer_norm_in_single_precision_agree(rows, length):
    # Rows of very different size cannot share a shift; infinities and NaN stay visible.
    far = (randn(rows, length) * 10 ** np.linspace(-3, 3, rows)[:, None]).astype(np.float32)
    hidden = np.where(np.arange(length) > 2, -np.inf, far)
    for x in (far, far * 1e6, hidden):
        both(
            lambda lib, F, t: F.softmax(t, -1), [x], dtype=np.float32, second=False, tolerance=2e-6
        )
    both(lambda lib, F, t: F.softmax(t, -1), [np.full((3, 4), -np.inf)], second=False)
    moderate = randn(rows, length).astype(np.float32) + 3
    call = lambda lib, F, x, w, b: F.layer_norm(x, (length,), w, b)
    given = [moderate, randn(length), randn(length)]
    if length > 1:
        both(call, given, dtype=np.float32, second=False, tolerance=2e-4)
    both(call, given, tolerance=1e-7)


@pytest.mark.parametrize(
    ("shape", "out"),
    [((2, 3, 7, 11), (3, 4)), ((2, 3, 9, 9), (3, 3)), ((2, 3, 9), 4), ((3, 5, 5), (2, 7))],
)
def test_adaptive_pools_are_pytorchs_whatever_the_bins(shape, out):
    # Equal numbers and NaN: the first of equal ones has the place, and NaN is the largest.
    dims = 1 if isinstance(out, int) else len(out)
    numbers = np.random.default_rng(0).integers(0, 5, shape).astype(np.float32)
    found = []
    for library in (torch, wg):
        f, x = library.nn.functional, library.tensor(numbers, requires_grad=True)
        mean = getattr(f, f"adaptive_avg_pool{dims}d")(x, out)
        with library.no_grad():
            hole = x.detach().clone()
            hole.view(-1)[3] = np.nan
        largest, places = getattr(f, f"adaptive_max_pool{dims}d")(x, out, return_indices=True)
        of_hole = getattr(f, f"adaptive_max_pool{dims}d")(hole, out)
        slopes = library.autograd.grad(largest.sum() + (mean * mean).sum(), x)
        found.append([t.detach().numpy() for t in (mean, largest, places, of_hole, *slopes)])
    for theirs, ours in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-6)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic"])
@pytest.mark.parametrize("size", [(14, 12), (5, 9), (3, 2)])
def test_images_of_bytes_stay_bytes(mode, size):
    # They became uint64: products of bytes and of weights that were cut off to bytes. PyTorch's
    # weights are fractions of 16 bits, so that a byte may be one off.
    image = np.random.default_rng(0).integers(0, 256, (2, 3, 7, 6), np.uint8)
    expected = torch.nn.functional.interpolate(torch.tensor(image), size=size, mode=mode).numpy()
    found = wg.nn.functional.interpolate(wg.tensor(image), size=size, mode=mode).numpy()
    assert found.dtype == expected.dtype
    assert np.abs(found.astype(int) - expected).max() <= ("nearest" not in mode)
