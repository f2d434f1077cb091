"""`wengert run`: a script on several processes, as torchrun starts them.

MPI's own launcher starts them, or Ray does (`actors.py`), and ends them all when one dies; what is
left to do here is to say so in one command, to set the variables that scripts written for torchrun
read (`worker.py`), and to start again, as often as was asked for.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from wengert.cli import program, slurm
from wengert.cli.usage import UsageError

MISSING = (
    'there is no mpirun. pip install "wengert[mpi]" brings one, and mpi4py; a cluster has its own.'
)
LOOK, STAYS = 0.25, 10.0
"""Seconds after which it is looked what a launcher has left, and that it may stay without any."""
FORWARDED = ("OMP_", "PYTHON", "WENGERT_", "TORCHELASTIC_", "MASTER_", "LD_LIBRARY_PATH", "PATH")
"""How the names of variables begin that processes on other machines get too."""


def add_command(commands: Any) -> None:
    """Describe the command to the parser."""
    run = commands.add_parser(
        "run",
        help="run a script on several processes",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description=(
            "Run a script on several processes, which work together by wengert.distributed.\n"
            "Each has RANK, WORLD_SIZE, LOCAL_RANK and the other variables that torchrun sets."
        ),
        epilog=(
            "examples:\n  wengert run --nproc 4 train.py --epochs 10\n"
            "  wengert run --hosts node1:8,node2:8 --max-restarts 3 train.py\n"
            "  wengert run --min 2 --max 8 --max-restarts 3 train.py\n"
            "  RAY_ADDRESS=auto wengert run --engine ray --nproc 16 train.py"
        ),
    )
    run.add_argument(
        "--engine",
        choices=tuple(ENGINES),
        default="mpi",
        help="what starts the processes and carries their data: mpirun, or actors of Ray (mpi)",
    )
    run.add_argument(
        "--nproc", metavar="N", type=int, help="how many processes (one for each processor)"
    )
    run.add_argument(
        "--hosts", metavar="A:N,B:M", help="the machines, and how many processes on each"
    )
    run.add_argument(
        "--min",
        metavar="N",
        type=int,
        help="with how many processes elastic.run goes on when others have died (all)",
    )
    run.add_argument(
        "--max",
        metavar="N",
        type=int,
        help="how many processes at most, one for each processor below that",
    )
    run.add_argument(
        "--max-restarts",
        metavar="K",
        type=int,
        default=0,
        help="how often to start again when a process has died (0)",
    )
    run.add_argument("-m", "--module", action="store_true", help="SCRIPT is the name of a module")
    run.add_argument("script", metavar="SCRIPT")
    run.add_argument("arguments", metavar="...", nargs=argparse.REMAINDER)
    run.set_defaults(run=start)


def start(options: argparse.Namespace) -> int:
    """Run the script until it ends well, or has died once too often; its exit status."""
    if options.max_restarts < 0:
        raise UsageError(f"--max-restarts {options.max_restarts}: a number from 0 on")
    engine = ENGINES[options.engine](options)
    words = ["-m"] * options.module + [options.script, *options.arguments]
    if engine.is_here and (missing := program.missing(words)):
        raise UsageError(missing)
    least, nproc = how_many(options, engine)
    environment = os.environ | {"TORCHELASTIC_RUN_ID": uuid.uuid4().hex}
    environment["TORCHELASTIC_MAX_RESTARTS"] = str(options.max_restarts)
    if Path(__file__).parents[2] == Path.cwd():  # a checkout, which workers find here alone
        folders = os.getcwd(), environment.get("PYTHONPATH")  # noqa: PTH109
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, folders))
    if least is not None:
        environment["WENGERT_MIN_RANKS"] = str(least)
    attempt = engine.begin(nproc, least)
    status = 0
    for restart in range(options.max_restarts + 1):
        environment["TORCHELASTIC_RESTART_COUNT"] = str(restart)
        status = attempt(words, environment)
        if status == 0 or restart == options.max_restarts:
            break
        print(
            f"wengert run: ended with status {status}; starting again "
            f"({restart + 1} of {options.max_restarts})",
            file=sys.stderr,
            flush=True,
        )
    return status


Attempt = Callable[[list[str], dict[str, str]], int]
"""Runs the words of a script, with an environment, on all processes; its exit status."""


class Engine(NamedTuple):
    """What starts processes."""

    is_here: bool
    """Whether they run on this machine alone, so that the program has to be there."""
    places: Callable[[int], int]
    """For how many there is room, where so many have to be started."""
    begin: Callable[[int, int | None], Attempt]
    """Attempts with so many of them, of which at least so many go on when others die."""


def by_ray(options: argparse.Namespace) -> Engine:
    """Processes that are actors of Ray."""
    from wengert.cli import actors
    from wengert.distributed.ray import is_here

    if options.hosts:
        raise UsageError("--hosts is for mpirun: Ray knows its machines (RAY_ADDRESS)")
    begin = lambda nproc, least: functools.partial(actors.attempt, nproc, least)
    return Engine(is_here(), lambda least: actors.room(least), begin)


def by_mpi(options: argparse.Namespace) -> Engine:
    """Processes that mpirun starts, on the machines that the user names or SLURM has given."""
    from wengert.distributed.transport import AROUND

    if around := next((n for n in AROUND if os.environ.get(n, "1") != "1"), None):
        raise UsageError(
            f"mpirun or srun has started this command {os.environ[around]} times, and each would "
            "start processes: write one of them before python, or wengert run without it"
        )
    hosts = options.hosts or slurm.hosts(os.environ)
    places = machines(hosts) if hosts else {"": os.cpu_count() or 1}
    return Engine(
        not options.hosts and len(places) == 1,
        lambda least: sum(places.values()),
        functools.partial(mpi_attempts, hosts if options.hosts or len(places) > 1 else None),
    )


ENGINES = {"mpi": by_mpi, "ray": by_ray}


def machines(hosts: str) -> dict[str, int]:
    """Machines, and how many processes each has room for.

    >>> machines("node1:8,node2")
    {'node1': 8, 'node2': 1}
    """
    rooms: dict[str, int] = {}
    for host in hosts.split(","):
        name, _, count = host.partition(":")
        if not name or not (count or "1").isdecimal():
            raise UsageError(f"--hosts {hosts}: write for example --hosts node1:8,node2:8")
        rooms[name] = rooms.get(name, 0) + int(count or 1)
    return rooms


def mpi_attempts(hosts: str | None, nproc: int, least: int | None) -> Attempt:
    """Attempts by mpirun, which reads from SLURM how to get to the machines it names."""
    if shutil.which("mpirun") is None:
        raise UsageError(MISSING)
    elastic = least is not None and survives()
    if least is not None and not elastic:
        print(
            "wengert run: this MPI ends all processes when one has died (Open MPI 5 does not); "
            "they begin again at the newest checkpoint, as often as --max-restarts says",
            file=sys.stderr,
            flush=True,
        )

    def attempt(words: list[str], environment: dict[str, str]) -> int:
        # -P, or this folder would come before Python's own modules.
        worker = [sys.executable, "-P", "-m", "wengert.cli.worker", *words]
        if hosts or not elastic:
            return _wait(command(nproc, worker, hosts, environment, elastic), environment)
        with tempfile.TemporaryDirectory() as folder:
            told = environment | {program.ENDED: folder}
            status = _wait(command(nproc, worker, hosts, told, elastic), told)
            if status == 0 and not any(Path(folder).iterdir()):
                print("wengert run: all processes have died", file=sys.stderr, flush=True)
                return 1  # which mpirun, told that processes may die, calls a success
            return status

    return attempt


def how_many(options: argparse.Namespace, engine: Engine) -> tuple[int | None, int]:
    """The fewest processes that go on when others die, None if all are to; how many to start."""
    for name in ("nproc", "min", "max"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise UsageError(f"--{name} {value}: there is at least one process")
    least, most = options.min, options.max
    if options.nproc is not None and most is not None:
        raise UsageError("--nproc says how many processes there are, so that there is no --max")
    places = engine.places(options.nproc or least or 1)
    start = options.nproc or min(max(places, least or 1), most or places)
    if least is not None and least > start:
        raise UsageError(f"--min {least} is more than the {start} processes that are started")
    if least is None and most is not None:
        least = 1
    return least, start


@functools.cache
def survives() -> bool:
    """Whether mpirun can leave the other processes alone when one has died (ULFM)."""
    if shutil.which("ompi_info") is None:
        return False
    done = subprocess.run(["ompi_info"], capture_output=True, text=True, check=False)
    return "FT MPI support: yes" in done.stdout


def command(
    nproc: int,
    words: Sequence[str],
    hosts: str | None = None,
    environment: dict[str, str] | None = None,
    elastic: bool = False,
) -> list[str]:
    """What starts the words of a program on so many processes.

    On one machine nothing leaves it: its processes share memory. With `elastic` those that are left
    may go on when one has died.
    """
    starter = ["mpirun", "--oversubscribe"]
    if elastic:
        starter += ["--with-ft", "ulfm"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        starter.append("--allow-run-as-root")
    starter += ["-n", str(nproc)]
    if hosts:
        starter += ["--host", hosts]
        for name in environment or ():
            starter += ["-x", name] if name.startswith(FORWARDED) else []
    else:
        starter += ["--mca", "btl", "self,sm", "--mca", "pml", "ob1"]
    return [*starter, *words]


def _wait(words: list[str], environment: dict[str, str]) -> int:
    """Run a command to its end; when interrupted or told to end, end it too."""
    with _ended_by_error(signal.SIGTERM), subprocess.Popen(words, env=environment) as process:
        try:
            return _status(process)
        except BaseException:
            process.terminate()  # mpirun ends the processes that it started
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
            raise


def _status(process: subprocess.Popen[bytes]) -> int:
    """The exit status of a launcher; 1 for one that stays when all that it has started have ended.

    Open MPI's may wait for ever for a lock that it holds itself, when several processes die.
    """
    had, since = False, time.monotonic()
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(LOOK)
        has = _has_children(process.pid)
        had = had or has
        if has or not had:
            since = time.monotonic()
        elif time.monotonic() - since > STAYS:
            print("wengert run: mpirun stays, with no processes left; ended", file=sys.stderr)
            process.kill()
            process.wait()
            return 1


def _has_children(pid: int) -> bool:
    """Whether a process has children that run, as Linux says; True where nothing is known."""
    try:
        lists = [file.read_text() for file in Path(f"/proc/{pid}/task").glob("*/children")]
        states = [Path(f"/proc/{child}/stat").read_text() for child in " ".join(lists).split()]
    except OSError:
        return True  # one ended just now
    return not lists or any(state.rpartition(")")[2].split()[0] != "Z" for state in states)


@contextlib.contextmanager
def _ended_by_error(number: int) -> Iterator[None]:
    """Raise an error where a signal would end this process, and leave what it has started."""
    if threading.current_thread() is not threading.main_thread():
        yield  # where signals are handled is not ours to say
        return

    def end(number: int, frame: Any) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(number, end)
    try:
        yield
    finally:
        signal.signal(number, before)
