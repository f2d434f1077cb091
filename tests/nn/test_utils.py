"""`nn.utils`: parametrizations, pruning, fusing; quantization; data parallelism; errors' paths."""

import copy

import numpy as np
import pytest

import wengert as wg
from wengert import nn
from wengert.nn import quantization
from wengert.nn.utils import parametrizations, parametrize, prune


class Doubled(nn.Module):
    def forward(self, x):
        return 2 * x

    def right_inverse(self, y):
        return y / 2


def test_a_parametrized_weight_is_computed_when_read_and_can_be_assigned_and_removed():
    layer = nn.Linear(2, 2)
    before = layer.weight.detach().clone()
    parametrize.register_parametrization(layer, "weight", Doubled())
    assert type(layer).__name__ == "ParametrizedLinear"
    assert isinstance(layer, nn.Linear)
    assert wg.allclose(layer.weight, before)
    layer(wg.ones(1, 2)).sum().backward()
    assert layer.parametrizations.weight.original.grad.tolist() == [[2, 2], [2, 2]]
    layer.weight = wg.ones(2, 2)
    assert layer.parametrizations.weight.original.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear
    assert layer.weight.tolist() == [[1, 1], [1, 1]]
    assert isinstance(layer.weight, nn.Parameter)


def test_inside_cached_a_parametrization_runs_once():
    class Counts(nn.Module):
        runs = 0

        def forward(self, x):
            Counts.runs += 1
            return x

    layer = nn.Linear(2, 2)
    parametrize.register_parametrization(layer, "weight", Counts(), unsafe=True)
    with parametrize.cached():
        assert layer.weight is layer.weight
    assert Counts.runs == 1


def test_parametrizations_that_change_shape_or_name_nothing_are_refused():
    class Wider(nn.Module):
        def forward(self, x):
            return wg.cat([x, x])

    layer = nn.Linear(2, 2)
    with pytest.raises(ValueError, match="may not change the shape"):
        parametrize.register_parametrization(layer, "weight", Wider())
    assert type(layer) is nn.Linear
    with pytest.raises(ValueError, match="does not have a parameter"):
        parametrize.register_parametrization(layer, "wait", Doubled())
    with pytest.raises(ValueError, match="does not have a parametrization on weight"):
        parametrize.remove_parametrizations(layer, "weight")
    parametrize.register_parametrization(layer, "weight", Doubled())
    with pytest.raises(RuntimeError, match="through state_dict"):
        layer.__getstate__()
    assert wg.equal(copy.deepcopy(layer).weight, layer.weight)


@pytest.mark.parametrize("way", ["matrix_exp", "cayley"])
@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5)])
def test_orthogonal_weights_stay_orthogonal_while_they_learn(way, shape):
    layer = parametrizations.orthogonal(nn.Linear(*shape).double(), orthogonal_map=way)
    optimizer = wg.optim.SGD(layer.parameters(), lr=0.1)
    start = layer.weight.detach().clone()
    for _ in range(3):
        optimizer.zero_grad()
        (layer(wg.ones(2, shape[0], dtype=wg.float64)) ** 2).sum().backward()
        optimizer.step()
    w = layer.weight.detach()
    gram = w.mT @ w if w.shape[0] > w.shape[1] else w @ w.mT
    assert wg.allclose(gram, wg.eye(len(gram), dtype=wg.float64), atol=1e-9)
    assert not wg.allclose(w, start)


def test_an_orthogonal_weight_keeps_its_first_value():
    layer = nn.Linear(3, 3).double()
    nn.init.orthogonal_(layer.weight)
    before = layer.weight.detach().clone()
    assert wg.allclose(parametrizations.orthogonal(layer).weight, before)


@pytest.mark.parametrize("amount", [-1, 1.5, "all", 100])
def test_pruning_by_impossible_amounts_is_refused(amount):
    with pytest.raises((ValueError, TypeError), match="amount"):
        prune.l1_unstructured(nn.Linear(2, 2), "weight", amount)


def test_random_pruning_follows_the_seed_and_counts():
    layers = []
    for _ in range(2):
        wg.manual_seed(3)
        layers.append(prune.random_structured(nn.Linear(4, 6), "weight", 0.5, 0))
    assert wg.equal(layers[0].weight_mask, layers[1].weight_mask)
    assert layers[0].weight_mask.sum(1).tolist().count(0) == 3
    assert prune.is_pruned(nn.Sequential(layers[0]))
    layers[0](wg.ones(1, 4)).sum().backward()
    assert wg.equal(layers[0].weight_orig.grad, layers[0].weight_mask)
    with pytest.raises(ValueError, match="has to be pruned before"):
        prune.remove(nn.Linear(2, 2), "weight")


# ---- quantization --------------------------------------------------------------------------


def test_a_quantized_layer_is_exact_on_numbers_that_it_represents():
    layer = nn.Linear(3, 2, bias=True)
    layer.weight.data = wg.tensor([[127.0, -64.0, 3.0], [1.27, 0.5, -0.1]])
    x = wg.tensor([[0.0, 255.0, 17.0], [1.0, 2.0, 3.0]])
    small = quantization.quantize(layer, [x])
    assert small.weight.dtype == wg.int8
    assert wg.allclose(small(x), layer(x), atol=1e-3)


