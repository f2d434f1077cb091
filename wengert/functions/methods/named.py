"""Tensor's methods that are functions of this folder: each is the function itself, nothing between.

They stand in a class of their own because some are called like Python's types and functions
(`float`, `sum`, `type`), which a class body with annotations could then not use.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import dtypes
from wengert.autograd.operands import cast
from wengert.functions import (
    calculus,
    choosing,
    comparison,
    copies,
    decompositions,
    fft,
    indexing,
    joining,
    linalg,
    math,
    products,
    random,
    reductions,
    scattering,
    shapes,
    sorting,
    special,
    statistics,
)
from wengert.tensor import Tensor, attach


def _cast_to(dtype: np.dtype[Any]) -> Any:
    def method(self: Any, memory_format: Any = None) -> Tensor:
        return self if self._array.dtype is dtype else cast(self, dtype)

    method.__doc__ = f"The tensor as {dtype}."
    return method


def _where(self: Any, condition: Any, other: Any) -> Tensor:
    """The elements where the condition holds, those of `other` elsewhere."""
    return choosing.where(condition, self, other)


@attach
class OperatorMethods:
    """See the module's docstring."""

    __slots__ = ()

    # ---- math -----------------------------------------------------------------------------------

    abs = math.abs
    absolute = math.absolute
    add = math.add
    addcdiv = math.addcdiv
    addcmul = math.addcmul
    angle = math.angle
    ceil = math.ceil
    clamp = math.clamp
    clamp_max = math.clamp_max
    clamp_min = math.clamp_min
    clip = math.clip
    conj = math.conj
    conj_physical = math.conj_physical
    div = math.div
    divide = math.divide
    fix = math.fix
    float_power = math.float_power
    floor = math.floor
    frac = math.frac
    frexp = math.frexp
    heaviside = math.heaviside
    ldexp = math.ldexp
    lerp = math.lerp
    log_softmax = math.log_softmax
    logaddexp = math.logaddexp
    logaddexp2 = math.logaddexp2
    nan_to_num = math.nan_to_num
    nextafter = math.nextafter
    pow = math.pow
    reciprocal = math.reciprocal
    round = math.round
    rsqrt = math.rsqrt
    sgn = math.sgn
    sign = math.sign
    softmax = math.softmax
    square = math.square
    sub = math.sub
    subtract = math.subtract
    trunc = math.trunc

    # ---- linear algebra, Fourier transforms -----------------------------------------------------

    cholesky = decompositions.old_cholesky
    cholesky_inverse = decompositions.cholesky_inverse
    cholesky_solve = decompositions.cholesky_solve
    det = linalg.det
    geqrf = decompositions.geqrf
    inverse = linalg.inv
    istft = fft.istft
    logdet = linalg.logdet
    lu = decompositions.old_lu
    lu_solve = decompositions.old_lu_solve
    matrix_exp = linalg.matrix_exp
    matrix_power = linalg.matrix_power
    orgqr = decompositions.orgqr
    ormqr = decompositions.ormqr
    pinverse = linalg.pinverse
    qr = decompositions.old_qr
    slogdet = linalg.slogdet
    stft = fft.stft
    svd = decompositions.old_svd
    triangular_solve = decompositions.triangular_solve

    # ---- special functions ----------------------------------------------------------------------

    igamma = special.igamma
    igammac = special.igammac
    logit = special.logit
    mvlgamma = special.mvlgamma
    xlogy = special.xlogy

    def polygamma(self: Any, n: int) -> Tensor:
        """The n-th derivative of digamma."""
        return special.polygamma(n, self)

    # ---- comparison -----------------------------------------------------------------------------

    all = comparison.all
    allclose = comparison.allclose
    any = comparison.any
    bitwise_and = comparison.bitwise_and
    bitwise_left_shift = comparison.bitwise_left_shift
    bitwise_not = comparison.bitwise_not
    bitwise_or = comparison.bitwise_or
    bitwise_right_shift = comparison.bitwise_right_shift
    bitwise_xor = comparison.bitwise_xor
    eq = comparison.eq
    equal = comparison.equal
    gcd = comparison.gcd
    ge = comparison.ge
    greater = comparison.greater
    greater_equal = comparison.greater_equal
    gt = comparison.gt
    is_nonzero = comparison.is_nonzero
    is_same_size = comparison.is_same_size
    isclose = comparison.isclose
    isfinite = comparison.isfinite
    isinf = comparison.isinf
    isnan = comparison.isnan
    isneginf = comparison.isneginf
    isposinf = comparison.isposinf
    isreal = comparison.isreal
    lcm = comparison.lcm
    le = comparison.le
    less = comparison.less
    less_equal = comparison.less_equal
    logical_and = comparison.logical_and
    logical_not = comparison.logical_not
    logical_or = comparison.logical_or
    logical_xor = comparison.logical_xor
    lt = comparison.lt
    ne = comparison.ne
    not_equal = comparison.not_equal
    signbit = comparison.signbit

    # ---- reductions -----------------------------------------------------------------------------

    amax = reductions.amax
    amin = reductions.amin
    aminmax = reductions.aminmax
    argmax = reductions.argmax
    argmin = reductions.argmin
    corrcoef = statistics.corrcoef
    count_nonzero = reductions.count_nonzero
    cov = statistics.cov
    cummax = reductions.cummax
    cummin = reductions.cummin
    cumprod = reductions.cumprod
    cumsum = reductions.cumsum
    diff = calculus.diff
    dist = reductions.dist
    logcumsumexp = reductions.logcumsumexp
    logsumexp = reductions.logsumexp
    max = reductions.max
    mean = reductions.mean
    min = reductions.min
    nanmean = reductions.nanmean
    nansum = reductions.nansum
    norm = reductions.norm
    prod = reductions.prod
    renorm = reductions.renorm
    std = reductions.std
    sum = reductions.sum
    var = reductions.var

    # ---- sorting --------------------------------------------------------------------------------

    argsort = sorting.argsort
    bincount = statistics.bincount
    histc = statistics.histc
    histogram = statistics.histogram
    kthvalue = sorting.kthvalue
    median = sorting.median
    mode = sorting.mode
    msort = sorting.msort
    nanmedian = sorting.nanmedian
    nanquantile = statistics.nanquantile
    quantile = statistics.quantile
    sort = sorting.sort
    topk = sorting.topk
    unique = sorting.unique
    unique_consecutive = sorting.unique_consecutive

    # ---- shapes ---------------------------------------------------------------------------------

    adjoint = shapes.adjoint
    as_strided = shapes.as_strided
    broadcast_to = shapes.broadcast_to
    clone = shapes.clone
    contiguous = shapes.contiguous
    diag = shapes.diag
    diag_embed = shapes.diag_embed
    diagflat = shapes.diagflat
    diagonal = shapes.diagonal
    expand = shapes.expand
    expand_as = shapes.expand_as
    flatten = shapes.flatten
    flip = shapes.flip
    fliplr = shapes.fliplr
    flipud = shapes.flipud
    moveaxis = shapes.moveaxis
    movedim = shapes.movedim
    narrow = shapes.narrow
    permute = shapes.permute
    ravel = shapes.ravel
    repeat = shapes.repeat
    repeat_interleave = shapes.repeat_interleave
    reshape = shapes.reshape
    reshape_as = shapes.reshape_as
    roll = shapes.roll
    rot90 = shapes.rot90
    select = shapes.select
    squeeze = shapes.squeeze
    sum_to_size = shapes.sum_to_size
    swapaxes = shapes.swapaxes
    swapdims = shapes.swapdims
    t = shapes.t
    tile = shapes.tile
    trace = shapes.trace
    transpose = shapes.transpose
    tril = shapes.tril
    triu = shapes.triu
    unflatten = shapes.unflatten
    unfold = shapes.unfold
    unsqueeze = shapes.unsqueeze
    view = shapes.view
    view_as = shapes.view_as

    # ---- joining --------------------------------------------------------------------------------

    chunk = joining.chunk
    dsplit = joining.dsplit
    hsplit = joining.hsplit
    split = joining.split
    split_with_sizes = joining.split_with_sizes
    tensor_split = joining.tensor_split
    unbind = joining.unbind
    unsafe_chunk = joining.unsafe_chunk
    unsafe_split = joining.unsafe_split
    unsafe_split_with_sizes = joining.unsafe_split_with_sizes
    vsplit = joining.vsplit

    # ---- indexing -------------------------------------------------------------------------------

    argwhere = indexing.argwhere
    fill = indexing.fill
    gather = indexing.gather
    index_select = indexing.index_select
    masked_fill = indexing.masked_fill
    masked_scatter = indexing.masked_scatter
    masked_select = indexing.masked_select
    nonzero = indexing.nonzero
    take = indexing.take
    take_along_dim = indexing.take_along_dim

    # ---- scattering -----------------------------------------------------------------------------

    as_strided_scatter = scattering.as_strided_scatter
    diagonal_scatter = scattering.diagonal_scatter
    index_add = scattering.index_add
    index_copy = scattering.index_copy
    index_fill = scattering.index_fill
    index_put = scattering.index_put
    index_reduce = scattering.index_reduce
    nonzero_static = scattering.nonzero_static
    scatter = scattering.scatter
    scatter_add = scattering.scatter_add
    scatter_reduce = scattering.scatter_reduce
    select_scatter = scattering.select_scatter
    slice_scatter = scattering.slice_scatter

    # ---- products -------------------------------------------------------------------------------

    addbmm = products.addbmm
    addmm = products.addmm
    addmv = products.addmv
    addr = products.addr
    baddbmm = products.baddbmm
    bmm = products.bmm
    cross = products.cross
    dot = products.dot
    ger = products.ger
    inner = products.inner
    kron = products.kron
    matmul = products.matmul
    mm = products.mm
    mv = products.mv
    outer = products.outer
    vdot = products.vdot

    # ---- copies ---------------------------------------------------------------------------------

    narrow_copy = copies.narrow_copy

    # ---- random ---------------------------------------------------------------------------------

    bernoulli = random.bernoulli
    multinomial = random.multinomial
    where = _where
    put = scattering.put

    # ---- dtypes ---------------------------------------------------------------------------------

    float = _cast_to(dtypes.float32)
    double = _cast_to(dtypes.float64)
    half = _cast_to(dtypes.float16)
    long = _cast_to(dtypes.int64)
    int = _cast_to(dtypes.int32)
    short = _cast_to(dtypes.int16)
    char = _cast_to(dtypes.int8)
    byte = _cast_to(dtypes.uint8)
    bool = _cast_to(dtypes.bool)
    cfloat = _cast_to(dtypes.complex64)
    cdouble = _cast_to(dtypes.complex128)
