"""Ranks that are processes: every check under mpirun, and what goes wrong."""

from __future__ import annotations

import os
import re
import runpy
import signal
import subprocess
import sys
import time

import pytest

import wengert as wg
from tests.distributed import training  # noqa: F401  (more checks)
from tests.distributed.checks import CHECKS
from tests.distributed.processes import ROOT, is_started_again, needs_mpi, program, ranks, run
from wengert import distributed as dist
from wengert.cli import actors, main
from wengert.cli import run as launcher
from wengert.cli.run import command, survives

pytestmark = [needs_mpi, pytest.mark.sweep]


def test_processes_do_what_every_engine_must():
    done = ranks(3, "-m", "tests.distributed.run_checks")
    assert done.returncode == 0, done.stdout
    assert [f"passed {name}" in done.stdout for name in CHECKS] == [True] * len(CHECKS)


def test_one_process_is_a_group_too():
    done = run([sys.executable, "-m", "tests.distributed.run_checks", *list(CHECKS)[:6]])
    assert done.returncode == 0, done.stdout


def test_every_call_is_compared_where_that_is_asked_for():
    done = ranks(2, "-m", "tests.distributed.run_checks", *list(CHECKS)[:11], WENGERT_CHECK="1")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("chosen", ["", "ring"])
def test_open_mpi_is_told_how_to_combine_unless_the_user_tells_it(chosen):
    # Left to itself it sent all at each step: 10 MB took 3.6 times as long.
    name = "OMPI_MCA_coll_libnbc_iallreduce_algorithm"
    text = "import os; from wengert import distributed as dist; dist.init_process_group('mpi'); "
    done = run(
        [sys.executable, "-c", f"{text}print(os.environ[{name!r}])"],
        **({name: chosen} if chosen else {}),
    )
    assert done.stdout.split() == [chosen or "rabenseifner"]


def test_shapes_that_differ_are_an_error_on_both_ranks():
    done = program(
        2,
        "try:\n    dist.all_reduce(wg.zeros(rank + 2))\n"
        "except dist.DistBackendError as e:\n    print(str(e) + f'(end {rank})')\n",
    )
    assert "(end 0)" in done.stdout
    assert "(end 1)" in done.stdout
    assert done.stdout.count("rank 0: all_reduce SUM of float32[2]") == 2
    assert done.stdout.count("rank 1: all_reduce SUM of float32[3]") == 2


@pytest.mark.parametrize("checked", ["1", "0"])
def test_operations_in_another_order_are_found(checked):
    # Both have been used before, and have blocks of one size: MPI would mix them up in silence.
    done = program(
        2,
        "x = wg.ones(2); ops = [dist.ReduceOp.SUM, dist.ReduceOp.MAX]\n"
        "for op in ops: dist.all_reduce(x, op)\n"
        "try:\n    for op in ops[:: 1 - 2 * rank]: dist.all_reduce(x, op)\n"
        "except dist.DistBackendError as e:\n    print(str(e) + f'(end {rank})')\n",
        WENGERT_CHECK=checked,
    )
    assert "(end 0)" in done.stdout
    assert "(end 1)" in done.stdout
    assert done.stdout.count("rank 0: all_reduce SUM of float32[2]") == 2
    assert done.stdout.count("rank 1: all_reduce MAX of float32[2]") == 2


def test_different_operations_that_mpi_mixes_up_are_found():
    # Rank 0 was the root of a broadcast while the others gathered: all went on, with wrong numbers.
    done = program(
        3,
        "x, y = wg.zeros(2), wg.zeros(3, 2)\n"
        "for k in range(2):\n"
        "    if k == 0 or rank: dist.all_gather_into_tensor(y, x)\n"
        "    if k == 0 or not rank: dist.broadcast(x, 0)\n"
        "dist.barrier()\nprint('no error', flush=True)\n",
    )
    assert done.returncode != 0
    assert "no error" not in done.stdout
    assert "all_gather of float32[2], at" in done.stdout
    assert "rank 0: broadcast of float32[2] with root 0" in done.stdout


