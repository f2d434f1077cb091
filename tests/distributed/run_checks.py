"""A program for mpirun or Ray: the checks named on the command line, or all, one by one.

mpirun -n 3 python -m tests.distributed.run_checks NAME ...
"""

from __future__ import annotations

import sys

from tests.distributed import training  # noqa: F401  (more checks)
from tests.distributed.checks import CHECKS
from wengert import distributed as dist


def main(names: list[str]) -> None:
    dist.init_process_group(timeout=20)
    for name in names or CHECKS:
        CHECKS[name]()
        if dist.get_rank() == 0:
            print("passed", name, flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1:])
