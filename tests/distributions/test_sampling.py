"""Samples: their distribution, shapes, dtypes, repeatability, and derivatives in the parameters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import digamma, polygamma

import wengert as wg
from tests.distributions.samples import LOC, SAMPLES, is_discrete
from wengert import distributions

SCIPY = [name for name, sample in SAMPLES.items() if sample.scipy is not None]
CONTINUOUS = [name for name in SCIPY if not is_discrete(SAMPLES[name])]
DISCRETE = [name for name in SCIPY if is_discrete(SAMPLES[name])]
LEVEL = 1e-3  # of the tests of hypotheses, at fixed seeds


@pytest.mark.parametrize("dtype", [wg.float64, wg.float32])
@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_samples_have_their_distribution(name, dtype):
    sample = SAMPLES[name]
    wg.manual_seed(0)
    given = {k: wg.tensor(v, dtype=dtype) for k, v in sample.given.items()}
    drawn = sample.made(wg, given).sample((4000,))
    assert drawn.dtype == dtype
    theirs, at = sample.scipy(**sample.given), drawn.numpy().astype(float)
    if name == "VonMises":  # SciPy's distribution function is of angles about loc
        at = (at - LOC + np.pi) % (2 * np.pi) - np.pi + LOC
    u = theirs.cdf(at)
    for column in u.T:
        assert stats.kstest(column, "uniform").pvalue > LEVEL


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete_samples_have_their_distribution(name):
    sample = SAMPLES[name]
    wg.manual_seed(0)
    drawn = sample.made(wg).sample((4000,)).numpy()
    expected = sample.scipy(**sample.given)
    for i in range(drawn.shape[1]):
        ends = np.arange(drawn[:, i].max() + 1)[:, None]
        chances = expected.pmf(ends)[:, i]
        common = chances * 4000 >= 5
        found = [(drawn[:, i] == k).sum() for k in ends[common, 0]]
        rest = 4000 - sum(found)
        counts = [*found, rest], [*(4000 * chances[common]), 4000 * (1 - chances[common].sum())]
        if counts[1][-1] < 1:  # too few for the test: they belong to the last but one
            counts = [[*c[:-2], c[-2] + c[-1]] for c in counts]
        assert stats.chisquare(*counts, sum_check=False).pvalue > LEVEL


def test_small_and_large_gamma_variables():
    wg.manual_seed(1)
    for a in (1e-2, 0.3, 1e4):
        d = distributions.Gamma(wg.tensor(a, dtype=wg.float64), 1.0)
        u = stats.gamma(a).cdf(d.sample((3000,)).numpy())
        assert (
            stats.kstest(u[u > 1e-3] if a < 0.1 else u, "uniform", (1e-3 * (a < 0.1),)).pvalue
            > LEVEL
        )
    tiny = distributions.Gamma(wg.tensor(1e-3), 1.0).sample((1000,))
    assert (tiny > 0).all()  # their logarithm is finite, though most are below the smallest number


@pytest.mark.parametrize("name", ["Dirichlet", "OneHotCategorical", "Multinomial",
                                  "LowRankMultivariateNormal", "Wishart", *(
    n for n in SAMPLES if n.startswith("MultivariateNormal")
)])  # fmt: skip
def test_vectors_have_their_means_and_variances(name):
    wg.manual_seed(2)
    d = SAMPLES[name].made(wg)
    drawn = d.sample((20000,)).numpy()
    mean, variance = d.mean.numpy(), d.variance.numpy()
    assert np.all(abs(drawn.mean(0) - mean) < 4.5 * np.sqrt(variance / 20000))
    np.testing.assert_allclose(drawn.var(0), variance, rtol=0.07)
    if name == "MultivariateNormal":
        np.testing.assert_allclose(np.cov(drawn[:, 0].T), d.covariance_matrix.numpy()[0], atol=0.15)


def test_correlations_of_lkj_have_beta_distributions():
    """Lewandowski, Kurowicka and Joe (2009): each is 2 b - 1 for a beta variable b."""
    wg.manual_seed(2)
    for concentration in (0.8, 3.0):
        factors = distributions.LKJCholesky(4, wg.tensor(concentration)).sample((3000,))
        correlations = (factors @ factors.mT).numpy()
        beta = stats.beta(concentration + 1, concentration + 1)
        for i, j in zip(*np.tril_indices(4, -1), strict=True):
            u = beta.cdf((correlations[:, i, j] + 1) / 2)
            assert stats.kstest(u, "uniform").pvalue > LEVEL


def test_relaxed_samples_have_their_distribution_and_become_discrete():
    wg.manual_seed(2)
    logits = np.array([0.5, -1.0])
    d = distributions.RelaxedBernoulli(wg.tensor(0.7, dtype=wg.float64), logits=logits)
    drawn = d.sample((4000,)).numpy()
    for column, logit in zip(drawn.T, logits, strict=True):
        u = stats.logistic(logit / 0.7, 1 / 0.7).cdf(np.log(column) - np.log1p(-column))
        assert stats.kstest(u, "uniform").pvalue > LEVEL
    x = np.linspace(0, 1, 400003)[1:-1, None]
    density = d.log_prob(x).exp().numpy()
    np.testing.assert_allclose(np.trapezoid(density, x, axis=0), 1, rtol=1e-3)

    cold = distributions.RelaxedOneHotCategorical(wg.tensor(0.01), np.array([0.2, 0.3, 0.5]))
    drawn = cold.sample((5000,))
    assert ((drawn > 0.99) | (drawn < 0.01)).float().mean() > 0.97
    counts = np.bincount(drawn.argmax(-1).numpy(), minlength=3)
    assert stats.chisquare(counts, [1000, 1500, 2500]).pvalue > LEVEL


def test_relaxed_samples_are_differentiable_in_their_probabilities():
    wg.manual_seed(2)
    logits = wg.zeros(3, dtype=wg.float64, requires_grad=True)
    d = distributions.RelaxedOneHotCategorical(wg.tensor(0.5), logits=logits)
    d.rsample((2000,))[:, 0].mean().backward()
    assert logits.grad[0] > 0 > logits.grad[1]
    assert logits.grad.sum().abs() < 1e-10
    a = wg.tensor([0.3, 0.6], requires_grad=True)
    distributions.ContinuousBernoulli(a).rsample((500,)).mean().backward()
    assert (a.grad > 0).all()


def test_categories_come_as_often_as_they_should():
    wg.manual_seed(3)
    probs = np.array([[0.2, 0.3, 0.5], [0.6, 0.0, 0.4]])
    drawn = distributions.Categorical(probs).sample((5000,))
    assert drawn.dtype == wg.int64
    for column, p in zip(drawn.numpy().T, probs, strict=True):
        counts = np.bincount(column, minlength=3)
        assert counts[p == 0].sum() == 0
        assert stats.chisquare(counts[p > 0], 5000 * p[p > 0]).pvalue > LEVEL


def test_categories_are_found_in_the_same_way_in_few_rows_and_in_many():
    wg.manual_seed(0)
    weights = wg.rand(6, 5)
    many = distributions.Categorical(weights)
    for shape in [(), (3,), (7, 2), (40,)]:
        wg.manual_seed(1)
        found = many.sample(shape)
        wg.manual_seed(1)
        u = distributions.distribution.uniforms((*shape, 6), weights)
        ends = many.probs.cumsum(-1)
        expected = (u[..., None] * ends[:, -1:] >= ends[:, :-1]).sum(-1)
        assert wg.equal(found, expected)


@pytest.mark.parametrize("name", SAMPLES)
def test_shapes_support_and_repetition(name):
    d = SAMPLES[name].made(wg)
    for shape in [(), (5,), (2, 3)]:
        wg.manual_seed(4)
        first = d.sample(shape)
        assert tuple(first.shape) == (*shape, *d.batch_shape, *d.event_shape)
        assert d.support.check(first).all()
        wg.manual_seed(4)
        assert wg.equal(d.sample(shape), first)
    assert not d.sample().requires_grad


def test_sample_n_is_as_old_programs_have_it():
    with pytest.warns(UserWarning, match=r"Use sample\(\(n,\)\)"):
        assert distributions.Normal(wg.zeros(2), 1.0).sample_n(3).shape == (3, 2)


def test_halves_can_be_drawn():
    d = distributions.Normal(wg.zeros(3, dtype=wg.float16), 1.0)
    assert d.sample((2,)).dtype == wg.float16
    assert distributions.Gamma(wg.ones(3, dtype=wg.float16), 1.0).sample().dtype == wg.float16


# ---- derivatives -------------------------------------------------------------------------------

# One random number makes one sample, so that its derivative is determined by the distribution.
MONOTONE = [n for n in CONTINUOUS if n not in ("StudentT", "Beta", "FisherSnedecor", "VonMises")]


@pytest.mark.parametrize("name", MONOTONE)
def test_a_sample_moves_so_that_its_quantile_stays(name):
    """F(x(theta), theta) is constant: dx/dtheta = -(dF/dtheta) / p (Figurnov et al., 2018)."""
    sample = SAMPLES[name]
    wg.manual_seed(5)
    parameters = sample.parameters(wg, requires_grad=True)
    x = sample.made(wg, parameters).rsample()
    x.sum().backward()
    at = x.detach().numpy()
    density = sample.scipy(**sample.given).pdf(at)
    h = 1e-5
    for name_of, value in sample.given.items():
        up, down = (
            sample.scipy(**{**sample.given, name_of: value + step}).cdf(at) for step in (h, -h)
        )
        expected = -(up - down) / (2 * h) / density
        np.testing.assert_allclose(parameters[name_of].grad.numpy(), expected, rtol=2e-5, atol=1e-7)


def mean_derivative(make, values, moment, n=40000):
    """The mean of d moment(x) / d values over samples, and its standard error, by entry."""
    wg.manual_seed(6)
    leaves = [
        wg.tensor(np.broadcast_to(v, (n, *np.shape(v))).copy(), requires_grad=True) for v in values
    ]
    moment(make(*leaves).rsample()).sum().backward()
    found = [leaf.grad.numpy() for leaf in leaves]
    return [(g.mean(0), g.std(0) / np.sqrt(n)) for g in found]


def test_beta_samples_have_unbiased_derivatives():
    a, b = 1.5, 2.5
    found = mean_derivative(distributions.Beta, (a, b), lambda x: x)
    for (mean, error), expected in zip(found, (b / (a + b) ** 2, -a / (a + b) ** 2), strict=True):
        assert abs(mean - expected) < 4 * error
    found = mean_derivative(distributions.Beta, (a, b), lambda x: x.log())
    of_a, of_b = polygamma(1, a) - polygamma(1, a + b), -polygamma(1, a + b)
    for (mean, error), expected in zip(found, (of_a, of_b), strict=True):
        assert abs(mean - expected) < 4 * error


def test_dirichlet_samples_have_unbiased_derivatives():
    a = np.array([0.7, 1.0, 3.0])
    ((mean, error),) = mean_derivative(
        distributions.Dirichlet, (a,), lambda x: x[..., 0].log() + 2 * x[..., 1].log()
    )
    total = -3 * polygamma(1, a.sum())
    expected = polygamma(1, a) * [1, 2, 0] + total
    assert np.all(abs(mean - expected) < 4 * error)
    assert digamma(1.0) < 0  # the moment itself is finite


def test_student_samples_have_unbiased_derivatives():
    df, scale = 9.0, 1.5
    found = mean_derivative(
        lambda df, scale: distributions.StudentT(df, 0.0, scale), (df, scale), lambda x: x * x
    )
    expected = (-2 * scale**2 / (df - 2) ** 2, 2 * scale * df / (df - 2))
    for (mean, error), value in zip(found, expected, strict=True):
        assert abs(mean - value) < 4 * error


def test_normal_vectors_have_unbiased_derivatives():
    loc, factor = np.array([0.5, -1.0]), np.array([[1.0, 0.0], [0.5, 2.0]])
    (of_loc, _), (of_factor, error) = mean_derivative(
        lambda loc, factor: distributions.MultivariateNormal(loc, scale_tril=factor),
        (loc, factor),
        lambda x: x[..., 0] * x[..., 1] + x[..., 1],
    )
    # E x0 x1 = loc0 loc1 + (L L^T)_01
    np.testing.assert_allclose(of_loc, [loc[1], loc[0] + 1], atol=0.06)
    # x = L z, and the derivative by L_ij is that by x_i times z_j.
    expected = [[factor[1, 0], factor[1, 1]], [factor[0, 0], 0.0]]
    assert np.all(abs(of_factor - expected) < 4 * error + 1e-12)


def test_normal_vectors_of_a_covariance_are_differentiable_in_it():
    covariance = np.array([[2.0, 0.3], [0.3, 1.0]])
    wg.manual_seed(7)
    c = wg.tensor(covariance, requires_grad=True)
    x = distributions.MultivariateNormal(wg.zeros(2, dtype=wg.float64), c).rsample((20000,))
    (x[:, 0] * x[:, 1]).mean().backward()
    assert (c.grad[0, 1] + c.grad[1, 0]).item() == pytest.approx(1.0, abs=0.05)


def test_straight_through_samples_have_the_gradient_of_the_probabilities():
    logits = wg.tensor([0.1, 0.5, -0.3], requires_grad=True)
    d = distributions.OneHotCategoricalStraightThrough(logits=logits)
    x = d.rsample()
    assert sorted(x.tolist()) == pytest.approx([0, 0, 1], abs=1e-6)
    weights = wg.tensor([1.0, 2.0, 3.0])
    (through,) = wg.autograd.grad((x * weights).sum(), logits, retain_graph=True)
    (direct,) = wg.autograd.grad((d.probs * weights).sum(), logits)
    assert wg.allclose(through, direct)


def test_second_derivatives_of_samples():
    """x = loc + scale z is linear in scale; exp(x) is not."""
    wg.manual_seed(8)
    scale = wg.tensor(0.5, requires_grad=True, dtype=wg.float64)
    x = distributions.LogNormal(0.0, scale).rsample()
    (first,) = wg.autograd.grad(x, scale, create_graph=True)
    (second,) = wg.autograd.grad(first, scale)
    z = x.detach().log() / 0.5
    assert second.item() == pytest.approx((z**2 * x.detach()).item())
    a = wg.tensor(1.7, requires_grad=True, dtype=wg.float64)
    wg.manual_seed(9)
    x = distributions.Gamma(a, 1.0).rsample()
    (first,) = wg.autograd.grad(x, a, create_graph=True)
    (second,) = wg.autograd.grad(first, a)
    u = stats.gamma(1.7).cdf(x.item())
    h = 1e-3
    quantiles = [stats.gamma(1.7 + k * h).ppf(u) for k in (-1, 0, 1)]
    assert second.item() == pytest.approx(np.diff(quantiles, 2).item() / h**2, rel=1e-4)


def test_what_has_no_reparameterised_samples_says_what_to_do():
    with pytest.raises(NotImplementedError, match="weigh gradients by log_prob"):
        distributions.Poisson(2.0).rsample()


def test_score_function_estimates_the_gradient_of_discrete_samples():
    wg.manual_seed(10)
    p = wg.tensor(0.3, requires_grad=True, dtype=wg.float64)
    d = distributions.Bernoulli(p)
    x = d.sample((20000,))
    ((x * 5).detach() * d.log_prob(x)).mean().backward()  # d/dp E[5 x] = 5
    assert p.grad.item() == pytest.approx(5, abs=0.3)
