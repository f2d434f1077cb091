"""Distributions beside PyTorch's: densities, moments, entropies, divergences, shapes, errors."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg

torch = pytest.importorskip("torch")

from tests.distributions.samples import SAMPLES  # noqa: E402

TOLERANCE = {"rtol": 1e-9, "atol": 1e-10}


def numbers(x):
    return np.asarray(x.detach().numpy())


def outcome(call):
    """What a call gives, or the kind of its exception."""
    try:
        return call()
    except Exception as error:
        kind = type(error)
        while kind.__module__.startswith("wengert"):  # ours derive from Python's
            kind = kind.__mro__[1]
        return kind


def both(sample, ask, gradients=True):
    """What wengert's distribution and PyTorch's answer to one question, with gradients."""
    answers = []
    for module in (wg, torch):
        parameters = sample.parameters(module, requires_grad=gradients)
        distribution = sample.made(module, parameters)
        answer = outcome(lambda d=distribution, m=module: ask(m, d))
        if isinstance(answer, type):
            answers.append(answer)
            continue
        found = []
        if answer.requires_grad:
            (
                answer * module.ones_like(answer).cumsum(0) if answer.ndim else answer
            ).sum().backward()
            found = [
                np.zeros(p.shape) if p.grad is None else numbers(p.grad)
                for p in parameters.values()
            ]
        answers.append((numbers(answer), found))
    return answers


# What PyTorch does in single precision whatever the parameters' dtype is, and what it refuses.
COARSE = {"VonMises": {"rtol": 2e-4, "atol": 1e-5}}
BROKEN = {"GeneralizedPareto"}  # its comparison with 0 takes single precision only


def same(sample, ask, gradients=True):
    if sample.kind in BROKEN:
        pytest.skip("PyTorch's refuses double precision")
    tolerance = COARSE.get(sample.kind, TOLERANCE)
    ours, theirs = both(sample, ask, gradients)
    if theirs is NotImplementedError:
        if ours is not theirs:
            pytest.skip("PyTorch does not have it")
        return
    assert not isinstance(ours, type), ours
    assert ours[0].dtype == theirs[0].dtype
    np.testing.assert_allclose(ours[0], theirs[0], **tolerance)
    tolerance = {"rtol": 1e-7, "atol": 1e-8} if tolerance is TOLERANCE else tolerance
    for mine, other in zip(ours[1], theirs[1], strict=True):
        np.testing.assert_allclose(mine, other, **tolerance)


@pytest.mark.parametrize("name", SAMPLES)
def test_log_prob_and_its_gradients(name):
    sample = SAMPLES[name]
    # PyTorch's derivative by Wishart's triangular factor is that of a full matrix.
    factor = name == "Wishart of factor"
    same(sample, lambda m, d: d.log_prob(m.tensor(sample.values)), gradients=not factor)


# PyTorch takes the logarithm of 1 - b for the mode of Kumaraswamy's, which is NaN for b > 1.
MOMENTS = [
    (name, quantity)
    for name in SAMPLES
    for quantity in ("mean", "mode", "variance", "stddev")
    if (name, quantity) != ("Kumaraswamy", "mode")
]


@pytest.mark.parametrize(("name", "quantity"), MOMENTS)
def test_moments(name, quantity):
    same(SAMPLES[name], lambda m, d: getattr(d, quantity), quantity != "mode")


# PyTorch computes log n! of the multinomial distribution in single precision: 5e-8 off.
@pytest.mark.parametrize("name", [name for name in SAMPLES if "Multinomial" not in name])
def test_entropy(name):
    same(SAMPLES[name], lambda m, d: d.entropy())


@pytest.mark.parametrize("name", SAMPLES)
def test_cdf(name):
    sample = SAMPLES[name]
    same(
        sample, lambda m, d: d.cdf(m.tensor(sample.values)), "Gamma" not in name and name != "Chi2"
    )


@pytest.mark.parametrize("name", SAMPLES)
def test_icdf(name):
    shape = SAMPLES[name].made(torch).batch_shape
    same(
        SAMPLES[name],
        lambda m, d: d.icdf(m.linspace(0.1, 0.8, shape.numel(), dtype=m.float64).reshape(shape)),
    )


@pytest.mark.parametrize("expand", [True, False])
@pytest.mark.parametrize("name", SAMPLES)
def test_enumerate_support(name, expand):
    same(SAMPLES[name], lambda m, d: d.enumerate_support(expand))


@pytest.mark.filterwarnings("ignore:Singular sample detected")  # PyTorch's Wishart draws again
@pytest.mark.parametrize("name", SAMPLES)
def test_shapes_and_names(name):
    ours, theirs = (SAMPLES[name].made(m) for m in (wg, torch))
    if "()" not in repr(theirs):  # those of PyTorch's that show no parameters
        assert repr(ours) == repr(theirs)
    for a, b in [
        (ours, theirs),
        (ours.expand((4, *ours.batch_shape)), theirs.expand((4, *theirs.batch_shape))),
    ]:
        assert tuple(a.batch_shape) == tuple(b.batch_shape)
        assert tuple(a.event_shape) == tuple(b.event_shape)
        assert tuple(a.sample((2,)).shape) == tuple(b.sample((2,)).shape)
        assert str(a.sample().dtype) == str(b.sample().dtype).removeprefix("torch.")
        assert a.has_rsample == b.has_rsample
        assert a.has_enumerate_support == b.has_enumerate_support
        assert a.support.is_discrete == b.support.is_discrete
        assert a.support.event_dim == b.support.event_dim


# ---- divergences -------------------------------------------------------------------------------


def pairs():
    """Samples of both arguments of every formula that PyTorch has, and wengert too."""
    from torch.distributions.kl import _KL_REGISTRY

    found = {(p.__name__, q.__name__) for p, q in _KL_REGISTRY}
    return sorted(pair for pair in found if set(pair) <= set(SAMPLES))


@pytest.mark.parametrize(("p", "q"), pairs())
def test_divergences_and_their_gradients(p, q):
    answers = []
    for module in (wg, torch):
        parameters = [SAMPLES[name].parameters(module, requires_grad=True) for name in (p, q)]
        made = [
            SAMPLES[name].made(module, given)
            for name, given in zip((p, q), parameters, strict=True)
        ]
        divergence = module.distributions.kl_divergence(*made)
        if divergence.requires_grad and divergence.isfinite().all():
            divergence.sum().backward()
        leaves = [leaf for given in parameters for leaf in given.values()]
        gradients = [np.zeros(x.shape) if x.grad is None else numbers(x.grad) for x in leaves]
        answers.append((numbers(divergence), gradients))
    (ours, mine), (theirs, other) = answers
    np.testing.assert_allclose(ours, theirs, **TOLERANCE)
    for a, b in zip(mine, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-8)


# ---- transforms --------------------------------------------------------------------------------

LINE = np.array([[0.3, -2.0, 1.7], [4.0, 0.1, -0.6]])
TRANSFORMS = {
    "Exp": (lambda d, t: d.ExpTransform(), LINE),
    "Power": (lambda d, t: d.PowerTransform(t.tensor(1.5, dtype=t.float64)), np.abs(LINE)),
    "Sigmoid": (lambda d, t: d.SigmoidTransform(), LINE),
    "Softplus": (lambda d, t: d.transforms.SoftplusTransform(), LINE),
    "Tanh": (lambda d, t: d.TanhTransform(), LINE),
    "Affine": (lambda d, t: d.AffineTransform(0.3, -2.0), LINE),
    "Affine of vectors": (
        lambda d, t: d.AffineTransform(t.tensor(LINE[0]), t.tensor(LINE[1]), event_dim=1), LINE
    ),
    "StickBreaking": (lambda d, t: d.StickBreakingTransform(), LINE),
    "CorrCholesky": (lambda d, t: d.CorrCholeskyTransform(), LINE),
    "CumulativeDistribution": (
        lambda d, t: d.CumulativeDistributionTransform(d.Normal(t.tensor(LINE[0]), 2.0)), LINE
    ),
    "Reshape": (lambda d, t: d.ReshapeTransform((3,), (3, 1)), LINE),
    "Independent": (lambda d, t: d.IndependentTransform(d.ExpTransform(), 1), LINE),
    "Compose": (
        lambda d, t: d.ComposeTransform(
            [d.AffineTransform(0.3, 2.0), d.StickBreakingTransform(), d.ExpTransform()]
        ),
        LINE,
    ),
    "Cat": (
        lambda d, t: d.CatTransform([d.ExpTransform(), d.TanhTransform()], -1, [1, 2]), LINE
    ),
    "Cat of batches": (
        lambda d, t: d.CatTransform([d.ExpTransform(), d.TanhTransform()], 0), LINE
    ),
    "Stack": (
        lambda d, t: d.StackTransform([d.ExpTransform(), d.TanhTransform()], 0), LINE
    ),
    "inverse of Sigmoid": (lambda d, t: d.SigmoidTransform().inv, np.array([0.2, 0.9])),
    "inverse of StickBreaking": (
        lambda d, t: d.StickBreakingTransform().inv, np.array([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
    ),
}  # fmt: skip
WITHOUT_DETERMINANT = {
    "Abs": (lambda d, t: d.AbsTransform(), LINE),
    "Softmax": (lambda d, t: d.SoftmaxTransform(), LINE),
    "LowerCholesky": (lambda d, t: d.LowerCholeskyTransform(), LINE[:, :2]),
    "PositiveDefinite": (lambda d, t: d.PositiveDefiniteTransform(), LINE[:, :2]),
}


@pytest.mark.parametrize("name", [*TRANSFORMS, *WITHOUT_DETERMINANT])
def test_transforms(name):
    make, point = {**TRANSFORMS, **WITHOUT_DETERMINANT}[name]
    answers = []
    for module in (wg, torch):
        transform, x = make(module.distributions, module), module.tensor(point)
        y = transform(x)
        answer = [y, transform.inv(y)]
        if name in TRANSFORMS:
            answer.append(transform.log_abs_det_jacobian(x, y))
        facts = [
            transform.bijective,
            outcome(lambda t=transform: np.sign(np.asarray(t.sign)).tolist()),
            transform.domain.event_dim,
            transform.codomain.event_dim,
            tuple(transform.forward_shape(x.shape)),
            tuple(transform.inverse_shape(y.shape)),
        ]
        answers.append(([numbers(a) for a in answer], facts))
    for ours, theirs in zip(answers[0][0], answers[1][0], strict=True):
        np.testing.assert_allclose(ours, theirs, **TOLERANCE)
    assert answers[0][1] == answers[1][1]


# ---- errors ------------------------------------------------------------------------------------

BAD = {
    "negative scale": lambda d, t: d.Normal(0.0, -1.0),
    "NaN": lambda d, t: d.Normal(float("nan"), 1.0),
    "low above high": lambda d, t: d.Uniform(1.0, 0.0),
    "probability above one": lambda d, t: d.Bernoulli(t.tensor([1.5])),
    "probs and logits": lambda d, t: d.Bernoulli(t.tensor([0.5]), t.tensor([0.5])),
    "neither": lambda d, t: d.Bernoulli(),
    "categorical of a number": lambda d, t: d.Categorical(t.tensor(1.0)),
    "categorical of negative numbers": lambda d, t: d.Categorical(t.tensor([1.0, -0.5])),
    "dirichlet of a number": lambda d, t: d.Dirichlet(t.tensor(1.0)),
    "zero concentration": lambda d, t: d.Dirichlet(t.tensor([1.0, 0.0])),
    "two matrices": lambda d, t: d.MultivariateNormal(
        t.zeros(2), covariance_matrix=t.eye(2), scale_tril=t.eye(2)
    ),
    "no matrix": lambda d, t: d.MultivariateNormal(t.zeros(2)),
    "loc of no dimension": lambda d, t: d.MultivariateNormal(t.tensor(0.0), t.eye(1)),
    "indefinite matrix": lambda d, t: d.MultivariateNormal(t.zeros(2), -t.eye(2)),
    "asymmetric matrix": lambda d, t: d.MultivariateNormal(
        t.zeros(2), t.tensor([[1.0, 0.5], [0.0, 1.0]])
    ),
    "shapes that do not broadcast": lambda d, t: d.Normal(t.zeros(2), t.ones(3)),
    "a string": lambda d, t: d.Normal("0", 1.0),
    "total_count of several": lambda d, t: d.Multinomial(t.tensor([1, 2]), t.ones(2)),
    "value outside": lambda d, t: d.Exponential(1.0).log_prob(t.tensor(-1.0)),
    "value of another shape": lambda d, t: d.Normal(t.zeros(2), 1.0).log_prob(t.zeros(3)),
    "event of another shape": lambda d, t: d.Dirichlet(t.ones(3)).log_prob(t.tensor([0.5, 0.5])),
    "no category": lambda d, t: d.Categorical(t.ones(3)).log_prob(t.tensor(3)),
    "half a count": lambda d, t: d.Poisson(1.0).log_prob(t.tensor(0.5)),
    "too many dimensions": lambda d, t: d.Independent(d.Normal(t.zeros(2), 1.0), 2),
    "a mixture of no categories": lambda d, t: d.MixtureSameFamily(
        d.Normal(0.0, 1.0), d.Normal(t.zeros(2), 1.0)
    ),
    "weights of another number": lambda d, t: d.MixtureSameFamily(
        d.Categorical(t.ones(3)), d.Normal(t.zeros(2), 1.0)
    ),
    "no transform": lambda d, t: d.TransformedDistribution(d.Normal(0.0, 1.0), [t.exp]),
    "too few dimensions": lambda d, t: d.TransformedDistribution(
        d.Normal(0.0, 1.0), d.StickBreakingTransform()
    ),
    "no density": lambda d, t: d.Dirichlet(t.ones(2)).cdf(t.tensor([0.5, 0.5])),
    "no derivative of samples": lambda d, t: d.Poisson(1.0).rsample(),
    "no divergence": lambda d, t: d.kl_divergence(d.Cauchy(0.0, 1.0), d.Normal(0.0, 1.0)),
    "reshaped to another size": lambda d, t: d.ReshapeTransform((2,), (3,)),
    "another cache": lambda d, t: d.ExpTransform(cache_size=2),
    "no inverse": lambda d, t: d.Transform().inv(t.ones(2)),
    "validation by a number": lambda d, t: d.Distribution.set_default_validate_args(2),
}


@pytest.mark.parametrize("name", BAD)
def test_errors_are_of_the_same_kind(name):
    theirs = outcome(lambda: BAD[name](torch.distributions, torch))
    assert isinstance(theirs, type)
    ours = outcome(lambda: BAD[name](wg.distributions, wg))
    assert ours is theirs


@pytest.mark.parametrize("library", [torch, wg], ids=lambda lib: lib.__name__)
def test_classes_of_ones_own_expand_and_have_divergences_as_in_pyro(library):
    # `_get_checked_instance` was missing, and register_kl took subclasses of Distribution alone.
    kinds = library.distributions

    class Base:
        pass

    class Point(kinds.Distribution, Base):
        arg_constraints = {}  # noqa: RUF012

        def __init__(self, v):
            self.v = v
            super().__init__(v.shape, validate_args=False)

        def expand(self, batch_shape, _instance=None):
            new = self._get_checked_instance(Point, _instance)
            new.v = self.v.expand(batch_shape)
            super(Point, new).__init__(batch_shape, validate_args=False)
            return new

    @kinds.register_kl(Point, Base)
    def between(p, q):
        return p.v - q.v

    wide = Point(library.ones(1)).expand((3,))
    assert (type(wide), tuple(wide.batch_shape)) == (Point, (3,))
    assert kinds.kl_divergence(wide, Point(library.zeros(3))).tolist() == [1, 1, 1]


# ---- what a distribution is made of --------------------------------------------------------------

KINDS = {sample.kind: sample for sample in SAMPLES.values()}
OF_BASES = [
    name
    for name in KINDS
    if issubclass(getattr(torch.distributions, name), torch.distributions.TransformedDistribution)
]
EXPONENTIAL = [
    name
    for name in KINDS
    if issubclass(getattr(torch.distributions, name), torch.distributions.ExponentialFamily)
]


@pytest.mark.parametrize("name", KINDS)
def test_distributions_derive_from_what_pytorchs_derive_from(name):
    # Eight were no TransformedDistribution, and ten no ExponentialFamily: Pyro's own classes hand
    # the former a base of Pyro's, which was a TypeError.
    bases = {base.__name__ for base in getattr(torch.distributions, name).__mro__}
    ours = {base.__name__ for base in getattr(wg.distributions, name).__mro__}
    assert bases - {"ABC", "Generic"} <= ours


@pytest.mark.parametrize("name", OF_BASES)
def test_bases_and_transforms_are_pytorchs(name):
    sample, found = KINDS[name], []
    for module in (wg, torch):
        made = sample.made(module)
        inner = [getattr(t, "_inv", None) or t for t in made.transforms]
        values = module.tensor(sample.values)
        whole = module.distributions.ComposeTransform(made.transforms)
        arguments = whole.inv(values)
        found.append(
            (
                [type(made.base_dist).__name__, *(type(t).__name__ for t in made.transforms)],
                [type(t).__name__ for t in inner],
                numbers(arguments),
                numbers(made.base_dist.log_prob(arguments)),
            )
        )
    assert found[0][:2] == found[1][:2]
    for ours, theirs in zip(found[0][2:], found[1][2:], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", OF_BASES)
def test_densities_are_those_of_the_base_where_the_transforms_have_inverses(name):
    made, values = KINDS[name].made(wg), wg.tensor(KINDS[name].values)
    if not all(t.bijective for t in made.transforms):
        pytest.skip("an absolute value has no inverse")
    whole = wg.distributions.TransformedDistribution(made.base_dist, made.transforms)
    np.testing.assert_allclose(numbers(whole.log_prob(values)), numbers(made.log_prob(values)))


@pytest.mark.parametrize("name", EXPONENTIAL)
def test_natural_parameters_and_normalizers_are_pytorchs(name):
    found = []
    for module in (wg, torch):
        made = KINDS[name].made(module)
        found.append([*made._natural_params, made._log_normalizer(*made._natural_params)])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(numbers(ours), numbers(theirs), rtol=1e-7)
    made = KINDS[name].made(wg)
    if made._mean_carrier_measure is not None:
        derived = wg.distributions.ExponentialFamily.entropy(made)
        np.testing.assert_allclose(numbers(derived), numbers(made.entropy()), rtol=1e-9)


@pytest.mark.parametrize("library", [torch, wg], ids=lambda lib: lib.__name__)
def test_classes_of_ones_own_hand_a_base_up_as_pyros_do(library):
    # expand() knew no `_instance`, and Transform.__init__ did not call that of a Module.
    kinds = library.distributions

    class LogNormal(kinds.LogNormal):
        def __init__(self, loc, scale):
            base = kinds.Normal(loc, scale)
            super(kinds.LogNormal, self).__init__(base, kinds.ExpTransform())

        def expand(self, batch_shape, _instance=None):
            new = self._get_checked_instance(LogNormal, _instance)
            return super(kinds.LogNormal, self).expand(batch_shape, _instance=new)

    wide = LogNormal(library.tensor(0.5), library.tensor(2.0)).expand((3,))
    assert (type(wide), tuple(wide.batch_shape)) == (LogNormal, (3,))
    same = kinds.LogNormal(library.tensor(0.5), library.tensor(2.0))
    assert tuple(wide.mean.shape) == (3,)
    np.testing.assert_allclose(numbers(wide.mean), numbers(same.mean), rtol=1e-6)
    at = library.tensor(0.7)
    np.testing.assert_allclose(numbers(wide.log_prob(at)), numbers(same.log_prob(at)), rtol=1e-6)

    class Scaled(kinds.Transform, library.nn.Module):
        bijective = True
        domain = codomain = kinds.constraints.real

        def __init__(self):
            super().__init__()
            self.scale = library.nn.Parameter(library.tensor(2.0))

        def _call(self, x):
            return self.scale * x

    assert Scaled()(library.tensor(3.0)).item() == 6


@pytest.mark.parametrize("library", [torch, wg], ids=lambda lib: lib.__name__)
def test_modules_that_say_so_call_the_next_class_too(library):
    # `call_super_init` was there and did nothing.
    class Named:
        def __init__(self, name):
            self.name = name

    class Both(library.nn.Module, Named):
        call_super_init = True

    assert Both("a word").name == "a word"
