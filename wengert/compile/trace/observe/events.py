"""What an observer is told: reads, writes, and code that ran unobserved."""

from __future__ import annotations

from dataclasses import dataclass
from types import CodeType
from typing import Any


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


MISSING = _Missing()
"""What is found where there is nothing."""


@dataclass(frozen=True, slots=True)
class Read:
    """A value that user's code read from an object outside: `owner`, at `key`.

    The kinds, and how to read the same again:

        global      owner[key], or that of builtins; a module's attributes are its globals
        cell        owner.cell_contents
        attribute   getattr(owner, key); the owner may be a `super` object
        own         vars(owner).get(key): what the object itself has, before its class is asked
        item        owner[key]
        has         key in owner, for a container; hasattr(owner, key), for anything else
        length      len(owner)
        contents    contents(owner): all that a container holds, because it was gone through
        code        owner.__code__, of a function that was called
        default     of the function's parameter `key`
        class       type(owner), because the program asked for it
        call        not again: `key`, a callable of a library, was given the owner, which is no
                    container, and may have read (or changed) anything of it; `value` is MISSING
    """

    kind: str
    owner: Any
    key: Any
    value: Any


@dataclass(frozen=True, slots=True)
class Write:
    """What user's code wrote into an object outside, and what had been there.

    Of the kinds above it is global, cell, attribute or item (`after` is MISSING if deleted), or

        call        the container's method `key` was called with `after`, positional and named
                    arguments, and changed it; `before` is what it contained
        in place    owner `key`= after, as in `owner += after`

    For these two `within` tells what the program has done in the call.
    """

    kind: str
    owner: Any
    key: Any
    before: Any
    after: Any
    within: Any = None  # a `given.Within`


@dataclass(frozen=True, slots=True)
class Unobserved:
    """A user's function that ran as it is, called by C or by a library; or another thread's start,
    or what `Calls.acts` tells of.

    `caller` is the user's code that it was called from, and `at` where in it.
    """

    name: str
    caller: CodeType | None
    at: int


@dataclass(frozen=True, slots=True)
class Origin:
    """How an object outside was reached: by a step from another one, or by name."""

    value: Any
    parent: Any
    step: str
