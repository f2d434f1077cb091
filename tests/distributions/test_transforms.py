"""Transforms: inverses, determinants against the Jacobian, caches, equality; constraints."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert import distributions as d
from wengert.distributions import constraints

LINE = np.array([0.3, -2.0, 1.7])
BIJECTIONS = {
    "Exp": (d.ExpTransform(), LINE),
    "Power": (d.PowerTransform(-1.5), np.abs(LINE)),
    "Sigmoid": (d.SigmoidTransform(), LINE),
    "Softplus": (d.SoftplusTransform(), LINE),
    "Tanh": (d.TanhTransform(), LINE),
    "Affine": (d.AffineTransform(0.3, -2.0), LINE),
    "Affine of vectors": (d.AffineTransform(wg.tensor(LINE), wg.tensor(LINE), 1), LINE),
    "StickBreaking": (d.StickBreakingTransform(), LINE),
    "CorrCholesky": (d.CorrCholeskyTransform(), np.array([0.3, -1.0, 0.7, 0.2, 0.5, -0.4])),
    "CumulativeDistribution": (
        d.CumulativeDistributionTransform(d.Gumbel(np.array(0.2), 1.5)), LINE
    ),
    "Reshape": (d.ReshapeTransform((3,), (1, 3)), LINE),
    "Independent": (d.IndependentTransform(d.ExpTransform(), 1), LINE),
    "Compose": (
        d.ComposeTransform([d.AffineTransform(0.3, 2.0), d.StickBreakingTransform()]), LINE
    ),
    "Compose of nothing": (d.identity_transform, LINE),
    "Cat": (d.CatTransform([d.ExpTransform(), d.TanhTransform()], -1, [1, 2]), LINE),
    "Stack": (d.StackTransform([d.ExpTransform(), d.TanhTransform(), d.ExpTransform()], -1), LINE),
    "inverse of Sigmoid": (d.SigmoidTransform().inv, np.array([0.2, 0.9])),
    "inverse of StickBreaking": (d.StickBreakingTransform().inv, np.array([0.2, 0.5, 0.3])),
}  # fmt: skip


@pytest.mark.parametrize("name", BIJECTIONS)
def test_inverses_determinants_and_domains(name):
    transform, point = BIJECTIONS[name]
    assert transform.bijective
    x = wg.tensor(point)
    y = transform(x)
    np.testing.assert_allclose(transform.inv(y).numpy(), point, rtol=1e-9, atol=1e-12)
    assert transform.domain.check(x).all()
    assert transform.codomain.check(y).all()
    assert tuple(y.shape) == tuple(transform.forward_shape(x.shape))
    assert tuple(x.shape) == tuple(transform.inverse_shape(y.shape))

    found = transform.log_abs_det_jacobian(x, y).sum().item()
    if name == "CorrCholesky":  # its result has as many free entries, below the diagonal
        free = np.tril_indices(4, -1)
        jacobian = wg.jacobian(lambda x: transform(x)[free])(x)
    elif "StickBreaking" in name or name == "Compose":  # the last entry is one minus the others
        jacobian = wg.jacobian(transform)(x)
        rows = (
            jacobian[:3]
            if name != "inverse of StickBreaking"
            else jacobian[:, :2] - jacobian[:, 2:]
        )
        jacobian = rows
    else:
        jacobian = wg.jacobian(transform)(x).reshape(x.numel(), x.numel())
    assert found == pytest.approx(np.linalg.slogdet(jacobian.numpy())[1], rel=1e-9, abs=1e-12)

    back = transform.inv.log_abs_det_jacobian(y, x).sum().item()
    assert back == pytest.approx(-found)
    assert transform.inv.inv == transform
    assert transform.inv.domain.event_dim == transform.codomain.event_dim


def test_correlation_factors_have_rows_of_length_one():
    x = wg.randn(5, 6, dtype=wg.float64)
    y = d.CorrCholeskyTransform()(x)
    assert y.shape == (5, 4, 4)
    np.testing.assert_allclose((y @ y.mT).diagonal(dim1=-2, dim2=-1).numpy(), 1, rtol=1e-14)
    with pytest.raises(ValueError, match="1, 3, 6, 10"):
        d.CorrCholeskyTransform()(wg.zeros(4))


def test_many_to_one_transforms_choose_an_inverse():
    assert d.AbsTransform().inv(wg.tensor([2.0])).tolist() == [2]
    x = wg.randn(3, 3, dtype=wg.float64)
    factor = d.LowerCholeskyTransform()(x)
    assert wg.allclose(d.LowerCholeskyTransform().inv(factor), x.tril())
    matrix = d.PositiveDefiniteTransform()(x)
    assert constraints.positive_definite.check(matrix)
    assert wg.allclose(d.PositiveDefiniteTransform().inv(matrix), x.tril())
    y = d.SoftmaxTransform()(x)
    assert wg.allclose(d.SoftmaxTransform()(d.SoftmaxTransform().inv(y)), y)
    for t in (d.AbsTransform(), d.SoftmaxTransform(), d.LowerCholeskyTransform()):
        assert not t.bijective
        with pytest.raises(NotImplementedError, match="log_abs_det_jacobian"):
            t.log_abs_det_jacobian(x, x)


def test_a_cache_keeps_the_argument_that_the_inverse_would_lose():
    x = wg.tensor(30.0)
    plain, cached = d.TanhTransform(), d.TanhTransform(cache_size=1)
    y = cached(x)
    assert cached.inv(y) is x
    assert cached(x) is y
    with np.errstate(divide="ignore"):
        assert plain.inv(plain(x)).item() == np.inf
        assert plain.with_cache().inv(plain(x)).item() == np.inf  # not a result of its own
    chain = d.ComposeTransform([d.AffineTransform(0.0, 2.0), d.TanhTransform()], cache_size=1)
    assert chain.inv(chain(x)) is x
    squashed = d.TransformedDistribution(d.Normal(20.0, 1.0), [cached])
    assert np.isfinite(squashed.log_prob(squashed.rsample()).item())


def test_transforms_are_equal_if_they_are_the_same_function():
    assert d.ExpTransform() == d.ExpTransform(cache_size=1)
    assert hash(d.ExpTransform()) == hash(d.ExpTransform())
    assert d.AffineTransform(0.0, 2.0) == d.AffineTransform(0.0, 2.0)
    assert d.AffineTransform(0.0, 2.0) != d.AffineTransform(0.0, 3.0)
    assert d.AffineTransform(0.0, wg.ones(2)) == d.AffineTransform(0.0, wg.ones(2))
    assert d.AffineTransform(0.0, wg.ones(2)) != d.AffineTransform(0.0, 1.0)
    assert d.ExpTransform().inv == d.ExpTransform().inv
    assert d.ExpTransform() != d.TanhTransform()


def test_single_precision_sigmoids_are_inverted_at_one():
    y = wg.tensor([0.0, 1.0])
    assert d.SigmoidTransform().inv(y).isfinite().all()


def test_signs_of_chains_multiply():
    assert d.ComposeTransform([d.ExpTransform(), d.AffineTransform(0.0, -1.0)]).sign == -1
    assert d.AffineTransform(0.0, wg.tensor([1.0, -2.0])).sign.tolist() == [1, -1]
    with pytest.raises(NotImplementedError, match="neither increasing nor decreasing"):
        d.SoftmaxTransform().sign


def test_a_transform_of_ones_own():
    class Cube(d.Transform):
        bijective, sign = True, 1

        def _call(self, x):
            return x**3

        def _inverse(self, y):
            return y.sign() * y.abs() ** (1 / 3)

        def log_abs_det_jacobian(self, x, y):
            return (3 * x * x).log()

    cubed = d.TransformedDistribution(d.Normal(0.0, 1.0), Cube())
    x = np.linspace(0.5, 1.5, 20001)
    density = cubed.log_prob(x).exp().numpy()
    between = (cubed.cdf(1.5) - cubed.cdf(0.5)).item()
    assert np.trapezoid(density, x) == pytest.approx(between, rel=1e-6)


INSIDE = {
    "real": ([0.0, np.inf], [np.nan]),
    "positive": ([0.1], [0.0, -1.0]),
    "nonnegative": ([0.0], [-1e-9]),
    "unit_interval": ([0.0, 1.0], [1.1, -0.1]),
    "boolean": ([0.0, 1.0], [0.5]),
    "nonnegative_integer": ([0.0, 3.0], [0.5, -1.0]),
    "positive_integer": ([1.0], [0.0, 1.5]),
    "interval": ([1.0, 2.0], [2.1], 1.0, 2.0),
    "half_open_interval": ([1.0], [2.0], 1.0, 2.0),
    "integer_interval": ([1.0, 2.0], [1.5, 3.0], 1, 2),
    "greater_than": ([1.1], [1.0], 1.0),
    "greater_than_eq": ([1.0], [0.9], 1.0),
    "less_than": ([0.9], [1.0], 1.0),
    "simplex": ([[0.5, 0.5]], [[0.5, 0.6], [1.5, -0.5]]),
    "one_hot": ([[0.0, 1.0]], [[1.0, 1.0], [0.5, 0.5]]),
    "multinomial": ([[1.0, 2.0]], [[3.0, 1.0], [-1.0, 1.0]], 3),
    "real_vector": ([[1.0, 2.0]], [[np.nan, 0.0]]),
    "lower_triangular": ([[[1.0, 0.0], [2.0, -1.0]]], [[[1.0, 1.0], [0.0, 1.0]]]),
    "lower_cholesky": ([[[1.0, 0.0], [2.0, 1.0]]], [[[1.0, 0.0], [2.0, -1.0]]]),
    "corr_cholesky": ([[[1.0, 0.0], [0.6, 0.8]]], [[[1.0, 0.0], [0.6, 0.9]]]),
    "symmetric": ([[[1.0, 2.0], [2.0, 1.0]]], [[[1.0, 2.0], [3.0, 1.0]]]),
    "square": ([[[1.0, 2.0], [3.0, 1.0]]], [[[1.0, 2.0]]]),
    "positive_semidefinite": ([[[1.0, 1.0], [1.0, 1.0]]], [[[1.0, 2.0], [2.0, 1.0]]]),
    "positive_definite": (
        [[[1.0, 0.5], [0.5, 1.0]]],
        [[[1.0, 2.0], [2.0, 1.0]], [[1.0, 0.2], [0, 1]]],
    ),
}


@pytest.mark.parametrize("name", INSIDE)
def test_constraints(name):
    fine, wrong, *settings = INSIDE[name]
    constraint = getattr(constraints, name)
    constraint = constraint(*settings) if settings else constraint
    assert constraint.check(wg.tensor(fine)).tolist() == [True] * len(fine)
    assert constraint.check(wg.tensor(wrong)).tolist() == [False] * len(wrong)
    assert constraint.event_dim == np.ndim(fine) - 1


def test_constraints_of_several_parts():
    both = constraints.stack([constraints.positive, constraints.real], -1)
    assert both.check(wg.tensor([[1.0, -1.0], [-1.0, -1.0]])).tolist() == [
        [True, True], [False, True],
    ]  # fmt: skip
    pieces = constraints.cat([constraints.positive, constraints.boolean], lengths=[1, 2])
    assert pieces.check(wg.tensor([2.0, 0.0, 0.5])).tolist() == [True, True, False]
    assert not pieces.is_discrete or pieces.event_dim == 0
    assert repr(constraints.independent(constraints.real, 1)) == "Independent(Real(), 1)"


def test_supports_that_depend_on_parameters_are_asked_of_instances():
    assert constraints.is_dependent(d.Uniform.support)
    with pytest.raises(ValueError, match="ask an instance"):
        d.Uniform.support.check(wg.tensor(0.5))
    assert d.Uniform(0.0, 2.0).support.check(wg.tensor(1.5))
    assert d.Binomial.support.is_discrete
    assert constraints.is_dependent(constraints.dependent(is_discrete=True, event_dim=1))


def test_a_distribution_of_ones_own_declares_what_it_takes():
    class Triangular(d.Distribution):
        arg_constraints = {"width": constraints.positive}  # noqa: RUF012

        def __init__(self, width, validate_args=None):
            (self.width,) = d.distribution.broadcast_all(width)
            super().__init__(self.width.shape, validate_args=validate_args)

        @constraints.dependent_property(is_discrete=False, event_dim=0)
        def support(self):
            return constraints.interval(0.0, self.width)

        def log_prob(self, value):
            if self._validate_args:
                self._validate_sample(value)
            return (2 * value).log() - 2 * self.width.log()

    assert Triangular(2.0).log_prob(wg.tensor(1.0)).exp().item() == pytest.approx(0.5)
    assert repr(Triangular(2.0).expand((3,))) == "Triangular(width: torch.Size([3]))"
    for bad in (lambda: Triangular(-1.0), lambda: Triangular(2.0).log_prob(wg.tensor(3.0))):
        with pytest.raises(ValueError, match="to satisfy the constraint"):
            bad()


REGISTERED = {
    "real": constraints.real,
    "positive": constraints.positive,
    "greater_than": constraints.greater_than(2.0),
    "less_than": constraints.less_than(-1.0),
    "unit_interval": constraints.unit_interval,
    "interval": constraints.interval(-1.0, wg.tensor([2.0, 3.0, 4.0])),
    "half_open_interval": constraints.half_open_interval(0.0, 2.0),
    "simplex": constraints.simplex,
    "corr_cholesky": constraints.corr_cholesky,
    "lower_cholesky": constraints.lower_cholesky,
    "positive_definite": constraints.positive_definite,
    "positive_semidefinite": constraints.positive_semidefinite,
    "real_vector": constraints.real_vector,
    "independent": constraints.independent(constraints.positive, 1),
    "stack": constraints.stack([constraints.positive, constraints.real, constraints.real], -1),
    "cat": constraints.cat([constraints.unit_interval, constraints.positive], -1, [2, 1]),
}


@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
@pytest.mark.parametrize("name", REGISTERED)
def test_unconstrained_numbers_are_mapped_onto_constraints(name, registry):
    constraint = REGISTERED[name]
    matrices = ("lower_cholesky", "positive_definite", "positive_semidefinite")
    if registry == "biject_to" and name in matrices:
        with pytest.raises(NotImplementedError, match="Cannot transform"):
            d.biject_to(constraint)
        return
    wg.manual_seed(0)
    transform = getattr(d, registry)(constraint)
    x = wg.randn(3, 3, dtype=wg.float64)
    y = transform(x)
    assert constraint.check(y).all()
    assert transform.codomain.event_dim == constraint.event_dim
    if registry == "biject_to":
        assert transform.bijective
        assert wg.allclose(transform.inv(y), x)


def test_constraints_of_ones_own_are_registered():
    class Even(constraints.Constraint):
        def check(self, value):
            return value % 2 == 0

    with pytest.raises(NotImplementedError, match="register"):
        d.biject_to(Even())

    @d.biject_to.register(Even)
    def onto(constraint):
        return d.AffineTransform(0, 2)

    assert d.biject_to(Even())(wg.tensor(3.0)).item() == 6
    with pytest.raises(TypeError, match="Expected constraint"):
        d.transform_to.register(int, onto)
