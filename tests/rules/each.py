"""One test for each rule, which runs through all samples of the rule and names those that fail.

There are thousands of samples, and a test of its own for each costs more than what it tests.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def each_sample(cases: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test of `rule, call` on each of the cases, which are parameters with ids."""
    samples: dict[Any, list[Any]] = {}
    for case in cases:
        samples.setdefault(case.values[0].function, []).append(case)
    names = [group[0].id.rpartition("-")[0] for group in samples.values()]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        def on_all_samples(samples: list[Any]) -> None:
            failed = {case.id: error for case in samples if (error := failure(test, case))}
            if failed:
                raise ExceptionGroup(", ".join(failed), [*failed.values()])

        functools.update_wrapper(on_all_samples, test)
        del on_all_samples.__wrapped__  # type: ignore[attr-defined]  # pytest reads its arguments
        return pytest.mark.parametrize("samples", samples.values(), ids=names)(on_all_samples)

    return decorate


def failure(test: Callable[..., None], case: Any) -> Exception | None:
    """What a test raises on one sample, which a note names."""
    try:
        test(*case.values)
    except Exception as error:
        error.add_note(f"in sample {case.id}: {case.values[1]}")
        return error
    return None
