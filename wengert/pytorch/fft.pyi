"""What type checkers see of `wengert.pytorch.fft`; written by `python -m docs.generate.stubs`."""

import builtins
import types
import typing
from collections.abc import Callable as _Callable, Iterator as _Iterator, Sequence as _Sequence
from typing import Any as _Any, NoReturn as _NoReturn

import numpy as _np

from wengert.functions import results as _results
from wengert.functions.results import _Number as _Number, _TensorLike as _TensorLike, _Out as _Out, _Index as _Index, _Dtype as _Dtype, _Ints as _Ints
from wengert.tensor import Size as _Size, Tensor as _Tensor

def fft(input: _TensorLike, n: builtins.int | None = None, dim: builtins.int = -1, norm: builtins.str | None = None, *, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
    """The discrete Fourier transform: y_k = the sum over j of x_j exp(-2 pi i j k / n)."""
def fft2(input: _TensorLike, s: _Sequence[builtins.int] | builtins.int | None = None, dim: _Sequence[builtins.int] | builtins.int | None = ..., norm: builtins.str | None = None, *, out: _Out | None = None, axis: _Sequence[builtins.int] | builtins.int | None = ...) -> _Tensor:
    """The Fourier transform over two dimensions, the last by default."""
def fftfreq(n: builtins.int, d: builtins.float = ..., *, dtype: _Dtype | None = None, layout: _Any = None, device: _Any = None, requires_grad: builtins.bool = False, out: _Out | None = None) -> _Tensor:
    """The frequency of each place of `fft`, in cycles per unit, for samples `d` apart."""
def fftn(input: _TensorLike, s: _Sequence[builtins.int] | builtins.int | None = None, dim: _Sequence[builtins.int] | builtins.int | None = None, norm: builtins.str | None = None, *, out: _Out | None = None, axis: _Sequence[builtins.int] | builtins.int | None = ...) -> _Tensor:
    """The Fourier transform over several dimensions: all, the last len(s), or those of `dim`."""
def fftshift(input: _TensorLike, dim: _Sequence[builtins.int] | builtins.int | None = None) -> _Tensor:
    """The frequency 0 moved from the first place to the middle, along some or all dimensions."""
def hfft(input: _TensorLike, n: builtins.int | None = None, dim: builtins.int = -1, norm: builtins.str | None = None, *, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
    """The real spectrum of n values of a signal with conjugate symmetry, given by its first half."""
def hfft2(input: _TensorLike, s: _Sequence[builtins.int] | builtins.int | None = None, dim: _Sequence[builtins.int] | builtins.int | None = ..., norm: builtins.str | None = None, *, out: _Out | None = None, axis: _Sequence[builtins.int] | builtins.int | None = ...) -> _Tensor:
    """The real spectrum of a signal with conjugate symmetry, over two."""
def hfftn(input: _TensorLike, s: _Sequence[builtins.int] | builtins.int | None = None, dim: _Sequence[builtins.int] | builtins.int | None = None, norm: builtins.str | None = None, *, out: _Out | None = None, axis: _Sequence[builtins.int] | builtins.int | None = ...) -> _Tensor:
    """The real spectrum of a signal with conjugate symmetry, given by half along the last dim."""
def ifft(input: _TensorLike, n: builtins.int | None = None, dim: builtins.int = -1, norm: builtins.str | None = None, *, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
    """The inverse of `fft`."""
def ifft2(input: _TensorLike, s: _Sequence[builtins.int] | builtins.int | None = None, dim: _Sequence[builtins.int] | builtins.int | None = ..., norm: builtins.str | None = None, *, out: _Out | None = None, axis: _Sequence[builtins.int] | builtins.int | None = ...) -> _Tensor:
    """The inverse of `fft2`."""
def ifftn(input: _TensorLike, s: _Sequence[builtins.int] | builtins.int | None = None, dim: _Sequence[builtins.int] | builtins.int | None = None, norm: builtins.str | None = None, *, out: _Out | None = None, axis: _Sequence[builtins.int] | builtins.int | None = ...) -> _Tensor:
    """The inverse of `fftn`."""
def ifftshift(input: _TensorLike, dim: _Sequence[builtins.int] | builtins.int | None = None) -> _Tensor:
    """The inverse of `fftshift`."""
def ihfft(input: _TensorLike, n: builtins.int | None = None, dim: builtins.int = -1, norm: builtins.str | None = None, *, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
    """The inverse of `hfft`: half a signal, of a real spectrum."""
def ihfft2(input: _TensorLike, s: _Sequence[builtins.int] | builtins.int | None = None, dim: _Sequence[builtins.int] | builtins.int | None = ..., norm: builtins.str | None = None, *, out: _Out | None = None, axis: _Sequence[builtins.int] | builtins.int | None = ...) -> _Tensor:
    """The inverse of `hfft2`."""
def ihfftn(input: _TensorLike, s: _Sequence[builtins.int] | builtins.int | None = None, dim: _Sequence[builtins.int] | builtins.int | None = None, norm: builtins.str | None = None, *, out: _Out | None = None, axis: _Sequence[builtins.int] | builtins.int | None = ...) -> _Tensor:
    """The inverse of `hfftn`."""
def irfft(input: _TensorLike, n: builtins.int | None = None, dim: builtins.int = -1, norm: builtins.str | None = None, *, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
    """The real signal of n values (2 (m - 1) by default) whose first m frequencies are given."""
def irfft2(input: _TensorLike, s: _Sequence[builtins.int] | builtins.int | None = None, dim: _Sequence[builtins.int] | builtins.int | None = ..., norm: builtins.str | None = None, *, out: _Out | None = None, axis: _Sequence[builtins.int] | builtins.int | None = ...) -> _Tensor:
    """The inverse of `rfft2`."""
def irfftn(input: _TensorLike, s: _Sequence[builtins.int] | builtins.int | None = None, dim: _Sequence[builtins.int] | builtins.int | None = None, norm: builtins.str | None = None, *, out: _Out | None = None, axis: _Sequence[builtins.int] | builtins.int | None = ...) -> _Tensor:
    """The inverse of `rfftn`; the last size is 2 (m - 1) unless `s` says otherwise."""
def rfft(input: _TensorLike, n: builtins.int | None = None, dim: builtins.int = -1, norm: builtins.str | None = None, *, out: _Out | None = None, axis: builtins.int = ...) -> _Tensor:
    """The first n//2 + 1 frequencies of a real signal; the others are their conjugates."""
def rfft2(input: _TensorLike, s: _Sequence[builtins.int] | builtins.int | None = None, dim: _Sequence[builtins.int] | builtins.int | None = ..., norm: builtins.str | None = None, *, out: _Out | None = None, axis: _Sequence[builtins.int] | builtins.int | None = ...) -> _Tensor:
    """The transform of a real signal over two dimensions, half of the last."""
def rfftfreq(n: builtins.int, d: builtins.float = ..., *, dtype: _Dtype | None = None, layout: _Any = None, device: _Any = None, requires_grad: builtins.bool = False, out: _Out | None = None) -> _Tensor:
    """The frequency of each place of `rfft`, in cycles per unit, for samples `d` apart."""
def rfftn(input: _TensorLike, s: _Sequence[builtins.int] | builtins.int | None = None, dim: _Sequence[builtins.int] | builtins.int | None = None, norm: builtins.str | None = None, *, out: _Out | None = None, axis: _Sequence[builtins.int] | builtins.int | None = ...) -> _Tensor:
    """The Fourier transform of a real signal over several dimensions, half of it along the last."""
