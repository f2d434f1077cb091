"""Discrete Fourier transforms under PyTorch's names, and the short-time transform.

They are NumPy's, recorded; the adjoints are in `rules/fft.py`. `pytorch/fft.py` is the namespace.
What NumPy means on Tensors by the transforms that are compositions is said here too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.arrays.facts import composed
from wengert.autograd.misfits import told
from wengert.autograd.operands import cast, floating
from wengert.autograd.record import recorder
from wengert.autograd.settings import refuses
from wengert.dispatch import called, numpy
from wengert.functions import creation
from wengert.functions.arguments import one_dim, takes_out, tensor_of
from wengert.functions.shapes import view_as_real
from wengert.rules.fft import OTHER, axes_of
from wengert.rules.shapes import overlapped, windows
from wengert.tensor import Tensor, wrap

fourier: Any = np.fft  # of Tensors it gives Tensors, which its types know nothing of

Size = int | None
Sizes = Sequence[int] | int | None
Dims = Sequence[int] | int | None
Norm = str | None

# ---- what NumPy's compositions mean ------------------------------------------------------------


def _over_two_of(several: Any) -> Any:
    def transform(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Norm = None) -> Any:
        return several(a, s, axes, norm)

    return transform


for _name in ("fft", "ifft", "rfft", "irfft"):
    composed(getattr(np.fft, f"{_name}2"))(_over_two_of(getattr(np.fft, f"{_name}n")))


@composed(np.fft.hfft)
def _hfft(a: Any, n: Size = None, axis: int = -1, norm: Norm = None) -> Any:
    """The signal has conjugate symmetry, the spectrum is real."""
    return fourier.irfft(np.conj(a), n, axis, OTHER[norm])


@composed(np.fft.ihfft)
def _ihfft(a: Any, n: Size = None, axis: int = -1, norm: Norm = None) -> Any:
    return np.conj(fourier.rfft(a, n, axis, OTHER[norm]))


@composed(np.fft.fftshift)
def _fftshift(x: Any, axes: Any = None) -> Any:
    return _shifted(x, axes, lambda n: n // 2)


@composed(np.fft.ifftshift)
def _ifftshift(x: Any, axes: Any = None) -> Any:
    return _shifted(x, axes, lambda n: -(n // 2))


def _shifted(x: Any, axes: Any, by: Callable[[int], int]) -> Any:
    if axes is None:
        axes = range(x.ndim)
    places = (axes,) if isinstance(axes, int) else tuple(axes)
    return np.roll(x, tuple(by(x.shape[i]) for i in places), places)


# ---- arguments ---------------------------------------------------------------------------------


def _operand(x: Any, name: str, real: bool = False) -> Tensor:
    x = floating(tensor_of(x))
    if real and x.dtype.kind == "c":
        raise RuntimeError(
            f"{name} expects a real input tensor, but got {x.dtype}. Take x.real, or use "
            "fft or ifft."
        )
    if x.dtype.kind not in "fc" or x.dtype.itemsize < 4:
        raise RuntimeError(f"{name}: Unsupported dtype {x.dtype}. Use x.float() first.")
    if not x.ndim:
        raise IndexError(f"{name}: Dimension specified as -1 but tensor has no dimensions")
    return x


def _checked(n: int) -> int:
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified: at least 1 is needed.")
    return n


def _norm(norm: Norm) -> Norm:
    if norm not in OTHER:
        raise RuntimeError(
            f'Invalid normalization mode: "{norm}". Use "backward" (1/n in the inverse), "forward" '
            '(1/n in the transform) or "ortho" (1/sqrt(n) in both).'
        )
    return norm


def _sizes_and_dims(
    name: str, x: Tensor, s: Sizes, dim: Dims, half: bool = False
) -> tuple[list[int], list[int]]:
    """The sizes and dimensions of a transform over several; `half`: the input is half a spectrum,
    whose last size, unless it is given, is that of a signal of even length."""
    s = [s] if isinstance(s, int) else None if s is None else list(s)
    if dim is None:
        if s is not None and len(s) > x.ndim:
            raise RuntimeError(
                f"{name}: Got shape with {len(s)} values but input tensor only has {x.ndim} "
                "dimensions."
            )
        dims = list(axes_of(x.ndim, s, None))
    else:
        dims = [one_dim(d, x.ndim) for d in ([dim] if isinstance(dim, int) else dim)]
        if len(set(dims)) < len(dims):
            raise RuntimeError(f"{name}: FFT dims must be unique, got {dim}")
        if s is not None and len(s) != len(dims):
            raise RuntimeError(
                f"{name}: When given, dim and shape arguments must have the same length, got "
                f"{len(dims)} and {len(s)}"
            )
    sizes = [x.shape[d] for d in dims]
    if half and sizes:
        sizes[-1] = 2 * (sizes[-1] - 1)
    if s is not None:
        sizes = [have if given == -1 else given for given, have in zip(s, sizes, strict=True)]
    return [_checked(n) for n in sizes], dims


# ---- along one dimension -----------------------------------------------------------------------


def _along(function: Any, doc: str, real: bool = False, half: bool = False) -> Any:
    """A transform along one dimension, under PyTorch's signature."""
    name = function.__name__
    rule = recorder(function) if function in (fourier.fft, fourier.ifft) else None

    def transform(input: Any, n: Size = None, dim: int = -1, norm: Norm = None) -> Tensor:
        x = _operand(input, name, real)
        axis = one_dim(dim, x.ndim)
        size = x.shape[axis]
        _checked(n if n is not None else 2 * (size - 1) if half else size)
        if half and x.dtype.kind != "c":
            x = cast(x, np.result_type(x.dtype, np.complex64))
        return (rule or function)(x, n, axis, _norm(norm))

    return takes_out(called(transform, name, doc, __name__))


