"""Around training: runs that are killed and go on bit for bit, metrics, early stopping."""

import math
import random
import signal
import subprocess
import sys
import textwrap
import time

import pytest

import wengert as wg
from tests.sweeps import swept
from wengert import nn
from wengert.utils.data import DataLoader, TensorDataset
from wengert.utils.training import Accuracy, EarlyStopping, Mean, TrainingState, progress

RUN = textwrap.dedent(
    """
    import os, random, signal, sys
    import numpy as np
    import wengert as wg
    from wengert import nn, optim
    from wengert.utils.data import DataLoader, TensorDataset
    from wengert.utils.training import TrainingState

    path, stop, workers, make = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    wg.manual_seed(1 if not os.path.exists(path) else 77)  # a resumed run must not depend on it
    random.seed(os.path.exists(path))
    np.random.seed(os.path.exists(path))
    rng = np.random.default_rng(0)
    images, labels = rng.standard_normal((40, 6)), rng.integers(3, size=40)
    data = TensorDataset(wg.tensor(images), wg.tensor(labels))
    net = nn.Sequential(
        nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Dropout(0.3), nn.ReLU(), nn.Linear(8, 3)
    ).double()
    optimizer = getattr(optim, make)(net.parameters(), lr=0.01)
    schedule = optim.lr_scheduler.SequentialLR(
        optimizer,
        [optim.lr_scheduler.MultiStepLR(optimizer, [3, 7]),
         optim.lr_scheduler.CosineAnnealingLR(optimizer, 20)],
        [10],
    )
    loader = DataLoader(data, 8, shuffle=True, num_workers=workers)
    state = TrainingState(net=net, optimizer=optimizer, schedule=schedule, loader=loader)
    step, first = 0, 0
    if os.path.exists(path):
        extra = state.load(path)
        step, first = extra["step"], extra["epoch"]
    for epoch in range(first, 4):
        for x, y in loader:
            noise = random.random() + np.random.rand()
            loss = nn.functional.cross_entropy(net(x * (1 + 0.1 * noise)), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            step += 1
            print(step, loss.item().hex(), flush=True)
            if step % 3 == 0:
                state.save(path, step=step, epoch=epoch)
            if step == stop:
                os.kill(os.getpid(), signal.SIGKILL)
    print("end", wg.cat([p.flatten() for p in net.parameters()]).sum().item().hex())
    """
)


def run(path, stop, workers, make):
    command = [sys.executable, "-W", "ignore", "-c", RUN, str(path), str(stop), str(workers), make]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize(
    "loaded", swept({"alone": (0, "Adam"), "by two workers": (2, "NAdam")}, "alone")
)
def test_a_killed_run_goes_on_bit_for_bit(tmp_path, loaded):
    workers, make = loaded
    whole = run(tmp_path / "whole.wg", 0, workers, make)
    assert whole.returncode == 0, whole.stderr
    lines = whole.stdout.split("\n")
    assert len(lines) == 22
    path = tmp_path / "run.wg"
    for stop in (4, 11, 16):  # in the middle of epochs, one or two steps after a checkpoint
        killed = run(path, stop, workers, make)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
    resumed = run(path, 0, workers, make)
    assert resumed.returncode == 0, resumed.stderr
    assert resumed.stdout.split("\n") == lines[15:]  # the last checkpoint was after step 15


WRITER = textwrap.dedent(
    """
    import sys
    import wengert as wg
    n = 0
    while True:
        n += 1
        wg.save({"n": n, "x": wg.full((400_000,), float(n))}, sys.argv[1])
        print(n, flush=True)
    """
)


def test_a_writer_killed_at_any_moment_leaves_a_whole_file(tmp_path):
    path = tmp_path / "state.wg"
    rng = random.Random(0)
    for _ in range(6):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True
        )
        writer.stdout.readline()
        time.sleep(rng.random() * 0.05)
        writer.kill()
        finished = writer.communicate()[0].split()
        state = wg.load(path)
        assert bool((state["x"] == state["n"]).all())
        # What was reported as written is there, or what was written after it.
        assert state["n"] >= int(finished[-1] if finished else 1)


def test_other_parts_are_refused_before_anything_changes(tmp_path):
    net, other = nn.Linear(2, 2), nn.Linear(2, 2)
    path = tmp_path / "x.wg"
    TrainingState(net=net).save(path)
    before = other.weight.clone()
    with pytest.raises(RuntimeError, match=r"missing there are \['loader'\]"):
        TrainingState(net=other, loader=DataLoader(TensorDataset(wg.ones(2)))).load(path)
    assert wg.equal(before, other.weight)
    with pytest.raises(TypeError, match="epoch is a int, which has no state_dict"):
        TrainingState(epoch=3)
    wg.save({"a": 1}, path)
    with pytest.raises(RuntimeError, match="not written by TrainingState"):
        TrainingState(net=net).load(path)


def test_metrics():
    accuracy = Accuracy()
    accuracy.update(wg.tensor([[1.0, 0.0], [0.0, 1.0]]), wg.tensor([0, 0]))
    accuracy.update(wg.tensor([2, 3, 4, 5]), wg.tensor([2, 3, 4, 0]))
    assert accuracy.value == pytest.approx(4 / 6)
    with pytest.raises(ValueError, match="do not belong to targets"):
        accuracy.update(wg.ones(3), wg.ones(4))
    mean = Mean()
    assert math.isnan(mean.value)
    mean.update(wg.tensor(3.0, requires_grad=True), 2)
    assert mean.value == 3.0
    mean.reset()
    assert math.isnan(mean.value)


def test_early_stopping_restores_the_best_state():
    net = nn.Linear(1, 1)
    stopping = EarlyStopping(patience=2, mode="max", min_delta=0.1, module=net)
    with pytest.raises(RuntimeError, match="kept no state"):
        stopping.restore()
    stops = []
    for value in (0.5, 0.9, 0.95, 0.7):
        nn.init.constant_(net.weight, value)
        stops.append(stopping.step(wg.tensor(value)))
    assert stops == [False, False, False, True]
    stopping.restore()
    assert net.weight.item() == pytest.approx(0.9)
    again = EarlyStopping(patience=2, mode="max", module=net)
    again.load_state_dict(stopping.state_dict())
    assert again.step(0.0)


def test_a_loss_that_is_no_number_stops_the_run():
    with pytest.raises(FloatingPointError, match="has become nan"):
        EarlyStopping().step(math.nan)
    stopping = EarlyStopping(patience=2, check_finite=False)
    assert [stopping.step(x) for x in (1.0, math.nan, math.inf)] == [False, False, True]


def test_progress_gives_all_items_and_shows_nothing_in_a_file(capsys):
    loss = Mean()
    for x in progress(iter([1, 2, 3]), "epoch", loss=loss):
        loss.update(x)
    assert loss.value == 2.0
    assert capsys.readouterr().out.strip() == ""