def test_a_group_that_was_destroyed_is_of_no_more_use_and_may_be_joined_again():
    done = program(
        2,
        "own = dist.GroupMember.WORLD; dist.destroy_process_group()\n"
        "for given in (own, None):\n"
        "    try: dist.all_reduce(wg.ones(1), group=given)\n"
        "    except (dist.DistError, ValueError) as e: print('told', e, flush=True)\n"
        "dist.init_process_group('mpi'); x = wg.ones(1); dist.all_reduce(x)\n"
        "print('total', x.item(), flush=True); dist.destroy_process_group()\n",
    )
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("all_reduce in a group that has been destroyed") == 2
    assert done.stdout.count("Default process group has not been initialized") == 2
    assert done.stdout.count("total 2.0") == 2


def test_a_timeout_says_where_the_others_stand():
    done = program(
        2,
        "dist.barrier(); x = wg.zeros(2)\ndist.all_reduce(x)\n"
        "if rank:\n    time.sleep(5)\nelse:\n    dist.barrier(timeout=0.5)\n",
    )
    assert done.returncode != 0
    assert "rank 0 waited 0.5 s in barrier" in done.stdout
    assert "rank 1 has begun 4 operations, the last of them all_reduce" in done.stdout


def test_the_first_barrier_waits_no_longer_than_it_was_told():
    # Ranks compare what is new to them, and waited as long for that as the group does.
    done = program(2, "time.sleep(8) if rank else dist.monitored_barrier(timeout=0.5)\n")
    assert "rank 0 waited 0.5 s in barrier" in done.stdout


def test_the_first_use_of_an_operation_waits_no_longer_than_any():
    # Ranks compare what they are about to do; that once waited for half an hour.
    text = (
        "import wengert as wg, time\n"
        "from wengert import distributed as dist\n"
        "dist.init_process_group('mpi', timeout=1)\n"
        "time.sleep(8) if dist.get_rank() else dist.all_reduce(wg.zeros(2))\n"
    )
    done = ranks(2, "-c", text)
    assert "rank 0 waited 1 s in all_reduce SUM of float32[2]" in done.stdout


def test_an_error_on_one_rank_ends_all():
    done = program(3, "if rank == 1: raise KeyError('lost')\ndist.barrier(timeout=30)\n")
    assert done.returncode != 0
    assert "KeyError: 'lost'" in done.stdout


def test_an_error_that_ends_a_rank_is_written_at_once():
    # Written piece by piece, it had mpirun's own words in the middle of a line.
    done = program(
        2,
        "import sys\nclass Pieces:\n"
        "    def write(self, text): os.write(1, f'[{text}]'.encode())\n"
        "    def flush(self): pass\n"
        "sys.stderr = Pieces()\n"
        "if rank == 1: raise KeyError('lost')\ndist.barrier(timeout=30)\n",
    )
    assert re.search(r"\[Traceback [^\[\]]*\nKeyError: 'lost'\n\(on rank 1", done.stdout)


@pytest.mark.skipif(not survives(), reason="this MPI ends all ranks when one dies (no ULFM)")
def test_an_error_that_ends_a_rank_says_which_one():
    # A NaN that anomaly mode finds comes from autograd, which knows of no ranks.
    done = program(
        2,
        "net = wg.nn.parallel.DistributedDataParallel(wg.nn.Linear(2, 2))\n"
        "with wg.autograd.detect_anomaly():\n"
        "    y = net(wg.ones(1, 2)).sum()\n"
        "    ((0 if rank else 1) * y**2).sqrt().backward()\n"
        "dist.barrier()\n",
    )
    assert done.returncode != 0
    assert "returned nan values" in done.stdout
    assert "(on rank 1 of 2)" in done.stdout
    assert "(on rank 0 of 2)" not in done.stdout


@pytest.mark.parametrize("first", ["", "dist.all_reduce(wg.ones(3))\n"], ids=["new", "known"])
@pytest.mark.parametrize("how", ["sys.exit()", "dist.destroy_process_group(); time.sleep(8)"])
def test_a_rank_that_has_left_is_not_waited_for(first, how):
    # It was, for half an hour, unless a timeout was given.
    text = f"import sys\n{first}if rank == 1: {how}\nelse: dist.all_reduce(wg.ones(3))\n"
    done = program(3, text)
    assert done.returncode != 0
    assert "rank 1 has left the group before it came to this" in done.stdout
    assert "waited 20 s" not in done.stdout


