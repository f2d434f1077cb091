"""Modules: attributes, trees, states, hooks, copies."""

import copy
import inspect
import pickle
from collections import OrderedDict

import numpy as np
import pytest

import wengert as wg
from wengert import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.second = nn.Linear(3, 1, bias=False)
        self.scale = nn.Parameter(wg.ones(1))
        self.register_buffer("shift", wg.zeros(1))
        self.register_buffer("hidden", wg.zeros(1), persistent=False)

    def forward(self, x):
        return self.second(self.first(x).relu()) * self.scale + self.shift


def test_parameters_and_buffers_are_found_by_name():
    net = Net()
    assert [n for n, _ in net.named_parameters()] == [
        "scale",
        "first.weight",
        "first.bias",
        "second.weight",
    ]
    assert [n for n, _ in net.named_buffers()] == ["shift", "hidden"]
    assert list(net.state_dict()) == [
        "scale",
        "shift",
        "first.weight",
        "first.bias",
        "second.weight",
    ]
    assert net.get_parameter("first.weight") is net.first.weight
    assert net.get_submodule("first") is net.first
    assert net.get_buffer("shift") is net.shift
    with pytest.raises(AttributeError, match="no attribute `third`"):
        net.get_submodule("third")


def test_a_parameter_used_twice_is_listed_once():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[1].weight = net[0].weight
    assert len(list(net.parameters())) == 3
    assert len(list(net.named_parameters(remove_duplicate=False))) == 4


def test_attributes_of_the_wrong_kind_are_refused():
    net = Net()
    with pytest.raises(TypeError, match="as parameter 'scale'"):
        net.scale = wg.ones(1)
    with pytest.raises(TypeError, match="as child module 'first'"):
        net.first = 3
    with pytest.raises(KeyError, match="already exists"):
        net.register_buffer("forward", wg.zeros(1))
    with pytest.raises(KeyError, match="t contain"):
        net.add_module("a.b", nn.ReLU())
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        net.nothing
    net.scale = None
    assert "scale" not in net.state_dict()
    del net.second
    assert not hasattr(net, "second")


def test_assigning_before_init_says_so():
    class Early(nn.Module):
        def __init__(self):
            self.weight = nn.Parameter(wg.ones(1))

    with pytest.raises(AttributeError, match=r"before Module.__init__\(\) call"):
        Early()


def test_state_dictionaries_share_memory_and_loading_copies():
    net, other = Net(), Net()
    state = net.state_dict()
    assert str(other.load_state_dict(state)) == "<All keys matched successfully>"
    assert np.array_equal(other.first.weight.detach().numpy(), net.first.weight.detach().numpy())
    with wg.no_grad():
        net.first.weight.zero_()
    assert not state["first.weight"].numpy().any()
    assert other.first.weight.detach().numpy().any()


def test_loading_reports_missing_unexpected_and_misshapen_entries():
    net = Net()
    state = net.state_dict()
    del state["scale"]
    state["extra"] = wg.ones(1)
    state["first.bias"] = wg.ones(7)
    with pytest.raises(RuntimeError) as error:
        net.load_state_dict(state)
    text = str(error.value)
    assert 'Missing key(s) in state_dict: "scale"' in text
    assert 'Unexpected key(s) in state_dict: "extra"' in text
    assert "size mismatch for first.bias" in text
    state["first.bias"] = wg.ones(3)
    found = net.load_state_dict(state, strict=False)
    assert found.missing_keys == ["scale"]
    assert found.unexpected_keys == ["extra"]


def test_loading_with_assign_takes_the_tensors_themselves():
    net = Net()
    state = {name: value.clone() for name, value in net.state_dict().items()}
    net.load_state_dict(state, assign=True)
    assert net.first.weight.data_ptr() == state["first.weight"].data_ptr()
    assert isinstance(net.first.weight, nn.Parameter)
    assert net.first.weight.requires_grad


def test_extra_state_is_saved_and_loaded():
    class Counting(nn.Module):
        count = 0

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]

    net = Counting()
    net.count = 5
    other = Counting()
    other.load_state_dict(net.state_dict())
    assert other.count == 5


