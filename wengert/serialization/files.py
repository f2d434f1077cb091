"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Write a file whole or not at all: beside its place first, and moved there when complete."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder: name a file in it", str(path))
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(path.parent))
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        try:
            part.replace(path)
        except OSError as error:
            raise OSError(f"{path} cannot be written: {error.strerror}") from None
    except BaseException:
        part.unlink(missing_ok=True)
        raise