def test_a_message_of_another_dtype_is_refused():
    # Three numbers of float64 were received as six of float32: 0, 1.875, 0, 1.875, ...
    done = program(
        2,
        "if rank: dist.send(wg.ones(3, dtype=wg.float64), 0)\n"
        "else:\n    x = wg.zeros(6)\n    dist.recv(x, 1)\n    print('no error', x)\n",
    )
    assert done.returncode != 0
    assert "no error" not in done.stdout
    assert "rank 0: recv of float32[6] from rank 1, at" in done.stdout
    assert "rank 1 sent float64[3]" in done.stdout


def test_a_message_that_nobody_receives_is_told():
    done = program(
        2,
        "dist.send(wg.zeros(2), 1) if rank == 0 else None\n"
        "dist.barrier()\n"
        "dist.destroy_process_group()",
    )
    assert done.returncode != 0
    assert "rank 1 has left the group without having received what rank 0 has sent" in done.stdout


def test_errors_in_a_group_of_some_ranks_name_them_as_they_count_among_all():
    done = program(
        3,
        "pair = dist.new_group([1, 2])\n"
        "try:\n"
        "    dist.all_reduce(wg.zeros(rank), group=pair) if rank else None\n"
        "except dist.DistBackendError as error:\n"
        "    print(error, flush=True)\n",
    )
    assert done.returncode == 0, done.stdout
    for rank in (1, 2):
        assert f"rank {rank}: all_reduce SUM of float32[{rank}]" in done.stdout


def test_messages_are_those_that_were_sent_in_whatever_order_they_are_waited_for():
    done = program(
        2,
        "counts = (2, 3, 10**6)\n"
        "if rank: works = [dist.isend(wg.ones(n), 0) for n in counts]\n"
        "else: works = [dist.irecv(wg.zeros(n), 1) for n in counts]\n"
        "for work in works[::-1]: work.wait()\n"
        "if not rank: print([work.result()[0].sum().item() for work in works])\n",
    )
    assert "[2.0, 3.0, 1000000.0]" in done.stdout, done.stdout


def test_a_message_of_a_rank_that_has_left_is_not_waited_for():
    # It was, for half an hour, unless a timeout was given; what it had sent before arrives.
    done = program(
        2,
        "if rank: dist.send(wg.ones(3), 0)\n"
        "else:\n"
        "    x = wg.zeros(3)\n    dist.recv(x, 1)\n    print('came', x.sum().item(), flush=True)\n"
        "    dist.recv(x, 1)\n",
    )
    assert done.returncode != 0
    assert "came 3.0" in done.stdout
    assert "rank 0 cannot go on with recv of float32[3] from rank 1, at" in done.stdout
    assert "rank 1 has left the group before it came to this" in done.stdout
    assert "waited 20 s" not in done.stdout


def test_a_compiled_step_of_ranks_with_fewer_batches_runs_eagerly():
    # An error named sched_yield, which the compiler had met where MPI was waited for.
    done = program(
        2,
        "net = wg.nn.parallel.DistributedDataParallel(wg.nn.Linear(3, 2))\n"
        "optimizer = wg.optim.SGD(net.parameters(), lr=0.1)\n"
        "@wg.compile\n"
        "def step(x):\n"
        "    optimizer.zero_grad(); net(x).sum().backward(); optimizer.step()\n"
        "with net.join():\n"
        "    for k in range(3 + rank): step(wg.ones(2, 3))\n"
        "print('weights', net.module.weight.sum().item(), flush=True)\n",
    )
    assert done.returncode == 0, done.stdout
    assert "runs eagerly" in done.stdout
    assert "join: a compiled step does not ask" in done.stdout
    assert len(set(re.findall("weights .*", done.stdout))) == 1


