"""nn against PyTorch: values, gradients, second derivatives, printed text, state dictionaries."""

import itertools
import math

import numpy as np
import pytest

import wengert as wg

torch = pytest.importorskip("torch")

WF, TF = wg.nn.functional, torch.nn.functional
RNG = np.random.default_rng(0)


def randn(*shape):
    return RNG.standard_normal(shape)


def close(ours, theirs, tolerance=1e-9):
    ours, theirs = ours.detach().numpy(), theirs.detach().numpy(force=True)
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    "name",
    ["relu", "relu6", "leaky_relu", "hardtanh", "hardshrink", "softshrink", "prelu", "threshold"],
)
def test_slopes_that_do_not_change_have_derivatives_of_zero(name):
    # grad() said that the input was not used, and penalties left parameters without gradients.
    for library in (wg, torch):
        x = library.tensor([0.3, -0.2, 1.5], requires_grad=True)
        more = {"prelu": (library.tensor([0.25]),), "threshold": (0.1, 20.0)}.get(name, ())
        y = getattr(library.nn.functional, name)(x, *more)
        (g,) = library.autograd.grad(y.sum(), x, create_graph=True)
        assert library.autograd.grad(g.sum(), x)[0].tolist() == [0, 0, 0]


def both(call, arrays, dtype=np.float64, second=True, tolerance=1e-9):
    """Run `call(library, F, *tensors)` in both libraries; compare values, gradients, and theirs."""
    results = []
    for library, functional in ((wg, WF), (torch, TF)):
        tensors = []
        for a in arrays:
            if isinstance(a, np.ndarray):
                t = library.tensor(a.astype(dtype) if a.dtype.kind == "f" else a)
                tensors.append(t.requires_grad_() if a.dtype.kind == "f" else t)
            else:
                tensors.append(a)
        out = call(library, functional, *tensors)
        leaves = [t for t in tensors if hasattr(t, "requires_grad") and t.requires_grad]
        grads, seconds = [], []
        if leaves and out.requires_grad:
            weight = np.cos(np.arange(np.prod(out.shape, dtype=int))).reshape(tuple(out.shape))
            weights = library.tensor(np.asarray(weight.astype(out.detach().numpy().dtype)))
            total = (out * weights).sum()
            grads = library.autograd.grad(total, leaves, create_graph=second, allow_unused=True)
            if second:
                square = sum((g * g).sum() for g in grads if g is not None)
                if getattr(square, "requires_grad", False):
                    seconds = library.autograd.grad(square, leaves, allow_unused=True)
        results.append((out, grads, seconds))
    (ours, our_grads, our_seconds), (theirs, their_grads, their_seconds) = results
    close(ours, theirs, tolerance)
    for mine, reference in itertools.chain(
        zip(our_grads, their_grads, strict=True), compared(our_seconds, their_seconds)
    ):
        if reference is None or mine is None:
            nonzero = reference if mine is None else mine
            assert nonzero is None or not nonzero.detach().numpy().any()
        else:
            close(mine, reference, tolerance)


def compared(ours, theirs):
    """Second derivatives: one library may know that they are all zero."""
    n = max(len(ours), len(theirs))
    return zip(ours or [None] * n, theirs or [None] * n, strict=True)


