"""Wrong calls of what stands around tensors and layers: data, utilities, derivatives, draws.

Each line of `CALLS` is a right call, of either library `l`: its name, then its arguments. Each of
these in turn is replaced by what it is not; see `test_wrong_layers.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")
pytest.importorskip("torch.nn.utils.prune")

import wengert as wg  # noqa: E402
from tests.distributions.samples import SAMPLES  # noqa: E402
from tests.parity.test_wrong_layers import Found, judge, outcome, wrong  # noqa: E402
from wengert.errors import DtypeError  # noqa: E402

CALLS = """
utils.data.TensorDataset(l.ones(3, 2))
utils.data.Subset(data, [0, 1])
utils.data.ConcatDataset([data, data])
utils.data.random_split(data, [2, 4])
utils.data.DataLoader(data, batch_size=2, shuffle=False, num_workers=0, drop_last=False, timeout=0)
utils.data.DataLoader(data, generator=None, prefetch_factor=None, persistent_workers=False)
utils.data.RandomSampler(data, replacement=False, num_samples=None)
utils.data.BatchSampler(l.utils.data.SequentialSampler(data), 2, False)
utils.data.WeightedRandomSampler([0.1, 0.9], 3, replacement=True)
utils.data.default_collate([l.ones(2), l.ones(2)])
nn.utils.clip_grad_norm_([weight], 1.0, norm_type=2.0, error_if_nonfinite=False)
nn.utils.parameters_to_vector([weight])
nn.utils.vector_to_parameters(l.ones(2), [weight])
nn.utils.rnn.pad_sequence([l.ones(2), l.ones(3)], batch_first=False, padding_value=0.0)
nn.utils.rnn.pack_padded_sequence(l.ones(3, 2, 1), [3, 2], batch_first=False, enforce_sorted=True)
nn.utils.rnn.pack_sequence([l.ones(3), l.ones(2)], enforce_sorted=True)
nn.utils.spectral_norm(layer, name="weight", n_power_iterations=1, eps=1e-12, dim=None)
nn.utils.parametrizations.weight_norm(layer, name="weight", dim=0)
nn.utils.prune.l1_unstructured(layer, "weight", 0.5)
nn.utils.fusion.fuse_linear_bn_eval(layer.eval(), l.nn.BatchNorm1d(2).eval())
autograd.functional.jacobian(square, l.ones(2), create_graph=False, strict=False, vectorize=False)
autograd.functional.hvp(square, l.ones(2), v=l.ones(2), create_graph=False, strict=False)
autograd.functional.vjp(square, l.ones(2), v=None, create_graph=False, strict=False)
autograd.backward(square(leaf), grad_tensors=None, retain_graph=None, create_graph=False)
autograd.gradcheck(square, (leaf.double(),), eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True)
func.functional_call(layer, {"weight": l.ones(2, 2)}, (l.ones(1, 2),), strict=False)
func.stack_module_state([layer, layer])
func.jvp(square, (l.ones(2),), (l.ones(2),), has_aux=False)
sparse_coo_tensor(l.tensor([[0, 1], [1, 0]]), l.ones(2), size=(2, 2))
sparse_csr_tensor(l.tensor([0, 1, 2]), l.tensor([1, 0]), l.ones(2), size=(2, 2))
sparse.mm(l.eye(2).to_sparse(), l.ones(2, 2))
sparse.sum(l.eye(2).to_sparse(), dim=0)
sparse.softmax(l.eye(2).to_sparse(), 1)
sparse.addmm(l.ones(2, 2), l.eye(2).to_sparse(), l.ones(2, 2), beta=1, alpha=1)
manual_seed(3)
set_rng_state(l.get_rng_state())
randperm(5, generator=None, dtype=l.int64)
randint(0, 5, (2,), generator=None)
rand(2, 3, generator=None, requires_grad=False)
normal(0.0, 1.0, (2,), generator=None)
multinomial(l.ones(3), 2, replacement=False, generator=None)
bernoulli(l.ones(3), generator=None)
poisson(l.ones(3), generator=None)
tensor([1.0, 2.0], requires_grad=False, dtype=None, device=None)
zeros(2, 3, dtype=None, requires_grad=False)
full((2, 3), 1.5, dtype=None, requires_grad=False)
arange(0, 5, 1, dtype=None)
linspace(0.0, 1.0, 5, dtype=None)
broadcast_tensors(l.ones(2), l.ones(1))
meshgrid(l.ones(2), l.ones(3), indexing="ij")
utils.checkpoint.checkpoint(square, leaf, use_reentrant=False, preserve_rng_state=True)
optim.swa_utils.AveragedModel(layer, device=None, avg_fn=None, use_buffers=False)
amp.GradScaler("cpu", init_scale=2.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=3)
promote_types(l.int32, l.float32)
testing.assert_close(l.ones(1), l.ones(1), rtol=None, atol=None, check_dtype=True)
nn.Parameter(l.ones(2), requires_grad=True)
nn.ModuleDict({"a": layer})
nn.Sequential(layer, layer)
matrix.requires_grad_(True)
matrix.view(2, 2)
matrix.expand(2, 2, 2)
matrix.permute(1, 0)
matrix.new_full((2,), 1.5)
matrix.copy_(l.ones(2, 2))
matrix.masked_fill(l.ones(2, 2) > 0, 1.0)
matrix.unfold(0, 1, 1)
matrix.clamp_(0.0, 1.0)
matrix.normal_(0.0, 1.0)
matrix.uniform_(0.0, 1.0)
matrix.random_(0, 5)
matrix.bernoulli_(0.5)
matrix.exponential_(1.0)
matrix.map_(l.ones(2, 2), max)
matrix.set_(l.ones(2, 2))
matrix.__getitem__(0)
matrix.unflatten(0, (1, 2))
matrix.index_add_(0, l.tensor([0, 1]), l.ones(2, 2))
"""


def made(library: Any, text: str) -> tuple[Any, tuple[tuple[Any, ...], dict[str, Any]]]:
    """The function that a line names, and its arguments, all made anew."""
    path, _, given = text.partition("(")
    weight = library.nn.Parameter(library.ones(2))
    weight.grad = library.ones(2)
    names = {
        "l": library, "layer": library.nn.Linear(2, 2), "weight": weight, "max": max,
        "data": library.utils.data.TensorDataset(library.arange(6.0).reshape(6, 1)),
        "matrix": library.ones(2, 2), "leaf": library.ones(2, requires_grad=True),
        "square": lambda x: (x**2).sum(), "given": lambda *args, **named: (args, named),
    }  # fmt: skip
    found = names["matrix"] if path.startswith("matrix.") else library
    for part in path.removeprefix("matrix.").split("."):
        found = getattr(found, part)
    return found, eval(f"given({given}", names)  # noqa: S307


def called(function: Any, args: Any, named: Any) -> None:
    result = function(*args, **named)
    if type(result).__module__.rpartition(".")[0].endswith("utils.data"):
        list(result)


def of_utilities() -> Iterator[Found]:
    for text in CALLS.strip().splitlines():
        assert outcome(called, made(wg, text)[0], *made(wg, text)[1]) is None, text
        for k, (what, _) in enumerate(wrong(*made(torch, text)[1])):
            found = []
            for library in (torch, wg):
                function, right = made(library, text)
                found.append(outcome(called, function, *list(wrong(*right))[k][1]))
            yield Found(f"{text}: {what}", *found)


ASKED = {
    "log_prob": "sample.values", "cdf": "sample.values", "icdf": "sample.values / 9",
    "sample": "(2,)", "rsample": "(2,)", "expand": "(2, *of.batch_shape)", "sample_n": "3",
}  # fmt: skip


def of_distributions() -> Iterator[Found]:
    """Made of wrong parameters, and asked with wrong values and shapes.

    A number is a value here, where PyTorch wants a tensor.
    """
    for name, sample in SAMPLES.items():
        rights = [{**sample.parameters(l), **sample.others} for l in (torch, wg)]
        kinds = [getattr(l.distributions, sample.kind) for l in (torch, wg)]
        calls = [wrong((), {**given, "validate_args": True}) for given in rights]
        for (what, (_, there)), (_, (_, here)) in zip(*calls, strict=True):
            yield Found(f"{name} of {what}", outcome(kinds[0], **there), outcome(kinds[1], **here))
        of, mine = (kind(**given) for kind, given in zip(kinds, rights, strict=True))
        for method, text in ASKED.items():
            value = eval(text)  # noqa: S307
            theirs, ours = getattr(of, method), getattr(mine, method)
            values = [l.tensor(value) if hasattr(value, "dtype") else value for l in (torch, wg)]
            if outcome(theirs, values[0]) is None:
                calls = [wrong((value,), {}) for value in values]
                for (what, (there, more)), (_, (here, _)) in zip(*calls, strict=True):
                    if not (hasattr(value, "dtype") and there and type(there[0]) is int):
                        yield Found(
                            f"{name}.{method}, {what}",
                            outcome(theirs, *there, **more),
                            outcome(ours, *here, **more),
                        )


OUTSIDE = (0.0, -1.0, -0.5, 0.5, 1.0, 1.5, 2.0, 37.0, math.nan, math.inf, -math.inf, 1e-9, 1.0001)
"""Numbers that lie in some sets and outside of others."""


def of_numbers() -> Iterator[Found]:
    """Each in turn the first, and the last, number of a parameter, and of a value."""
    for name, sample in SAMPLES.items():
        rights = [{**sample.parameters(l), **sample.others} for l in (torch, wg)]
        kinds = [getattr(l.distributions, sample.kind) for l in (torch, wg)]
        for parameter in sample.given:
            pairs = zip(
                *(replaced(r[parameter], l) for r, l in zip(rights, (torch, wg), strict=True)),
                strict=True,
            )
            for there, here in pairs:
                made = [
                    outcome(k, **{**r, parameter: x}, validate_args=True)
                    for k, r, x in zip(kinds, rights, (there, here), strict=True)
                ]
                yield Found(f"{name} of {parameter} {here.tolist()}", *made)
        of = [kind(**given, validate_args=True) for kind, given in zip(kinds, rights, strict=True)]
        values = (replaced(l.tensor(sample.values).double(), l) for l in (torch, wg))
        for there, here in zip(*values, strict=True):
            found = [outcome(d.log_prob, x) for d, x in zip(of, (there, here), strict=True)]
            yield Found(f"{name}.log_prob({here.tolist()})", *found)


def replaced(x: Any, library: Any) -> Iterator[Any]:
    for number in OUTSIDE:
        for place in (0, -1):
            flat = x.reshape(-1).tolist()
            flat[place] = number
            yield library.tensor(flat, dtype=library.float64).reshape(tuple(x.shape))


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore")
def test_distributions_refuse_the_numbers_that_pytorchs_refuse() -> None:
    # All, where it says so: other errors there are of a dtype, or a Cholesky factor, inside.
    judge((f for f in of_numbers() if isinstance(f.there, ValueError)), 100, 0)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SAMPLES)
def test_shapes_that_distributions_are_expanded_to_are_shapes(name: str) -> None:
    # A length of -1 was kept as it was: batch_shape said -1, and draws failed later.
    distribution = SAMPLES[name].made(wg)
    for shape, kind in (((-1,), ValueError), (3, TypeError), ((1.5,), TypeError)):
        for ask in (distribution.expand, distribution.sample):
            with pytest.raises(kind, match=r"_shape (is a tuple of|cannot have a negative)"):
                ask(shape)


@pytest.mark.parametrize("name", SAMPLES)
def test_truth_values_and_complex_numbers_are_no_outcomes_on_the_line(name: str) -> None:
    # The densities of complex numbers were complex, and True was the number 1 for all.
    distribution = SAMPLES[name].made(wg)
    value = wg.tensor(SAMPLES[name].values).double()
    with pytest.raises((DtypeError, ValueError)):
        distribution.log_prob(value.to(wg.complex128))
    if not distribution.support.is_discrete:
        with pytest.raises((DtypeError, ValueError)):
            distribution.log_prob(value > 0)


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore")
def test_wrong_calls_of_utilities_are_refused_by_the_same_kind_of_error() -> None:
    # Generators and sparse operands that were none showed AttributeErrors; so did map_ and set_.
    judge(of_utilities(), 90, 5)


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore")
def test_wrong_distributions_are_refused_by_the_same_kind_of_error() -> None:
    # Negative sample shapes were NumPy's errors, numbers of draws negative. Truth values count as
    # numbers where they are parameters.
    judge(of_distributions(), 95, 1.6)
