"""Sparse gradients of embeddings beside PyTorch's, and what optimizers do with them."""

import copy

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

import wengert as wg
from wengert.pytorch import overrides

pytestmark = pytest.mark.filterwarnings("ignore:Sparse")
TABLE = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)
BATCHES = [[[1, 3], [1, 4]], [[0, 0], [6, 1]], [[2, 2], [2, 2]], [[5, 1], [3, 3]]]
LIBRARIES = (torch, wg)


@pytest.fixture(autouse=True)
def _restored():
    yield
    overrides.restore()


def layer(library, kind="Embedding", **settings):
    made = getattr(library.nn, kind)(7, 3, sparse=True, **settings)
    with library.no_grad():
        made.weight.copy_(library.tensor(TABLE))
    return made


def both(program):
    there, here = map(program, LIBRARIES)
    assert len(there) == len(here)
    for a, b in zip(there, here, strict=True):
        assert a.is_sparse == b.is_sparse, (a, b)
        if a.is_sparse:
            assert a.shape == b.shape
            a, b = a.coalesce(), b.coalesce()
            np.testing.assert_array_equal(a.indices().numpy(), b.indices().detach().numpy())
            a, b = a.values(), b.values()
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), 2e-5, 1e-6)


OPTIMIZERS = {
    "SGD": [{}, {"momentum": 0.9}, {"momentum": 0.9, "dampening": 0.5}, {"maximize": True},
            {"momentum": 0.9, "nesterov": True}],
    "Adagrad": [{}, {"lr_decay": 0.1}, {"initial_accumulator_value": 0.2}, {"maximize": True}],
    "SparseAdam": [{}, {"betas": (0.5, 0.7)}, {"eps": 0.1}, {"maximize": True}],
}  # fmt: skip


@pytest.mark.parametrize("kind", ["Embedding", "EmbeddingBag"])
@pytest.mark.parametrize(
    ("name", "settings"), [(name, kw) for name, all in OPTIMIZERS.items() for kw in all], ids=str
)
def test_optimizers_take_the_steps_of_pytorchs(name, settings, kind):
    # SparseAdam was an error, and `sparse` was ignored: rows that no batch names were moved.
    def program(library):
        table = layer(library, kind)
        steps = getattr(library.optim, name)(table.parameters(), lr=0.1, **settings)
        for batch in BATCHES:
            steps.zero_grad()
            table(library.tensor(batch)).pow(2).sum().backward()
            steps.step()
        return [table.weight, table.weight.grad]

    both(program)


PROGRAMS = {
    "twice": lambda E, i, lib: (E(i).sum() + E(i[0]).pow(2).sum()).backward(),
    "two passes": lambda E, i, lib: (E(i).sum().backward(), E(i[0]).pow(2).sum().backward()),
    "dense beside": lambda E, i, lib: (E(i).sum() + (E.weight**2).sum()).backward(),
    "dense after": lambda E, i, lib: (E(i).sum().backward(), (E.weight**2).sum().backward()),
    "sparse after": lambda E, i, lib: ((E.weight**2).sum().backward(), E(i).sum().backward()),
    "nothing": lambda E, i, lib: E(i[:0]).sum().backward(),
    "one": lambda E, i, lib: E(i[0][:1]).sum().backward(),
    "hook": lambda E, i, lib: (E.weight.register_hook(lambda g: g * 3), E(i).sum().backward()),
    "scaled table": lambda E, i, lib: (
        lib.nn.functional.embedding(i, E.weight * 2, sparse=True).sum().backward()
    ),
    "zeroed": lambda E, i, lib: (
        E(i).sum().backward(), E.zero_grad(set_to_none=False), E(i[1]).sum().backward(),
    ),
    "in place": lambda E, i, lib: (
        E(i).sum().backward(), E.weight.grad.mul_(2), E.weight.grad.div_(3),
        E.weight.grad.data.add_(E.weight.grad),
    ),
    "by hand": lambda E, i, lib: (
        E(i).sum().backward(), E.weight.data.add_(E.weight.grad, alpha=-0.5),
    ),
    "copied": lambda E, i, lib: (E(i).sum().backward(), copy.deepcopy(E.weight.grad).zero_()),
    "assigned": lambda E, i, lib: (
        E(i).sum().backward(), setattr(E.weight, "grad", E.weight.grad.coalesce() * 2),
    ),
    "penalty": lambda E, i, lib: lib.autograd.grad(
        lib.autograd.grad(E(i).pow(3).sum(), E.weight, create_graph=True)[0].to_dense().sum(),
        E.weight,
    )[0].to_dense().sum(),
}  # fmt: skip


