"""A program for mpirun: the checks named on the command line, or all of them, one after the other.

mpirun -n 3 python tests/distributed/run_checks.py NAME ...
"""

from __future__ import annotations

import sys

from tests.distributed import training  # noqa: F401  (more checks)
from tests.distributed.checks import CHECKS
from wengert import distributed as dist

dist.init_process_group("mpi", timeout=20)
for name in sys.argv[1:] or CHECKS:
    CHECKS[name]()
    if dist.get_rank() == 0:
        print("passed", name, flush=True)
dist.destroy_process_group()
