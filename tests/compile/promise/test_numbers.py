"""Numbers of every kind, wherever they are kept, are those of the call."""

from __future__ import annotations

import enum
import fractions
import itertools
import math
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.stories import caught, module, noted, numbers, same, same_or_refused, thrice
from wengert import nn, optim
from wengert.compile.trace.arrays.reals import TWINS
from wengert.errors import TracingError


class Level(enum.Enum):
    LOW = 2.0
    HIGH = 5.0


VALUES: dict[str, tuple[Any, Any, str]] = {
    "float": (2.0, 5.0, "x * {v}"),
    "int": (2, 5, "x * {v}"),
    "bool": (True, False, "(x * 2 if {v} else x * 5)"),
    "str": ("two", "five", "(x * 2 if {v} == 'two' else x * 5)"),
    "None": (None, 5.0, "(x * 2 if {v} is None else x * {v})"),
    "np.float64": (np.float64(2.0), np.float64(5.0), "x * {v}"),
    "np.float32": (np.float32(2.0), np.float32(5.0), "x * {v}"),
    "np.int64": (np.int64(2), np.int64(5), "x * {v}"),
    "np.bool_": (np.bool_(True), np.bool_(False), "(x * 2 if {v} else x * 5)"),
    "np.float64 that decides": (np.float64(2), np.float64(5), "(x if {v} > 3 else x * 5)"),
    "Enum": (Level.LOW, Level.HIGH, "x * {v}.value"),
    "Fraction": (fractions.Fraction(1, 2), fractions.Fraction(3, 2), "x * float({v})"),
    "dtype": (wg.float64, wg.float32, "x.to({v})"),
    "np.dtype": (np.dtype("f8"), np.dtype("f4"), "(x * 2).numpy().astype({v})"),
    "np.cos": (2.0, 5.0, "x * np.cos({v})"),
}

PLACES: dict[str, tuple[str, str]] = {
    # A module's text in which V is read, and the statement that sets it to `new`.
    "global": ("V = old\ndef f(x): return {at V}", "m.V = new"),
    "closure": (
        (
            "def make():\n    v = old\n    def f(x): return {at v}\n"
            "    def change(new):\n        nonlocal v\n        v = new\n"
            "    return f, change\nf, change = make()"
        ),
        "m.change(new)",
    ),
    "attribute of a module": (
        (
            "class Net(nn.Module):\n"
            "    def __init__(self):\n        super().__init__()\n        self.v = old\n"
            "    def forward(self, x): return {at self.v}\nnet = f = Net()"
        ),
        "m.net.v = new",
    ),
    "attribute of an object": (
        "class C: pass\nc = C()\nc.v = old\ndef f(x): return {at c.v}",
        "m.c.v = new",
    ),
    "default": ("def g(x, v=old): return {at v}\nf = g", "m.g.__defaults__ = (new,)"),
    "argument": (
        "V = old\ng = compile(lambda x, v: {at v})\ndef f(x): return g(x, V)",
        "m.V = new",
    ),
}


@pytest.mark.crossed
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("place", PLACES)
def test_a_number_is_read_again(place: str, value: str) -> None:
    text, change = PLACES[place]
    old, new, use = VALUES[value]
    before, _, rest = text.partition("{at ")
    name, _, after = rest.partition("}")
    source = before + use.format(v=name) + after

    def story(compile: Any) -> Any:
        m = module(source, old=old, compile=compile)
        f = m.f if place == "argument" else compile(m.f)
        x = numbers(1, 2)
        seen = thrice(f, x)
        exec(change, {"m": m, "new": new})  # noqa: S102
        seen += thrice(f, x)
        exec(change, {"m": m, "new": old})  # noqa: S102
        return [*seen, *thrice(f, x)]

    same(story)


