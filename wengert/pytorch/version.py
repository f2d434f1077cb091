"""Versions, as programs look them up in `torch.version`."""

__version__ = "0.1.0"
cuda: str | None = None
rocm: str | None = None
hip: str | None = None
xpu: str | None = None
git_version: str | None = None
debug = False
