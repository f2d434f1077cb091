"""Freed memory stays with the process."""

import os
import platform
import subprocess
import sys

import pytest

PROGRAM = """
import resource
import numpy as np
import wengert

def step():
    arrays = [np.ones(1 << 18) for _ in range(10)]  # 2 MB each

step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="says how glibc's heap behaves")
def test_a_step_that_is_repeated_takes_no_new_pages():
    # Twenty megabytes came as 5,000 new pages, in each step.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MALLOC_")}
    finished = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )
    assert int(finished.stdout) < 500
