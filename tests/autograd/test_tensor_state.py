"""Tensors around autograd: attributes, conversions, copies, legacy types, indices, graph nodes."""

from __future__ import annotations

import copy
import io
import math
import pickle

import numpy as np
import pytest

import wengert as wg


def leaf(lib, *values):
    return lib.tensor(list(values), dtype=lib.float64, requires_grad=True)


# ---- attributes ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["data", "requires_grad", "_grad_fn", "_backward_hooks"])
def test_state_cannot_be_deleted(lib, name):
    with pytest.raises(RuntimeError):
        delattr(lib.ones(2, requires_grad=True), name)


def test_deleting_grad_resets_it(lib):
    x = lib.ones(2, requires_grad=True)
    x.sum().backward()
    del x.grad
    assert x.grad is None


def test_data_wants_a_tensor(lib):
    for wrong in (None, 1.0, np.ones(2)):
        with pytest.raises(TypeError):
            lib.ones(2).data = wrong


def test_integer_data_cannot_be_given_to_a_tensor_that_requires_grad(lib):
    x = lib.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="floating point"):
        x.data = lib.ones(2, dtype=lib.int64)


def test_other_data_of_any_shape_keeps_the_object(lib):
    x = lib.ones(2, requires_grad=True)
    kept = x
    x.data = lib.zeros(5)
    assert x is kept
    assert x.shape == (5,)
    assert x.requires_grad
    assert x.is_leaf
    (x * 2).sum().backward()
    assert x.grad.shape == (5,)


def test_data_of_another_floating_dtype(lib):
    x = lib.ones(2)
    x.data = lib.ones(2, dtype=lib.float64)
    assert x.dtype == lib.float64


def test_data_is_detached_and_shares_memory(lib):
    x = lib.ones(2, requires_grad=True)
    d = x.data
    assert not d.requires_grad
    d[0] = 5
    assert x.tolist() == [5, 1]
    assert x._version == 0


def test_detach_shares_memory_and_has_no_history(lib):
    x = lib.ones(2, requires_grad=True) * 1
    d = x.detach()
    assert not d.requires_grad
    assert d.grad_fn is None
    d[0] = 5
    assert x.tolist() == [5, 1]


def test_variable_shares_memory_and_counter_and_does_not_change_its_argument(lib):
    x = lib.ones(2)
    v = lib.autograd.Variable(x, requires_grad=True)
    assert v.requires_grad
    assert not x.requires_grad
    x.add_(1)
    assert v.tolist() == [2, 2]
    assert v._version == x._version == 1


def test_imag_of_a_real_tensor_raises_even_for_hasattr(lib):
    with pytest.raises(RuntimeError, match="imag"):
        hasattr(lib.ones(2), "imag")


@pytest.mark.filterwarnings("ignore")
def test_every_other_listed_name_is_readable(lib):
    for x in (
        lib.ones(2, 2),
        lib.ones(2, 2, requires_grad=True),
        lib.ones(2, 2, requires_grad=True) * 2,
    ):
        for name in dir(x):
            if name not in ("imag", "__cuda_array_interface__", "grad_dtype"):
                getattr(x, name)


def test_tensors_are_hashable_by_identity(lib):
    x, y = lib.ones(2), lib.ones(2)
    assert len({x, y, x}) == 2


def test_attributes_can_be_added(lib):
    x = lib.ones(2)
    x.note = "mine"
    assert x.note == "mine"


# ---- Python conversions --------------------------------------------------------------------


def test_conversions_of_nan_and_infinity(lib):
    nan, inf = lib.tensor(math.nan), lib.tensor(math.inf)
    with pytest.raises(ValueError, match="NaN"):
        int(nan)
    with pytest.raises(OverflowError):
        int(inf)
    with pytest.raises(OverflowError):
        int(-inf)
    assert bool(nan)
    assert bool(inf)
    assert math.isnan(float(nan))
    assert float(-inf) == -math.inf


def test_conversions_round_as_python_does(lib):
    n = 2**53 + 1
    assert float(lib.tensor(n)) == float(n)
    assert int(lib.tensor(n)) == n
    assert int(lib.tensor(-2.7)) == -2
    assert complex(lib.tensor(2.0)) == 2 + 0j
    assert complex(lib.tensor(1 + 2j)) == 1 + 2j


def test_conversions_of_other_than_one_element_are_refused(lib):
    for x in (lib.ones(2), lib.ones(0)):
        with pytest.raises((RuntimeError, ValueError)):
            x.item()
        with pytest.raises((RuntimeError, TypeError, ValueError)):
            float(x)
    with pytest.raises(RuntimeError, match="ambiguous"):
        bool(lib.ones(2))
    assert lib.ones(1, 1).item() == 1
    assert float(lib.ones(1)) == 1


