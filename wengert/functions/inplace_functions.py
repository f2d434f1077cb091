"""The in-place functions that PyTorch has outside of Tensor: `wengert.exp_(x)` is `x.exp_()`."""

from __future__ import annotations

from wengert.autograd.methods import HistoryMethods
from wengert.functions.declared import inplace_function
from wengert.functions.methods.inplace import InplaceMethods

abs_ = inplace_function(InplaceMethods.abs_)
addmv_ = inplace_function(InplaceMethods.addmv_)
as_strided_ = inplace_function(InplaceMethods.as_strided_)
ceil_ = inplace_function(InplaceMethods.ceil_)
clamp_ = inplace_function(InplaceMethods.clamp_)
clamp_max_ = inplace_function(InplaceMethods.clamp_max_)
clamp_min_ = inplace_function(InplaceMethods.clamp_min_)
clip_ = inplace_function(InplaceMethods.clip_)
conj_physical_ = inplace_function(InplaceMethods.conj_physical_)
detach_ = inplace_function(HistoryMethods.detach_)
fill_ = inplace_function(InplaceMethods.fill_)
fix_ = inplace_function(InplaceMethods.fix_)
floor_ = inplace_function(InplaceMethods.floor_)
frac_ = inplace_function(InplaceMethods.frac_)
gcd_ = inplace_function(InplaceMethods.gcd_)
index_put_ = inplace_function(InplaceMethods.index_put_)
lcm_ = inplace_function(InplaceMethods.lcm_)
ldexp_ = inplace_function(InplaceMethods.ldexp_)
logit_ = inplace_function(InplaceMethods.logit_)
nan_to_num_ = inplace_function(InplaceMethods.nan_to_num_)
reciprocal_ = inplace_function(InplaceMethods.reciprocal_)
resize_as_ = inplace_function(InplaceMethods.resize_as_)
round_ = inplace_function(InplaceMethods.round_)
rsqrt_ = inplace_function(InplaceMethods.rsqrt_)
square_ = inplace_function(InplaceMethods.square_)
trunc_ = inplace_function(InplaceMethods.trunc_)
xlogy_ = inplace_function(InplaceMethods.xlogy_)
zero_ = inplace_function(InplaceMethods.zero_)
