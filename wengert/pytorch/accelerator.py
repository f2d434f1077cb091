"""What current programs ask `torch.accelerator` for a device: there is none but the CPU."""

from __future__ import annotations

from typing import Any

from wengert.imports import lacking as _lacking
from wengert.pytorch.cuda import device_count as device_count
from wengert.pytorch.cuda import empty_cache as empty_cache
from wengert.pytorch.cuda import is_available as is_available
from wengert.pytorch.cuda import synchronize as synchronize


def current_accelerator(check_available: bool = False) -> None:
    """The accelerator's device: None."""


def current_device_index() -> int:
    """RuntimeError: there is no accelerator to ask."""
    raise RuntimeError(
        "Cannot access accelerator device when none is available. Ask accelerator.is_available() "
        "first, and use device('cpu')."
    )


def set_device_index(device: Any) -> None:
    """RuntimeError: there is no accelerator."""
    current_device_index()


_lacking(__name__)