def training(compile: Any, rates: list[Any], setting: str = "lr") -> Any:
    w = numbers(1, 2, requires_grad=True)
    optimizer = optim.SGD([w], lr=0.1, momentum=0.5)
    optimizer.param_groups[0][setting] = rates[0]

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = ((w * x) ** 2).sum()
        loss.backward()
        optimizer.step()
        return loss

    step = compile(step)
    seen = []
    for rate in rates:
        optimizer.param_groups[0][setting] = rate
        seen += thrice(step, numbers(0.3, 0.4))
    return seen


RATES: dict[str, Any] = {
    "float": float,
    "np.float64": np.float64,
    "np.float32": np.float32,
    "int": lambda r: round(10 * r),
    "Fraction": fractions.Fraction,
    "0-d array": np.array,
    "0-d tensor": wg.tensor,
}


SETTINGS = [f"{kind} as {s}" for kind in RATES for s in ("lr", "momentum", "weight_decay")]
SETTINGS = [s for s in SETTINGS if s not in ("Fraction as momentum", "Fraction as weight_decay")]


@pytest.mark.parametrize("case", (SETTINGS))
def test_a_setting_of_an_optimizer_is_read_again(case: str) -> None:
    kind, setting = case.split(" as ")
    make = RATES[kind]
    same_or_refused(lambda compile: training(compile, [make(r) for r in (0.1, 0.2, 0.3)], setting))


def test_a_schedule_that_uses_numpy_is_followed() -> None:
    def story(compile: Any) -> Any:
        w = numbers(1, 2, requires_grad=True)
        optimizer = optim.SGD([w], lr=0.1)
        schedule = optim.lr_scheduler.LambdaLR(optimizer, lambda n: (1 + np.cos(n / 3)) / 2)

        def step(x: Any) -> Any:
            optimizer.zero_grad()
            loss = ((w * x) ** 2).sum()
            loss.backward()
            optimizer.step()
            return loss

        step = compile(step)
        seen = []
        for _ in range(6):
            seen += [step(numbers(0.3, 0.4)), w.detach().clone()]
            schedule.step()
        return seen

    same(story)


PAIRS: dict[str, tuple[Any, Any]] = {
    "ints and a float": ((1, 2), (1.0, 2.0)),
    "an int and a truth value": ((1, 2), (True, 2)),
    "zeros of two signs": ((0.0, 2), (-0.0, 2)),
    "a float and an int": ((3.0, 2), (3, 2)),
}


@pytest.mark.crossed
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("place", [place for place in PLACES if place != "default"])
def test_equal_values_of_another_kind_are_another_value(place: str, pair: str) -> None:
    text, change = PLACES[place]
    old, new = PAIRS[pair]
    before, _, rest = text.partition("{at ")
    name, _, after = rest.partition("}")
    use = f"[x.int() * {name}[0], wg.atan2(x * {name}[0], -x)]"

    def story(compile: Any) -> Any:
        m = module(before + use + after, old=old, compile=compile)
        f = m.f if place == "argument" else compile(m.f)
        seen = thrice(f, numbers(1, 2))
        exec(change, {"m": m, "new": new})  # noqa: S102
        return [*seen, *thrice(f, numbers(1, 2))]

    same(story)


@pytest.mark.parametrize("values", [(1, 1.0), (1, True), (0.0, -0.0), (2.0, 2)], ids=str)
def test_equal_numbers_of_another_kind_are_another_argument(values: tuple[Any, Any]) -> None:
    def story(compile: Any) -> Any:
        f = compile(lambda x, v: [x.int() * v, wg.atan2(x * v, -x)])
        x = numbers(1, 2)
        return [*thrice(f, x, values[0]), *thrice(f, x, values[1]), f(x, values[0])]

    same(story)


def test_a_number_that_a_module_counts_up_outside_the_function() -> None:
    def story(compile: Any) -> Any:
        net: Any = nn.Module()
        net.n = 0
        f = compile(lambda x: x * net.n)
        seen = []
        for _ in range(5):
            net.n += 1
            seen.append(f(numbers(1, 2)))
        return seen

    same(story)


