"""Functions that make tensors beside PyTorch's: values, dtypes, `out=` and errors."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg

torch = pytest.importorskip("torch")

from tests.parity.test_statistics import error_of  # noqa: E402

MADE = {
    "arange": lambda t: t.arange(5),
    "arange by tensors": lambda t: t.arange(t.tensor(3), t.tensor(7.0)),
    "arange of whole steps": lambda t: t.arange(1.0, 5.5, 2.0, dtype=t.int64),
    "arange backwards": lambda t: t.arange(5, 0, -2),
    "linspace": lambda t: t.linspace(-1, 2, 7),
    "linspace of whole numbers": lambda t: t.linspace(0, -10, 4, dtype=t.int64),
    "linspace of one": lambda t: t.linspace(3, 4, 1),
    "linspace of complex numbers": lambda t: t.linspace(1j, 2, 3),
    "logspace": lambda t: t.logspace(0, 2, 4),
    "logspace of whole numbers": lambda t: t.logspace(0, 2, 4, dtype=t.int64),
    "logspace to base 2": lambda t: t.logspace(4.3, -3, 5, 2.0),
    "eye": lambda t: t.eye(2, 3, dtype=t.float64),
    "full": lambda t: t.full((2, 2), 3),
    "full of truth": lambda t: t.full((2,), True),
    "full_like": lambda t: t.full_like(t.zeros(2, dtype=t.float64), 7),
    "scalar_tensor": lambda t: t.scalar_tensor(2),
    "tril_indices": lambda t: t.tril_indices(3, 4, -1),
    **{
        f"{name}_window{'' if periodic else ' symmetric'}": (
            lambda t, name=name, periodic=periodic: getattr(t, f"{name}_window")(6, periodic)
        )
        for name in ("hann", "hamming", "blackman", "bartlett", "kaiser")
        for periodic in (True, False)
    },
}
SETTINGS = {
    "exponential": {"tau": 2.5},
    "gaussian": {"std": 1.5},
    "general_cosine": {"a": [0.4, 0.3, 0.3]},
    "general_hamming": {"alpha": 0.6},
    "kaiser": {"beta": 3.0},
}
WINDOWS = (
    *("bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine"),
    *("general_hamming", "hamming", "hann", "kaiser", "nuttall"),
)


def agree(theirs, ours):
    assert (str(ours.dtype), tuple(ours.shape)) == (
        str(theirs.dtype).removeprefix("torch."),
        tuple(theirs.shape),
    )
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", MADE)
def test_what_is_made_agrees(name):
    agree(MADE[name](torch), MADE[name](wg))


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("n", [0, 1, 2, 5, 8])
@pytest.mark.parametrize("sym", [True, False])
def test_windows_agree(name, n, sym):
    options = {"sym": sym, **SETTINGS.get(name, {})}
    theirs = getattr(torch.signal.windows, name)(n, dtype=torch.float64, **options)
    agree(theirs, getattr(wg.signal.windows, name)(n, dtype=wg.float64, **options))


INTO = {
    "zeros": lambda t, out: t.zeros(2, 3, out=out),
    "arange": lambda t, out: t.arange(4, out=out),
    "linspace": lambda t, out: t.linspace(0, 1, 3, out=out),
    "logspace": lambda t, out: t.logspace(0, 1, 3, out=out),
    "eye": lambda t, out: t.eye(2, out=out),
    "full": lambda t, out: t.full((2,), 3, out=out),
    "add": lambda t, out: t.add(t.ones(2), 1, out=out),
    "abs": lambda t, out: t.abs(t.tensor([-1.0]), out=out),
    "sign": lambda t, out: t.sign(t.tensor([-1.0]), out=out),
    "mean": lambda t, out: t.mean(t.ones(2, 2), 0, out=out),
    "renorm": lambda t, out: t.renorm(t.ones(2, 2), 2, 0, 1.0, out=out),
    "quantile": lambda t, out: t.quantile(t.arange(4.0), 0.5, out=out),
}


@pytest.mark.parametrize("name", INTO)
@pytest.mark.parametrize("size", [0, 7])
@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.filterwarnings("ignore:The number of elements in the out tensor")
def test_out_takes_on_the_shape_and_keeps_its_dtype(name, size):
    theirs, ours = (t.zeros(size, dtype=t.float32) for t in (torch, wg))
    assert INTO[name](wg, ours) is ours
    agree(INTO[name](torch, theirs), ours)


def test_out_of_several_results_is_a_tuple():
    hist, bounds = wg.empty(0), wg.empty(0)
    result = wg.histogram(wg.arange(4.0), 2, out=(hist, bounds))
    assert result.hist is hist
    assert bounds.tolist() == [0.0, 1.5, 3.0]
    with pytest.raises(TypeError, match="tuple of 2 tensors"):
        wg.histogram(wg.arange(4.0), 2, out=hist)
    with pytest.raises(TypeError, match="must have 2 tensors"):
        wg.histogram(wg.arange(4.0), 2, out=(hist,))


def test_empty_permuted_lies_in_memory_as_told():
    sizes, order = (2, 3, 4), (2, 0, 1)
    assert wg.empty_permuted(sizes, order).stride() == torch.empty_permuted(sizes, order).stride()


BAD = {
    "step 0": lambda t: t.arange(0, 1, 0),
    "step the wrong way": lambda t: t.arange(0, 1, -1),
    "no end": lambda t: t.arange(float("inf")),
    "arange of truth": lambda t: t.arange(2, dtype=t.bool),
    "negative steps": lambda t: t.linspace(0, 1, -1),
    "half a step": lambda t: t.linspace(0, 1, 2.5),
    "negative identity": lambda t: t.eye(-1),
    "negative size": lambda t: t.zeros(-1),
    "another dtype than that of out=": lambda t: t.zeros(2, out=t.zeros(2), dtype=t.float64),
    "a dimension twice": lambda t: t.empty_permuted((2, 3), (0, 0)),
    "strides for another rank": lambda t: t.empty_strided((2, 3), (1,)),
    "window of integers": lambda t: t.hann_window(3, dtype=t.int64),
    "negative window": lambda t: t.hann_window(-1),
    "negative symmetric window": lambda t: t.signal.windows.hann(-1),
    "window without cosines": lambda t: t.signal.windows.general_cosine(3, a=[]),
    "gaussian of no width": lambda t: t.signal.windows.gaussian(3, std=0.0),
    "centre of a symmetric window": lambda t: t.signal.windows.exponential(3, center=1.0),
    "an unknown option": lambda t: t.ones(2, colour="red"),
    "integers that require grad": lambda t: t.arange(3, requires_grad=True),
    "multinomial of integers": lambda t: t.multinomial(t.ones(3).long(), 1),
    "multinomial of none": lambda t: t.multinomial(t.ones(3), 0),
    "exponential of rate 0": lambda t: t.ones(3).exponential_(0),
    "cauchy of no width": lambda t: t.ones(3).cauchy_(0, 0),
    "geometric of no chance": lambda t: t.ones(3).geometric_(0),
    "normal without a size": lambda t: t.normal(0, 1),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_the_same_kind_of_error(name):
    with pytest.raises(error_of(BAD[name], torch)):
        BAD[name](wg)
