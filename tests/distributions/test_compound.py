"""Distributions made from others; expansion, validation, divergences, and use under transforms."""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pytest
from scipy import stats

import wengert as wg
from tests.distributions.samples import SAMPLES, is_discrete
from wengert import distributions as d


def double(*numbers):
    return wg.tensor(numbers, dtype=wg.float64)


# ---- made from others --------------------------------------------------------------------------


def test_independent_sums_over_the_last_dimensions():
    base = d.Normal(wg.zeros(4, 3, 2), wg.ones(2))
    for n, batch, event in [(0, (4, 3, 2), ()), (1, (4, 3), (2,)), (2, (4,), (3, 2))]:
        whole = d.Independent(base, n)
        assert (tuple(whole.batch_shape), tuple(whole.event_shape)) == (batch, event)
        x = whole.rsample((5,))
        assert tuple(x.shape) == (5, 4, 3, 2)
        dims = tuple(range(-n, 0))
        expected = base.log_prob(x).sum(dims) if n else base.log_prob(x)
        assert wg.allclose(whole.log_prob(x), expected)
        assert tuple(whole.entropy().shape) == batch
        assert whole.expand((7, *batch)).sample().shape == (7, 4, 3, 2)
    assert repr(d.Independent(d.Normal(0.0, 1.0).expand((2,)), 1)) == (
        "Independent(Normal(loc: torch.Size([2]), scale: torch.Size([2])), 1)"
    )


def test_transformed_distributions_agree_with_those_that_have_a_name():
    normal = d.Normal(double(0.3, -1.0), 0.5)
    log_normal = d.TransformedDistribution(normal, d.ExpTransform())
    named = d.LogNormal(double(0.3, -1.0), 0.5)
    x = double(0.7, 2.0)
    assert wg.allclose(log_normal.log_prob(x), named.log_prob(x))
    assert wg.allclose(log_normal.cdf(x), named.cdf(x))
    assert wg.allclose(log_normal.icdf(double(0.1, 0.9)), named.icdf(double(0.1, 0.9)))
    wg.manual_seed(0)
    first = log_normal.sample((2,))
    wg.manual_seed(0)
    assert wg.allclose(first, named.sample((2,)))


def test_decreasing_transforms_turn_the_distribution_function_round():
    mirrored = d.TransformedDistribution(d.Exponential(double(1.5)), d.AffineTransform(0.0, -2.0))
    theirs = stats.expon(0, 2 / 1.5)
    assert mirrored.cdf(double(-1.0)).item() == pytest.approx(theirs.sf(1.0))
    assert mirrored.icdf(double(0.2)).item() == pytest.approx(-theirs.isf(0.2))
    by_entry = d.TransformedDistribution(
        d.Normal(double(0.0, 0.0), 1.0), d.AffineTransform(0.0, double(1.0, -1.0))
    )
    assert by_entry.cdf(double(1.0, 1.0)).tolist() == pytest.approx([stats.norm.cdf(1.0)] * 2)


def test_a_transform_of_vectors_makes_events_of_a_batch():
    logistic = d.TransformedDistribution(
        d.Normal(wg.zeros(5, 2), wg.ones(2)), d.StickBreakingTransform()
    )
    assert (tuple(logistic.batch_shape), tuple(logistic.event_shape)) == ((5,), (3,))
    x = logistic.rsample((4,))
    assert wg.allclose(x.sum(-1), wg.ones(4, 5))
    assert logistic.log_prob(x).shape == (4, 5)
    assert logistic.expand((6, 5)).sample().shape == (6, 5, 3)


def test_a_transformed_density_integrates_to_one():
    squashed = d.TransformedDistribution(
        d.Normal(double(0.3), 0.8), [d.SigmoidTransform(), d.AffineTransform(-1.0, 2.0)]
    )
    x = np.linspace(-1, 1, 100003)[1:-1]
    density = squashed.log_prob(x).exp().numpy()
    assert np.trapezoid(density, x) == pytest.approx(1, rel=1e-6)
    assert squashed.support.event_dim == 0


MIXTURE = {"weights": double(0.3, 0.7), "loc": double(-1.0, 2.0), "scale": double(0.5, 1.0)}


def mixture(**given):
    given = {**MIXTURE, **given}
    return d.MixtureSameFamily(
        d.Categorical(given["weights"]), d.Normal(given["loc"], given["scale"])
    )