X = randn(4, 5)
ACTIVATIONS = {
    "relu": [{}],
    "relu6": [{}],
    "sigmoid": [{}],
    "tanh": [{}],
    "gelu": [{}, {"approximate": "tanh"}],
    "silu": [{}],
    "mish": [{}],
    "leaky_relu": [{}, {"negative_slope": 2.0}, {"negative_slope": -0.5}],
    "elu": [{}, {"alpha": 0.5}],
    "selu": [{}],
    "celu": [{}, {"alpha": 2.0}],
    "softplus": [{}, {"beta": 3, "threshold": 4}],
    "logsigmoid": [{}],
    "hardtanh": [{}, {"min_val": -0.5, "max_val": 0.25}],
    "hardsigmoid": [{}],
    "hardswish": [{}],
    "softsign": [{}],
    "tanhshrink": [{}],
    "hardshrink": [{}, {"lambd": 0.1}],
    "softshrink": [{}, {"lambd": 0.1}],
    "threshold": [{"threshold": 0.1, "value": 20.0}],
    "softmax": [{"dim": 0}, {"dim": -1}],
    "log_softmax": [{"dim": 1}],
    "softmin": [{"dim": 1}],
    "rrelu": [{}],
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_agree(name):
    for options in ACTIVATIONS[name]:
        for x in (X * 3, randn(2, 3, 300)):
            second = name not in ("hardsigmoid", "hardswish", "rrelu")
            # PyTorch's own backward of these two multiplies by 1/6 in single precision.
            tolerance = 1e-7 if name in ("hardsigmoid", "hardswish") else 1e-9
            call = lambda lib, F, t, o=options: getattr(F, name)(t, **o)
            both(call, [x], second=second, tolerance=tolerance)


@pytest.mark.parametrize(
    "name", ["relu", "relu6", "leaky_relu", "elu", "selu", "celu", "hardtanh", "silu"]
)
def test_activations_agree_at_zero_infinity_and_nan(name):
    # Where the input is NaN the slope of an elu is NaN here, and that of its linear part in
    # PyTorch.
    nan = 1.0 if name in ("elu", "selu", "celu") else math.nan
    for x in ([0.0, -0.0, math.inf, -math.inf, nan, 1.0, -1.0, 6.0], [0.0, -0.0, nan] * 200):
        with np.errstate(invalid="ignore"):
            both(lambda lib, F, t: getattr(F, name)(t), [np.array(x)], second=False)


@pytest.mark.parametrize(
    "name",
    [
        "relu",
        "elu",
        "selu",
        "celu",
        "leaky_relu",
        "hardtanh",
        "silu",
        "mish",
        "threshold",
        "hardswish",
        "hardsigmoid",
        "relu6",
    ],
)
def test_activations_in_place_agree(name):
    args = (0.1, 2.0) if name == "threshold" else ()

    def call(lib, F, t):
        y = t * 2
        assert getattr(F, name)(y, *args, inplace=True) is y
        return y

    both(call, [X], second=False, tolerance=1e-7)


def test_glu_and_prelu_agree():
    both(lambda lib, F, t: F.glu(t), [randn(3, 6)])
    both(lambda lib, F, t: F.glu(t, 0), [randn(4, 3)])
    both(lambda lib, F, t, w: F.prelu(t, w), [randn(2, 3, 4), randn(3)], second=False)
    both(lambda lib, F, t, w: F.prelu(t, w), [randn(2, 3), randn(1)], second=False)


def test_linear_and_bilinear_agree():
    both(lambda lib, F, x, w, b: F.linear(x, w, b), [randn(4, 3), randn(2, 3), randn(2)])
    both(lambda lib, F, x, w: F.linear(x, w), [randn(5, 4, 3), randn(2, 3)])
    both(lambda lib, F, x, w, b: F.linear(x, w, b), [randn(3), randn(2, 3), randn(2)])
    both(lambda lib, F, x, w, b: F.linear(x, w, b), [randn(1, 3), randn(1, 3), randn(1)])
    both(
        lambda lib, F, x, y, w, b: F.bilinear(x, y, w, b),
        [randn(4, 3), randn(4, 2), randn(5, 3, 2), randn(5)],
    )


# ---- losses --------------------------------------------------------------------------------

PAIR = [randn(4, 3), randn(4, 3)]
SIGNS = np.sign(randn(4, 3))
LOSSES = {
    "mse_loss": (PAIR, [{}]),
    "l1_loss": (PAIR, [{}]),
    "smooth_l1_loss": (PAIR, [{}, {"beta": 0.3}, {"beta": 0.0}]),
    "huber_loss": (PAIR, [{}, {"delta": 0.3}]),
    "kl_div": (
        [randn(4, 3), np.abs(PAIR[1])],
        [{}, {"log_target": True}, {"reduction": "batchmean"}],
    ),
    "binary_cross_entropy": ([RNG.uniform(size=(4, 3)), RNG.uniform(size=(4, 3))], [{}]),
    "binary_cross_entropy_with_logits": ([randn(4, 3), RNG.uniform(size=(4, 3))], [{}]),
    "soft_margin_loss": ([randn(4, 3), SIGNS], [{}]),
    "multilabel_soft_margin_loss": ([randn(4, 3), (SIGNS + 1) / 2], [{}]),
    "poisson_nll_loss": (
        [np.abs(randn(4, 3)) + 1, np.abs(randn(4, 3)) * 3],
        [{}, {"log_input": False}, {"full": True}],
    ),
    "hinge_embedding_loss": ([randn(4, 3), SIGNS], [{}, {"margin": 0.2}]),
}  # fmt: skip


CONSTANT_TARGET = {"soft_margin_loss", "multilabel_soft_margin_loss"}


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")
@pytest.mark.parametrize("name", LOSSES)
def test_losses_agree(name):
    arrays, settings = LOSSES[name]
    second = name not in ("soft_margin_loss", "poisson_nll_loss", "binary_cross_entropy")
    for options, reduction in itertools.product(settings, ["mean", "sum", "none"]):
        given = {"reduction": reduction, **options}

        def call(lib, F, a, b, given=given):
            return getattr(F, name)(a, b.detach() if name in CONSTANT_TARGET else b, **given)

        both(call, arrays, second=second)


@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_losses_of_several_inputs_agree(reduction):
    a, b, c = randn(5, 4), randn(5, 4), randn(5, 4)
    signs = np.sign(randn(5))
    o = {"reduction": reduction}
    both(
        lambda lib, F, x, y, t: F.margin_ranking_loss(x, y, t, 0.1, **o),
        [a, b, np.sign(c)],
        second=False,
    )
    both(
        lambda lib, F, x, y, t: F.cosine_embedding_loss(x, y, t.detach(), 0.1, **o),
        [a, b, signs],
    )
    both(lambda lib, F, x, y, z: F.triplet_margin_loss(x, y, z, **o), [a, b, c])
    both(
        lambda lib, F, x, y, z: F.triplet_margin_loss(x, y, z, p=1, swap=True, **o),
        [a, b, c],
        second=False,
    )
    both(lambda lib, F, x, y, v: F.gaussian_nll_loss(x, y, v.abs(), full=True, **o), [a, b, c])


def test_distances_agree():
    a, b = randn(5, 4), randn(5, 4)
    both(lambda lib, F, x, y: F.cosine_similarity(x, y), [a, b])
    both(lambda lib, F, x, y: F.cosine_similarity(x, y, dim=0), [a, b])
    both(lambda lib, F, x, y: F.pairwise_distance(x, y), [a, b])
    both(lambda lib, F, x, y: F.pairwise_distance(x, y, p=3.0, keepdim=True), [a, b])
    both(lambda lib, F, x: F.pdist(x), [a], second=False)


CLASSES = RNG.integers(3, size=6)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("weighted", [False, True])
def test_cross_entropy_agrees(reduction, smoothing, weighted):
    ignored = np.where(np.arange(6) % 2, -100, CLASSES)
    other = np.where(np.arange(6) == 2, 1, CLASSES)
    probabilities = RNG.dirichlet(np.ones(3), 6)
    weights = [np.array([0.5, 2.0, 1.0])] if weighted else []
    for target, ignore in ((CLASSES, -100), (ignored, -100), (other, 1), (probabilities, -100)):

        def call(lib, F, x, t, *w, ignore=ignore):
            w = w[0].detach() if w else None
            return F.cross_entropy(
                x,
                t.detach(),
                w,
                ignore_index=ignore,
                reduction=reduction,
                label_smoothing=smoothing,
            )

        both(call, [randn(6, 3), target, *weights])
    image = RNG.integers(3, size=(2, 4, 5))
    both(
        lambda lib, F, x, t: F.cross_entropy(x, t, reduction=reduction, label_smoothing=smoothing),
        [randn(2, 3, 4, 5), image],
    )


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_nll_loss_agrees(reduction):
    call = lambda lib, F, x, t: F.nll_loss(x, t, reduction=reduction)
    both(call, [randn(6, 3), CLASSES], second=False)


def test_losses_of_lone_samples_and_ignored_targets_agree():
    both(lambda lib, F, x, t: F.nll_loss(x, t), [randn(3), np.array(1)], second=False)
    both(lambda lib, F, x, t: F.cross_entropy(x, t), [randn(3), np.array(1)])
    both(lambda lib, F, x, t: F.cross_entropy(x, t), [randn(6, 3), np.full(6, -100)], second=False)
    both(lambda lib, F, x, t: F.multi_margin_loss(x, t), [randn(6, 3), CLASSES], second=False)


def test_binary_cross_entropy_agrees_with_weights_and_at_the_ends():
    t = RNG.uniform(size=(4, 3))
    w, pos = RNG.uniform(size=(4, 3)), np.array([1.0, 2.0, 3.0])
    both(
        lambda lib, F, x, t, w, p: F.binary_cross_entropy_with_logits(
            x, t, w.detach(), pos_weight=p.detach()
        ),
        [randn(4, 3) * 50, t, w, pos],
    )
    ends = np.array([0.0, 1.0, 0.0, 1.0])
    both(
        lambda lib, F, x, t: F.binary_cross_entropy(x, t.detach(), reduction="none"),
        [ends, np.array([0.0, 1.0, 1.0, 0.0])],
        second=False,
        tolerance=1e-8,
    )


# ---- windows -------------------------------------------------------------------------------

CONVOLUTIONS = [
    ((2, 3, 8), (4, 3, 3), {}),
    ((2, 4, 9), (6, 2, 3), {"stride": 2, "padding": 1, "dilation": 2, "groups": 2}),
    ((3, 9), (4, 3, 3), {"padding": "same"}),
    ((2, 3, 7, 8), (4, 3, 3, 2), {}),
    ((2, 3, 7, 8), (4, 3, 3, 2), {"stride": (2, 3), "padding": (1, 2), "dilation": (2, 1)}),
    ((2, 4, 6, 6), (8, 1, 3, 3), {"groups": 4, "padding": 1}),
    ((3, 6, 6), (2, 3, 1, 1), {}),
    ((2, 3, 6, 6), (2, 3, 4, 4), {"padding": "same"}),
    ((2, 3, 6, 6), (2, 3, 1, 1), {"stride": 2}),
    ((1, 2, 5, 4, 6), (3, 2, 2, 2, 3), {"padding": 1, "stride": 2}),
]


@pytest.mark.filterwarnings("ignore:Using padding='same'")
@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
def test_convolutions_agree(case):
    shape, kernel, options = case
    name = f"conv{len(kernel) - 2}d"
    arrays = [randn(*shape), randn(*kernel), randn(kernel[0])]
    both(lambda lib, F, x, w, b: getattr(F, name)(x, w, b, **options), arrays)


@pytest.mark.parametrize(
    "case",
    [
        ((2, 3, 5), (3, 4, 3), {}),
        ((2, 4, 5), (4, 3, 3), {"stride": 2, "padding": 1, "output_padding": 1, "groups": 2}),
        (
            (2, 3, 4, 5),
            (3, 2, 3, 2),
            {"stride": (2, 3), "padding": 1, "dilation": 2, "output_padding": 1},
        ),
        ((3, 4, 4), (3, 2, 2, 2), {"stride": 2}),
        ((1, 2, 3, 3, 3), (2, 3, 2, 2, 2), {"stride": 2}),
    ],
    ids=str,
)
def test_transposed_convolutions_agree(case):
    shape, kernel, options = case
    name = f"conv_transpose{len(kernel) - 2}d"
    out = kernel[1] * options.get("groups", 1)
    both(
        lambda lib, F, x, w, b: getattr(F, name)(x, w, b, **options),
        [randn(*shape), randn(*kernel), randn(out)],
    )


POOLS = [
    ("max_pool1d", (2, 3, 9), (3,), {"stride": 2, "padding": 1}),
    ("max_pool2d", (2, 3, 8, 9), (2,), {}),
    ("max_pool2d", (2, 3, 8, 9), ((3, 2),), {"stride": (1, 2), "padding": 1, "dilation": (2, 1)}),
    ("max_pool2d", (2, 3, 7, 7), (2,), {"ceil_mode": True}),
    ("max_pool2d", (3, 7, 7), (3, 2, 1), {"ceil_mode": True}),
    ("max_pool3d", (1, 2, 4, 5, 6), (2,), {}),
    ("avg_pool1d", (2, 3, 9), (3,), {"stride": 2, "padding": 1}),
    ("avg_pool2d", (2, 3, 8, 9), (2,), {}),
    ("avg_pool2d", (2, 3, 7, 7), (3,), {"stride": 2, "padding": 1, "count_include_pad": False}),
    ("avg_pool2d", (2, 3, 7, 7), (2,), {"ceil_mode": True}),
    ("avg_pool2d", (2, 3, 7, 8), (3, 2, 1), {"ceil_mode": True, "count_include_pad": False}),
    ("avg_pool2d", (3, 7, 7), (2,), {"divisor_override": 3}),
    ("avg_pool3d", (1, 2, 4, 5, 6), (2,), {}),
    ("adaptive_avg_pool1d", (2, 3, 9), (4,), {}),
    ("adaptive_avg_pool2d", (2, 3, 8, 9), ((4, 3),), {}),
    ("adaptive_avg_pool2d", (2, 3, 8, 9), ((3, 4),), {}),
    ("adaptive_avg_pool2d", (2, 3, 8, 9), (1,), {}),
    ("adaptive_avg_pool2d", (2, 3, 8, 9), ((None, 2),), {}),
    ("adaptive_avg_pool3d", (1, 2, 4, 5, 6), ((2, 3, 4),), {}),
    ("adaptive_max_pool1d", (2, 3, 9), (4,), {}),
    ("adaptive_max_pool2d", (2, 3, 8, 9), ((3, 4),), {}),
    ("lp_pool2d", (2, 3, 8, 8), (2.0, 2), {}),
    ("unfold", (2, 3, 6, 7), ((2, 3),), {"stride": (2, 1), "padding": 1}),
    ("fold", (2, 12, 20), ((5, 6), (2, 2)), {}),
    ("pad", (2, 3, 4), ((1, 2),), {}),
    ("pad", (2, 3, 4, 5), ((1, 2, 0, 3),), {"value": 1.5}),
    ("pad", (2, 3, 4, 5), ((-1, 2, 0, -1),), {}),
    ("pad", (2, 3, 4, 5), ((1, 2, 3, 1),), {"mode": "reflect"}),
    ("pad", (2, 3, 4, 5), ((1, 2, 3, 1),), {"mode": "replicate"}),
    ("pad", (2, 3, 4, 5), ((1, 2, 3, 1),), {"mode": "circular"}),
    ("interpolate", (2, 3, 5), (7,), {}),
    ("interpolate", (2, 3, 4, 5), (), {"scale_factor": 2}),
    ("interpolate", (2, 3, 4, 5), (), {"scale_factor": (1.5, 0.7), "mode": "nearest-exact"}),
    ("interpolate", (2, 3, 4, 5), ((7, 3),), {"mode": "bilinear"}),
    ("interpolate", (2, 3, 4, 5), ((7, 3),), {"mode": "bilinear", "align_corners": True}),
    ("interpolate", (2, 3, 4, 5), (), {"scale_factor": 1.7, "mode": "bilinear"}),
    ("interpolate", (2, 3, 4), (9,), {"mode": "linear"}),
    ("interpolate", (1, 2, 3, 4, 5), ((5, 5, 5),), {"mode": "trilinear"}),
    ("interpolate", (2, 3, 4, 5), ((2, 3),), {"mode": "area"}),
    ("pixel_shuffle", (2, 8, 3, 4), (2,), {}),
    ("pixel_unshuffle", (2, 3, 4, 6), (2,), {}),
    ("layer_norm", (4, 3, 5), ((3, 5),), {}),
    ("group_norm", (2, 6, 4), (3,), {}),
    ("instance_norm", (2, 3, 4, 5), (), {}),
    ("rms_norm", (2, 3, 5), ((5,),), {}),
    ("local_response_norm", (2, 5, 3, 3), (3,), {"alpha": 0.1}),
    ("normalize", (4, 5), (), {}),
    ("normalize", (4, 5), (), {"p": 1.0, "dim": 0}),
]


@pytest.mark.parametrize("case", POOLS, ids=str)
def test_pools_paddings_and_norms_agree(case):
    name, shape, args, options = case
    both(lambda lib, F, x: getattr(F, name)(x, *args, **options), [randn(*shape)])


def test_max_pool_indices_and_ties_agree():
    x = np.round(randn(2, 3, 8, 8))
    both(lambda lib, F, t: F.max_pool2d(t, 3, 2, 1), [x])
    ours = WF.max_pool2d(wg.tensor(x), 3, 2, 1, return_indices=True)[1]
    theirs = TF.max_pool2d(torch.tensor(x), 3, 2, 1, return_indices=True)[1]
    close(ours, theirs)
    x[0, 0, 2, 2] = np.nan
    both(lambda lib, F, t: F.max_pool2d(t, 2), [x], second=False)


def test_norms_with_weights_agree():
    both(lambda lib, F, x, w, b: F.layer_norm(x, (5,), w, b), [randn(4, 3, 5), randn(5), randn(5)])
    both(lambda lib, F, x, w: F.rms_norm(x, (5,), w, 1e-3), [randn(4, 5), randn(5)])
    both(lambda lib, F, x, w, b: F.group_norm(x, 2, w, b), [randn(2, 4, 3, 3), randn(4), randn(4)])
    for training, shape in itertools.product([True, False], [(6, 3), (4, 3, 5), (2, 3, 4, 4)]):

        def call(lib, F, x, m, v, w, b, training=training):
            return F.batch_norm(x, m.detach(), v.detach(), w, b, training, 0.2)

        both(call, [randn(*shape), randn(3), np.abs(randn(3)) + 0.5, randn(3), randn(3)])


# ---- tables and attention ------------------------------------------------------------------


def test_embeddings_agree():
    index = RNG.integers(7, size=(3, 4))
    both(lambda lib, F, i, w: F.embedding(i, w), [index, randn(7, 5)])
    both(lambda lib, F, i, w: F.embedding(i, w, padding_idx=int(index[0, 0])), [index, randn(7, 5)])
    both(
        lambda lib, F, i, w: F.embedding(i, w, scale_grad_by_freq=True),
        [index, randn(7, 5)],
        second=False,
    )
    both(lambda lib, F, i: F.one_hot(i), [index])
    both(lambda lib, F, i: F.one_hot(i, 9), [index])


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_of_embeddings_agree(mode):
    index = RNG.integers(7, size=(3, 4))
    both(lambda lib, F, i, w: F.embedding_bag(i, w, mode=mode), [index, randn(7, 5)], second=False)
    both(
        lambda lib, F, i, w: F.embedding_bag(i, w, lib.tensor([0, 3, 3]), mode=mode),
        [index.reshape(-1)[:9].copy(), randn(7, 5)],
        second=False,
    )


def test_attention_agrees():
    q, k, v = randn(2, 3, 4, 5), randn(2, 3, 6, 5), randn(2, 3, 6, 7)
    attend = "scaled_dot_product_attention"
    both(lambda lib, F, *t: getattr(F, attend)(*t), [q, k, v])
    both(lambda lib, F, *t: getattr(F, attend)(*t, scale=0.3), [q, k, v])
    both(lambda lib, F, *t: getattr(F, attend)(*t, is_causal=True), [q, k, v])
    mask = RNG.uniform(size=(4, 6)) > 0.3
    mask[:, 0] = True
    both(lambda lib, F, q, k, v, m: getattr(F, attend)(q, k, v, m), [q, k, v, mask])
    both(lambda lib, F, q, k, v, m: getattr(F, attend)(q, k, v, m), [q, k, v, randn(4, 6)])


# ---- modules -------------------------------------------------------------------------------

MODULES = """
Linear(2, 3); Linear(2, 3, bias=False); Bilinear(2, 3, 4); Identity(3, x=1); Flatten()
Unflatten(1, (2, 3)); Dropout(); Dropout2d(0.2, True); AlphaDropout(); BatchNorm1d(4)
BatchNorm2d(4, affine=False, momentum=None); LayerNorm(5); LayerNorm([5, 3], bias=False)
GroupNorm(2, 4); InstanceNorm2d(3); RMSNorm(4); Conv1d(3, 4, 2)
Conv2d(3, 4, (2, 3), stride=2, padding=1, dilation=2, bias=False, padding_mode='reflect')
Conv2d(4, 4, 3, padding='same', groups=2); ConvTranspose2d(3, 4, 2)
ConvTranspose1d(3, 4, 2, 2, output_padding=1); MaxPool2d(2)
MaxPool1d(3, 2, 1, return_indices=True); AvgPool2d(2); AvgPool1d(2); AdaptiveAvgPool2d((1, None))
AdaptiveMaxPool2d(3); Embedding(3, 4, padding_idx=0, max_norm=2.0); EmbeddingBag(3, 4); MSELoss()
CrossEntropyLoss(); HuberLoss(); Softmax(dim=1); LogSoftmax(); ReLU(); ReLU(True); ReLU6()
Sigmoid(); Tanh(); GELU(); SiLU(); Mish(); LeakyReLU(0.2, True); ELU(); SELU(); CELU(); Softplus()
Hardtanh(); Hardswish(); Hardsigmoid(); PReLU(); RReLU(); Threshold(1, 2); Softsign()
Tanhshrink(); Hardshrink(); Softshrink(); LogSigmoid(); GLU(); Softmin(); Softmax2d()
ZeroPad2d(1); ConstantPad1d(2, 3.5); ReflectionPad2d((1, 2, 0, 1)); ReplicationPad1d(1)
CircularPad1d(1); Upsample(scale_factor=2, mode='bilinear'); Upsample(size=(2, 3))
UpsamplingNearest2d(scale_factor=2); PixelShuffle(2); PixelUnshuffle(2); ChannelShuffle(2)
Unfold(2); Fold((3, 3), 2); CosineSimilarity(); PairwiseDistance(); TripletMarginLoss(); BCELoss()
KLDivLoss(); LocalResponseNorm(2); LPPool2d(2, 3); NLLLoss(weight=tensor([1.0, 2.0]))
BCEWithLogitsLoss(); Sequential(Linear(2, 3), ReLU(), Sequential(Linear(3, 1), Tanh()))
Sequential(); ModuleList(); ModuleDict()
ModuleList([Linear(2, 2), Linear(2, 2), ReLU(), Linear(2, 2)])
ModuleDict({'a': ReLU(), 'b': Linear(1, 1)}); ParameterList([zeros(2, 3), ones(1)])
ParameterDict({'a': zeros(2), 'b': ones(3)}); ParameterList()
Sequential(ModuleList([Sequential(ReLU()), Sequential(ReLU())]), ParameterList([zeros(1)]))
""".replace("\n", ";")


def built(library, text):
    names = {
        **vars(library.nn),
        "tensor": library.tensor,
        "zeros": library.zeros,
        "ones": library.ones,
    }
    return eval(text, names)  # noqa: S307  (the texts are those above)


@pytest.mark.parametrize("text", [t.strip() for t in MODULES.split(";") if t.strip()])
def test_modules_print_and_list_their_state_as_pytorch_does(text):
    ours, theirs = built(wg, text), built(torch, text)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for a, b in zip(ours.state_dict().values(), theirs.state_dict().values(), strict=True):
        assert tuple(a.shape) == tuple(b.shape)
        assert a.detach().numpy().dtype == b.detach().numpy().dtype
    assert [n for n, _ in ours.named_modules()] == [n for n, _ in theirs.named_modules()]
    assert [n for n, _ in ours.named_parameters()] == [n for n, _ in theirs.named_parameters()]


def network(library):
    nn = library.nn
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 6, 3, stride=2),
        nn.GELU(),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.LayerNorm(24),
        nn.Linear(24, 5),
    )


