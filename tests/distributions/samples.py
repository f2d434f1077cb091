"""A distribution of every kind, with outcomes to judge and, where SciPy has it, SciPy's.

Parameters are arrays of double precision; `made` hands them to wengert's or PyTorch's classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class Sample:
    kind: str
    given: dict[str, Any]
    values: Any
    scipy: Callable[..., Any] | None = None
    others: dict[str, Any] = field(default_factory=dict)  # parameters that are no tensors

    def parameters(self, module: Any, requires_grad: bool = False) -> dict[str, Any]:
        return {
            name: module.tensor(value, requires_grad=requires_grad)
            for name, value in self.given.items()
        }

    def made(self, module: Any, parameters: dict[str, Any] | None = None, **more: Any) -> Any:
        parameters = self.parameters(module) if parameters is None else parameters
        return getattr(module.distributions, self.kind)(**parameters, **self.others, **more)


def array(*numbers: Any) -> Any:
    return np.array(numbers, float)


LOC, SCALE = array(0.5, -1.0, 2.0), array(1.0, 2.5, 0.3)
ON_LINE = array([0.3, -2.0, 1.7], [4.0, 0.1, 2.6])
POSITIVE = array([0.3, 2.0, 1.7], [4.0, 0.1, 2.6])
INSIDE = array([0.3, 0.02, 0.7], [0.5, 0.9, 0.99])
CHANCE = array(0.2, 0.5, 0.9)
SHAPE, RATE = array(0.4, 1.0, 7.0), array(1.0, 0.5, 3.0)
WEIGHTS = array([0.2, 0.3, 0.5], [0.6, 0.1, 0.3])
SIMPLEX = array([0.2, 0.3, 0.5], [0.7, 0.2, 0.1])
CENTRE = array([0.5, -1.0, 2.0], [0.0, 1.0, 0.0])
FACTOR = array([1.0, 0.0, 0.0], [0.5, 2.0, 0.0], [-0.3, 0.4, 0.7])
COVARIANCE = FACTOR @ FACTOR.swapaxes(-1, -2)
COUNTS = array([0.0, 2.0, 5.0], [1.0, 3.0, 0.0])

SAMPLES = {
    "Normal": Sample(
        "Normal", {"loc": LOC, "scale": SCALE}, ON_LINE, lambda loc, scale: stats.norm(loc, scale)
    ),
    "LogNormal": Sample(
        "LogNormal", {"loc": LOC, "scale": SCALE}, POSITIVE,
        lambda loc, scale: stats.lognorm(scale, 0, np.exp(loc)),
    ),
    "HalfNormal": Sample(
        "HalfNormal", {"scale": SCALE}, POSITIVE, lambda scale: stats.halfnorm(0, scale)
    ),
    "Uniform": Sample(
        "Uniform", {"low": LOC, "high": LOC + SCALE}, LOC + SCALE * INSIDE,
        lambda low, high: stats.uniform(low, high - low),
    ),
    "Exponential": Sample(
        "Exponential", {"rate": RATE}, POSITIVE, lambda rate: stats.expon(0, 1 / rate)
    ),
    "Laplace": Sample(
        "Laplace", {"loc": LOC, "scale": SCALE}, ON_LINE,
        lambda loc, scale: stats.laplace(loc, scale),
    ),
    "Cauchy": Sample(
        "Cauchy", {"loc": LOC, "scale": SCALE}, ON_LINE,
        lambda loc, scale: stats.cauchy(loc, scale),
    ),
    "Gumbel": Sample(
        "Gumbel", {"loc": LOC, "scale": SCALE}, ON_LINE,
        lambda loc, scale: stats.gumbel_r(loc, scale),
    ),
    "Gamma": Sample(
        "Gamma", {"concentration": SHAPE, "rate": RATE}, POSITIVE,
        lambda concentration, rate: stats.gamma(concentration, 0, 1 / rate),
    ),
    "Chi2": Sample("Chi2", {"df": array(0.7, 3.0, 9.0)}, POSITIVE, lambda df: stats.chi2(df)),
    "StudentT": Sample(
        "StudentT", {"df": array(2.5, 5.0, 40.0), "loc": LOC, "scale": SCALE}, ON_LINE,
        lambda df, loc, scale: stats.t(df, loc, scale),
    ),
    "Beta": Sample(
        "Beta", {"concentration1": SHAPE, "concentration0": array(2.0, 1.5, 0.6)}, INSIDE,
        lambda concentration1, concentration0: stats.beta(concentration1, concentration0),
    ),
    "Dirichlet": Sample("Dirichlet", {"concentration": array([0.6, 1.0, 4.0], SHAPE)}, SIMPLEX),
    "MultivariateNormal": Sample(
        "MultivariateNormal", {"loc": CENTRE, "covariance_matrix": COVARIANCE},
        CENTRE + array([0.1, 1.0, -0.4], [-1.0, 0.3, 0.2]),
    ),
    "MultivariateNormal of precision": Sample(
        "MultivariateNormal", {"loc": CENTRE, "precision_matrix": COVARIANCE},
        CENTRE + array([0.1, 1.0, -0.4], [-1.0, 0.3, 0.2]),
    ),
    "MultivariateNormal of factor": Sample(
        "MultivariateNormal", {"loc": CENTRE, "scale_tril": FACTOR},
        CENTRE + array([0.1, 1.0, -0.4], [-1.0, 0.3, 0.2]),
    ),
    "Bernoulli": Sample(
        "Bernoulli", {"probs": CHANCE}, array([0, 1, 1], [1, 0, 1]),
        lambda probs: stats.bernoulli(probs),
    ),
    "Bernoulli of logits": Sample(
        "Bernoulli", {"logits": LOC}, array([0, 1, 1], [1, 0, 1]),
        lambda logits: stats.bernoulli(1 / (1 + np.exp(-logits))),
    ),
    "Binomial": Sample(
        "Binomial", {"probs": CHANCE}, COUNTS,
        lambda probs: stats.binom(6, probs), {"total_count": 6},
    ),
    "Binomial of logits": Sample(
        "Binomial", {"logits": LOC}, COUNTS,
        lambda logits: stats.binom(6, 1 / (1 + np.exp(-logits))), {"total_count": 6},
    ),
    "Geometric": Sample(
        "Geometric", {"probs": CHANCE}, COUNTS, lambda probs: stats.geom(probs, -1)
    ),
    "Geometric of logits": Sample(
        "Geometric", {"logits": LOC}, COUNTS,
        lambda logits: stats.geom(1 / (1 + np.exp(-logits)), -1),
    ),
    "Poisson": Sample("Poisson", {"rate": RATE}, COUNTS, lambda rate: stats.poisson(rate)),
    "Categorical": Sample("Categorical", {"probs": WEIGHTS}, np.array([[0, 2], [1, 1]])),
    "Categorical of logits": Sample("Categorical", {"logits": ON_LINE}, np.array([[0, 2], [1, 1]])),
    "OneHotCategorical": Sample(
        "OneHotCategorical", {"probs": WEIGHTS}, array([0, 0, 1], [1, 0, 0])
    ),
    "OneHotCategoricalStraightThrough": Sample(
        "OneHotCategoricalStraightThrough", {"logits": ON_LINE}, array([0, 0, 1], [1, 0, 0])
    ),
    "Multinomial": Sample(
        "Multinomial", {"probs": WEIGHTS}, array([0, 2, 3], [1, 4, 0]), None, {"total_count": 5}
    ),
    "Multinomial of logits": Sample(
        "Multinomial", {"logits": ON_LINE}, array([0, 2, 3], [1, 4, 0]), None, {"total_count": 5}
    ),
    "HalfCauchy": Sample(
        "HalfCauchy", {"scale": SCALE}, POSITIVE, lambda scale: stats.halfcauchy(0, scale)
    ),
    "Pareto": Sample(
        "Pareto", {"scale": SCALE, "alpha": array(2.5, 3.0, 4.0)}, SCALE + POSITIVE,
        lambda scale, alpha: stats.pareto(alpha, 0, scale),
    ),
    "GeneralizedPareto": Sample(
        "GeneralizedPareto", {"loc": LOC, "scale": SCALE, "concentration": array(0.3, -0.4, 0.2)},
        LOC + SCALE * array([0.1, 2.0, 3.0], [0.5, 1.0, 0.2]),
        lambda loc, scale, concentration: stats.genpareto(concentration, loc, scale),
    ),
    "Weibull": Sample(
        "Weibull", {"scale": SCALE, "concentration": array(1.4, 3.0, 1.0)}, POSITIVE,
        lambda scale, concentration: stats.weibull_min(concentration, 0, scale),
    ),
    "Kumaraswamy": Sample(
        "Kumaraswamy", {"concentration1": SHAPE, "concentration0": array(2.0, 1.5, 0.6)}, INSIDE
    ),
    "InverseGamma": Sample(
        "InverseGamma", {"concentration": array(2.4, 3.5, 7.0), "rate": RATE}, POSITIVE,
        lambda concentration, rate: stats.invgamma(concentration, 0, rate),
    ),
    "FisherSnedecor": Sample(
        "FisherSnedecor", {"df1": array(1.0, 3.0, 9.0), "df2": array(5.0, 6.0, 20.0)}, POSITIVE,
        lambda df1, df2: stats.f(df1, df2),
    ),
    "NegativeBinomial": Sample(
        "NegativeBinomial", {"total_count": SHAPE, "probs": array(0.2, 0.5, 0.8)}, COUNTS,
        lambda total_count, probs: stats.nbinom(total_count, 1 - probs),
    ),
    "NegativeBinomial of logits": Sample(
        "NegativeBinomial", {"total_count": SHAPE, "logits": LOC}, COUNTS,
        lambda total_count, logits: stats.nbinom(total_count, 1 / (1 + np.exp(logits))),
    ),
    "VonMises": Sample(
        "VonMises", {"loc": LOC, "concentration": array(0.1, 2.0, 50.0)}, ON_LINE,
        lambda loc, concentration: stats.vonmises(concentration, loc),
    ),
    "ContinuousBernoulli": Sample(
        "ContinuousBernoulli", {"probs": array(0.2, 0.45, 0.9)}, INSIDE
    ),
    "ContinuousBernoulli of logits": Sample("ContinuousBernoulli", {"logits": LOC}, INSIDE),
    "RelaxedBernoulli": Sample(
        "RelaxedBernoulli", {"temperature": np.array(0.7), "probs": CHANCE}, INSIDE
    ),
    "RelaxedBernoulli of logits": Sample(
        "RelaxedBernoulli", {"temperature": np.array(0.7), "logits": LOC}, INSIDE
    ),
    "RelaxedOneHotCategorical": Sample(
        "RelaxedOneHotCategorical", {"temperature": np.array(0.7), "probs": WEIGHTS}, SIMPLEX
    ),
    "LogisticNormal": Sample(
        "LogisticNormal", {"loc": CENTRE[:, :2], "scale": SCALE[:2]}, SIMPLEX
    ),
    "LowRankMultivariateNormal": Sample(
        "LowRankMultivariateNormal",
        {"loc": CENTRE, "cov_factor": FACTOR[:, :2], "cov_diag": SCALE},
        CENTRE + array([0.1, 1.0, -0.4], [-1.0, 0.3, 0.2]),
    ),
    "Wishart": Sample(
        "Wishart", {"df": array(3.5, 6.0), "covariance_matrix": COVARIANCE}, COVARIANCE + np.eye(3)
    ),
    "Wishart of factor": Sample(
        "Wishart", {"df": array(3.5, 6.0), "scale_tril": FACTOR}, COVARIANCE + np.eye(3)
    ),
    "LKJCholesky": Sample(
        "LKJCholesky", {"concentration": array(0.7, 2.0)},
        np.linalg.cholesky(array([1.0, 0.3, -0.2], [0.3, 1.0, 0.5], [-0.2, 0.5, 1.0])), None,
        {"dim": 3},
    ),
}  # fmt: skip


def is_discrete(sample: Sample) -> bool:
    assert sample.scipy is not None
    return isinstance(sample.scipy(**sample.given).dist, stats.rv_discrete)
