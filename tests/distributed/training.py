"""What training on several ranks must do, whatever the engine: more checks for `checks.py`."""

from __future__ import annotations

import itertools
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.distributed.checks import check, here
from wengert import distributed as dist
from wengert import nn
from wengert.distributed import checkpoint, hooks
from wengert.distributed.optim import ZeroRedundancyOptimizer
from wengert.nn.parallel import DistributedDataParallel as DDP


def network(seed: int = 0, *sizes: int) -> Any:
    """A network whose parameters do not depend on the generator that threads share."""
    sizes = sizes or (3, 5, 2)
    layers: list[Any] = []
    for a, b in itertools.pairwise(sizes):
        layers += [nn.Linear(a, b), nn.Tanh()]
    made = nn.Sequential(*layers[:-1])
    with wg.no_grad():
        for k, p in enumerate(made.parameters()):
            numbers = np.random.default_rng(100 * seed + k).standard_normal(p.shape)
            p.copy_(wg.from_numpy(numbers.astype(np.float32)))
    return made


def batch(rank: int, n: int = 4) -> tuple[Any, Any]:
    r = np.random.default_rng(1000 + rank)
    x, y = r.standard_normal((n, 3)), r.standard_normal((n, 2))
    return wg.from_numpy(x.astype(np.float32)), wg.from_numpy(y.astype(np.float32))


