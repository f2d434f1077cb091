"""Optimizers: what holds whatever the formula; the flat buffers must never be seen."""

import copy
import pickle
import warnings

import numpy as np
import pytest

import wengert as wg
from wengert import nn, optim


def trained(net, optimizer, steps=3):
    for _ in range(steps):
        optimizer.zero_grad()
        net(wg.ones(4, 2)).square().mean().backward()
        optimizer.step()


def network():
    wg.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))


@pytest.mark.parametrize("make", [optim.SGD, optim.Adam], ids=["SGD", "Adam"])
def test_aliases_taken_before_the_first_step_see_the_updates(make):
    net = network()
    state = net.state_dict()
    array = net[2].bias.detach().numpy()
    pointer = net[0].weight.data_ptr()
    trained(net, make(net.parameters(), lr=0.1))
    assert net[0].weight.data_ptr() == pointer
    for name, value in net.state_dict().items():
        assert np.array_equal(value.numpy(), state[name].numpy())
    assert np.array_equal(array, net[2].bias.detach().numpy())


@pytest.mark.parametrize("make", [optim.SGD, optim.Adam], ids=["SGD", "Adam"])
def test_aliases_taken_after_the_first_step_see_the_updates(make):
    net = network()
    optimizer = make(net.parameters(), lr=0.1)
    trained(net, optimizer, 1)
    state, before = net.state_dict(), copy.deepcopy(net.state_dict())
    trained(net, optimizer, 2)
    for name, value in net.state_dict().items():
        assert np.array_equal(value.numpy(), state[name].numpy())
        assert not np.array_equal(value.numpy(), before[name].numpy())


@pytest.mark.parametrize("make", [optim.SGD, optim.Adam], ids=["SGD", "Adam"])
def test_assigned_data_is_what_is_updated_from_then_on(make):
    results = []
    for aliased in (False, True):  # with an alias the parameters are never taken into a flat buffer
        net = network()
        alias = net.state_dict() if aliased else None
        optimizer = make(net.parameters(), lr=0.1)
        trained(net, optimizer, 2)
        replaced = wg.ones(3, 2)
        net[0].weight.data = replaced
        trained(net, optimizer, 2)
        assert net[0].weight.data_ptr() == replaced.data_ptr()
        results.append([p.detach().numpy() for p in net.parameters()])
        del alias
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_replaced_state_is_used():
    p = [wg.ones(2, requires_grad=True), wg.ones(3, requires_grad=True)]
    optimizer = optim.SGD(p, lr=1.0, momentum=0.5)

    def step():
        for x in p:
            x.grad = wg.ones_like(x)
        optimizer.step()

    step()
    optimizer.state[p[0]]["momentum_buffer"] = wg.full((2,), 10.0)
    step()
    assert p[0].tolist() == [1 - 1 - 6, 1 - 1 - 6]
    assert p[1].tolist() == [1 - 1 - 1.5] * 3
    optimizer.state.clear()
    step()
    assert p[0].tolist() == [-7.0, -7.0]


def test_states_are_in_the_order_of_the_parameters():
    # Those updated together came first: an alias of one parameter's memory changed the order.
    for tied in (False, True):
        params = [wg.ones(k + 1).requires_grad_() for k in range(4)]
        alias = params[1].data.numpy() if tied else None
        optimizer = optim.Adam(params, lr=0.1)
        sum(p.sum() for p in params).backward()
        optimizer.step()
        assert [p.shape for p in optimizer.state] == [p.shape for p in params], alias


def test_two_optimizers_may_take_turns_on_the_same_parameters():
    net, other = network(), network()
    keep = other.state_dict()
    for model in (net, other):
        first, second = (
            optim.SGD(model.parameters(), lr=0.1),
            optim.Adam(model.parameters(), lr=0.1),
        )
        for _ in range(5):
            trained(model, first, 1)
            trained(model, second, 1)
    for a, b in zip(net.parameters(), other.parameters(), strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-5)
    del keep


def test_every_update_is_counted_and_stale_values_are_refused():
    net = network()
    optimizer = optim.SGD(net.parameters(), lr=0.1)
    x = wg.ones(1, 2, requires_grad=True)
    for _ in range(2):
        loss = net(x).sum()
        net(x).sum().backward()
        before = net[2].weight._version
        optimizer.step()
        assert net[2].weight._version == before + 1
        with pytest.raises(RuntimeError, match=r"overwritten by optimizer.step\(\)"):
            loss.backward()
        optimizer.zero_grad()


