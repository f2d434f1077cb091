"""Functions of `torch` with another form than those of `torch.nn.functional`, beside PyTorch's."""

import importlib

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

import wengert as wg
from wengert import as_torch
from wengert.nn import functional as F

RNG = np.random.default_rng(0)


def f(*shape):
    return RNG.standard_normal(shape).astype("f4")


def signs(n):
    return np.sign(f(n))


LOG_PROBS = np.log(np.abs(f(9, 2, 5)) + 0.1)
LOSSES = {
    "kl_div": [(f(3, 4), abs(f(3, 4))), (f(3, 4), abs(f(3, 4)), 2)],
    "cosine_embedding_loss": [(f(3, 4), f(3, 4), np.ones(3, "f4"), 0.1, 1)],
    "hinge_embedding_loss": [(f(3), signs(3)), (f(3), signs(3), 1.0, 2)],
    "margin_ranking_loss": [(f(3), f(3), signs(3), 0.2)],
    "poisson_nll_loss": [(f(3), abs(f(3)), True, False, 1e-8, 1)],
    "triplet_margin_loss": [(f(3, 4), f(3, 4), f(3, 4), 1.0, 2.0, 1e-6, False, 0)],
    "binary_cross_entropy_with_logits": [(f(3, 4), abs(f(3, 4)), f(3, 4), None, 2)],
    "ctc_loss": [
        (LOG_PROBS, RNG.integers(1, 5, (2, 3)), np.array([9, 8]), np.array([3, 2]), 0, 2, True)
    ],
}
LAYERS = {
    "batch_norm": [(f(3, 4), f(4), f(4), f(4), abs(f(4)), False, 0.1, 1e-5, False)],
    "instance_norm": [(f(3, 4, 5), f(4), f(4), None, None, True, 0.1, 1e-5, False)],
    "embedding": [(f(5, 3), np.array([1, 2]))],
    "convolution": [
        (f(2, 3, 9), f(4, 3, 3), f(4), [2], [1], [1], False, [0], 1),
        (f(2, 3, 9, 9), f(3, 4, 3, 3), f(4), [2, 2], [1, 1], [2, 2], True, [1, 1], 1),
    ],
    "conv_tbc": [(f(7, 2, 3), f(3, 3, 4), f(4), 1)],
    "grid_sampler": [(f(1, 2, 4, 4), f(1, 3, 3, 2), 1, 2, True)],
    "affine_grid_generator": [(f(1, 2, 3), [1, 2, 4, 4], False)],
    "adaptive_max_pool1d": [(f(2, 3, 8), 4)],
    "max_pool1d_with_indices": [(f(2, 3, 8), 2)],
    "feature_dropout": [(f(2, 3, 4, 4), 0.5, False)],
}
ROWS = {"lstm": 20, "gru": 15, "rnn_tanh": 5, "rnn_relu": 5}


def weights(rows, proj, bias, layers=2):
    """The parameters of both directions of each layer, of 5 hidden units."""
    found = []
    for size in [3] + [2 * (proj or 5)] * (layers - 1):
        for _ in range(2):
            found += [f(rows, size), f(rows, proj or 5)]
            found += [f(rows), f(rows)] if bias else []
            found += [f(proj, 5)] if proj else []
    return found


def recurrent(name, proj, bias):
    state = f(4, 2, proj or 5)
    hx = [state, f(4, 2, 5)] if name == "lstm" else state
    parameters = weights(ROWS[name], proj, bias)
    return (f(6, 2, 3), hx, parameters, bias, 2, 0.0, False, True, False)


def cell(name):
    hx = [f(2, 5), f(2, 5)] if name == "lstm" else f(2, 5)
    return (f(2, 3), hx, *weights(ROWS[name], 0, True, 1)[:4])


NETWORKS = {
    **{name: [recurrent(name, 0, True), recurrent(name, 0, False)] for name in ROWS},
    **{f"{name}_cell": [cell(name)] for name in ROWS},
}
CALLS = [
    (name, args)
    for table in (LOSSES, LAYERS, NETWORKS)
    for name, calls in table.items()
    for args in calls
] + [("lstm", recurrent("lstm", 2, True))]


