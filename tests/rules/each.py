"""One test for each rule, which runs through all samples of the rule and names those that fail.

There are thousands of samples, and a test of its own for each costs more than what it tests.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import pytest

Decorator = Callable[[Callable[..., None]], Callable[..., None]]


def each_sample(cases: Iterable[Any], one_in: int = 1) -> Decorator:
    """Run a test of `rule, call` on each of the cases, which are parameters with ids.

    A plain run tries `one_in` so many samples of each rule, the full run the others as well.
    """
    usual, others = thinned(cases, one_in)
    samples = [
        *(pytest.param(group, id=name) for name, group in by_rule(usual).items()),
        *(
            pytest.param(group, id=f"{name} (others)", marks=pytest.mark.sweep)
            for name, group in by_rule(others).items()
        ),
    ]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        def on_all_samples(samples: list[Any]) -> None:
            failed = {case.id: error for case in samples if (error := failure(test, case))}
            if failed:
                raise ExceptionGroup(", ".join(failed), [*failed.values()])

        functools.update_wrapper(on_all_samples, test)
        del on_all_samples.__wrapped__  # type: ignore[attr-defined]  # pytest reads its arguments
        return pytest.mark.parametrize("samples", samples)(on_all_samples)

    return decorate


def thinned(cases: Iterable[Any], one_in: int) -> tuple[list[Any], list[Any]]:
    """One in so many samples of each rule, its first among them; and the others."""
    groups = by_rule(cases).values()
    usual = [case for group in groups for case in group[::one_in]]
    others = [case for group in groups for k, case in enumerate(group) if k % one_in]
    return usual, others


def by_rule(cases: Iterable[Any]) -> dict[str, list[Any]]:
    """The samples of each rule, by its name."""
    groups: dict[str, list[Any]] = {}
    for case in cases:
        groups.setdefault(case.id.rpartition("-")[0], []).append(case)
    return groups


def failure(test: Callable[..., None], case: Any) -> Exception | None:
    """What a test raises on one sample, which a note names."""
    try:
        test(*case.values)
    except Exception as error:
        error.add_note(f"in sample {case.id}: {case.values[1]}")
        return error
    return None