def test_an_operation_that_is_new_to_one_rank_is_not_waited_for_where_others_know_theirs():
    # It compared its own with nobody, and they waited in theirs: until the time was up.
    done = program(
        2,
        "x = wg.ones(2); dist.all_reduce(x)\n"
        "try: dist.all_reduce(wg.ones(3 - rank))\n"
        "except dist.DistBackendError as e: print(str(e) + f'(end {rank})', flush=True)\n",
    )
    assert "rank 1: all_reduce SUM of float32[2]" in done.stdout
    assert "rank 0: an operation that is new to it" in done.stdout
    assert done.stdout.count("(end ") == 2
    assert "waited 20 s" not in done.stdout


def test_a_rank_that_dies_before_mpi_starts_is_not_waited_for_for_ever():
    # MPI waits in C until all have started, where no timeout of ours was looked at.
    text = (
        "import os, signal\n"
        "if os.environ['OMPI_COMM_WORLD_RANK'] == '1': os.kill(os.getpid(), signal.SIGKILL)\n"
        "from wengert import distributed as dist\n"
        "dist.init_process_group('mpi', timeout=3)\n"
    )
    done = run(command(3, [sys.executable, "-c", text], elastic=True))
    assert done.returncode
    assert "Timeout (0:00:03)!" in done.stdout
    assert "init_process_group" in done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="a process's children are not told here")
@pytest.mark.parametrize("child", ["sleep 1", "sleep 2"])
def test_a_launcher_that_stays_when_all_have_ended_is_not_waited_for(child, monkeypatch, capfd):
    # Open MPI's waited for a lock that it held itself, when three processes ended at once.
    monkeypatch.setattr(launcher, "STAYS", 0.5)
    stays = child == "sleep 1"
    text = f"import subprocess, time; subprocess.run({child.split()}); time.sleep({60 * stays})"
    status = launcher._wait(
        [sys.executable, "-c", f"{text}; raise SystemExit(3)"], dict(os.environ)
    )
    assert status == (1 if stays else 3)
    assert ("mpirun stays" in capfd.readouterr().err) == stays


def test_a_rank_that_dies_where_others_begin_to_share_memory_is_a_lost_one():
    # They were told in MPI's words, which elastic.run does not take for a reason to go on.
    text = (
        "import os, signal, wengert as wg\n"
        "from wengert import distributed as dist\n"
        "from wengert.distributed import mpi\n"
        "dist.init_process_group('mpi', timeout=20)\n"
        "die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "if dist.get_rank(): mpi.shared = die\n"
        "try: dist.all_reduce(wg.ones(3))\n"
        "except dist.RankLostError as error: print(error, flush=True)\n"
        "os._exit(0)\n"
    )
    done = run(command(2, [sys.executable, "-c", text], elastic=True))
    assert "rank 0: the beginning of shared memory failed" in done.stdout


@pytest.mark.parametrize("moment", ["comm.Dup", "shared"])
def test_ranks_that_are_left_when_one_dies_while_all_begin_do_not_end_as_mpi_does(moment):
    # What ends with an error before the group is there ran MPI's own end, which at times waits for
    # the dead for ever.
    text = (
        "import atexit, os, signal\n"
        "from wengert import distributed as dist\n"
        "from wengert.distributed import mpi\n"
        "die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "ask = mpi._answered\n"
        "dies = lambda MPI, comm, f: die() if f.__name__ == 'Dup' else ask(MPI, comm, f)\n"
        "if os.environ['OMPI_COMM_WORLD_RANK'] == '1':\n"
        "    mpi.{} = {}\n"
        "atexit.register(print, 'as Python does', flush=True)\n"
        "dist.init_process_group('mpi', timeout=20)\n"
    ).format(*{"comm.Dup": ("_answered", "dies"), "shared": ("shared", "die")}[moment])
    done = run(command(2, [sys.executable, "-c", text], elastic=True))
    assert done.returncode
    assert "RankLostError: rank 0" in done.stdout
    assert "as Python does" not in done.stdout


