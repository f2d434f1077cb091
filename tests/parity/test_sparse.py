"""Sparse tensors beside PyTorch's: values, and gradients of what is stored."""

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

import wengert as wg
from wengert.pytorch import overrides

# PyTorch warns once in a process, at whatever comes first.
pytestmark = pytest.mark.filterwarnings("ignore:Sparse")
LIBRARIES = (torch, wg)
PLACES = [[0, 1, 1, 0], [2, 0, 2, 2]]  # one of them twice
VALUES = [3.0, 4.0, 5.0, -1.0]


@pytest.fixture(autouse=True)
def _restored():
    yield
    overrides.restore()


def given(library, csr=False):
    values = library.tensor(VALUES, requires_grad=True)
    sparse = library.sparse_coo_tensor(library.tensor(PLACES), values, (2, 3))
    dense = (library.arange(6.0).reshape(3, 2) / 3).requires_grad_()
    return values, sparse.to_sparse_csr() if csr else sparse, dense


COMPUTED = {
    "operator": lambda s, d, lib: s @ d,
    "vector": lambda s, d, lib: s @ d[:, 0],
    "mm": lambda s, d, lib: lib.mm(s, d),
    "spmm": lambda s, d, lib: lib.spmm(s, d),
    "sparse.mm": lambda s, d, lib: lib.sparse.mm(s, d),
    "sparse.addmm": lambda s, d, lib: lib.sparse.addmm(lib.ones(2, 2), s, d, beta=0.5, alpha=2),
    "transposed": lambda s, d, lib: s.t() @ d[:2],
    "both sparse": lambda s, d, lib: lib.sparse.mm(s, s.t()).to_dense(),
    "dense": lambda s, d, lib: s.to_dense() ** 2,
    "scaled": lambda s, d, lib: (2 * s / 3).to_dense(),
    "added": lambda s, d, lib: (s + s).to_dense(),
    "to dense": lambda s, d, lib: d.t() + s,
    "masked": lambda s, d, lib: (s * d.t()).to_dense(),
    "total": lambda s, d, lib: s.sum(),
    "rows": lambda s, d, lib: lib.sparse.sum(s, dim=1).to_dense(),
    "softmax": lambda s, d, lib: lib.sparse.softmax(s, dim=1).to_dense() * d.t(),
    "log_softmax": lambda s, d, lib: lib.sparse.log_softmax(s, 1).to_dense() * d.t(),
    "relu": lambda s, d, lib: lib.relu(s).to_dense(),
    "square": lambda s, d, lib: s.pow(2).to_dense(),
    "abs": lambda s, d, lib: s.abs().to_dense(),
    "negative": lambda s, d, lib: (-s).to_dense(),
}


@pytest.mark.parametrize("csr", [False, True], ids=["coo", "csr"])
@pytest.mark.parametrize("name", COMPUTED)
def test_results_and_gradients_are_those_of_the_dense_tensor(name, csr):
    if csr and name not in ("operator", "vector", "mm", "sparse.mm", "dense"):
        pytest.skip("PyTorch lacks it, or its gradient")
    found = []
    for library in LIBRARIES:
        values, sparse, dense = given(library, csr)
        out = COMPUTED[name](sparse, dense, library)
        (out * library.arange(1.0, out.numel() + 1).reshape(out.shape)).sum().backward()
        found.append([out, values.grad, dense.grad])
    for theirs, ours in zip(*found, strict=True):
        assert (theirs is None) == (ours is None)
        if ours is not None:
            expected = theirs.to_dense() if theirs.is_sparse else theirs
            np.testing.assert_allclose(ours.detach(), expected.detach(), rtol=1e-5, atol=1e-6)


