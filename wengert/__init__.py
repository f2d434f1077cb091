"""wengert: automatic differentiation on NumPy arrays, with the API of PyTorch.

>>> import wengert as wg
>>> x = wg.tensor([1.0, 2.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
tensor([2., 4.])
"""

# The names are written out, so that a reader and a linter can find them; many of them are
# PyTorch's names for what Python calls otherwise (bool, float, sum, max, ...).

from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from numpy import dtype as dtype

from wengert import autograd as autograd
from wengert import backends as backends
from wengert import compiler as compiler
from wengert import cuda as cuda
from wengert import jit as jit
from wengert import linalg as linalg
from wengert import nn as nn
from wengert import numeric as numeric
from wengert import optim as optim
from wengert import primitive as primitive
from wengert import random as random
from wengert import rules as rules
from wengert import special as special
from wengert import utils as utils
from wengert import version as version
from wengert.arrays import heap as _heap
from wengert.autograd import methods as _history
from wengert.autograd.anomaly import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from wengert.autograd.anomaly import is_anomaly_enabled as is_anomaly_enabled
from wengert.compile.call import by_blocks as _by_blocks
from wengert.compile.call.function import compile as compile
from wengert.dtypes import bool as bool
from wengert.dtypes import cdouble as cdouble
from wengert.dtypes import cfloat as cfloat
from wengert.dtypes import complex64 as complex64
from wengert.dtypes import complex128 as complex128
from wengert.dtypes import double as double
from wengert.dtypes import float as float
from wengert.dtypes import float16 as float16
from wengert.dtypes import float32 as float32
from wengert.dtypes import float64 as float64
from wengert.dtypes import get_default_dtype as get_default_dtype
from wengert.dtypes import half as half
from wengert.dtypes import int as int
from wengert.dtypes import int8 as int8
from wengert.dtypes import int16 as int16
from wengert.dtypes import int32 as int32
from wengert.dtypes import int64 as int64
from wengert.dtypes import long as long
from wengert.dtypes import promote_types as promote_types
from wengert.dtypes import set_default_dtype as set_default_dtype
from wengert.dtypes import short as short
from wengert.dtypes import uint8 as uint8
from wengert.dtypes import uint16 as uint16
from wengert.dtypes import uint32 as uint32
from wengert.dtypes import uint64 as uint64
from wengert.explain import explain as explain
from wengert.explain.source import source as source
from wengert.functions.calculus import cumulative_trapezoid as cumulative_trapezoid
from wengert.functions.calculus import diff as diff
from wengert.functions.calculus import gradient as gradient
from wengert.functions.calculus import trapezoid as trapezoid
from wengert.functions.calculus import trapz as trapz
from wengert.functions.calculus import vander as vander
from wengert.functions.choosing import where as where
from wengert.functions.comparison import all as all
from wengert.functions.comparison import allclose as allclose
from wengert.functions.comparison import any as any
from wengert.functions.comparison import bitwise_and as bitwise_and
from wengert.functions.comparison import bitwise_left_shift as bitwise_left_shift
from wengert.functions.comparison import bitwise_not as bitwise_not
from wengert.functions.comparison import bitwise_or as bitwise_or
from wengert.functions.comparison import bitwise_right_shift as bitwise_right_shift
from wengert.functions.comparison import bitwise_xor as bitwise_xor
from wengert.functions.comparison import eq as eq
from wengert.functions.comparison import equal as equal
from wengert.functions.comparison import gcd as gcd
from wengert.functions.comparison import ge as ge
from wengert.functions.comparison import greater as greater
from wengert.functions.comparison import greater_equal as greater_equal
from wengert.functions.comparison import gt as gt
from wengert.functions.comparison import is_nonzero as is_nonzero
from wengert.functions.comparison import is_same_size as is_same_size
from wengert.functions.comparison import isclose as isclose
from wengert.functions.comparison import isfinite as isfinite
from wengert.functions.comparison import isin as isin
from wengert.functions.comparison import isinf as isinf
from wengert.functions.comparison import isnan as isnan
from wengert.functions.comparison import isneginf as isneginf
from wengert.functions.comparison import isposinf as isposinf
from wengert.functions.comparison import isreal as isreal
from wengert.functions.comparison import lcm as lcm
from wengert.functions.comparison import le as le
from wengert.functions.comparison import less as less
from wengert.functions.comparison import less_equal as less_equal
from wengert.functions.comparison import logical_and as logical_and
from wengert.functions.comparison import logical_not as logical_not
from wengert.functions.comparison import logical_or as logical_or
from wengert.functions.comparison import logical_xor as logical_xor
from wengert.functions.comparison import lt as lt
from wengert.functions.comparison import ne as ne
from wengert.functions.comparison import not_equal as not_equal
from wengert.functions.comparison import signbit as signbit
from wengert.functions.copies import alias_copy as alias_copy
from wengert.functions.copies import as_strided_copy as as_strided_copy
from wengert.functions.copies import detach_copy as detach_copy
from wengert.functions.copies import diagonal_copy as diagonal_copy
from wengert.functions.copies import expand_copy as expand_copy
from wengert.functions.copies import narrow_copy as narrow_copy
from wengert.functions.copies import permute_copy as permute_copy
from wengert.functions.copies import select_copy as select_copy
from wengert.functions.copies import slice_copy as slice_copy
from wengert.functions.copies import split_copy as split_copy
from wengert.functions.copies import split_with_sizes_copy as split_with_sizes_copy
from wengert.functions.copies import squeeze_copy as squeeze_copy
from wengert.functions.copies import t_copy as t_copy
from wengert.functions.copies import transpose_copy as transpose_copy
from wengert.functions.copies import unbind_copy as unbind_copy
from wengert.functions.copies import unfold_copy as unfold_copy
from wengert.functions.copies import unsqueeze_copy as unsqueeze_copy
from wengert.functions.copies import view_as_complex_copy as view_as_complex_copy
from wengert.functions.copies import view_as_real_copy as view_as_real_copy
from wengert.functions.copies import view_copy as view_copy
from wengert.functions.creation import as_tensor as as_tensor
from wengert.functions.creation import asarray as asarray
from wengert.functions.creation import empty as empty
from wengert.functions.creation import empty_like as empty_like
from wengert.functions.creation import empty_permuted as empty_permuted
from wengert.functions.creation import empty_strided as empty_strided
from wengert.functions.creation import from_dlpack as from_dlpack
from wengert.functions.creation import from_numpy as from_numpy
from wengert.functions.creation import full as full
from wengert.functions.creation import full_like as full_like
from wengert.functions.creation import ones as ones
from wengert.functions.creation import ones_like as ones_like
from wengert.functions.creation import tensor as tensor
from wengert.functions.creation import to_dlpack as to_dlpack
from wengert.functions.creation import zeros as zeros
from wengert.functions.creation import zeros_like as zeros_like
from wengert.functions.decompositions import cholesky_inverse as cholesky_inverse
from wengert.functions.decompositions import cholesky_solve as cholesky_solve
from wengert.functions.decompositions import geqrf as geqrf
from wengert.functions.decompositions import lobpcg as lobpcg
from wengert.functions.decompositions import lu_unpack as lu_unpack
from wengert.functions.decompositions import old_cholesky as cholesky
from wengert.functions.decompositions import old_lu as lu
from wengert.functions.decompositions import old_lu_solve as lu_solve
from wengert.functions.decompositions import old_qr as qr
from wengert.functions.decompositions import old_svd as svd
from wengert.functions.decompositions import orgqr as orgqr
from wengert.functions.decompositions import ormqr as ormqr
from wengert.functions.decompositions import pca_lowrank as pca_lowrank
from wengert.functions.decompositions import svd_lowrank as svd_lowrank
from wengert.functions.decompositions import triangular_solve as triangular_solve
from wengert.functions.device import channels_last as channels_last
from wengert.functions.device import channels_last_3d as channels_last_3d
from wengert.functions.device import contiguous_format as contiguous_format
from wengert.functions.device import device as device
from wengert.functions.device import layout as layout
from wengert.functions.device import memory_format as memory_format
from wengert.functions.device import preserve_format as preserve_format
from wengert.functions.device import strided as strided
from wengert.functions.fft import istft as istft
from wengert.functions.fft import stft as stft
from wengert.functions.indexing import argwhere as argwhere
from wengert.functions.indexing import fill as fill
from wengert.functions.indexing import gather as gather
from wengert.functions.indexing import index_select as index_select
from wengert.functions.indexing import masked_fill as masked_fill
from wengert.functions.indexing import masked_scatter as masked_scatter
from wengert.functions.indexing import masked_select as masked_select
from wengert.functions.indexing import nonzero as nonzero
from wengert.functions.indexing import take as take
from wengert.functions.indexing import take_along_dim as take_along_dim
from wengert.functions.inplace_functions import abs_ as abs_
from wengert.functions.inplace_functions import acos_ as acos_
from wengert.functions.inplace_functions import acosh_ as acosh_
from wengert.functions.inplace_functions import addmv_ as addmv_
from wengert.functions.inplace_functions import arccos_ as arccos_
from wengert.functions.inplace_functions import arccosh_ as arccosh_
from wengert.functions.inplace_functions import arcsin_ as arcsin_
from wengert.functions.inplace_functions import arcsinh_ as arcsinh_
from wengert.functions.inplace_functions import arctan_ as arctan_
from wengert.functions.inplace_functions import arctanh_ as arctanh_
from wengert.functions.inplace_functions import as_strided_ as as_strided_
from wengert.functions.inplace_functions import asin_ as asin_
from wengert.functions.inplace_functions import asinh_ as asinh_
from wengert.functions.inplace_functions import atan_ as atan_
from wengert.functions.inplace_functions import atanh_ as atanh_
from wengert.functions.inplace_functions import ceil_ as ceil_
from wengert.functions.inplace_functions import clamp_ as clamp_
from wengert.functions.inplace_functions import clamp_max_ as clamp_max_
from wengert.functions.inplace_functions import clamp_min_ as clamp_min_
from wengert.functions.inplace_functions import clip_ as clip_
from wengert.functions.inplace_functions import conj_physical_ as conj_physical_
from wengert.functions.inplace_functions import cos_ as cos_
from wengert.functions.inplace_functions import cosh_ as cosh_
from wengert.functions.inplace_functions import deg2rad_ as deg2rad_
from wengert.functions.inplace_functions import detach_ as detach_
from wengert.functions.inplace_functions import erf_ as erf_
from wengert.functions.inplace_functions import erfc_ as erfc_
from wengert.functions.inplace_functions import exp2_ as exp2_
from wengert.functions.inplace_functions import exp_ as exp_
from wengert.functions.inplace_functions import expm1_ as expm1_
from wengert.functions.inplace_functions import fill_ as fill_
from wengert.functions.inplace_functions import fix_ as fix_
from wengert.functions.inplace_functions import floor_ as floor_
from wengert.functions.inplace_functions import frac_ as frac_
from wengert.functions.inplace_functions import gcd_ as gcd_
from wengert.functions.inplace_functions import i0_ as i0_
from wengert.functions.inplace_functions import index_put_ as index_put_
from wengert.functions.inplace_functions import lcm_ as lcm_
from wengert.functions.inplace_functions import ldexp_ as ldexp_
from wengert.functions.inplace_functions import log1p_ as log1p_
from wengert.functions.inplace_functions import log2_ as log2_
from wengert.functions.inplace_functions import log10_ as log10_
from wengert.functions.inplace_functions import log_ as log_
from wengert.functions.inplace_functions import logit_ as logit_
from wengert.functions.inplace_functions import nan_to_num_ as nan_to_num_
from wengert.functions.inplace_functions import neg_ as neg_
from wengert.functions.inplace_functions import negative_ as negative_
from wengert.functions.inplace_functions import rad2deg_ as rad2deg_
from wengert.functions.inplace_functions import reciprocal_ as reciprocal_
from wengert.functions.inplace_functions import resize_as_ as resize_as_
from wengert.functions.inplace_functions import round_ as round_
from wengert.functions.inplace_functions import rsqrt_ as rsqrt_
from wengert.functions.inplace_functions import sigmoid_ as sigmoid_
from wengert.functions.inplace_functions import sin_ as sin_
from wengert.functions.inplace_functions import sinc_ as sinc_
from wengert.functions.inplace_functions import sinh_ as sinh_
from wengert.functions.inplace_functions import sqrt_ as sqrt_
from wengert.functions.inplace_functions import square_ as square_
from wengert.functions.inplace_functions import tan_ as tan_
from wengert.functions.inplace_functions import tanh_ as tanh_
from wengert.functions.inplace_functions import trunc_ as trunc_
from wengert.functions.inplace_functions import xlogy_ as xlogy_
from wengert.functions.inplace_functions import zero_ as zero_
from wengert.functions.joining import block_diag as block_diag
from wengert.functions.joining import cartesian_prod as cartesian_prod
from wengert.functions.joining import cat as cat
from wengert.functions.joining import chunk as chunk
from wengert.functions.joining import column_stack as column_stack
from wengert.functions.joining import combinations as combinations
from wengert.functions.joining import concat as concat
from wengert.functions.joining import concatenate as concatenate
from wengert.functions.joining import dsplit as dsplit
from wengert.functions.joining import dstack as dstack
from wengert.functions.joining import hsplit as hsplit
from wengert.functions.joining import hstack as hstack
from wengert.functions.joining import meshgrid as meshgrid
from wengert.functions.joining import row_stack as row_stack
from wengert.functions.joining import split as split
from wengert.functions.joining import split_with_sizes as split_with_sizes
from wengert.functions.joining import stack as stack
from wengert.functions.joining import tensor_split as tensor_split
from wengert.functions.joining import unbind as unbind
from wengert.functions.joining import unsafe_chunk as unsafe_chunk
from wengert.functions.joining import unsafe_split as unsafe_split
from wengert.functions.joining import unsafe_split_with_sizes as unsafe_split_with_sizes
from wengert.functions.joining import vsplit as vsplit
from wengert.functions.joining import vstack as vstack
from wengert.functions.legacy import BoolTensor as BoolTensor
from wengert.functions.legacy import ByteTensor as ByteTensor
from wengert.functions.legacy import CharTensor as CharTensor
from wengert.functions.legacy import ComplexDoubleTensor as ComplexDoubleTensor
from wengert.functions.legacy import ComplexFloatTensor as ComplexFloatTensor
from wengert.functions.legacy import DoubleTensor as DoubleTensor
from wengert.functions.legacy import FloatTensor as FloatTensor
from wengert.functions.legacy import HalfTensor as HalfTensor
from wengert.functions.legacy import IntTensor as IntTensor
from wengert.functions.legacy import LongTensor as LongTensor
from wengert.functions.legacy import ShortTensor as ShortTensor
from wengert.functions.legacy import Variable as Variable
from wengert.functions.legacy import set_default_tensor_type as set_default_tensor_type
from wengert.functions.limits import (
    are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled,
)
from wengert.functions.limits import can_cast as can_cast
from wengert.functions.limits import detach as detach
from wengert.functions.limits import finfo as finfo
from wengert.functions.limits import get_default_device as get_default_device
from wengert.functions.limits import get_device as get_device
from wengert.functions.limits import get_float32_matmul_precision as get_float32_matmul_precision
from wengert.functions.limits import get_num_threads as get_num_threads
from wengert.functions.limits import iinfo as iinfo
from wengert.functions.limits import is_complex as is_complex
from wengert.functions.limits import is_conj as is_conj
from wengert.functions.limits import is_distributed as is_distributed
from wengert.functions.limits import is_floating_point as is_floating_point
from wengert.functions.limits import is_inference as is_inference
from wengert.functions.limits import is_neg as is_neg
from wengert.functions.limits import is_signed as is_signed
from wengert.functions.limits import is_storage as is_storage
from wengert.functions.limits import is_tensor as is_tensor
from wengert.functions.limits import numel as numel
from wengert.functions.limits import result_type as result_type
from wengert.functions.limits import set_default_device as set_default_device
from wengert.functions.limits import set_float32_matmul_precision as set_float32_matmul_precision
from wengert.functions.limits import set_flush_denormal as set_flush_denormal
from wengert.functions.limits import set_num_threads as set_num_threads
from wengert.functions.limits import typename as typename
from wengert.functions.limits import use_deterministic_algorithms as use_deterministic_algorithms
from wengert.functions.linalg import det as det
from wengert.functions.linalg import inv as inverse
from wengert.functions.linalg import logdet as logdet
from wengert.functions.linalg import matrix_exp as matrix_exp
from wengert.functions.linalg import matrix_power as matrix_power
from wengert.functions.linalg import norm_except_dim as norm_except_dim
from wengert.functions.linalg import pinverse as pinverse
from wengert.functions.linalg import slogdet as slogdet
from wengert.functions.math import abs as abs
from wengert.functions.math import absolute as absolute
from wengert.functions.math import acos as acos
from wengert.functions.math import acosh as acosh
from wengert.functions.math import add as add
from wengert.functions.math import addcdiv as addcdiv
from wengert.functions.math import addcmul as addcmul
from wengert.functions.math import angle as angle
from wengert.functions.math import arccos as arccos
from wengert.functions.math import arccosh as arccosh
from wengert.functions.math import arcsin as arcsin
from wengert.functions.math import arcsinh as arcsinh
from wengert.functions.math import arctan as arctan
from wengert.functions.math import arctan2 as arctan2
from wengert.functions.math import arctanh as arctanh
from wengert.functions.math import asin as asin
from wengert.functions.math import asinh as asinh
from wengert.functions.math import atan as atan
from wengert.functions.math import atan2 as atan2
from wengert.functions.math import atanh as atanh
from wengert.functions.math import ceil as ceil
from wengert.functions.math import clamp as clamp
from wengert.functions.math import clamp_max as clamp_max
from wengert.functions.math import clamp_min as clamp_min
from wengert.functions.math import clip as clip
from wengert.functions.math import complex as complex
from wengert.functions.math import conj as conj
from wengert.functions.math import conj_physical as conj_physical
from wengert.functions.math import copysign as copysign
from wengert.functions.math import cos as cos
from wengert.functions.math import cosh as cosh
from wengert.functions.math import deg2rad as deg2rad
from wengert.functions.math import div as div
from wengert.functions.math import divide as divide
from wengert.functions.math import erf as erf
from wengert.functions.math import exp as exp
from wengert.functions.math import exp2 as exp2
from wengert.functions.math import expm1 as expm1
from wengert.functions.math import fix as fix
from wengert.functions.math import float_power as float_power
from wengert.functions.math import floor as floor
from wengert.functions.math import floor_divide as floor_divide
from wengert.functions.math import fmax as fmax
from wengert.functions.math import fmin as fmin
from wengert.functions.math import fmod as fmod
from wengert.functions.math import frac as frac
from wengert.functions.math import frexp as frexp
from wengert.functions.math import heaviside as heaviside
from wengert.functions.math import hypot as hypot
from wengert.functions.math import imag as imag
from wengert.functions.math import ldexp as ldexp
from wengert.functions.math import lerp as lerp
from wengert.functions.math import log as log
from wengert.functions.math import log1p as log1p
from wengert.functions.math import log2 as log2
from wengert.functions.math import log10 as log10
from wengert.functions.math import log_softmax as log_softmax
from wengert.functions.math import logaddexp as logaddexp
from wengert.functions.math import logaddexp2 as logaddexp2
from wengert.functions.math import maximum as maximum
from wengert.functions.math import minimum as minimum
from wengert.functions.math import mul as mul
from wengert.functions.math import multiply as multiply
from wengert.functions.math import nan_to_num as nan_to_num
from wengert.functions.math import neg as neg
from wengert.functions.math import negative as negative
from wengert.functions.math import nextafter as nextafter
from wengert.functions.math import polar as polar
from wengert.functions.math import positive as positive
from wengert.functions.math import pow as pow
from wengert.functions.math import rad2deg as rad2deg
from wengert.functions.math import real as real
from wengert.functions.math import reciprocal as reciprocal
from wengert.functions.math import relu as relu
from wengert.functions.math import remainder as remainder
from wengert.functions.math import resolve_conj as resolve_conj
from wengert.functions.math import resolve_neg as resolve_neg
from wengert.functions.math import round as round
from wengert.functions.math import rsqrt as rsqrt
from wengert.functions.math import rsub as rsub
from wengert.functions.math import sgn as sgn
from wengert.functions.math import sigmoid as sigmoid
from wengert.functions.math import sign as sign
from wengert.functions.math import sin as sin
from wengert.functions.math import sinc as sinc
from wengert.functions.math import sinh as sinh
from wengert.functions.math import softmax as softmax
from wengert.functions.math import sqrt as sqrt
from wengert.functions.math import square as square
from wengert.functions.math import sub as sub
from wengert.functions.math import subtract as subtract
from wengert.functions.math import tan as tan
from wengert.functions.math import tanh as tanh
from wengert.functions.math import true_divide as true_divide
from wengert.functions.math import trunc as trunc
from wengert.functions.methods import conversations as _methods
from wengert.functions.methods import inplace as _inplace_methods
from wengert.functions.methods import named as _named_methods
from wengert.functions.methods import operators as _operators
from wengert.functions.numpy import calculus as _numpy_calculus