def test_casting_keeps_the_parameters_identity():
    net = Net()
    weight = net.first.weight
    net.double()
    assert net.first.weight is weight
    assert weight.dtype == wg.float64
    assert net.shift.dtype == wg.float64
    net.to(wg.float32).to("cpu")
    assert weight.dtype == wg.float32
    with pytest.raises(TypeError, match="only accepts floating point"):
        net.to(wg.int64)


def test_training_mode_reaches_all_modules():
    net = nn.Sequential(nn.Dropout(), nn.Sequential(nn.Dropout()))
    net.eval()
    assert not any(m.training for m in net.modules())
    x = wg.ones(10)
    assert net(x) is x
    net.train()
    assert net[1][0].training


def test_zero_grad_forgets_or_zeroes():
    net = Net()
    net(wg.ones(1, 2)).sum().backward()
    gradient = net.first.weight.grad
    net.zero_grad(set_to_none=False)
    # A module put another tensor in its place, where an optimizer, and PyTorch, leave it.
    assert net.first.weight.grad is gradient
    assert not gradient.numpy().any()
    net.zero_grad()
    assert net.first.weight.grad is None


def test_apply_visits_children_first():
    names = []
    nn.Sequential(nn.Linear(1, 1), nn.Sequential(nn.ReLU())).apply(
        lambda m: names.append(type(m).__name__)
    )
    assert names == ["Linear", "ReLU", "Sequential", "Sequential"]


def test_copies_and_pickles_are_independent_and_equal():
    net = Net()
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert repr(twin) == repr(net)
        assert twin.first.weight is not net.first.weight
        assert isinstance(twin.first.weight, nn.Parameter)
        x = wg.randn(4, 2)
        assert wg.equal(twin(x), net(x))
        with wg.no_grad():
            twin.first.weight.add_(1)
        assert not wg.equal(twin.first.weight, net.first.weight)


def test_deepcopy_keeps_shared_parameters_shared():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[1].weight = net[0].weight
    twin = copy.deepcopy(net)
    assert twin[1].weight is twin[0].weight


# ---- hooks ---------------------------------------------------------------------------------


def test_forward_hooks_run_in_order_and_may_replace_values():
    layer, calls = nn.Identity(), []
    layer.register_forward_pre_hook(lambda m, args: calls.append("second") or (args[0] + 1,))
    layer.register_forward_pre_hook(lambda m, args: calls.append("first"), prepend=True)
    handle = layer.register_forward_hook(lambda m, args, out: out * 10)
    assert layer(wg.tensor([1.0])).tolist() == [20.0]
    assert calls == ["first", "second"]
    handle.remove()
    assert layer(wg.tensor([1.0])).tolist() == [2.0]


def test_hooks_may_see_keyword_arguments():
    class Add(nn.Module):
        def forward(self, x, *, y):
            return x + y

    layer = Add()
    layer.register_forward_pre_hook(
        lambda m, args, kwargs: (args, {"y": kwargs["y"] * 2}), with_kwargs=True
    )
    layer.register_forward_hook(lambda m, args, kwargs, out: out + kwargs["y"], with_kwargs=True)
    assert layer(wg.tensor([1.0]), y=wg.tensor([2.0])).tolist() == [9.0]


def test_hooks_that_are_always_called_run_when_forward_fails():
    class Fails(nn.Module):
        def forward(self, x):
            raise ValueError("no")

    layer, seen = Fails(), []
    layer.register_forward_hook(lambda m, args, out: seen.append(out), always_call=True)
    with pytest.raises(ValueError, match="no"):
        layer(1)
    assert seen == [None]


def test_global_forward_hooks_see_every_module():
    seen = []
    handle = nn.module.register_module_forward_hook(
        lambda m, args, out: seen.append(type(m).__name__)
    )
    nn.Sequential(nn.ReLU(), nn.Tanh())(wg.ones(1))
    handle.remove()
    nn.ReLU()(wg.ones(1))
    assert seen == ["ReLU", "Tanh", "Sequential"]


def test_backward_hooks_say_when_no_input_requires_grad():
    layer = nn.Linear(1, 1)
    seen = []
    layer.register_full_backward_hook(lambda m, gi, go: seen.append((gi, go[0].tolist())))
    with pytest.warns(UserWarning, match="no inputs require gradients"):
        layer(wg.ones(1, 1)).backward()
    assert seen == [((None,), [[1.0]])]


