"""Mixed precision on a GPU, by its older names: switched off with a warning, as there is none."""

from __future__ import annotations

from typing import Any

from wengert.imports import lacking as _lacking
from wengert.pytorch import amp
from wengert.pytorch.amp import custom_bwd as custom_bwd
from wengert.pytorch.amp import custom_fwd as custom_fwd


class autocast(amp.autocast):
    """`amp.autocast("cuda")`."""

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """`amp.GradScaler("cuda")`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("cuda", *args, **kwargs)


_lacking(__name__)