def test_a_zero_dimensional_integer_tensor_is_an_index(lib):
    i = lib.tensor(1)
    assert [10, 20, 30][i] == 20
    assert list(range(3))[i] == 1
    with pytest.raises(TypeError):
        [1, 2][lib.tensor(1.0)]


def test_indexed_assignment_takes_python_numbers_including_infinities(lib):
    x = lib.zeros(4)
    x[0], x[1], x[2], x[3] = math.inf, -math.inf, True, 7
    assert x.tolist() == [math.inf, -math.inf, 1, 7]
    x[0] = math.nan
    assert math.isnan(x[0].item())


def test_len_iteration_and_containment(lib):
    x = lib.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert len(x) == 2
    assert [row.tolist() for row in x] == [[1, 2], [3, 4]]
    assert 3.0 in x
    assert 5.0 not in x
    with pytest.raises(TypeError, match="0-d tensor"):
        len(lib.tensor(1.0))
    with pytest.raises(TypeError, match="0-d tensor"):
        iter(lib.tensor(1.0))


def test_iteration_is_differentiable(lib):
    x = leaf(lib, 1.0, 2.0, 3.0)
    a, b, c = x
    (a * b * c).backward()
    assert x.grad.tolist() == [6, 3, 2]


# ---- legacy types --------------------------------------------------------------------------


def test_legacy_type_checks(lib):
    x = lib.ones(2)
    assert isinstance(x.float(), lib.FloatTensor)
    assert isinstance(x.double(), lib.DoubleTensor)
    assert isinstance(x.long(), lib.LongTensor)
    assert not isinstance(x, lib.DoubleTensor)


def test_legacy_constructors(lib):
    assert lib.LongTensor([0, 2]).tolist() == [0, 2]
    assert lib.LongTensor([0, 2]).dtype == lib.int64
    assert lib.BoolTensor(5, 5).shape == (5, 5)
    assert lib.DoubleTensor().dtype == lib.float64
    assert lib.DoubleTensor().shape == (0,)
    assert lib.Tensor(2, 3).shape == (2, 3)
    assert lib.Tensor([1, 2]).dtype == lib.get_default_dtype()


def test_converting_to_a_legacy_type(lib):
    x = lib.ones(2)
    assert x.type(lib.IntTensor).dtype == lib.int32
    assert x.type(lib.float64).dtype == lib.float64
    assert x.type("torch.DoubleTensor").dtype == lib.float64


def test_converting_to_the_type_a_tensor_already_has_returns_the_same_memory(lib):
    x = lib.ones(2)
    for same in (x.float(), x.to(lib.float32), x.type(lib.FloatTensor), x.to("cpu"), x.cpu()):
        same[0] = same[0] + 1
    assert x[0].item() == 6


def test_the_class_of_a_gradient_is_that_of_the_tensor(lib):
    x = lib.ones(2, dtype=lib.float64, requires_grad=True)
    x.sum().backward()
    assert isinstance(x.grad, lib.DoubleTensor)
    assert type(x.grad) is lib.Tensor


# ---- copies --------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", [0, 1, 2, pickle.HIGHEST_PROTOCOL])
@pytest.mark.parametrize("requires", [True, False])
def test_pickling_keeps_values_and_requires_grad(lib, protocol, requires):
    x = lib.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=requires)
    y = pickle.loads(pickle.dumps(x, protocol=protocol))
    assert y.tolist() == x.tolist()
    assert y.requires_grad is requires
    assert y.dtype == x.dtype


@pytest.mark.parametrize("requires", [True, False])
def test_saving_and_loading_keeps_requires_grad(lib, requires):
    buffer = io.BytesIO()
    lib.save({"x": lib.tensor([1.0, 2.0], requires_grad=requires)}, buffer)
    buffer.seek(0)
    x = lib.load(buffer)["x"]
    assert x.tolist() == [1, 2]
    assert x.requires_grad is requires


def test_deep_copies_keep_requires_grad_and_grad_and_share_nothing(lib):
    x = lib.ones(2, requires_grad=True)
    (x * 3).sum().backward()
    y = copy.deepcopy(x)
    assert y.requires_grad
    assert y.is_leaf
    assert y.grad.tolist() == [3, 3]
    assert y.grad is not x.grad
    with lib.no_grad():
        y.zero_()
    assert x.tolist() == [1, 1]