def test_what_is_stored_is_told():
    for library in LIBRARIES:
        _, x, _ = given(library)
        assert (x.is_sparse, x.is_coalesced(), x._nnz(), x.dim()) == (True, False, 4, 2)
        assert tuple(x.shape) == (2, 3)
        x = x.coalesce()
        assert x.indices().tolist() == [[0, 1, 1], [2, 0, 2]]
        assert x.values().tolist() == [2.0, 4.0, 5.0]
        csr = x.to_sparse_csr()
        assert csr.crow_indices().tolist() == [0, 1, 3]
        assert csr.col_indices().tolist() == [2, 0, 2]
        again = library.sparse_csr_tensor(
            csr.crow_indices(), csr.col_indices(), csr.values(), (2, 3)
        )
        assert again.to_dense().tolist() == x.to_dense().tolist()
        assert library.eye(3).to_sparse().indices().tolist() == [[0, 1, 2], [0, 1, 2]]


def test_a_sparse_leaf_has_a_sparse_gradient():
    for library in LIBRARIES:
        x = library.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (2, 2), requires_grad=True)
        library.sparse.mm(x, library.ones(2, 3)).sum().backward()
        assert x.grad.is_sparse
        assert x.grad.to_dense().tolist() == [[0, 3], [3, 0]]


@pytest.mark.parametrize("refused", [lambda x: x.exp(), lambda x: x[0], lambda x: x.numpy(),
                                     lambda x: x.relu_(), lambda x: x.reshape(3, 2),
                                     lambda x: np.sin(x), lambda x: x.argmax()])  # fmt: skip
def test_what_a_sparse_tensor_cannot_do_is_refused(refused):
    with pytest.raises(NotImplementedError, match=r"to_dense\(\)"):
        refused(given(wg)[1])


@pytest.mark.filterwarnings("ignore:torch.sparse.SparseTensor")
def test_classes_of_older_programs_make_sparse_tensors():
    for library in LIBRARIES:
        places, values = library.LongTensor([[0, 1], [1, 0]]), library.FloatTensor([1, 2])
        x = library.sparse.FloatTensor(places, values, library.Size([2, 2]))
        assert x.to_dense().tolist() == [[0, 1], [2, 0]]
        assert isinstance(x, library.sparse.FloatTensor)
        assert not isinstance(values, library.sparse.FloatTensor)
        assert library.sparse.DoubleTensor(2, 3).to_dense().tolist() == [[0] * 3] * 2


def test_bad_places_are_refused():
    with pytest.raises(RuntimeError, match="outside of size"):
        wg.sparse_coo_tensor([[0, 3]], [1.0, 2.0], (2,))
    with pytest.raises(RuntimeError, match="outside of size"):
        wg.sparse_coo_tensor([[0, -1]], [1.0, 2.0], (2,))
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        given(wg)[1] @ wg.ones(2, 2)


