"""Batches of sequences of different lengths: packed without gaps, or padded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np

from wengert.autograd.misfits import told
from wengert.autograd.record import recorder
from wengert.functions.arguments import of_tensors
from wengert.functions.creation import as_tensor
from wengert.imports import lacking as _lacking
from wengert.rules.convolution import pad_with
from wengert.tensor import Tensor, wrap


class _Fields(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Fields):
    """Sequences of different lengths without gaps: what is there at time 0, at time 1, and so on.

    `batch_sizes[t]` sequences are longer than t; the longest come first. Made by
    `pack_padded_sequence` and `pack_sequence`, and taken by `nn.RNN`, `nn.LSTM` and `nn.GRU`.
    """

    def __new__(
        cls,
        data: Tensor,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> Self:
        if batch_sizes is None:
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def _with(self, data: Tensor) -> Self:
        return self if data is self.data else type(self)(data, *self[1:])

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """The data cast, as `Tensor.to` does."""
        return self._with(self.data.to(*args, **kwargs))

    def cpu(self) -> Self:
        return self

    def double(self) -> Self:
        return self._with(self.data.double())

    def float(self) -> Self:
        return self._with(self.data.float())

    def half(self) -> Self:
        return self._with(self.data.half())

    def long(self) -> Self:
        return self._with(self.data.long())

    def int(self) -> Self:
        return self._with(self.data.int())

    def pin_memory(self) -> Self:
        return self

    @property
    def is_cuda(self) -> bool:
        return False

    def is_pinned(self) -> bool:
        return False


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes one; None for None."""
    return None if permutation is None else wrap(np.argsort(permutation._array, kind="stable"))


def _lengths(lengths: Any) -> np.ndarray:
    array = lengths._array if isinstance(lengths, Tensor) else np.asarray(lengths)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise TypeError(f"lengths must be whole numbers in one dimension, got {lengths!r}")
    return array.astype(np.int64)


@of_tensors(1)
def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """A padded batch, (T, B, *) or (B, T, *), without its padding.

    With `enforce_sorted` the lengths must decrease; otherwise the sequences are put in that order,
    and `pad_packed_sequence` undoes it.

    >>> import wengert as wg
    >>> packed = pack_padded_sequence(wg.tensor([[1, 3], [2, 0]]), [2, 1])
    >>> packed.data, packed.batch_sizes
    (tensor([1, 3, 2]), tensor([2, 1]))
    """
    if batch_first:
        input = input.transpose(0, 1)
    sizes = _lengths(lengths)
    if len(sizes) != input.shape[1]:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(sizes)} "
            f"(batch_size={input.shape[1]})"
        )
    if not len(sizes) or sizes.min() <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' "
            "that is <= 0"
        )
    if sizes.max() > input.shape[0]:
        raise RuntimeError(
            f"Expected lengths of at most {input.shape[0]}, the input's number of times, but got "
            f"{sizes.max()}"
        )
    order = None
    if not enforce_sorted:
        order = np.argsort(-sizes, kind="stable")
        sizes = sizes[order]
    elif (sizes[1:] > sizes[:-1]).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You "
            "can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to "
            "sidestep this requirement."
        )
    times, rows = _places(sizes, order)
    alive = np.bincount(times)
    return PackedSequence(
        input[wrap(times), wrap(rows)], wrap(alive), None if order is None else wrap(order), None
    )


def _places(lengths: np.ndarray, order: np.ndarray | None = None) -> tuple[Any, Any]:
    """Time and sequence of each packed row, times one after the other."""
    times, rows = np.nonzero(np.arange(lengths.max())[:, None] < lengths)
    return times, rows if order is None else order[rows]


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The padded batch and its lengths: undoes `pack_padded_sequence`."""
    alive = sequence.batch_sizes._array
    longest = len(alive)
    if total_length is not None:
        if total_length < longest:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, "
                f"but got total_length={total_length} and max sequence length being {longest}"
            )
        longest = total_length
    batch = int(alive[0])
    lengths = np.add.reduce(np.arange(batch) < alive[:, None], 0, dtype=np.int64)
    # Where each cell of the padded batch is found; what is padding finds one row more.
    places = np.full((longest, batch), len(sequence.data))
    times, rows = _places(lengths)
    places[times, rows] = np.arange(len(times))
    if sequence.unsorted_indices is not None:
        back = sequence.unsorted_indices._array
        places, lengths = places[:, back], lengths[back]
    data = sequence.data
    lead = (0,) * (data.ndim - 1)
    data = recorder(pad_with)(data, (0, *lead), (1, *lead), padding_value)
    return data[wrap(places.T if batch_first else places)], wrap(lengths)


@told
def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:  # fmt: skip
    """Sequences (L, *) of different lengths side by side, (T, B, *) or (B, T, *).

    >>> import wengert as wg
    >>> pad_sequence([wg.tensor([1, 2]), wg.tensor([3])], batch_first=True)
    tensor([[1, 2],
            [3, 0]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}"
        )
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, got {padding_side}")
    items = list(sequences)
    if not items:
        raise RuntimeError("received an empty list of sequences")
    longest = max(len(s) for s in items)
    rows = []
    for s in items:
        missing, none = longest - len(s), (0,) * (s.ndim - 1)
        before, after = (missing, 0) if padding_side == "left" else (0, missing)
        rows.append(recorder(pad_with)(s, (before, *none), (after, *none), padding_value))
    return recorder(np.stack)(rows, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Any, batch_first: bool = False) -> list[Any]:
    """The sequences of a padded batch, without their padding."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [s[:n] for s, n in zip(padded_sequences, _lengths(lengths).tolist(), strict=True)]


def pack_sequence(sequences: Any, enforce_sorted: bool = True) -> PackedSequence:
    """`pack_padded_sequence` of a list of sequences."""
    items = list(sequences)
    lengths = as_tensor([len(s) for s in items])
    return pack_padded_sequence(pad_sequence(items), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences in a packed batch."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


_lacking(__name__)