# Importing these gives Tensor its operators and methods.
from wengert.functions.numpy import calls as _numpy
from wengert.functions.numpy import elementwise as _numpy_elementwise
from wengert.functions.numpy import linalg as _numpy_linalg
from wengert.functions.numpy import shapes as _numpy_shapes
from wengert.functions.numpy import statistics as _numpy_statistics
from wengert.functions.printing import set_printoptions as set_printoptions
from wengert.functions.products import addbmm as addbmm
from wengert.functions.products import addmm as addmm
from wengert.functions.products import addmv as addmv
from wengert.functions.products import addr as addr
from wengert.functions.products import baddbmm as baddbmm
from wengert.functions.products import bmm as bmm
from wengert.functions.products import cdist as cdist
from wengert.functions.products import chain_matmul as chain_matmul
from wengert.functions.products import cross as cross
from wengert.functions.products import dot as dot
from wengert.functions.products import einsum as einsum
from wengert.functions.products import ger as ger
from wengert.functions.products import inner as inner
from wengert.functions.products import kron as kron
from wengert.functions.products import matmul as matmul
from wengert.functions.products import mm as mm
from wengert.functions.products import mv as mv
from wengert.functions.products import outer as outer
from wengert.functions.products import tensordot as tensordot
from wengert.functions.products import vdot as vdot
from wengert.functions.random import Generator as Generator
from wengert.functions.random import bernoulli as bernoulli
from wengert.functions.random import binomial as binomial
from wengert.functions.random import default_generator as default_generator
from wengert.functions.random import get_rng_state as get_rng_state
from wengert.functions.random import initial_seed as initial_seed
from wengert.functions.random import manual_seed as manual_seed
from wengert.functions.random import multinomial as multinomial
from wengert.functions.random import normal as normal
from wengert.functions.random import poisson as poisson
from wengert.functions.random import rand as rand
from wengert.functions.random import rand_like as rand_like
from wengert.functions.random import randint as randint
from wengert.functions.random import randint_like as randint_like
from wengert.functions.random import randn as randn
from wengert.functions.random import randn_like as randn_like
from wengert.functions.random import randperm as randperm
from wengert.functions.random import seed as seed
from wengert.functions.random import set_rng_state as set_rng_state
from wengert.functions.ranges import arange as arange
from wengert.functions.ranges import eye as eye
from wengert.functions.ranges import frombuffer as frombuffer
from wengert.functions.ranges import linspace as linspace
from wengert.functions.ranges import logspace as logspace
from wengert.functions.ranges import range as range
from wengert.functions.ranges import scalar_tensor as scalar_tensor
from wengert.functions.reductions import amax as amax
from wengert.functions.reductions import amin as amin
from wengert.functions.reductions import aminmax as aminmax
from wengert.functions.reductions import argmax as argmax
from wengert.functions.reductions import argmin as argmin
from wengert.functions.reductions import count_nonzero as count_nonzero
from wengert.functions.reductions import cummax as cummax
from wengert.functions.reductions import cummin as cummin
from wengert.functions.reductions import cumprod as cumprod
from wengert.functions.reductions import cumsum as cumsum
from wengert.functions.reductions import dist as dist
from wengert.functions.reductions import frobenius_norm as frobenius_norm
from wengert.functions.reductions import logcumsumexp as logcumsumexp
from wengert.functions.reductions import logsumexp as logsumexp
from wengert.functions.reductions import max as max
from wengert.functions.reductions import mean as mean
from wengert.functions.reductions import min as min
from wengert.functions.reductions import nanmean as nanmean
from wengert.functions.reductions import nansum as nansum
from wengert.functions.reductions import norm as norm
from wengert.functions.reductions import nuclear_norm as nuclear_norm
from wengert.functions.reductions import prod as prod
from wengert.functions.reductions import renorm as renorm
from wengert.functions.reductions import std as std
from wengert.functions.reductions import std_mean as std_mean
from wengert.functions.reductions import sum as sum
from wengert.functions.reductions import var as var
from wengert.functions.reductions import var_mean as var_mean
from wengert.functions.scattering import as_strided_scatter as as_strided_scatter
from wengert.functions.scattering import diagonal_scatter as diagonal_scatter
from wengert.functions.scattering import index_add as index_add
from wengert.functions.scattering import index_copy as index_copy
from wengert.functions.scattering import index_fill as index_fill
from wengert.functions.scattering import index_put as index_put
from wengert.functions.scattering import index_reduce as index_reduce
from wengert.functions.scattering import nonzero_static as nonzero_static
from wengert.functions.scattering import put as put
from wengert.functions.scattering import scatter as scatter
from wengert.functions.scattering import scatter_add as scatter_add
from wengert.functions.scattering import scatter_reduce as scatter_reduce
from wengert.functions.scattering import select_scatter as select_scatter
from wengert.functions.scattering import slice_scatter as slice_scatter
from wengert.functions.scattering import unravel_index as unravel_index
from wengert.functions.shapes import adjoint as adjoint
from wengert.functions.shapes import as_strided as as_strided
from wengert.functions.shapes import atleast_1d as atleast_1d
from wengert.functions.shapes import atleast_2d as atleast_2d
from wengert.functions.shapes import atleast_3d as atleast_3d
from wengert.functions.shapes import broadcast_shapes as broadcast_shapes
from wengert.functions.shapes import broadcast_tensors as broadcast_tensors
from wengert.functions.shapes import broadcast_to as broadcast_to
from wengert.functions.shapes import clone as clone
from wengert.functions.shapes import diag as diag
from wengert.functions.shapes import diag_embed as diag_embed
from wengert.functions.shapes import diagflat as diagflat
from wengert.functions.shapes import diagonal as diagonal
from wengert.functions.shapes import flatten as flatten
from wengert.functions.shapes import flip as flip
from wengert.functions.shapes import fliplr as fliplr
from wengert.functions.shapes import flipud as flipud
from wengert.functions.shapes import moveaxis as moveaxis
from wengert.functions.shapes import movedim as movedim
from wengert.functions.shapes import narrow as narrow
from wengert.functions.shapes import permute as permute
from wengert.functions.shapes import ravel as ravel
from wengert.functions.shapes import repeat_interleave as repeat_interleave
from wengert.functions.shapes import reshape as reshape
from wengert.functions.shapes import roll as roll
from wengert.functions.shapes import rot90 as rot90
from wengert.functions.shapes import select as select
from wengert.functions.shapes import squeeze as squeeze
from wengert.functions.shapes import swapaxes as swapaxes
from wengert.functions.shapes import swapdims as swapdims
from wengert.functions.shapes import t as t
from wengert.functions.shapes import tile as tile
from wengert.functions.shapes import trace as trace
from wengert.functions.shapes import transpose as transpose
from wengert.functions.shapes import tril as tril
from wengert.functions.shapes import tril_indices as tril_indices
from wengert.functions.shapes import triu as triu
from wengert.functions.shapes import triu_indices as triu_indices
from wengert.functions.shapes import unflatten as unflatten
from wengert.functions.shapes import unsqueeze as unsqueeze
from wengert.functions.shapes import view_as_complex as view_as_complex
from wengert.functions.shapes import view_as_real as view_as_real
from wengert.functions.sorting import argsort as argsort
from wengert.functions.sorting import bucketize as bucketize
from wengert.functions.sorting import kthvalue as kthvalue
from wengert.functions.sorting import median as median
from wengert.functions.sorting import mode as mode
from wengert.functions.sorting import msort as msort
from wengert.functions.sorting import nanmedian as nanmedian
from wengert.functions.sorting import searchsorted as searchsorted
from wengert.functions.sorting import sort as sort
from wengert.functions.sorting import topk as topk
from wengert.functions.sorting import unique as unique
from wengert.functions.sorting import unique_consecutive as unique_consecutive
from wengert.functions.special import digamma as digamma
from wengert.functions.special import erfc as erfc
from wengert.functions.special import erfinv as erfinv
from wengert.functions.special import i0 as i0
from wengert.functions.special import igamma as igamma
from wengert.functions.special import igammac as igammac
from wengert.functions.special import lgamma as lgamma
from wengert.functions.special import logit as logit
from wengert.functions.special import mvlgamma as mvlgamma
from wengert.functions.special import polygamma as polygamma
from wengert.functions.special import xlogy as xlogy
from wengert.functions.statistics import bincount as bincount
from wengert.functions.statistics import corrcoef as corrcoef
from wengert.functions.statistics import cov as cov
from wengert.functions.statistics import histc as histc
from wengert.functions.statistics import histogram as histogram
from wengert.functions.statistics import histogramdd as histogramdd
from wengert.functions.statistics import nanquantile as nanquantile
from wengert.functions.statistics import quantile as quantile
from wengert.functions.windows import bartlett_window as bartlett_window
from wengert.functions.windows import blackman_window as blackman_window
from wengert.functions.windows import hamming_window as hamming_window
from wengert.functions.windows import hann_window as hann_window
from wengert.functions.windows import kaiser_window as kaiser_window
from wengert.history.modes import enable_grad as enable_grad
from wengert.history.modes import inference_mode as inference_mode
from wengert.history.modes import is_grad_enabled as is_grad_enabled
from wengert.history.modes import is_inference_mode_enabled as is_inference_mode_enabled
from wengert.history.modes import no_grad as no_grad
from wengert.history.modes import set_grad_enabled as set_grad_enabled

