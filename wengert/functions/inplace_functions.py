"""The in-place functions that PyTorch has outside of Tensor: `wengert.exp_(x)` is `x.exp_()`."""

from __future__ import annotations

from wengert.functions.declared import inplace_function
from wengert.functions.methods import named as named  # gives tensors the methods
from wengert.tensor import Tensor

NAMES = """
    abs_ addmv_ as_strided_ ceil_ clamp_ clamp_max_ clamp_min_ clip_ conj_physical_ detach_
    fill_ fix_ floor_ frac_ gcd_ index_put_ lcm_ ldexp_ logit_ nan_to_num_ reciprocal_
    resize_as_ round_ rsqrt_ square_ trunc_ xlogy_ zero_
"""
for _name in NAMES.split():
    globals()[_name] = inplace_function(getattr(Tensor, _name))
__all__ = [name for name in globals() if name.endswith("_") and name[0] != "_"]