def test_parameters_without_gradient_stay_as_they_are():
    a, b = wg.ones(2, requires_grad=True), wg.ones(2, requires_grad=True)
    optimizer = optim.Adam([a, b], lr=0.1)
    a.grad = wg.ones(2)
    optimizer.step()
    assert b.tolist() == [1.0, 1.0]
    assert len(optimizer.state) == 1
    assert optimizer.state_dict()["state"].keys() == {0}


def test_gradients_are_not_changed_by_a_step():
    for shape in ((3,), (500, 500)):
        p = [wg.ones(*shape, requires_grad=True), wg.ones(3, requires_grad=True)]
        optimizer = optim.SGD(
            p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1, maximize=True
        )
        for x in p:
            x.grad = wg.ones_like(x)
        optimizer.step()
        assert all((x.grad == 1).all() for x in p)


def test_transposed_parameters_are_updated():
    p = wg.ones(300, 200).t().requires_grad_()
    p.grad = wg.ones(200, 300)
    optim.Adam([p], lr=0.5).step()
    assert p.detach().numpy() == pytest.approx(0.5)


def test_closures_run_with_gradients_enabled_and_their_loss_is_returned():
    p = wg.ones(1, requires_grad=True)
    optimizer = optim.SGD([p], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with wg.no_grad():
        assert optimizer.step(closure).item() == 1.0
    assert p.item() == pytest.approx(0.8)


def test_hooks_run_around_each_step():
    p = wg.ones(1, requires_grad=True)
    optimizer, calls = optim.SGD([p], lr=0.1), []
    optimizer.register_step_pre_hook(lambda o, args, kwargs: calls.append("before"))
    handle = optimizer.register_step_post_hook(lambda o, args, kwargs: calls.append("after"))
    optimizer.step()
    handle.remove()
    optimizer.step()
    assert calls == ["before", "after", "before"]


def test_wrong_settings_and_parameters_are_refused():
    p = wg.ones(1, requires_grad=True)
    with pytest.raises(ValueError, match="Invalid learning rate: -1"):
        optim.SGD([p], lr=-1)
    with pytest.raises(ValueError, match="Nesterov momentum requires"):
        optim.SGD([p], lr=1, nesterov=True)
    with pytest.raises(ValueError, match="empty parameter list"):
        optim.Adam([])
    with pytest.raises(TypeError, match="iterable of Tensors"):
        optim.Adam(p)
    with pytest.raises(ValueError, match="non-leaf"):
        optim.Adam([p * 2])
    with pytest.raises(TypeError, match="can only optimize Tensors"):
        optim.Adam([3])
    with pytest.raises(ValueError, match="more than one parameter group"):
        optim.Adam([{"params": [p]}, {"params": [p]}])
    with pytest.raises(NotImplementedError, match="differentiable=True"):
        optim.SGD([p], differentiable=True)
    with pytest.raises(ValueError, match="different number of parameter groups"):
        optim.SGD([p]).load_state_dict({"state": {}, "param_groups": []})


def test_groups_may_be_added_between_steps():
    a, b = wg.ones(1, requires_grad=True), wg.ones(1, requires_grad=True)
    optimizer = optim.SGD([a], lr=1.0)
    a.grad = wg.ones(1)
    optimizer.step()
    optimizer.add_param_group({"params": b, "lr": 0.5})
    b.grad = wg.ones(1)
    optimizer.step()
    assert (a.item(), b.item()) == (-1.0, 0.5)


def test_optimizers_can_be_pickled():
    net = network()
    optimizer = optim.Adam(net.parameters(), lr=0.1)
    trained(net, optimizer, 1)
    again = pickle.loads(pickle.dumps(optimizer))
    assert again.state_dict()["param_groups"] == optimizer.state_dict()["param_groups"]
    again.zero_grad()
    again.step()


def test_a_learning_rate_may_be_a_tensor_and_may_change():
    p = wg.ones(1, requires_grad=True)
    optimizer = optim.SGD([p], lr=wg.tensor(0.5))
    p.grad = wg.ones(1)
    optimizer.step()
    optimizer.param_groups[0]["lr"] = 0.25
    optimizer.step()
    assert p.item() == 0.25


def test_a_schedule_before_the_first_step_warns():
    p = wg.ones(1, requires_grad=True)
    schedule = optim.lr_scheduler.StepLR(optim.SGD([p], lr=1.0), 1)
    with pytest.warns(UserWarning, match="before `optimizer.step"):
        schedule.step()


def test_schedules_are_saved_and_restored():
    p = wg.ones(1, requires_grad=True)
    optimizer = optim.SGD([p], lr=1.0)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    for _ in range(4):
        optimizer.step()
        schedule.step()
    again = optim.lr_scheduler.CosineAnnealingLR(optim.SGD([p], lr=1.0), 10)
    again.load_state_dict(schedule.state_dict())
    again.optimizer.param_groups[0]["lr"] = optimizer.param_groups[0]["lr"]
    for s in (schedule, again):
        s.optimizer.step()
        s.step()
    assert again.get_last_lr() == schedule.get_last_lr()


def test_learning_a_line():
    wg.manual_seed(1)
    x = wg.randn(100, 1)
    y = 3 * x - 1
    for make, lr in (
        (optim.SGD, 0.1),
        (optim.Adam, 0.1),
        (optim.AdamW, 0.1),
        (optim.RMSprop, 0.02),
        (optim.Adamax, 0.2),
    ):
        net = nn.Linear(1, 1)
        optimizer = make(net.parameters(), lr=lr)
        for _ in range(200):
            optimizer.zero_grad()
            nn.functional.mse_loss(net(x), y).backward()
            optimizer.step()
        assert net.weight.item() == pytest.approx(3, abs=0.15)
        assert net.bias.item() == pytest.approx(-1, abs=0.15)


def test_hooks_run_around_the_step_of_a_class_of_ones_own():
    calls = []

    class Own(optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"lr": 0.5})

        def step(self, closure=None):
            calls.append("step")
            for group in self.param_groups:
                for p in group["params"]:
                    p.data.add_(p.grad, alpha=-group["lr"])

    p = wg.ones(1, requires_grad=True)
    p.grad = wg.ones(1)
    optimizer = Own([p])
    optimizer.register_step_pre_hook(lambda *args: calls.append("before"))
    optimizer.register_step_post_hook(lambda *args: calls.append("after"))
    optim.lr_scheduler.StepLR(optimizer, 1)
    optimizer.step()
    assert calls == ["before", "step", "after"]
    assert p.item() == 0.5


