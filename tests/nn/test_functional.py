"""nn.functional: random functions, errors, initial values, derivatives of the rules."""

import numpy as np
import pytest

import wengert as wg
from wengert import nn
from wengert.rules import convolution, losses, neural, normalization
from wengert.rules.rule import RULES, pull, push

F = nn.functional


def test_dropout_keeps_the_mean_and_zeroes_the_gradient_of_what_it_drops():
    wg.manual_seed(0)
    x = wg.ones(10000, requires_grad=True)
    y = F.dropout(x, 0.25)
    assert abs(y.mean().item() - 1) < 0.05
    y.sum().backward()
    assert np.array_equal(x.grad.numpy() == 0, y.detach().numpy() == 0)
    assert set(np.unique(y.detach().numpy())) == {0.0, np.float32(1 / 0.75)}
    assert F.dropout(x, 0.25, training=False) is x
    assert not F.dropout(x, 1.0).detach().numpy().any()
    with pytest.raises(ValueError, match="between 0 and 1"):
        F.dropout(x, 1.5)


def test_dropout_of_channels_drops_whole_channels():
    wg.manual_seed(0)
    y = F.dropout2d(wg.ones(4, 50, 3, 3), 0.5).numpy()
    per_channel = y.reshape(200, 9)
    assert np.all(per_channel == per_channel[:, :1])
    assert 0 < (per_channel[:, 0] == 0).mean() < 1


def test_the_same_seed_drops_the_same_elements():
    wg.manual_seed(3)
    a = F.dropout(wg.ones(50))
    wg.manual_seed(3)
    assert wg.equal(a, F.dropout(wg.ones(50)))


def test_alpha_dropout_keeps_mean_and_variance():
    wg.manual_seed(0)
    y = F.alpha_dropout(wg.randn(100000), 0.2, training=True)
    assert abs(y.mean().item()) < 0.02
    assert abs(y.var().item() - 1) < 0.03


def test_gumbel_softmax_draws_one_hot_vectors_with_soft_gradients():
    logits = wg.tensor([[0.0, 5.0]]).expand(100, 2).clone().requires_grad_()
    y = F.gumbel_softmax(logits, hard=True)
    assert set(np.unique(np.round(y.detach().numpy(), 6))) <= {0.0, 1.0}
    assert y[:, 1].sum().item() > 90
    y[:, 0].sum().backward()
    assert logits.grad.numpy().any()


def test_class_numbers_out_of_range_are_an_index_error():
    x = wg.randn(3, 4)
    with pytest.raises(IndexError, match="Target 4 is out of bounds: there are 4 classes"):
        F.cross_entropy(x, wg.tensor([0, 1, 4]))
    with pytest.raises(IndexError, match="Target -1 is out of bounds"):
        F.cross_entropy(x, wg.tensor([0, -1, 2]))
    with pytest.raises(IndexError, match="Target 9"):
        F.nll_loss(x, wg.tensor([9, 0, 0]))
    with pytest.raises(RuntimeError, match="integer dtype as target"):
        F.nll_loss(x, wg.tensor([1.0, 0.0, 0.0]))
    with pytest.raises(ValueError, match="batch_size"):
        F.cross_entropy(x, wg.tensor([0, 1]))


def test_ignored_targets_count_for_nothing():
    x = wg.randn(4, 3, requires_grad=True)
    loss = F.cross_entropy(x, wg.tensor([0, -100, 2, -100]))
    expected = F.cross_entropy(x[wg.tensor([0, 2])], wg.tensor([0, 2]))
    assert loss.item() == pytest.approx(expected.item())
    loss.backward()
    assert not x.grad.numpy()[[1, 3]].any()
    inside = F.cross_entropy(x, wg.tensor([0, 1, 2, 1]), ignore_index=1)
    assert inside.item() == pytest.approx(expected.item())


def test_cross_entropy_takes_huge_scores():
    x = wg.tensor([[1e4, 0.0], [-1e4, 1e4]], requires_grad=True)
    loss = F.cross_entropy(x, wg.tensor([1, 1]))
    assert loss.item() == 5000.0
    loss.backward()
    assert x.grad.tolist() == [[0.5, -0.5], [0.0, 0.0]]


def test_losses_warn_of_shapes_that_broadcast():
    with pytest.warns(UserWarning, match="different to the input size"):
        F.mse_loss(wg.ones(3, 1), wg.ones(3))


