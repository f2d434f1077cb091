"""PyTorch's choice among ways to compute attention: it can be made, and chooses nothing."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterable, Iterator

from wengert.imports import lacking as _lacking


class SDPBackend(enum.IntEnum):
    """PyTorch's ways to compute `scaled_dot_product_attention`, which give the same numbers."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextlib.contextmanager
def sdpa_kernel(
    backends: SDPBackend | Iterable[SDPBackend], set_priority: bool = False
) -> Iterator[None]:
    """Accepted: there is one way to compute attention. TypeError for what names none.

    >>> with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]):
    ...     pass
    """
    for backend in [backends] if isinstance(backends, SDPBackend) else list(backends):
        if not isinstance(backend, SDPBackend):
            raise TypeError(
                f"sdpa_kernel() takes SDPBackend.MATH and the like, or a list of them, got "
                f"{backend!r}"
            )
    yield


_lacking(__name__)