fft = _along(
    fourier.fft,
    """The discrete Fourier transform: y_k = the sum over j of x_j exp(-2 pi i j k / n).

    The input, real or complex, is cut or filled with zeros to length n along `dim`. `norm` is
    "backward" (the inverse divides by n), "forward" (this one does) or "ortho" (both by sqrt(n)).

    >>> import wengert as wg
    >>> wg.fft.fft(wg.tensor([1.0, 0.0, 0.0, 0.0]))
    tensor([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
    """,
)
ifft = _along(fourier.ifft, "The inverse of `fft`.")
rfft = _along(
    fourier.rfft,
    "The first n//2 + 1 frequencies of a real signal; the others are their conjugates.",
    real=True,
)
irfft = _along(
    fourier.irfft,
    "The real signal of n values (2 (m - 1) by default) whose first m frequencies are given.",
    half=True,
)
hfft = _along(
    fourier.hfft,
    "The real spectrum of n values of a signal with conjugate symmetry, given by its first half.",
    half=True,
)
ihfft = _along(
    fourier.ihfft, "The inverse of `hfft`: half a signal, of a real spectrum.", real=True
)

# ---- along several dimensions ------------------------------------------------------------------


def _over_several(function: Any, doc: str, real: bool = False, half: bool = False) -> Any:
    """A transform over several dimensions, under PyTorch's signature."""
    name = function.__name__

    def transform(input: Any, s: Sizes = None, dim: Dims = None, norm: Norm = None) -> Tensor:
        x = _operand(input, name, real)
        sizes, dims = _sizes_and_dims(name, x, s, dim, half)
        if real or half:
            _some(name, dims)
        return function(x if real else _as_complex(x), sizes, dims, _norm(norm))

    return takes_out(called(transform, name, doc, __name__))


fftn = _over_several(
    fourier.fftn,
    "The Fourier transform over several dimensions: all, the last len(s), or those of `dim`.",
)
ifftn = _over_several(fourier.ifftn, "The inverse of `fftn`.")
rfftn = _over_several(
    fourier.rfftn,
    "The Fourier transform of a real signal over several dimensions, half of it along the last.",
    real=True,
)
irfftn = _over_several(
    fourier.irfftn,
    "The inverse of `rfftn`; the last size is 2 (m - 1) unless `s` says otherwise.",
    half=True,
)


@takes_out
def hfftn(input: Any, s: Sizes = None, dim: Dims = None, norm: Norm = None) -> Tensor:
    """The real spectrum of a signal with conjugate symmetry, given by half along the last dim."""
    x = _as_complex(_operand(input, "hfftn"))
    sizes, dims = _sizes_and_dims("hfftn", x, s, dim, half=True)
    _some("hfftn", dims)
    norm = _norm(norm)
    if dims[1:]:
        x = fourier.fftn(x, sizes[:-1], dims[:-1], norm)
    return _hfft(x, sizes[-1], dims[-1], norm)


@takes_out
def ihfftn(input: Any, s: Sizes = None, dim: Dims = None, norm: Norm = None) -> Tensor:
    """The inverse of `hfftn`."""
    x = _operand(input, "ihfftn", real=True)
    sizes, dims = _sizes_and_dims("ihfftn", x, s, dim)
    _some("ihfftn", dims)
    half = _ihfft(x, sizes[-1], dims[-1], _norm(norm))
    return fourier.ifftn(half, sizes[:-1], dims[:-1], norm) if dims[1:] else half


def _some(name: str, dims: list[int]) -> None:
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis, got dim=()")


def _as_complex(x: Tensor) -> Tensor:
    return x if x.dtype.kind == "c" else cast(x, np.result_type(x.dtype, np.complex64))