@pytest.mark.parametrize(
    ("before", "then"),
    [
        ("", "dist.init_process_group('mpi', timeout=3)"),
        ("dist.init_process_group('mpi', timeout=3)", "dist.new_group([0, 1])"),
        ("dist.init_process_group('mpi', timeout=3)", "dist.all_reduce(wg.ones(3))"),
    ],
    ids=["all", "some", "memory"],
)
def test_a_rank_that_stops_while_a_group_begins_is_not_waited_for_for_ever(before, then):
    # MPI waits there in C, where no timeout of ours was looked at.
    text = (
        "import os, time, wengert as wg\n"
        "from wengert import distributed as dist\n"
        "from wengert.distributed import mpi\n"
        f"{before}\n"
        "if os.environ['OMPI_COMM_WORLD_RANK'] == '1': mpi.shared = lambda *_: time.sleep(100)\n"
        f"{then}\n"
    )
    done = ranks(2, "-c", text)
    assert done.returncode
    assert "Timeout (0:00:03)!" in done.stdout


def test_a_killed_rank_ends_the_others():
    done = program(3, "if rank == 1: os.kill(os.getpid(), signal.SIGKILL)\ndist.barrier()\n")
    assert done.returncode != 0


def test_another_number_of_ranks_than_was_meant_is_refused():
    text = "from wengert import distributed as d; d.init_process_group('mpi', world_size=4)"
    done = run([sys.executable, "-c", text])
    assert "MPI was started with 1 rank(s)" in done.stdout
    assert "wengert run --nproc 4" in done.stdout


@pytest.mark.parametrize("name", ["PMI_SIZE", "SLURM_STEP_NUM_TASKS"])
def test_a_launcher_of_another_mpi_is_told_apart(name):
    # Each of four processes was rank 0 of 1, and trained by itself.
    text = "from wengert import distributed as d; d.init_process_group({}); "
    text += "print('size', d.get_world_size())"
    done = run([sys.executable, "-c", text.format("")], **{name: "4"})
    assert done.returncode
    assert "this is one of 4 processes, but for MPI it is alone" in done.stdout
    alone = run([sys.executable, "-c", text.format("world_size=1")], **{name: "4"})
    assert "size 1" in alone.stdout


def test_mpi_without_support_for_threads_is_refused():
    text = (
        "import mpi4py; mpi4py.rc.thread_level = 'single'\n"
        "from mpi4py import MPI\n"
        "from wengert import distributed as d; d.init_process_group()"
    )
    done = run([sys.executable, "-c", text])
    assert "mpi4py.rc.thread_level = 'multiple'" in done.stdout


def test_a_communicator_of_the_users_own_is_taken():
    text = (
        "from mpi4py import MPI\n"
        "import wengert as wg; from wengert import distributed as dist\n"
        "half = MPI.COMM_WORLD.Split(MPI.COMM_WORLD.rank % 2)\n"
        "dist.init_process_group('mpi', comm=half)\n"
        "x = wg.tensor([float(MPI.COMM_WORLD.rank)]); dist.all_reduce(x)\n"
        "print('total', x.item(), dist.get_world_size(), flush=True)\n"
    )
    done = ranks(3, "-c", text, WORLD_SIZE="3")  # of all, as the launcher says
    assert sorted(re.findall(r"total .*", done.stdout)) == ["total 1.0 1", *["total 2.0 2"] * 2]


def test_a_forked_process_is_told():
    done = program(
        1,
        "if (child := os.fork()) == 0:\n"
        "    try: dist.all_reduce(wg.zeros(1))\n"
        "    except dist.DistError as e: print(e, flush=True)\n"
        "    os._exit(0)\n"
        "os.waitpid(child, 0)\n",
    )
    assert "this one was forked after MPI's start" in done.stdout


