"""Windows that slide over the last dimensions: convolution, pooling, padding, unfolding.

A convolution is bilinear, so its two transposes (to the input and to the weight) are primitives
too, and each one's rule is written with the other two. In the formulas x has shape (N, C, *S),
weight (O, C/groups, *K), the result (N, O, *P).

The arithmetic is matrix products: the windows of a few samples at a time are laid out as the
columns of a matrix (im2col; Chellapilla, Puri and Simard, 2006), few enough to stay in the cache.
The compiler's own loops need no columns: they run where there is work enough to make code for.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.dispatch import primitive
from wengert.rules.blocks import by_samples, many, sum_of_samples
from wengert.rules.indexing import add_at
from wengert.rules.loops import addable, exact_loops, loops
from wengert.rules.rule import general, linear, transposed
from wengert.rules.ways import implemented, way

Sizes = tuple[int, ...]
Windows = tuple[Any, ...]
"""A convolution's are told by (stride, padding, dilation, groups), those of columns and pools by
(kernel, stride, padding, dilation, out): with ceil_mode a pool's last ones reach beyond the right
padding."""
WINDOWS = {"windows": ("stride", "padding", "dilation", "groups")}

# Columns are made for so many numbers at a time: about what a second-level cache holds.
BLOCK = 1 << 18


def output_size(
    size: int, kernel: int, stride: int, padding: int, dilation: int, ceil: bool = False
) -> int:
    """How many windows fit along one dimension."""
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    n = (-(-room // stride) if ceil else room // stride) + 1
    if ceil and (n - 1) * stride >= size + padding:
        n -= 1  # the last window must start inside the input or its left padding
    return n


@functools.lru_cache(256)
def output_sizes(
    spatial: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes
) -> Sizes:
    return tuple(map(output_size, spatial, kernel, stride, padding, dilation))


@functools.lru_cache(1024)
def _offsets(
    kernel: Sizes, stride: Sizes, dilation: Sizes, out: Sizes
) -> list[tuple[Sizes, tuple[Any, ...]]]:
    """For each place in the window, the slices of the padded input that all windows have there."""
    spans = [s * (n - 1) + 1 for s, n in zip(stride, out, strict=True)]
    starts = (range(0, k * d, d) for k, d in zip(kernel, dilation, strict=True))
    return [
        (place, (Ellipsis, *map(slice, at, map(operator.add, at, spans), stride)))
        for place, at in zip(
            itertools.product(*map(range, kernel)), itertools.product(*starts), strict=True
        )
    ]


def padded(x: Any, padding: Sizes, value: Any = 0, after: Sizes | None = None) -> Any:
    """`x` with a border of `value` around its last dimensions; `x` itself if there is none."""
    after = padding if after is None else after
    if not any(padding) and not any(after):
        return x
    sizes, inner = _around(x.shape, padding, after)
    out = np.full(sizes, value, x.dtype) if value else np.zeros(sizes, x.dtype)
    out[inner] = x
    return out


@functools.lru_cache(256)
def _around(shape: Sizes, before: Sizes, after: Sizes) -> tuple[Sizes, tuple[slice, ...]]:
    """The shape with a border around its last dimensions, and where in it the array lies."""
    widths = list(zip(*_full(shape, before, after), shape, strict=True))
    sizes = tuple(a + n + b for a, b, n in widths)
    return sizes, tuple(slice(a, a + n) for a, _, n in widths)


def _full(shape: Any, before: Sizes, after: Sizes) -> tuple[Sizes, Sizes]:
    lead = (0,) * (len(shape) - len(before))
    return lead + before, lead + after


@functools.lru_cache(64)
def places(spatial: Sizes, *windows: Sizes) -> Any:
    """Where windows lie in dimensions that are one: a line for each of them, -1 in the border."""
    kernel, out, n = windows[0], windows[-1], len(spatial)
    flat: Any = 0
    inside: Any = True
    for axis, (size, k, s, p, d, o) in enumerate(zip(spatial, *windows, strict=True)):
        at = np.arange(o)[:, None] * s - p + np.arange(k) * d
        at = at.reshape(*(1,) * axis, o, *(1,) * (n - 1), k, *(1,) * (n - 1 - axis))
        flat = flat * size + at
        inside = inside & (at >= 0) & (at < size)
    return np.where(inside, flat, -1).reshape(math.prod(out), math.prod(kernel))


def lines(x: Any, spatial: Sizes) -> Any:
    """The last dimensions as one, and all others as one."""
    return x.reshape(-1, math.prod(spatial))


_FEW = 1 << 13
"""So many numbers in all windows one loop moves faster than a step for each place in them."""


def _columns(x: Any, kernel: Sizes, stride: Sizes, dilation: Sizes, out: Sizes, groups: int) -> Any:
    """The windows of padded samples as matrices: (n, groups, C/groups * K, P)."""
    n, c = x.shape[:2]
    if math.prod(kernel) == 1 and x.shape[2:] == out:
        return x.reshape(n, groups, c // groups, math.prod(x.shape[2:]))
    columns: Any = np.empty((n, c, *kernel, *out), x.dtype)
    windows = x.shape[2:], kernel, stride, dilation, out
    if (inside := _few_places(x, columns.size, *windows)) is not None:
        shape = n * c, *inside.shape[::-1]
        _note_windows(lines(x, x.shape[2:]), inside, columns.reshape(shape))
    else:
        for place, window in _offsets(kernel, stride, dilation, out):
            columns[(slice(None), slice(None), *place)] = x[window]
    return columns.reshape(n, groups, c // groups * math.prod(kernel), math.prod(out))


def _few_places(x: Any, moved: int, *windows: Sizes) -> Any:
    """The places of windows that lie within arrays, if a loop moves their few numbers."""
    is_plain = type(x) is np.ndarray and x.dtype.char in "fdFD"  # `addable`, as text that stands
    if math.prod(windows[1]) < 4 or not 0 < moved <= _FEW or not is_plain:
        return None
    return _places_within(*windows)


@functools.lru_cache(64)
def _places_within(
    spatial: Sizes, kernel: Sizes, stride: Sizes, dilation: Sizes, out: Sizes
) -> Any:
    inside = places(spatial, kernel, stride, (0,) * len(kernel), dilation, out)
    return inside if inside.min() >= 0 else None


@exact_loops
def _note_windows(x, places, columns):
    for i in range(len(columns)):
        for k in range(columns.shape[1]):
            for w in range(columns.shape[2]):
                columns[i, k, w] = x[i, places[w, k]]


@loops
def _add_windows(columns, places, x):
    """Columns added to where `_note_windows` takes them from, of several samples side by side."""
    for i in range(len(columns)):
        for k in range(columns.shape[1]):
            for w in range(columns.shape[2]):
                for s in range(columns.shape[3]):
                    x[i, places[w, k], s] += columns[i, k, w, s]


def _blocks(samples: int, numbers_each: int) -> Any:
    step = max(1, BLOCK // max(numbers_each, 1))
    return (slice(i, min(i + step, samples)) for i in range(0, samples, step))


# ---- convolution ---------------------------------------------------------------------------

ENOUGH = 1 << 21
"""So many multiplications in all are worth making code for."""
FEWER = 1 << 18
"""So many are worth it where NumPy has to add windows up, one place in them after the other."""
LARGE = 1 << 17
"""Products with more weights are left to BLAS, which may use several threads for them."""


def _pays(samples: Any, other: Any, weight: Sizes, out: Sizes, least: int | None = None) -> bool:
    """Whether machine code is faster, for windows of a weight at so many places of each sample."""
    terms = math.prod(weight)
    alike = other.dtype is samples.dtype
    least = ENOUGH if least is None else least
    return alike and terms <= LARGE and len(samples) * math.prod(out) * terms >= least


def _with_bias(x: Any, weight: Any, bias: Any, windows: Windows) -> Any:
    return convolution(x, weight, windows, bias)


def _of_sample(g: Any, weight: Any, shape: Sizes, windows: Windows) -> Any:
    return convolution_input(g, weight, (g.shape[0], *shape), windows)


def _once(x: Any, g: Any, weight_shape: Sizes, windows: Windows) -> Any:
    return convolution_weight(g, x, weight_shape, windows)[None]


def _convolution_like(x: Any, weight: Any, windows: Windows, bias: Any = None) -> Any:
    out = output_sizes(x.shape[2:], weight.shape[2:], *windows[:3])
    return np.empty((x.shape[0], weight.shape[0], *out), x.dtype)


def _of_shape(g: Any, other: Any, shape: Sizes, windows: Windows) -> Any:
    return np.empty(shape, g.dtype)


@functools.partial(primitive, result=_convolution_like)
@implemented
def convolution(x: Any, weight: Any, windows: Windows, bias: Any = None) -> Any:
    """Sums over c, k of x[n, c, stride p + dilation k - padding] weight[o, c, k], + bias[o]."""
    stride, padding, dilation, groups = windows
    samples, kernel = x.shape[0], weight.shape[2:]
    out = output_sizes(x.shape[2:], kernel, stride, padding, dilation)
    o = weight.shape[0]
    y = np.empty((samples, o, *out), x.dtype)
    flat = y.reshape(samples, groups, o // groups, math.prod(out))
    matrix = weight.reshape(groups, o // groups, -1)
    x = padded(x, padding)
    for part in _blocks(samples, x.shape[1] * math.prod(kernel) * math.prod(out)):
        columns = _columns(x[part], kernel, stride, dilation, out, groups)
        np.matmul(matrix, columns, out=flat[part])
        if bias is not None:  # while the block is still in the cache
            flat[part] += bias.reshape(groups, -1, 1)
    return y


@way(
    convolution,
    lambda x, weight, windows, bias=None: (
        many(x)
        and _pays(
            *(x, weight, weight.shape),
            output_sizes(x.shape[2:], weight.shape[2:], *windows[:3]),
        )
    ),
)
def _compiled(x: Any, weight: Any, windows: Windows, bias: Any = None) -> Any:
    if bias is None:
        return by_samples(convolution, [x], [weight], (windows,))
    return by_samples(_with_bias, [x], [weight, bias], (windows,))


@functools.partial(primitive, result=_of_shape)
@implemented
def convolution_input(g: Any, weight: Any, x_shape: Sizes, windows: Windows) -> Any:
    """The transpose of `convolution` in x: what a transposed convolution computes."""
    stride, padding, dilation, groups = windows
    samples, kernel, out = x_shape[0], weight.shape[2:], g.shape[2:]
    channels, o = x_shape[1], weight.shape[0]
    back = tuple(d * (k - 1) - p for d, k, p in zip(dilation, kernel, padding, strict=True))
    fewer = o <= channels or math.prod(kernel) == 1
    exact = min(back) >= 0 and x_shape[2:] == output_sizes(out, kernel, stride, back, dilation)
    if fewer and exact and all(s == 1 for s in stride):
        # Fewer numbers are moved when the windows are of g: a convolution with the weight reversed.
        return convolution(g, _reversed(weight, groups), (stride, back, dilation, groups))
    sizes, inner = _around(x_shape, padding, padding)
    spatial = sizes[2:]
    result = np.empty(x_shape, g.dtype)
    matrix = np.swapaxes(weight.reshape(groups, o // groups, -1), 1, 2)
    last, first = (*range(1, g.ndim), 0), (g.ndim - 1, *range(g.ndim - 1))
    for part in _blocks(samples, channels * math.prod(kernel) * math.prod(out)):
        # With the samples last, whole rows of windows lie side by side: the sums are of long runs.
        turned = np.ascontiguousarray(g[part].transpose(last))
        columns = np.matmul(matrix, turned.reshape(groups, o // groups, -1))
        columns = columns.reshape(channels, *kernel, *out, -1)
        target = np.zeros((channels, *spatial, turned.shape[-1]), g.dtype)
        lie = spatial, kernel, stride, dilation, out
        if (inside := _few_places(columns, columns.size, *lie)) is not None:
            whole = target.reshape(channels, math.prod(spatial), -1)
            _add_windows(columns.reshape(channels, *inside.T.shape, -1), inside, whole)
        else:
            for place, window in _offsets(kernel, stride, dilation, out):
                target[(slice(None), *window[1:])] += columns[(slice(None), *place)]
        result[part] = target.transpose(first)[inner]
    return result


@way(
    convolution_input,
    lambda g, weight, *_, **__: (
        many(g, enough=1 << 11) and _pays(g, weight, weight.shape, g.shape[2:], FEWER)
    ),
)
def _input_compiled(g: Any, weight: Any, x_shape: Sizes, windows: Windows) -> Any:
    return by_samples(_of_sample, [g], [weight], (x_shape[1:], windows))


def _reversed(weight: Any, groups: int) -> Any:
    """The weight with inputs and outputs exchanged, and its places in the opposite order."""
    o, c, *kernel = weight.shape
    turned = weight.reshape(groups, o // groups, c, *kernel).swapaxes(1, 2)
    turned = turned.reshape(groups * c, o // groups, *kernel)
    return np.ascontiguousarray(np.flip(turned, tuple(range(2, turned.ndim))))


@functools.partial(primitive, result=_of_shape)
@implemented
def convolution_weight(g: Any, x: Any, weight_shape: Sizes, windows: Windows) -> Any:
    """The transpose of `convolution` in the weight."""
    stride, padding, dilation, groups = windows
    samples, kernel, out = x.shape[0], weight_shape[2:], g.shape[2:]
    o = weight_shape[0]
    flat = g.reshape(samples, groups, o // groups, math.prod(out))
    result = np.zeros((groups, o // groups, weight_shape[1] * math.prod(kernel)), g.dtype)
    x = padded(x, padding)
    for part in _blocks(samples, x.shape[1] * math.prod(kernel) * math.prod(out)):
        columns = _columns(x[part], kernel, stride, dilation, out, groups)
        result += np.add.reduce(np.matmul(flat[part], np.swapaxes(columns, 2, 3)), 0)
    return result.reshape(weight_shape)


@way(
    convolution_weight,
    lambda g, x, weight_shape, *_, **__: many(x) and _pays(x, g, weight_shape, g.shape[2:]),
)
def _weight_compiled(g: Any, x: Any, weight_shape: Sizes, windows: Windows) -> Any:
    return sum_of_samples(_once, [x, g], (weight_shape, windows))


@implemented
def _each_channel(g: Any) -> Any:
    """The sum over all samples and places: the cotangent of a bias."""
    return np.sum(g, axis=(0, *range(2, len(g.shape))))


@way(_each_channel, lambda g: type(g) is np.ndarray)
def _each_channel_in_two(g: Any) -> Any:
    return np.add.reduce(np.add.reduce(g.reshape(*g.shape[:2], math.prod(g.shape[2:])), 2), 0)


def _spread(t: Any, y: Any) -> Any:
    return np.broadcast_to(np.reshape(t, (-1, *(1,) * (len(y.shape) - 2))), y.shape)


linear(
    convolution,
    convolution_input,
    convolution_weight,
    None,
    _each_channel,
    forward={
        "x": lambda t, weight, windows: convolution(t, weight, windows),
        "weight": lambda t, x, windows: convolution(x, t, windows),
        "bias": _spread,
    },
    promotes=False,
    parts=WINDOWS,
)


def _convolved(x: Any, weight: Any, g_shape: Sizes, windows: Windows) -> Any:
    """The convolution as its transposes know it: x may have room for more windows than that."""
    y = convolution(x, weight, windows)
    return y if y.shape == g_shape else y[tuple(map(slice, g_shape))]


linear(
    convolution_input,
    _convolved,
    lambda h, g, weight_shape, windows: convolution_weight(g, h, weight_shape, windows),
    name="ConvolutionTranspose",
    promotes=False,
    parts=WINDOWS,
)
linear(
    convolution_weight,
    lambda h, g_shape, x, windows: _convolved(x, h, g_shape, windows),
    lambda h, g, x_shape, windows: convolution_input(g, h, x_shape, windows),
    name="ConvolutionBackward",
    parts=WINDOWS,
)

# ---- unfolding -----------------------------------------------------------------------------


@primitive
def unfold(x: Any, windows: Windows) -> Any:
    """The windows of x, (N, C, *S), as columns: (N, C * K, P)."""
    kernel, stride, padding, dilation, out = windows
    columns = _columns(padded(x, padding), kernel, stride, dilation, out, 1)
    return columns.reshape(x.shape[0], x.shape[1] * math.prod(kernel), math.prod(out)).copy()


@primitive
def fold(g: Any, x_shape: Sizes, windows: Windows) -> Any:
    """Columns added back to the places of `x_shape` they came from: unfold transposed."""
    kernel, stride, _, dilation, out = windows
    result, inner = _emptied(x_shape, g.dtype, *windows)
    columns = g.reshape(*x_shape[:2], *kernel, *out)
    for place, window in _offsets(kernel, stride, dilation, out):
        result[window] += columns[(slice(None), slice(None), *place)]
    return np.ascontiguousarray(inner)


transposed(unfold, fold, "Im2Col", "Col2Im")

# ---- pooling -------------------------------------------------------------------------------


@functools.lru_cache(256)
def _room(
    spatial: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, out: Sizes
) -> Sizes:
    """How much border the windows need on the right."""
    return tuple(
        max(p, (n - 1) * st + d * (k - 1) + 1 - s - p)
        for s, k, st, p, d, n in zip(spatial, kernel, stride, padding, dilation, out, strict=True)
    )


def _bordered(x: Any, value: Any, *windows: Sizes) -> Any:
    padding = windows[2]
    return padded(x, padding, value, _room(x.shape[-len(padding) :], *windows))


@functools.lru_cache(256)
def _pieces(*windows: Sizes) -> list[Any]:
    """For each place in the window, in order, the slices that all windows have there."""
    kernel, stride, _, dilation, out = windows
    return [window for _, window in _offsets(kernel, stride, dilation, out)]


def _emptied(shape: Sizes, dtype: Any, *windows: Sizes) -> tuple[Any, Any]:
    """Zeros with the border, and the view of them without it."""
    padding = windows[2]
    sizes, inner = _around(shape, padding, _room(shape[-len(padding) :], *windows))
    result = np.zeros(sizes, dtype)
    return result, result[inner]


def lowest(dtype: Any) -> Any:
    return np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


@primitive
@implemented
def max_pool(x: Any, windows: Windows) -> Any:
    """The largest number of each window: of its rows first, one dimension after the other; NaN if
    there is one.
    """
    x = _bordered(x, lowest(x.dtype), *windows)
    for axis in range(len(windows[0])):
        first, *others = _pieces(*((sizes[axis],) for sizes in windows))
        behind = (slice(None),) * (len(windows[0]) - 1 - axis)
        result = x[(*first, *behind)].copy()
        for window in others:
            np.maximum(result, x[(*window, *behind)], out=result)
        x = result
    return x


def _winners(condition: Any, target: Any, *windows: Sizes) -> Any:
    """For each place in the window, where it holds the window's (first) maximum."""
    x = _bordered(condition, lowest(condition.dtype), *windows)
    nan = target != target
    some_nan = bool(nan.any())
    waiting = np.ones(target.shape, bool)
    for window in _pieces(*windows):
        piece = x[window]
        hit = piece == target
        if some_nan:
            hit |= nan & (piece != piece)
        hit &= waiting
        waiting ^= hit
        yield window, hit


