"""A thread for transfers that nobody waits for yet, and that go on only when they are asked for."""

from __future__ import annotations

import atexit
import threading
import time
from collections import deque

from wengert.distributed.transport import Pending
from wengert.errors import DistBackendError
from wengert.history import forks

PAUSE = 1e-3
"""The longest pause before a transfer is asked for again, in seconds."""


class Driver:
    """A thread that asks after transfers that nobody waits for yet, so that they go on."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self.changed = threading.Condition()
        self.transfers: deque[Pending] = deque()
        self.thread: threading.Thread | None = None
        self.over = False

    def take(self, transfer: Pending) -> None:
        with self.changed:
            self.transfers.append(transfer)
            if self.thread is None:
                self.thread = threading.Thread(target=self.run, name="transfers", daemon=True)
                self.thread.start()
            self.changed.notify()

    def run(self) -> None:
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.transfers or self.over)
                if self.over:
                    return
                first = self.transfers[0]
            try:
                done = first.poll()  # MPI moves all that is under way
            except DistBackendError:
                done = True  # whoever waits is told
            if done:
                self.transfers.popleft()
            else:
                time.sleep(PAUSE / 10)

    def stop(self) -> None:
        """Make no more calls: MPI is about to end."""
        with self.changed:
            self.over = True
            self.changed.notify()
        if self.thread is not None:
            self.thread.join()
        self.begin()


DRIVER = Driver()
atexit.register(DRIVER.stop)
forks.in_child(DRIVER.begin)
