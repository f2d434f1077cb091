"""What is promised and does not hold yet: for each test the cause, the cases, and how it fails.

A repair takes lines out: a listed case that passes is a failure.
"""

from __future__ import annotations

Broken = tuple[str, frozenset[str] | None, type[BaseException]]


def some(text: str) -> frozenset[str]:
    return frozenset(filter(None, map(str.strip, text.strip().splitlines())))


BROKEN: dict[str, tuple[Broken, ...]] = {
    # test_errors.py
    "test_what_runs_eagerly_runs_compiled": (
        (
            "traced arrays cannot say this of themselves",
            some(
                """
            storage_offset
            data_ptr
            """
            ),
            AssertionError,
        ),
    ),
    # test_isolation.py
    # test_kept_state.py
    "test_what_a_function_keeps_is_there_at_its_next_call": (
        (
            "what a function keeps outside is written while tracing only",
            some(
                """
            the mode of a module
            """
            ),
            AssertionError,
        ),
    ),
    # test_numbers.py
    # test_replaced.py
    # test_results.py
    "test_the_layout_of_an_argument_is_that_of_the_call": (
        (
            "traced arrays cannot say this of themselves",
            some(
                """
            storage_offset: dense, then transposed
            storage_offset: transposed, then dense
            storage_offset: dense, then every other
            storage_offset: dense, then reversed
            storage_offset: dense, then expanded
            storage_offset: dense, then offset
            data_ptr: dense, then transposed
            data_ptr: transposed, then dense
            data_ptr: dense, then every other
            data_ptr: dense, then reversed
            data_ptr: dense, then expanded
            data_ptr: dense, then offset
            """
            ),
            AssertionError,
        ),
    ),
    # test_surroundings.py
}