def test_mismatched_layers_say_what_they_take():
    with pytest.raises(RuntimeError, match=r"cannot be multiplied \(4x3 and 2x5\)"):
        nn.Linear(2, 5)(wg.ones(4, 3))
    with pytest.raises(RuntimeError, match=r"expected input.* to have 3 channels, but got 2"):
        nn.Conv2d(3, 1, 2)(wg.ones(1, 2, 4, 4))
    with pytest.raises(RuntimeError, match="Kernel size can't be greater"):
        nn.Conv2d(3, 1, 5)(wg.ones(1, 3, 4, 4))
    with pytest.raises(IndexError, match="asked for row 7"):
        nn.Embedding(5, 2)(wg.tensor([0, 7]))
    with pytest.raises(RuntimeError, match="expected input with shape"):
        nn.LayerNorm(3)(wg.ones(2, 4))


def test_the_relu_of_an_infinite_gradient_is_zero_where_the_input_was_negative():
    x = wg.tensor([-1.0, 1.0], requires_grad=True)
    F.relu(x).backward(wg.tensor([np.inf, np.inf]))
    assert x.grad.tolist() == [0.0, np.inf]
    wide = wg.full((1000,), -1.0).requires_grad_()
    F.relu(wide).backward(wg.full((1000,), np.inf))
    assert not wide.grad.numpy().any()


@pytest.mark.parametrize("shape", [(4, 8, 5, 5), (40, 8, 20, 20), (900, 8), (6, 8, 300)])
def test_batch_norm_by_given_moments_is_its_formula(shape):
    # Of few numbers, of many and of many rows: they go different ways.
    rng = np.random.default_rng(0)
    x = wg.tensor(rng.standard_normal(shape))
    mean, var, weight, bias = (wg.tensor(1 + rng.random(8)) for _ in range(4))
    column = (8, *(1,) * (len(shape) - 2))
    standardized = (x - mean.reshape(column)) / (var.reshape(column) + 1e-5).sqrt()
    for w, b in ((weight, bias), (weight, None), (None, bias), (None, None)):
        expected = standardized * (1 if w is None else w.reshape(column))
        expected = expected + (0 if b is None else b.reshape(column))
        assert wg.allclose(F.batch_norm(x, mean, var, w, b), expected, rtol=1e-12, atol=1e-12)


def test_batch_norm_of_sixteen_bits_is_rounded_once():
    # The parameters were rounded to 16 bits first, and each step after them.
    x, mean, var = wg.rand(4, 8, 6) + 30, wg.rand(8) + 30, wg.rand(8) + 0.1
    narrow = x.to(wg.float16)
    expected = F.batch_norm(narrow.float(), mean, var).to(wg.float16)
    assert wg.equal(F.batch_norm(narrow, mean, var), expected)


def test_batch_norm_keeps_running_statistics_and_counts_the_write():
    layer = nn.BatchNorm1d(2)
    x = wg.tensor([[0.0, 2.0], [2.0, 6.0]])
    layer(x)
    assert layer.running_mean.tolist() == pytest.approx([0.1, 0.4])
    assert layer.running_var.tolist() == pytest.approx([0.9 + 0.2, 0.9 + 0.8])
    assert layer.num_batches_tracked.item() == 1
    assert layer.running_mean._version > 0
    layer.eval()
    before = layer.running_mean.tolist()
    layer(x)
    assert layer.running_mean.tolist() == before
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        nn.BatchNorm1d(2)(wg.ones(1, 2))
    with pytest.raises(ValueError, match="expected 4D input"):
        nn.BatchNorm2d(2)(wg.ones(1, 2))


def test_the_node_of_a_convolution_shows_what_its_windows_are_told_by():
    layer = nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2)
    node = layer(wg.ones(1, 4, 9, 9)).grad_fn
    shown = node._saved_stride, node._saved_padding, node._saved_dilation, node._saved_groups
    assert shown == ((2, 2), (1, 1), (1, 1), 2)


# ---- rules ---------------------------------------------------------------------------------

