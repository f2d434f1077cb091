"""The eager benchmark: operations, a chain, training steps and memory, in one run."""

from benchmarks import memory
from benchmarks.mlp import mlp_cases
from benchmarks.operations import chain_case, operation_cases
from benchmarks.peers import load
from benchmarks.report import Report, Row
from benchmarks.timing import FULL, QUICK, check_agreement, race


def run(peers, quick: bool) -> Report:
    """Check that the peers agree, time them, weigh them."""
    modules, missing = load(peers)
    effort = QUICK if quick else FULL
    cases = [*operation_cases(modules), chain_case(modules), *mlp_cases(modules)]
    for case in cases:  # all of them first: a disagreement should not cost a whole run
        check_agreement(case)

    report = Report("eager", list(modules), missing, quick)
    section = None
    for case in cases:
        if case.section != section:
            section = case.section
            # A line for each section and no live display, whose redrawing would disturb the times.
            print(f"timing: {section} ...", flush=True)
        times = race(case, effort)
        report.rows.append(
            Row(
                case.section,
                case.name,
                unit="s",
                medians={entrant: t.median for entrant, t in times.items()},
                samples={entrant: t.seconds for entrant, t in times.items()},
                repetitions={entrant: t.repetitions for entrant, t in times.items()},
                targets=case.targets,
            )
        )

    if memory.available():
        print("measuring memory ...", flush=True)
        measured = memory.peaks(modules, processes=1 if quick else 3)
        report.rows.append(
            Row(
                "Peak memory of one forward and backward pass",
                memory.NAME,
                unit="B",
                medians={peer: memory.median(sizes) for peer, sizes in measured.items()},
                samples=measured,
                targets=memory.TARGETS,
            )
        )
    else:
        report.notes.append("Memory was not measured: it needs Linux's /proc.")
    return report
