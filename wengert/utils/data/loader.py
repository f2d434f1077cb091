"""DataLoader: batches of a data set, shuffled if asked for."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from wengert.autograd.record import recorder
from wengert.functions.creation import as_tensor, tensor
from wengert.functions.random import Generator
from wengert.tensor import Tensor, wrap
from wengert.utils.data.datasets import IterableDataset, TensorDataset
from wengert.utils.data.samplers import BatchSampler, RandomSampler, SequentialSampler

# ---- samples to batches --------------------------------------------------------------------


def default_collate(batch: Sequence[Any]) -> Any:
    """Samples as one batch: tensors and arrays stacked, numbers made a tensor, containers by part.

    >>> default_collate([(1, 2.5), (3, 4.5)])
    [tensor([1, 3]), tensor([2.5000, 4.5000], dtype=wengert.float64)]
    """
    first = batch[0]
    if isinstance(first, Tensor):
        if all(x._node is None for x in batch) and all(type(x._array) is np.ndarray for x in batch):
            return wrap(np.stack([x._array for x in batch]))
        return recorder(np.stack)(list(batch), 0)
    if isinstance(first, np.ndarray):
        if first.dtype.kind in "OSU":
            raise TypeError(_wrong(first.dtype))
        return as_tensor(np.stack(batch))
    if isinstance(first, np.generic):
        return as_tensor(np.asarray(batch))
    if isinstance(first, float):
        return tensor(batch, dtype=np.dtype(np.float64))
    if isinstance(first, int):
        return tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return _rebuilt(first, {k: default_collate([sample[k] for sample in batch]) for k in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(default_collate(part) for part in zip(*batch, strict=True)))
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        parts = [default_collate(part) for part in zip(*batch, strict=True)]
        return parts if isinstance(first, (tuple, list)) else _rebuilt(first, parts)
    raise TypeError(_wrong(type(first)))


def _wrong(kind: Any) -> str:
    return (
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found "
        f"{kind}. Give DataLoader a collate_fn of your own."
    )


def _rebuilt(like: Any, content: Any) -> Any:
    try:
        return type(like)(content)
    except TypeError:
        return content


def default_convert(data: Any) -> Any:
    """One sample with its arrays made tensors: what a loader without batches returns."""
    if isinstance(data, (Tensor, str, bytes)):
        return data
    if isinstance(data, (np.ndarray, np.generic)):
        return data if np.asarray(data).dtype.kind in "OSU" else as_tensor(np.asarray(data))
    if isinstance(data, Mapping):
        return _rebuilt(data, {k: default_convert(v) for k, v in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(default_convert(v) for v in data))
    if isinstance(data, tuple):
        return [default_convert(v) for v in data]
    if isinstance(data, Sequence):
        return _rebuilt(data, [default_convert(v) for v in data])
    return data


# ---- the loader ----------------------------------------------------------------------------


class DataLoader:
    """Goes through a data set in batches.

    Items are loaded in the calling process: with `num_workers` > 0 a warning says so, and
    `worker_init_fn` is not called. `pin_memory` and `prefetch_factor` have nothing to do.

    >>> import wengert as wg
    >>> loader = DataLoader(TensorDataset(wg.arange(5)), batch_size=2)
    >>> [batch.tolist() for (batch,) in loader]
    [[0, 1], [2, 3], [4]]
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        self._check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.num_workers = num_workers
        self.pin_memory = pin_memory
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.generator = generator
        self.prefetch_factor = prefetch_factor
        self.persistent_workers = persistent_workers
        self._iterable = isinstance(dataset, IterableDataset)
        if self._iterable:
            if shuffle:
                raise ValueError(
                    "DataLoader with IterableDataset: expected unspecified shuffle option, but "
                    "got "
                    f"shuffle={shuffle}"
                )
            if sampler is not None or batch_sampler is not None:
                raise ValueError(
                    "DataLoader with IterableDataset: expected unspecified sampler option, but got "
                    f"sampler={sampler}, batch_sampler={batch_sampler}"
                )
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, "
                    "sampler, and "
                    "drop_last"
                )
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive with "
                "drop_last"
            )
        self.batch_size = batch_size
        self.drop_last = drop_last
        if sampler is None and not self._iterable:
            sampler = (
                RandomSampler(dataset, generator=generator)
                if shuffle
                else SequentialSampler(dataset)
            )
        if batch_size is not None and batch_sampler is None and not self._iterable:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self._batches = batch_sampler is not None or (self._iterable and batch_size is not None)
        if collate_fn is None:
            collate_fn = default_collate if self._batches else default_convert
        self.collate_fn = collate_fn

    @staticmethod
    def _check_workers(num_workers: int, timeout: float, prefetch: Any, persistent: bool) -> None:
        if num_workers < 0:
            raise ValueError(
                "num_workers option should be non-negative; use num_workers=0 to disable "
                "multiprocessing."
            )
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing. let "
                "num_workers > 0 to "
                "enable multiprocessing, otherwise set prefetch_factor to None."
            )
        if num_workers == 0 and persistent:
            raise ValueError("persistent_workers option needs num_workers > 0")
        if num_workers > 0:
            warnings.warn(
                f"num_workers={num_workers}: wengert loads data in the calling process, one batch "
                "at a time. "
                "Use num_workers=0 to silence this.",
                UserWarning,
                stacklevel=3,
            )

    def __iter__(self) -> Iterator[Any]:
        if self._iterable:
            return self._from_iterable()
        if self.batch_sampler is None:
            return (self.collate_fn(self.dataset[i]) for i in self.sampler)
        return map(self._batch, iter(self.batch_sampler))

    def _batch(self, indices: Iterable[int]) -> Any:
        dataset = self.dataset
        indices = list(indices)
        if type(dataset) is TensorDataset and self.collate_fn is default_collate:
            # One indexing operation for the whole batch instead of one per sample.
            where = np.asarray(indices, np.int64)
            return [wrap(x._array[where]) if x._node is None else x[where] for x in dataset.tensors]
        getitems = getattr(dataset, "__getitems__", None)
        samples = getitems(indices) if getitems is not None else [dataset[i] for i in indices]
        return self.collate_fn(samples)

    def _from_iterable(self) -> Iterator[Any]:
        if self.batch_size is None:
            yield from map(self.collate_fn, self.dataset)
            return
        batch = []
        for sample in self.dataset:
            batch.append(sample)
            if len(batch) == self.batch_size:
                yield self.collate_fn(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.collate_fn(batch)

    def __len__(self) -> int:
        """How many batches there are; TypeError if the data set does not know its length."""
        if self._iterable:
            n = len(self.dataset)
            if self.batch_size is None:
                return n
            return n // self.batch_size if self.drop_last else -(-n // self.batch_size)
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)


def get_worker_info() -> None:
    """None: there are no worker processes."""
    return None
