"""The machines that SLURM has given to a job, as the variables of its batch script say."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping

PER_NODE = ("SLURM_TASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE")
"""How many processes each machine is for: tasks, where the job asks for a number of them."""


def hosts(environment: Mapping[str, str]) -> str | None:
    """The machines of a job and their places, as `--hosts` takes them; None outside of one.

    >>> hosts({"SLURM_JOB_NODELIST": "gpu[08-10],login", "SLURM_TASKS_PER_NODE": "16(x3),4"})
    'gpu08:16,gpu09:16,gpu10:16,login:4'
    """
    listed = environment.get("SLURM_JOB_NODELIST")
    counts = next((environment[name] for name in PER_NODE if name in environment), None)
    if not listed or counts is None:
        return None
    return ",".join(f"{n}:{c}" for n, c in zip(nodes(listed), places(counts), strict=True))


def nodes(listed: str) -> list[str]:
    """The names that SLURM writes in brackets.

    >>> nodes("a[1-2,7]b[01-02],c")
    ['a1b01', 'a1b02', 'a2b01', 'a2b02', 'a7b01', 'a7b02', 'c']
    """
    names = []
    for name in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", listed):
        pieces = re.split(r"\[([^\]]*)\]", name)  # every second one stood in brackets
        choices = [_numbers(p) if k % 2 else [p] for k, p in enumerate(pieces)]
        names += ["".join(chosen) for chosen in itertools.product(*choices)]
    return names


def _numbers(ranges: str) -> list[str]:
    numbers = []
    for text in ranges.split(","):
        first, _, last = text.partition("-")
        numbers += [f"{n:0{len(first)}d}" for n in range(int(first), int(last or first) + 1)]
    return numbers


def places(counts: str) -> list[int]:
    """Numbers of which SLURM writes equal ones once.

    >>> places("16(x2),8")
    [16, 16, 8]
    """
    numbers = []
    for count, times in re.findall(r"(\d+)(?:\(x(\d+)\))?", counts):
        numbers += [int(count)] * int(times or 1)
    return numbers
