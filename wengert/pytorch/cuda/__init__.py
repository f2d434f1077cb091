"""What programs ask `torch.cuda` before they choose a device: there is no GPU here."""

from __future__ import annotations

from typing import Any, NoReturn

from wengert.imports import lacking as _lacking
from wengert.pytorch.cuda import amp as amp


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


def is_bf16_supported() -> bool:
    """Whether a GPU computes with bfloat16: there is none."""
    return False


def get_device_capability(device: Any = None) -> NoReturn:
    """RuntimeError: there is no GPU to ask."""
    _none()


get_device_name = get_device_properties = current_device = set_device = get_device_capability


def _none() -> NoReturn:
    raise RuntimeError(
        "No CUDA GPUs are available: wengert's tensors are on the CPU. Ask cuda.is_available() "
        "first, and use device('cpu')."
    )


def memory_allocated(device: Any = None) -> int:
    """Bytes of GPU memory in use: 0."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated


def reset_peak_memory_stats(device: Any = None) -> None:
    """Forget how much GPU memory was used at most, which is none."""


def get_rng_state_all() -> list[Any]:
    """The states of all GPUs' generators, of which there are none."""
    return []


_lacking(__name__)