def test_a_rate_may_become_a_numpy_number_between_calls() -> None:
    def story(compile: Any) -> Any:
        w = numbers(1, 2, requires_grad=True)
        optimizer = optim.Adam([w], lr=0.1)

        def step(x: Any) -> Any:
            optimizer.zero_grad()
            loss = ((w * x) ** 2).sum()
            loss.backward()
            optimizer.step()
            return loss

        f, seen = compile(step), []
        for rate in (0.1, np.float64(0.2), np.float64(0.3)):
            optimizer.param_groups[0]["lr"] = rate
            seen += thrice(f, numbers(1, 2)) + thrice(f, numbers(1, 2).double())
        return seen

    same(story)


SHAPED = (
    "x[np.nonzero(A)[0]]", "x[np.flatnonzero(A > 1)]", "np.unique(A, return_counts=True)[1]",
    "np.argwhere(A)", "np.extract(M, A)", "np.compress(M, A) * 2", "np.where(A > 0)[0]", "x[A > 0]",
    "np.bincount(I)", "np.setdiff1d(A, [3.0])", "np.trim_zeros(A)", "np.unique_values(A)", "A[M]",
    "wg.unique(wg.from_numpy(A))", "np.nonzero(A)[0].size", "np.where(M)[0] + A[M]",
)  # fmt: skip


@pytest.mark.parametrize("half", [0, 1])
def test_what_numbers_of_an_array_outside_decide_about_a_shape_is_noticed(half: int) -> None:
    # They were refused, or a later call met a result of another shape.
    def story(compile: Any) -> Any:
        m = module(
            "A, I = np.array([3.0, 0, 1, 3]), np.array([0, 2, 2])\nM = I.take([0, 1, 0, 1]) == 0\n"
            f"def f(x): return [{', '.join(SHAPED[half::2])}]"
        )
        f = compile(m.f)
        found = thrice(f, numbers(1, 2, 3, 4))
        m.A[1] = 1
        found += thrice(f, numbers(1, 2, 3, 4))
        m.M[:3], m.I[0] = False, 4
        return [*found, *thrice(f, numbers(4, 3, 2, 1))]

    same(story)


@pytest.mark.parametrize("name", ["nonzero", "unique", "unique_values", "bincount"])
def test_what_traced_numbers_decide_about_a_shape_is_refused(name: str) -> None:
    f = wg.compile(lambda x: getattr(np, name)(x.int().numpy()))
    with pytest.raises(TracingError, match=f"np.{name} at"):
        f(numbers(1, 2))


# ---- numbers of tensors -------------------------------------------------------------------------

