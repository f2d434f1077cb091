"""Loops of a known number of steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.compile.llvm.machine.values import I64


def fold(builder: Any, count: int, carried: list[Any], body: Callable[..., list[Any]]) -> list[Any]:
    """Run `carried = body(index, carried)` `count` times; straight code where that is once."""
    if count <= 0:
        return carried
    if count == 1:
        return body(I64(0), carried)
    before = builder.block
    inside, after = builder.append_basic_block("loop"), builder.append_basic_block("done")
    builder.branch(inside)
    builder.position_at_end(inside)
    index = builder.phi(I64)
    phis = [builder.phi(v.type) for v in carried]
    index.add_incoming(I64(0), before)
    for phi, value in zip(phis, carried, strict=True):
        phi.add_incoming(value, before)
    news = body(index, list(phis))
    following = builder.add(index, I64(1), flags=("nuw", "nsw"))
    for phi, value in zip(phis, news, strict=True):
        phi.add_incoming(value, builder.block)
    index.add_incoming(following, builder.block)
    builder.cbranch(builder.icmp_unsigned("<", following, I64(count)), inside, after)
    builder.position_at_end(after)
    return news


def repeat(builder: Any, count: int, body: Callable[[Any], None]) -> None:
    """Run `body(index)` `count` times."""

    def once(index: Any, _: list[Any]) -> list[Any]:
        body(index)
        return []

    fold(builder, count, [], once)
