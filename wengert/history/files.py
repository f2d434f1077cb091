"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import glob
import os
import platform
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


def ending(path: Path, what: str, endings: Iterable[str], cure: str = "") -> str:
    """How the name of the file ends, which says what to write: ".svg".

    Errors: ValueError for an ending that is none of these.
    """
    given = path.suffix.lower()
    if given in (known := list(endings)):
        return given
    raise ValueError(
        f"{what} is saved as {' or '.join(known)}, by the end of the file's name, but "
        f"{path.name!r} was given{cure}"
    )


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Write a file whole or not at all: beside its place first, and moved there when complete.

    A link stays a link to what is written, a file keeps its mode, and what is no file, a device or
    a pipe, is written to as it is.
    """
    path = path.resolve()
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder: name a file in it", str(path))
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(path.parent))
    if path.exists() and not path.is_file():
        yield path
        return
    part = _part(path)
    try:
        yield part
        with part.open("rb") as file:
            os.fsync(file.fileno())
        try:
            part.replace(path)
        except OSError as error:
            raise OSError(f"{path} cannot be written: {error.strerror or error}") from None
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _part(path: Path) -> Path:
    """A new file beside the path, after those were removed whose programs were killed."""
    begin = f".{path.name}.{platform.node()}."
    for old in path.parent.glob(f"{glob.escape(begin)}*.part"):
        if not _runs(old.name.removeprefix(begin).partition(".")[0]):
            old.unlink(missing_ok=True)
    handle, name = tempfile.mkstemp(".part", f"{begin}{os.getpid()}.", path.parent)
    os.close(handle)
    part = Path(name)
    part.chmod(path.stat().st_mode & 0o7777 if path.exists() else 0o666 & ~_umask())
    return part


def _runs(process: str) -> bool:
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except (OSError, ValueError, OverflowError):  # another user's, or no number
        pass
    return True


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
