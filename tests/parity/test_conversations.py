"""Tensors in conversation with Python, beside PyTorch's: indices, conversions, errors, printing.

Each case is a call `lambda t: ...`, run with `t` torch and then wengert. Results must print alike;
where PyTorch raises, wengert raises an exception of that kind.
"""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg

torch = pytest.importorskip("torch")

nan, inf = float("nan"), float("inf")

INDEXING = {
    "out of bounds": lambda t: t.ones(3)[5],
    "out of bounds, second": lambda t: t.ones(3, 2)[1, 7],
    "out of bounds, tensor": lambda t: t.ones(3)[t.tensor([5])],
    "too many": lambda t: t.ones(3)[1, 2],
    "0-d": lambda t: t.tensor(1.0)[0],
    "0-d slice": lambda t: t.tensor(1.0)[:],
    "0-d None": lambda t: t.tensor(1.0)[None],
    "0-d ellipsis": lambda t: t.tensor(1.0)[...],
    "0-d empty tuple": lambda t: t.tensor(1.0)[()],
    "0-d mask": lambda t: t.tensor(1.0)[t.tensor(True)],
    "float": lambda t: t.ones(3)[1.5],
    "string": lambda t: t.ones(3)["a"],
    "float tensor": lambda t: t.ones(3)[t.tensor([1.0])],
    "mask of another shape": lambda t: t.ones(3)[t.tensor([True, False])],
    "empty list": lambda t: t.ones(3)[[]],
    "empty tuple": lambda t: t.ones(3, 2)[()],
    "only full slices": lambda t: t.arange(6).reshape(2, 3)[:, :],
    "list of bools": lambda t: t.arange(3)[[True, False, True]],
    "range": lambda t: t.arange(5)[range(2)],
    "array": lambda t: t.arange(5)[np.array([1, 2])],
    "NumPy integer": lambda t: t.arange(5)[np.int64(2)],
    "True": lambda t: t.arange(3)[True],
    "False": lambda t: t.arange(3)[False],
    "number and False": lambda t: t.arange(6).reshape(2, 3)[0, False],
    "True tensor": lambda t: t.arange(3)[t.tensor(True)],
    "tensors in a slice": lambda t: t.arange(5)[t.tensor(1) : t.tensor(3)],
    "negative tensor": lambda t: t.arange(5)[t.tensor([-1, -2])],
    "slice beyond the end": lambda t: t.arange(5)[2:100],
    "two ellipses": lambda t: t.zeros(2, 3, 4)[..., 0, ...].shape,
    "None and tensors": lambda t: t.arange(6).reshape(2, 3)[None, t.tensor([1]), :, None].shape,
    "number, slice, tensor": lambda t: t.arange(24).reshape(2, 3, 4)[1, :, t.tensor([0, 3])],
    "tensor, slice, tensor": lambda t: (
        t.zeros(2, 3, 4)[t.tensor([0, 1, 0]), :, t.tensor([0, 3, 1])].shape
    ),
    "tensor, None, tensor": lambda t: t.zeros(2, 3, 4)[t.tensor([0]), None, t.tensor([0])].shape,
    "mask of a pair": lambda t: t.arange(24).reshape(2, 3, 4)[t.ones(2, 3) > 0, 1],
    "set, wrong shape": lambda t: t.ones(3).__setitem__(slice(None), t.ones(2)),
    "set, mask, wrong count": lambda t: t.ones(3).__setitem__(
        t.tensor([True, True, False]), t.ones(3)
    ),
    "set infinity": lambda t: after(t.zeros(2), lambda z: z.__setitem__(0, inf)),
    "set a float in integers": lambda t: after(
        t.zeros(2, dtype=t.int64), lambda z: z.__setitem__(0, 1.7)
    ),
    "set with leading ones": lambda t: after(
        t.zeros(2, 2), lambda z: z.__setitem__(0, t.ones(1, 1, 2))
    ),
    "set a complex number": lambda t: t.zeros(2).__setitem__(0, 1j),
    "set by 0-d tensor": lambda t: after(t.zeros(2), lambda z: z.__setitem__(t.tensor(1), 3)),
    "set by two numbers": lambda t: after(t.zeros(2, 2), lambda z: z.__setitem__((0, 1), 3)),
    "set by ellipsis": lambda t: after(t.zeros(2, 2), lambda z: z.__setitem__(..., 3)),
    "set by list": lambda t: after(t.zeros(3, 2), lambda z: z.__setitem__([0, 2], t.arange(2.0))),
    "set the transpose": lambda t: after(t.zeros(2, 3), lambda z: z.t().__setitem__(0, 5)),
    "add in place": lambda t: after(t.zeros(3), lambda z: z[1:].add_(2)),
}

