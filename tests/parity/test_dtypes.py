"""Dtypes are NumPy's, and know what PyTorch's do."""

import operator

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

import wengert as wg

NAMES = [
    *("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
]


def told(library, name):
    dtype = getattr(library, name)
    facts = [dtype.is_floating_point, dtype.is_complex, dtype.is_signed, dtype.itemsize]
    return [*facts, *(tried(getattr(dtype, f"to_{part}")) for part in ("real", "complex"))]


def tried(function):
    try:
        name = str(function()).removeprefix("torch.")
    except RuntimeError:
        return None
    return {"complex32": "complex64"}.get(name, name)  # NumPy has no smaller one


@pytest.mark.parametrize("name", NAMES)
def test_a_dtype_tells_of_itself_what_pytorchs_does(name):
    assert told(wg, name) == told(torch, name)


def test_dtypes_are_numpys_own():
    assert wg.float32 is np.dtype("float32")
    assert wg.ones(1).dtype is np.ones(1, "f4").dtype
    assert np.result_type(wg.float32, wg.float64) is wg.float64
    with pytest.raises(AttributeError):
        wg.float32.is_floating_point = False
    with pytest.raises(RuntimeError, match=r"no complex dtype of int64\. Convert to float32"):
        wg.int64.to_complex()


@pytest.mark.parametrize("name", NAMES)
def test_results_are_written_into_the_dtypes_that_pytorch_casts_to(name):
    # bfloat16 was no dtype to the rule: complex results lost their imaginary parts in silence. And
    # signed integers could not be written into unsigned ones.
    for other in NAMES:
        allowed = torch.can_cast(getattr(torch, name), getattr(torch, other))
        source, target = getattr(wg, name), getattr(wg, other)
        assert wg.can_cast(source, target) == allowed, other
        x, out = wg.ones(2, dtype=source), wg.zeros(2, dtype=target)
        if allowed:
            assert wg.cat([x], out=out) is out
        else:
            with pytest.raises(RuntimeError, match="can't be cast"):
                wg.cat([x], out=out)
            with pytest.raises(RuntimeError, match="can't be cast"):
                out.add_(x)


@pytest.mark.parametrize("name", ["sum", "prod", "cumsum", "cumprod"])
@pytest.mark.parametrize("dtype", ["int64", "uint8", "float64"])
def test_what_adds_up_does_so_in_the_dtype_of_out(name, dtype):
    # float32 was added up as such, and then not written into integers.
    made = []
    for lib in (torch, wg):
        out = lib.zeros(3 if name.startswith("cum") else (), dtype=getattr(lib, dtype))
        getattr(lib, name)(lib.tensor([1.5, 2.75, 3.5]), 0, out=out)
        made.append(out.tolist())
    assert made[1] == made[0]


TAKES_A_DTYPE = {
    "type": lambda t, k: t.ones(2).type(k),
    "to": lambda t, k: t.ones(2).to(k),
    "zeros": lambda t, k: t.zeros(2, dtype=k),
    "tensor": lambda t, k: t.tensor([1], dtype=k),
    "arange": lambda t, k: t.arange(3, dtype=k),
    "zeros_like": lambda t, k: t.zeros_like(t.ones(2), dtype=k),
    "sum": lambda t, k: t.ones(2).sum(dtype=k),
    "cumsum": lambda t, k: t.ones(2).cumsum(0, dtype=k),
    "softmax": lambda t, k: t.softmax(t.ones(2), 0, dtype=k),
    "a layer": lambda t, k: t.nn.Linear(2, 2, dtype=k),
    "Module.to": lambda t, k: t.nn.Linear(2, 2).to(k),
    "set_default_dtype": lambda t, k: t.set_default_dtype(k),
    "promote_types": lambda t, k: t.promote_types(k, t.float32),
    "can_cast": lambda t, k: t.can_cast(k, t.float32),
    "finfo": lambda t, k: t.finfo(k),
}


@pytest.mark.parametrize("kind", [dict, object, str, list], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", TAKES_A_DTYPE)
def test_a_class_is_no_dtype_though_numpy_takes_it_for_objects(name, kind):
    # `zeros(2, dtype=dict)` was a tensor of objects; others raised a KeyError from inside.
    with pytest.raises((TypeError, ValueError)):
        TAKES_A_DTYPE[name](torch, kind)
    with pytest.raises(TypeError, match="must be a dtype"):
        TAKES_A_DTYPE[name](wg, kind)


def test_the_class_of_tensors_is_the_type_of_the_default_dtype():
    for library in (torch, wg):
        assert library.ones(2).double().type(library.Tensor).dtype == library.float32
        assert library.ones(2).double().type("torch.Tensor").dtype == library.float32
    with pytest.raises(RuntimeError, match="device cuda is not available"):
        wg.ones(2).type("torch.cuda.FloatTensor")


ONE_STEP = {
    "addmm": lambda t, a, b, c: t.addmm(a, b, c, beta=-4.775, alpha=2.0315),
    "baddbmm": lambda t, a, b, c: t.baddbmm(a[None], b[None], c[None], beta=0.3, alpha=0.7),
    "addcmul": lambda t, a, b, c: t.addcmul(a, b, c, value=0.3),
    "addcdiv": lambda t, a, b, c: t.addcdiv(a, b, c, value=0.3),
    "lerp": lambda t, a, b, c: t.lerp(a, b, 0.3),
    "add": lambda t, a, b, c: t.add(a, b, alpha=0.3),
    "sub": lambda t, a, b, c: t.sub(a, b, alpha=0.3),
    "add_": lambda t, a, b, c: a.clone().add_(b, alpha=0.3),
    "addmm_": lambda t, a, b, c: a.clone().addmm_(b, c, beta=0.3, alpha=0.7),
}


@pytest.mark.parametrize("name", ONE_STEP)
def test_what_is_one_step_in_pytorch_is_rounded_once_in_bfloat16(name):
    # The product, its multiple and the sum were each rounded, and Newton-Schulz iterations drifted.
    torch = pytest.importorskip("torch")
    numbers = np.random.default_rng(0).standard_normal((3, 16, 16))
    ours, theirs = (
        ONE_STEP[name](library, *(library.tensor(x).bfloat16() for x in numbers)).float().numpy()
        for library in (wg, torch)
    )
    away = np.abs(ours - theirs)
    assert np.mean(away > 0) < 0.02  # sums in another order
    assert np.all(away <= np.abs(theirs) / 64)


@pytest.mark.parametrize("name", ["add_", "sub_", "add", "addcmul", "addcdiv"])
def test_multiples_of_a_narrower_tensor_are_taken_in_the_wider_dtype(name):
    # p.add_(update, alpha=-lr) of a bfloat16 update rounded the product to bfloat16: optimizers
    # that orthogonalize their updates did not agree with PyTorch's.
    numbers = np.random.default_rng(0).standard_normal((3, 16))
    found = []
    for library in (wg, torch):
        wide, *narrow = (library.tensor(x) for x in numbers)
        narrow = [x.bfloat16() for x in narrow]
        if name.startswith("addc"):
            found.append(getattr(library, name)(wide, *narrow, value=0.3).numpy())
        else:
            found.append(getattr(wide.clone(), name)(narrow[0], alpha=-0.01).numpy())
    np.testing.assert_allclose(*found, rtol=1e-12)


@pytest.mark.parametrize(
    "name", ["bool", "uint8", "int8", "int64", "float16", "bfloat16", "float32"]
)
@pytest.mark.parametrize("number", [np.float64(3), np.float32(3), np.int64(3), np.int8(3)])
def test_a_number_of_numpys_at_the_left_of_an_operator_is_what_it_is_at_the_right(number, name):
    # It came by NumPy's function, and widened: np.float64(3) * x of int8 was of float64.
    for op in (
        operator.mul,
        operator.add,
        operator.truediv,
        operator.pow,
        operator.mod,
        operator.lt,
    ):
        ours, theirs = (op(number, lib.ones(2, dtype=getattr(lib, name))) for lib in (wg, torch))
        assert str(theirs.dtype) == f"torch.{ours.dtype}", op
        assert ours.tolist() == theirs.tolist()


def test_a_number_of_numpys_has_no_order_beside_complex_ones():
    # np.float64(3) < z compared as NumPy does; z > np.float64(3) was refused.
    for z in (wg.ones(2, dtype=wg.complex64), torch.ones(2, dtype=torch.complex64)):
        with pytest.raises((TypeError, RuntimeError)):
            operator.lt(np.float64(3), z)
