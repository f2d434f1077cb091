"""An observer that keeps what it is told."""

from __future__ import annotations

from wengert.compile.trace.observe import Observer
from wengert.compile.trace.observe.users import is_users_code
from wengert.history.uncollected import uncollected


class Recorder(Observer):
    """Keeps what it is told, as (kind, owner in words, key, value)."""

    def __init__(self, *files: str) -> None:
        super().__init__()
        self.files = files
        self.reads: list = []
        self.writes: list = []
        self.unobserved: list = []

    def on_read(self, read):
        self.reads.append(read)
        return read.value

    def on_write(self, write):
        self.writes.append(write)

    def on_unobserved(self, ran):
        self.unobserved.append(ran)

    def is_users(self, code, namespace):
        return code.co_filename in self.files or is_users_code(code, namespace)

    def read(self, kind, key=None):
        """The owner and the value of the one read of a kind and a key."""
        ((owner, value),) = [
            (r.owner, r.value) for r in self.reads if r.kind == kind and r.key == key
        ]
        return owner, value

    def wrote(self, kind, key=None):
        ((owner, before, after),) = [
            (w.owner, w.before, w.after) for w in self.writes if w.kind == kind and w.key == key
        ]
        return owner, before, after


def observe(function, *args, **named):
    observer = Recorder()
    with uncollected():  # what the collector calls comes when it will
        observer.run(function, *args, **named)
    return observer