def test_modules_with_hooks_can_be_copied():
    layer = nn.ReLU()
    layer.register_forward_hook(_double)
    assert copy.deepcopy(layer)(wg.ones(1)).tolist() == [2.0]
    assert pickle.loads(pickle.dumps(layer))(wg.ones(1)).tolist() == [2.0]


def _double(module, args, out):
    return out * 2


# ---- containers ----------------------------------------------------------------------------


def test_sequential_behaves_like_a_list():
    net = nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh()))
    assert type(net.a) is nn.ReLU
    assert type(net[-1]) is nn.Tanh
    assert len(net[:1]) == 1
    net.append(nn.Sigmoid())
    net.insert(0, nn.Identity())
    assert [type(m).__name__ for m in net] == ["Identity", "ReLU", "Tanh", "Sigmoid"]
    del net[1]
    assert list(dict(net.named_children())) == ["0", "1", "2"]
    assert len(net + net) == 6
    with pytest.raises(IndexError, match="index 5 is out of range"):
        net[5]


def test_module_lists_and_dictionaries_register_their_items():
    items = nn.ModuleList([nn.Linear(1, 1)])
    items += [nn.Linear(1, 1)]
    items.insert(0, nn.ReLU())
    assert len(list(items.parameters())) == 4
    assert len(items[1:]) == 2
    named = nn.ModuleDict({"x": nn.Linear(1, 1)})
    named.update({"y": nn.ReLU()})
    assert list(named) == ["x", "y"]
    assert "x" in named
    assert type(named.pop("y")) is nn.ReLU


def test_parameter_lists_and_dictionaries_make_parameters():
    items = nn.ParameterList([wg.ones(2)])
    items.append(wg.zeros(3))
    assert [n for n, _ in items.named_parameters()] == ["0", "1"]
    assert isinstance(items[1], nn.Parameter)
    named = nn.ParameterDict({"b": wg.ones(1), "a": wg.zeros(1)})
    assert list(named.keys()) == ["a", "b"]
    del named["a"]
    assert len(list(named.parameters())) == 1


def test_parameters_share_memory_with_their_data():
    data = wg.zeros(2)
    parameter = nn.Parameter(data)
    data += 1
    assert parameter.tolist() == [1.0, 1.0]
    assert parameter.is_leaf
    assert not nn.Parameter(data, requires_grad=False).requires_grad


def test_buffers_are_registered_by_assignment():
    net = nn.Module()
    net.kept = nn.Buffer(wg.ones(1))
    net.dropped = nn.Buffer(wg.ones(1), persistent=False)
    assert list(net.state_dict()) == ["kept"]
    net.kept = wg.zeros(1)
    assert net.state_dict()["kept"].tolist() == [0.0]


# ---- gradients clipped, vectors ------------------------------------------------------------


def test_gradients_are_clipped_by_norm_and_by_value():
    a, b = wg.zeros(2, requires_grad=True), wg.zeros(1, requires_grad=True)
    a.grad, b.grad = wg.tensor([3.0, 0.0]), wg.tensor([4.0])
    assert nn.utils.clip_grad_norm_([a, b], 1.0).item() == 5.0
    assert a.grad.tolist() == pytest.approx([0.6, 0.0])
    nn.utils.clip_grad_value_([a, b], 0.5)
    assert a.grad.tolist() == [0.5, 0.0]
    a.grad = wg.tensor([float("nan"), 0.0])
    with pytest.raises(RuntimeError, match="non-finite"):
        nn.utils.clip_grad_norm_([a], 1.0, error_if_nonfinite=True)


def test_parameters_go_to_a_vector_and_back():
    net = nn.Linear(2, 3)
    vector = nn.utils.parameters_to_vector(net.parameters())
    assert vector.shape == (9,)
    nn.utils.vector_to_parameters(wg.arange(9.0), net.parameters())
    assert net.weight.tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    assert net.bias.tolist() == [6.0, 7.0, 8.0]


def test_sequential_calls_a_module_that_overrides_call():
    # Modules without hooks are entered at `forward`; one with a `__call__` of its own must not be.
    class Doubled(nn.Identity):
        def __call__(self, *args, **kwargs):
            return 2 * super().__call__(*args, **kwargs)

    assert nn.Sequential(nn.Identity(), Doubled())(wg.ones(2)).tolist() == [2.0, 2.0]


