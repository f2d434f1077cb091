"""The command line of the benchmarks: `python -m benchmarks eager [--quick]`.

Each benchmark is a module with the names of its `PEERS` and a `run(peers, quick, only)` that
returns a `report.Report`; to add one, name it in `BENCHMARKS`.
"""

import argparse
import importlib
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
    "gradbench": "the twelve problems of GradBench, beside other tools and derivatives by hand",
}


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="wengert's speed and memory beside its peers'."
    )
    parser.add_argument(
        "benchmark", choices=BENCHMARKS, help="; ".join(f"{k}: {v}" for k, v in BENCHMARKS.items())
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there too")
    parser.add_argument(
        "--markdown", type=Path, metavar="FILE", help="replace the table that this file marks"
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
    if options.json and not options.json.parent.is_dir():  # said now, not after minutes of timing
        parser.error(f"--json: there is no folder {options.json.parent}")
    if options.data and options.benchmark != "gradbench":
        parser.error(f"--data: {options.benchmark} reads no files")
    if options.data and not (options.data / "ba").is_dir():
        parser.error(f"--data: there is no folder {options.data / 'ba'}")

    use_one_thread()
    # Imported only now: NumPy's BLAS reads the number of threads once, when NumPy is imported.
    benchmark = importlib.import_module(f"benchmarks.{options.benchmark}")
    report = importlib.import_module("benchmarks.report")
    markdown = importlib.import_module("benchmarks.markdown")
    if options.markdown:
        try:
            markdown.place(options.markdown, options.benchmark)
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
    if options.only and not results.rows:
        parser.error(f"--only: no line of {options.benchmark} holds {', '.join(options.only)}")
    report.show(results)
    if options.json:
        report.write_json(results, options.json)
        print(f"written: {options.json}")
    if options.markdown:
        markdown.replace_table(results, options.markdown)
        print(f"written: {options.markdown}")


if __name__ == "__main__":
    main()