NUMBERS = {
    "item": "x.sum().item()",
    "a float": "x * float(x[0])",
    "an int": "x * int(x[0] * 3.7)",
    "a count": "(x > 1).sum().item() * 100 / len(x)",
    "a truth value": "(x > 1).all().item() * 2",
    "a complex number": "complex(x[0]) * 2j",
    "of an array": "float(np.asarray(2.5) * ARR[0]) * x",
    "its class": "[isinstance(x[0].item(), float), type(int(x[0])) is int]",
    "a number of a number": "float(int(float(x[0]))) / 3",
    "a quotient": "1 / x[0].item()",
    "an int of NaN": "int(float('nan') * x[0])",
    "an int of inf": "int(float('inf') * x[0])",
    "of many": "float(x)",
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_of_a_tensor_is_computed_at_each_call(name: str) -> None:
    # `return loss.item()` was an error, and so was each other use of a number that is computed.
    def story(compile: Any) -> Any:
        m = module(f"ARR = np.array([1.0, 2.0])\ndef f(x): return {NUMBERS[name]}")
        f, seen = compile(m.f), []
        for a in (1.5, 2.5, -3.5, 0.0, 2.0):
            seen.append(caught(f, numbers(a, 2)))
            m.ARR[0] = a
        return seen

    same(story)


def test_a_number_that_is_kept_is_one_of_this_call() -> None:
    def story(compile: Any) -> Any:
        m = module(
            "total, losses = 0, []\n"
            "def f(x):\n    global total\n    total += (x > 1).sum().item()\n"
            "    losses.append(x.sum().item())\n    return x * 2"
        )
        f = compile(m.f)
        for k in range(5):
            f(numbers(1, 2, k))
        return [m.total, m.losses]

    same(story)


def test_an_int_that_might_not_have_room_in_what_follows_is_one_of_pythons() -> None:
    # It was an error: a program's ints have 64 bits.
    f = wg.compile(lambda x: int(x.sum()) * 100)
    assert f(numbers(1, 2)) == 300
    assert f(numbers(1, 1e19)) == int(numbers(1, 1e19).sum()) * 100


def test_a_truth_value_of_numpy_is_read_at_each_call() -> None:
    # Each was part of the signature, as one of Python's is.
    f = wg.compile(lambda x, b: wg.where(wg.as_tensor(b), x, -x) * b)
    for k in range(6):
        assert f(numbers(1, 2), np.bool_(k % 2)).tolist() == ([1, 2] if k % 2 else [0, 0])
    assert f.retraces == []


@pytest.mark.parametrize("norm", [nn.utils.spectral_norm, nn.utils.parametrizations.spectral_norm])
def test_a_spectral_norm_is_compiled(norm: Any) -> None:
    # The norm of a vector was wanted as a float.
    def story(compile: Any) -> Any:
        net = norm(nn.Linear(3, 2))
        f, seen = compile(lambda x: net(x)), []
        for _ in range(3):
            y = f(wg.ones(4, 3))
            y.sum().backward()
            seen += [y, [p.grad for p in net.parameters()], list(net.buffers())]
        return seen

    same(story)


LISTS = {
    "computed": "(x * 2).tolist()",
    "unpacked": "(lambda a, b: x * a + b)(*x.tolist())",
    "nested": "x.reshape(2, 1).tolist()",
    "of an array": "x.numpy().tolist()",
    "of ints": "wg.argsort(x).tolist()",
    "of truth values": "(x > 1).tolist()",
    "of a number": "x.sum().tolist()",
    "of nothing": "x[:0].tolist()",
}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_of_numbers_is_made_at_each_call(name: str) -> None:
    # It was refused, though each number by itself was one of the program.
    def story(compile: Any) -> Any:
        f = compile(module(f"def f(x): return {LISTS[name]}").f)
        return [noted(f(numbers(*values))) for values in ((1, 2), (1, 2), (3, 1), (0, 5))]

    same(story)


CLASSES: dict[str, str] = {
    "a pattern": "match k:\n        case float(v): x = x * v\n        case int(): x = x + k",
    "__class__": "x = x * k if k.__class__ is float else x + 3",
    "a function that dispatches": "x = conv(k, x)",
    "a key that is missing": "seen[k] += 1; x = x * seen[k]",
    "a key of two": "pairs[k, 'a'] = pairs.get((k, 'a'), 0) + 1; x = x * pairs[k, 'a']",
    "added to in place": "t = k; t += x; t *= x; x = t",
}  # fmt: skip


@pytest.mark.parametrize("name", CLASSES)
def test_a_number_that_changes_is_of_its_class_and_a_key(name: str) -> None:
    # What stood for it while tracing was of another class, had operators in place, and became a
    # key itself.
    source = f"""
import collections, functools
seen, pairs, k = collections.Counter(), {{}}, 1.5
conv = functools.singledispatch(lambda v, t: t * 0)
conv.register(float, lambda v, t: t * v)
def f(x):
    {CLASSES[name]}
    return x
"""

    def story(compile: Any) -> Any:
        m = module(source)
        f, found = compile(m.f), []
        for k in (1.5, 1.5, 2.5, 3.5, 2.5, 4, 1.5, 5):
            m.k = k
            found += [noted(f(numbers(1, 2))), list(m.seen.items()), list(m.pairs.items())]
        return found

    same(story)


def test_globals_that_are_written_by_both_ways_are_put_back() -> None:
    # What the globals held was noted after the first of them had been written, and the trace put
    # back what stood for the number.
    def story(compile: Any) -> Any:
        m = module(
            "n, k = 1, 1.5\ndef f(x):\n    global n\n    n += 1\n    x = x * n\n"
            "    globals()['k'] = globals()['k'] * 0.5\n    return x * k"
        )
        f = compile(m.f)
        return [[f(numbers(1, 2)), m.n, m.k] for _ in range(5)]

    same(story)


@pytest.mark.parametrize(
    "draw", ["wg.rand(2)", "np.random.rand()", "rng.normal()", "random.random()"]
)
def test_a_scaler_leaves_out_the_steps_whose_gradients_are_infinite(draw: str) -> None:
    # Whether a step is left out hung on numbers that nobody knew while tracing, and was refused.
    # A program supposes that it is not; where it is, the call runs eagerly, from the draws before.
    source = f"""
import random
w = wg.ones(2, requires_grad=True)
rng = np.random.default_rng(1)
optimizer = wg.optim.SGD([w], lr=0.1, momentum=0.9)
scaler = wg.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
def f(x):
    optimizer.zero_grad()
    loss = (w * x * {draw}).sum()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_([w], 0.5)
    scaler.step(optimizer)
    scaler.update()
    return norm, scaler.get_scale()
"""

    def story(compile: Any) -> Any:
        m = module(source)
        f, seen = compile(m.f), []
        for factor in (1, 1, float("inf"), 1, 1, float("inf"), float("inf"), 1):
            seen += [noted(f(numbers(1, 2) * factor)), noted(m.w), m.scaler.state_dict()]
        return seen

    same(story)


@pytest.mark.parametrize("kind", ["the mean", "a decaying one", "one's own"])
def test_averaged_weights_are_updated_by_a_compiled_step(kind: str) -> None:
    # Whether the first state is copied is decided by a number in a tensor.
    averages: dict[str, Any] = {
        "the mean": {"use_buffers": True},
        "a decaying one": {"multi_avg_fn": wg.optim.swa_utils.get_ema_multi_avg_fn(0.9)},
        "one's own": {"avg_fn": lambda mean, value, n: mean * 0.5 + value / n},
    }

    def story(compile: Any) -> Any:
        net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
        averaged = wg.optim.swa_utils.AveragedModel(net, **averages[kind])

        def step(x: Any) -> Any:
            with wg.no_grad():
                net[0].weight.add_(x.sum())
            y = net(x)
            averaged.update_parameters(net)
            return y

        f, seen = compile(step), []
        for k in range(5):
            if k == 3:
                averaged.n_averaged.zero_()
            x = wg.arange(6.0).reshape(3, 2) * (k + 1)
            seen += [f(x), list(averaged.parameters()), list(averaged.buffers())]
        return seen

    same(story, 1e-4)


@pytest.mark.parametrize(
    "made", ["x * s", "s * x", "x / s", "x + s", "wg.add(x, x, alpha=s)", "x * np.float64(s)"]
)
def test_a_number_that_changes_leaves_no_array_that_a_pass_would_free(made: str) -> None:
    # It was a tensor where the node was made, so what came before it had no second derivative.
    m = module(f"def f(x, s):\n y = {made}\n z = y * 2\n y.sum().backward()\n return z\n")

    def story(compile: Any) -> Any:
        f = compile(m.f)
        x = numbers(1, 2).requires_grad_()
        seen = []
        for s in (0.5, 0.25, 3.0, 1.5):
            f(x, s).sum().backward()
            seen.append(noted(x.grad))
        return seen

    same(story)


TEXTS = (
    "repr(k)",
    "ascii(k)",
    "str(object=k)",
    "','.join(map(str, [k, k]))",
    "repr(k + 1)",
    "[k]",
    "k.__str__()",
)


@pytest.mark.crossed
@pytest.mark.parametrize(
    "kind", ["float", "np.float64", "np.float32", "np.float16", "np.int64", "np.bool_"]
)
@pytest.mark.parametrize("text", TEXTS)
def test_the_text_of_a_number_that_changes_is_that_of_its_class(text: str, kind: str) -> None:
    # It was that of an array, or of the nearest number of Python's: array(1.2), 1.2000000476837158.
    def story(compile: Any) -> Any:
        m = module(f"k = {kind}(0.5)\ndef f(x): return x * 2, str({text})")
        f, seen = compile(m.f), []
        for n in (0.5, 1.2, 1.6, 2.7):
            m.k = type(m.k)(n)
            seen.append(f(wg.ones(2))[1])
        return seen

    same(story)


def ufuncs() -> list[Any]:
    found = {u for u in vars(np).values() if isinstance(u, np.ufunc)}
    return sorted((u for u in found if u.nout == 1 and u.nin < 3 and not u.signature), key=str)


@pytest.mark.crossed
@pytest.mark.parametrize("ufunc", ufuncs(), ids=lambda u: u.__name__)
@pytest.mark.parametrize("way", range(5))
def test_functions_of_numpy_make_its_numbers_of_pythons(ufunc: Any, way: int) -> None:
    # They made Python's, so that arrays of single precision that met these stayed single.
    ways = [
        lambda n: ufunc(n, 2),
        lambda n: ufunc(2.5, n),
        lambda n: ufunc(n, n),
        lambda n: ufunc(n, 1) + n,
        lambda n: np.ones(2, np.float32) * ufunc(n, 1),
    ]
    if ufunc.nin == 1:
        one = [lambda n: ufunc(n), lambda n: ufunc(n) * n, lambda n: np.ones(2, "f4") * ufunc(n)]
        ways = one + one[:2]
    f = ways[way]
    compiled = wg.compile(f)
    with np.errstate(all="ignore"):
        for n in (0, 1, 3, -2, 7, 2.5, -0.5, 0.0, True, False, 5, 1e3) * 2:
            found, known = result_of(compiled, n), result_of(f, n)
            assert type(found) is type(known)
            assert getattr(found, "dtype", None) == getattr(known, "dtype", None)
            if not isinstance(known, str):
                np.testing.assert_allclose(found, known, rtol=1e-9)


def result_of(f: Any, n: Any) -> Any:
    try:
        return f(n)
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize("function", TWINS, ids=lambda f: f.__name__)
def test_math_of_numbers_is_computed_at_each_call(function: Any) -> None:
    """Each number had the function traced again, and of what is computed it was refused."""
    numbers = [0.5, 0.25, 1.5, -0.5, 0.0, 1.0, -1.0, 2.5, 500.0, 1e300, -0.0, math.inf, math.nan]
    pairs = [*itertools.product(numbers, repeat=TWINS[function].nin)]
    for read in (float, lambda x: x, lambda x: (x * 1).item()):

        def f(*given: Any, read: Any = read) -> Any:
            return function(*[read(x) for x in given])

        compiled = wg.compile(f)
        for given in pairs:
            tensors = [wg.tensor(x, dtype=wg.float64) for x in given]
            found, expected = told(compiled, tensors), told(f, tensors)
            assert type(found) is type(expected)
            if isinstance(expected, float):
                assert np.isclose(found, expected, rtol=1e-13, atol=0, equal_nan=True), given
                assert math.copysign(1, found) == math.copysign(1, expected) or found != found
            else:
                assert found == expected, given
        assert len(compiled.retraces) == 0


def told(f: Any, given: Any) -> Any:
    try:
        return f(*given)
    except (ValueError, OverflowError) as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


def test_the_corrections_of_an_optimizer_of_ones_own_are_traced_once() -> None:
    class Counted:
        step = 0

    counted = Counted()

    def f(x: Any) -> Any:
        counted.step += 1
        rate = math.sqrt(1 - 0.999**counted.step) / (1 - math.pow(0.9, counted.step))
        return x * rate if math.isfinite(rate) else x

    compiled, found = wg.compile(f), []
    for _ in range(8):
        found.append(compiled(wg.ones(2)))
    counted.step = 0
    assert all(wg.allclose(y, f(wg.ones(2))) for y in found)
    assert len(compiled.retraces) <= 1
