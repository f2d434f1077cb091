"""Training that goes on when ranks die: the loop around one step, and what it keeps for that.

After every few steps the ranks commit: each remembers the state as it is, and of parts that are
divided among ranks its neighbour's share too. When a rank dies the operations of all others fail.
They agree on that, number themselves anew, go back to the newest commit that all of them have, and
go on. Who derived something from the number of ranks (buckets' divisor, an optimizer's shares, a
sampler's share of the data) watches the group and derives it again.

Where ranks cannot go on by themselves, because MPI cannot or too many were lost, the program ends,
`wengert run` starts it again, and the same loop begins at the newest complete checkpoint.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wengert.distributed import groups, objects
from wengert.distributed.collectives import COLLECTIVES, ReduceOp
from wengert.errors import DistError, RankLostError
from wengert.imports import lacking as _lacking
from wengert.serialization import sharded
from wengert.tensor import Tensor

VALUES = (Tensor, int, float, str, bool, type(None), list, tuple, dict)
"""What a state may have besides parts with a `state_dict`."""


class State:
    """What a training consists of, by name, and `step`, the number of steps that are done.

    Parts are modules, optimizers, schedulers, whatever has `state_dict` and `load_state_dict`; or
    tensors, numbers and strings, which a step may replace. All ranks have the same, but for parts
    with a `shard_state_dict`, of which each rank has a share.

    >>> State(best=0.5).best
    0.5
    """

    def __init__(self, **parts: Any) -> None:
        self.step = 0
        for name, part in parts.items():
            if not (hasattr(part, "load_state_dict") or isinstance(part, VALUES)):
                raise TypeError(
                    f"elastic.State: {name} is of {type(part).__name__}, which has no "
                    "load_state_dict. Give modules, optimizers, tensors, numbers or strings."
                )
            setattr(self, name, part)

    def __getattr__(self, name: str) -> Any:  # here for type checkers: parts are attributes
        raise AttributeError(f"this elastic.State has no part named {name}")


def run(
    step: Callable[[State], Any],
    state: State,
    *,
    steps: int,
    commit_every: int = 1,
    folder: str | os.PathLike[str] | None = None,
    save_every: int = 100,
    begin: Callable[[State], Any] | None = None,
    min_ranks: int | None = None,
) -> State:
    """Call `step(state)` until `state.step` is `steps`, also when ranks die in the meantime.

    All ranks call it. A step that fails because a rank was lost is done again by the others, from
    the newest commit on; there is one after every `commit_every` steps. So a step should depend on
    nothing that an earlier try may have changed but `state`: it takes its data by `state.step`,
    `get_rank()` and `get_world_size()`, which are those of the ranks that are left. With `folder`,
    all ranks write a checkpoint after every `save_every` steps and at the end, and the first step
    follows the newest complete one. `begin(state)` is called before the first step, and again
    whenever ranks were lost: there groups of some ranks are made.

    Errors: DistError if fewer than `min_ranks` are left (what `wengert run --min` says, or 1), or
    if what was divided among ranks is lost and there is no checkpoint; RankLostError where MPI
    cannot go on. A program that ends with these is what `wengert run --max-restarts` starts again.

    >>> import sys
    >>> import wengert as wg
    >>> from wengert import distributed as dist
    >>> def step(state):
    ...     if state.step == 2 and dist.get_rank() == 1 and dist.get_world_size() == 3:
    ...         sys.exit()
    ...     one = wg.ones(())
    ...     dist.all_reduce(one)
    ...     state.ranks = [*state.ranks, int(one)]
    >>> dist.run_threads(lambda: run(step, State(ranks=[]), steps=4).ranks, 3)
    [[3, 3, 2, 2], None, [3, 3, 2, 2]]
    """
    for name, number in (("commit_every", commit_every), ("save_every", save_every)):
        if number < 1:
            raise ValueError(f"elastic.run: {name}={number} is not a number of steps")
    least = int(os.environ.get("WENGERT_MIN_RANKS", 1)) if min_ranks is None else min_ranks
    keeper = Keeper(state, None if folder is None else Path(folder))
    lost = False
    while True:
        try:
            if lost:
                keeper.recover(least)
            else:
                keeper.begin()
            if begin is not None:
                begin(state)
            while state.step < steps:
                step(state)
                state.step += 1
                last = state.step >= steps
                if last or state.step % commit_every == 0:
                    keeper.commit()
                if last or state.step % save_every == 0:
                    keeper.save()
            lost = not groups.agreed(True)
            if not lost:
                return state
        except RankLostError:
            lost = not groups.agreed(False)


class Commit(NamedTuple):
    """A state that ranks can go back to, as one of them keeps it."""

    number: int
    rank: int
    size: int
    alike: dict[str, Any]  # what all ranks have
    shares: dict[int, dict[str, Any]]  # by rank: this one's, and that of the rank before


class Keeper:
    """What a rank keeps, so that training can go on without some of the others.

    The two newest commits: a rank has completed one only when all have completed that before.
    """

    def __init__(self, state: State, folder: Path | None) -> None:
        self.state = state
        self.folder = folder
        self.own = groups.resolve(None, "elastic.run")
        self.commits: list[Commit] = []

    def begin(self) -> None:
        """Follow the newest checkpoint; this is what to go back to until there is a commit."""
        self.load_newest()
        self.commits = [self.copied(0)]
        self.commit()

    # ---- parts of a state ----

    def parts(self, divided: bool) -> Iterator[tuple[str, Any]]:
        for name, part in vars(self.state).items():
            if hasattr(part, "shard_state_dict") == divided:
                yield name, part

    # ---- commits ----

    def copied(self, number: int) -> Commit:
        """The state as it is on this rank."""
        own = self.own
        alike = {name: remembered(part) for name, part in self.parts(divided=False)}
        mine = {name: copy.deepcopy(p.shard_state_dict()) for name, p in self.parts(divided=True)}
        return Commit(number, own.rank(), own.size(), alike, {own.rank(): mine} if mine else {})

    def commit(self) -> None:
        """Remember the state; return when all ranks have completed the commit before this one."""
        own = self.own
        commit = self.copied(self.commits[-1].number + 1)
        if commit.shares and own.size() > 1:
            before = (own.rank() - 1) % own.size()
            commit.shares[before] = objects.shifted(commit.shares[own.rank()], own)
        most, least = self.largest(self.state.step, -self.state.step)
        if most != -least:
            raise DistError(
                f"rank {own.number}: ranks commit after different numbers of steps, from {-least} "
                f"to {most}. Each rank takes as many steps as the others; one with fewer data "
                "takes some of them again."
            )
        self.commits = [self.commits[-1], commit]

    def largest(self, *numbers: int) -> list[int]:
        """The largest of each number over the ranks."""
        array = np.array(numbers, np.int64)
        self.own.run(COLLECTIVES["all_reduce"], array, array, ReduceOp.MAX).wait()
        return array.tolist()

    def recover(self, least: int) -> None:
        """Go on with the ranks that are left, from the newest commit that all of them have."""
        groups.go_on()
        own = self.own
        if own.size() < least:
            raise DistError(
                f"rank {own.number}: {own.size()} rank(s) are left, fewer than the {least} that "
                "are to go on. Start again from the newest checkpoint."
            )
        number = -self.largest(-self.commits[-1].number)[0]
        self.commits = [c for c in self.commits if c.number == number]
        if not self.restore(self.commits[0]):
            self.load_newest(needed=True)
        self.commit()

    def restore(self, commit: Commit) -> bool:
        """Take back what was committed, and new shares; False if shares are lost."""
        own = self.own
        before: list[Any] = [None] * own.size()
        objects.all_gather_object(before, commit.rank, own)
        holders = []
        for rank in range(commit.size):
            having = [r for r in (rank, (rank + 1) % commit.size) if r in before]
            holders += [before.index(having[0])] if having else []
        if len(holders) < commit.size and any(self.parts(divided=True)):
            return False
        for name, part in commit.alike.items():
            recall(self.state, name, part)
        for name, part in self.parts(divided=True):
            part.load_shards(self.shares(commit, name, holders))
        return True

    def shares(self, commit: Commit, name: str, holders: list[int]) -> Iterator[Any]:
        """The shares of a part that there were, one after the other, on all ranks."""
        for rank, holder in enumerate(holders):
            mine = commit.shares[rank][name] if holder == self.own.rank() else None
            given = [mine]
            objects.broadcast_object_list(given, group=self.own, group_src=holder)
            yield given[0]

    # ---- checkpoints ----

    def save(self) -> None:
        if self.folder is None:
            return
        state = {name: state_of(part) for name, part in vars(self.state).items()}
        sharded.save(state, checkpoint_id=self.folder / f"{self.state.step:08d}")

    def load_newest(self, needed: bool = False) -> None:
        newest = None if self.folder is None else sharded.latest(self.folder)
        if newest is None:
            if needed:
                raise DistError(
                    f"rank {self.own.number}: a rank and the one after it were lost together, and "
                    "with them a share of the state. Give elastic.run(folder=...), for checkpoints."
                )
            return
        saved = sharded.read(newest)
        for name, part in vars(self.state).items():
            if hasattr(part, "load_state_dict"):
                part.load_state_dict(saved[name])
            else:
                setattr(self.state, name, saved[name])


def state_of(part: Any) -> Any:
    """What is saved of a part."""
    if hasattr(part, "shard_state_dict"):
        return part.shard_state_dict()
    return part.state_dict() if hasattr(part, "state_dict") else part


class Remembered(NamedTuple):
    """A part of a state as it was. Of a module its gradients too: a step may add to them."""

    value: Any
    gradients: dict[str, Any]


def remembered(part: Any) -> Remembered:
    return Remembered(
        copy.deepcopy(state_of(part)), {name: copy.deepcopy(p.grad) for name, p in gradients(part)}
    )


def recall(state: State, name: str, was: Remembered) -> None:
    """Make a part of a state what it was."""
    part, value = getattr(state, name), copy.deepcopy(was.value)
    if not hasattr(part, "load_state_dict"):
        setattr(state, name, value)
        return
    part.load_state_dict(value)
    for of, p in gradients(part):
        p.grad = copy.deepcopy(was.gradients[of])


def gradients(part: Any) -> Iterator[tuple[str, Tensor]]:
    """The parameters of a module, by name."""
    return part.named_parameters() if hasattr(part, "named_parameters") else iter(())


_lacking(__name__)