X = np.random.default_rng(0).standard_normal
WINDOW = (3, 2), (2, 1), (1, 0)
CONVOLUTION = {"windows": ((2, 1), (1, 0), (1, 2), 2)}
IMAGES, KERNELS, MAPS = X((2, 4, 6, 7)), X((6, 2, 3, 2)), X((2, 6, 3, 5))
LABELS = np.array([0, 2, 1, 1])
SAMPLES = [
    (convolution.convolution, {"x": IMAGES, "weight": KERNELS, "bias": X(6), **CONVOLUTION}),
    (
        convolution.convolution_input,
        {"g": MAPS, "weight": KERNELS, "x_shape": IMAGES.shape, **CONVOLUTION},
    ),
    (
        convolution.convolution_weight,
        {"g": MAPS, "x": IMAGES, "weight_shape": KERNELS.shape, **CONVOLUTION},
    ),
    (convolution.max_pool, {"x": IMAGES, "windows": (*WINDOW, (1, 1), (3, 6))}),
    (convolution.sum_pool, {"x": IMAGES, "windows": (*WINDOW, (1, 1), (3, 6))}),
    (convolution.unfold, {"x": IMAGES, "windows": (*WINDOW, (1, 2), (3, 5))}),
    (convolution.pad_with, {"x": X((2, 3)), "before": (1, -1), "after": (0, 2), "value": 7.0}),
    (normalization.standardize, {"x": X((3, 4, 5)), "axes": (1, 2), "eps": 0.1}),
    (neural.gelu, {"x": X(5)}),
    (neural.silu, {"x": X(5)}),
    (neural.elu, {"x": X(5), "alpha": 0.5, "scale": 2.0, "rate": 3.0}),
    (neural.softplus, {"x": X(5), "beta": 2.0, "threshold": 20.0}),
    (neural.log_sigmoid, {"x": X(5)}),
    (neural.leaky_relu, {"x": X(5), "slope": 0.3}),
    (neural.hardtanh, {"x": X(5), "low": -0.5, "high": 0.5}),
    (losses.mse, {"x": X(5), "target_": X(5)}),
    (losses.mse_slope, {"scale": np.array(2.0), "x": X(5), "target_": X(5)}),
    (losses.cross_entropy, {"x": X((4, 3)), "target": LABELS, "kept": None}),
    (losses.cross_entropy_slope, {"x": X((4, 3)), "target": LABELS, "kept": LABELS > 0}),
    (losses.bernoulli_loss, {"x": np.array([0.2, 0.7]), "b": np.array([0.3, 0.9])}),
]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s[0].__name__)
def test_pushed_tangents_are_difference_quotients_and_pulls_their_transposes(sample):
    function, call = sample
    rule = RULES[function]
    call = {**rule.defaults, **call}
    value = lambda **changed: function(*({**call, **changed}[n] for n in rule.arguments))
    y = value()  # by position, as recorders call: a formula's ways know no names
    for argument in rule.differentiable:
        t = X(np.shape(call[argument]))
        step = 1e-6
        above, below = (value(**{argument: call[argument] + s * t}) for s in (step, -step))
        tangent = push(rule, argument, t, call, y)
        np.testing.assert_allclose(tangent, (above - below) / (2 * step), rtol=1e-5, atol=1e-7)
        g = np.asarray(X(np.shape(y)))
        cotangent = pull(rule, argument, g, call, y)
        assert np.shape(cotangent) == np.shape(t)
        np.testing.assert_allclose(np.sum(cotangent * t), np.sum(g * tangent), rtol=1e-10)


# ---- initial values ------------------------------------------------------------------------


