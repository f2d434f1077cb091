"""How the gradients of a bucket travel: hooks for `DistributedDataParallel.register_comm_hook`.

A hook is given its state and a bucket, whose `buffer()` has the gradients of some parameters one
after the other, and returns a future: the same numbers, averaged over the ranks. PyTorch has them
in `torch.distributed.algorithms.ddp_comm_hooks`.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from wengert.distributed.collectives import COLLECTIVES
from wengert.distributed.groups import ProcessGroup, resolve
from wengert.distributed.work import Future
from wengert.dtypes import bfloat16
from wengert.imports import lacking as _lacking
from wengert.tensor import Tensor, wrap


class GradBucket(Protocol):
    """What a hook is given."""

    def buffer(self) -> Tensor: ...
    def gradients(self) -> list[Tensor]: ...
    def parameters(self) -> list[Tensor]: ...
    def index(self) -> int: ...
    def is_last(self) -> bool: ...


def _mean(own: ProcessGroup, array: Any) -> Future:
    """The average over the ranks of an array, which it overwrites."""
    np.divide(array, own.size(), out=array)
    work = own.run(COLLECTIVES["all_reduce"], array, array, finish=lambda: [wrap(array)])
    work.go_on()
    return work.get_future()


def allreduce_hook(process_group: Any, bucket: GradBucket) -> Future:
    """The average, as without a hook."""
    own = resolve(process_group, "allreduce_hook")
    return _mean(own, bucket.buffer()._array).then(lambda future: future.value()[0])


def _compressed(process_group: Any, bucket: GradBucket, dtype: Any) -> Future:
    own = resolve(process_group, "a hook that compresses")
    buffer = bucket.buffer()._array
    # Divided before it is rounded, so that a sum of large gradients does not overflow.
    small = (buffer / own.size()).astype(dtype)
    work = own.run(COLLECTIVES["all_reduce"], small, small)
    work.go_on()

    def restored() -> Tensor:
        work.wait()
        buffer[...] = small
        return wrap(buffer)

    return Future(restored)


def fp16_compress_hook(process_group: Any, bucket: GradBucket) -> Future:
    """Gradients travel in half precision: half as many bytes, and about three digits."""
    return _compressed(process_group, bucket, np.float16)


def bf16_compress_hook(process_group: Any, bucket: GradBucket) -> Future:
    """Gradients travel in bfloat16: half as many bytes, the range of float32, and two digits."""
    return _compressed(process_group, bucket, bfloat16())


class PowerSGDState:
    """What PowerSGD remembers: the directions of the last step, and what it has left out so far.

    `matrix_approximation_rank` r: a matrix of n x m travels as r (n + m) numbers.
    The first `start_powerSGD_iter` steps are averaged in full. `min_compression_rate`: smaller
    gains are not worth the loss.
    """

    def __init__(
        self,
        process_group: Any = None,
        matrix_approximation_rank: int = 1,
        start_powerSGD_iter: int = 1000,
        min_compression_rate: float = 2,
        use_error_feedback: bool = True,
        warm_start: bool = True,
        orthogonalization_epsilon: float = 0,
        random_seed: int = 0,
    ) -> None:
        if matrix_approximation_rank < 1:
            raise ValueError("PowerSGDState: matrix_approximation_rank is at least 1")
        if start_powerSGD_iter <= 1 and (use_error_feedback or warm_start):
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is "
                "enabled, because PowerSGD can only be applied after the first two iterations, "
                "when the buckets have been made anew."
            )
        self.process_group = process_group
        self.matrix_approximation_rank = matrix_approximation_rank
        self.start_powerSGD_iter = start_powerSGD_iter
        self.min_compression_rate = min_compression_rate
        self.use_error_feedback = use_error_feedback
        self.warm_start = warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.random = np.random.default_rng(random_seed)
        self.errors: dict[int, Any] = {}
        self.directions: dict[tuple[int, int], Any] = {}
        self.iter = 0


def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future:
    """Gradients of matrices travel as products of thin ones (Vogels, Karimireddy, Jaggi, 2019).

    M ~ P Q^T with P = M Q averaged and made orthonormal, and Q = M^T P averaged: one step of a
    power iteration, from the Q of the last time. What is left out is added to the next gradient.
    """
    own = resolve(state.process_group, "powerSGD_hook")
    if bucket.is_last():
        state.iter += 1
    if state.iter < state.start_powerSGD_iter:
        return allreduce_hook(own, bucket)
    buffer = bucket.buffer()._array
    whole = buffer.copy()
    if state.use_error_feedback:
        buffer += state.errors.get(bucket.index(), 0)
        whole = buffer.copy()
    r = state.matrix_approximation_rank
    for k, gradient in enumerate(bucket.gradients()):
        array = gradient._array
        n = array.shape[0] if array.ndim else 1
        m = array.size // max(n, 1)
        if array.ndim < 2 or n * m < state.min_compression_rate * r * (n + m):
            flat = np.ascontiguousarray(array)
            _mean(own, flat).wait()
            array[...] = flat
        else:
            matrix = array.reshape(n, m)
            matrix[...] = _approximated(state, own, (bucket.index(), k), matrix, min(n, m, r))
    state.errors[bucket.index()] = whole - buffer
    return Future(lambda: wrap(buffer))


def _approximated(state: PowerSGDState, own: ProcessGroup, key: Any, M: Any, r: int) -> Any:
    Q = state.directions.get(key) if state.warm_start else None
    if Q is None:
        Q = state.random.standard_normal((M.shape[1], r)).astype(M.dtype)  # alike on all ranks
    P = M @ Q
    _mean(own, P).wait()
    P, _ = np.linalg.qr(P)
    P = np.ascontiguousarray(P)
    Q = M.T @ P
    _mean(own, Q).wait()
    state.directions[key] = Q
    return P @ Q.T


_lacking(__name__)