def test_sequential_goes_through_a_replaced_module_call(monkeypatch):
    # Tools that watch every call replace `Module.__call__`; children must not slip past them.
    seen, plain = [], nn.Module.__call__

    def watched(self, *args, **kwargs):
        seen.append(type(self).__name__)
        return plain(self, *args, **kwargs)

    monkeypatch.setattr(nn.Module, "__call__", watched)
    nn.Sequential(nn.ReLU(), nn.Tanh())(wg.ones(2))
    assert seen == ["Sequential", "ReLU", "Tanh"]


WARNING = {
    "layer": lambda: nn.Softmax()(wg.ones(2, 3)),
    "function": lambda: nn.functional.softmax(wg.ones(2, 3)),
    "constructor": lambda: nn.Hardtanh(min_value=-2.0),
    "method": lambda: wg.distributions.Normal(0.0, 1.0).sample_n(2),
}


@pytest.mark.parametrize("name", WARNING)
def test_warnings_name_the_line_of_the_user(name):
    # Levels were counted by hand, and a decorator around a function made them wrong.
    with pytest.warns((UserWarning, FutureWarning), match="deprecated") as seen:
        WARNING[name]()
    assert {warning.filename for warning in seen} == {__file__}


def test_settings_of_a_layer_are_those_that_its_class_declares():
    pool = nn.MaxPool2d(3, padding=1)
    assert (pool.kernel_size, pool.stride, pool.padding) == (3, 3, 1)
    with pytest.raises(TypeError, match=r"MaxPool2d.__init__\(\) missing .*'kernel_size'"):
        nn.MaxPool2d()
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'size'"):
        nn.MaxPool2d(2, size=3)

    class Padded(nn.MaxPool2d):
        extra: int = 3  # an annotation of the user's own is no setting

        def __init__(self, size):
            super().__init__(size, padding=1)

    assert repr(Padded(3)).startswith("Padded(kernel_size=3, stride=3, padding=1")
    assert [*inspect.signature(Padded).parameters] == ["size"]
    assert [*inspect.signature(nn.AdaptiveMaxPool1d).parameters] == [
        "output_size",
        "return_indices",
    ]
    assert copy.deepcopy(pool).stride == 3


@pytest.mark.parametrize("wrong", [{"slope": 1.0}, {"inplace": True}])
def test_what_a_layer_does_not_take_beside_its_input_is_refused(wrong):
    # Where the settings were passed by position, named arguments of the call were dropped.
    with pytest.raises(TypeError, match="keyword argument"):
        wg.nn.LeakyReLU()(wg.ones(2), **wrong)


def test_a_layer_whose_function_takes_its_settings_by_name_alone_passes_them_by_name():
    # They were passed by position since layers stopped passing names: every call was a TypeError.
    far = lambda a, b: (a - b).abs().sum(dim=-1)
    anchor, near, other = wg.tensor([[0.0]]), wg.tensor([[0.5]]), wg.tensor([[1.0]])
    assert nn.TripletMarginWithDistanceLoss()(anchor, near, other).item() == pytest.approx(0.5)
    loss = nn.TripletMarginWithDistanceLoss(distance_function=far, margin=2.0)
    assert loss(anchor, near, other).item() == 1.5


def test_a_bag_of_embeddings_refuses_a_table_of_another_shape_and_a_padding_row_beyond_it():
    # It had checks of its own, which were none: the first call failed, or gave another row.
    with pytest.raises(AssertionError, match="does not match num_embeddings"):
        nn.EmbeddingBag(3, 2, _weight=wg.ones(4, 2))
    with pytest.raises(AssertionError, match="within num_embeddings"):
        nn.EmbeddingBag(3, 2, padding_idx=3)


def test_a_lazy_module_may_get_its_first_input_in_a_compiled_function():
    # The trace took the shapes away again, and left a module that nobody could call.
    pytest.importorskip("llvmlite")
    x = wg.rand(2, 3, 5, 5)
    made = nn.LazyConv2d(4, 2), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2)
    net = nn.Sequential(*made)
    step = wg.compile(lambda x: net(x))
    shapes = [tuple(step(x).shape) for _ in range(3)]
    assert shapes == [(2, 2)] * 3
    assert type(net[0]) is nn.Conv2d
    np.testing.assert_allclose(
        step(x).detach().numpy(), net(x).detach().numpy(), rtol=1e-4, atol=1e-5
    )