def test_initial_values_have_the_moments_they_promise():
    wg.manual_seed(0)
    w = wg.empty(200, 300)
    for fill, std in (
        (lambda: nn.init.kaiming_normal_(w, nonlinearity="relu"), (2 / 300) ** 0.5),
        (
            lambda: nn.init.kaiming_uniform_(w, mode="fan_out", nonlinearity="relu"),
            (2 / 200) ** 0.5,
        ),
        (lambda: nn.init.xavier_normal_(w), (2 / 500) ** 0.5),
        (lambda: nn.init.xavier_uniform_(w, gain=2.0), 2 * (2 / 500) ** 0.5),
        (lambda: nn.init.normal_(w, 0.0, 3.0), 3.0),
        (lambda: nn.init.uniform_(w, -1, 1), 3**-0.5),
        (lambda: nn.init.trunc_normal_(w), 0.8796),
    ):
        assert fill() is w
        assert w.numpy().std() == pytest.approx(std, rel=0.03)
    q = nn.init.orthogonal_(wg.empty(5, 3)).numpy()
    np.testing.assert_allclose(q.T @ q, np.eye(3), atol=1e-6)
    assert nn.init.eye_(wg.empty(2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]
    zeros = (nn.init.sparse_(wg.empty(10, 4), 0.3).numpy() == 0).sum(0)
    assert zeros.tolist() == [3, 3, 3, 3]
    x = wg.randn(1, 2, 5)
    kernel = nn.init.dirac_(wg.empty(2, 2, 3))
    assert wg.equal(F.conv1d(x, kernel, padding=1), x)


def test_bilinear_refuses_tensors_of_several_dtypes():
    # It promoted them, where layers and other products name them.
    x, y, weight = wg.ones(2, 3), wg.ones(2, 4), wg.ones(5, 3, 4)
    for call in ((x, y.double(), weight), (x, y, weight.double()), (x, y, weight, y[0].double())):
        with pytest.raises(RuntimeError, match="float32 and float64"):
            nn.functional.bilinear(*call)


@pytest.mark.parametrize("mode", ["linear", "nearest", "nearest-exact"])
@pytest.mark.parametrize(("size", "wanted"), [(0, 4), (3, 0)])
def test_resizing_from_or_to_nothing_says_so_as_pytorch_does(mode, size, wanted):
    with pytest.raises(RuntimeError, match="sizes should be greater than 0"):
        F.interpolate(wg.zeros(1, 2, size), size=wanted, mode=mode)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize(
    "run", [lambda f: f, wg.compile, wg.vmap], ids=["eager", "compiled", "vmap"]
)
def test_what_is_not_finite_stays_in_the_bins_that_hold_it(run, bad):
    # Bins of different widths were padded with numbers of weight 0, and 0 * nan is nan; where the
    # matrix of means was multiplied whole, NaN filled its line.
    x = np.arange(10.0)[None, None]
    x[..., 4] = bad
    batch = wg.tensor(x[None] if run is wg.vmap else x)
    found = run(lambda t: F.adaptive_avg_pool1d(t, 4))(batch).numpy().ravel()
    wanted = [x[0, 0, a:b].mean() for a, b in ((0, 3), (2, 5), (5, 8), (7, 10))]
    np.testing.assert_allclose(found, wanted)


def test_a_gradient_that_is_nan_reaches_no_number_outside_its_bin():
    x = wg.zeros(1, 1, 10, requires_grad=True)
    F.adaptive_avg_pool1d(x, 4).backward(wg.tensor([[[0.0, 0.0, np.nan, 0.0]]]))
    assert x.grad.isnan().numpy().ravel().nonzero()[0].tolist() == [5, 6, 7]


def test_dropout_of_nothing_in_place_writes_nothing():
    # It multiplied by 1 in place, so that what relu_ had kept was of an older version: a wide
    # residual network with dropout 0 did not train.
    x = wg.ones(3, requires_grad=True)
    y = F.relu(x * 2, inplace=True)
    assert F.dropout(y, 0.0, training=True, inplace=True) is y
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize(("n", "width"), [(6, 3), (60, 40)])
def test_distances_of_pairs_and_their_slopes_are_those_of_the_differences(n, width):
    # Few rows take a loop, many a product of matrices; two rows are one point, where both give 0.
    wg.manual_seed(0)
    x = wg.randn(n, width, dtype=wg.float64)
    x[1] = x[0]
    x.requires_grad_()
    i, j = np.triu_indices(n, 1)
    found = F.pdist(x)
    wanted = ((x[i] - x[j]) ** 2).sum(1).clamp(min=1e-300).sqrt()
    np.testing.assert_allclose(found.detach().numpy(), wanted.detach().numpy(), atol=1e-12)
    weights = wg.randn(len(found), dtype=wg.float64)
    np.testing.assert_allclose(
        *(wg.autograd.grad((weights * y).sum(), x)[0].numpy() for y in (found, wanted)), atol=1e-12
    )


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda x, w: F.conv2d(x, w, dilation=0), "dilation should be greater than zero"),
        (lambda x, w: F.conv2d(x, w, dilation=-1), "dilation should be greater than zero"),
        (lambda x, w: F.conv_transpose2d(x, w, output_padding=-1), "negative output_padding"),
    ],
)
def test_windows_that_no_array_holds_are_refused(call, told):
    # Small ones were moved by a loop that looks at no index: it wrote behind the array.
    with pytest.raises(RuntimeError, match=told):
        call(wg.ones(1, 1, 4, 4), wg.ones(1, 1, 3, 3))


def test_the_trace_of_integers_is_of_64_bits():
    assert wg.trace(wg.ones(5, 1, dtype=wg.uint8)).dtype == wg.int64