def _sharing(g: Any) -> Callable[[Any, Any], Any]:
    """How a gradient goes to winners, and zero to the others: by a product, which is quick, unless
    there are infinities, of which a product makes NaN.
    """
    if np.isfinite(g).all():
        return np.multiply
    return lambda g, hit: np.where(hit, g, g.dtype.type(0))


@primitive
@implemented
def max_spread(g: Any, condition: Any, target: Any, windows: Windows) -> Any:
    """`g` put where the maxima `target` of the windows of `condition` came from."""
    result, inner = _emptied(condition.shape, g.dtype, *windows)
    share = _sharing(g)
    for window, hit in _winners(condition, target, *windows):
        result[window] += share(g, hit)
    return np.ascontiguousarray(inner)


@primitive
def max_collect(h: Any, condition: Any, target: Any, windows: Windows) -> Any:
    """`h` at the places of the maxima: `max_spread` transposed."""
    h = _bordered(h, 0, *windows)
    result, share = np.zeros(target.shape, h.dtype), _sharing(h)
    for window, hit in _winners(condition, target, *windows):
        result += share(h[window], hit)
    return result


@primitive
def max_places(x: Any, target: Any, windows: Windows) -> Any:
    """Where each window's maximum is: its index in the flattened spatial dimensions."""
    spatial = x.shape[-len(windows[0]) :]
    places = np.broadcast_to(np.arange(math.prod(spatial)).reshape(spatial), x.shape)
    places = _bordered(places, 0, *windows)
    result = np.zeros(target.shape, np.int64)
    for window, hit in _winners(x, target, *windows):
        result += places[window] * hit
    return result