def test_mixtures():
    m = mixture()
    x = np.linspace(-6, 8, 20001)
    parts = 0.3 * stats.norm(-1, 0.5).pdf(x) + 0.7 * stats.norm(2, 1).pdf(x)
    np.testing.assert_allclose(m.log_prob(x).exp().numpy(), parts, rtol=1e-10)
    np.testing.assert_allclose(
        m.cdf(x).numpy(), 0.3 * stats.norm(-1, 0.5).cdf(x) + 0.7 * stats.norm(2, 1).cdf(x)
    )
    assert m.mean.item() == pytest.approx(np.trapezoid(x * parts, x))
    assert m.variance.item() == pytest.approx(np.trapezoid((x - m.mean.item()) ** 2 * parts, x))
    wg.manual_seed(0)
    drawn = m.sample((4000,))
    assert stats.kstest(m.cdf(drawn).numpy(), "uniform").pvalue > 1e-3


def test_mixtures_of_vectors_and_batches():
    weights = wg.rand(4, 3)
    m = d.MixtureSameFamily(
        d.Categorical(weights), d.Independent(d.Normal(wg.randn(4, 3, 2), 1.0), 1)
    )
    assert (tuple(m.batch_shape), tuple(m.event_shape)) == ((4,), (2,))
    x = m.sample((5,))
    assert x.shape == (5, 4, 2)
    assert m.log_prob(x).shape == (5, 4)
    assert m.mean.shape == (4, 2)
    assert m.expand((6, 4)).log_prob(x[:, None]).shape == (5, 6, 4)
    shared = d.MixtureSameFamily(d.Categorical(wg.ones(3)), d.Normal(wg.randn(4, 3), 0.01))
    wg.manual_seed(1)
    assert len({i for column in shared.sample((50,)).T for i in [tuple(column.tolist())]}) == 4


def test_the_weights_of_a_mixture_are_learnable():
    logits = double(0.0, 0.0).requires_grad_()
    m = d.MixtureSameFamily(d.Categorical(logits=logits), d.Normal(MIXTURE["loc"], 1.0))
    assert wg.autograd.gradcheck(
        lambda w: d.MixtureSameFamily(
            d.Categorical(logits=w), d.Normal(MIXTURE["loc"], 1.0)
        ).log_prob(double(0.3)),
        (logits,),
    )
    m.log_prob(double(2.0)).backward()
    assert logits.grad[1] > 0 > logits.grad[0]


def test_a_low_rank_covariance_is_that_of_a_full_one():
    sample = SAMPLES["LowRankMultivariateNormal"]
    low = sample.made(wg)
    full = d.MultivariateNormal(low.loc, low.covariance_matrix)
    assert wg.allclose(low.log_prob(sample.values), full.log_prob(sample.values))
    assert wg.allclose(low.entropy(), full.entropy())
    assert wg.allclose(low.precision_matrix, full.precision_matrix)
    assert wg.allclose(low.scale_tril, full.scale_tril)
    other = d.LowRankMultivariateNormal(low.loc + 1, 2 * low.cov_factor, low.cov_diag)
    other_full = d.MultivariateNormal(other.loc, other.covariance_matrix)
    expected = d.kl_divergence(full, other_full)
    for p, q in [(low, other), (low, other_full), (full, other)]:
        assert wg.allclose(d.kl_divergence(p, q), expected)


def test_logistic_normal_vectors():
    loc = double(0.5, -1.0)
    ours = d.LogisticNormal(loc, 0.7)
    assert wg.equal(ours.loc, loc)
    x = ours.rsample((5,))
    numbers = d.StickBreakingTransform().inv(x)
    determinant = d.StickBreakingTransform().log_abs_det_jacobian(numbers, x)
    expected = d.Normal(loc, 0.7).log_prob(numbers).sum(-1) - determinant
    assert wg.allclose(ours.log_prob(x), expected)


# ---- expansion, copies, validation -------------------------------------------------------------


@pytest.mark.parametrize("name", SAMPLES)
def test_expansion_repeats_what_one_distribution_says(name):
    sample = SAMPLES[name]
    small = sample.made(wg)
    large = small.expand((4, *small.batch_shape))
    assert type(large) is type(small)
    assert large.batch_shape == (4, *small.batch_shape)
    value = wg.tensor(sample.values)
    whole = np.broadcast_shapes(value.shape, (*small.batch_shape, *small.event_shape))
    value = value.expand(whole).unsqueeze(-1 - len(small.batch_shape) - len(small.event_shape))
    many, one = large.log_prob(value), small.log_prob(value)
    assert wg.allclose(many, one.expand(many.shape))
    assert large.sample().shape == (4, *small.batch_shape, *small.event_shape)