# Those functions of nn.functional that PyTorch has in the package itself, with the same arguments.
from wengert.nn.functional import adaptive_avg_pool1d as adaptive_avg_pool1d
from wengert.nn.functional import alpha_dropout as alpha_dropout
from wengert.nn.functional import avg_pool1d as avg_pool1d
from wengert.nn.functional import bilinear as bilinear
from wengert.nn.functional import celu as celu
from wengert.nn.functional import celu_ as celu_
from wengert.nn.functional import channel_shuffle as channel_shuffle
from wengert.nn.functional import conv1d as conv1d
from wengert.nn.functional import conv2d as conv2d
from wengert.nn.functional import conv3d as conv3d
from wengert.nn.functional import conv_transpose1d as conv_transpose1d
from wengert.nn.functional import conv_transpose2d as conv_transpose2d
from wengert.nn.functional import conv_transpose3d as conv_transpose3d
from wengert.nn.functional import cosine_similarity as cosine_similarity
from wengert.nn.functional import dropout as dropout
from wengert.nn.functional import feature_alpha_dropout as feature_alpha_dropout
from wengert.nn.functional import group_norm as group_norm
from wengert.nn.functional import hardshrink as hardshrink
from wengert.nn.functional import layer_norm as layer_norm
from wengert.nn.functional import max_pool1d as max_pool1d
from wengert.nn.functional import max_pool2d as max_pool2d
from wengert.nn.functional import max_pool3d as max_pool3d
from wengert.nn.functional import pairwise_distance as pairwise_distance
from wengert.nn.functional import pdist as pdist
from wengert.nn.functional import pixel_shuffle as pixel_shuffle
from wengert.nn.functional import pixel_unshuffle as pixel_unshuffle
from wengert.nn.functional import prelu as prelu
from wengert.nn.functional import relu_ as relu_
from wengert.nn.functional import rms_norm as rms_norm
from wengert.nn.functional import rrelu as rrelu
from wengert.nn.functional import rrelu_ as rrelu_
from wengert.nn.functional import selu as selu
from wengert.nn.functional import selu_ as selu_
from wengert.nn.functional import threshold as threshold
from wengert.nn.functional import threshold_ as threshold_
from wengert.nn.functional.images import constant_pad_nd as constant_pad_nd
from wengert.serialization import load as load
from wengert.serialization import save as save
from wengert.tensor import Size as Size
from wengert.tensor import Tensor as Tensor
from wengert.transforms.forward import jacfwd as jacfwd
from wengert.transforms.forward import jvp as jvp
from wengert.transforms.reverse import grad as grad
from wengert.transforms.reverse import jacrev as jacrev
from wengert.transforms.reverse import value_and_grad as value_and_grad
from wengert.transforms.reverse import vjp as vjp
from wengert.transforms.second import hessian as hessian
from wengert.transforms.second import hvp as hvp
from wengert.transforms.second import jacobian as jacobian
from wengert.transforms.second import vhp as vhp
from wengert.transforms.vmap import vmap as vmap

