"""How the tests are run: on all cores, in full or without the long sweeps, and out of the way.

`pytest` runs what tells within minutes whether something broke. Sweeps that are long by nature (a
fuzzer at full length, every operator in every dtype) bear the mark `sweep`, and those that combine
all rows of several lists the mark `crossed`: of them it takes each row, in some combination. All
run with `pytest --full`, as `.ci/run` does; a line at the end says how many were left out.
"""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from tests.sweeps import covering

collect_ignore = ["programs"]
"""What lies here and is no test: programs written for PyTorch, as their authors would run them."""

MOST_WORKERS = 16
"""Each worker collects all the tests: more of them take longer to do so than they save."""

ONE_THREAD = "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"
"""What says how many threads BLAS has: those of one worker would compete with another worker."""

NOTABLE = 0.005
"""Seconds from which `--durations` lists something."""

LEFT_OUT = pytest.StashKey[int]()
FILE = pytest.StashKey[Path]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="Run the long sweeps as well.")


# ---- all cores -----------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Run on all cores unless the command says how, or has no use for them."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        return  # workers come here too, and would start workers of their own
    option = config.option
    if getattr(option, "numprocesses", 0) is None and not option.tx and option.dist == "no":
        option.numprocesses = 0 if in_this_process(config) else "auto"
        option.dist = "worksteal"
        for name in ONE_THREAD if option.numprocesses else ():
            os.environ.setdefault(name, "1")


def in_this_process(config: pytest.Config) -> bool:
    """Whether workers would be in the way: of a few files, of a debugger, of what is printed."""
    option = config.option
    few = all(os.path.isfile(arg.partition("::")[0]) for arg in config.args)  # noqa: PTH113
    return few or option.usepdb or option.trace or option.capture == "no"


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers() -> Any:
    return min((yield), MOST_WORKERS)


# ---- what processes share ------------------------------------------------------------------


def pytest_configure(config: pytest.Config) -> None:
    """Compile what is the same for all workers, programs that tests start, and runs once.

    Machine code is kept by all that it is made of, beside what pytest keeps, and not among the
    user's. A test that counts compilations has a folder of its own.
    """
    if "PYTEST_XDIST_WORKER" in os.environ:
        return  # it has the variables of the process that started it
    cache = getattr(config, "cache", None)
    if cache is not None:
        folder = str(cache.mkdir("machine code"))
    else:
        folder = tempfile.mkdtemp()
        config.add_cleanup(lambda: shutil.rmtree(folder))
    os.environ["WENGERT_CACHE"] = folder
    # Without bytecode each of a hundred programs takes a second to import the package.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    # A shell's background jobs ignore Ctrl-C, and so would the programs that tests interrupt.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Look for no garbage while tests are collected: all of them are kept."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Of a test that passed, a worker tells once: six messages took longer than most tests.

    What is said of setting up and clearing away is said where it failed, or took its time.
    """
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return None  # as pytest does it
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed or report.duration > NOTABLE:
            item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


# ---- long sweeps ---------------------------------------------------------------------------


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the sweeps out, unless one was asked for by its name."""
    if config.getoption("full"):
        return
    named = {arg.partition("[")[0] for arg in config.args if "::" in arg}
    kept, crossed = [], defaultdict(list)
    for item in items:
        test = item.nodeid.partition("[")[0]
        if test in named:
            kept.append(item)
        elif not item.get_closest_marker("sweep"):
            (crossed[test] if item.get_closest_marker("crossed") else kept).append(item)
    for rows in crossed.values():
        kept += covering(rows)
    taken = set(kept)
    left = len(items) - len(taken)
    items[:] = [item for item in items if item in taken]
    count(config, left)


def count(config: pytest.Config, left: int) -> None:
    """Note how many tests were left out; a worker tells the process that started it."""
    config.stash[LEFT_OUT] = left
    if hasattr(config, "workeroutput"):
        config.workeroutput["left_out"] = left


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", 0)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if left := config.stash.get(LEFT_OUT, 0):
        terminalreporter.write_line(f"{left} long sweeps were left out: pytest --full runs them.")


# ---- the garbage collector -----------------------------------------------------------------


def pytest_collection_finish() -> None:
    """Take the tests themselves out of the garbage collector's sight.

    They are thousands, with millions of objects, and tests that collect garbage would walk over all
    of them each time.
    """
    freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """What earlier files left, such as compiled programs, is out of sight as well."""
    if item.config.stash.get(FILE, None) != item.path:
        item.config.stash[FILE] = item.path
        freeze()


def freeze() -> None:
    gc.collect()
    gc.freeze()


# ---- fixtures ------------------------------------------------------------------------------


@pytest.fixture
def table() -> Iterator[None]:
    """The table of rules, put back as it was after a test that adds to it, and the names given."""
    import wengert
    from wengert.functions import elementary
    from wengert.rules import RULES

    before = dict(RULES)
    yield
    for rule in [rule for function, rule in RULES.items() if function not in before]:
        for place in (wengert, elementary, wengert.Tensor):
            for name in {*rule.names, *(f"{n}_" for n in rule.names)} & vars(place).keys():
                delattr(place, name)
    RULES.clear()
    RULES.update(before)
