"""Discrete Fourier transforms. Linear, so each rule is one line: the adjoint.

The adjoint of a transform is the transform with the other sign, unscaled; NumPy's `norm` says which
of the two directions is divided by n, so it is exchanged. An input that was cut or filled to length
n gets its cotangent filled or cut. A real input has a real cotangent: the real part.

A transform to half a spectrum leaves out what conjugate symmetry gives (`rfft`), so in its adjoint
the frequencies that stand for two are halved; in that of `irfft` they are doubled.

`hfft`, `ihfft` and the transforms over two axes are these under other names (`functions/fft.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.rules.rule import linear
from wengert.rules.shapes import astype
from wengert.rules.ways import quick, way

Shape = tuple[int, ...]
OTHER: dict[Any, Any] = {
    None: "forward",
    "backward": "forward",
    "forward": "backward",
    "ortho": "ortho",
}
"""The `norm` of the adjoint."""


LARGE = 2048
"""From how many numbers on SciPy transforms plain arrays."""


def _large(a: Any, size: Any = None, axes: Any = None, norm: Any = None) -> bool:
    """Whether an array is, and SciPy takes the axes: some, and none of them twice."""
    if type(a) is not np.ndarray or a.size < LARGE:
        return False
    return not isinstance(axes, (tuple, list)) or 0 < len(axes) == len(set(axes))


def _by_scipy(name: str) -> Any:
    """SciPy's transform, which takes half the time of NumPy's or less.

    It transforms several lines at once, in single precision twice as many, and several axes without
    a pass over memory for each.
    """

    def transform(*call: Any) -> Any:
        from scipy import fft

        return getattr(fft, name)(*call)

    return transform


for _name in ("fft", "ifft", "rfft", "irfft", "fftn", "ifftn", "rfftn", "irfftn"):
    way(getattr(np.fft, _name), _large)(_by_scipy(_name))


def resized(x: Any, n: int, axis: int) -> Any:
    """`x` with the size n along an axis: cut at its end, or filled with zeros.

    >>> resized(np.ones(2), 3, 0)
    array([1., 1., 0.])
    """
    have = x.shape[axis]
    if n == have:
        return x
    if n < have:
        return x[(*(slice(None),) * (axis % len(x.shape)), slice(n))]
    shape = list(x.shape)
    shape[axis] = n - have
    return np.concatenate([x, np.zeros(shape, x.dtype)], axis)


def fitting(g: Any, dtype: Any) -> Any:
    """A complex cotangent as one of an input of this dtype: the real part, if that is real."""
    return g if dtype.kind == "c" else np.real(g)


def weights(n: int, axis: int, ndim: int, dtype: Any, scale: float) -> Any:
    """`scale` at the frequencies of half a spectrum that stand for two, 1 at 0 and n/2."""
    counts = np.full(n // 2 + 1, scale, np.finfo(dtype).dtype)
    counts[0] = 1
    if n % 2 == 0:
        counts[-1] = 1
    return np.reshape(counts, [-1 if i == axis % ndim else 1 for i in range(ndim)])


# ---- along one axis ------------------------------------------------------------------------------


def _fft_pull(inverse: Any) -> Any:
    def pull(g: Any, a_shape: Shape, a_dtype: Any, n: Any, axis: int, norm: Any) -> Any:
        x = inverse(g, n, axis, OTHER[norm])
        return fitting(resized(x, a_shape[axis], axis), a_dtype)

    return pull


_fft, _ifft, _rfft, _irfft = (
    quick(getattr(np.fft, name)) for name in ("fft", "ifft", "rfft", "irfft")
)
_one: dict[str, Any] = {"arguments": ("a", "n", "axis", "norm"), "axes": ("axis",)}
linear(np.fft.fft, _fft_pull(_ifft), name="FftC2C", **_one)
linear(np.fft.ifft, _fft_pull(_fft), name="FftC2C", **_one)


def _rfft_pull(g: Any, a_shape: Shape, n: Any, axis: int, norm: Any) -> Any:
    n = a_shape[axis] if n is None else n
    halved = g * weights(n, axis, len(a_shape), g.dtype, 0.5)
    return resized(_irfft(halved, n, axis, OTHER[norm]), a_shape[axis], axis)


def _irfft_pull(g: Any, a_shape: Shape, a_dtype: Any, axis: int, norm: Any) -> Any:
    x = _rfft(g, None, axis, OTHER[norm])
    doubled = x * weights(g.shape[axis], axis, len(a_shape), x.dtype, 2.0)
    return fitting(resized(doubled, a_shape[axis], axis), a_dtype)


linear(np.fft.rfft, _rfft_pull, name="FftR2C", **_one)
linear(np.fft.irfft, _irfft_pull, name="FftC2R", **_one)

# ---- along several axes --------------------------------------------------------------------------


def axes_of(ndim: int, s: Any, axes: Any) -> tuple[int, ...]:
    """The axes of a transform over several: all, or as many of the last as `s` has sizes."""
    if axes is None:
        return tuple(range(ndim)) if s is None else tuple(range(ndim - len(s), ndim))
    return tuple(axes)


def _back_to(x: Any, shape: Shape, places: tuple[int, ...]) -> Any:
    """`x` cut or filled to a shape along some axes."""
    for axis in dict.fromkeys(i % len(shape) for i in places):
        x = resized(x, shape[axis], axis)
    return x


def _fftn_pull(inverse: Any) -> Any:
    def pull(g: Any, a_shape: Shape, a_dtype: Any, s: Any, axes: Any, norm: Any) -> Any:
        places = axes_of(len(a_shape), s, axes)
        x = inverse(g, None, places, OTHER[norm])
        return fitting(_back_to(x, a_shape, places), a_dtype)

    return pull


def _rfftn_pull(g: Any, a_shape: Shape, s: Any, axes: Any, norm: Any) -> Any:
    places = axes_of(len(a_shape), s, axes)
    last = places[-1]
    n = a_shape[last] if s is None or s[-1] in (None, -1) else s[-1]
    halved = g * weights(n, last, len(a_shape), g.dtype, 0.5)
    sizes = [n if i == last else g.shape[i] for i in places]
    return _back_to(_irfftn(halved, sizes, places, OTHER[norm]), a_shape, places)


def _irfftn_pull(g: Any, a_shape: Shape, a_dtype: Any, s: Any, axes: Any, norm: Any) -> Any:
    places = axes_of(len(a_shape), s, axes)
    x = _rfftn(g, None, places, OTHER[norm])
    doubled = x * weights(g.shape[places[-1]], places[-1], len(a_shape), x.dtype, 2.0)
    return fitting(_back_to(doubled, a_shape, places), a_dtype)


_fftn, _ifftn, _rfftn, _irfftn = (
    quick(getattr(np.fft, name)) for name in ("fftn", "ifftn", "rfftn", "irfftn")
)
_arguments = ("a", "s", "axes", "norm")
# NumPy returns its argument itself, a real one too, where there is no axis to transform.
linear(
    np.fft.fftn,
    _fftn_pull(_ifftn),
    forward={"a": lambda t, s, axes, norm, y: astype(_fftn(t, s, axes, norm), y.dtype)},
    name="FftC2C",
    arguments=_arguments,
)
linear(
    np.fft.ifftn,
    _fftn_pull(_fftn),
    forward={"a": lambda t, s, axes, norm, y: astype(_ifftn(t, s, axes, norm), y.dtype)},
    name="FftC2C",
    arguments=_arguments,
)
linear(np.fft.rfftn, _rfftn_pull, name="FftR2C", arguments=_arguments)
linear(np.fft.irfftn, _irfftn_pull, name="FftC2R", arguments=_arguments)
