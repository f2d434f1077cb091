"""Random programs of collectives, and what becomes of them when one rank does something else.

A program is a list of steps that all ranks carry out. One of the ranks may deviate: it leaves a
step out, brings another shape, ends, or the like (`DEVIATIONS`). Whatever it does, the run ends,
and well only if every rank has got what the program says, worked out here in NumPy. Otherwise some
rank has an error, and each error names the rank, the operation and its line.
"""

from __future__ import annotations

import dataclasses
import re
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import wengert as wg
from wengert import distributed as dist
from wengert.distributed import functional
from wengert.distributed.collectives import ReduceOp
from wengert.nn.parallel import DistributedDataParallel

OPS = {ReduceOp.SUM: np.sum, ReduceOp.MAX: np.max, ReduceOp.AVG: np.mean, ReduceOp.PRODUCT: np.prod}
SHAPES = ((3,), (2, 2), (), (1,))
DTYPES = (np.float32, np.float64)
TIMEOUT = 0.3
"""Seconds that a rank waits for others in a run of which one deviates."""
LIMIT = 60
"""Seconds after which a run is taken to be one that never ends."""


@dataclass(frozen=True)
class Step:
    """What all ranks of a group do; `number` tells steps of a program apart that are alike."""

    kind: str
    number: int = 0
    group: int = 0  # among those of the program: the first one is that of all ranks
    shape: tuple[int, ...] = (3,)
    dtype: Any = np.float32
    op: ReduceOp = ReduceOp.SUM
    root: int = 0  # a rank in the group; of a message its sender
    later: bool = False  # whether other steps may come before the rank waits for this one

    @property
    def call(self) -> tuple[Any, ...]:
        """What the others see of it."""
        kind = "all_reduce" if self.kind in REDUCING else self.kind
        op = ReduceOp.SUM if self.kind in REDUCING else self.op if kind in COMBINING else None
        root = self.root if kind in ROOTED else None
        if kind in OF_OBJECTS:
            return kind, self.group, root
        shape = np.prod(self.shape) if kind == "all_to_all" else self.shape
        return kind, self.group, shape, self.dtype, op, root

    def __str__(self) -> str:
        return (
            f"{self.kind} {self.number} of group {self.group}: {np.dtype(self.dtype)}"
            f"{list(self.shape)} {self.op.name} root {self.root}{' later' * self.later}"
        )


@dataclass(frozen=True)
class Program:
    """Groups of ranks, the first of all of them, and steps; `which` rank does `other` ones."""

    groups: tuple[tuple[int, ...], ...]
    steps: tuple[Step, ...]
    which: int = -1
    other: tuple[Step, ...] = ()
    deviation: str = "none"

    @property
    def size(self) -> int:
        return len(self.groups[0])

    def of(self, rank: int) -> tuple[Step, ...]:
        return self.other if rank == self.which else self.steps

    def __str__(self) -> str:
        lines = [f"groups {self.groups}", *map(str, self.steps)]
        if self.which >= 0:
            lines += [f"but rank {self.which} ({self.deviation}):", *map(str, self.other)]
        return "\n  ".join(lines)


# ---- what each step does -------------------------------------------------------------------------

KINDS: dict[str, Callable[[Step, Any, Any], Any]] = {}
MEANINGS: dict[str, Callable[[Step, list[Any], int], Any]] = {}
"""What the rank of a place in the group gets, of all that are brought."""


def brought(step: Step, rank: int) -> Any:
    """Small numbers that tell ranks and steps apart."""
    count = int(np.prod(step.shape))
    block = 1 + (np.arange(count) + 3 * rank + 2 * step.number) % 5
    return block.reshape(step.shape).astype(step.dtype)


def numbers(x: Any) -> list[float]:
    """What is compared, but for rounding: a rank's own shape is its own matter."""
    return np.ravel(x).astype(np.float64).round(4).tolist()


def first(x: Any) -> int:
    """A number that does not depend on the shape: objects may be of any."""
    return int(x.reshape(-1)[0])


def kind(meaning: Callable[[Step, list[Any], int], Any]) -> Callable[[Any], Any]:
    def known(run: Any) -> Any:
        KINDS[run.__name__] = run
        MEANINGS[run.__name__] = meaning
        return run

    return known


def combined(step: Step, blocks: list[Any]) -> Any:
    return OPS[step.op](blocks, axis=0).astype(step.dtype)