general(
    max_pool,
    reverse={"x": lambda g, x, y, windows: max_spread(g, x, y, windows)},
    forward={"x": lambda t, x, y, windows: max_collect(t, x, y, windows)},
    name="MaxPoolWithIndices",
    axes=(),
)
transposed(
    *(max_spread, max_collect, "MaxPoolBackward", "MaxPoolBackwardBackward"),
    constants=("condition", "target"),
    axes=(),
)


@primitive
@implemented
def sum_pool(x: Any, windows: Windows) -> Any:
    """The sum of each window."""
    x = _bordered(x, 0, *windows)
    first, *others = _pieces(*windows)
    result = x[first].copy()
    for window in others:
        result += x[window]
    return result


@primitive
@implemented
def sum_spread(g: Any, x_shape: Sizes, windows: Windows) -> Any:
    """`g` added to every place of its window: `sum_pool` transposed."""
    result, inner = _emptied(x_shape, g.dtype, *windows)
    for window in _pieces(*windows):
        result[window] += g
    return np.ascontiguousarray(inner)


transposed(sum_pool, sum_spread, "AvgPool", "AvgPoolBackward", axes=())

# ---- padding -------------------------------------------------------------------------------


@primitive
def pad_with(x: Any, before: Sizes, after: Sizes, value: Any) -> Any:
    """`x` with a border of `value`: so many numbers before and after, for each last dimension.

    Negative widths cut off instead.
    """
    x = x[tuple(
        slice(max(-a, 0), n - max(-b, 0))
        for a, b, n in zip(*_full(x.shape, before, after), x.shape, strict=True)
    )]  # fmt: skip
    clipped = [tuple(max(w, 0) for w in widths) for widths in (before, after)]
    out = padded(x, clipped[0], value, clipped[1])
    return out.copy() if out.base is not None else out