PYTHON = {
    "len 0-d": lambda t: len(t.tensor(1)),
    "iterate 0-d": lambda t: list(t.tensor(1)),
    "iterate": lambda t: list(t.arange(4).reshape(2, 2)),
    "bool of many": lambda t: bool(t.ones(2)),
    "bool of none": lambda t: bool(t.ones(0)),
    "bool of nan": lambda t: bool(t.tensor(nan)),
    "int of nan": lambda t: int(t.tensor(nan)),
    "int of infinity": lambda t: int(t.tensor(inf)),
    "int of many": lambda t: int(t.ones(2)),
    "float of complex": lambda t: float(t.tensor(1 + 2j)),
    "complex": lambda t: complex(t.tensor(1.5)),
    "index": lambda t: [1, 2, 3][t.tensor(1)],
    "index of float": lambda t: [1, 2, 3][t.tensor(1.0)],
    "index of a vector": lambda t: [1, 2, 3][t.tensor([1])],
    "float of a large integer": lambda t: float(t.tensor(2**60 + 1)),
    "item of many": lambda t: t.ones(2).item(),
    "item of bool": lambda t: t.tensor([True]).item(),
    "contains": lambda t: (2 in t.arange(3), 5.5 in t.arange(3), t.tensor(1) in t.arange(3)),
    "contains string": lambda t: "a" in t.arange(3),
    "reversed": lambda t: list(reversed(t.arange(3))),
    "format": lambda t: (f"{t.tensor(1.5):.3f}", f"{t.tensor([1.0, 2.0])}", f"{t.tensor(3):5d}"),
    "format a vector": lambda t: f"{t.ones(2):.2f}",
    "imag": lambda t: hasattr(t.ones(2), "imag"),
    "real": lambda t: t.ones(2).real,
    "numpy of tracked": lambda t: t.ones(2, requires_grad=True).numpy(),
    "tolist": lambda t: (t.tensor(1.5).tolist(), t.ones(2, 2).tolist()),
    "hash": lambda t: len({t.ones(1), t.ones(1)}),
    "equal to None": lambda t: (t.ones(2) == None, t.ones(2) != "a"),  # noqa: E711
    "less than None": lambda t: t.ones(2) < None,
    "plus string": lambda t: t.ones(2) + "a",
    "shape": lambda t: (t.ones(2, 3).shape, t.ones(2, 3).size(-1), t.ones(2, 3).shape[1:]),
    "strides": lambda t: (
        t.ones(2, 3).stride(),
        t.ones(2, 3).t().stride(),
        t.ones(2, 3)[1].storage_offset(),
    ),
    "type": lambda t: (t.ones(1).type(), t.arange(1).type(), t.tensor([True]).type()),
    "type by class": lambda t: (t.ones(2).type(t.IntTensor), t.ones(2).type("torch.DoubleTensor")),
    "legacy": lambda t: (
        t.LongTensor([0, 2]),
        t.Tensor([1, 2]),
        t.Tensor(2, 3).shape,
        t.BoolTensor(2, 3).shape,
    ),
    "instances": lambda t: (
        isinstance(t.ones(1), t.FloatTensor),
        isinstance(t.ones(1), t.LongTensor),
    ),
    "device": lambda t: (t.ones(1).device, t.device("cuda:1"), t.device("cpu") == t.ones(1).device),
    "to nowhere": lambda t: t.ones(2).to("nowhere"),
    "to": lambda t: (
        t.ones(2).to("cpu", t.int32),
        t.ones(2).to(t.arange(2)),
        t.ones(2).to(dtype=t.bool),
    ),
    "new": lambda t: (
        t.ones(2).new_zeros(2, 3),
        t.arange(2).new_full((2,), 3),
        t.arange(2).new([1, 2]),
    ),
    "limits": lambda t: (t.finfo(t.float32), t.iinfo(t.int16), t.finfo().bits),
    "set real part": lambda t: after(t.tensor([1 + 2j]), lambda z: setattr(z, "real", 5)),
    "apply_": lambda t: t.ones(2).apply_(lambda v: v * 3),
    "default dtype": lambda t: t.set_default_dtype(t.int32),
}

