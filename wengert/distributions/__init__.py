"""Probability distributions, as `torch.distributions` has them.

Samples are drawn from wengert's generator (`wg.manual_seed`); those of `rsample` are differentiable
in the parameters, for gamma variables and what is made from them by implicit reparameterisation.

>>> import wengert as wg
>>> mean = wg.tensor(1.0, requires_grad=True)
>>> d = wg.distributions.Normal(mean, 2.0)
>>> d.log_prob(wg.tensor(3.0)).backward()
>>> mean.grad  # (x - mean) / variance
tensor(0.5000)

Begin with `distribution.py`, what all have in common, `family.py`, how one is stated, and
`location.py`, the simplest of them; each other file is a group of families. To add one, say its
parameters and their constraints, its log density and how it is sampled, and name it here. `kl.py`
has divergences of pairs, `transform.py` and its neighbours the maps between. Nothing in the package
leans on this folder.
"""

from wengert.distributions import constraints as constraints
from wengert.distributions import transforms as transforms
from wengert.distributions.circular import VonMises as VonMises
from wengert.distributions.compound import LogisticNormal as LogisticNormal
from wengert.distributions.compound import MixtureSameFamily as MixtureSameFamily
from wengert.distributions.constraint_registry import biject_to as biject_to
from wengert.distributions.constraint_registry import transform_to as transform_to
from wengert.distributions.discrete import Bernoulli as Bernoulli
from wengert.distributions.discrete import Binomial as Binomial
from wengert.distributions.discrete import Categorical as Categorical
from wengert.distributions.discrete import Geometric as Geometric
from wengert.distributions.discrete import Multinomial as Multinomial
from wengert.distributions.discrete import NegativeBinomial as NegativeBinomial
from wengert.distributions.discrete import OneHotCategorical as OneHotCategorical
from wengert.distributions.discrete import (
    OneHotCategoricalStraightThrough as OneHotCategoricalStraightThrough,
)
from wengert.distributions.discrete import Poisson as Poisson
from wengert.distributions.distribution import Distribution as Distribution
from wengert.distributions.exp_family import ExponentialFamily as ExponentialFamily
from wengert.distributions.gamma import Beta as Beta
from wengert.distributions.gamma import Chi2 as Chi2
from wengert.distributions.gamma import Dirichlet as Dirichlet
from wengert.distributions.gamma import FisherSnedecor as FisherSnedecor
from wengert.distributions.gamma import Gamma as Gamma
from wengert.distributions.gamma import InverseGamma as InverseGamma
from wengert.distributions.gamma import StudentT as StudentT
from wengert.distributions.kl import kl_divergence as kl_divergence
from wengert.distributions.kl import register_kl as register_kl
from wengert.distributions.location import Cauchy as Cauchy
from wengert.distributions.location import Exponential as Exponential
from wengert.distributions.location import Gumbel as Gumbel
from wengert.distributions.location import HalfNormal as HalfNormal
from wengert.distributions.location import Laplace as Laplace
from wengert.distributions.location import LogNormal as LogNormal
from wengert.distributions.location import Normal as Normal
from wengert.distributions.location import Uniform as Uniform
from wengert.distributions.multivariate import LKJCholesky as LKJCholesky
from wengert.distributions.multivariate import (
    LowRankMultivariateNormal as LowRankMultivariateNormal,
)
from wengert.distributions.multivariate import MultivariateNormal as MultivariateNormal
from wengert.distributions.multivariate import Wishart as Wishart
from wengert.distributions.relaxed import ContinuousBernoulli as ContinuousBernoulli
from wengert.distributions.relaxed import RelaxedBernoulli as RelaxedBernoulli
from wengert.distributions.relaxed import RelaxedOneHotCategorical as RelaxedOneHotCategorical
from wengert.distributions.tails import GeneralizedPareto as GeneralizedPareto
from wengert.distributions.tails import HalfCauchy as HalfCauchy
from wengert.distributions.tails import Kumaraswamy as Kumaraswamy
from wengert.distributions.tails import Pareto as Pareto
from wengert.distributions.tails import Weibull as Weibull
from wengert.distributions.transformed import Independent as Independent
from wengert.distributions.transformed import TransformedDistribution as TransformedDistribution
from wengert.distributions.transforms import AbsTransform as AbsTransform
from wengert.distributions.transforms import AffineTransform as AffineTransform
from wengert.distributions.transforms import CatTransform as CatTransform
from wengert.distributions.transforms import ComposeTransform as ComposeTransform
from wengert.distributions.transforms import CorrCholeskyTransform as CorrCholeskyTransform
from wengert.distributions.transforms import (
    CumulativeDistributionTransform as CumulativeDistributionTransform,
)
from wengert.distributions.transforms import ExpTransform as ExpTransform
from wengert.distributions.transforms import IndependentTransform as IndependentTransform
from wengert.distributions.transforms import LowerCholeskyTransform as LowerCholeskyTransform
from wengert.distributions.transforms import PositiveDefiniteTransform as PositiveDefiniteTransform
from wengert.distributions.transforms import PowerTransform as PowerTransform
from wengert.distributions.transforms import ReshapeTransform as ReshapeTransform
from wengert.distributions.transforms import SigmoidTransform as SigmoidTransform
from wengert.distributions.transforms import SoftmaxTransform as SoftmaxTransform
from wengert.distributions.transforms import SoftplusTransform as SoftplusTransform
from wengert.distributions.transforms import StackTransform as StackTransform
from wengert.distributions.transforms import StickBreakingTransform as StickBreakingTransform
from wengert.distributions.transforms import TanhTransform as TanhTransform
from wengert.distributions.transforms import Transform as Transform
from wengert.distributions.transforms import identity_transform as identity_transform