def test_hooks_see_and_change_state_dicts():
    p = wg.ones(1, requires_grad=True)
    optimizer, calls = optim.SGD([p], lr=0.1), []
    optimizer.register_state_dict_pre_hook(lambda o: calls.append("before saving"))
    optimizer.register_state_dict_post_hook(lambda o, state: {**state, "note": 1})
    optimizer.register_load_state_dict_pre_hook(lambda o, state: calls.append(state["note"]))
    handle = optimizer.register_load_state_dict_post_hook(lambda o: calls.append("second"))
    optimizer.register_load_state_dict_post_hook(lambda o: calls.append("first"), prepend=True)
    state = optimizer.state_dict()
    optimizer.load_state_dict(state)
    handle.remove()
    optimizer.load_state_dict(state)
    assert calls == ["before saving", 1, "first", "second", 1, "first"]


def test_lbfgs_says_what_it_needs():
    p = wg.ones(2, requires_grad=True)
    with pytest.raises(TypeError, match="needs a closure"):
        optim.LBFGS([p]).step()
    with pytest.raises(RuntimeError, match="only 'strong_wolfe'"):
        optim.LBFGS([p], line_search_fn="armijo")
    with pytest.raises(ValueError, match="doesn't support per-parameter options"):
        optim.LBFGS([{"params": [p]}, {"params": [wg.ones(1, requires_grad=True)]}])