DIMENSIONS = {
    "sum, no such dimension": lambda t: t.ones(2).sum(3),
    "sum, twice": lambda t: t.ones(2, 2).sum((0, 0)),
    "mean of integers": lambda t: t.arange(3).mean(),
    "max of nothing": lambda t: t.ones(0).max(),
    "max along nothing": lambda t: t.ones(0, 3).max(0),
    "max of no rows": lambda t: t.ones(0, 3).max(1),
    "argmax of nothing": lambda t: t.ones(0).argmax(),
    "amax of nothing": lambda t: t.ones(0, 3).amax(),
    "sum of nothing": lambda t: (t.ones(0, 3).sum(0), t.ones(0, 3).mean(0), t.ones(0, 3).prod(0)),
    "variance of one": lambda t: (t.ones(1).var(correction=0), t.tensor([1.0, 3.0]).std()),
    "softmax of nothing": lambda t: (
        t.ones(0, 3).softmax(0),
        t.ones(0, 3).cumsum(0),
        t.ones(0, 3).logsumexp(1),
    ),
    "0-d reductions": lambda t: (
        t.tensor(2.0).sum(0),
        t.tensor(2.0).max(0),
        t.tensor(2.0).argmax(0),
        t.tensor(2.0).all(0),
    ),
    "0-d scans": lambda t: (
        t.tensor(2.0).softmax(0),
        t.tensor(2.0).cumsum(0),
        t.tensor(2.0).sort(),
        t.tensor(2.0).topk(1),
    ),
    "0-d shapes": lambda t: (
        t.tensor(2.0).t(),
        t.tensor(2.0).flip(0),
        t.tensor(2.0).squeeze(0),
        t.tensor(2.0).transpose(0, -1),
    ),
    "0-d views": lambda t: (
        t.tensor(2.0).view(1, 1),
        t.tensor(2.0).permute(()),
        t.tensor(2.0).expand(2, 2),
        t.tensor(2.0).repeat(2),
    ),
    "0-d picks": lambda t: (
        t.tensor(2.0).gather(0, t.tensor([0, 0])),
        t.tensor(2.0).index_select(0, t.tensor([0])),
        t.tensor(2.0).nonzero(),
    ),
    "0-d unbind": lambda t: t.tensor(2.0).unbind(),
    "0-d split": lambda t: t.tensor(2.0).split(1),
    "0-d size": lambda t: t.tensor(2.0).size(0),
    "view of another size": lambda t: t.ones(2, 3).view(4),
    "view of a transpose": lambda t: t.ones(2, 3).t().view(6),
    "two unknown sizes": lambda t: t.ones(2, 3).view(-1, -1),
    "unknown size that does not divide": lambda t: t.ones(2, 3).view(-1, 4),
    "unknown size of nothing": lambda t: t.ones(0, 3).view(0, -1),
    "view as a dtype": lambda t: t.ones(2).view(t.int32),
    "expand to another size": lambda t: t.ones(2, 3).expand(4, 3),
    "expand to fewer": lambda t: t.ones(2, 3).expand(3),
    "expand a new dimension by -1": lambda t: t.ones(2).expand(-1, 2),
    "permute too few": lambda t: t.ones(2, 3).permute(0),
    "permute twice": lambda t: t.ones(2, 3).permute(0, 0),
    "t of a cube": lambda t: t.ones(2, 3, 4).t(),
    "mT of a vector": lambda t: t.ones(2).mT,
    "cat of unequal": lambda t: t.cat([t.ones(2), t.ones(2, 2)]),
    "cat of nothing": lambda t: t.cat([]),
    "cat with an empty vector": lambda t: t.cat([t.ones(0), t.ones(2, 2)]),
    "cat of numbers": lambda t: t.cat([t.tensor(1.0)]),
    "cat of two dtypes": lambda t: t.cat([t.ones(2), t.arange(2)]),
    "stack of unequal": lambda t: t.stack([t.ones(2), t.ones(3)]),
    "split into wrong sizes": lambda t: t.ones(4).split([1, 2]),
    "chunks": lambda t: (
        t.arange(5).chunk(4),
        t.arange(5).split(2),
        t.arange(7).tensor_split((1, 4)),
    ),
    "unsqueeze too far": lambda t: t.ones(2).unsqueeze(3),
    "gather out of bounds": lambda t: t.ones(2, 2).gather(0, t.tensor([[5, 0]])),
    "index_select out of bounds": lambda t: t.ones(2, 2).index_select(0, t.tensor([5])),
    "masked_fill by integers": lambda t: t.ones(2).masked_fill(t.tensor([1, 0]), 1),
    "where by integers": lambda t: t.where(t.tensor([1, 0]), 1.0, 2.0),
    "where of numbers": lambda t: (
        t.where(t.tensor([True, False]), 1.0, 2.0),
        t.where(t.tensor([True, False]), 1, 2),
    ),
    "add of unequal": lambda t: t.ones(2) + t.ones(3),
    "matmul of unequal": lambda t: t.ones(2, 3) @ t.ones(2, 3),
    "matmul of two dtypes": lambda t: t.ones(2, 2) @ t.ones(2, 2, dtype=t.float64),
    "matmul of numbers": lambda t: t.matmul(t.tensor(1.0), t.ones(2)),
    "mm of vectors": lambda t: t.mm(t.ones(2), t.ones(2)),
    "dot of unequal": lambda t: t.dot(t.ones(2), t.ones(3)),
    "difference of bools": lambda t: t.tensor([True]) - t.tensor([True]),
    "negative of bools": lambda t: -t.tensor([True]),
    "negative power of integers": lambda t: t.tensor([2]) ** -1,
    "float into integers": lambda t: t.tensor([1]).add_(1.5),
    "quotient into integers": lambda t: t.tensor([4]).div_(2),
    "larger into smaller": lambda t: t.ones(2).add_(t.ones(2, 2)),
    "write to a leaf": lambda t: t.ones(2, requires_grad=True).add_(1),
    "write to an expanded tensor": lambda t: t.ones(1).expand(3).add_(1),
    "write to one expanded by nothing": lambda t: t.ones(3).expand(1, 3).add_(1),
    "copy of another shape": lambda t: t.ones(3).copy_(t.ones(2)),
    "copy of floats into integers": lambda t: t.arange(2).copy_(t.tensor([1.7, 2.2])),
    "fill": lambda t: (t.ones(3).fill_(t.tensor(2)), t.ones(3).zero_(), t.arange(4).resize_(2, 1)),
    "fill by a vector": lambda t: t.ones(3).fill_(t.ones(3)),
    "floor division": lambda t: (
        t.tensor([-7]) // 2,
        t.tensor([-7.0]) // 2,
        t.tensor([-7.0, 7.0]) % 3,
    ),
    "norm of integers": lambda t: t.arange(3).norm(),
    "out": lambda t: t.add(t.ones(2), 1, out=t.zeros(2)),
    "out while tracked": lambda t: t.add(t.ones(2, requires_grad=True), 1, out=t.zeros(2)),
    "out of another dtype": lambda t: t.add(t.ones(2), 1, out=t.zeros(2, dtype=t.int64)),
    "einsum of unequal": lambda t: t.einsum("ij,jk->ik", t.ones(2, 3), t.ones(2, 3)),
    "einsum, wrong letters": lambda t: t.einsum("ij->", t.ones(2)),
    "clamp by nothing": lambda t: t.ones(2).clamp(),
    "topk of too many": lambda t: t.ones(2).topk(3),
    "empty range of randint": lambda t: t.randint(5, 5, (2,)),
    "orders of nan": lambda t: (
        t.tensor([nan, 1.0, 0.0]).sort(descending=True),
        t.tensor([[nan, 1.0]]).max(1),
        t.tensor([nan, 1.0, 0.0]).median(0),
    ),
    "tril of a vector": lambda t: t.tril(t.ones(2)),
    "diag of a cube": lambda t: t.ones(2, 2, 2).diag(),
    "too few repeats": lambda t: t.ones(2, 2).repeat(2),
    "promotion": lambda t: (
        t.tensor(1) + t.tensor(1.5, dtype=t.float64),
        t.ones(2) + 1j,
        t.tensor([1]) * 1j,
        t.tensor([4]) ** 0.5,
        t.tensor(4) ** 2.0,
    ),
    "promotion of bools": lambda t: (
        t.tensor([1]) + True,
        t.tensor([True]) + True,
        t.tensor([True, True]).sum(),
    ),
    "flip copies": lambda t: after(t.arange(3), lambda x: x.flip(0).fill_(7)),
    "sizes of squeeze": lambda t: (
        t.ones(1, 2, 1).squeeze((0, 2)).shape,
        t.ones(2, 3, 4).flatten(1).shape,
        t.ones(2, 3, 4).movedim((0, 1), (1, 2)).shape,
    ),
    "squeeze too far": lambda t: t.ones(1, 2).squeeze(5),
    "types of two": lambda t: t.allclose(t.ones(2), t.ones(2, dtype=t.float64)),
}

