"""Without PyTorch the tests here are skipped; what they share cannot be imported."""

import importlib.util
from pathlib import Path

_NEEDED = ("torch", "expecttest")  # the table of operators imports the second
_SHARED = [p.name for p in Path(__file__).parent.glob("*.py") if not p.match("test_*")]
collect_ignore = [] if all(map(importlib.util.find_spec, _NEEDED)) else _SHARED