def parts(step: Step, block: Any, size: int) -> list[Any]:
    """What a rank brings for each of the ranks."""
    return [block + k for k in range(size)]


def tensors(step: Step, block: Any, size: int) -> list[Any]:
    return [wg.from_numpy(np.array(x)) for x in parts(step, block, size)]


def room(step: Step, size: int) -> list[Any]:
    return [wg.from_numpy(np.zeros(step.shape, step.dtype)) for _ in range(size)]


@kind(lambda step, blocks, at: combined(step, blocks))
def all_reduce(step, x, group):
    work = dist.all_reduce(x, step.op, group, async_op=step.later)
    return work, lambda: x


@kind(lambda step, blocks, at: blocks[step.root])
def broadcast(step, x, group):
    work = dist.broadcast(x, group_src=step.root, group=group, async_op=step.later)
    return work, lambda: x


@kind(lambda step, blocks, at: combined(step, blocks) if at == step.root else blocks[at])
def reduce(step, x, group):
    work = dist.reduce(x, op=step.op, group_dst=step.root, group=group, async_op=step.later)
    return work, lambda: x


@kind(lambda step, blocks, at: np.stack(blocks))
def all_gather(step, x, group):
    got = room(step, group.size())
    work = dist.all_gather(got, x, group, async_op=step.later)
    return work, lambda: wg.stack(got)


@kind(lambda step, blocks, at: np.stack(blocks) if at == step.root else None)
def gather(step, x, group):
    got = room(step, group.size()) if group.rank() == step.root else None
    work = dist.gather(x, got, group_dst=step.root, group=group, async_op=step.later)
    return work, lambda: got and wg.stack(got)


@kind(lambda step, blocks, at: parts(step, blocks[step.root], len(blocks))[at])
def scatter(step, x, group):
    whole = tensors(step, x.numpy(), group.size()) if group.rank() == step.root else None
    got = room(step, 1)[0]
    work = dist.scatter(got, whole, group_src=step.root, group=group, async_op=step.later)
    return work, lambda: got


@kind(lambda step, blocks, at: combined(step, [parts(step, b, len(blocks))[at] for b in blocks]))
def reduce_scatter(step, x, group):
    got = room(step, 1)[0]
    whole = tensors(step, x.numpy(), group.size())
    work = dist.reduce_scatter(got, whole, step.op, group, async_op=step.later)
    return work, lambda: got


@kind(lambda step, blocks, at: np.stack([parts(step, b, len(blocks))[at] for b in blocks]))
def all_to_all(step, x, group):
    got = room(step, group.size())
    work = dist.all_to_all(got, tensors(step, x.numpy(), group.size()), group, async_op=step.later)
    return work, lambda: wg.stack(got)


@kind(lambda step, blocks, at: len(blocks) * sum(blocks))
def all_reduce_with_gradient(step, x, group):
    """Of the sum over ranks of (sum of x)^2/2."""
    x = x.requires_grad_()
    (functional.all_reduce(x, group=group) ** 2 / 2).sum().backward()
    return None, lambda: x.grad


@kind(lambda step, blocks, at: 2 * sum(blocks))
def compiled_all_reduce(step, x, group):
    twice = wg.compile(lambda x: functional.all_reduce(2 * x, group=group))
    y = twice(x)
    return None, lambda: y


class Weighted(wg.nn.Module):
    """The sum of what it is given, by weights whose gradient that is."""

    def __init__(self, x):
        super().__init__()
        self.weight = wg.nn.Parameter(wg.ones_like(x))

    def forward(self, x):
        return (self.weight * x).sum()


@kind(lambda step, blocks, at: np.mean(blocks, axis=0, dtype=step.dtype))
def averaged_gradient(step, x, group):
    net = DistributedDataParallel(Weighted(x), process_group=group)
    for _ in range(2):
        net.zero_grad()
        net(x).backward()
    return None, lambda: net.module.weight.grad


@kind(lambda step, blocks, at: blocks[step.root] if at != step.root else None)
def message(step, x, group):
    """From the root to the others."""
    others = [k for k in range(group.size()) if k != step.root]
    if group.rank() == step.root:
        for k in others:
            dist.send(x, group=group, group_dst=k)
        return None, lambda: None
    got = room(step, 1)[0]
    work = dist.irecv(got, group=group, group_src=step.root)
    return work, lambda: got


