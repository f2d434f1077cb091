"""Without PyTorch the tests here are skipped; what they share cannot be imported."""

import importlib.util

collect_ignore = [] if importlib.util.find_spec("torch") else ["op_db.py", "coming_from_pytorch.py"]
