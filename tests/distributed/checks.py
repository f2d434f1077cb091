"""What every engine must do, as functions that all ranks of a group run.

`test_threads.py` runs them on threads, `test_mpi.py` on processes under mpirun.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import distributed as dist
from wengert.distributed import functional
from wengert.distributed.collectives import COLLECTIVES, ReduceOp

CHECKS: dict[str, Callable[[], None]] = {}


def check(function: Callable[[], None]) -> Callable[[], None]:
    CHECKS[function.__name__] = function
    return function


def here() -> tuple[int, int]:
    return dist.get_rank(), dist.get_world_size()


def block(rank: int, *shape: int, dtype: Any = np.float64) -> Any:
    """What a rank has: numbers that tell it from others."""
    return (np.arange(np.prod(shape)).reshape(shape) + 1 + 100 * rank).astype(dtype)


def tensor(rank: int, *shape: int, dtype: Any = np.float64) -> Any:
    return wg.from_numpy(block(rank, *shape, dtype=dtype))


# ---- collectives --------------------------------------------------------------------------------


@check
def tensors_are_combined_in_place_by_every_operation():
    rank, size = here()
    for op, dtype in itertools.product(ReduceOp, (np.float64, np.float32, np.int64, np.float16)):
        bitwise = op in (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)
        if bitwise != (dtype is np.int64) and (bitwise or op is ReduceOp.AVG):
            continue
        if op is ReduceOp.AVG and dtype is np.int64:
            continue
        x = wg.from_numpy((block(0, 2, 3) % 3 + rank).astype(dtype))
        blocks = [(block(0, 2, 3) % 3 + r).astype(dtype) for r in range(size)]
        dist.all_reduce(x, op)
        expected = op.function.reduce(np.stack(blocks)) / (size if op is ReduceOp.AVG else 1)
        np.testing.assert_allclose(x.numpy(), expected, rtol=1e-3, err_msg=f"{op} {dtype}")


@check
def the_largest_of_numbers_with_a_nan_is_nan():
    rank, size = here()
    x = wg.tensor([float("nan") if rank == size - 1 else 1.0])
    dist.all_reduce(x, ReduceOp.MAX)
    assert bool(x.isnan())


@check
def roots_give_and_take():
    rank, size = here()
    for root in range(size):
        x = tensor(rank, 3)
        dist.broadcast(x, root)
        np.testing.assert_array_equal(x.numpy(), block(root, 3))
        y = tensor(rank, 3)
        dist.reduce(y, root)
        total = sum(block(r, 3) for r in range(size))
        np.testing.assert_array_equal(y.numpy(), total if rank == root else block(rank, 3))
        got = [wg.zeros(2, 2, dtype=wg.float64) for _ in range(size)]
        dist.gather(tensor(rank, 2, 2), got if rank == root else None, root)
        if rank == root:
            np.testing.assert_array_equal(got[size - 1].numpy(), block(size - 1, 2, 2))
        mine = wg.zeros(2, dtype=wg.float64)
        parts = [tensor(10 * root + r, 2) for r in range(size)] if rank == root else None
        dist.scatter(mine, parts, root)
        np.testing.assert_array_equal(mine.numpy(), block(10 * root + rank, 2))


@check
def stacks_go_to_all_and_are_reduced():
    rank, size = here()
    everything = np.stack([block(r, 2, 3) for r in range(size)])
    got = [wg.zeros(2, 3, dtype=wg.float64) for _ in range(size)]
    dist.all_gather(got, tensor(rank, 2, 3))
    np.testing.assert_array_equal(np.stack(got), everything)
    for shape in ((size, 2, 3), (2 * size, 3)):
        whole = wg.zeros(*shape, dtype=wg.float64)
        dist.all_gather_into_tensor(whole, tensor(rank, 2, 3))
        np.testing.assert_array_equal(whole.numpy(), everything.reshape(shape))
    out = wg.zeros(3, dtype=wg.float64)
    dist.reduce_scatter(out, [tensor(rank + r, 3) for r in range(size)])
    np.testing.assert_array_equal(out.numpy(), sum(block(r + rank, 3) for r in range(size)))
    dist.reduce_scatter_tensor(out, wg.cat([tensor(rank + r, 3) for r in range(size)]))
    np.testing.assert_array_equal(out.numpy(), sum(block(r + rank, 3) for r in range(size)))


@check
def all_send_to_all_also_parts_of_different_lengths():
    rank, size = here()
    out = wg.zeros(2 * size, dtype=wg.float64)
    dist.all_to_all_single(out, wg.cat([tensor(10 * rank + r, 2) for r in range(size)]))
    expected = np.concatenate([block(10 * r + rank, 2) for r in range(size)])
    np.testing.assert_array_equal(out.numpy(), expected)
    got = [wg.zeros(r + 1, dtype=wg.float64) for r in range(size)]
    dist.all_to_all(got, [tensor(10 * rank + r, rank + 1) for r in range(size)])
    for r in range(size):
        np.testing.assert_array_equal(got[r].numpy(), block(10 * r + rank, r + 1))
    joined = wg.zeros(size * (size + 1) // 2, dtype=wg.float64)
    dist.all_to_all_single(
        joined,
        wg.cat([tensor(10 * rank + r, rank + 1) for r in range(size)]),
        [r + 1 for r in range(size)],
        [rank + 1] * size,
    )
    np.testing.assert_array_equal(joined.numpy(), wg.cat(got).numpy())


@check
def memory_in_pieces_and_leaves_take_what_arrives():
    rank, size = here()
    x = tensor(rank, 4, 4)
    dist.all_reduce(x.T[::2])
    expected = block(rank, 4, 4)
    expected.T[::2] = sum(block(r, 4, 4).T[::2] for r in range(size))
    np.testing.assert_array_equal(x.numpy(), expected)
    leaf = tensor(rank, 2).requires_grad_()
    before = leaf._version
    dist.broadcast(leaf, 0)
    assert leaf.is_leaf
    assert leaf.requires_grad
    assert leaf._version > before
    np.testing.assert_array_equal(leaf.detach().numpy(), block(0, 2))
    number = wg.tensor(float(rank))
    dist.all_reduce(number)
    assert number.item() == sum(range(size))
    assert number.shape == ()
    empty = wg.zeros(0)
    dist.all_reduce(empty)


@check
def work_under_way_is_waited_for():
    rank, size = here()
    xs = [tensor(rank, 1000 + k) for k in range(8)]
    works = [dist.all_reduce(x, async_op=True) for x in xs]
    for x, work in zip(xs, works, strict=True):
        assert work.wait()
        assert work.is_completed()
        assert work.is_success()
        assert work.result()[0] is x
        np.testing.assert_array_equal(x.numpy(), sum(block(r, *x.shape) for r in range(size)))
    mean = tensor(rank, 3)
    future = dist.all_reduce(mean, ReduceOp.AVG, async_op=True).get_future()
    (value,) = future.then(lambda f: f.value()).wait()
    np.testing.assert_allclose(value.numpy(), block(0, 3) + 100 * (size - 1) / 2)


@check
def messages_go_from_rank_to_rank():
    rank, size = here()
    if size == 1:
        return
    right, left = (rank + 1) % size, (rank - 1) % size
    x = wg.zeros(5, dtype=wg.float64)
    works = dist.batch_isend_irecv(
        [dist.P2POp(dist.isend, tensor(rank, 5), right), dist.P2POp(dist.irecv, x, left)]
    )
    for work in works:
        work.wait()
    np.testing.assert_array_equal(x.numpy(), block(left, 5))
    if rank == 0:
        seen = set()
        for _ in range(size - 1):
            y = wg.zeros(2, dtype=wg.float64)
            source = dist.recv(y)
            seen.add(source)
            np.testing.assert_array_equal(y.numpy(), block(source, 2))
        assert seen == set(range(1, size))
    else:
        dist.send(tensor(rank, 2), 0)
    objects: list[Any] = [None]
    if rank == 0:
        dist.send_object_list([{"a": 1}, "b"], 1)
    elif rank == 1:
        assert dist.recv_object_list(objects, 0) == 0
        assert objects == [{"a": 1}, "b"]


@check
def objects_travel():
    rank, size = here()
    found: list[Any] = [None] * size
    dist.all_gather_object(found, "x" * rank)
    assert found == ["x" * r for r in range(size)]
    dist.gather_object({rank}, found if rank == 1 % size else None, 1 % size)
    if rank == 1 % size:
        assert found == [{r} for r in range(size)]
    given = ["a", 2, None] if rank == 0 else [None] * 3
    dist.broadcast_object_list(given, 0)
    assert given == ["a", 2, None]
    mine = [None]
    dist.scatter_object_list(mine, [r * "y" for r in range(size)] if rank == 0 else None, 0)
    assert mine == [rank * "y"]


@check
def groups_of_some_ranks_work_by_themselves():
    rank, size = here()
    last = dist.new_group([size - 1])
    evens = dist.new_group(range(0, size, 2))
    if rank % 2 == 0:
        x = tensor(rank, 2)
        dist.all_reduce(x, group=evens)
        np.testing.assert_array_equal(x.numpy(), sum(block(r, 2) for r in range(0, size, 2)))
        assert dist.get_rank(evens) == rank // 2
        assert dist.get_global_rank(evens, rank // 2) == rank
        top = (size - 1) // 2 * 2
        dist.broadcast(x, top, evens)
        dist.destroy_process_group(evens)
        with pytest.raises(dist.DistError, match=f"rank {rank}: all_reduce in a group that"):
            dist.all_reduce(x, group=evens)
    else:
        assert evens is dist.GroupMember.NON_GROUP_MEMBER
        assert dist.get_rank(evens) == -1
        with pytest.raises(ValueError, match="all_reduce: this rank is not in the group"):
            dist.all_reduce(wg.zeros(2), group=evens)
    assert (dist.get_rank(last) == 0) == (rank == size - 1)
    dist.barrier()
    dist.monitored_barrier(timeout=30)


@check
def samplers_ask_the_group_which_share_is_theirs():
    rank, size = here()
    sampler = wg.utils.data.DistributedSampler(range(8), shuffle=False)
    assert list(sampler)[:2] == [k % 8 for k in (rank, rank + size)][: len(sampler)]


# ---- derivatives --------------------------------------------------------------------------------


def pairing(a: Any, b: Any) -> float:
    """<a, b>, summed over the ranks."""
    total = wg.tensor(float(np.vdot(a, b)), dtype=wg.float64)
    dist.all_reduce(total)
    return total.item()


@check
def the_transpose_of_each_collective_is_its_derivative():
    rank, size = here()
    for name, collective in COLLECTIVES.items():
        for root in range(size if collective.rooted else 1):
            shape = (size, 2) if collective.brings.stacked else (2,)
            x = tensor(rank, *shape).requires_grad_()
            y = functional.exchanged(x, name, None, root)
            g = tensor(rank + 7, *y.shape)
            (pulled,) = wg.autograd.grad(y, x, g)
            left, right = pairing(y.detach(), g), pairing(x.detach(), pulled)
            np.testing.assert_allclose(left, right, err_msg=name)


@check
def derivatives_of_every_order_go_through_collectives():
    _rank, size = here()
    x = tensor(0, 2).requires_grad_()
    total = functional.all_reduce(x**3)
    # f = sum_r (sum_s x_s^3)^2, with x alike on all ranks; f_r of one rank counts `size` times.
    (first,) = wg.autograd.grad((total**2).sum(), x, create_graph=True)
    np.testing.assert_allclose(first.detach(), 6 * size**2 * x.detach() ** 5)
    (second,) = wg.autograd.grad(first.sum(), x)
    np.testing.assert_allclose(second, 6 * 5 * size**2 * x.detach() ** 4)
    tangent = wg.jvp(functional.all_reduce, (x.detach(),), (wg.ones_like(x.detach()),))[1]
    np.testing.assert_allclose(tangent, size)


@check
def operations_that_are_not_linear_have_derivatives_too():
    rank, size = here()
    for op, way in ((ReduceOp.MAX, operator.gt), (ReduceOp.MIN, operator.lt)):
        x = wg.tensor([1.0 + rank, -1.0 * rank]).requires_grad_()
        y = functional.all_reduce(x, op)
        (g,) = wg.autograd.grad(y.sum(), x)
        assert g.tolist() == [
            size * float(y[0].item() == 1.0 + rank), size * float(y[1].item() == -1.0 * rank)
        ], way  # fmt: skip
    x = wg.tensor([2.0 + rank], dtype=wg.float64).requires_grad_()
    y = functional.all_reduce(x, ReduceOp.PRODUCT)
    (g,) = wg.autograd.grad(y.sum(), x)
    np.testing.assert_allclose(g, size * y.detach() / x.detach())
    with pytest.raises(RuntimeError, match="BXOR has no derivative"):
        functional.all_reduce(x, ReduceOp.BXOR)


@check
def writes_in_place_are_recorded():
    rank, size = here()
    x = tensor(rank, 3).requires_grad_()
    y = x * 2
    dist.all_reduce(y)
    (y * y).sum().backward()
    total = 2 * sum(block(r, 3) for r in range(size))
    np.testing.assert_allclose(x.grad, 2 * 2 * size * total)
    got = [wg.zeros(3, dtype=wg.float64) for _ in range(size)]
    dist.all_gather(got, x * 1)
    weights = sum((r + 1) * g.sum() for r, g in enumerate(got))
    (g,) = wg.autograd.grad(weights, x)
    np.testing.assert_allclose(g, (rank + 1) * size)
    with pytest.raises(RuntimeError, match=r"functional\.reduce"):
        dist.reduce(x * 1, 0)


@check
def programs_start_a_collective_and_wait_for_it():
    rank, _size = here()
    w = tensor(0, 3).requires_grad_()

    @wg.compile
    def step(x):
        y = functional.all_reduce(w * x)
        loss = (y * y).sum()
        loss.backward()
        g = w.grad
        dist.all_reduce(g)
        return loss, g

    def eager(x):
        v = w.detach().clone().requires_grad_()
        y = functional.all_reduce(v * x)
        loss = (y * y).sum()
        loss.backward()
        dist.all_reduce(v.grad)
        return loss, v.grad

    for k in range(3):
        w.grad = None
        x = tensor(rank + k, 3)
        for one, other in zip(step(x), eager(x), strict=True):
            np.testing.assert_allclose(one.detach(), other.detach())
    text = str(step.program)
    assert text.count("= start(") == text.count("= wait(") == 3


# ---- bad input ----------------------------------------------------------------------------------


@check
def arguments_are_checked_before_anything_is_sent():
    rank, size = here()
    x = wg.zeros(2)
    with pytest.raises(TypeError, match=f"rank {rank}: all_reduce takes tensors, not list.*numpy"):
        dist.all_reduce([1.0, 2.0][:])
    with pytest.raises(TypeError, match="op= is one of"):
        dist.all_reduce(x, "sum")
    with pytest.raises(ValueError, match="Must specify src"):
        dist.broadcast(x)
    with pytest.raises(ValueError, match=f"Global rank {size} is not part of group"):
        dist.broadcast(x, size)
    with pytest.raises(dist.DistError, match="one tensor for each of"):
        dist.all_gather([wg.zeros(2)] * (size + 1), x)
    with pytest.raises(dist.DistError, match="all_gather_into_tensor with parts of shape"):
        dist.all_gather_into_tensor(wg.zeros(size * 2 + 1), x)
    with pytest.raises(dist.DistError, match="is to be written into float64"):
        dist.all_gather([wg.zeros(2, dtype=wg.float64)] * size, x)
    with pytest.raises(ValueError, match="twice"):
        dist.init_process_group("threads", rank=0, world_size=1)
    with pytest.raises(ValueError, match="gather_list must"):
        dist.gather(x, None if rank == 0 else [x], 0)
    dist.barrier()


@check
def parts_of_which_one_is_of_another_length_than_is_expected_are_refused():
    # All were made as long as the longest of any rank: zeros came where too little was sent, and
    # what was more was lost.
    rank, size = here()
    outputs, inputs = ([wg.zeros(1) for _ in range(size)] for _ in range(2))
    outputs[0] = wg.zeros(1 + (rank == size - 1))
    told = f"rank {rank}: all_to_all: rank 0 sends 1 numbers to rank {size - 1}, which expects 2"
    with pytest.raises(dist.DistError, match=told):
        dist.all_to_all(outputs, inputs)
    dist.barrier()
