"""What programs ask `torch.distributed`: there is one process, and no group of them."""

from __future__ import annotations

from typing import Any

from wengert.imports import lacking as _lacking


def is_available() -> bool:
    """Whether processes can work together: no."""
    return False


is_initialized = is_torchelastic_launched = is_available


def get_rank(group: Any = None) -> int:
    """This process's number: 0."""
    return 0


def get_world_size(group: Any = None) -> int:
    """How many processes there are: 1."""
    return 1


_lacking(__name__)