def step(net: Any, optimizer: Any, x: Any, y: Any) -> float:
    optimizer.zero_grad()
    loss = ((net(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
    return loss.item()


def same(one: Any, other: Any, **tolerance: Any) -> None:
    for a, b in zip(one.parameters(), other.parameters(), strict=True):
        np.testing.assert_allclose(
            a.detach(), b.detach(), **({"rtol": 1e-4, "atol": 1e-6} | tolerance)
        )


def same_bits_everywhere(net: Any) -> None:
    for p in net.parameters():
        got = [wg.zeros_like(p) for _ in range(dist.get_world_size())]
        dist.all_gather(got, p.detach())
        assert all(np.array_equal(got[0], g) for g in got)


OPTIMIZERS = {
    "SGD": {"lr": 0.1, "momentum": 0.9}, "Adam": {"lr": 0.01}, "AdamW": {"lr": 0.01},
    "RMSprop": {"lr": 0.01}, "Adagrad": {"lr": 0.1}, "Adadelta": {}, "Adamax": {}, "NAdam": {},
    "RAdam": {}, "ASGD": {},
}  # fmt: skip


@check
def replicas_train_as_one_process_does_with_the_whole_batch():
    rank, size = here()
    for name, settings in OPTIMIZERS.items():
        alone, net = network(), DDP(network(rank), bucket_cap_mb=5e-5)
        mine = getattr(wg.optim, name)(net.parameters(), **settings)
        theirs = getattr(wg.optim, name)(alone.parameters(), **settings)
        parts = [batch(r) for r in range(size)]
        whole = [wg.cat(side) for side in zip(*parts, strict=True)]
        for _ in range(4):
            step(net, mine, *parts[rank])
            step(alone, theirs, *whole)
        same(net, alone)
        same_bits_everywhere(net)


@check
def gradients_accumulate_without_being_sent():
    rank, size = here()
    net, alone = DDP(network(), gradient_as_bucket_view=True), network()
    first, second = batch(rank), batch(rank + size)
    with net.no_sync():
        ((net(first[0]) - first[1]) ** 2).sum().backward()
    ((net(second[0]) - second[1]) ** 2).sum().backward()
    for r in range(2 * size):
        x, y = batch(r)
        ((alone(x) - y) ** 2).sum().backward()
    for p, q in zip(net.parameters(), alone.parameters(), strict=True):
        np.testing.assert_allclose(p.grad, q.grad / size, rtol=1e-4, atol=1e-5)


@check
def a_parameter_that_is_used_outside_of_the_module_too_gets_its_whole_gradient():
    # What the module gave was averaged as soon as it was there, and then was all the gradient.
    rank, size = here()
    net, alone = DDP(network(), bucket_cap_mb=5e-5), network()
    for x, y in [batch(rank)]:
        loss = ((net(x) - y) ** 2).sum() + sum((p**3).sum() for p in net.parameters())
        loss = loss + net.module[0].weight.sum() * net.module[0].weight[0, 0]
        loss.backward()
    for x, y in (batch(r) for r in range(size)):
        loss = ((alone(x) - y) ** 2).sum() + sum((p**3).sum() for p in alone.parameters())
        (loss + alone[0].weight.sum() * alone[0].weight[0, 0]).backward()
    for p, q in zip(net.parameters(), alone.parameters(), strict=True):
        np.testing.assert_allclose(p.grad, q.grad / size, rtol=1e-4, atol=1e-5)


@check
def a_module_whose_group_was_destroyed_averages_no_more():
    rank, size = here()
    own = dist.new_group(range(size))
    net = DDP(network(), process_group=own)
    optimizer = wg.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        step(net, optimizer, *batch(rank))
    if size == 1:
        return  # which has nothing to average
    dist.destroy_process_group(own)
    with pytest.raises(dist.DistError, match="has been destroyed"):
        step(net, optimizer, *batch(rank))


@check
def a_gradient_that_was_kept_is_not_written_by_later_steps_whose_bucket_it_lay_in():
    net = DDP(network(), bucket_cap_mb=5e-5)
    optimizer = wg.optim.SGD(net.parameters(), lr=0.1)
    x, y = batch(dist.get_rank())
    step(net, optimizer, x, y)
    kept = [p.grad for p in net.parameters()]
    before = [g.numpy().copy() for g in kept]
    step(net, optimizer, x, y)
    for g, numbers, p in zip(kept, before, net.parameters(), strict=True):
        np.testing.assert_array_equal(g, numbers)
        assert g is not p.grad
    held = [p.grad for p in net.parameters()]
    optimizer.zero_grad(set_to_none=False)
    ((net(x) - y) ** 2).mean().backward()
    for g, p in zip(held, net.parameters(), strict=True):
        assert g is p.grad


@check
def full_buckets_are_sent_while_the_sweep_goes_on():
    rank, size = here()
    net = DDP(network(0, 3, 8, 8, 2), bucket_cap_mb=1e-5)
    reducer, said = net._reducer[0], []
    send = reducer.send
    reducer.send = lambda bucket: (said.append("send"), send(bucket))
    for _ in range(3):
        said.clear()
        x = batch(rank)[0].requires_grad_()
        hidden = net.module[1].register_forward_hook(
            lambda m, a, y: y.register_hook(lambda g: said.append("first layer")) and None
        )
        net(x).sum().backward()
        hidden.remove()
    if size > 1:
        assert len(reducer.buckets) == 6
        assert said == ["send"] * 4 + ["first layer"] + ["send"] * 2
    assert all(isinstance(p, nn.Parameter) for p in net.parameters())


@check
def a_forward_pass_that_fails_leaves_the_parameters_in_their_places():
    net = DDP(network())
    before = list(net.parameters())
    with pytest.raises(RuntimeError):
        net(wg.zeros(2, 7))
    assert all(p is q for p, q in zip(net.parameters(), before, strict=True))
    net(batch(here()[0])[0]).sum().backward()
    same_bits_everywhere(net)


@check
def a_parameter_used_twice_is_averaged_once():
    rank, size = here()
    net = DDP(Twice())
    alone = Twice()
    for k in range(3):
        net(batch(rank + k)[0]).square().sum().backward()  # gradients accumulate
        for r in range(size):
            (alone(batch(r + k)[0]).square().sum() / size).backward()
        # What came before is averaged already, and alike on all ranks.
        for p, q in zip(net.parameters(), alone.parameters(), strict=True):
            np.testing.assert_allclose(p.grad, q.grad, rtol=1e-4)


class Twice(nn.Module):
    """A module that calls a layer twice, and another by its weight alone."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = network(4, 3, 3), network(5, 3, 3)

    def forward(self, x: Any) -> Any:
        return self.a(self.a(x)) @ self.b[0].weight + self.b[0].bias


class Branches(nn.Module):
    """A module whose result depends on one of two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = network(1, 3, 2), network(2, 3, 2), network(3, 3, 2)

    def forward(self, x: Any, first: bool) -> Any:
        return self.a(x) if first else self.b(x)


@check
def parameters_that_no_loss_depends_on_are_left_alone():
    rank, size = here()
    if size == 1:
        return
    net = DDP(Branches(), find_unused_parameters=True)
    x, _ = batch(rank)
    for _ in range(2):
        net.zero_grad()
        net(x, rank == 0).sum().backward()
        expected = sum(batch(r)[0].sum(0) for r in range(1, size)) / size
        np.testing.assert_allclose(net.module.b[0].weight.grad[0], expected, rtol=1e-5)
        np.testing.assert_allclose(
            net.module.a[0].weight.grad[0], batch(0)[0].sum(0) / size, rtol=1e-5
        )
        assert net.module.c[0].weight.grad is None


@check
def a_parameter_without_a_gradient_is_named():
    rank, size = here()
    if size == 1:
        return
    net = DDP(Branches())
    x, _ = batch(rank)
    net(x, True).sum().backward()
    with pytest.raises(RuntimeError, match=r"no gradient came for b\.0\.weight, b\.0\.bias, c\.0"):
        net(x, True)
    dist.barrier()


@check
def hooks_decide_how_gradients_travel():
    rank, size = here()
    parts = [batch(r) for r in range(size)]
    for hook, tolerance in (
        (hooks.allreduce_hook, 1e-5),
        (hooks.fp16_compress_hook, 2e-3),
        (hooks.bf16_compress_hook, 2e-2),
    ):
        net, alone = DDP(network()), network()
        net.register_comm_hook(None, hook)
        with pytest.raises(RuntimeError, match="only be called once"):
            net.register_comm_hook(None, hook)
        ((net(parts[rank][0]) - parts[rank][1]) ** 2).sum().backward()
        for x, y in parts:
            ((alone(x) - y) ** 2).sum().backward()
        for p, q in zip(net.parameters(), alone.parameters(), strict=True):
            scale = np.abs(q.grad).max()
            np.testing.assert_allclose(p.grad, q.grad / size, atol=float(tolerance * scale))


@check
def thin_matrices_carry_large_gradients():
    rank, size = here()
    state = hooks.PowerSGDState(None, matrix_approximation_rank=2, start_powerSGD_iter=2)
    net, alone = DDP(network(0, 3, 32, 2)), network(0, 3, 32, 2)
    net.register_comm_hook(state, hooks.powerSGD_hook)
    mine, theirs = (wg.optim.SGD(m.parameters(), lr=0.02) for m in (net, alone))
    x, y = (wg.cat(side) for side in zip(*[batch(r) for r in range(size)], strict=True))
    first = ((alone(x) - y) ** 2).mean().item()
    for _ in range(40):
        step(net, mine, *batch(rank))
        step(alone, theirs, x, y)
    same_bits_everywhere(net)
    reached, wanted = (((m.module if m is net else m)(x) - y).square().mean() for m in (net, alone))
    assert abs(reached.item() - wanted.item()) < 0.1 * first


@check
def buffers_are_those_of_the_first_rank():
    rank, size = here()
    if size == 1:
        return
    net = DDP(nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)))
    net(batch(rank)[0]).sum().backward()
    mine = net.module[1].running_mean.clone()
    net(batch(rank)[0])
    got = [wg.zeros(2) for _ in range(size)]
    dist.all_gather(got, mine)
    assert rank == 0 or not np.array_equal(got[0], got[rank])
    with wg.no_grad():
        expected = got[0] * 0.9 + 0.1 * net.module[0](batch(rank)[0]).mean(0)
    np.testing.assert_allclose(net.module[1].running_mean, expected, rtol=1e-4)


@check
def ranks_with_fewer_batches_wait_for_the_others():
    rank, size = here()
    net, alone = DDP(network(), bucket_cap_mb=5e-5), network()
    mine, theirs = (wg.optim.SGD(m.parameters(), lr=0.1) for m in (net, alone))
    with net.join():
        for k in range(2 + rank):
            step(net, mine, *batch(10 * k + rank))
    for k in range(1 + size):
        theirs.zero_grad()
        for r in range(size):
            if k < 2 + r:
                x, y = batch(10 * k + r)
                (((alone(x) - y) ** 2).mean() / size).backward()
        theirs.step()
    same(net, alone)
    same_bits_everywhere(net)


def agree(compiled, net, alone, theirs):
    """A compiled step does to a network what an eager one does to its twin."""
    for k in range(4):
        x, y = batch(dist.get_rank() + 10 * k)
        compiled(x, y)
        step(alone, theirs, x, y)
    same(net, alone)
    same_bits_everywhere(net)


@check
def a_compiled_step_averages_too():
    _, size = here()
    net, alone = DDP(network()), DDP(network())
    mine, theirs = (wg.optim.SGD(m.parameters(), lr=0.1) for m in (net, alone))

    @wg.compile
    def compiled(x, y):
        mine.zero_grad()
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        mine.step()
        return loss

    agree(compiled, net, alone, theirs)
    if size > 1:
        text = str(compiled.program)
        assert text.count("= start(") == text.count("= wait(") == 1


@check
def a_compiled_step_computes_gradients_where_other_ranks_read_them():
    # They were joined in memory of the program's, and copied from there.
    _, size = here()
    net, alone = DDP(network()), DDP(network())
    mine, theirs = (wg.optim.SGD(n.parameters(), lr=0.1) for n in (net, alone))
    compiled = wg.compile(lambda x, y: step(net, mine, x, y))
    agree(compiled, net, alone, theirs)
    if size > 1:
        assert "concatenate" not in str(compiled.explain())
        outbox = net._reducer[0].buckets[0].outbox
        places = [place.array.ctypes.data for place in outbox.places]
        assert len(set(places)) == (2 if places else 0)
        assert not places or outbox.tensor._array.ctypes.data == places[0]


@check
def a_compiled_step_takes_buffers_of_the_first_rank_too():
    # They were brought while the step was compiled, and the program did not hold together.
    net, alone = (DDP(nn.Sequential(network(0, 3, 2), nn.BatchNorm1d(2))) for _ in range(2))
    mine, theirs = (wg.optim.SGD(m.parameters(), lr=0.1) for m in (net, alone))
    agree(wg.compile(lambda x, y: step(net, mine, x, y)), net, alone, theirs)
    for one, other in zip(net.buffers(), alone.buffers(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4)


@check
def a_compiled_step_sends_buckets_while_it_goes_back():
    _, size = here()
    net, alone = (DDP(network(0, 3, 40, 40, 2), bucket_cap_mb=0.005) for _ in range(2))
    mine, theirs = (wg.optim.SGD(m.parameters(), lr=0.001) for m in (net, alone))
    compiled = wg.compile(lambda x, y: step(net, mine, x, y))
    agree(compiled, net, alone, theirs)
    if size > 1:
        order = "".join(
            line.split(" = ")[1][0] if "start(" in line or "wait(" in line else "@"
            for line in str(compiled.program).splitlines()
            if re.search(r" = (start|wait)\(| @ ", line)
        )
        assert re.fullmatch(r"@+s@+s@*sw+", order), order
        assert "all_reduce" in str(compiled.explain())


@check
def modules_that_differ_are_refused():
    rank, size = here()
    if size == 1:
        return
    with pytest.raises(dist.DistError, match="ranks have different parameters"):
        DDP(network(0, 3, 4 + rank, 2))
    with pytest.raises(RuntimeError, match="not needed when a module"):
        DDP(nn.Tanh())


# ---- what else belongs to training --------------------------------------------------------------


@check
def an_optimizer_divided_among_ranks_does_what_a_whole_one_does():
    rank, size = here()
    for name in ("Adam", "SGD"):
        settings = OPTIMIZERS[name]
        net, alone = DDP(network()), network()
        mine = ZeroRedundancyOptimizer(net.parameters(), getattr(wg.optim, name), **settings)
        theirs = getattr(wg.optim, name)(alone.parameters(), **settings)
        schedules = [wg.optim.lr_scheduler.StepLR(o, 2, 0.5) for o in (mine, theirs)]
        x, y = (wg.cat(side) for side in zip(*[batch(r) for r in range(size)], strict=True))
        for _ in range(4):
            step(net, mine, *batch(rank))
            step(alone, theirs, x, y)
            [s.step() for s in schedules]
        same(net, alone)
        same_bits_everywhere(net)
        held = sum(p.numel() for p in mine.optim.state)
        everything = [p.numel() for p in alone.parameters()]
        assert held <= sum(everything) / size + max(everything)
        mine.consolidate_state_dict(0)
        if rank:
            with pytest.raises(RuntimeError, match="has not been consolidated on this rank"):
                mine.state_dict()
        else:
            assert set(mine.state_dict()["state"]) == set(theirs.state_dict()["state"])


@check
def an_optimizer_divided_among_ranks_works_in_a_compiled_step():
    # It wrote the settings of its groups into others, which a compiled step refused.
    rank, size = here()
    for name in ("Adam", "SGD", "Adagrad"):
        net, alone = DDP(network()), network()
        mine = ZeroRedundancyOptimizer(
            net.parameters(), getattr(wg.optim, name), **OPTIMIZERS[name]
        )
        theirs = getattr(wg.optim, name)(alone.parameters(), **OPTIMIZERS[name])
        schedules = [wg.optim.lr_scheduler.StepLR(o, 2, 0.5) for o in (mine, theirs)]
        x, y = (wg.cat(side) for side in zip(*[batch(r) for r in range(size)], strict=True))

        @wg.compile
        def compiled(x, y, net=net, mine=mine):
            mine.zero_grad()
            loss = ((net(x) - y) ** 2).mean()
            loss.backward()
            mine.step()
            return loss

        for _ in range(4):
            compiled(*batch(rank))
            step(alone, theirs, x, y)
            [s.step() for s in schedules]
        same(net, alone)
        same_bits_everywhere(net)
        assert {id(p) for p in mine.optim.state} <= {id(p) for p in mine._mine[0]}
        assert str(compiled.program).count("'broadcast'") >= 2 * (size > 1)


@check
def a_divided_optimizer_calls_a_closure_once_which_clears_all_gradients():
    rank, size = here()
    net, alone = DDP(network()), network()
    mine = ZeroRedundancyOptimizer(net.parameters(), wg.optim.SGD, lr=0.1)
    theirs = wg.optim.SGD(alone.parameters(), lr=0.1)
    x, y = (wg.cat(side) for side in zip(*[batch(r) for r in range(size)], strict=True))
    for model, optimizer, given in ((net, mine, batch(rank)), (alone, theirs, (x, y))):

        def closure(model=model, optimizer=optimizer, given=given):
            optimizer.zero_grad()
            loss = ((model(given[0]) - given[1]) ** 2).mean()
            loss.backward()
            return loss

        for _ in range(3):
            optimizer.step(closure)
    same(net, alone)
    same_bits_everywhere(net)
    with pytest.raises(NotImplementedError, match="no rank can update a share by itself"):
        ZeroRedundancyOptimizer(net.parameters(), wg.optim.LBFGS)


@check
def normalization_over_all_ranks_is_that_of_the_whole_batch():
    rank, size = here()
    parts = [
        wg.from_numpy(np.random.default_rng(r).standard_normal((r + 2, 3, 4))) for r in range(size)
    ]
    whole = nn.BatchNorm1d(3).double()
    shared = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm1d(3).double()))
    x, mine = (t.clone().requires_grad_() for t in (wg.cat(parts), parts[rank]))
    expected, found = whole(x), shared(mine)
    start = sum(len(p) for p in parts[:rank])
    stop = start + len(mine)
    np.testing.assert_allclose(found.detach(), expected[start:stop].detach(), atol=1e-6)
    (expected**3).sum().backward()
    (found**3).sum().backward()
    np.testing.assert_allclose(mine.grad, x.grad[start:stop], atol=1e-5)
    np.testing.assert_allclose(shared[0].running_var, whole.running_var, rtol=1e-6)
    np.testing.assert_allclose(shared[0].running_mean, whole.running_mean, rtol=1e-6)
    shared.eval()
    assert isinstance(shared[0], nn.SyncBatchNorm)
    with wg.no_grad():
        np.testing.assert_allclose(shared(mine), whole.eval()(mine), rtol=1e-5)


