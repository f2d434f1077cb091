"""The page for people who come from PyTorch says what is there."""

import pytest

pytest.importorskip("torch")

from tests.parity import coming_from_pytorch as comparison


def test_the_page_is_up_to_date():
    # What is missing changes with every name added: then the page is to be written again.
    assert comparison.PAGE.read_text(encoding="utf-8") == comparison.page(), (
        "docs/coming_from_pytorch.md is out of date: python -m tests.parity.coming_from_pytorch"
    )


def test_the_comparison_sees_what_is_there_and_what_is_not():
    found = comparison.counted()
    assert found["torch.optim"][0] >= 14
    assert "to_mkldnn" in found["torch.Tensor"][1]
    assert "onnx" not in found