def test_a_network_trains_as_in_pytorch_from_the_same_state():
    # Not by Adam: the gradient of a bias that a norm follows is rounding only, and Adam would
    # divide it by itself.
    ours, theirs = network(wg), network(torch)
    ours.load_state_dict({k: wg.tensor(v.numpy()) for k, v in theirs.state_dict().items()})
    ours.double(), theirs.double()
    images = randn(8, 1, 12, 12)
    labels = RNG.integers(5, size=8)
    losses = []
    for library, net in ((wg, ours), (torch, theirs)):
        optimizer = library.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
        x, y = library.tensor(images), library.tensor(labels)
        history = []
        for _ in range(5):
            optimizer.zero_grad()
            loss = library.nn.functional.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            history.append(loss.item())
        net.eval()
        history.append(net(x).sum().item())
        losses.append(history)
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-8)
    for (name, a), b in zip(ours.state_dict().items(), theirs.state_dict().values(), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6, atol=1e-8, err_msg=name)


def traced_pass(library):
    trace = []
    layer = library.nn.Linear(2, 2)
    with library.no_grad():
        layer.weight.copy_(library.tensor([[1.0, 2.0], [3.0, 4.0]]))
        layer.bias.zero_()

    def note(module, grad_input, grad_output):
        trace.append(("hook", [g.tolist() for g in grad_input], [g.tolist() for g in grad_output]))

    layer.register_full_backward_hook(note)
    layer.register_full_backward_hook(lambda m, gi, go: (gi[0] * 2,))
    layer.register_full_backward_pre_hook(lambda m, go: (go[0] + 1,))
    layer.register_forward_hook(lambda m, args, out: trace.append(("forward", out.tolist())))
    layer.register_forward_pre_hook(lambda m, args: (args[0] + 1,))
    x = library.tensor([[1.0, 1.0]], requires_grad=True)
    layer(x).sum().backward()
    return [*trace, x.grad.tolist(), layer.weight.grad.tolist()]