def test_a_graph_network_learns():
    wg.manual_seed(0)
    rng = np.random.default_rng(0)
    n = 60
    label = wg.tensor(np.arange(n) % 3)
    same = np.arange(n) % 3
    rows, columns = np.nonzero((same[:, None] == same) & (rng.random((n, n)) < 0.3))
    values = wg.tensor((1 / np.bincount(rows, minlength=n).clip(1))[rows].astype("f4"))
    x = wg.tensor(rng.standard_normal((n, 8)).astype("f4"))

    class Graph(wg.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = wg.nn.Linear(8, 16), wg.nn.Linear(16, 3)
            places = wg.tensor(np.stack([rows, columns]))
            self.register_buffer("adjacency", wg.sparse_coo_tensor(places, values, (n, n)))

        def forward(self, x):
            x = wg.spmm(self.adjacency, self.first(x)).relu()
            return wg.spmm(self.adjacency, self.second(x))

    net = Graph().to("cpu")
    optimizer = wg.optim.Adam(net.parameters(), 0.05)
    for _ in range(30):
        optimizer.zero_grad()
        loss = wg.nn.functional.cross_entropy(net(x), label)
        loss.backward()
        optimizer.step()
    assert loss < 0.1


def test_rows_that_do_not_count_the_elements_are_refused_in_words():
    # NumPy's words of a negative count came out; more rows than the size has were taken.
    for ends, size in (([0, 2, 1], (2, 2)), ([1, 1, 2], (2, 2)), ([0, 1, 2], (3, 2))):
        with pytest.raises(RuntimeError, match="crow_indices"):
            wg.sparse_csr_tensor(ends, [0, 1], [1.0, 2.0], size)
    with pytest.raises(RuntimeError, match="layout must be SparseCsr"):
        wg.sparse_csr_tensor([0, 1], [0], [1.0], layout=wg.sparse_coo)


@pytest.mark.parametrize("library", LIBRARIES, ids=["torch", "wengert"])
def test_a_function_keeps_a_sparse_tensor_for_its_backward(library):
    # Saving looked for the history that tensors have, and sparse ones have not: graph attention
    # stopped.
    class Product(library.autograd.Function):
        @staticmethod
        def forward(ctx, places, values, b):
            a = library.sparse_coo_tensor(places, values, (3, 3))
            ctx.save_for_backward(a, b)
            return a @ b

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            rows, columns = a._indices()
            return None, (g @ b.t())[rows, columns], a.t() @ g

    places = library.tensor([[0, 1, 2], [1, 1, 0]])
    values = library.tensor([1.0, 2.0, 3.0], requires_grad=True)
    b = library.tensor([[1.0], [2.0], [5.0]], requires_grad=True)
    y = Product.apply(places, values, b)
    y.sum().backward()
    assert y.tolist() == [[2.0], [4.0], [3.0]]
    assert values.grad.tolist() == [2.0, 2.0, 1.0]
    assert b.grad.tolist() == [[3.0], [3.0], [0.0]]


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda lib: lib.__name__)
def test_a_function_of_ones_own_takes_sparse_tensors(library):
    class Product(library.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.a = a
            return library.mm(a, b)

        @staticmethod
        def backward(ctx, g):
            return None, ctx.a.t() @ g

    b = library.ones(3, 2, requires_grad=True)
    Product.apply(library.eye(3).to_sparse(), b).sum().backward()
    assert b.grad.tolist() == [[1.0, 1.0]] * 3


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta state")
@pytest.mark.parametrize("reduce", ["sum", "mean", "amax", "amin"])
def test_products_are_reduced_as_pytorchs_are(reduce):
    numbers = np.random.default_rng(0).standard_normal((4, 5))
    numbers[numbers < 0.2] = 0
    numbers[2] = 0  # a row of nothing
    other, found = np.random.default_rng(1).standard_normal((5, 3)), []
    for library in (wg, torch):
        x = library.tensor(numbers).to_sparse_csr().requires_grad_()
        y = library.tensor(other, requires_grad=True)
        product = library.sparse.mm(x, y, reduce)
        (product**2).sum().backward()
        found.append([product.detach().numpy(), y.grad.numpy()])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs)


def test_products_that_are_reduced_refuse_what_has_no_rows_of_elements():
    x = wg.eye(2)
    with pytest.raises(ValueError, match="'mean', 'amax' or 'amin'"):
        wg.sparse.mm(x.to_sparse(), x, "median")
    with pytest.raises(NotImplementedError, match="a sparse and a dense matrix"):
        wg.sparse.mm(x, x.to_sparse(), "amax")
    with pytest.raises(RuntimeError, match="no shapes of two matrices"):
        wg.sparse.mm(x.to_sparse(), wg.ones(3, 1), "amax")


def test_what_is_compressed_by_columns_says_what_to_do_instead():
    assert wg.eye(2).layout != wg.sparse_csc  # which programs ask
    with pytest.raises(NotImplementedError, match=r"x\.to_sparse_csr\(\)"):
        wg.sparse_csc_tensor([0, 1], [0], [1.0])


def test_leaves_of_a_class_are_made_of_numbers_and_only_of_those():
    class Tagged(wg.Tensor):
        pass

    leaf = wg.Tensor._make_subclass(Tagged, wg.ones(2), True)
    assert (type(leaf), leaf.is_leaf, leaf.requires_grad) == (Tagged, True, True)
    with pytest.raises(NotImplementedError, match="Tagged: all tensors have numbers here"):
        wg.Tensor._make_wrapper_subclass(Tagged, (2,))
