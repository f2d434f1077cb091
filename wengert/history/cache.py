"""Code kept on disk, so that the next process need not make it again.

One file per code, named by a hash of what it was made of, in one of sixteen drawers by its first
digit. The folder is the one named by the environment variable WENGERT_CACHE (empty: keep nothing),
else in the user's cache folder. A cache never stands in the way: files that cannot be read, or hold
something else, count as missing, and nothing happens where nothing can be written. What is kept is
read in the first operation of each process, or written, which does without `pathlib` and
`tempfile`: they take longer to import.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LIMIT = 512 * 2**20
"""Bytes in the folder; beyond it the files that were not used for longest go, drawer by drawer."""

_HEAD = b"wengert object 2\n"
_SUFFIX = ".code"
_DAY = 24 * 3600.0
_PATIENCE = 60.0  # seconds, for a process that is stopped while it has its turn
_SELDOM = 64
"""One write in so many looks what there is too much of: asking for the sizes of a hundred thousand
files takes seconds, of which nobody's first call should have more than a hundredth."""


def folder() -> Path | None:
    """Where files are kept; None if nowhere."""
    from pathlib import Path

    place = _folder()
    return Path(place) if place else None


def _folder() -> str:
    chosen = os.environ.get("WENGERT_CACHE")
    if chosen is not None:
        return os.path.expanduser(chosen)
    home = os.path.expanduser("~")
    if not os.path.isabs(home):  # a user without a home
        return ""
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
        return os.path.join(local, "wengert", "Cache")
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Caches", "wengert")
    # A relative XDG path is to be ignored, says the XDG base directory specification.
    base = os.environ.get("XDG_CACHE_HOME", "")
    return os.path.join(base if os.path.isabs(base) else os.path.join(home, ".cache"), "wengert")


def read(key: str) -> bytes | None:
    """What was written under this key, if it is whole."""
    place = _folder()
    if not place:
        return None
    path = os.path.join(place, key[0], key + _SUFFIX)
    try:
        with open(path, "rb") as file:
            content = file.read()
        late = time.time() - os.stat(path).st_mtime > _DAY
    except OSError:
        return None
    if late:
        with contextlib.suppress(OSError):  # of a disk that is read-only nothing goes
            os.utime(path)  # used lately: it stays when others go
    start = len(_HEAD) + 16
    data = content[start:]
    return data if content[:start] == _HEAD + digest(data) else None


def write(key: str, data: bytes) -> None:
    """Keep `data` under this key: the whole file appears at once, or none."""
    place = _folder()
    if not place:
        return
    drawer = os.path.join(place, key[0])
    path = os.path.join(drawer, key + _SUFFIX)
    part = f"{path}.{os.urandom(8).hex()}.part"
    try:
        os.makedirs(place, mode=0o700, exist_ok=True)
        os.makedirs(drawer, mode=0o700, exist_ok=True)
        with open(part, "xb", opener=_own) as file:
            file.write(_HEAD + digest(data) + data)
        os.replace(part, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(part)
        return
    if not os.urandom(1)[0] % _SELDOM:
        prune(drawer, LIMIT // 16)


def _own(path: str, flags: int) -> int:
    """A file that only this user reads."""
    return os.open(path, flags, 0o600)


@contextlib.contextmanager
def turn(key: str) -> Iterator[None]:
    """Other processes that come to this with the same key meanwhile wait until it is left.

    A lock of POSIX on one byte of a file, which the key chooses: it ends with its process, however
    that ends, a forked process has none of it, and most network file systems know it. Where there
    are no locks, and after a minute, everybody goes on.
    """
    place = _folder()
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError, ImportError):
            import fcntl

            os.makedirs(place, mode=0o700, exist_ok=True)
            file = stack.enter_context(open(os.path.join(place, "turns"), "ab"))
            end = time.monotonic() + _PATIENCE
            while not _locked(fcntl, file, int(key[:15], 16)) and time.monotonic() < end:
                time.sleep(0.005)
        yield


def _locked(fcntl: Any, file: Any, byte: int) -> bool:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
    except (BlockingIOError, PermissionError):  # POSIX allows either, where another has it
        return False
    return True


def prune(drawer: str | Path, limit: int) -> None:
    """Remove the files used longest ago until `limit` bytes remain, and what crashes left."""
    now = time.time()
    total = 0
    try:
        files = [file for file in os.scandir(drawer) if file.name.endswith((_SUFFIX, ".part"))]
        uses = [(file.stat().st_mtime, file.stat().st_size, file.path) for file in files]
    except OSError:  # another process prunes as well
        return
    for used, size, path in sorted(uses, reverse=True):
        left_behind = path.endswith(".part") and now - used > _DAY
        total += size
        if left_behind or total > limit:
            with contextlib.suppress(OSError):
                os.unlink(path)


def digest(data: bytes, size: int = 16) -> bytes:
    """What stands for these bytes: other bytes have another digest."""
    import hashlib  # where code is kept: the package is imported sooner without it

    return hashlib.blake2b(data, digest_size=size).digest()