def test_a_script_sees_its_own_folder_and_not_that_from_which_it_was_started(tmp_path):
    # A file that is called as one of Python's modules ended all workers before the script.
    (tmp_path / "random.py").write_text("raise SystemExit('the wrong one')\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "beside.py").write_text("told = 'found'\n")
    script = "import random, sys, beside, wengert\nprint(beside.told, sys.argv, flush=True)\n"
    (tmp_path / "sub" / "script.py").write_text(script)
    words = ["run", "--nproc", "2", "sub/script.py", "--epochs", "3"]
    begin = f"import os, sys; os.chdir({str(tmp_path)!r}); from wengert.cli import main; "
    done = run([sys.executable, "-P", "-c", f"{begin}sys.exit(main({words!r}))"])
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("found ['sub/script.py', '--epochs', '3']") == 2


def started_by(monkeypatch, words, **variables):
    """What the launcher would run."""
    begun = []
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(launcher, "_wait", lambda words, environment: begun.append(words) or 0)
    assert main(["run", *words, __file__]) == 0
    return begun[0]


def test_the_launcher_takes_the_machines_that_slurm_has_given(monkeypatch):
    # It started as many processes as the first machine has processors, which could talk within it.
    job = {"SLURM_JOB_NODELIST": "n[1-2],m", "SLURM_TASKS_PER_NODE": "16(x2),4"}
    words = started_by(monkeypatch, [], **job)
    assert words[words.index("-n") + 1] == "36"
    assert words[words.index("--host") + 1] == "n1:16,n2:16,m:4"
    assert "btl" not in words
    one = started_by(monkeypatch, [], SLURM_JOB_NODELIST="n1", SLURM_TASKS_PER_NODE="3")
    assert one[one.index("-n") + 1] == "3"
    assert "--host" not in one


@pytest.mark.parametrize("name", ["OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"])
def test_a_launcher_that_was_started_by_another_says_so(name, monkeypatch, capsys):
    # Each of them started processes of its own.
    monkeypatch.setenv(name, "4")
    assert main(["run", __file__]) == 2
    assert "has started this command 4 times" in capsys.readouterr().err


@pytest.mark.parametrize("elsewhere", [{"RAY_ADDRESS": "auto"}, {"RAY_ADDRESS": ""}, {}])
def test_a_script_of_another_machine_need_not_be_on_this_one(elsewhere, monkeypatch):
    # An address of Ray was believed to say so of MPI, too, and an empty one of both.
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    for name, value in elsewhere.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(actors, "room", lambda least: 1)
    monkeypatch.setattr(actors, "attempt", lambda *_: 0)
    there = 0 if elsewhere.get("RAY_ADDRESS") else 2
    assert main(["run", "--engine", "ray", "nosuch.py"]) == there
    assert main(["run", "nosuch.py"]) == 2


def test_the_launcher_sets_what_torchrun_sets_and_starts_again(tmp_path):
    is_started_again(tmp_path)


def test_a_killed_run_goes_on_from_its_last_checkpoint_as_if_nothing_had_happened(tmp_path, capsys):
    example = runpy.run_path(str(ROOT / "examples" / "distributed.py"))
    wg.manual_seed(0)
    weights = example["GPT"](65).state_dict()
    dist.run_threads(example["train"], 2, tmp_path / "whole", 10, None, weights)
    words = ["--nproc", "2", "--max-restarts", "1", "examples/distributed.py", "--steps", "10"]
    folder = tmp_path / "killed"
    folder.mkdir()
    words += ["--folder", str(folder), "--kill", "7"]
    done = run([sys.executable, "-m", "wengert", "run", *words])
    assert done.returncode == 0, done.stdout
    assert "going on after step 5" in done.stdout
    losses = re.findall(r"step +\d+ +loss [\d.]+", done.stdout)
    assert losses == capsys.readouterr().out.splitlines()
    assert len(losses) == 2


@pytest.mark.skipif(not survives(), reason="this MPI ends all ranks when one dies (no ULFM)")
def test_processes_that_are_left_go_on_when_one_is_killed_in_any_phase(tmp_path):
    words = ["--nproc", "4", "--min", "1", "-m", "tests.distributed.surviving", str(tmp_path)]
    done = run([sys.executable, "-m", "wengert", "run", *words])
    for phase in ("in a bucket", "in a commit", "in a checkpoint"):
        assert f"trained to the end, lost one {phase}" in done.stdout, done.stdout
    assert done.returncode == 0, done.stdout


@pytest.mark.skipif(not survives(), reason="this MPI ends all ranks when one dies (no ULFM)")
def test_a_program_that_ends_because_a_rank_was_lost_is_no_success(tmp_path):
    # Of two ranks the one that was left aborted, which mpirun called a success.
    script = tmp_path / "script.py"
    script.write_text(
        "import os, signal, wengert as wg\n"
        "from wengert import distributed as dist\n"
        "dist.init_process_group(timeout=20)\n"
        "if dist.get_rank(): os.kill(os.getpid(), signal.SIGKILL)\n"
        "dist.all_reduce(wg.ones(1))\n"
    )
    done = run([sys.executable, "-m", "wengert", "run", "--nproc", "2", "--min", "1", str(script)])
    assert "A rank was lost" in done.stdout
    assert done.returncode, done.stdout


@pytest.mark.skipif(not survives(), reason="this MPI ends all ranks when one dies (no ULFM)")
def test_a_rank_that_dies_while_others_end_is_not_waited_for(tmp_path):
    # Those that had not yet seen that it was lost waited for ever in MPI's end.
    script = tmp_path / "script.py"
    script.write_text(
        "import os, signal, sys\n"
        "from wengert import distributed as dist\n"
        "dist.init_process_group(timeout=20)\n"
        "rank = dist.get_rank()\n"
        "dist.barrier()\n"
        "if rank == 1: os.kill(os.getpid(), signal.SIGKILL)\n"
        "dist.destroy_process_group()\n"
        "sys.exit(3 * (rank == 2))\n"
    )
    done = run([sys.executable, "-m", "wengert", "run", "--nproc", "3", "--min", "1", str(script)])
    assert done.returncode == 3, done.stdout


@pytest.mark.skipif(not survives(), reason="this MPI ends all ranks when one dies (no ULFM)")
@pytest.mark.parametrize(
    ("last", "status"), [("os.kill(os.getpid(), signal.SIGKILL)", 1), ("sys.exit()", 0), ("0", 0)]
)
def test_a_program_all_of_whose_processes_have_died_is_no_success(last, status, tmp_path):
    # mpirun called it one: where a rank died while MPI started, the others crashed there.
    script = tmp_path / "script.py"
    script.write_text(
        "import os, signal, sys\n"
        "if os.environ['RANK'] == '1': os.kill(os.getpid(), signal.SIGKILL)\n" + last
    )
    done = run([sys.executable, "-m", "wengert", "run", "--nproc", "2", "--min", "1", str(script)])
    assert done.returncode == status, done.stdout
    assert ("all processes have died" in done.stdout) == bool(status)


def is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_launcher_that_is_told_to_end_ends_its_processes(tmp_path):
    # They went on without it, as did mpirun.
    script = tmp_path / "script.py"
    script.write_text("import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(50)\n")
    words = [sys.executable, "-m", "wengert", "run", "--nproc", "1", str(script)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, cwd=ROOT, text=True) as launcher:
        assert launcher.stdout is not None
        worker = int(launcher.stdout.readline())
        launcher.terminate()
        assert launcher.wait(30) == 128 + signal.SIGTERM
    deadline = time.monotonic() + 10
    while is_there(worker) and time.monotonic() < deadline:  # until it is forgotten, too
        time.sleep(0.1)
    assert not is_there(worker)


@pytest.mark.skipif(not survives(), reason="this MPI ends all ranks when one dies (no ULFM)")
def test_fewer_processes_than_the_least_begin_again_at_the_newest_checkpoint(tmp_path):
    words = ["--nproc", "2", "--min", "2", "--max-restarts", "1", "examples/distributed.py"]
    words += ["--steps", "6", "--folder", str(tmp_path), "--kill", "5"]
    done = run([sys.executable, "-m", "wengert", "run", *words])
    assert done.returncode == 0, done.stdout
    assert "1 rank(s) are left, fewer than the 2" in done.stdout
    assert "going on after step 5, on 2" in done.stdout


def test_without_mpi_the_error_says_how_to_get_it(tmp_path):
    (tmp_path / "mpi4py").mkdir()
    (tmp_path / "mpi4py/__init__.py").write_text("raise ImportError('none here')")
    text = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
    text += "from wengert import distributed as d; d.init_process_group()"
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=False
    )
    assert 'pip install "wengert[mpi]"' in done.stderr