@pytest.mark.parametrize("settings", [{}, {"padding_idx": 1}], ids=["", "padding"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_sparse_where_pytorchs_are(name, settings):
    def program(library):
        table = layer(library, **settings)
        result = PROGRAMS[name](table, library.tensor(BATCHES[0]), library)
        grad = table.weight.grad
        result = [result] if name == "penalty" else []
        return [table.weight, *([] if grad is None else [grad]), *result]

    both(program)


def test_grad_gives_a_sparse_tensor_of_rows_and_a_dense_one_where_it_has_history():
    table = layer(wg)
    loss = lambda: table(wg.tensor([1, 1, 4])).pow(2).sum()
    (g,) = wg.autograd.grad(loss(), table.weight)
    assert g.is_sparse
    assert g.sparse_dim() == 1
    assert g.dense_dim() == 1
    assert g._nnz() == 3
    (dense,) = wg.autograd.grad(loss(), table.weight, create_graph=True)
    assert dense.requires_grad
    assert wg.equal(dense.detach(), g.to_dense())


def test_what_a_gradient_of_few_rows_costs_is_not_the_table():
    # 4 TB of table could not be written down: all is done with the rows named.
    table = wg.zeros(1).expand(1_000_000_000, 1000).requires_grad_()
    wg.nn.functional.embedding(wg.tensor([3, 999]), table, sparse=True).sum().backward()
    assert table.grad.shape == table.shape
    assert table.grad._nnz() == 2


@pytest.mark.parametrize("name", ["Adam", "AdamW", "RMSprop", "Adamax", "Adadelta", "Adafactor"])
def test_optimizers_without_a_formula_for_rows_refuse_them(name):
    table = layer(wg)
    steps = getattr(wg.optim, name)(table.parameters(), lr=0.1)
    table(wg.tensor([1])).sum().backward()
    with pytest.raises(RuntimeError, match=f"{name} does not support sparse gradients"):
        steps.step()
    assert not any(steps.state.values())


@pytest.mark.parametrize("name", ["SGD", "Adagrad"])
def test_decay_of_weights_moves_every_row_and_is_refused(name):
    table = layer(wg)
    steps = getattr(wg.optim, name)(table.parameters(), lr=0.1, weight_decay=0.1)
    table(wg.tensor([1])).sum().backward()
    with pytest.raises(RuntimeError, match="weight_decay"):
        steps.step()


def test_sparse_adam_refuses_dense_gradients():
    p = wg.ones(2, requires_grad=True)
    p.sum().backward()
    with pytest.raises(RuntimeError, match="does not support dense gradients"):
        wg.optim.SparseAdam([p]).step()


def test_norms_scales_and_compiled_steps_count_the_rows_of_sparse_gradients():
    table = layer(wg)
    table(wg.tensor([1, 1, 4])).sum().backward()
    norm = wg.nn.utils.clip_grad_norm_(table.parameters(), 1.0)
    assert float(norm) == pytest.approx(15**0.5)  # (2, 2, 2) and (1, 1, 1)
    assert float(table.weight.grad.to_dense().norm()) == pytest.approx(1.0, rel=1e-5)
    whole = layer(wg)
    steps = [wg.optim.Adagrad(t.parameters(), lr=0.1) for t in (table, whole)]

    def step(t, s):
        s.zero_grad()
        t(wg.tensor([1, 1, 4])).pow(2).sum().backward()
        s.step()

    compiled = wg.compile(step)
    for _ in range(3):
        step(table, steps[0])
        compiled(whole, steps[1])
    assert wg.allclose(table.weight, whole.weight)
