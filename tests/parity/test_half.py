"""Half precision beside PyTorch's: the functions of networks on PyTorch's own samples."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")
pytest.importorskip("ml_dtypes")

from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

from tests.parity.op_db import our_function, run, samples  # noqa: E402
from tests.parity.test_extremes import NOT_HERE  # noqa: E402
from tests.parity.test_op_db import _ABSENT  # noqa: E402

LEFT_OUT = {
    "nn.functional.scaled_dot_product_attention": "random",
    "nn.functional.soft_margin_loss": "PyTorch's overflows",
}
OPERATORS = [
    op
    for op in op_db
    if op.name.startswith("nn.functional.")
    and torch.bfloat16 in op.supported_dtypes("cpu")
    and op.name not in (*_ABSENT, *NOT_HERE, *LEFT_OUT)
    and our_function(op) is not None
]


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.formatted_name)
def test_functions_of_networks_agree_in_half_precision(op: Any, dtype: Any) -> None:
    if dtype in op.supported_dtypes("cpu"):
        for sample in samples(op, dtype, 2):
            run(op, dtype, sample, "dropout" in op.name)