@pytest.mark.parametrize("name", SAMPLES)
def test_copies_and_pickles_say_the_same(name):
    sample = SAMPLES[name]
    original = sample.made(wg)
    for twin in (copy.deepcopy(original), pickle.loads(pickle.dumps(original))):
        assert wg.equal(twin.log_prob(sample.values), original.log_prob(sample.values))


def test_validation_can_be_switched_off():
    assert d.Normal(0.0, -1.0, validate_args=False).scale.item() == -1
    d.Distribution.set_default_validate_args(False)
    try:
        assert d.Exponential(1.0).log_prob(wg.tensor(-1.0)).item() == 1
    finally:
        d.Distribution.set_default_validate_args(True)
    with pytest.raises(ValueError, match="constraint GreaterThan"):
        d.Normal(0.0, -1.0)


MESSAGES = {
    r"Expected parameter scale \(Tensor of shape \(2,\)\) of distribution Normal\(loc: .*\) to "
    r"satisfy the constraint GreaterThan\(lower_bound=0.0\), but found invalid values:\n"
    r"tensor\(\[ 1., -1.\]\)": lambda: d.Normal(0.0, wg.tensor([1.0, -1.0])),
    r"Expected value argument \(Tensor of shape \(\)\)": lambda: d.Poisson(1.0).log_prob(-1),
    r"right-most size of value must match event_shape: \(2,\) vs \(3,\)": (
        lambda: d.Dirichlet(wg.ones(3)).log_prob(wg.tensor([0.5, 0.5]))
    ),
    r"not broadcastable with batch_shape\+event_shape: \(3,\) vs \(2,\)": (
        lambda: d.Normal(wg.zeros(2), 1.0).log_prob(wg.zeros(3))
    ),
    r"covariance_matrix must have the shape \(..., 2, 2\)": (
        lambda: d.MultivariateNormal(wg.zeros(2), wg.eye(3))
    ),
    "must be an int, got 2.0": lambda: d.Multinomial(2.0, wg.ones(3)),
    "but 'x' was given": lambda: d.Normal("x", 1.0),
    "does not broadcast|cannot be broadcast|broadcast": lambda: d.Normal(wg.zeros(2), wg.ones(3)),
}


@pytest.mark.parametrize("message", MESSAGES)
def test_messages(message):
    kind = NotImplementedError if "an int" in message else (ValueError, RuntimeError)
    with pytest.raises(kind, match=message):
        MESSAGES[message]()


def test_binomials_of_different_counts_have_no_common_list_of_outcomes():
    b = d.Binomial(wg.tensor([2.0, 3.0]), wg.tensor(0.5))
    for ask in (b.entropy, b.enumerate_support):
        with pytest.raises(NotImplementedError, match="different numbers"):
            ask()
    wg.manual_seed(0)
    assert (b.sample((100,)).amax(0) <= wg.tensor([2.0, 3.0])).all()


# ---- divergences -------------------------------------------------------------------------------

FAMILIES = [
    "Normal", "Laplace", "Gumbel", "Cauchy", "Exponential", "Gamma", "Beta", "Uniform", "LogNormal",
    "HalfNormal",
]  # fmt: skip


def has_formula(p, q):
    try:
        return d.kl_divergence(SAMPLES[p].made(wg), SAMPLES[q].made(wg)) is not None
    except NotImplementedError:
        return False


@pytest.mark.crossed
@pytest.mark.parametrize(
    ("p", "q"), [pair for pair in itertools.product(FAMILIES, repeat=2) if has_formula(*pair)]
)
def test_divergences_are_expectations_of_log_ratios(p, q):
    first, second = (SAMPLES[name].made(wg) for name in (p, q))
    found = d.kl_divergence(first, second).numpy()
    ours, theirs = (SAMPLES[name].scipy(**SAMPLES[name].given) for name in (p, q))
    (low, high), (least, most) = ours.support(), theirs.support()
    outside = np.broadcast_to((low < least) | (high > most), found.shape)
    assert np.isinf(found).tolist() == outside.tolist()
    # The quantiles of p at equal steps, and log-ratios there, by the midpoint rule.
    x = ours.ppf((np.arange(60000) + 0.5)[:, None] / 60000)
    expected = (ours.logpdf(x) - theirs.logpdf(x)).mean(0)
    np.testing.assert_allclose(found[~outside], expected[~outside], rtol=6e-3, atol=6e-3)


