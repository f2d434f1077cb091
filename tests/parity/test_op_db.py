"""PyTorch's own table of operators, whole: every check of every operator, beside PyTorch.

See `op_db.py` for how an operator is run by both libraries, and `op_checks.py` for the checks. What
fails is listed here with its reason; for each dtype and check the share that passes is asserted.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")

from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

from tests.parity.op_checks import errors, outcomes  # noqa: E402
from tests.parity.op_db import INTERNAL, among  # noqa: E402

LIMIT = 2
SHARES = {"float64": 99, "float32": 99, "complex128": 99, "bfloat16": 97, "float16": 97}
"""By dtype, how many operators in a hundred pass each check at least."""
LESS = {
    ("complex128", "views"): (95, "conj, H and mH have memory of their own, of 60 that are views"),
    ("complex128", "in-place"): (98, "addbmm_ does not grow, one of 73"),
}
"""Of few operators one is more than one in a hundred: what then is asserted, and why."""
ERRORS = 95
"""And of calls that are errors in PyTorch, how many raise that kind of error."""

VIEWS = "views"
NUMBERS = "forward grad gradgrad forward_ad method in-place out vmap"
DEPARTURES: dict[str, dict[str, str]] = {
    "internal to PyTorch": {INTERNAL: "forward"},
    "it keeps no memory down, which is what it is for": {
        "nn_functional_linear_cross_entropy_chunked*": "forward",
    },
    "it does not depend on the numbers of the input": {"max_pool2d_with_indices_backward": "dtype"},
    "NumPy conjugates numbers, not views": {"conj H mH": VIEWS},
    "random numbers have no derivative, not even 0": {
        "normal normal_number_mean bernoulli": "dtype",
    },
    "an in-place result does not grow": {"addbmm": "in-place"},
    "the samples share memory, which copies do not": {"as_strided_partial_views": NUMBERS},
    "PyTorch gives a gradient to an element that was replaced": {"as_strided_scatter": "grad"},
    "bounds that decrease are an error": {"histogramdd": "forward"},
    "PyTorch is accurate to 6 digits only": {
        "special_bessel_*": "forward out vmap",
        "cholesky_inverse": "forward_ad",
    },
    "PyTorch has NaN where there is a number": {
        "linalg_norm_subgradients_at_zero": "gradgrad",
        "masked_logaddexp": "gradgrad forward_ad",
        "logcumsumexp": "forward_ad",
    },
    "PyTorch has 0 where there is a derivative": {
        "logcumsumexp": "grad gradgrad",
        "istft": "grad gradgrad",
    },
    "PyTorch's places have the dtype of the numbers": {"masked_argm*": "dtype vmap"},
    "PyTorch's variance of complex numbers is complex": {"masked_var masked_std": "dtype vmap"},
    "which of equal elements comes first is left open": {
        "mode sort argsort msort topk kthvalue": "forward grad gradgrad forward_ad method out vmap",
    },
    "numbers of 16 bits are rounded elsewhere": {
        "nn_functional_huber_loss scatter_reduce_prod addcdiv dist linalg_vector_norm": "gradgrad",
    },
    "numbers of 16 bits are rounded once, not at each step": {
        "nn_functional_grid_sample grid_sampler_*": "forward grad gradgrad vmap",
    },
    "PyTorch's exponential of float16 overflows": {"nn_functional_soft_margin_loss": NUMBERS},
    "not in bfloat16": {"matrix_exp nn_functional_linear_cross_entropy": "forward"},
}
"""Where wengert differs: for each reason, operators (in the patterns of files) and their checks."""


def departs(op: Any, check: str) -> bool:
    return any(
        check in checks.split() and among(op, patterns)
        for operators in DEPARTURES.values()
        for patterns, checks in operators.items()
    )


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SHARES)
def test_operators_agree_on_pytorchs_samples(name: str) -> None:
    dtype = getattr(torch, name)
    passed, checked, unexpected = Counter[str](), Counter[str](), []
    for op in op_db:
        if dtype not in op.supported_dtypes("cpu"):
            continue
        for check, wrong in outcomes(op, dtype, LIMIT).items():
            checked[check] += 1
            passed[check] += not wrong
            if wrong and not departs(op, check):
                unexpected.append(f"{op.formatted_name}, {check}: {wrong}")
    figures = {check: f"{passed[check]} of {n}" for check, n in checked.items()}
    print(name, figures)  # shown where the test fails, and by pytest -s
    assert not unexpected, "\n".join(unexpected)
    for check, n in checked.items():
        share, reason = LESS.get((name, check), (SHARES[name], ""))
        assert 100 * passed[check] >= share * n, (check, figures, reason)


OTHER_ERRORS = {
    "a step of 0 is a RuntimeError whether or not there is an out=": "arange",
    "results are computed before they are written, so that out= may overlap arguments": """kthvalue
        masked_select gather take cat""",
    "out= is of any dtype that holds the result": "complex aminmax gather multinomial",
    "a dimension that is not there is an IndexError, as everywhere": "narrow_copy",
    "out= may grow though others look into its memory": "cat",
}
"""Operators that do not raise PyTorch's kind of error, for each reason."""


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore")
def test_bad_input_is_the_same_kind_of_error() -> None:
    same, others, unexpected = 0, 0, []
    listed = {name for names in OTHER_ERRORS.values() for name in names.split()}
    for op in op_db:
        for expected, found in errors(op):
            alike = isinstance(found, type(expected))
            same, others = same + alike, others + (not alike)
            if not alike and op.formatted_name not in listed:
                unexpected.append(f"{op.formatted_name}: {found!r} here, {expected!r} there")
    assert not unexpected, "\n".join(unexpected)
    assert 100 * same >= ERRORS * (same + others), (same, others)