PRINTED = {
    "numbers": lambda t: (
        t.tensor(1.5),
        t.tensor(3),
        t.tensor(True),
        t.tensor(1 + 2j),
        t.tensor(-0.0),
        t.tensor(1e-7),
    ),
    "vectors": lambda t: (
        t.tensor([1.0, 2.0]),
        t.tensor([1.5, 2.25]),
        t.tensor([1, -20]),
        t.tensor([True, False]),
    ),
    "wide ranges": lambda t: (
        t.tensor([1e-5, 1.0]),
        t.tensor([1e9, 1.0]),
        t.tensor([1e5, 2.0]),
        t.tensor([1e3, 1.5]),
    ),
    "nan and infinity": lambda t: (
        t.tensor([nan, 1.0]),
        t.tensor([inf, -inf, 2.5]),
        t.tensor([nan]),
        t.tensor([1e-5, inf]),
    ),
    "empty": lambda t: (
        t.zeros(0),
        t.zeros(0, 3),
        t.zeros(0, dtype=t.int64),
        t.zeros(2, 0, dtype=t.float64),
    ),
    "dtypes": lambda t: (
        t.ones(2, dtype=t.int32),
        t.ones(2, dtype=t.uint8),
        t.ones(2, dtype=t.float16),
        t.ones(2, dtype=t.float64),
    ),
    "long": lambda t: (t.arange(30), t.arange(60).reshape(2, 30), t.arange(30.0) / 7),
    "summarised": lambda t: (
        t.arange(2000),
        t.arange(2000.0).reshape(40, 50),
        t.arange(2184).reshape(12, 13, 14) % 7,
    ),
    "complex": lambda t: (
        t.tensor([1 + 2j, 3 - 4j]),
        t.tensor([1e-10 + 1j]),
        t.tensor([[nan + 1j, 1]]),
    ),
    "cubes": lambda t: (t.arange(8).reshape(2, 2, 2), t.arange(16).reshape(2, 2, 2, 2) / 3),
    "tracked": lambda t: (
        t.ones(3, requires_grad=True),
        t.ones(20, requires_grad=True) + 0.5,
        t.ones(2, requires_grad=True).sum(),
    ),
    "names of nodes": lambda t: (
        t.ones(2, requires_grad=True)[0],
        t.ones(2, requires_grad=True)[1:],
        t.ones(2, requires_grad=True)[[0]],
    ),
    "tracked, another dtype": lambda t: t.ones(9, requires_grad=True, dtype=t.float64) * 1.5,
    "pairs": lambda t: (t.ones(2, 3).max(1), t.ones(2, 3).sort(1)),
}


