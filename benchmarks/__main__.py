"""The command line of the benchmarks: `python -m benchmarks eager [--quick]`, or `all` of them.

Each benchmark is a module with the names of its `PEERS` and a `run(peers, quick, only)` that
returns a `report.Report`; to add one, name it in `BENCHMARKS`.
"""

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers import NAMES, use_one_thread

BENCHMARKS = {
    "eager": "operations and training steps as they run without compilation",
    "operators": "single operators at ordinary sizes, forward and backward",
    "sweep": "the operations of daily use, small, middle and large: what is slow beside PyTorch",
    "compile": "training steps and array functions, compiled",
    "train": "training steps of GPT, CNN and LSTM, eager and compiled; optimizers, loaders",
    "transforms": "Jacobians, Hessians, vmap, and what derivatives cost",
    "sparse": "sparse Jacobians and Hessians",
    "ranks": "sums and training steps of several processes, beside mpi4py, one process and PyTorch",
    "gradbench": "the twelve problems of GradBench, beside other tools and derivatives by hand",
}


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="wengert's speed and memory beside its peers'."
    )
    parser.add_argument(
        "benchmark",
        choices=[*BENCHMARKS, "all"],
        help="; ".join(f"{k}: {v}" for k, v in BENCHMARKS.items())
        + "; all: each of these, its results, tables and drawings into docs/",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there too")
    parser.add_argument(
        "--markdown",
        type=Path,
        nargs="+",
        default=(),
        metavar="FILE",
        help="replace the table that each of these files marks",
    )
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help="draw cost against size there, as SVG"
    )
    parser.add_argument("--quick", action="store_true", help="fewer, shorter rounds: a rough look")
    parser.add_argument(
        "--peers", nargs="+", choices=NAMES, help="only these (default: all that take part)"
    )
    parser.add_argument(
        "--only",
        nargs="+",
        default=(),
        metavar="TEXT",
        help="only lines with one of these in their section or name, e.g. --only GPT 'batch 32'",
    )
    parser.add_argument(
        "--data",
        type=Path,
        metavar="FOLDER",
        help="gradbench: where its data files lie, ba/ and ht/ (default: made up)",
    )
    options = parser.parse_args(words)
    for option in ("json", "plot"):  # said now, not after minutes of timing
        path = getattr(options, option)
        if path and not path.parent.is_dir():
            parser.error(f"--{option}: there is no folder {path.parent}")
    if options.data and options.benchmark not in ("gradbench", "all"):
        parser.error(f"--data: {options.benchmark} reads no files")
    if options.data and not (options.data / "ba").is_dir():
        parser.error(f"--data: there is no folder {options.data / 'ba'}")

    if options.benchmark == "all":
        run_all(parser, options)
        return
    use_one_thread()
    # Imported only now: NumPy's BLAS reads the number of threads once, when NumPy is imported.
    benchmark = importlib.import_module(f"benchmarks.{options.benchmark}")
    report = importlib.import_module("benchmarks.report")
    markdown = importlib.import_module("benchmarks.markdown")
    for page in options.markdown:
        try:
            markdown.check_marked(page, options.benchmark)
        except (OSError, ValueError) as error:
            parser.error(f"--markdown: {error}")
    peers = options.peers or benchmark.PEERS
    if strangers := [peer for peer in peers if peer not in benchmark.PEERS]:
        parser.error(
            f"--peers: {', '.join(strangers)} takes no part in {options.benchmark}; "
            f"choose from {', '.join(benchmark.PEERS)}"
        )

    settings = {"data": options.data} if options.data else {}
    results = benchmark.run(peers, options.quick, options.only, **settings)
    if options.only and not results.rows and not results.failed:
        parser.error(f"--only: no line of {options.benchmark} holds {', '.join(options.only)}")
    report.show(results)
    if options.json:
        report.write_json(results, options.json)
        print(f"written: {options.json}")
    drawing = importlib.import_module("benchmarks.plot").drawing(results) if options.plot else ""
    if drawing:
        options.plot.write_text(drawing, encoding="utf-8")
        print(f"written: {options.plot}")
    for page in options.markdown:
        markdown.replace_table(results, page, options.plot if drawing else None)
        print(f"written: {page}")
    if results.failed:
        sys.exit(f"failed: {', '.join(results.failed)}")


def run_all(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Each benchmark in a process of its own, which sets the number of its threads."""
    if given := [k for k in ("json", "markdown", "plot", "peers", "only") if getattr(options, k)]:
        parser.error(f"--{given[0]}: all decides that itself; run one benchmark to say it")
    every = importlib.import_module("benchmarks.every")
    quick = ["--quick"] if options.quick else []
    if failed := every.run(BENCHMARKS, quick, options.data):
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
