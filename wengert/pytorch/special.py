"""Special functions, as `torch.special` has them.

SciPy's own work on tensors as well: `scipy.special.gammaln(x)` is recorded and differentiated.

>>> import wengert as wg
>>> x = wg.tensor([1.0, 2.0], requires_grad=True)
>>> wg.special.erf(x).sum().backward()
>>> x.grad  # 2 / sqrt(pi) exp(-x^2)
tensor([0.4151, 0.0207])
"""

from wengert.functions.elementary import digamma as digamma
from wengert.functions.elementary import erf as erf
from wengert.functions.elementary import erfc as erfc
from wengert.functions.elementary import erfinv as erfinv
from wengert.functions.elementary import exp2 as exp2
from wengert.functions.elementary import expm1 as expm1
from wengert.functions.elementary import i0 as i0
from wengert.functions.elementary import log1p as log1p
from wengert.functions.elementary import sinc as sinc
from wengert.functions.math import log_softmax as log_softmax
from wengert.functions.math import round as round
from wengert.functions.math import softmax as softmax
from wengert.functions.reductions import logsumexp as logsumexp
from wengert.functions.special import airy_ai as airy_ai
from wengert.functions.special import bessel_j0 as bessel_j0
from wengert.functions.special import bessel_j1 as bessel_j1
from wengert.functions.special import bessel_y0 as bessel_y0
from wengert.functions.special import bessel_y1 as bessel_y1
from wengert.functions.special import betainc as betainc
from wengert.functions.special import chebyshev_polynomial_t as chebyshev_polynomial_t
from wengert.functions.special import chebyshev_polynomial_u as chebyshev_polynomial_u
from wengert.functions.special import chebyshev_polynomial_v as chebyshev_polynomial_v
from wengert.functions.special import chebyshev_polynomial_w as chebyshev_polynomial_w
from wengert.functions.special import entr as entr
from wengert.functions.special import erfcx as erfcx
from wengert.functions.special import expit as expit
from wengert.functions.special import gammainc as gammainc
from wengert.functions.special import gammaincc as gammaincc
from wengert.functions.special import gammaln as gammaln
from wengert.functions.special import hermite_polynomial_h as hermite_polynomial_h
from wengert.functions.special import hermite_polynomial_he as hermite_polynomial_he
from wengert.functions.special import i0e as i0e
from wengert.functions.special import i1 as i1
from wengert.functions.special import i1e as i1e
from wengert.functions.special import laguerre_polynomial_l as laguerre_polynomial_l
from wengert.functions.special import legendre_polynomial_p as legendre_polynomial_p
from wengert.functions.special import log_ndtr as log_ndtr
from wengert.functions.special import logit as logit
from wengert.functions.special import modified_bessel_i0 as modified_bessel_i0
from wengert.functions.special import modified_bessel_i1 as modified_bessel_i1
from wengert.functions.special import modified_bessel_k0 as modified_bessel_k0
from wengert.functions.special import modified_bessel_k1 as modified_bessel_k1
from wengert.functions.special import multigammaln as multigammaln
from wengert.functions.special import ndtr as ndtr
from wengert.functions.special import ndtri as ndtri
from wengert.functions.special import polygamma as polygamma
from wengert.functions.special import psi as psi
from wengert.functions.special import scaled_modified_bessel_k0 as scaled_modified_bessel_k0
from wengert.functions.special import scaled_modified_bessel_k1 as scaled_modified_bessel_k1
from wengert.functions.special import (
    shifted_chebyshev_polynomial_t as shifted_chebyshev_polynomial_t,
)
from wengert.functions.special import (
    shifted_chebyshev_polynomial_u as shifted_chebyshev_polynomial_u,
)
from wengert.functions.special import (
    shifted_chebyshev_polynomial_v as shifted_chebyshev_polynomial_v,
)
from wengert.functions.special import (
    shifted_chebyshev_polynomial_w as shifted_chebyshev_polynomial_w,
)
from wengert.functions.special import spherical_bessel_j0 as spherical_bessel_j0
from wengert.functions.special import xlog1py as xlog1py
from wengert.functions.special import xlogy as xlogy
from wengert.functions.special import zeta as zeta
