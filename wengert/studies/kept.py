"""The file of a study: which rows are finished and what they gave, and whose they are.

The file is one that `wengert.load` reads: {"study": what identifies it, "done": for each row
whether it is finished, "results": all rows of the results}. It is replaced as a whole, or not at
all.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import os
import pickle
import time
from pathlib import Path
from typing import Any

import numpy as np

from wengert.errors import StudyError
from wengert.history.location import warn
from wengert.serialization import load, save
from wengert.studies.rows import Rows, checked, span
from wengert.tree import LEAF, flatten

SHARE = 0.05
"""At most this share of the time goes to writing, once the study is under way."""


class Kept:
    """The finished rows of a study, in memory and, if a path is given, in a file."""

    def __init__(self, count: int, path: Any, study: dict[str, Any] | None) -> None:
        self.path = None if path is None else Path(os.fspath(path))
        self.study = study
        self.done = np.zeros(count, bool)
        self.results: Rows | None = None
        self._since, self._took = 0.0, 0.0
        self._written = -1
        if self.path is not None:
            if self.path.exists():
                self._read()
            self._save()  # now, if it cannot be written: nothing is lost yet

    def add(self, rows: Any, results: Rows, function: Any) -> None:
        """Take over finished rows."""
        checked(results, self.results, function)
        if self.results is None:
            self.results = results.empty(len(self.done))
        at = span(rows)
        for all_of_it, part in zip(self.results.arrays, results.arrays, strict=True):
            all_of_it[at] = part
        self.done[at] = True
        if time.monotonic() - self._since > self._took / SHARE:
            self.write()

    def write(self) -> None:
        """Bring the file up to date; a warning where that cannot be done, for results are more."""
        if self.path is None or self._written == self.done.sum():
            return
        try:
            self._save()
        except OSError as error:
            warn(
                f"{self.path} could not be brought up to date ({error.strerror or error}). It "
                f"holds {self._written} finished rows, and the study goes on: make room, and it is "
                "tried again after the next rows.",
                RuntimeWarning,
            )

    def _save(self) -> None:
        start = time.monotonic()
        value = None if self.results is None else self.results.value()
        save({"study": self.study, "done": self.done, "results": value}, self.path)
        self._since = time.monotonic()
        self._took = self._since - start
        self._written = int(self.done.sum())

    def _read(self) -> None:
        assert self.study is not None
        content = load(self.path, weights_only=False)
        if not (isinstance(content, dict) and content.keys() == {"study", "done", "results"}):
            raise StudyError(
                f"{self.path} is not the file of a study: name another one, or delete it."
            )
        theirs = content["study"]
        if theirs != self.study:
            differing = [key for key in self.study if theirs.get(key) != self.study[key]]
            raise StudyError(
                f"{self.path} holds another study. There: {_told(theirs)}. Here: "
                f"{_told(self.study)}. They differ in {', '.join(differing)}. Name another file, "
                "or delete this one to begin anew."
            )
        self.done = content["done"]
        if self.done.any():
            self.results = Rows.of(content["results"])


def _told(study: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in study.items())


# ---- whose results they are ---------------------------------------------------------------------


def identity(function: Any, parameters: Rows) -> dict[str, Any]:
    """What must be the same where a study goes on: function, its source and data, parameters."""
    f = getattr(function, "function", function)
    inner = f.func if isinstance(f, functools.partial) else f
    where = getattr(inner, "__module__", type(inner).__module__)
    return {
        "function": f"{where}.{getattr(inner, '__qualname__', type(inner).__qualname__)}",
        "code": _digest(f),
        "rows": len(parameters),
        "parameters": _digest([repr(parameters.tree), *parameters.arrays]),
    }


def _digest(value: Any) -> str:
    told = hashlib.blake2b(digest_size=6)
    _tell(value, told)
    return told.hexdigest()


def _tell(value: Any, told: Any) -> None:
    """Feed a hash with what a value is, whatever the process that it lives in."""
    leaves, tree = flatten(value)
    if tree is not LEAF:
        told.update(repr(tree).encode())
        for leaf in leaves:
            _tell(leaf, told)
    elif hasattr(value, "state_dict"):
        told.update(type(value).__qualname__.encode())
        _tell(dict(value.state_dict()), told)
    elif isinstance(value, functools.partial):
        _tell([value.func, value.args, value.keywords], told)
    elif hasattr(value, "__code__"):
        told.update(_text(value))
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        _tell([value.__defaults__, value.__kwdefaults__, cells], told)
    elif hasattr(value, "shape"):
        array = np.ascontiguousarray(getattr(value, "_array", value))
        told.update(f"{array.dtype} {array.shape}".encode())
        told.update(array.tobytes())
    else:
        told.update(_packed(value))


def _text(function: Any) -> bytes:
    """The source; of functions without a text of their own, what it was compiled to."""
    code = function.__code__
    if code.co_name != "<lambda>":  # whose text is the line that it stands in
        with contextlib.suppress(OSError, TypeError):
            return inspect.getsource(function).encode()
    constants = [c for c in code.co_consts if not hasattr(c, "co_code")]
    return code.co_code + repr((constants, code.co_names)).encode()


def _packed(value: Any) -> bytes:
    try:
        return pickle.dumps(value)
    except Exception:  # what cannot be pickled is known by its class
        return type(value).__qualname__.encode()