def _over_two(transform: Any, doc: str) -> Any:
    def planar(input: Any, s: Sizes = None, dim: Dims = (-2, -1), norm: Norm = None) -> Tensor:
        if dim is None:
            raise TypeError("argument 'dim' must be two dimensions, not NoneType")
        return transform(input, s, dim, norm)

    name = transform.__name__.replace("fftn", "fft2")
    return takes_out(called(planar, name, doc, __name__))


fft2 = _over_two(fftn, "The Fourier transform over two dimensions, the last by default.")
ifft2 = _over_two(ifftn, "The inverse of `fft2`.")
rfft2 = _over_two(rfftn, "The transform of a real signal over two dimensions, half of the last.")
irfft2 = _over_two(irfftn, "The inverse of `rfft2`.")
hfft2 = _over_two(hfftn, "The real spectrum of a signal with conjugate symmetry, over two.")
ihfft2 = _over_two(ihfftn, "The inverse of `hfft2`.")

# ---- the order of frequencies ------------------------------------------------------------------


@told
def fftshift(input: Any, dim: Dims = None) -> Tensor:
    """The frequency 0 moved from the first place to the middle, along some or all dimensions."""
    return _fftshift(*_places(input, dim))


@told
def ifftshift(input: Any, dim: Dims = None) -> Tensor:
    """The inverse of `fftshift`."""
    return _ifftshift(*_places(input, dim))


def _places(input: Any, dim: Dims) -> tuple[Tensor, Any]:
    x = tensor_of(input)
    if dim is None:
        return x, None
    return x, tuple(one_dim(d, x.ndim) for d in ((dim,) if isinstance(dim, int) else dim))


def _frequencies(function: Any, doc: str) -> Any:
    def frequencies(
        n: int, d: float = 1.0, *, dtype: Any = None, layout: Any = None, device: Any = None,
        requires_grad: bool = False,
    ) -> Tensor:  # fmt: skip
        creation.check_device(device)
        array = function(_checked(n), d).astype(dtype or dtypes.get_default_dtype())
        return creation.finish(array, requires_grad)

    return takes_out(called(frequencies, function.__name__, doc, __name__))


fftfreq = _frequencies(
    fourier.fftfreq,
    """The frequency of each place of `fft`, in cycles per unit, for samples `d` apart.

    >>> import wengert as wg
    >>> wg.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """,
)
rfftfreq = _frequencies(
    fourier.rfftfreq,
    "The frequency of each place of `rfft`, in cycles per unit, for samples `d` apart.",
)

# ---- the short-time transform ------------------------------------------------------------------

_PADDING = {"reflect": "reflect", "constant": "constant", "replicate": "edge", "circular": "wrap"}
_windows, _overlapped = recorder(windows), recorder(overlapped)


def _window(window: Any, n_fft: int, win_length: int | None, dtype: Any) -> Tensor:
    """The window, of ones by default, in the middle of n_fft places."""
    length = n_fft if win_length is None else win_length
    if not 0 < length <= n_fft:
        raise RuntimeError(f"expected 0 < win_length <= n_fft = {n_fft}, but got {length}")
    if window is None:
        window = wrap(np.ones(length, dtype))
    if tuple(window.shape) != (length,):
        raise RuntimeError(
            f"expected a 1D window tensor of size equal to win_length={length}, but got window "
            f"with size {list(window.shape)}"
        )
    left = (n_fft - length) // 2
    return numpy.pad(window, (left, n_fft - length - left)) if length < n_fft else window


