"""The in-place functions that PyTorch has outside of Tensor: `wengert.exp_(x)` is `x.exp_()`."""

from __future__ import annotations

import functools
from typing import Any

from wengert.dispatch import Function
from wengert.functions import methods as methods  # attaches what is named here
from wengert.tensor import Tensor


def _function(method: Function) -> Function:
    """A method as a function of a tensor: nothing else can be written into."""

    @functools.wraps(method)
    def function(input: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(input, Tensor):
            raise TypeError(
                f"{method.__name__}(): argument 'input' (position 1) must be a Tensor, to write "
                f"into, not {type(input).__name__}"
            )
        return method(input, *args, **kwargs)

    return function


abs_ = _function(Tensor.abs_)
acos_ = _function(Tensor.acos_)
acosh_ = _function(Tensor.acosh_)
addmv_ = _function(Tensor.addmv_)
arccos_ = _function(Tensor.arccos_)
arccosh_ = _function(Tensor.arccosh_)
arcsin_ = _function(Tensor.arcsin_)
arcsinh_ = _function(Tensor.arcsinh_)
arctan_ = _function(Tensor.arctan_)
arctanh_ = _function(Tensor.arctanh_)
as_strided_ = _function(Tensor.as_strided_)
asin_ = _function(Tensor.asin_)
asinh_ = _function(Tensor.asinh_)
atan_ = _function(Tensor.atan_)
atanh_ = _function(Tensor.atanh_)
ceil_ = _function(Tensor.ceil_)
clamp_ = _function(Tensor.clamp_)
clamp_max_ = _function(Tensor.clamp_max_)
clamp_min_ = _function(Tensor.clamp_min_)
clip_ = _function(Tensor.clip_)
conj_physical_ = _function(Tensor.conj_physical_)
cos_ = _function(Tensor.cos_)
cosh_ = _function(Tensor.cosh_)
deg2rad_ = _function(Tensor.deg2rad_)
detach_ = _function(Tensor.detach_)
erf_ = _function(Tensor.erf_)
erfc_ = _function(Tensor.erfc_)
exp2_ = _function(Tensor.exp2_)
exp_ = _function(Tensor.exp_)
expm1_ = _function(Tensor.expm1_)
fill_ = _function(Tensor.fill_)
fix_ = _function(Tensor.fix_)
floor_ = _function(Tensor.floor_)
frac_ = _function(Tensor.frac_)
gcd_ = _function(Tensor.gcd_)
i0_ = _function(Tensor.i0_)
index_put_ = _function(Tensor.index_put_)
lcm_ = _function(Tensor.lcm_)
ldexp_ = _function(Tensor.ldexp_)
log10_ = _function(Tensor.log10_)
log1p_ = _function(Tensor.log1p_)
log2_ = _function(Tensor.log2_)
log_ = _function(Tensor.log_)
logit_ = _function(Tensor.logit_)
nan_to_num_ = _function(Tensor.nan_to_num_)
neg_ = _function(Tensor.neg_)
negative_ = _function(Tensor.negative_)
rad2deg_ = _function(Tensor.rad2deg_)
reciprocal_ = _function(Tensor.reciprocal_)
resize_as_ = _function(Tensor.resize_as_)
round_ = _function(Tensor.round_)
rsqrt_ = _function(Tensor.rsqrt_)
sigmoid_ = _function(Tensor.sigmoid_)
sin_ = _function(Tensor.sin_)
sinc_ = _function(Tensor.sinc_)
sinh_ = _function(Tensor.sinh_)
sqrt_ = _function(Tensor.sqrt_)
square_ = _function(Tensor.square_)
tan_ = _function(Tensor.tan_)
tanh_ = _function(Tensor.tanh_)
trunc_ = _function(Tensor.trunc_)
xlogy_ = _function(Tensor.xlogy_)
zero_ = _function(Tensor.zero_)
