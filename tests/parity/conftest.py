"""Without PyTorch the tests here are skipped; what they share cannot be imported."""

import importlib.util
from pathlib import Path

_SHARED = [p.name for p in Path(__file__).parent.glob("*.py") if not p.match("test_*")]
collect_ignore = [] if importlib.util.find_spec("torch") else _SHARED