DISCRETE = [("Bernoulli", "Bernoulli of logits"), ("Binomial", "Binomial of logits"),
            ("Categorical", "Categorical of logits"), ("Bernoulli", "Poisson"),
            ("OneHotCategorical", "OneHotCategoricalStraightThrough")]  # fmt: skip


@pytest.mark.parametrize(("p", "q"), DISCRETE)
def test_divergences_of_finite_distributions_are_sums(p, q):
    first, second = (SAMPLES[name].made(wg) for name in (p, q))
    x = first.enumerate_support()
    logs = first.log_prob(x), second.log_prob(x)
    expected = (logs[0].exp() * (logs[0] - logs[1])).sum(0)
    assert wg.allclose(d.kl_divergence(first, second), expected)


@pytest.mark.parametrize(("p", "q"), [("Geometric", "Geometric of logits"), ("Poisson", "Poisson")])
def test_divergences_of_counts_are_sums(p, q):
    first, second = SAMPLES[p].made(wg), SAMPLES[q].made(wg)
    if q == "Poisson":
        second = d.Poisson(double(2.0, 1.0, 0.5))
    x = wg.arange(400, dtype=wg.float64)[:, None]
    logs = first.log_prob(x), second.log_prob(x)
    expected = (logs[0].exp() * (logs[0] - logs[1])).sum(0)
    assert wg.allclose(d.kl_divergence(first, second), expected)


@pytest.mark.parametrize(
    "name", ["Dirichlet", "MultivariateNormal", "MultivariateNormal of precision"]
)
def test_divergences_of_vectors_are_means_of_log_ratios(name):
    wg.manual_seed(0)
    p = SAMPLES[name].made(wg)
    q = (
        d.Dirichlet(double(1.0, 2.0, 3.0))
        if name == "Dirichlet"
        else d.MultivariateNormal(double(0.0, 0.0, 0.0), 2 * wg.eye(3, dtype=wg.float64))
    )
    x = p.sample((40000,))
    ratio = p.log_prob(x) - q.log_prob(x)
    error = ratio.std(0) / 200
    assert ((d.kl_divergence(p, q) - ratio.mean(0)).abs() < 4 * error).all()


def test_divergences_of_one_distribution_from_itself_vanish():
    for name, sample in SAMPLES.items():
        p = sample.made(wg)
        if has_formula(name, name):
            assert wg.allclose(d.kl_divergence(p, p), wg.zeros(p.batch_shape, dtype=wg.float64))


def test_impossible_outcomes_make_divergences_infinite():
    assert d.kl_divergence(d.Bernoulli(0.5), d.Bernoulli(0.0)).item() == np.inf
    assert d.kl_divergence(d.Bernoulli(0.0), d.Bernoulli(0.0)).item() == 0
    certain, fair = d.Categorical(wg.tensor([1.0, 0.0])), d.Categorical(wg.tensor([0.5, 0.5]))
    assert d.kl_divergence(fair, certain).item() == np.inf
    assert d.kl_divergence(certain, fair).item() == pytest.approx(np.log(2))
    assert d.kl_divergence(d.Uniform(0.0, 2.0), d.Uniform(0.0, 1.0)).item() == np.inf
    assert d.kl_divergence(d.Uniform(-1.0, 2.0), d.Gamma(2.0, 1.0)).item() == np.inf
    assert d.kl_divergence(d.Normal(0.0, 1.0), d.Gamma(2.0, 1.0).expand((3,))).shape == (3,)


def test_divergences_of_made_distributions_are_those_of_their_parts():
    p, q = d.Normal(double(0.0, 1.0), 1.0), d.Normal(double(1.0, 3.0), 2.0)
    expected = d.kl_divergence(p, q)
    whole = d.kl_divergence(d.Independent(p, 1), d.Independent(q, 1))
    assert whole.item() == pytest.approx(expected.sum().item())
    t = [d.AffineTransform(0.0, double(2.0, 3.0)), d.ExpTransform()]
    mapped = [d.TransformedDistribution(x, t) for x in (p, q)]
    assert wg.equal(d.kl_divergence(*mapped), expected)
    with pytest.raises(NotImplementedError, match="the same transforms"):
        d.kl_divergence(mapped[0], d.TransformedDistribution(q, d.ExpTransform()))
    with pytest.raises(NotImplementedError, match="estimate it"):
        d.kl_divergence(d.Cauchy(0.0, 1.0), d.Normal(0.0, 1.0))


