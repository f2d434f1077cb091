"""Families stated by their formulas: what `family` makes of the statement."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import wengert as wg
from wengert import distributions as d
from wengert.distributions import constraints, utils
from wengert.distributions.family import (
    Family,
    Positive,
    family,
    pathwise,
    pointwise,
    quantity,
    region,
)
from wengert.distributions.formulas import formula


@family(w="width")
class Triangular(Family):
    """p(x) = 2 x / w^2 on [0, w]."""

    width: Positive

    support = region(lambda w: constraints.interval(0.0, w))

    mean = quantity(lambda w: 2 / 3 * w)
    variance = quantity(lambda w, mean: w * w / 2 - mean * mean)
    log_prob = pointwise(lambda x, w: (2 * x).log() - 2 * w.log())
    rsample = pathwise(lambda shape, w: w * wg.rand(shape).sqrt())


def test_a_family_of_ones_own_is_stated_by_its_formulas():
    wg.manual_seed(0)
    t = Triangular(wg.tensor([1.0, 3.0]))
    assert repr(t) == "Triangular(width: torch.Size([2]))"
    assert Triangular.has_rsample
    assert Triangular.arg_constraints == {"width": constraints.positive}
    assert t.log_prob(wg.tensor(0.5))[0].exp().item() == pytest.approx(1.0)
    drawn = t.sample((20000,))
    assert wg.allclose(drawn.mean(0), t.mean, rtol=0.02)
    assert wg.allclose(drawn.var(0), t.variance, rtol=0.03)
    assert t.expand((3, 2)).stddev.shape == (3, 2)
    with pytest.raises(ValueError, match="satisfy the constraint Interval"):
        t.log_prob(wg.tensor(2.0))


def test_members_are_those_of_any_class():
    assert list(inspect.signature(d.Gamma).parameters) == ["concentration", "rate", "validate_args"]
    assert d.Gamma.cdf.__qualname__ == "Gamma.cdf"
    assert inspect.getdoc(d.Gamma.cdf) == inspect.getdoc(d.Distribution.cdf)
    assert isinstance(vars(d.Gamma)["mean"], property)


MISFITS = {
    r"Normal\(loc, scale, validate_args=None\): missing .*'scale'": lambda: d.Normal(1.0),
    "multiple values for argument 'scale'": lambda: d.Normal(1.0, 2.0, scale=3.0),
    "unexpected keyword argument 'sale'": lambda: d.Normal(1.0, 2.0, sale=3.0),
    "too many positional": lambda: d.Normal(1.0, 2.0, False, 3.0),
}


@pytest.mark.parametrize("message", MISFITS)
def test_arguments_that_do_not_fit_are_type_errors(message):
    with pytest.raises(TypeError, match=message):
        MISFITS[message]()
    assert d.Normal(1.0, -2.0, False).scale.item() == -2


def test_subclasses_override_what_a_formula_says():
    class Shifted(d.Normal):
        def __init__(self, loc):
            super().__init__(loc, scale=1.0)

        @property
        def mean(self):
            return super().mean + 1

        def log_prob(self, value):
            return super().log_prob(value) + 2

    assert Shifted(3.0).mean.item() == 4
    assert Shifted(3.0).log_prob(3.0).item() == pytest.approx(2 - 0.5 * np.log(2 * np.pi))


@pytest.mark.parametrize("name", ["Weibull", "Pareto", "GeneralizedPareto", "Kumaraswamy"])
def test_quantiles_keep_the_digits_of_small_probabilities(name):
    # They were computed from 1 - p, which is 1 for p = 1e-9 in single precision.
    one, nine = wg.tensor(1.0), wg.tensor(1e-9)
    made = {
        "Weibull": lambda: d.Weibull(one, one).icdf(nine),
        "Pareto": lambda: d.Pareto(one, one).icdf(nine.double()) - 1,
        "GeneralizedPareto": lambda: d.GeneralizedPareto(0.0, one, 0.5).icdf(nine),
        "Kumaraswamy": lambda: d.Kumaraswamy(one, one).icdf(nine),
    }[name]()
    assert made.item() == pytest.approx(1e-9, rel=1e-6)


def test_lazy_properties_of_ones_own_keep_their_history():
    # They were cached as they were computed, without a history inside of no_grad.
    class Scaled(Triangular):
        @utils.lazy_property
        def area(self):
            return self.width**2 / 2

    width = wg.tensor(3.0, requires_grad=True)
    t = Scaled(width)
    with wg.no_grad():
        t.area
    assert wg.autograd.grad(t.area, width)[0].item() == 3


FAMILIES = [
    kind for kind in vars(d).values() if isinstance(kind, type) and issubclass(kind, Family)
]


@pytest.mark.parametrize("kind", FAMILIES, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", ["mean", "mode", "variance", "entropy", "support"])
def test_what_a_family_knows_of_itself_is_a_formula(kind, name):
    # 18 families computed some of it in methods, with statements that took parameters out of self.
    home = next(c for c in kind.__mro__ if name in vars(c))
    member = vars(home)[name]
    code = getattr(member.fget if isinstance(member, property) else member, "__code__", None)
    if home not in (d.Distribution, d.ExponentialFamily) and code is not None:
        assert code.co_filename in map(inspect.getfile, (family, formula))


def test_a_quantity_of_several_statements_says_what_it_is():
    assert d.Wishart.mode.__doc__ == "NaN where the density is unbounded: df < k + 1."
