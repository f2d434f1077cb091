"""Files of a peer that is not installed cannot be imported, and so have no doctests to collect."""

import importlib.util

PEERS = ("torch", "jax")

collect_ignore = [f"gradbench/in_{peer}.py" for peer in PEERS if not importlib.util.find_spec(peer)]