@kind(lambda step, blocks, at: np.array([first(b) for b in blocks]))
def all_gather_object(step, x, group):
    found = [None] * group.size()
    dist.all_gather_object(found, first(x), group)
    return None, lambda: wg.tensor(found)


@kind(lambda step, blocks, at: np.array([first(blocks[step.root])]))
def broadcast_object_list(step, x, group):
    found = [first(x)]
    dist.broadcast_object_list(found, group_src=step.root, group=group)
    return None, lambda: wg.tensor(found)


@kind(lambda step, blocks, at: None)
def barrier(step, x, group):
    return dist.barrier(group, async_op=step.later), lambda: None


COLLECTIVE = tuple(KINDS)
REDUCING = "all_reduce_with_gradient", "compiled_all_reduce"  # which sum by that
COMBINING = "all_reduce", "reduce", "reduce_scatter"
OF_OBJECTS = "all_gather_object", "broadcast_object_list"
ROOTED = "broadcast", "reduce", "gather", "scatter", "message", "broadcast_object_list"


# ---- what a rank may do instead ------------------------------------------------------------------


def left(step: Step, x: Any, group: Any) -> Any:
    dist.destroy_process_group(None if step.group == 0 else group)
    return None, lambda: None


def failed(step: Step, x: Any, group: Any) -> Any:
    raise KeyError("this rank's own")


def exited(step: Step, x: Any, group: Any) -> Any:
    sys.exit()


def slept(step: Step, x: Any, group: Any) -> Any:
    time.sleep(3 * TIMEOUT)
    return None, lambda: None


OWN = {f.__name__: f for f in (left, failed, exited, slept)}


def _exchange(steps: list[Step], k: int, other: int) -> None:
    """Unless the two are the same to the others."""
    if steps[k].call != steps[other].call:
        steps[k], steps[other] = steps[other], steps[k]


def _another(draw: Any, values: Sequence[Any], than: Any) -> Any:
    return draw.choice([v for v in values if v != than])


Deviation = Callable[[Any, Program, list[Step], int], None]
DEVIATIONS: dict[str, Deviation] = {
    "leaves a step out": lambda draw, p, s, k: s.pop(k) and None,
    "does a step twice": lambda draw, p, s, k: s.insert(k, s[k]),
    "does two in another order": lambda draw, p, s, k: _exchange(s, k, max(k - 1, 0)),
    "ends early": lambda draw, p, s, k: s.__delitem__(slice(k, None)),
}


def _changes(name: str, choices: Callable[[Any, Program, Step], Any]) -> None:
    def change(draw: Any, p: Program, steps: list[Step], k: int) -> None:
        steps[k] = dataclasses.replace(steps[k], **{name: choices(draw, p, steps[k])})

    DEVIATIONS[f"has another {name}"] = change


_changes("kind", lambda draw, p, s: _another(draw, COLLECTIVE, s.kind))
_changes("shape", lambda draw, p, s: _another(draw, SHAPES, s.shape))
_changes("dtype", lambda draw, p, s: _another(draw, DTYPES, s.dtype))
_changes("op", lambda draw, p, s: _another(draw, tuple(OPS), s.op))
_changes("root", lambda draw, p, s: draw.randrange(len(p.groups[s.group])))
_changes("group", lambda draw, p, s: draw.randrange(len(p.groups)))
for _own in OWN:
    DEVIATIONS[f"has {_own}"] = lambda draw, p, s, k, own=_own: s.insert(
        k, dataclasses.replace(s[k], kind=own)
    )


# ---- drawing -------------------------------------------------------------------------------------


def draw_program(draw: Any) -> Program:
    size = draw.choice([2, 2, 3, 4])
    everybody = tuple(range(size))
    groups = [everybody]
    for _ in range(draw.randrange(3)):
        groups.append(tuple(sorted(draw.sample(everybody, draw.randint(1, size)))))
    kinds = draw.sample(COLLECTIVE, 3)  # few: what is mixed up are steps that are alike
    shapes = draw.sample(SHAPES, 2)
    steps = []
    for number in range(draw.randint(2, 7)):
        group = draw.choice([0, draw.randrange(len(groups))])
        steps.append(
            Step(
                draw.choice(kinds),
                number,
                group,
                draw.choice(shapes),
                draw.choice(DTYPES),
                draw.choice(tuple(OPS)),
                draw.randrange(len(groups[group])),
                draw.random() < 0.3,
            )
        )
    return Program(tuple(groups), tuple(steps))