class OwnNormal(d.ExponentialFamily):
    """theta = (mean / variance, -1 / (2 variance)), of t = (x, x^2)."""

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = d.distribution.broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def _natural_params(self):
        return self.loc / self.scale**2, -0.5 / self.scale**2

    def _log_normalizer(self, first, second):
        return -(first**2) / (4 * second) + 0.5 * (-np.pi / second).log()

    _mean_carrier_measure = 0.0


@pytest.mark.parametrize("requires_grad", [True, False])
def test_entropies_and_divergences_of_exponential_families_are_derivatives(requires_grad):
    ours, theirs = [], []
    for make, found in ((OwnNormal, ours), (d.Normal, theirs)):
        loc, scale = (x.requires_grad_(requires_grad) for x in (double(0.5, 1.0), double(1.0, 2.0)))
        p, q = make(loc, scale), make(loc + 1, 3.0)
        for quantity in (p.entropy(), d.kl_divergence(p, q), d.kl_divergence(q, p)):
            assert quantity.requires_grad is requires_grad
            found.append(quantity.detach())
            if requires_grad:
                found += wg.autograd.grad(
                    quantity.sum(), (loc, scale), retain_graph=True, allow_unused=True
                )
    for a, b in zip(ours, theirs, strict=True):
        zero = wg.zeros(2, dtype=wg.float64)
        assert wg.allclose(zero if a is None else a, zero if b is None else b)
    with wg.no_grad():
        assert not OwnNormal(double(0.5).requires_grad_(), 1.0).entropy().requires_grad
    with pytest.raises(NotImplementedError, match="different classes"):
        d.kl_divergence(OwnNormal(0.0, 1.0), type("Other", (OwnNormal,), {})(0.0, 1.0))


# ---- under transforms --------------------------------------------------------------------------

CONTINUOUS = [n for n, s in SAMPLES.items() if s.scipy is not None and not is_discrete(s)]


OTHERS = [
    "Dirichlet", "MultivariateNormal of factor", "Poisson", "Bernoulli of logits",
    "Categorical of logits",
]  # fmt: skip


@pytest.mark.parametrize("name", [*CONTINUOUS, *OTHERS])
def test_log_prob_is_differentiable_in_all_ways(name):
    """Both modes, to the second order; in a batch; compiled."""
    sample = SAMPLES[name]
    parameters = tuple(sample.parameters(wg, requires_grad=True).values())
    value = wg.tensor(sample.values)

    def f(*given):
        return sample.made(wg, dict(zip(sample.given, given, strict=True))).log_prob(value)

    unchecked = {"validate_args": False}

    def loose(*given):
        made = sample.made(wg, dict(zip(sample.given, given, strict=True)), **unchecked)
        return made.log_prob(value)

    assert wg.autograd.gradcheck(loose, parameters, check_forward_ad=True)
    plain = [p.detach() for p in parameters]
    expected = f(*plain)
    np.testing.assert_allclose(wg.compile(f)(*plain).numpy(), expected.numpy(), rtol=1e-9)
    twice = [wg.stack([p, p]) for p in plain]
    np.testing.assert_allclose(
        wg.vmap(f)(*twice).numpy(), np.stack([expected.numpy()] * 2), rtol=1e-9
    )


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_can_be_drawn_in_compiled_functions_and_batches(name):
    sample = SAMPLES[name]
    plain = list(sample.parameters(wg).values())

    def draw(*given):
        return sample.made(wg, dict(zip(sample.given, given, strict=True))).sample((4,))

    twice = [wg.stack([p, p]) for p in plain]
    batched = wg.vmap(draw, randomness="different")(*twice).numpy()
    assert batched.shape == (2, *draw(*plain).shape)
    assert not np.array_equal(batched[0], batched[1])

    compiled = wg.compile(draw)
    wg.manual_seed(3)
    expected = [draw(*plain).numpy() for _ in range(3)]
    wg.manual_seed(3)
    found = [compiled(*plain).numpy() for _ in range(3)]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert not np.array_equal(found[0], found[1])


@pytest.mark.parametrize("name", ["Normal", "Gamma", "Beta", "StudentT", "Weibull"])
def test_gradients_of_samples_can_be_compiled(name):
    sample = SAMPLES[name]
    plain = tuple(sample.parameters(wg).values())

    def mean(*given):
        return sample.made(wg, dict(zip(sample.given, given, strict=True))).rsample((5,)).mean()

    gradient = wg.grad(mean, tuple(range(len(plain))))
    wg.manual_seed(3)
    expected = gradient(*plain)
    wg.manual_seed(3)
    for found, wanted in zip(wg.compile(gradient)(*plain), expected, strict=True):
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-9)
