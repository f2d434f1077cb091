"""Every operator of PyTorch's own table, on its own sample inputs: see `op_db.py`."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")

from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

from tests.parity.op_db import our_function, run, samples, tensors, translated  # noqa: E402

DTYPES = (
    *(torch.float64, torch.complex128, torch.float32, torch.bfloat16),
    *(torch.int64, torch.bool),
)
LIMIT = 3

ABSENT = {
    "internal to PyTorch": """_batch_norm_with_update _chunk_cat _native_batch_norm_legit
        _segment_reduce _softmax_backward_data _unsafe_masked_index
        _unsafe_masked_index_put_accumulate _upsample_bilinear2d_aa grid_sampler_2d grid_sampler_3d
        hash_tensor jiterator_2inputs_2outputs jiterator_4inputs_with_extra_args jiterator_binary
        jiterator_binary_return_by_ref jiterator_unary max_pool2d_with_indices_backward
        native_batch_norm native_dropout_backward native_group_norm native_layer_norm slice
        torch.ops.aten._safe_softmax.default torch.ops.aten._efficient_attention_forward
        torch.ops.aten._flash_attention_forward torch._scaled_mm torch._scaled_mm_v2""",
    "no sparse tensors": "sparse.mm sparse.sampled_addmm to_sparse",
    "no complex32 in NumPy": "chalf",
}
DRAWN = """bernoulli cauchy empty empty_like empty_permuted empty_strided exponential geometric
    log_normal multinomial new_empty new_empty_strided normal rand_like randint randint_like randn
    randn_like resize_ resize_as_ uniform"""
RANDOM = DRAWN.split()

DEPARTURES = {
    "__rpow__": "an integer to a negative integer power is an error",
    "addbmm": "an in-place result does not grow; integers times a fraction are an error",
    "addmv": "integers times a fraction are an error, not cut off",
    "baddbmm": "integers times a fraction are an error, not cut off",
    "argsort": "equal elements keep their order, which PyTorch leaves open",
    "div_trunc_rounding": "PyTorch rounds a quotient of bfloat16 before it is cut off",
    "logcumsumexp": "PyTorch's gradient of bfloat16 is zero",
    "msort": "equal elements keep their order, which PyTorch leaves open",
    "sort": "equal elements keep their order, which PyTorch leaves open",
    "topk": "the first of equal elements, which PyTorch leaves open",
    "histogramdd": "bounds that decrease are an error",
    "kthvalue": "the first of equal elements, which PyTorch leaves open",
    "mode": "the last of equal elements, which PyTorch leaves open",
    "as_strided_partial_views": "the samples share memory that a copy does not have",
    "as_strided_scatter": "PyTorch gives a gradient to an element that was replaced",
    "sum_to_size": "truth values that nothing is summed over stay truth values",
}
"""Where wengert differs, and why."""

OTHERS = ("linalg.", "fft.", "nn.functional.", "special.", "masked.")
FACTORS = """cholesky cholesky_inverse cholesky_solve geqrf istft logdet lu lu_solve lu_unpack
    matrix_exp ormqr pca_lowrank pinverse qr stft svd svd_lowrank triangular_solve"""
LINEAR_ALGEBRA = FACTORS.split()
"""Families that have tables of their own."""

_ABSENT = {name for names in ABSENT.values() for name in names.split()}
OPERATORS = [
    pytest.param(
        op,
        id=op.formatted_name,
        marks=[pytest.mark.xfail(reason=DEPARTURES[op.formatted_name])]
        if op.formatted_name in DEPARTURES
        else [],
    )
    for op in op_db
    if op.name not in (*_ABSENT, *LINEAR_ALGEBRA)
    and not op.name.startswith(OTHERS)
    and our_function(op) is not None
]


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("op", OPERATORS)
def test_operator_agrees_on_pytorchs_samples(op: Any) -> None:
    for dtype in DTYPES:
        if dtype in op.supported_dtypes("cpu"):
            for sample in samples(op, dtype, LIMIT):
                run(op, dtype, sample, op.name in RANDOM)


# Results are computed before they are written into out=, which may therefore overlap the inputs.
TAKEN = (
    "single memory location",
    "Expected out tensor to have dtype",
    "Long tensor out",
    "not resizable",
    "for argument 'out'",
    "meta",
    "sparse",
    "bfloat16",
)
# A reflected operator returns NotImplemented, of which Python makes the TypeError.
WITH_ERRORS = [
    pytest.param(*p.values, id=p.id)
    for p in OPERATORS
    if p.values[0].error_inputs_func is not None and not p.values[0].name.startswith("__")
]
OTHER_TYPES = {
    "arange": "a step of 0 is a RuntimeError whether or not there is an out=",
    "narrow_copy": "a dimension that is not there is an IndexError, as everywhere",
    "amax": "65 dimensions are NumPy's ValueError",
    "amin": "65 dimensions are NumPy's ValueError",
    "aminmax": "65 dimensions are NumPy's ValueError",
}
"""Errors of another type than PyTorch's, and why."""


@pytest.mark.parametrize("op", WITH_ERRORS)
def test_bad_input_is_the_same_kind_of_error(op: Any) -> None:
    function = our_function(op)
    assert function is not None
    for error in op.error_inputs("cpu"):
        x, args, kwargs = (
            error.sample_input.input,
            error.sample_input.args,
            error.sample_input.kwargs,
        )
        if any(
            t.device.type != "cpu" or t.layout != torch.strided for t in tensors([x, args, kwargs])
        ):
            continue
        try:
            op.op(x, *args, **kwargs)
            continue
        except Exception as raised:
            expected = raised
        if any(part in str(expected) for part in TAKEN):
            continue
        kind = Exception if op.name in OTHER_TYPES else type(expected)
        with pytest.raises(kind):
            function(translated(x), *translated(tuple(args)), **translated(dict(kwargs)))
