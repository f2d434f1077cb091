"""What lies here and is no test: programs written for PyTorch, as their authors would run them."""

import gc

collect_ignore = ["programs"]


def pytest_collection_finish() -> None:
    """Take the tests themselves out of the garbage collector's sight.

    They are forty thousand, with millions of objects, and tests that collect garbage would walk
    over all of them each time.
    """
    gc.collect()
    gc.freeze()
