"""What every benchmark does with its cases: choose, check that the peers agree, time, report."""

from collections.abc import Sequence

from benchmarks.report import Report, Row
from benchmarks.timing import FULL, QUICK, Case, Effort, check_agreement, race


def chosen(section: str, name: str, only: Sequence[str]) -> bool:
    """Whether a line was asked for: all are, unless some words are given that its title holds.

    >>> chosen("A training step", "GPT", []), chosen("A training step", "GPT", ["gpt", "cnn"])
    (True, True)
    >>> chosen("A training step", "CNN", ["gpt"])
    False
    """
    title = f"{section}: {name}".casefold()
    return not only or any(text.casefold() in title for text in only)


def run_cases(cases: Sequence[Case], report: Report) -> None:
    """Check all cases, then time them: a disagreement should not cost a whole run."""
    for case in cases:
        with report.attempt(f"{case.section}: {case.name}"):
            check_agreement(case)
    section = None
    for case in cases:
        title = f"{case.section}: {case.name}"
        if title in report.failed:
            continue
        if case.section != section:
            section = case.section
            # A line for each section and no live display, whose redrawing would disturb the times.
            print(f"timing: {section} ...", flush=True)
        with report.attempt(title):
            report.rows.append(timed(case, QUICK if report.quick else FULL))


def timed(case: Case, effort: Effort) -> Row:
    times = race(case, effort)
    return Row(
        case.section,
        case.name,
        unit="s",
        medians={entrant: t.median for entrant, t in times.items()},
        samples={entrant: t.seconds for entrant, t in times.items()},
        repetitions={entrant: t.repetitions for entrant, t in times.items()},
        targets=case.targets,
        size=case.size,
    )