def after(x, change):
    change(x)
    return x


def text(value) -> str:
    return repr(value).replace("torch.", "").replace("wengert.", "")


def outcome(t, call):
    try:
        return None, text(call(t))
    except Exception as error:
        return error, ""


CASES = {**INDEXING, **PYTHON, **DIMENSIONS, **PRINTED}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_result_prints_alike_or_the_error_is_of_the_same_kind(name):
    their_error, theirs = outcome(torch, CASES[name])
    our_error, ours = outcome(wg, CASES[name])
    if their_error is None:
        assert our_error is None, our_error
        assert ours == theirs
    else:
        assert isinstance(our_error, type(their_error)), (their_error, our_error, ours)


OPTIONS = [
    {"precision": 2},
    {"precision": 8},
    {"profile": "full"},
    {"profile": "short"},
    {"sci_mode": True},
    {"linewidth": 40},
    {"threshold": 5, "edgeitems": 1},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_print_options(options):
    array = np.random.default_rng(0).normal(size=(3, 9))
    try:
        for t in (torch, wg):
            t.set_printoptions(**options)
        for x in (array, array[0], np.arange(1200)):
            assert text(wg.tensor(x)) == text(torch.tensor(x))
    finally:
        for t in (torch, wg):
            t.set_printoptions(profile="default")


@pytest.mark.filterwarnings("ignore")
def test_every_public_name_in_dir_of_a_matrix_can_be_read():
    x = wg.ones(2, 2)
    for name in dir(x):
        if name != "imag":
            assert hasattr(x, name)
