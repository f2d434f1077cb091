"""The in-place functions that PyTorch has outside of Tensor: `wengert.exp_(x)` is `x.exp_()`."""

from __future__ import annotations

import functools
from typing import Any

from wengert.autograd import methods as _history  # noqa: F401  (gives Tensor detach_)
from wengert.dispatch import Function
from wengert.functions.methods import conversations as _methods  # noqa: F401  (and the others)
from wengert.tensor import Tensor


def _function(name: str) -> Function:
    """The method of that name as a function of a tensor: nothing else can be written into."""
    method = getattr(Tensor, name)

    @functools.wraps(method)
    def function(input: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(input, Tensor):
            raise TypeError(
                f"{method.__name__}(): argument 'input' (position 1) must be a Tensor, to write "
                f"into, not {type(input).__name__}"
            )
        return method(input, *args, **kwargs)

    return function


abs_ = _function("abs_")
acos_ = _function("acos_")
acosh_ = _function("acosh_")
addmv_ = _function("addmv_")
arccos_ = _function("arccos_")
arccosh_ = _function("arccosh_")
arcsin_ = _function("arcsin_")
arcsinh_ = _function("arcsinh_")
arctan_ = _function("arctan_")
arctanh_ = _function("arctanh_")
as_strided_ = _function("as_strided_")
asin_ = _function("asin_")
asinh_ = _function("asinh_")
atan_ = _function("atan_")
atanh_ = _function("atanh_")
ceil_ = _function("ceil_")
clamp_ = _function("clamp_")
clamp_max_ = _function("clamp_max_")
clamp_min_ = _function("clamp_min_")
clip_ = _function("clip_")
conj_physical_ = _function("conj_physical_")
cos_ = _function("cos_")
cosh_ = _function("cosh_")
deg2rad_ = _function("deg2rad_")
detach_ = _function("detach_")
erf_ = _function("erf_")
erfc_ = _function("erfc_")
exp2_ = _function("exp2_")
exp_ = _function("exp_")
expm1_ = _function("expm1_")
fill_ = _function("fill_")
fix_ = _function("fix_")
floor_ = _function("floor_")
frac_ = _function("frac_")
gcd_ = _function("gcd_")
i0_ = _function("i0_")
index_put_ = _function("index_put_")
lcm_ = _function("lcm_")
ldexp_ = _function("ldexp_")
log10_ = _function("log10_")
log1p_ = _function("log1p_")
log2_ = _function("log2_")
log_ = _function("log_")
logit_ = _function("logit_")
nan_to_num_ = _function("nan_to_num_")
neg_ = _function("neg_")
negative_ = _function("negative_")
rad2deg_ = _function("rad2deg_")
reciprocal_ = _function("reciprocal_")
resize_as_ = _function("resize_as_")
round_ = _function("round_")
rsqrt_ = _function("rsqrt_")
sigmoid_ = _function("sigmoid_")
sin_ = _function("sin_")
sinc_ = _function("sinc_")
sinh_ = _function("sinh_")
sqrt_ = _function("sqrt_")
square_ = _function("square_")
tan_ = _function("tan_")
tanh_ = _function("tanh_")
trunc_ = _function("trunc_")
xlogy_ = _function("xlogy_")
zero_ = _function("zero_")
