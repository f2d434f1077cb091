"""Collectives as functions with a derivative: what a rank gets, as a function of what it brings.

All eight are one primitive, as they are one description: its transpose is the collective with its
arrow turned round. So derivatives of every order exist, and a compiled program has one statement
for each. The program names a group by its key and runs on the ranks that have one of so many.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.autograd import primitive
from wengert.distributed import groups
from wengert.distributed.collectives import COLLECTIVES
from wengert.errors import DistError


def _result(x: Any, collective: str, root: int, group: int, size: int) -> Any:
    return np.zeros(COLLECTIVES[collective].result_shape(x.shape, size), x.dtype)


@primitive.linear(
    lambda g, collective, root, group, size: exchange(
        g, COLLECTIVES[collective].transpose.name, root, group, size
    ),
    None,
    opaque=True,
    result=_result,
)
def exchange(x: Any, collective: str, root: int, group: int, size: int) -> Any:
    """What this rank gets in a collective of a group of `size` ranks to which it brings `x`.

    Blocks are summed where they are combined. A rank that gets nothing returns zeros.
    """
    here = groups.by_key(group, collective)
    if here.size() != size:
        raise DistError(
            f"rank {here.rank()}: {collective} is part of a program made for {size} ranks, and its "
            f"group has {here.size()}. Compile the function again."
        )
    send = np.asarray(x, order="C")
    receive = _result(x, collective, root, group, size)
    here.run(COLLECTIVES[collective], send, receive, root=root).wait()
    return receive
