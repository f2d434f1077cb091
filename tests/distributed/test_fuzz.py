"""Random programs of collectives on threads, and such of which one rank deviates."""

from __future__ import annotations

import os
import random

import pytest

from tests.compile.chunks import chunks
from tests.distributed.random_programs import check, deviating, draw_program

FIRST = int(os.environ.get("WENGERT_FUZZ_SEED", "0"))
ASKED = os.environ.get("WENGERT_FUZZ_PROGRAMS")
COUNT = int(ASKED or 3_000)
USUAL = int(ASKED or 90)
CHUNK = 30


@pytest.mark.parametrize("seeds", chunks(FIRST, COUNT, USUAL, CHUNK))
def test_a_run_ends_with_what_the_program_says_or_with_an_error_that_tells_where(seeds):
    found = []
    for seed in seeds:
        draw = random.Random(seed)
        program = draw_program(draw)
        for one in (program, deviating(draw, program)):
            try:
                check(one)
            except Exception as error:
                found.append(f"seed {seed}: {error}\n  {one}")
    assert not found, "\n\n".join(found)