def _unpad(g: Any, before: Sizes, after: Sizes) -> Any:
    return pad_with(g, tuple(-a for a in before), tuple(-b for b in after), 0)


general(
    pad_with,
    reverse={"x": _unpad},
    forward={"x": lambda t, before, after: pad_with(t, before, after, 0)},
    name="ConstantPadNd",
)


@primitive
@implemented
def bordered(x: Any, before: Sizes, after: Sizes, mode: str) -> Any:
    """`x` with a border made of it: so many numbers before and after, for each last dimension.

    `mode` is 'reflect', 'replicate' or 'circular'; no width is negative.
    """
    for index, _ in _repeats(x.shape, before, after, mode):
        x = x[index]
    return x


@way(bordered, lambda x, *_: type(x) is np.ndarray)
def _bordered_in_memory(x: Any, before: Sizes, after: Sizes, mode: str) -> Any:
    n = len(before)
    lead, spatial = x.shape[:-n], x.shape[-n:]
    sizes, inner = _around(x.shape, before, after)
    if math.prod(sizes[-n:]) <= _REMEMBERED:
        places = _places(spatial, before, after, mode)
        numbers = x.reshape(math.prod(lead), math.prod(spatial))
        if not addable(x):
            return numbers.take(places, -1).reshape(sizes)
        out = np.empty((len(numbers), len(places)), x.dtype)
        _take_of_each(numbers, places, out)
        return out.reshape(sizes)
    out = np.empty(sizes, x.dtype)
    out[inner] = x
    for to, source in _edges(x.shape, before, after, mode):
        out[to] = out[source]
    return out


