"""Libraries that hold arrays of any kind hold tensors, and samplers call compiled densities."""

import sys

import numpy as np
import pytest

import wengert as wg


def weights():
    return wg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)


def test_xarray_labels_the_dimensions_of_tensors():
    xr = pytest.importorskip("xarray", reason="xarray is not installed")
    x = weights()
    table = xr.DataArray(x, dims=("day", "place"), coords={"place": [10, 20, 30]})
    weight = xr.DataArray(wg.tensor([1.0, 0.0, 2.0]), dims="place")
    for found in (
        np.sin(table),
        table.sel(place=20),
        table.where(table > 2),
        table.T,
        table * weight,
    ):
        assert isinstance(found.data, wg.Tensor)
    (np.sin(table) * weight).sel(place=30).data.sum().backward()
    expected = np.zeros((2, 3))
    expected[:, 2] = 2 * np.cos([3.0, 6.0])
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-5)


def test_xarray_is_used_inside_of_transforms():
    xr = pytest.importorskip("xarray", reason="xarray is not installed")

    def f(x):
        table = xr.DataArray(x, dims=("day", "place"))
        return ((table - table.mean("day")) ** 2).sum().data

    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(wg.grad(f)(x), 2 * (x - x.mean(0)))


@pytest.mark.skipif(sys.version_info < (3, 12), reason="isinstance of protocols asks for x.imag")
def test_xarray_reduces_tensors():
    xr = pytest.importorskip("xarray", reason="xarray is not installed")
    x = weights()
    xr.DataArray(x, dims=("day", "place")).mean("day").data.sum().backward()
    assert x.grad.tolist() == [[0.5] * 3] * 2


def test_dask_computes_in_chunks_of_tensors():
    array = pytest.importorskip("dask.array", reason="Dask is not installed")
    x = weights()
    chunks = array.from_array(x, chunks=(1, 3), asarray=False)
    found = ((np.sin(chunks) @ chunks.T).sum() + chunks.mean()).compute(scheduler="synchronous")
    found.backward()
    y = weights()
    ((y.sin() @ y.T).sum() + y.mean()).backward()
    np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), rtol=1e-5)


def test_emcee_samples_a_compiled_density_one_by_one_and_in_batches():
    emcee = pytest.importorskip("emcee", reason="emcee is not installed")
    stats = wg.scipy.stats
    seen = np.array([1.2, 0.7, 1.9, 1.1])

    def log_density(p):
        prior = stats.norm.logpdf(p[0], 0.0, 10.0) + stats.norm.logpdf(p[1])
        return prior + np.sum(stats.norm.logpdf(seen, p[0], np.exp(p[1])))

    start = np.array([1.2, -0.6]) + 0.05 * np.random.default_rng(3).normal(size=(12, 2))
    chains = []
    for function, at_once in (
        (log_density, False),
        (wg.compile(log_density), False),
        (wg.compile(wg.vmap(log_density)), True),
    ):
        sampler = emcee.EnsembleSampler(12, 2, function, vectorize=at_once)
        sampler.random_state = np.random.RandomState(5).get_state()
        sampler.run_mcmc(start, 60)
        chains.append(sampler.get_chain(discard=20))
        assert 0.3 < sampler.acceptance_fraction.mean() < 0.95
    np.testing.assert_allclose(chains[1], chains[0], rtol=1e-9)
    np.testing.assert_allclose(chains[2], chains[0], rtol=1e-9)
    assert abs(chains[0][..., 0].mean() - seen.mean()) < 0.3
