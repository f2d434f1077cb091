"""Compiled functions outside of Python: object files with C headers, and SciPy's callables."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess

import numpy as np
import pytest
from scipy import ndimage
from scipy.integrate import nquad, quad

import wengert as wg
from wengert import nn, optim
from wengert.errors import TracingError
from wengert.nn import functional as F

CC = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
needs_cc = pytest.mark.skipif(CC is None, reason="there is no C compiler to link with")


def built(folder, *arguments):
    """Run the C compiler in a folder."""
    command = [CC, "-Wall", "-Wextra", "-Werror", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def library(folder, f, **options):
    """The object file of a compiled function, as a library in this process."""
    f.save(folder / "f.o", header=True, **options)
    built(folder, "-shared", "-o", "f.so", "f.o", "-lm")
    return ctypes.CDLL(str(folder / "f.so"))


def ran(folder, program):
    """What a C program prints that is linked with the object file of `f`."""
    (folder / "main.c").write_text(program)
    built(folder, "-o", "main", "main.c", "f.o", "-lm")
    done = subprocess.run([str(folder / "main")], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return [float(word) for word in done.stdout.split()]


def called(function, *arrays):
    """Call a function of C with arrays by address, and floats by value."""
    given = [x if isinstance(x, float) else x.ctypes.data_as(ctypes.c_void_p) for x in arrays]
    function.argtypes = [
        ctypes.c_double if isinstance(x, float) else ctypes.c_void_p for x in arrays
    ]
    return function(*given)


# ---- object files -------------------------------------------------------------------------------


@needs_cc
def test_a_c_program_trains_on_from_where_python_stood(tmp_path):
    wg.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    optimizer = optim.Adam(net.parameters(), lr=0.1)

    @wg.compile
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    x, y = wg.randn(8, 3), wg.arange(8) % 2
    step(x, y)
    step.save(tmp_path / "f.o", header=True)
    numbers = ", ".join(f"{v!r}" for v in x.ravel().tolist())
    found = ran(
        tmp_path,
        f"""
        #include <stdio.h>
        #include "f.h"
        int main(void) {{
            const float x[] = {{{numbers}}};
            int64_t y[] = {{{", ".join(map(str, y.tolist()))}}};
            float loss;
            for (int i = 0; i < 5; i++) {{
                if (step(x, y, &loss)) return 1;
                printf("%.9g\\n", loss);
            }}
            step_lr = 0.0;  /* the learning rate is C's now */
            step(x, y, &loss);
            float before = step_weight[3][2];
            step(x, y, &loss);
            printf("%.9g %d\\n", step_weight[3][2], before == step_weight[3][2]);
            y[7] = 2;
            printf("%d\\n", step(x, y, &loss));
            return 0;
        }}
        """,
    )
    losses = [step(x, y).item() for _ in range(5)]
    np.testing.assert_allclose(found[:5], losses, rtol=1e-5)
    np.testing.assert_allclose(found[5], net[0].weight[3, 2].item(), rtol=1e-5)
    assert found[6] == 1
    status = int(found[7])
    assert status > 0
    text = (tmp_path / "f.h").read_text()
    assert re.search(rf"^ +{status}: test_exports.py.*cross_entropy", text, re.M)


@needs_cc
def test_arguments_and_results_of_each_kind_pass_through_c(tmp_path):
    @wg.compile
    def f(x, scale, n, unread, pair):
        a, b = pair["a"], pair["b"]
        a += 1
        return {"scaled": x * scale**n, "turned": (x @ b).T * 2, "first": x[0], "same": x, "n": n}

    x, a, b = (wg.tensor(np.random.rand(*shape)) for shape in ((2, 3), (2,), (3, 4)))
    given = x.numpy().copy(), a.numpy().copy(), b.numpy().copy()
    wanted = f(x, 2.5, 3, wg.ones(2), {"a": a, "b": b})
    made = library(tmp_path, f)
    shapes = [(2, 3), (4, 2), (3,), (2, 3)]
    results = [np.zeros(shape) for shape in shapes]
    ones = np.ones(2, np.float32)
    assert called(made.f, given[0], 2.5, ones, given[1], given[2], *results) == 0
    for key, found in zip(["scaled", "turned", "first", "same"], results, strict=True):
        np.testing.assert_allclose(found, wanted[key].numpy(), rtol=1e-12)
    np.testing.assert_allclose(given[1], a.numpy())  # written in place
    text = (tmp_path / "f.h").read_text()
    assert "n (int 3)" in text
    names = re.findall(r"(\w+),?  /\*", text[text.index("int f(") :])
    assert names == ["x", "unread", "pair_a", "pair_b",
                     "result_scaled", "result_turned", "result_first", "result_same"]  # fmt: skip


@needs_cc
def test_state_that_the_function_keeps_is_data_of_the_object_file(tmp_path):
    class Counter:
        def __init__(self):
            self.calls = 0
            self.h = wg.zeros(2, dtype=wg.float64)

    kept = Counter()

    @wg.compile
    def f(x):
        kept.calls += 1
        kept.h = (kept.h * 0.5 + x).tanh()
        return kept.h * kept.calls

    x = np.array([0.3, -0.2])
    for _ in range(3):
        f(x)
    made, out = library(tmp_path, f), np.zeros(2)
    for _ in range(4):
        assert called(made.f, x, out) == 0
        np.testing.assert_allclose(out, f(x).numpy(), rtol=1e-12)


@needs_cc
def test_gradients_accumulate_in_the_data_of_the_object_file(tmp_path):
    w = wg.tensor([1.0, 2.0], dtype=wg.float64, requires_grad=True)

    @wg.compile
    def f(x):
        (w * x).sum().backward()

    x = np.array([1.0, 10.0])
    for _ in range(3):
        f(x)
    made = library(tmp_path, f)
    for _ in range(2):
        assert called(made.f, x) == 0
    (name,) = re.findall(r"(\w+_grad)\[2\]", (tmp_path / "f.h").read_text())
    np.testing.assert_allclose(list((ctypes.c_double * 2).in_dll(made, name)), 5 * x)


@needs_cc
@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.argsort(),
        lambda x: wg.while_loop(lambda s: (s * s).sum() < 100.0, lambda s: s * 1.5, x),
        lambda x: wg.scan(lambda h, r: (h * 0.5 + r, h), x[0], x)[1],
        lambda x: F.conv1d(x[:, None], wg.ones(2, 1, 3, dtype=wg.float64)),
        lambda x: x.softmax(1),
        lambda x: wg.grad(lambda x: (x.sin() * x).sum())(x),
    ],
    ids=["argsort", "while_loop", "scan", "convolution", "softmax", "gradient"],
)
def test_what_asks_python_for_memory_or_signals_runs_without_python(f, tmp_path):
    x = np.random.rand(70, 300) if "argsort" in f.__code__.co_names else np.random.rand(5, 8)
    compiled = wg.compile(f)
    wanted = compiled(wg.tensor(x)).numpy()
    made, out = library(tmp_path, compiled, name="f"), np.zeros_like(wanted)
    assert called(made.f, x, out) == 0
    np.testing.assert_allclose(out, wanted, rtol=1e-12)


@needs_cc
def test_routines_of_blas_have_the_names_that_fortran_gives_them(tmp_path):
    f = wg.compile(lambda x, y: x @ y)
    x, y = (np.random.rand(400, 400) for _ in range(2))
    f(x, y)
    f.save(tmp_path / "f.o", name="product")
    (tmp_path / "blas.c").write_text("int seen; void dgemm_(void) { seen = 1; }")
    built(tmp_path, "-shared", "-fPIC", "-o", "f.so", "f.o", "blas.c", "-lm")
    made, out = ctypes.CDLL(str(tmp_path / "f.so")), np.zeros((400, 400))
    assert called(made.product, x, y, out) == 0


def test_words_that_c_keeps_for_itself_and_equal_names_are_changed(tmp_path):
    @wg.compile
    def f(default, größe, result):
        return default * größe + result

    f(wg.ones(2), wg.ones(2), wg.ones(2))
    f.save(tmp_path / "f.o", header=True, name="f-1")
    text = (tmp_path / "f.h").read_text()
    for name in ("default_", "gr__e", "result", "result_2"):
        assert re.search(rf"\*{name}\b", text), name
    assert "int f_1(" in text


def test_what_is_called_in_python_is_refused_with_its_line(tmp_path):
    f = wg.compile(lambda x: np.linalg.inv(x) * 2)
    f(np.eye(2))
    with pytest.raises(TracingError, match=r"np.linalg.inv(.|\n)*test_exports.py"):
        f.save(tmp_path / "f.o")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("f", "error", "match"),
    [
        (lambda x: x.bfloat16() * 2, TypeError, "C has no such type"),
        (lambda x: x * wg.rand(2), TracingError, "cannot leave Python"),
        (lambda x: None, TracingError, "computes nothing that C could see"),
    ],
    ids=["bfloat16", "random", "nothing"],
)
def test_what_c_cannot_hold_is_refused(f, error, match, tmp_path):
    compiled = wg.compile(f)
    compiled(wg.ones(2))
    with pytest.raises(error, match=match):
        compiled.save(tmp_path / "f.o", name="f")


def test_a_list_that_grows_at_each_call_is_refused(tmp_path):
    seen = []

    @wg.compile
    def f(x):
        seen.append(x * 2)
        return x

    f(wg.ones(2))
    with pytest.raises(TracingError, match="changes an object around it"):
        f.save(tmp_path / "f.o")


def test_a_function_that_was_not_called_has_no_code_yet(tmp_path):
    f = wg.compile(lambda x: x)
    with pytest.raises(RuntimeError, match="call it once"):
        f.save(tmp_path / "f.o")
    with pytest.raises(RuntimeError, match="call it once"):
        _ = f.lowlevel


# ---- SciPy's callables --------------------------------------------------------------------------


def test_quad_integrates_a_compiled_function_without_calling_python():
    calls = []

    def f(x):
        calls.append(x)
        return np.exp(-x * x)

    g = wg.compile(lambda x: np.exp(-x * x))
    g(0.5)
    value, error = quad(g.lowlevel, -np.inf, np.inf)
    assert (value, error) == pytest.approx(quad(f, -np.inf, np.inf), rel=1e-13)
    assert g.lowlevel.signature == "double (double, void *)"


def test_more_numbers_are_the_args_of_quad_and_the_variables_of_nquad():
    def f(x, a, b):
        return a * np.sin(b * x)

    g = wg.compile(f)
    g(0.1, 2.0, 3.0)
    found = quad(g.lowlevel, 0, 1, args=(2.0, 3.0))[0]
    assert found == pytest.approx(quad(f, 0, 1, args=(2.0, 3.0))[0], rel=1e-13)
    ranges = [(0, 1), (0, 2), (1, 2)]
    assert nquad(g.lowlevel, ranges)[0] == pytest.approx(nquad(f, ranges)[0])
    other = quad(g.lowlevel, 0, 1, args=(2.0,), full_output=1)  # another number of arguments
    assert np.isnan(other[0])


def test_what_is_around_a_lowlevel_function_is_as_it_was():
    w = wg.tensor([1.0, 2.0], requires_grad=True)
    g = wg.compile(lambda x: (w.sin() * x).sum())
    g(0.5)
    callback = g.lowlevel
    with wg.no_grad():
        w.zero_()
    assert quad(callback, 0, 1)[0] == pytest.approx((np.sin(1) + np.sin(2)) / 2, rel=1e-6)
    assert quad(g.lowlevel, 0, 1)[0] == 0


def test_filters_of_ndimage_call_compiled_functions():
    w = np.array([1.0, 2.0, 3.0])
    x, image = np.random.rand(20), np.random.rand(8, 8)
    window = wg.compile(lambda b: (b * w).sum())
    line = wg.compile(lambda b: b[1:-1] * 2 + b[:-2])
    moved = wg.compile(lambda at: at - 0.5)
    _ = window(x[:3]), line(np.zeros(22)), moved(np.array([1, 2]))

    def along(given, out):
        out[...] = given[1:-1] * 2 + given[:-2]

    found = ndimage.generic_filter(x, window.lowlevel, 3)
    np.testing.assert_allclose(found, ndimage.generic_filter(x, lambda b: b @ w, 3))
    found = ndimage.generic_filter1d(x, line.lowlevel, 3)
    np.testing.assert_allclose(found, ndimage.generic_filter1d(x, along, 3))
    found = ndimage.geometric_transform(image, moved.lowlevel)
    shifted = ndimage.geometric_transform(image, lambda at: (at[0] - 0.5, at[1] - 0.5))
    np.testing.assert_allclose(found, shifted)
    with pytest.raises(RuntimeError, match="rror"):  # SciPy's, of another size
        ndimage.generic_filter(x, window.lowlevel, 5)


@needs_cc
def test_machine_code_goes_no_other_way_than_it_was_made_for(tmp_path):
    # C's ints were not checked, so it went the way that was traced, whatever they were.
    def f(x, n):
        x = x * 2 if n > 2 else x * 3
        return -x if n % 2 else x

    compiled = wg.compile(f)
    for n in (1, 5, 7, 7):
        compiled(np.ones(2), n)
    made = library(tmp_path, compiled)
    x, out = np.array([1.0, 2.0]), np.zeros(2)
    address = [a.ctypes.data_as(ctypes.c_void_p) for a in (x, out)]
    statuses = [made.f(address[0], ctypes.c_int64(n), address[1]) for n in (9, 1, 4, 2**40)]
    assert out.tolist() == [-2.0, -4.0]
    assert statuses[0] == 0
    assert statuses[1] == statuses[3] == -2
    assert statuses[2] > 0
    header = (tmp_path / "f.h").read_text()
    assert "int64_t n,  /* from 3 to 2147483647 */" in header
    assert re.search(rf"  {statuses[2]}: test_exports.py, line .*: return -x if n % 2", header)


def test_a_branch_on_numbers_has_no_lowlevel_function():
    g = wg.compile(lambda x: x * x if x * 2 > 1 else -x)
    g(0.2)
    with pytest.raises(TracingError, match="goes one way or another by what its numbers are"):
        _ = g.lowlevel


def test_a_check_that_fails_is_nan_to_quad():
    g = wg.compile(lambda x: F.binary_cross_entropy(wg.as_tensor(x).float(), wg.tensor(1.0)))
    g(0.5)
    assert np.isnan(quad(g.lowlevel, 1.5, 2, full_output=1)[0])


@pytest.mark.parametrize(
    ("f", "given", "match"),
    [
        (lambda x: x * 2, (wg.ones(2),), r"float32\[2\] -> an array"),
        (lambda x, n: x * n, (1.0, 2), r"x|n \(int 2\)"),
        (lambda x: (x, x * 2), (1.0,), "a number -> float64"),
        (lambda x: x, (np.ones((2, 2)),), r"float64\[2, 2\]"),
        (lambda x: x * 1j, (1.0,), "complex"),
    ],
    ids=["float32", "int", "pair", "matrix", "complex"],
)
def test_other_forms_are_refused_with_those_that_scipy_calls(f, given, match):
    compiled = wg.compile(f)
    compiled(*given)
    with pytest.raises(TypeError, match=match):
        _ = compiled.lowlevel


def test_a_lowlevel_function_that_would_change_something_is_refused():
    count = wg.zeros(())

    def f(x):
        count.add_(1)
        return x * 2

    compiled = wg.compile(f)
    compiled(1.0)
    with pytest.raises(TracingError, match="changes something around it"):
        _ = compiled.lowlevel