def test_muon_is_for_matrices():
    with pytest.raises(ValueError, match=r"Muon only supports 2D .*Size\(\[3\]\)"):
        optim.Muon([wg.ones(3, requires_grad=True)])
    with pytest.raises(ValueError, match="is not supported; choose"):
        optim.Muon([wg.ones(2, 2, requires_grad=True)], adjust_lr_fn="twice")


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 4)])
def test_muon_steps_are_nearly_orthogonal(shape):
    p = wg.zeros(*shape, dtype=wg.float64, requires_grad=True)
    p.grad = wg.tensor(np.random.default_rng(0).standard_normal(shape))
    optim.Muon([p], lr=1.0, ns_steps=8).step()
    step = -p.detach().numpy() / max(1, shape[0] / shape[1]) ** 0.5
    u, _, v = np.linalg.svd(p.grad.numpy(), full_matrices=False)
    sizes = np.diag(u.T @ step @ v.T)
    assert ((sizes > 0.6) & (sizes < 1.3)).all()
    np.testing.assert_allclose(u.T @ step @ v.T, np.diag(sizes), atol=1e-10)


OF_COMPLEX = "SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam"


@pytest.mark.parametrize("dtype", [wg.complex64, wg.complex128], ids=str)
@pytest.mark.parametrize("name", [*OF_COMPLEX, "ASGD", "Rprop"])
def test_complex_parameters_are_updated_in_compiled_steps(name, dtype):
    # They were updated eagerly, with a warning, until views of their parts could be written.
    def trained(compile):
        p = wg.tensor([[1 + 2j, 0.5j], [2 - 1j, 1]], dtype=dtype, requires_grad=True)
        q = wg.tensor(1 + 0.5j, dtype=dtype, requires_grad=True)
        optimizer = vars(optim)[name]([p, q], lr=0.05)

        def step(x):
            optimizer.zero_grad()
            loss = (p * p.conj() * x).real.sum() + (q * q.conj()).real
            loss.backward()
            optimizer.step()
            return loss.detach()

        step = compile(step)
        losses = [step(wg.tensor([1.0, 2.0 + k])).item() for k in range(4)]
        states = [dict(sorted(state.items())) for state in optimizer.state.values()]
        return [losses, p.detach(), q.detach(), *[x for state in states for x in state.values()]]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = trained(wg.compile)
    for a, b in zip(found, trained(lambda f: f), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-4)


def test_an_optimizer_may_have_an_init_of_its_own():
    # Without the base's, a step asked for hooks that were not there.
    class Plain(wg.optim.Optimizer):
        def __init__(self, params):
            self.param_groups = [{"params": list(params), "lr": 0.5}]

        def step(self):
            for p in self.param_groups[0]["params"]:
                p.data.add_(p.grad, alpha=-self.param_groups[0]["lr"])

    p = wg.nn.Parameter(wg.ones(2))
    optimizer = Plain([p])
    schedule = wg.optim.lr_scheduler.StepLR(optimizer, 1)
    p.sum().backward()
    optimizer.step()
    schedule.step()
    optimizer.zero_grad()
    assert p.tolist() == [0.5, 0.5]
    assert p.grad is None
    assert optimizer.param_groups[0]["lr"] == 0.05


def test_a_list_of_parameters_is_an_iterable_of_tensors():
    # It was refused as a module is: a program that learns to learn keeps its parameters in one.
    listed = nn.ParameterList([wg.ones(2), wg.ones(3)])
    (group,) = optim.Adam(listed).param_groups
    assert [p is q for p, q in zip(group["params"], listed, strict=True)] == [True, True]
    for module in (nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2))):
        with pytest.raises(TypeError, match=r"net\.parameters\(\)"):
            optim.Adam(module)


@pytest.mark.parametrize("make", [optim.SGD, optim.Adam, optim.ASGD])
def test_gradients_of_any_strides_are_taken_where_they_are_joined_as_bytes(make):
    numbers = np.arange(12.0).reshape(3, 4)
    for given in (numbers.T, numbers[:, ::2], numbers[::-1]):
        stepped = []
        for gradient in (given, given.copy()):
            w, b = nn.Parameter(wg.ones(*given.shape).double()), nn.Parameter(wg.ones(2).double())
            o = make([w, b], lr=0.1)
            for _ in range(3):
                w.grad, b.grad = wg.as_tensor(gradient), wg.ones(2).double()
                o.step()
            stepped.append(w.detach().numpy())
        assert np.array_equal(*stepped)