def test_backward_hooks_fire_as_in_pytorch():
    assert traced_pass(wg) == traced_pass(torch)


def test_backward_hooks_do_not_fire_when_a_derivative_is_differentiated():
    for library in (wg, torch):
        count = []
        loss = library.nn.MSELoss()
        loss.register_full_backward_hook(lambda m, gi, go, count=count: count.append(1))
        x = library.tensor([0.5], requires_grad=True)
        (g,) = library.autograd.grad(loss(x, library.tensor([2.0])), x, create_graph=True)
        assert count == [1]
        (second,) = library.autograd.grad(g, x)
        assert count == [1]
        assert second.item() == 2.0


OUT = {
    "gelu": (), "softplus": (), "logsigmoid": (), "softshrink": (), "hardshrink": (),
    "normalize": (), "avg_pool2d": (2,),
}  # fmt: skip


@pytest.mark.parametrize("name", OUT)
def test_a_result_is_written_into_out(name):
    # They had out= from what took it of every function, and lost it with that.
    x = np.random.default_rng(0).standard_normal((1, 2, 4, 4))
    written = []
    for t in (torch, wg):
        place = t.empty(0, dtype=t.float64)
        f = getattr(t.nn.functional, name)
        assert f(t.from_numpy(x.copy()), *OUT[name], out=place) is place
        written.append(place.numpy())
    np.testing.assert_allclose(written[1], written[0], rtol=1e-12)