def given(x, tensor):
    if isinstance(x, np.ndarray):
        return tensor(x)
    return [given(part, tensor) for part in x] if isinstance(x, list) else x


def results(library, name, args):
    found = getattr(library, name)(*(given(x, library.tensor) for x in args))
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.filterwarnings("ignore:LSTM with projections")
@pytest.mark.parametrize(("name", "args"), CALLS)
def test_functions_of_the_package_take_weights_first_and_numbers_for_choices(name, args):
    theirs, ours = results(torch, name, args), results(wg, name, args)
    for x, y in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(x.numpy(), y.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("a", "b", "ends"), [
    (f(8, 4), f(3, 4, 5), [2, 5, 8]),
    (f(3, 2, 4), f(4, 8), [2, 5, 8]),
    (f(2, 8), f(8, 3), [2, 5, 8]),
])  # fmt: skip
def test_grouped_products_are_those_of_the_parts(a, b, ends):
    out = wg.nn.functional.grouped_mm(
        wg.tensor(a), wg.tensor(b), offs=wg.tensor(ends, dtype=wg.int32)
    )
    parts = [slice(first, last) for first, last in zip([0, *ends], ends, strict=False)]
    if a.ndim == b.ndim:
        expected = np.stack([a[:, part] @ b[part] for part in parts])
    elif a.ndim == 2:
        expected = np.concatenate([a[part] @ b[k] for k, part in enumerate(parts)])
    else:
        expected = np.concatenate([a[k] @ b[:, part] for k, part in enumerate(parts)], -1)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-5)


@pytest.mark.parametrize("shape", [(3, 4), (5,), (2, 3, 4), ()])
@pytest.mark.parametrize("options", [
    {}, {"lr": 0.3, "weight_decay": 0.1, "maximize": True, "d": 1.5, "eps": (1e-8, 1e-2)},
])  # fmt: skip
def test_adafactor_takes_pytorchs_steps(shape, options):
    start = np.asarray(f(*shape))
    found = []
    for library in (torch, wg):
        p = library.tensor(start, requires_grad=True)
        optimizer = library.optim.Adafactor([p], **options)
        for _ in range(5):
            optimizer.zero_grad()
            (p * p * p).sum().backward()
            optimizer.step()
        found.append((p, optimizer.state[p]))
    (p, theirs), (q, ours) = found
    np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=1e-5, atol=1e-6)
    assert {k: tuple(v.shape) for k, v in theirs.items()} == {k: v.shape for k, v in ours.items()}


@pytest.mark.parametrize("diagonal", [0, -1, -2])
def test_triangles_and_vectors_are_made_of_each_other(diagonal):
    utils = importlib.import_module("wengert.distributions.utils")
    x = wg.tensor(f(2, 4, 4))
    vector = utils.tril_matrix_to_vec(x, diagonal)
    expected = torch.distributions.utils.tril_matrix_to_vec(torch.tensor(x.numpy()), diagonal)
    np.testing.assert_array_equal(vector.numpy(), expected.numpy())
    assert wg.equal(utils.vec_to_tril_matrix(vector, diagonal), x.tril(diagonal))


def test_a_module_compiles_itself():
    module = wg.nn.Linear(3, 2)
    x, before = wg.ones(1, 3), module(wg.ones(1, 3))
    module.compile()
    assert wg.allclose(module(x), before)
    assert type(module(x).grad_fn).__name__ == "CompiledBackward"
    assert list(module.state_dict()) == ["weight", "bias"]


def test_made_tensors_lie_within_their_bounds():
    x = wg.testing.make_tensor(4, 5, dtype=wg.int8, low=2, high=5, exclude_zero=True)
    assert (x >= 2).all()
    assert (x < 5).all()
    assert not wg.testing.make_tensor((4, 5), dtype=wg.float32, noncontiguous=True).is_contiguous()
    wg.testing.assert_allclose([1.0], np.ones(1, "f4"))