def test_deep_copies_of_parameters_begin_without_gradients(lib):
    # A copy of a network that had been trained went on with the gradients of the last step.
    net = lib.nn.Linear(2, 2)
    net(lib.ones(2)).sum().backward()
    twin = copy.deepcopy(net)
    assert net.weight.grad is not None
    assert twin.weight.grad is None


def test_deep_copies_of_one_tensor_in_a_structure_stay_one(lib):
    x = lib.ones(2)
    a, b = copy.deepcopy([x, x])
    assert a is b


def test_deep_copies_of_non_leaves_are_refused(lib):
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(lib.ones(2, requires_grad=True) * 2)


def test_shallow_copies_share_memory(lib):
    x = lib.ones(2)
    y = copy.copy(x)
    y.add_(1)
    assert x.tolist() == [2, 2]


def test_shallow_copies_and_pickles_have_no_gradient_which_they_shared(lib):
    x = lib.ones(2, requires_grad=True)
    x.grad = lib.ones(2)
    y = copy.copy(x)
    y.sum().backward()
    assert x.grad.tolist() == [1, 1]
    assert pickle.loads(pickle.dumps(x)).grad is None


# ---- indexing ------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
def test_a_list_with_sequences_is_taken_as_a_tuple_of_indices(lib):
    x = lib.arange(6.0).reshape(2, 3)
    assert x[[[1, 0], [0, 1]]].tolist() == [3, 1]
    assert x[[slice(None), 1]].tolist() == [1, 4]
    assert x[[..., 2]].tolist() == [2, 5]


def test_a_flat_list_of_numbers_is_one_index_array(lib):
    x = lib.arange(6.0).reshape(2, 3)
    assert x[[1, 0]].tolist() == [[3, 4, 5], [0, 1, 2]]


def test_repeated_indices_add_up_their_gradients(lib):
    x = leaf(lib, 1.0, 2.0, 3.0)
    x[lib.tensor([0, 0, 2, 0])].sum().backward()
    assert x.grad.tolist() == [3, 0, 1]


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        ("list", [1, 0, 0]),
        ("mask", [1, 0, 0]),
        ("zero-dimensional", [1, 0, 1]),
        ("number", [1, 0, 1]),
        ("slice", [1, 0, 0]),
    ],
)
def test_assignment_zeroes_the_gradient_of_what_was_overwritten(lib, index, expected):
    index = {
        "list": [1, 2],
        "mask": lib.tensor([False, True, True]),
        "zero-dimensional": lib.tensor(1),
        "number": 1,
        "slice": slice(1, None),
    }[index]
    x, w = leaf(lib, 1.0, 2.0, 3.0), leaf(lib, 5.0)
    y = x * 1
    before = y._version
    y[index] = w[0]
    assert y._version > before
    y.sum().backward()
    assert x.grad.tolist() == expected
    assert w.grad.tolist() == [3 - sum(expected)]


def test_assignment_reduces_a_broadcast_values_gradient_to_its_shape(lib):
    w = leaf(lib, 1.0, 2.0, 3.0)
    y = lib.zeros(2, 4, 3, dtype=lib.float64)
    y[1] = w
    y[0, :2] = w.reshape(1, 3)
    y.sum().backward()
    assert w.grad.tolist() == [6, 6, 6]


def test_an_index_tensor_that_is_changed_afterwards_is_noticed(lib):
    x, index = leaf(lib, 1.0, 2.0, 3.0), lib.tensor([0, 1])
    y = x[index]
    index.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_an_index_array_that_is_changed_afterwards_does_not_matter():
    x, index, rows = leaf(wg, 1.0, 2.0, 3.0), np.array([0, 1]), np.array([0, 0])
    y = x[index]
    z = x.reshape(1, 3)[rows, index]
    index += 1
    (y + z).sum().backward()
    assert x.grad.tolist() == [2, 2, 0]


# ---- set_ ----------------------------------------------------------------------------------


def test_set_shrinks_a_parameter_and_later_graphs_use_the_new_shape(lib):
    x = leaf(lib, 1.0, 2.0, 3.0)
    with lib.no_grad():
        x.set_(x[1:])
    assert x.shape == (2,)
    assert x.is_leaf
    assert x.requires_grad
    assert x._version == 1
    (x * x).sum().backward()
    assert x.grad.tolist() == [4, 6]


def test_set_on_a_leaf_is_refused_while_recording(lib):
    x = leaf(lib, 1.0, 2.0, 3.0)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        x.set_(x[1:])