@exact_loops
def _take_of_each(x, places, out):
    for i in range(len(x)):
        for j in range(len(places)):
            out[i, j] = x[i, places[j]]


_REMEMBERED = 1 << 14
"""Of borders around so many numbers it is remembered where each number comes from."""


@functools.lru_cache(64)
def _places(spatial: Sizes, before: Sizes, after: Sizes, mode: str) -> Any:
    """For each place of an array with its border, which number of the array stands there."""
    numbers = np.arange(math.prod(spatial)).reshape(spatial)
    return bordered.body.formula(numbers, before, after, mode).reshape(-1)  # type: ignore[attr-defined]


@primitive
@implemented
def unbordered(g: Any, x_shape: Sizes, before: Sizes, after: Sizes, mode: str) -> Any:
    """`g` added to the numbers of `x_shape` that they repeat: bordered transposed."""
    for index, sizes in reversed(_repeats(x_shape, before, after, mode)):
        g = add_at(g, index, sizes)
    return g


@way(unbordered, lambda g, *_: type(g) is np.ndarray)
def _unbordered_in_memory(g: Any, x_shape: Sizes, before: Sizes, after: Sizes, mode: str) -> Any:
    out, inner = np.array(g), _around(x_shape, before, after)[1]
    for to, source in reversed(_edges(x_shape, before, after, mode)):
        part = out[to]
        if mode == "replicate":
            axis = next(d for d, s in enumerate(to) if s != slice(None))
            part = np.add.reduce(part, axis, keepdims=True)
        out[source] += part
    return np.ascontiguousarray(out[inner])


