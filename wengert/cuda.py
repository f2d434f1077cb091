"""What programs ask about GPUs before they choose a device: there is none here."""

from __future__ import annotations


def is_available() -> bool:
    """Whether tensors can be made on a GPU: no."""
    return False


def device_count() -> int:
    """How many GPUs tensors can be made on: none."""
    return 0


def is_initialized() -> bool:
    """Whether GPU work has begun: no."""
    return False


def manual_seed(seed: int) -> None:
    """Seed the generators of all GPUs, of which there are none."""


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all GPUs, of which there are none."""


def synchronize(device: object = None) -> None:
    """Wait for the GPUs' work, of which there is none."""


def empty_cache() -> None:
    """Give back unused GPU memory, of which there is none."""