def test_resize_is_refused_for_tensors_that_require_grad(lib):
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
        leaf(lib, 1.0, 2.0).resize_(1, 2)
    x = lib.arange(4.0)
    assert x.resize_(2, 2) is x
    assert x.tolist() == [[0, 1], [2, 3]]
    assert x.resize_(3).tolist() == [0, 1, 2]


# ---- unique --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["unique", "unique_consecutive"])
def test_unique_values_report_that_they_require_grad_and_their_indices_do_not(lib, name):
    x = leaf(lib, 1.0, 1.0, 2.0)
    values, inverse, counts = getattr(lib, name)(x, return_inverse=True, return_counts=True)
    assert values.requires_grad
    assert not inverse.requires_grad
    assert not counts.requires_grad


# ---- graph nodes ---------------------------------------------------------------------------


def test_next_functions_lists_nodes_and_slots(lib):
    x = leaf(lib, 1.0, 2.0)
    y = x * 2
    z = y + x
    (a, i), (b, j) = z.grad_fn.next_functions
    assert a is y.grad_fn
    assert (i, j) == (0, 0)
    assert type(b).__name__ == "AccumulateGrad"
    assert b.variable is x
    assert y.grad_fn.next_functions[0][0] is b


def test_untracked_operands_appear_as_none(lib):
    x = leaf(lib, 1.0, 2.0)
    y = x + lib.ones(2)
    assert y.grad_fn.next_functions[1] == (None, 0)


def test_node_objects_are_stable(lib):
    y = leaf(lib, 1.0) * 2
    assert y.grad_fn is y.grad_fn
    assert y._grad_fn is y.grad_fn
    z = y[:1]
    assert z.grad_fn is z.grad_fn


def test_output_nr_tells_which_output_of_its_node_a_tensor_is(lib):
    x = leaf(lib, 1.0, 2.0)
    a, b = x.unbind()
    assert (a.output_nr, b.output_nr) == (0, 1)
    assert a.grad_fn is b.grad_fn
    assert (a + b).grad_fn.next_functions == ((a.grad_fn, 0), (a.grad_fn, 1))
    assert x.output_nr == 0


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda x: x + x, "AddBackward0"),
        (lambda x: x * x, "MulBackward0"),
        (lambda x: x - x, "SubBackward0"),
        (lambda x: x / x, "DivBackward0"),
        (lambda x: -x, "NegBackward0"),
        (lambda x: x**2, "PowBackward0"),
        (lambda x: x.exp(), "ExpBackward0"),
        (lambda x: x.log(), "LogBackward0"),
        (lambda x: x.expand(3, 2), "ExpandBackward0"),
        (lambda x: x.clone(), "CloneBackward0"),
        (lambda x: x.unbind()[0], "UnbindBackward0"),
        (lambda x: x.reshape(2, 1) @ x.reshape(1, 2), "MmBackward0"),
    ],
)
def test_names_of_nodes(lib, make, name):
    node = make(leaf(lib, 1.0, 2.0)).grad_fn
    assert type(node).__name__ == name
    assert node.name() == name


def test_copies_into_tensors_are_named_as_in_pytorch(lib):
    y = lib.zeros(2, dtype=lib.float64)
    y.copy_(leaf(lib, 1.0, 2.0))
    assert type(y.grad_fn).__name__ == "CopyBackwards"


def test_nodes_have_metadata_for_the_user(lib):
    node = (leaf(lib, 1.0) * 2).grad_fn
    node.metadata["mine"] = 5
    assert node.metadata["mine"] == 5


def test_requires_grad_of_results_that_are_integers_or_booleans(lib):
    x = leaf(lib, 3.0, 1.0)
    for y in (x.argmax(), x > 1, x.sort()[1], x.max(0)[1], x == x, x.isnan(), x.long()):
        assert not y.requires_grad
        assert y.grad_fn is None


# ---- mixed real and complex ----------------------------------------------------------------


@pytest.mark.parametrize("name", ["cat", "stack", "conversion", "copy_"])
def test_real_operands_of_mixed_operations_get_real_gradients(lib, name):
    x = leaf(lib, 1.0, 2.0)
    z = lib.tensor([1 + 2j, 3j], dtype=lib.complex128)
    y = {
        "cat": lambda: lib.cat([x, z]),
        "stack": lambda: lib.stack([x, z]),
        "conversion": lambda: x.to(lib.complex128),
        "copy_": lambda: (z * 1).copy_(x),
    }[name]()
    (y * (2 + 5j)).real.sum().backward()
    assert x.grad.dtype == lib.float64
    assert x.grad.tolist() == [2, 2]