def deviating(draw: Any, program: Program) -> Program:
    name = draw.choice(list(DEVIATIONS))
    steps, which = list(program.steps), draw.randrange(program.size)
    DEVIATIONS[name](draw, program, steps, draw.randrange(len(steps)))
    return dataclasses.replace(program, which=which, other=tuple(steps), deviation=name)


# ---- running -------------------------------------------------------------------------------------


def carried_out(program: Program, rank: int, results: dict[int, Any]) -> None:
    """What one rank does; its results by the numbers of the steps."""
    groups = [dist.GroupMember.WORLD, *[dist.new_group(g) for g in program.groups[1:]]]
    waits: list[Any] = []

    def end() -> None:
        for step, work, value in waits:
            if work is not None:
                work.wait()
            got = value()
            results[step.number] = None if got is None else numbers(got.detach().numpy())
        waits.clear()

    for step in program.of(rank):
        ranks = program.groups[step.group]
        if rank not in ranks:
            continue
        x = wg.from_numpy(brought(step, ranks.index(rank)))
        run = OWN.get(step.kind) or KINDS[step.kind]
        waits.append((step, *run(step, x, groups[step.group])))
        if not step.later:
            end()
    end()


def expected(program: Program, rank: int) -> dict[int, Any]:
    found = {}
    for step in program.steps:
        ranks = program.groups[step.group]
        if rank in ranks:
            blocks = [brought(step, k) for k in range(len(ranks))]
            got = MEANINGS[step.kind](step, blocks, ranks.index(rank))
            found[step.number] = None if got is None else numbers(got)
    return found


def run(program: Program, timeout: float) -> tuple[list[dict[int, Any]], dict[int, BaseException]]:
    """Each rank's results, and the errors of those that had one; AssertionError for no end."""
    results: list[dict[int, Any]] = [{} for _ in range(program.size)]
    errors: dict[int, BaseException] = {}

    def work() -> None:
        rank = dist.get_rank()
        dist.GroupMember.WORLD.timeout = timeout
        try:
            carried_out(program, rank, results[rank])
        except BaseException as error:
            errors[rank] = error
            raise

    def all_of_them() -> None:
        try:
            dist.run_threads(work, program.size, timeout=LIMIT)
        except BaseException as error:
            errors.setdefault(-1, error)

    thread = threading.Thread(target=all_of_them, daemon=True)
    thread.start()
    thread.join(LIMIT)
    assert not thread.is_alive(), f"it does not end; so far {errors}"
    if first := errors.pop(-1, None):
        errors = errors or {_named(first): first}  # it came when that rank left
    return results, errors


def _named(error: BaseException) -> int:
    """The rank that `run_threads` has said an error is of."""
    return int(re.search(r"\d+", error.__notes__[-1])[0])


def check(program: Program) -> str:
    """See that a program's run ends as it should; what became of it."""
    results, errors = run(program, 30 if program.which < 0 else TIMEOUT)
    if not errors:
        for rank, found in enumerate(results):
            wanted = expected(program, rank)
            if rank == program.which:  # what it does alone concerns nobody else
                alone = {s.number for s in program.steps if len(program.groups[s.group]) == 1}
                found, wanted = ({n: d[n] for n in d.keys() - alone} for d in (found, wanted))
            assert found == wanted, f"rank {rank} has {found}, and not {wanted}"
        return "well"
    assert program.which >= 0, errors
    for rank, error in errors.items():
        own = rank == program.which and isinstance(error, (KeyError, SystemExit))
        if not own:
            assert_tells(error, rank)
    return ", ".join(sorted({type(error).__name__ for error in errors.values()}))


FILE = re.escape(__file__.rpartition("/")[2])


def assert_tells(error: BaseException, rank: int) -> None:
    """See that an error names the rank, the operation and its line."""
    text = f"{type(error).__name__}: {error}"
    assert isinstance(error, (dist.DistError, ValueError)), text
    assert re.search(rf"\brank {rank}\b", text), f"the rank, {rank}, is not in: {text}"
    if any(frame.name in KINDS for frame in traceback.extract_tb(error.__traceback__)):
        return  # it is raised in the call itself
    assert re.search(rf"({'|'.join(KINDS)}|send|recv) ", text), f"no operation in: {text}"
    assert re.search(rf'{FILE}", line \d+', text), f"no line in: {text}"
