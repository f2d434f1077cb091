"""functional_call and stack_module_state."""

import numpy as np
import pytest

import wengert as wg
from wengert import nn
from wengert.func import functional_call, stack_module_state

X = wg.tensor([[1.0, 2.0]])


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2, bias=False)
        self.b = nn.Linear(2, 2, bias=False)
        self.b.weight = self.a.weight

    def forward(self, x, scale=1.0):
        return self.b(self.a(x)) * scale


def test_the_module_runs_with_other_parameters_and_keeps_its_own():
    m = nn.Linear(2, 2)
    weight, bias = m.weight, m.bias
    y = functional_call(m, {"weight": wg.eye(2), "bias": wg.ones(2)}, X)
    assert y.tolist() == [[2.0, 3.0]]
    assert m.weight is weight
    assert m.bias is bias
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        functional_call(m, {"weight": wg.eye(3)}, X)
    assert m.weight is weight


def test_gradients_by_parameters_are_those_of_backward():
    net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    net(X).sum().backward()
    parameters = {k: p.detach() for k, p in net.named_parameters()}
    g = wg.grad(lambda p: functional_call(net, p, X).sum())(parameters)
    for name, p in net.named_parameters():
        np.testing.assert_allclose(g[name].numpy(), p.grad.numpy(), rtol=1e-6)
    arrays = {k: p.numpy() for k, p in parameters.items()}
    g = wg.grad(lambda p: functional_call(net, p, X).sum())(arrays)
    assert all(type(a) is np.ndarray for a in g.values())
    assert wg.jacrev(lambda p: functional_call(net, p, X))(arrays)["0.weight"].shape == (1, 1, 3, 2)


def test_buffers_are_written_where_they_were_given():
    m = nn.BatchNorm1d(2)
    buffers = {k: b.clone() for k, b in m.named_buffers()}
    functional_call(m, (dict(m.named_parameters()), buffers), wg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert buffers["running_mean"].abs().sum() > 0
    assert m.running_mean.abs().sum() == 0


def test_tied_weights_are_exchanged_together():
    m = Tied()
    assert functional_call(m, {"a.weight": 2 * wg.eye(2)}, X).tolist() == [[4.0, 8.0]]
    assert functional_call(m, {"b.weight": 2 * wg.eye(2)}, X).tolist() == [[4.0, 8.0]]
    both = {"a.weight": 2 * wg.eye(2), "b.weight": wg.eye(2)}
    assert functional_call(m, both, X, {"scale": 3.0}).tolist() == [[6.0, 12.0]]
    lone = functional_call(m, {"a.weight": wg.eye(2)}, X, tie_weights=False)
    np.testing.assert_array_equal(lone.detach().numpy(), m.b(X).detach().numpy())
    assert m.a.weight is m.b.weight


def test_strict_wants_every_name_and_no_other():
    m = nn.Linear(2, 2)
    with pytest.raises(
        RuntimeError, match=r"(?s)Unexpected key\(s\): 'c'.*Missing key\(s\): 'bias'"
    ):
        functional_call(m, {"weight": wg.eye(2), "c": X}, X, strict=True)
    functional_call(m, {"weight": wg.eye(2), "c": X}, X)
    functional_call(Tied(), {"a.weight": wg.eye(2)}, X, strict=True)


@pytest.mark.parametrize(
    ("given", "error", "match"),
    [
        (3, ValueError, "to be a dict, or a list/tuple of dicts"),
        ([{}, 3], ValueError, "to be dictionaries"),
        (({"weight": X}, {"weight": X}), ValueError, "appeared in multiple dictionaries"),
        ({"weight": 3}, TypeError, "3 is not an instance of Tensor"),
    ],
    ids=["number", "element", "twice", "value"],
)
def test_what_is_not_a_dict_of_tensors_is_refused(given, error, match):
    with pytest.raises(error, match=match):
        functional_call(nn.Linear(2, 2), given, X)


def test_states_are_stacked():
    models = [nn.BatchNorm1d(3) for _ in range(4)]
    parameters, buffers = stack_module_state(models)
    assert parameters["weight"].shape == (4, 3)
    assert parameters["weight"].requires_grad
    assert parameters["weight"].is_leaf
    assert buffers["num_batches_tracked"].shape == (4,)
    assert not buffers["running_mean"].requires_grad


def test_states_that_do_not_match_are_refused():
    with pytest.raises(RuntimeError, match="at least one model, got 0"):
        stack_module_state([])
    with pytest.raises(RuntimeError, match="of the same class"):
        stack_module_state([nn.Linear(2, 2), nn.ReLU()])
    with pytest.raises(RuntimeError, match="same training/eval mode"):
        stack_module_state([nn.Linear(2, 2), nn.Linear(2, 2).eval()])
    with pytest.raises(RuntimeError, match=r"weight from each model to have the same \.requires_g"):
        stack_module_state([nn.Linear(2, 2), nn.Linear(2, 2).requires_grad_(False)])


def test_an_ensemble_with_batch_normalization_goes_through_vmap():
    def make():
        return nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1)).double()

    nets = [wg.func.replace_all_batch_norm_modules_(make()) for _ in range(3)]
    assert [name for name, _ in nets[0].named_buffers()] == []
    x = wg.tensor([[1.0, 2.0], [3.0, -1.0], [0.5, 0.25]], dtype=wg.float64)
    parameters, buffers = stack_module_state(nets)

    def run(p, b, x):
        return functional_call(nets[0], (p, b), (x,))

    together = wg.vmap(run, in_dims=(0, 0, None))(parameters, buffers, x)
    for mine, net in zip(together, nets, strict=True):
        np.testing.assert_allclose(mine.detach().numpy(), net(x).detach().numpy(), rtol=1e-12)