@pytest.mark.parametrize("path", ["ops.aten", "_C._nn", "_VF", "_C._VariableFunctions"])
def test_functions_are_found_by_the_names_of_pytorchs_own_library(path):
    # They could be imported, and raised when they were called.
    with as_torch.installed():
        there = importlib.import_module("torch")
        for part in path.split("."):
            there = getattr(there, part)
        x, out = wg.tensor([-1.0, 2.0]), wg.empty(2)
        assert there.gelu(x, out=out) is out
        assert out.tolist() == F.gelu(x).tolist()
        assert there.special_erf(x).tolist() == wg.special.erf(x).tolist()
        assert there.add.Tensor(x, x).tolist() == [-2.0, 4.0]
        assert there.unsqueeze_(x, 0).shape == x.shape == (1, 2)


def test_an_operator_that_is_not_here_says_what_to_do():
    assert not hasattr(wg.ops.aten, "operator")
    with pytest.raises(AttributeError, match="Write it with functions that are"):
        wg.ops.aten.addd
    with pytest.raises(NotImplementedError, match=r"wengert\.primitive"):
        wg.ops.torchvision.nms


NEW = {"_foreach_powsum"}
"""Functions of lists that no published program calls."""
FOREACH = sorted(n for n in dir(torch) if n.startswith("_foreach_") and n not in NEW)


@pytest.mark.parametrize("name", FOREACH)
def test_functions_of_lists_do_what_those_of_single_tensors_do(name):
    # Optimizers that do many tensors at once stopped at the name.
    def lists(lib, seed):
        random = np.random.default_rng(seed)
        return [lib.tensor(random.uniform(0.1, 0.9, (n, n))) for n in (2, 3)]

    compared = 0
    for arguments in (
        lambda a, b: (),
        lambda a, b: (2.0,),
        lambda a, b: (a,),
        lambda a, b: ([2.0, 3.0],),
        lambda a, b: (a, 0.5),
        lambda a, b: (a, b),
        lambda a, b: (a, b, 0.5),
        lambda a, b: (a, b, [0.5, 2.0]),
    ):
        made = []
        for lib in (torch, wg):
            x = lists(lib, 0)
            try:
                found = getattr(lib, name)(x, *arguments(lists(lib, 1), lists(lib, 2)))
            except (TypeError, RuntimeError):
                assert lib is torch
                break
            made.append([t.tolist() for t in (*x, *(found or ()))])
        else:
            np.testing.assert_equal(len(made[0]), len(made[1]))
            for y, z in zip(*made, strict=True):
                np.testing.assert_allclose(z, y, rtol=1e-12)
            compared += 1
    assert compared


def test_lists_of_different_lengths_are_refused():
    with pytest.raises(RuntimeError, match="same number of tensors, got 2 and 1"):
        wg._foreach_add([wg.ones(1), wg.ones(1)], [wg.ones(1)])


def test_pieces_go_by_all_of_pytorchs_names():
    # Tensor.split says split_size, where the function says split_size_or_sections.
    for x in (torch.arange(6.0), wg.arange(6.0)):
        sizes = [len(p) for p in x.split(split_size=4, dim=0)]
        assert sizes == [4, 2]
        assert [len(p) for p in x.tensor_split(sections=4)] == [2, 2, 1, 1]
        assert [len(p) for p in x.hsplit(indices=[1])] == [1, 5]


def test_operators_of_pytorchs_inside_take_out_and_copy():
    x, i = wg.arange(12.0).reshape(3, 4), wg.tensor([2, 0])
    assert wg.ops.aten.index.Tensor(x, [None, i]).tolist() == x[:, i].tolist()
    copied = wg.ops.aten._to_copy.default(x, dtype=wg.float64)
    assert (copied.dtype, copied.tolist()) == (wg.float64, x.tolist())
    assert wg.ops.aten.alias.default(x).data_ptr() == x.data_ptr()
