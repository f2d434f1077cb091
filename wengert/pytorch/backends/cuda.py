"""Switches of GPU products: they can be set, and choose nothing."""

from __future__ import annotations


class _Products:
    """How GPU products of matrices may round."""

    def __init__(self) -> None:
        self.allow_tf32 = False
        self.allow_fp16_reduced_precision_reduction = True
        self.allow_bf16_reduced_precision_reduction = True


matmul = _Products()


def is_built() -> bool:
    """Whether this package was built to use NVIDIA's GPUs: no."""
    return False


def flash_sdp_enabled() -> bool:
    """Whether attention may use that GPU kernel: no."""
    return False


mem_efficient_sdp_enabled = flash_sdp_enabled


def math_sdp_enabled() -> bool:
    """Whether attention may be computed by its formula: yes, that is what is done."""
    return True
