"""What lies here and is no test: programs written for PyTorch, as their authors would run them."""

import gc

collect_ignore = ["programs"]


def pytest_collection_finish() -> None:
    """Take the tests themselves out of the garbage collector's sight.

    They are forty thousand, and a collector that walks over them again and again takes two thirds
    of the time of tests that make many objects: those that compile, those that collect.
    """
    gc.collect()
    gc.freeze()