@told
@refuses(input="biu")
def stft(
    input: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """The Fourier transforms of windows of a signal, `hop_length` apart: (..., frequency, frame).

    y[f, m] = the sum over k of window[k] x[m hop + k] exp(-2 pi i f k / n_fft). With `center` the
    signal is padded by n_fft // 2 on both sides, so that frame m is about its value m hop; without,
    `align_to_window` pads it with zeros so that the first window, rather than the first frame,
    begins with the signal. The signal has shape (length,) or (batch, length). The window counts
    `win_length` values, n_fft by default; hops are of n_fft // 4. `onesided`, the default for real
    signals and windows, leaves out the frequencies that are conjugates of others. `normalized`
    divides by sqrt(n_fft). A result that is not `return_complex` has real and imaginary parts in a
    last dimension.

    >>> import wengert as wg
    >>> wg.stft(wg.ones(16), 8, return_complex=True).shape
    torch.Size([5, 9])
    """
    x = _operand(input, "stft")
    if x.ndim not in (1, 2):
        raise RuntimeError(f"stft: expected a 1D or 2D tensor, got shape {list(x.shape)}")
    hop = n_fft // 4 if hop_length is None else hop_length
    if hop <= 0:
        raise RuntimeError(f"stft: expected hop_length > 0, but got hop_length={hop}")
    is_complex = x.dtype.kind == "c" or (window is not None and window.dtype.kind == "c")
    if return_complex is None and not is_complex:
        raise RuntimeError(
            "stft requires the return_complex parameter be given for real inputs. Pass "
            "return_complex=True."
        )
    if onesided and is_complex:
        raise RuntimeError(
            "stft: Cannot have onesided output if window or input is complex: its spectrum has no "
            "symmetry. Leave onesided out."
        )
    shape = _window(window, n_fft, win_length, x.dtype)
    if center and align_to_window is not None:
        raise RuntimeError("stft: align_to_window should only be set when center=False")
    if center:
        if pad_mode not in _PADDING:
            raise NotImplementedError(
                f"stft: Unrecognised padding mode {pad_mode}; use one of {', '.join(_PADDING)}"
            )
        half = n_fft // 2
        if pad_mode == "reflect" and half >= x.shape[-1]:
            raise RuntimeError(
                f"stft: padding by {half} needs a longer signal than {x.shape[-1]}: use a smaller "
                "n_fft, center=False or pad_mode='constant'"
            )
        x = numpy.pad(x, [(0, 0)] * (x.ndim - 1) + [(half, half)], _PADDING[pad_mode])
    elif align_to_window:
        beside = (n_fft - (n_fft if win_length is None else win_length)) // 2
        x = numpy.pad(x, [(0, 0)] * (x.ndim - 1) + [(beside, beside)])
    if not 0 < n_fft <= x.shape[-1]:
        raise RuntimeError(f"stft: expected 0 < n_fft < {x.shape[-1]}, but got n_fft={n_fft}")
    frames = _windows(x, -1, n_fft, hop) * shape
    norm = "ortho" if normalized else None
    onesided = not is_complex if onesided is None else onesided
    spectra = (rfft if onesided else fft)(frames, norm=norm).transpose(-1, -2)
    if return_complex is False:
        return view_as_real(spectra)
    return spectra


@told
def istft(
    input: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signal whose short-time transform comes closest to `input`, in the least-squares sense.

    Each frame is transformed back and windowed again; overlapping frames are added, and divided by
    the sum of the squared windows there (Griffin and Lim, 1984), which must not be 0. `input` is
    complex, (..., n_fft // 2 + 1 or n_fft frequencies, frames). `length` cuts the signal, or fills
    it with zeros.
    """
    x = tensor_of(input)
    if x.dtype.kind != "c" or x.ndim not in (2, 3):
        raise RuntimeError(
            "istft requires a complex-valued input tensor of shape (..., frequencies, frames), got "
            f"{x.dtype} of shape {list(x.shape)}. Make one with stft(..., return_complex=True)."
        )
    hop = n_fft // 4 if hop_length is None else hop_length
    if not 0 < hop <= (win_length or n_fft):
        raise RuntimeError(
            f"istft: expected 0 < hop_length <= win_length = {win_length or n_fft}, but got {hop}"
        )
    onesided = x.shape[-2] != n_fft if onesided is None else onesided
    expected = n_fft // 2 + 1 if onesided else n_fft
    if x.shape[-2] != expected:
        raise RuntimeError(
            f"istft: expected the frequency dimension (2nd to the last) to be {expected} to match "
            f"n_fft={n_fft}{' when onesided' if onesided else ''}, but got {x.shape[-2]}"
        )
    if return_complex and onesided:
        raise RuntimeError(
            "istft: a onesided spectrum is that of a real signal; pass onesided=False"
        )
    shape = _window(window, n_fft, win_length, np.empty(0, x.dtype).real.dtype)
    norm = "ortho" if normalized else None
    spectra = x.transpose(-1, -2)
    half = spectra[..., : n_fft // 2 + 1]  # all there is if onesided; a real signal has no other
    frames = ifft(spectra, norm=norm) if return_complex else irfft(half, n_fft, norm=norm)
    count = frames.shape[-2]
    total = n_fft + hop * (count - 1)
    signal = _overlapped(frames * shape, (*x.shape[:-2], total), -1, hop)
    energy = _overlapped((shape * shape).expand(count, n_fft), (total,), -1, hop)
    start = n_fft // 2 if center else 0
    end = total - start if length is None and center else total
    end = end if length is None else min(start + length, total)
    signal, energy = signal[..., start:end], energy[start:end]
    smallest = energy.detach().abs().min()._array
    if isinstance(smallest, np.ndarray) and smallest < 1e-11:
        raise RuntimeError(
            f"istft: window overlap add min is {float(smallest)}: the windows leave gaps. Use a "
            "smaller hop_length, or a window that does not vanish there."
        )
    signal = signal / energy
    if length is not None and end - start < length:
        signal = numpy.pad(signal, [(0, 0)] * (signal.ndim - 1) + [(0, length - (end - start))])
    return signal