# What few programs use is imported when it is first asked for, so that importing stays quick.
if _TYPE_CHECKING:
    from wengert import amp as amp
    from wengert import fft as fft
    from wengert import func as func
    from wengert import implicit as implicit
    from wengert import masked as masked
    from wengert import signal as signal
    from wengert import tape as tape
    from wengert.amp import GradScaler as GradScaler
    from wengert.amp import autocast as autocast
    from wengert.amp import get_autocast_dtype as get_autocast_dtype
    from wengert.amp import is_autocast_enabled as is_autocast_enabled
    from wengert.explain.explanation import Explanation as Explanation
    from wengert.functions import array_api as array_api
    from wengert.solvers.ode import odeint as odeint
    from wengert.sparse.derivatives import sparse_hessian as sparse_hessian
    from wengert.sparse.derivatives import sparse_jacobian as sparse_jacobian

newaxis = None
__version__ = version.__version__
_heap.keep_what_is_freed()


_LATER = {
    "Explanation": "explain.explanation",
    "GradScaler": "amp",
    "autocast": "amp",
    "get_autocast_dtype": "amp",
    "is_autocast_enabled": "amp",
    "odeint": "solvers.ode",
    "sparse_hessian": "sparse.derivatives",
    "sparse_jacobian": "sparse.derivatives",
}
"""Where to find such names; modules have names of their own."""
_MODULES = {
    "amp": "amp",
    "array_api": "functions.array_api",
    "distributions": "distributions",
    "fft": "fft",
    "func": "func",
    "implicit": "implicit",
    "masked": "masked",
    "optimize": "optimize",
    "profiler": "profiler",
    "signal": "signal",
    "symbolic": "symbolic",
    "tape": "tape",
    "visual": "visual",
}


def __getattr__(name: str) -> _Any:
    from importlib import import_module

    if name == "bfloat16":  # needs a package that not everybody has
        from wengert.functions.limits import bfloat16

        return bfloat16()
    if name in _LATER:
        item = getattr(import_module(f"wengert.{_LATER[name]}"), name)
    elif name in _MODULES:
        item = import_module(f"wengert.{_MODULES[name]}")
    else:
        raise AttributeError(f"module 'wengert' has no attribute {name!r}")
    globals()[name] = item
    return item


def __dir__() -> _Any:
    return sorted({*globals(), *_LATER, *_MODULES})
