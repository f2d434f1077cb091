"""What the commands say to a user who typed something that cannot be."""

from __future__ import annotations


class UsageError(Exception):
    """The command was not understood; the message says what to type."""
