"""Convolutions and pools inside compiled functions: machine code that agrees with NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import nn
from wengert.nn.functional import conv2d, max_pool2d
from wengert.nn.functional.shared import apply
from wengert.rules import convolution as rules

FLOATS = (np.float32, np.float64)


def kinds(compiled: Any) -> dict[str, str]:
    """How each step was carried out, by its name."""
    return {line.what: line.kind for line in compiled.explain().lines}


def same(made: Any, wanted: Any) -> None:
    for one, other in zip(made, wanted, strict=True):
        a, b = one.numpy(), other.numpy()
        assert a.shape == b.shape
        assert a.dtype == b.dtype
        finite = np.abs(b[np.isfinite(b)])
        scale = max(1.0, float(finite.max(initial=0)))
        tolerance = 2e-5 if a.dtype == np.float32 else 1e-12
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * scale)


# ---- convolutions -------------------------------------------------------------------------------


def all_three(geometry: Any) -> Any:
    """A convolution and its two transposes."""

    def run(x: Any, weight: Any, bias: Any, g: Any) -> Any:
        return (
            apply(rules.convolution, x, weight, geometry, bias),
            apply(rules.convolution_input, g, weight, tuple(x.shape), geometry),
            apply(rules.convolution_weight, g, x, tuple(weight.shape), geometry),
        )

    return run


def sample(
    rng: Any, sizes: Any, kernel: Any, geometry: Any, dtype: Any, biased: bool = True
) -> list[Any]:
    """x, weight, bias and a cotangent for (samples, channels, outputs, *spatial)."""
    n, c, o, *spatial = sizes
    out = rules.output_sizes(tuple(spatial), kernel, *geometry[:3])
    shapes = [(n, c, *spatial), (o, c // geometry[3], *kernel), (o,), (n, o, *out)]
    made = [wg.tensor(rng.standard_normal(shape).astype(dtype)) for shape in shapes]
    return [*made[:2], made[2] if biased else None, made[3]]


@pytest.mark.parametrize("seed", range(12))
def test_convolutions_of_random_shapes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dims = 1 if seed % 6 == 5 else 2
    groups = int(rng.choice([1, 1, 2, 3]))
    kernel, stride, padding, dilation = (
        tuple(int(i) for i in rng.integers(low, high, dims))
        for low, high in ((1, 6), (1, 4), (0, 4), (1, 4))
    )
    reach = zip(kernel, padding, dilation, strict=True)
    room = rng.integers(0, 22, dims)
    spatial = [
        max(1, d * (k - 1) + 1 - 2 * p) + int(r) for (k, p, d), r in zip(reach, room, strict=True)
    ]
    channels, outputs = (groups * int(n) for n in rng.integers((1, 4), (9, 20)))
    geometry = (stride, padding, dilation, groups)
    sizes = (int(rng.integers(1, 4)), channels, outputs, *spatial)
    values = sample(rng, sizes, kernel, geometry, FLOATS[seed % 2], biased=bool(seed % 3))
    run = all_three(geometry)
    compiled = wg.compile(run)
    same(compiled(*values), run(*values))
    assert set(kinds(compiled).values()) == {"native"}


@pytest.mark.crossed
@pytest.mark.parametrize(
    ("sizes", "kernel", "geometry"),
    [
        ((2, 16, 32, 32, 32), (3, 3), ((1, 1), (1, 1), (1, 1), 1)),
        ((2, 3, 32, 32, 32), (5, 5), ((2, 2), (2, 2), (1, 1), 1)),
        ((2, 64, 64, 8, 8), (1, 1), ((1, 1), (0, 0), (1, 1), 1)),
        ((2, 32, 48, 9, 9), (1, 1), ((2, 2), (0, 0), (1, 1), 1)),
        ((4, 160, 96, 4, 6), (3, 3), ((1, 1), (1, 1), (1, 1), 1)),
        ((1, 2, 5, 40, 40), (11, 7), ((1, 1), (5, 3), (1, 1), 1)),
        ((3, 8, 8, 1, 1), (3, 3), ((1, 1), (1, 1), (1, 1), 1)),
        ((2, 4, 6, 2, 70), (2, 3), ((4, 4), (1, 1), (1, 2), 2)),
        ((2, 3, 5, 16, 16), (4, 4), ((4, 4), (0, 0), (1, 1), 1)),
    ],
    ids=[
        "3x3",
        "strided",
        "1x1",
        "strided 1x1",
        "many channels",
        "large",
        "one pixel",
        "wide",
        "patches",
    ],
)
def test_layers_of_ordinary_networks(sizes: Any, kernel: Any, geometry: Any) -> None:
    values = sample(np.random.default_rng(0), sizes, kernel, geometry, np.float32)
    run = all_three(geometry)
    compiled = wg.compile(run)
    same(compiled(*values), run(*values))
    assert kinds(compiled)["convolution"] == "native"


def test_one_channel_per_group() -> None:
    """The transpose to the weight has nothing to fill its lanes with, and is called in Python."""
    geometry = ((1, 1), (1, 1), (1, 1), 6)
    values = sample(np.random.default_rng(0), (2, 6, 6, 9, 9), (3, 3), geometry, np.float32)
    run = all_three(geometry)
    compiled = wg.compile(run)
    same(compiled(*values), run(*values))
    found = kinds(compiled)
    assert found["convolution"] == found["convolution_input"] == "native"
    assert found["convolution_weight"] == "python"


def test_views_are_read_where_they_lie() -> None:
    rng = np.random.default_rng(0)
    x = wg.tensor(rng.standard_normal((9, 20, 2, 3)))
    weight = wg.tensor(rng.standard_normal((3, 3, 3, 5)))

    def run(x: Any, weight: Any) -> Any:
        image = x.permute(2, 3, 1, 0)[:, :, 1::2].flip(3)
        return (apply(rules.convolution, image, weight.permute(3, 0, 1, 2),
                      ((1, 1), (0, 1), (1, 1), 1)),)  # fmt: skip

    compiled = wg.compile(run)
    same(compiled(x, weight), run(x, weight))


def test_pixels_that_no_window_sees_have_no_say() -> None:
    # Rows are computed as one long row; a NaN between two of them is not to spread.
    x = np.zeros((1, 1, 7, 7), np.float32)
    x[0, 0, :, 6] = np.nan
    g = np.ones((1, 8, 3, 3), np.float32)
    weight = np.ones((8, 1, 2, 2), np.float32)
    run = all_three(((2, 2), (0, 0), (1, 1), 1))
    values = [wg.tensor(x), wg.tensor(weight), None, wg.tensor(g)]
    for made in wg.compile(run)(*values):
        assert np.isfinite(made.numpy()).all()


def test_a_step_that_overwrites_its_image() -> None:
    rng = np.random.default_rng(0)
    weight = wg.tensor(rng.standard_normal((2, 2, 3, 3)))

    def run(x: Any) -> Any:
        x.copy_(conv2d(x, weight, padding=1))

    x = wg.tensor(rng.standard_normal((2, 2, 8, 8)))
    other = x.clone()
    wg.compile(run)(x)
    run(other)
    same([x], [other])


# ---- pools --------------------------------------------------------------------------------------


def geometry_of(rng: Any, dims: int, ceil: bool) -> tuple[Any, list[int]]:
    kernel = [int(k) for k in rng.integers(1, 4, dims)]
    stride = [int(rng.integers(1, 5)) if rng.random() < 0.5 else k for k in kernel]
    padding = [int(rng.integers(0, k // 2 + 1)) for k in kernel]
    dilation = [int(d) for d in rng.integers(1, 3, dims)]
    reach = zip(kernel, padding, dilation, strict=True)
    spatial = [max(1, d * (k - 1) + 1 - 2 * p) + int(rng.integers(0, 40)) for k, p, d in reach]
    out = tuple(
        rules.output_size(*each, ceil)
        for each in zip(spatial, kernel, stride, padding, dilation, strict=True)
    )
    return (tuple(kernel), tuple(stride), tuple(padding), tuple(dilation), out), spatial


@pytest.mark.parametrize("seed", range(10))
def test_pools_of_random_shapes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dtype = FLOATS[seed % 2]
    geometry, spatial = geometry_of(rng, 1 if seed % 5 == 4 else 2, ceil=seed % 3 == 0)
    x = rng.integers(-3, 3, (2, 3, *spatial)).astype(dtype)  # with many ties
    if seed % 4 == 1:
        x[rng.random(x.shape) < 0.1] = np.nan
    g = rng.standard_normal((2, 3, *geometry[-1])).astype(dtype)

    def run(x: Any, g: Any) -> Any:
        most = apply(rules.max_pool, x, geometry)
        places = apply(rules.max_spread, g, x, most, geometry)
        sums = apply(rules.sum_pool, x, geometry)
        return [most, places, sums, apply(rules.sum_spread, g, tuple(x.shape), geometry)]

    values = wg.tensor(x), wg.tensor(g)
    compiled = wg.compile(run)
    same(compiled(*values), run(*values))
    assert set(kinds(compiled).values()) <= {"native", "loops"}


def test_the_first_of_equal_numbers_gets_the_gradient() -> None:
    geometry = ((2, 2), (2, 2), (0, 0), (1, 1), (1, 2))
    x = wg.tensor(np.array([[[[1.0, 1, 0, math.nan], [1, 1, math.nan, 2]]]]))
    g = wg.tensor(np.array([[[[5.0, 7]]]]))

    def run(x: Any, g: Any) -> Any:
        return (apply(rules.max_spread, g, x, apply(rules.max_pool, x, geometry), geometry),)

    (made,) = wg.compile(run)(x, g)
    assert made.numpy().tolist() == [[[[5, 0, 0, 7], [0, 0, 0, 0]]]]


@pytest.mark.parametrize("width", [4, 400])  # of few numbers, and of more than that
def test_an_infinite_gradient_goes_to_the_maximum_and_nowhere_else(width: int) -> None:
    # Of places that lost it was made the gradient times zero, which is NaN; PyTorch has zero there.
    geometry = ((2, 2), (2, 2), (0, 0), (1, 1), (1, width // 2))
    numbers = np.arange(2.0 * width).reshape(1, 1, 2, width)
    x, most = wg.tensor(numbers), wg.tensor(numbers[:, :, 1:, 1::2])
    g = np.full((1, 1, 1, width // 2), -1.0)
    g[..., 0] = math.inf
    run = lambda g, x, most: (apply(rules.max_spread, g, x, most, geometry),)
    (made,), (eager,) = wg.compile(run)(wg.tensor(g), x, most), run(wg.tensor(g), x, most)
    wanted = np.zeros((1, 1, 2, width))
    wanted[:, :, 1:, 1::2] = g
    for found in (made, eager):
        np.testing.assert_array_equal(found.numpy(), wanted)
        assert not np.signbit(found.numpy()[wanted == 0]).any()
    h = wg.tensor(np.where(wanted == 0, math.inf, 1.0))
    collected = apply(rules.max_collect, h, x, most, geometry)
    np.testing.assert_array_equal(collected.numpy(), np.ones_like(g))


def test_a_pool_of_integers() -> None:
    x = wg.tensor(np.arange(-30, 30).reshape(1, 1, 6, 10) % 13 - 6)
    run = lambda x: (max_pool2d(x, 3, 2, 1),)
    compiled = wg.compile(run)
    same(compiled(x), run(x))
    assert kinds(compiled) == {"max_pool": "native"}


# ---- networks -----------------------------------------------------------------------------------


def test_a_network_learns_as_it_does_eagerly() -> None:
    rng = np.random.default_rng(0)
    images = wg.tensor(rng.standard_normal((4, 1, 14, 14)).astype(np.float32))
    labels = wg.tensor(rng.integers(3, size=4))

    def losses(compiled: bool) -> tuple[list[float], Any]:
        wg.manual_seed(0)
        net = nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(4, 8, 3, stride=2, padding=1), nn.ReLU(), nn.AvgPool2d(2),
            nn.Flatten(), nn.Linear(8, 3),
        )  # fmt: skip
        optimizer = wg.optim.SGD(net.parameters(), lr=0.1)

        def step(x: Any, y: Any) -> Any:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            return loss

        run = wg.compile(step) if compiled else step
        return [run(images, labels).item() for _ in range(4)], run

    eager, _ = losses(False)
    made, step = losses(True)
    np.testing.assert_allclose(made, eager, rtol=1e-4)
    assert "python" not in kinds(step).values()