transposed(bordered, unbordered, "Pad", "PadBackward", axes=())


@functools.lru_cache(256)
def _edges(shape: Sizes, before: Sizes, after: Sizes, mode: str) -> list[tuple[Any, Any]]:
    """Which slices of the larger array repeat which: one dimension after the other."""
    edges, first = [], len(shape) - len(before)
    for k, (a, b) in enumerate(zip(before, after, strict=True)):
        n = shape[first + k]
        low = {"reflect": slice(2 * a, a, -1), "replicate": slice(a, a + 1)}
        end = a + n - 2 - b
        high = {
            "reflect": slice(a + n - 2, end if end >= 0 else None, -1),
            "replicate": slice(a + n - 1, a + n),
        }
        lead = (slice(None),) * (first + k)
        if a:
            edges.append((slice(0, a), low.get(mode, slice(n, n + a)), lead))
        if b:
            edges.append((slice(a + n, a + n + b), high.get(mode, slice(a, a + b)), lead))
    return [((*lead, to), (*lead, source)) for to, source, lead in edges]


def _repeats(shape: Any, before: Sizes, after: Sizes, mode: str) -> list[tuple[Any, Sizes]]:
    """By dimension: an index that makes the border, and the shape of what it indexes."""
    repeats, sizes, first = [], list(shape), len(shape) - len(before)
    for k, (a, b) in enumerate(zip(before, after, strict=True)):
        if a or b:
            index = (*(slice(None),) * (first + k), repeated_places(sizes[first + k], a, b, mode))
            repeats.append((index, tuple(sizes)))
            sizes[first + k] += a + b
    return repeats


def repeated_places(size: int, before: int, after: int, mode: str) -> Any:
    """Which element each place of a dimension with a border repeats; negative widths cut off."""
    places = np.arange(-before, size + after)
    if mode == "replicate":
        return np.clip(places, 0, size - 1)
    if mode == "circular":
        # What is cut off on one side is gone before the other side repeats what is left.
        start, stop = max(-before, 0), size - max(-after, 0)
        return start + (places - start) % max(stop - start, 1)
    places = np.abs(places)
    return np.where(places >= size, 2 * (size - 1) - places, places)
