"""Arguments are called as PyTorch calls them: its schemas, beside wengert's signatures."""

from __future__ import annotations

import inspect
from collections import defaultdict
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import wengert as wg  # noqa: E402

PLACES = {
    "": (torch, wg),
    "Tensor": (torch.Tensor, wg.Tensor),
    "nn_functional": (torch.nn.functional, wg.nn.functional),
    "linalg": (torch.linalg, wg.linalg),
    "special": (torch.special, wg.special),
    "fft": (torch.fft, wg.fft),
}
EVERYWHERE = {"pin_memory", "layout", "device", "memory_format", "names"}
"""What is checked elsewhere, or has no meaning here."""
OTHERWISE = {
    "it is for graphics cards": """addmm.out_dtype baddbmm.out_dtype bmm.out_dtype mm.out_dtype
        group_norm.cudnn_enabled layer_norm.cudnn_enable""",
    "sequences of several lengths are packed by nn.LSTM": """gru.batch_sizes gru.data
        lstm.batch_sizes lstm.data rnn_relu.batch_sizes rnn_relu.data rnn_tanh.batch_sizes
        rnn_tanh.data""",
    "PyTorch's documentation has wengert's name": """copy_.other cholesky_solve.input2 orgqr.input2
        ormqr.input2 ormqr.input3 resize_.size
        resize_as_.the_template result_type.other result_type.tensor airy_ai.x
        scaled_modified_bessel_k0.x scaled_modified_bessel_k1.x spherical_bessel_j0.x
        isin.test_element normal.input""",
    "it is of the operator, not of the function": "elu_.input_scale elu_.scale pinv.rcond",
    "it is drawn by the library's generator": "rrelu.generator rrelu_.generator",
    "it is of what is not strided": """set_.size set_.storage_offset set_.stride
        to_dense.masked_grad to_sparse_bsr.blocksize to_sparse_bsc.blocksize""",
}
"""Arguments by which a function is not called here, and why."""


def schemas() -> dict[str, list[Any]]:
    """The operators of tensors by name; the others of ATen's are those of its language."""
    found = defaultdict(list)
    for schema in torch._C._jit_get_all_schemas():
        if schema.arguments and schema.arguments[0].type.kind() == "TensorType":
            found[schema.name].append(schema)
    return found


def lacking(place: str, name: str, operators: list[Any]) -> set[str]:
    """The arguments of PyTorch's that a function or method does not know by their names."""
    theirs, ours = (getattr(library, name, None) for library in PLACES[place])
    if not (inspect.isroutine(ours) and inspect.isroutine(theirs)) or inspect.isfunction(theirs):
        return set()
    found = inspect.signature(ours).parameters
    if any(p.kind is p.VAR_KEYWORD for p in found.values()):
        return set()
    known = {*found, *getattr(ours, "numpys_names", {}), *EVERYWHERE}
    if place == "Tensor" or name.endswith("_"):  # x.exp_() is exp_(x), and exp_(input=x)
        known.add("input")
    wanted = {a.name for operator in operators for a in operator.arguments if not a.is_out}
    return {"input" if n == "self" else n for n in wanted} - known


@pytest.mark.parametrize("place", PLACES)
def test_arguments_may_be_given_by_pytorchs_names(place: str) -> None:
    # x.swapaxes(axis0=0, axis1=1), x.pow_(exponent=2), torch.det(input=A), one_hot(input=labels)
    # and torch.dropout(x, p, train=True) were errors.
    of_operators = schemas()
    prefix = "" if place in ("", "Tensor", "nn_functional") else f"{place}_"
    missing = {
        f"{name}.{argument}"
        for name in dir(PLACES[place][0])
        if not name.startswith("__")
        for argument in lacking(place, name, of_operators[f"aten::{prefix}{name}"])
    }
    assert missing <= set(" ".join(OTHERWISE.values()).split())


def test_functions_take_arguments_by_their_other_names():
    x = wg.tensor([[1.0, 2.0], [3.0, 5.0]])
    assert wg.equal(x.swapaxes(axis0=0, axis1=1), x.T)
    assert wg.equal(wg.swapaxes(input=x, axis0=-1, axis1=0), x.T)
    assert wg.det(input=x) == wg.linalg.det(A=x)
    assert wg.equal(x.clone().pow_(exponent=2), x * x)
    assert wg.equal(wg.exp_(input=x.clone()), x.exp())
    assert wg.dropout(x, 0.5, train=False) is not None
    assert wg.nn.functional.one_hot(input=wg.tensor([1])).tolist() == [[0, 1]]
    with pytest.raises(TypeError, match="A= and input=, which are one argument"):
        wg.det(A=x, input=x)
