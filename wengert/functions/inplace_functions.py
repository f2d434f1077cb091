"""The in-place functions that PyTorch has outside of Tensor: `wengert.exp_(x)` is `x.exp_()`."""

from __future__ import annotations

import functools
from typing import Any

from wengert.autograd.methods import HistoryMethods
from wengert.dispatch import Function
from wengert.functions.methods.inplace import InplaceMethods
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


abs_ = _function(InplaceMethods.abs_)
acos_ = _function(InplaceMethods.acos_)
acosh_ = _function(InplaceMethods.acosh_)
addmv_ = _function(InplaceMethods.addmv_)
arccos_ = _function(InplaceMethods.arccos_)
arccosh_ = _function(InplaceMethods.arccosh_)
arcsin_ = _function(InplaceMethods.arcsin_)
arcsinh_ = _function(InplaceMethods.arcsinh_)
arctan_ = _function(InplaceMethods.arctan_)
arctanh_ = _function(InplaceMethods.arctanh_)
as_strided_ = _function(InplaceMethods.as_strided_)
asin_ = _function(InplaceMethods.asin_)
asinh_ = _function(InplaceMethods.asinh_)
atan_ = _function(InplaceMethods.atan_)
atanh_ = _function(InplaceMethods.atanh_)
ceil_ = _function(InplaceMethods.ceil_)
clamp_ = _function(InplaceMethods.clamp_)
clamp_max_ = _function(InplaceMethods.clamp_max_)
clamp_min_ = _function(InplaceMethods.clamp_min_)
clip_ = _function(InplaceMethods.clip_)
conj_physical_ = _function(InplaceMethods.conj_physical_)
cos_ = _function(InplaceMethods.cos_)
cosh_ = _function(InplaceMethods.cosh_)
deg2rad_ = _function(InplaceMethods.deg2rad_)
detach_ = _function(HistoryMethods.detach_)
erf_ = _function(InplaceMethods.erf_)
erfc_ = _function(InplaceMethods.erfc_)
exp2_ = _function(InplaceMethods.exp2_)
exp_ = _function(InplaceMethods.exp_)
expm1_ = _function(InplaceMethods.expm1_)
fill_ = _function(InplaceMethods.fill_)
fix_ = _function(InplaceMethods.fix_)
floor_ = _function(InplaceMethods.floor_)
frac_ = _function(InplaceMethods.frac_)
gcd_ = _function(InplaceMethods.gcd_)
i0_ = _function(InplaceMethods.i0_)
index_put_ = _function(InplaceMethods.index_put_)
lcm_ = _function(InplaceMethods.lcm_)
ldexp_ = _function(InplaceMethods.ldexp_)
log10_ = _function(InplaceMethods.log10_)
log1p_ = _function(InplaceMethods.log1p_)
log2_ = _function(InplaceMethods.log2_)
log_ = _function(InplaceMethods.log_)
logit_ = _function(InplaceMethods.logit_)
nan_to_num_ = _function(InplaceMethods.nan_to_num_)
neg_ = _function(InplaceMethods.neg_)
negative_ = _function(InplaceMethods.negative_)
rad2deg_ = _function(InplaceMethods.rad2deg_)
reciprocal_ = _function(InplaceMethods.reciprocal_)
resize_as_ = _function(InplaceMethods.resize_as_)
round_ = _function(InplaceMethods.round_)
rsqrt_ = _function(InplaceMethods.rsqrt_)
sigmoid_ = _function(InplaceMethods.sigmoid_)
sin_ = _function(InplaceMethods.sin_)
sinc_ = _function(InplaceMethods.sinc_)
sinh_ = _function(InplaceMethods.sinh_)
sqrt_ = _function(InplaceMethods.sqrt_)
square_ = _function(InplaceMethods.square_)
tan_ = _function(InplaceMethods.tan_)
tanh_ = _function(InplaceMethods.tanh_)
trunc_ = _function(InplaceMethods.trunc_)
xlogy_ = _function(InplaceMethods.xlogy_)
zero_ = _function(InplaceMethods.zero_)
