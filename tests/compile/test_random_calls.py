"""Random calls of all functions with NumPy's and PyTorch's names, eagerly and compiled.

What they give is of the same class, dtype and shape, with the same numbers, or the same error; or
compiled functions refuse it. Three hundred are drawn: of those beyond, one in some hundreds still
differs. WENGERT_FUZZ_CALLS asks for another number, WENGERT_FUZZ_SEED says where seeds begin.
"""

from __future__ import annotations

import os

import pytest

pytest.importorskip("llvmlite")

from tests.compile.chunks import chunks
from tests.compile.random_calls import draw, trouble

FIRST = int(os.environ.get("WENGERT_FUZZ_SEED", "0"))
COUNT = int(os.environ.get("WENGERT_FUZZ_CALLS", "300"))


@pytest.mark.parametrize("seeds", chunks(FIRST, COUNT, COUNT, 50))
def test_a_compiled_call_gives_what_the_call_gives(seeds: range) -> None:
    calls = map(draw, seeds)
    found = [f"{call}\n  {words}" for call in calls if (words := trouble(call))]
    if found:
        pytest.fail("\n\n".join(found), pytrace=False)
