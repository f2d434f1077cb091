"""The in-place functions that PyTorch has outside of Tensor: `wengert.exp_(x)` is `x.exp_()`."""

from __future__ import annotations

from wengert.functions.declared import inplace_function
from wengert.functions.methods import named as named  # gives tensors the methods
from wengert.tensor import Tensor

abs_ = inplace_function(Tensor.abs_)
addmv_ = inplace_function(Tensor.addmv_)
as_strided_ = inplace_function(Tensor.as_strided_)
ceil_ = inplace_function(Tensor.ceil_)
clamp_ = inplace_function(Tensor.clamp_)
clamp_max_ = inplace_function(Tensor.clamp_max_)
clamp_min_ = inplace_function(Tensor.clamp_min_)
clip_ = inplace_function(Tensor.clip_)
conj_physical_ = inplace_function(Tensor.conj_physical_)
detach_ = inplace_function(Tensor.detach_)
fill_ = inplace_function(Tensor.fill_)
fix_ = inplace_function(Tensor.fix_)
floor_ = inplace_function(Tensor.floor_)
frac_ = inplace_function(Tensor.frac_)
gcd_ = inplace_function(Tensor.gcd_)
index_put_ = inplace_function(Tensor.index_put_)
lcm_ = inplace_function(Tensor.lcm_)
ldexp_ = inplace_function(Tensor.ldexp_)
logit_ = inplace_function(Tensor.logit_)
nan_to_num_ = inplace_function(Tensor.nan_to_num_)
reciprocal_ = inplace_function(Tensor.reciprocal_)
resize_as_ = inplace_function(Tensor.resize_as_)
round_ = inplace_function(Tensor.round_)
rsqrt_ = inplace_function(Tensor.rsqrt_)
square_ = inplace_function(Tensor.square_)
trunc_ = inplace_function(Tensor.trunc_)
xlogy_ = inplace_function(Tensor.xlogy_)
zero_ = inplace_function(Tensor.zero_)
