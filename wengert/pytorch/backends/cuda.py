"""Switches of GPU products: they can be set, and choose nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from wengert.imports import lacking as _lacking


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


mem_efficient_sdp_enabled = cudnn_sdp_enabled = flash_sdp_enabled


def math_sdp_enabled() -> bool:
    """Whether attention may be computed by its formula: yes, that is what is done."""
    return True


def enable_flash_sdp(enabled: bool) -> None:
    """Accepted: there is one way to compute attention."""


enable_mem_efficient_sdp = enable_math_sdp = enable_cudnn_sdp = enable_flash_sdp


@contextlib.contextmanager
def sdp_kernel(*choices: Any, **named: Any) -> Iterator[None]:
    """Accepted: there is one way to compute attention."""
    yield


_lacking(__name__)
