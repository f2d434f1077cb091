"""Memory that was freed stays with the process, for the next arrays."""

from __future__ import annotations

import numpy as np


def keep_what_is_freed() -> None:
    """Let glibc keep up to 64 MB of freed memory, instead of giving it back at once.

    A step of training frees its arrays, and the next one takes as many again. Memory that went back
    to the system comes as new pages, each of which it has to find and clear: a sixth of the time of
    a step that works on 30 MB. glibc learns from the first large array that is freed to expect
    more (mallopt(3), M_MMAP_THRESHOLD), and this is the largest that it learns from. Nothing
    is written to it, so it costs no memory itself. Settings in the environment (MALLOC_...)
    prevail, and other C libraries are as they were.
    """
    np.empty(31 << 20, np.uint8)
