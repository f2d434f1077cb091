"""The eager benchmark: operations, a chain, training steps and memory, in one run."""

from benchmarks import memory
from benchmarks.mlp import mlp_cases
from benchmarks.operations import chain_case, operation_cases
from benchmarks.peers import load
from benchmarks.report import Report, Row
from benchmarks.running import chosen, run_cases

PEERS = ("wengert", "PyTorch", "autograd", "NumPy")
LEGEND = "PyTorch is the better of its default and its foreach (*) optimizer."
MEMORY = "Peak memory of one forward and backward pass"


def run(peers, quick: bool, only) -> Report:
    """Check that the peers agree, time them, weigh them."""
    modules, missing = load(peers)
    report = Report("eager", list(modules), missing, quick, LEGEND)
    cases = [*operation_cases(modules), chain_case(modules), *mlp_cases(modules)]
    run_cases([case for case in cases if chosen(case.section, case.name, only)], report)

    if not chosen(MEMORY, memory.NAME, only):
        return report
    if memory.available():
        print("measuring memory ...", flush=True)
        measured = memory.peaks(modules, processes=1 if quick else 3)
        report.rows.append(
            Row(
                MEMORY,
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
