"""Densities, distribution functions, quantiles, moments and entropies beside SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import wengert as wg
from tests.distributions.samples import SAMPLES, is_discrete
from wengert import distributions

SCIPY = [name for name, sample in SAMPLES.items() if sample.scipy is not None]


def pair(name):
    sample = SAMPLES[name]
    return sample, sample.made(wg), sample.scipy(**sample.given)


def double(number):
    return wg.tensor(number, dtype=wg.float64)


def near(ours, theirs, rtol=1e-10):
    np.testing.assert_allclose(ours.numpy(), theirs, rtol=rtol, atol=1e-12)


@pytest.mark.parametrize("name", SCIPY)
def test_log_prob(name):
    sample, ours, theirs = pair(name)
    expected = (theirs.logpmf if is_discrete(sample) else theirs.logpdf)(sample.values)
    near(ours.log_prob(sample.values), expected)


# The moments of angles are circular, not those of numbers.
@pytest.mark.parametrize("name", [name for name in SCIPY if name != "VonMises"])
def test_moments(name):
    _, ours, theirs = pair(name)
    mean, variance = theirs.stats()
    near(ours.mean, np.where(np.isinf(mean) & (name == "Cauchy"), np.nan, mean), 1e-9)
    near(ours.variance, np.where(np.isnan(variance) & (name == "Cauchy"), np.inf, variance))
    near(ours.stddev, np.sqrt(ours.variance.numpy()))


def has(distribution, method):
    of_all = distributions.Distribution, distributions.ExponentialFamily
    member = getattr(type(distribution), method)
    return all(member is not getattr(base, method) for base in of_all)


@pytest.mark.parametrize("name", [n for n in SCIPY if has(SAMPLES[n].made(wg), "entropy")])
def test_entropy(name):
    _, ours, theirs = pair(name)
    near(ours.entropy(), theirs.entropy(), 1e-7)
    near(ours.perplexity(), np.exp(ours.entropy().numpy()))


@pytest.mark.parametrize("name", SCIPY)
def test_distribution_functions_and_quantiles(name):
    sample, ours, theirs = pair(name)
    if not has(ours, "cdf"):
        with pytest.raises(NotImplementedError, match="does not implement cdf"):
            ours.cdf(sample.values)
        return
    near(ours.cdf(sample.values), theirs.cdf(sample.values), 1e-9)
    u = np.array([[0.01, 0.3, 0.5], [0.6, 0.9, 0.999]])
    near(ours.icdf(u), theirs.ppf(u), 1e-9)
    near(ours.cdf(ours.icdf(u)), u, 1e-9)


def test_dirichlet():
    sample = SAMPLES["Dirichlet"]
    ours = sample.made(wg)
    for i, (a, x) in enumerate(zip(sample.given["concentration"], sample.values, strict=True)):
        theirs = stats.dirichlet(a)
        near(ours.log_prob(sample.values)[i], theirs.logpdf(x))
        near(ours.entropy()[i], theirs.entropy())
        near(ours.mean[i], theirs.mean())
        near(ours.variance[i], theirs.var())


@pytest.mark.parametrize("name", [n for n in SAMPLES if n.startswith("MultivariateNormal")])
def test_multivariate_normal(name):
    sample = SAMPLES[name]
    ours = sample.made(wg)
    for i, (loc, x) in enumerate(zip(sample.given["loc"], sample.values, strict=True)):
        matrix = next(iter(m for k, m in sample.given.items() if k != "loc"))
        covariance = {
            "covariance_matrix": lambda m: m,
            "precision_matrix": np.linalg.inv,
            "scale_tril": lambda m: m @ m.T,
        }[list(sample.given)[1]](matrix)
        theirs = stats.multivariate_normal(loc, covariance)
        near(ours.log_prob(sample.values)[i], theirs.logpdf(x))
        near(ours.entropy()[i], theirs.entropy())
        near(ours.covariance_matrix[i], covariance)
        near(ours.precision_matrix[i], np.linalg.inv(covariance))
        near(ours.variance[i], np.diag(covariance))


@pytest.mark.parametrize("name", ["Multinomial", "Multinomial of logits"])
def test_multinomial(name):
    sample = SAMPLES[name]
    ours = sample.made(wg)
    for i, (p, x) in enumerate(zip(ours.probs.numpy(), sample.values, strict=True)):
        theirs = stats.multinomial(5, p / p.sum())
        near(ours.log_prob(sample.values)[i], theirs.logpmf(x))
        near(ours.entropy()[i], theirs.entropy())
        near(ours.variance[i], np.diag(theirs.cov()))


@pytest.mark.parametrize("kind", ["Categorical", "OneHotCategorical"])
def test_categories(kind):
    probs = np.array([[0.2, 0.3, 0.5], [0.6, 0.1, 0.3]])
    for given in ({"probs": 2 * probs}, {"logits": np.log(probs) + 1}):
        ours = getattr(distributions, kind)(**given)
        near(ours.probs, probs)
        near(ours.logits, np.log(probs))
        near(ours.log_prob(ours.enumerate_support()).T, np.log(probs))
        near(ours.entropy(), stats.entropy(probs, axis=1))
    one_hot = kind.startswith("OneHot")
    assert ours.mode.tolist() == ([[0, 0, 1], [1, 0, 0]] if one_hot else [2, 0])


def test_impossible_categories_have_probability_zero_and_entropy_is_finite():
    d = distributions.Categorical(logits=wg.tensor([0.0, -np.inf, 0.0]))
    near(d.entropy(), np.log(2), 1e-6)
    assert d.log_prob(1).item() == -np.inf
    m = distributions.Multinomial(2, logits=wg.tensor([0.0, -np.inf, 0.0]))
    near(m.log_prob(wg.tensor([1.0, 0.0, 1.0])).exp(), 0.5, 1e-6)


FINITE = ["Bernoulli", "Binomial", "Categorical", "OneHotCategorical"]


@pytest.mark.parametrize("name", FINITE)
def test_probabilities_of_all_outcomes_sum_to_one(name):
    d = SAMPLES[name].made(wg)
    near(d.log_prob(d.enumerate_support()).exp().sum(0), np.ones(d.batch_shape))


def test_outside_of_the_support_the_density_is_zero_where_nothing_is_validated():
    silent = {"validate_args": False}
    for d, x in [
        (distributions.Uniform(0.0, 1.0, **silent), [-0.5, 1.0]),
        (distributions.HalfNormal(1.0, **silent), [-0.5, -2.0]),
    ]:
        assert d.log_prob(wg.tensor(x)).tolist() == [-np.inf, -np.inf]


def test_modes_are_where_the_density_is_largest():
    for name in ("Normal", "LogNormal", "Laplace", "Cauchy", "Gumbel", "StudentT"):
        d = SAMPLES[name].made(wg)
        at = d.log_prob(d.mode)
        assert (at >= d.log_prob(d.mode * 1.001)).all()
        assert (at >= d.log_prob(d.mode * 0.999)).all()
    assert distributions.Beta(3.0, 2.0).mode.item() == pytest.approx(2 / 3)
    assert distributions.Beta([0.5, 2.0], [2.0, 0.5]).mode.tolist() == [0, 1]
    assert distributions.Dirichlet([0.5, 0.7]).mode.tolist() == [0, 1]
    assert distributions.Binomial(6, 0.5).mode.item() == 3
    assert np.isnan(distributions.Bernoulli(0.5).mode.item())


def test_heavy_tails_have_no_moments():
    t = distributions.StudentT([0.5, 1.5, 3.0])
    assert t.mean.isnan().tolist() == [True, False, False]
    assert t.variance.isnan().tolist() == [True, False, False]
    assert t.variance.isinf().tolist() == [False, True, False]
    for d in (
        distributions.Pareto(1.0, [0.5, 1.5, 3.0]),
        distributions.InverseGamma([0.5, 1.5, 3.0], 1.0),
        distributions.GeneralizedPareto(0.0, 1.0, [2.0, 0.7, 0.3]),
    ):
        assert d.mean.isinf().tolist() == [True, False, False]
        assert d.variance.isinf().tolist() == [True, True, False]
    f = distributions.FisherSnedecor(3.0, [1.0, 3.0, 5.0])
    assert f.mean.isnan().tolist() == [True, False, False]
    assert f.variance.isnan().tolist() == [True, True, False]
    assert distributions.HalfCauchy(1.0).mean.item() == np.inf


def test_a_generalized_pareto_distribution_without_concentration_is_exponential():
    limit = distributions.GeneralizedPareto(double(0.0), 2.0, [1e-9, 0.0])
    exponential = distributions.Exponential(double(0.5))
    x = double(0.1)
    near(limit.log_prob(x), exponential.log_prob(x).expand(2).numpy(), 1e-7)
    near(limit.icdf(x), exponential.icdf(x).expand(2).numpy(), 1e-7)
    c = wg.zeros(1, dtype=wg.float64, requires_grad=True)
    distributions.GeneralizedPareto(0.0, 2.0, c).log_prob(x).sum().backward()
    assert c.grad.isfinite().all()


def test_continuous_bernoulli_is_smooth_at_one_half():
    p = wg.linspace(0.49, 0.51, 2001, dtype=wg.float64)
    d = distributions.ContinuousBernoulli(p)
    for quantity in (d.mean, d.variance, d.entropy(), d.log_prob(0.3), d.cdf(0.3), d.icdf(0.3)):
        steps = quantity.diff()
        assert (steps.diff().abs() < 1e-8).all()
    for q in (0.1, 0.5, 0.9):
        x = np.linspace(0, 1, 100001)
        d = distributions.ContinuousBernoulli(double(q))
        density = d.log_prob(x).exp().numpy()
        near(d.mean, np.trapezoid(x * density, x), 1e-8)
        assert np.trapezoid(density, x) == pytest.approx(1)
        assert np.trapezoid((x - d.mean.item()) ** 2 * density, x) == pytest.approx(
            d.variance.item()
        )


def test_kumaraswamy_moments_and_entropy_are_integrals_of_its_density():
    d = distributions.Kumaraswamy(double(2.0), 3.0)
    x = np.linspace(0, 1, 200001)[1:-1]
    log = d.log_prob(x).numpy()
    density = np.exp(log)
    near(d.mean, np.trapezoid(x * density, x), 1e-6)
    near(d.variance, np.trapezoid((x - d.mean.item()) ** 2 * density, x), 1e-6)
    near(d.entropy(), -np.trapezoid(log * density, x), 1e-6)
    assert x[np.argmax(density)] == pytest.approx(d.mode.item(), abs=1e-5)
    near(d.cdf(0.3), density[x <= 0.3].sum() * (x[1] - x[0]), 1e-4)


def test_angles_count_modulo_a_turn():
    d = distributions.VonMises(double(0.5), 3.0)
    near(d.log_prob(0.7 + 2 * np.pi), d.log_prob(0.7).item())
    r = stats.vonmises(3.0, 0.5)
    near(d.variance, 1 - abs(r.expect(lambda x: np.exp(1j * x), complex_func=True)), 1e-7)
    huge = distributions.VonMises(double(0.0), 1e6)  # I0 overflows
    near(huge.log_prob(0.001), stats.norm(0, 1e-3).logpdf(0.001), 1e-5)


def test_wishart_matrices():
    sample = SAMPLES["Wishart"]
    ours = sample.made(wg)
    for i, df in enumerate(sample.given["df"]):
        theirs = stats.wishart(df, sample.given["covariance_matrix"])
        near(ours.log_prob(sample.values)[i], theirs.logpdf(sample.values))
        near(ours.mean[i], theirs.mean())
        near(ours.variance[i], theirs.var())
        near(ours.entropy()[i], theirs.entropy())
    assert ours.mode.isnan().all((-2, -1)).tolist() == [True, False]
    with pytest.raises(ValueError, match="parameter df"):
        distributions.Wishart(1.5, np.eye(3))


def test_lkj_densities_of_two_by_two_matrices_integrate_to_one():
    """L = [[1, 0], [r, sqrt(1 - r^2)]] is given by the correlation r."""
    for concentration in (0.7, 1.0, 3.0):
        d = distributions.LKJCholesky(2, double(concentration))
        r = np.linspace(-1, 1, 400001)[1:-1]
        zero, one = np.zeros_like(r), np.ones_like(r)
        factors = np.stack([one, zero, r, np.sqrt(1 - r * r)], -1).reshape(-1, 2, 2)
        density = d.log_prob(factors).exp().numpy()
        assert np.trapezoid(density, r) == pytest.approx(1, rel=2e-3)


def test_numbers_take_the_dtype_of_the_parameters():
    d = distributions.Normal(wg.tensor(0.1, dtype=wg.float64), 0.3)
    assert d.scale.item() == 0.3  # not the single-precision number next to it
    assert d.log_prob(0.7).item() == pytest.approx(stats.norm(0.1, 0.3).logpdf(0.7), rel=1e-15)
    assert d.icdf(0.7).item() == pytest.approx(stats.norm(0.1, 0.3).ppf(0.7), rel=1e-14)
    assert distributions.Normal([0.1, 0.2], np.array([0.3, 0.4])).loc.tolist() == [0.1, 0.2]
    assert distributions.Normal(0.1, 0.3).loc.dtype == wg.float32


def test_integers_become_floats():
    d = distributions.Normal(wg.tensor([0, 1]), 2)
    assert d.loc.dtype == wg.float32
    assert d.log_prob(wg.tensor([0, 1])).dtype == wg.float32


def test_the_other_parameter_is_computed_when_asked_for_with_its_history():
    p = wg.tensor([0.2, 0.7], requires_grad=True, dtype=wg.float64)
    with wg.no_grad():
        d = distributions.Bernoulli(p)
        logits = d.logits
    (g,) = wg.autograd.grad(logits.sum(), p)
    near(g, 1 / (p * (1 - p)).detach().numpy())
    assert d.logits is logits
    assert repr(d) == "Bernoulli(probs: torch.Size([2]))"


@pytest.mark.parametrize(
    ("made", "parameters", "at"),
    [
        (distributions.Beta, (2.3, 0.7), (0.1, 0.5, 0.97)),
        (distributions.Beta, (0.02, 40.0), (1e-9, 1e-3, 0.01)),
        (distributions.FisherSnedecor, (3.0, 7.5), (0.2, 1.0, 6.0)),
        (distributions.StudentT, (2.5, 0.3, 2.0), (-30.0, 0.2, 4.0)),
        (distributions.StudentT, (60.0, 0.0, 1.0), (-3.0, 0.0, 1.5)),
    ],
)
def test_distribution_functions_are_differentiable_by_everything(made, parameters, at):
    leaves = [double(p).requires_grad_() for p in (*parameters, *at)]

    def value(*leaves):
        d = made(*leaves[: len(parameters)])
        return wg.stack([d.cdf(x) for x in leaves[len(parameters) :]])

    found = wg.autograd.functional.jacobian(value, tuple(leaves))
    for k, leaf in enumerate(leaves):
        h = 1e-6 * (abs(leaf.item()) or 1.0)
        ends = []
        for sign in (1, -1):
            moved = [x + sign * h if i == k else x for i, x in enumerate(leaves)]
            ends.append(value(*moved).detach().numpy())
        near(found[k], (ends[0] - ends[1]) / (2 * h), 2e-7)


def test_students_tails_keep_their_digits():
    d = distributions.StudentT(double(3.0))
    near(d.cdf(double([-1e4, -1e8])) / stats.t(3).cdf([-1e4, -1e8]), np.ones(2), 1e-10)
    x = double(0.0).requires_grad_()
    df = double(3.0).requires_grad_()
    distributions.StudentT(df).cdf(x).backward()
    assert x.grad.item() == pytest.approx(stats.t(3).pdf(0))
    assert df.grad.item() == 0


def test_partial_moments_of_the_beta_distribution_over_ten_decades():
    from wengert.rules.incomplete_beta import moment

    rng = np.random.default_rng(0)
    a, b = 10 ** rng.uniform(-4, 5, (2, 300))
    x = stats.beta(a, b).ppf(rng.uniform(0, 1, 300))
    a, b, x = (v[(x > 1e-300) & (x < 1)] for v in (a, b, x))
    # M_10 is int_0^x p(t) (log t - E log t) dt, which is negative; by a it falls, then rises.
    assert np.all(moment(a, b, x, 1, 0) <= 0)
    assert np.all(moment(a, b, x, 0, 1) >= 0)
    for m, n in ((1, 0), (0, 1), (1, 1), (2, 0)):
        whole = moment(a, b, np.ones_like(x), m, n)
        mirrored = whole - moment(b, a, 1 - x, n, m)
        middle = np.abs(x - 0.5) < 0.499  # where 1 - x is exact enough
        scale = np.abs(whole) + np.abs(mirrored)
        assert np.all(np.abs(moment(a, b, x, m, n) - mirrored)[middle] <= 1e-9 * scale[middle])
    assert np.isnan(moment(-1.0, 1.0, 0.5, 1, 0))
    assert moment(2.0, 3.0, 0.0, 1, 0) == 0