def shared_folder() -> Path:
    found = [tempfile.mkdtemp()] if dist.get_rank() == 0 else [None]
    dist.broadcast_object_list(found, 0)
    return Path(found[0])


@check
def checkpoints_are_written_by_all_and_read_by_any_number():
    rank, size = here()
    folder = shared_folder()
    net = DDP(network())
    optimizer = ZeroRedundancyOptimizer(net.parameters(), wg.optim.Adam, lr=0.01)
    for _ in range(2):
        step(net, optimizer, *batch(rank))
    state = {"net": net.module.state_dict(), "optimizer": optimizer.shard_state_dict(), "step": 2}
    assert checkpoint.latest(folder) is None
    checkpoint.save(state | {"mine": {f"of {rank}": [wg.ones(2), 3.5]}}, checkpoint_id=folder / "2")
    assert len(list((folder / "2").glob("rank*"))) == size
    assert checkpoint.latest(folder) == folder / "2"
    # One rank reads what all have written.
    alone = network(5)
    found = {"net": alone.state_dict(), "step": 0}
    checkpoint.load(found, checkpoint_id=folder / "2", no_dist=True)
    same(alone, net)
    assert found["step"] == 2
    everything = checkpoint.read(folder / "2")
    assert sorted(everything["mine"]) == [f"of {r}" for r in range(size)]
    assert everything["mine"][f"of {size - 1}"][1] == 3.5
    whole = wg.optim.Adam(alone.parameters(), lr=0.01)
    whole.load_state_dict(everything["optimizer"])
    again = DDP(network(7))
    again.module.load_state_dict(everything["net"])
    mine = ZeroRedundancyOptimizer(again.parameters(), wg.optim.Adam, lr=0.5)
    mine.load_state_dict(everything["optimizer"])
    x, y = (wg.cat(side) for side in zip(*[batch(r) for r in range(size)], strict=True))
    step(net, optimizer, *batch(rank))
    step(again, mine, *batch(rank))
    step(alone, whole, x, y)
    same(again, net, rtol=1e-7)
    same(alone, net)
    with pytest.raises(KeyError, match=r"has no entry net\.absent"):
        checkpoint.load({"net": {"absent": wg.ones(1)}}, checkpoint_id=folder / "2")
    dist.barrier()
    if rank == 0:
        (folder / "2" / "index.json").unlink()
    dist.barrier()
    assert checkpoint.latest(folder) is None
    with pytest.raises(dist.DistError, match="no complete checkpoint"):
        checkpoint.load({}, checkpoint_id=folder / "2")
    dist.barrier()
    if rank == 0:
        shutil.rmtree(folder)