@pytest.mark.parametrize(
    "layer",
    [nn.Conv1d(2, 4, 3, padding=1), nn.Conv2d(2, 4, 3, stride=2, groups=2), nn.Conv3d(2, 3, 2)],
    ids=str,
)
def test_quantized_convolutions_are_close_and_a_quarter_as_large(layer):
    x = wg.randn(8, 2, *(6,) * layer._n)
    small = quantization.quantize(nn.Sequential(layer, nn.ReLU()), [x])
    report = quantization.compare(nn.Sequential(layer, nn.ReLU()), small, [x], lambda m: 1.0)
    assert report.layers["0"] > 30
    assert report.output > 30
    assert report.bytes[1] < report.bytes[0]
    assert report.metric == (1.0, 1.0)
    assert "dB" in str(report)


def test_a_quantized_model_is_saved_and_restored_by_its_state():
    x = wg.randn(10, 3)
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    first, second = (quantization.quantize(net, [k * x]) for k in (1, 2))
    assert not wg.equal(first(x), second(x))
    second.load_state_dict(first.state_dict())
    assert wg.equal(first(x), second(x))
    assert type(net[0]) is nn.Linear


def test_quantizing_nothing_or_without_data_is_refused():
    with pytest.raises(ValueError, match="no Linear or Conv layers"):
        quantization.quantize(nn.ReLU(), [])
    with pytest.raises(ValueError, match="no calibration input reached 0"):
        quantization.quantize(nn.Sequential(nn.Linear(2, 2)), [])


# ---- data parallelism ----------------------------------------------------------------------


def test_data_parallel_gradients_are_those_of_the_whole_batch():
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    x = wg.randn(7, 3)
    (net(x) ** 2).sum().backward()
    expected = [p.grad.clone() for p in net.parameters()]
    net.zero_grad()
    parallel = nn.DataParallel(net, device_ids=[0, 1, 2])
    assert wg.allclose(parallel(x), net(x))
    (parallel(x) ** 2).sum().backward()
    for p, g in zip(net.parameters(), expected, strict=True):
        assert wg.allclose(p.grad, g, atol=1e-5)


def test_data_parallel_divides_and_joins_structures_and_keeps_the_grad_mode():
    class Structured(nn.Module):
        def forward(self, x, options, scale=1):
            return {"sum": x + options["y"], "pair": (x * scale, x.sum())}

    x = wg.arange(5.0)
    net = nn.DataParallel(Structured(), device_ids=[0, 1])
    out = net(x, {"y": x}, scale=3)
    assert out["sum"].tolist() == (2 * x).tolist()
    assert out["pair"][0].tolist() == (3 * x).tolist()
    assert out["pair"][1].tolist() == [3, 7]
    with wg.no_grad():
        assert not nn.DataParallel(nn.Linear(1, 1), [0, 1])(wg.ones(4, 1)).requires_grad
    with pytest.raises(RuntimeError, match="same number of parts"):
        net(x, {"y": wg.ones(1)})


def test_the_first_replica_keeps_the_running_statistics():
    norm = nn.BatchNorm1d(2)
    nn.DataParallel(norm, device_ids=[0, 1])(wg.randn(8, 2))
    assert norm.num_batches_tracked.item() == 1


# ---- where an error comes from -------------------------------------------------------------


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 4, 3)

    def forward(self, x):
        return self.conv1(x)


def test_an_error_names_the_path_of_the_module_that_raised_it():
    net = nn.Sequential(nn.ReLU(), nn.Sequential(Block(), nn.ReLU()))
    for _ in range(2):  # with and without hooks on the way
        with pytest.raises(RuntimeError, match="expected input") as caught:
            net(wg.zeros(1, 2, 8, 8))
        (note,) = caught.value.__notes__
        assert note == "(in 1.0.conv1: Conv2d(3, 4, kernel_size=(3, 3), stride=(1, 1)))"
        net.register_forward_hook(lambda *args: None)


def test_an_error_of_a_lone_module_has_no_path():
    with pytest.raises(RuntimeError, match="cannot be multiplied") as caught:
        nn.Linear(2, 2)(wg.zeros(1, 3))
    assert not hasattr(caught.value, "__notes__")


def test_skipped_initialization_leaves_the_generator_where_it_was():
    wg.manual_seed(0)
    expected = wg.rand(3)
    wg.manual_seed(0)
    layer = nn.utils.skip_init(nn.Linear, 2, 3)
    assert layer.weight.shape == (3, 2)
    np.testing.assert_array_equal(wg.rand(3).numpy(), expected.numpy())


def test_a_module_can_be_emptied_and_cast_to_bfloat16():
    layer = nn.Linear(2, 3).to_empty(device="cpu")
    assert layer.weight.tolist() == [[0, 0]] * 3
    assert layer.weight.requires_grad
    assert str(layer.bfloat16().weight.dtype).endswith("bfloat16")


def test_a_wrong_state_lists_all_its_problems_at_once():
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    wrong = {"0.weight": wg.zeros(3, 4), "1.bias": wg.zeros(2), "x": wg.zeros(1)}
    with pytest.raises(RuntimeError, match="Missing key") as caught:
        net.load_state_dict(wrong)
    for part in (
        '"0.bias", "1.weight"',
        'Unexpected key(s) in state_dict: "x"',
        "0.weight",
        "1.bias",
    ):
        assert part in str(caught.value)
