"""GradientTape: which part of the history counts, and the questions that can be asked of it.

wengert records operations anyway. A tape notes from when to when it records, by the clock that
nodes take their time from, and sweeps only through nodes that were made then: what was computed
outside is a constant to it. So tapes nest, and each has its own idea of what a constant is.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.autograd import engine
from wengert.autograd.batching import each
from wengert.autograd.differentiate import edge_of
from wengert.autograd.hooks import shown
from wengert.errors import GradError
from wengert.functions.joining import stack
from wengert.functions.shapes import movedim, reshape
from wengert.history.location import line_of
from wengert.history.node import AccumulateGrad, Node, source, tick
from wengert.tape.variables import EagerTensor, Variable, active, eager, read
from wengert.tensor import Tensor, require, wrap
from wengert.tree import flatten, rebuild
from wengert.tree import leaves as leaves_of

Place = tuple[Node, int]


class UnconnectedGradients(enum.Enum):
    """What the gradient by a source is that the target does not depend on: None, or zeros."""

    NONE = "none"
    ZERO = "zero"


class _Recorded(engine.Targets):
    """Places to reach through nodes that a tape recorded."""

    __slots__ = ("tape",)

    def __init__(self, places: Iterable[Place], tape: GradientTape) -> None:
        super().__init__(places)
        self.tape = tape

    def find(self, roots: Iterable[Any]) -> set[Node]:
        met = {node for node, _ in self.captured}
        for node in sorted(engine.reachable(roots), key=lambda node: node.order):
            leads = any(edge is not None and engine.node_of(edge) in met for edge in node.edges)
            if leads and self.tape.recorded(node):
                self.passed.add(node)
                met.add(node)
        return met


class GradientTape:
    """Records what is computed inside its `with` block, for gradients afterwards.

    Trainable variables that are used inside are watched by themselves, unless
    `watch_accessed_variables=False`; other tensors by `watch` (a tensor of wengert's own that
    requires grad counts as watched). One set of gradients can be asked for, or any number if the
    tape is `persistent`. Asked for inside of another tape, or of itself, the computation of the
    gradients is recorded there: that gives second derivatives.

    >>> import wengert.tape as tf
    >>> x = tf.constant(3.0)
    >>> with GradientTape() as outer:
    ...     outer.watch(x)
    ...     with GradientTape() as inner:
    ...         inner.watch(x)
    ...         y = x * x * x
    ...     slope = inner.gradient(y, x)
    >>> float(slope), float(outer.gradient(slope, x))
    (27.0, 18.0)
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._persistent = persistent
        self._watch_accessed = watch_accessed_variables
        self._used = False
        self._shared = False  # with other tapes: what they recorded together stays for them
        self._forget()

    def _forget(self) -> None:
        self._spans: list[list[float]] = []
        self._watched: dict[int, tuple[Tensor, Any]] = {}

    # ---- recording --------------------------------------------------------------------------

    def __enter__(self) -> GradientTape:
        if self in active.tapes:
            raise ValueError(
                "Tape is still recording: this can happen if you try to re-enter an already-active "
                "tape. Make a second one."
            )
        self._start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self in active.tapes:
            self._stop()

    def _start(self) -> None:
        if active.tapes:
            self._shared = True
            for tape in active.tapes:
                tape._shared = True
        active.tapes.append(self)
        self._spans.append([tick(), float("inf")])

    def _stop(self) -> None:
        active.tapes.remove(self)
        self._spans[-1][1] = tick()

    def recorded(self, node: Node) -> bool:
        """Whether a node was made while this tape was recording."""
        return any(start < node.order < end for start, end in self._spans)

    def watch(self, tensor: Any) -> None:
        """Count a tensor, or nested containers of tensors, as sources of gradients."""
        if self not in active.tapes:
            raise RuntimeError("watch() is for inside the tape's with block, while it records.")
        for x in leaves_of(tensor):
            if not isinstance(x, Tensor):
                raise ValueError(
                    f"Passed in object {x!r} of type {type(x).__name__}, not a tensor: watch what "
                    "tf.constant(...) or wengert.tensor(...) makes of it."
                )
            if not dtypes.is_inexact(x.dtype):
                raise ValueError(
                    f"The dtype of the watched tensor must be floating (e.g. tf.float32), got "
                    f"{x.dtype}"
                )
            if edge_of(x) is None:
                require(x)
            self._watched[id(x)] = x, edge_of(x)

    def accessed(self, variable: Variable) -> None:
        """A variable was read while this tape records."""
        if self._watch_accessed and variable.trainable and variable._node is not None:
            self._watched.setdefault(id(variable), (variable, variable._node))

    def watched_variables(self) -> tuple[Variable, ...]:
        """The variables that are watched, in the order in which they were first used."""
        return tuple(x for x, _ in self._watched.values() if isinstance(x, Variable))

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """What is computed inside is a constant to this tape."""
        if self not in active.tapes:
            raise RuntimeError("Tape is not recording: stop_recording() is for inside its block.")
        self._stop()
        try:
            yield
        finally:
            self._start()

    def reset(self) -> None:
        """Forget everything recorded and watched so far; go on recording if it does."""
        recording = self in active.tapes
        if recording:
            self._stop()
        self._forget()
        self._used = False
        if recording:
            self._start()

    # ---- asking -----------------------------------------------------------------------------

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
    ) -> Any:
        """The gradients of `target` by `sources`, in the containers of `sources`.

        A target that is not a scalar counts as its sum, or weighted by `output_gradients`, of its
        shape; several targets are added. By a source that was not watched, or that the target does
        not depend on, the gradient is None, or zeros with `UnconnectedGradients.ZERO`.
        `output_gradients` are a list with one for each target, in which None stands for ones, or
        that of the only target.

        Raises RuntimeError for the second question to a tape that is not persistent, and GradError
        for a target that was computed outside of the tape's recording.
        """
        zero = _wants_zeros(unconnected_gradients)
        targets = leaves_of(target)
        self._check_tensors(targets, "target")
        weights = _weights(output_gradients, len(targets))
        question = self._ask(targets, sources)
        seeds = [_seed(y, w) for y, w in zip(targets, weights, strict=True)]
        return question.answer(question.sweep(seeds), zero)

    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """The Jacobian of one target by each source: shape target.shape + source.shape.

        All rows are computed at once, by a vmap of the sweep, which takes as much memory; one after
        the other with `experimental_use_pfor=False`. Errors are those of `gradient`.
        """
        zero = _wants_zeros(unconnected_gradients)
        self._check_tensors([target], "target")
        question = self._ask([target], sources)
        n = target.numel()
        units = np.eye(n, dtype=target.dtype).reshape(n, *target.shape)
        rows = question.rows(units, experimental_use_pfor)
        blocks = [
            None if row is None else reshape(row, (*target.shape, *x.shape))
            for row, x in zip(rows, question.sources, strict=True)
        ]
        return question.answer(blocks, zero, tuple(target.shape))

    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """The Jacobians of each example: shape (b, *target.shape[1:], *source.shape[1:]).

        result[b, ...] is d target[b] / d source[b]. It is assumed that examples do not influence
        each other: their influences would be added. The cost is that of one example's rows.
        """
        zero = _wants_zeros(unconnected_gradients)
        self._check_tensors([target, source], "target and source")
        if not (target.ndim and source.ndim and target.shape[0] == source.shape[0]):
            raise ValueError(
                "Need first dimension of target shape and source shape to match: they are the "
                f"examples. Got target shape {list(target.shape)} and source shape "
                f"{list(source.shape)}."
            )
        question = self._ask([target], source)
        b, *rest = target.shape
        n = int(np.prod(rest))
        units = np.eye(n, dtype=target.dtype).reshape(n, 1, *rest)
        units = np.broadcast_to(units, (n, b, *rest)).copy()
        (rows,) = question.rows(units, experimental_use_pfor)
        shape = (b, *rest, *source.shape[1:])
        blocks = None if rows is None else reshape(movedim(rows, 0, 1), shape)
        return question.answer([blocks], zero, tuple(rest), batched=True)

    def _check_tensors(self, values: list[Any], what: str) -> None:
        for x in values:
            if not isinstance(x, Tensor):
                raise TypeError(
                    f"the {what} of a gradient must be a tensor, got {type(x).__name__}. Numbers "
                    "taken out of tensors, by float() or numpy(), have no history."
                )

    def _ask(self, targets: list[Any], sources: Any) -> _Question:
        if not self._spans:
            raise RuntimeError(
                "this tape has recorded nothing: compute the target inside `with GradientTape() as "
                "tape:`"
            )
        if self._used and not self._persistent:
            raise RuntimeError(
                "A non-persistent GradientTape can only be used to compute one set of gradients "
                "(or jacobians). Make it with persistent=True to ask it again."
            )
        if not self._persistent and self in active.tapes:
            self._stop()
        self._used = True
        question = _Question(self, targets, sources)
        question.check_recorded()
        return question

    def place(self, x: Tensor) -> Place | None:
        """Where the gradient by a source arrives; None if the tape does not watch it."""
        if id(x) in self._watched:
            edge = self._watched[id(x)][1]
        else:
            edge = None if isinstance(x, Variable) else edge_of(x)
            if isinstance(x, EagerTensor) and isinstance(edge, AccumulateGrad):
                return None  # watched by another tape
        node, slot = source(edge)
        return None if node is None else (node, slot)

    def where_made(self, node: Node) -> str:
        """When a node was made that this tape did not record."""
        if node.order < self._spans[0][0]:
            return "before the tape began to record"
        if node.order > self._spans[-1][1]:
            return "after the tape's with block"
        return "while the tape's recording was stopped"


class _Question:
    """Targets and sources of one question, and the sweeps that answer it."""

    def __init__(self, tape: GradientTape, targets: list[Any], sources: Any) -> None:
        self.tape = tape
        self.sources, self.tree = flatten(sources)
        tape._check_tensors(self.sources, "source")
        self.places = [tape.place(x) for x in self.sources]
        edges = [edge_of(read(y)) for y in targets]
        self.rooted = [k for k, edge in enumerate(edges) if edge is not None]
        self.roots: list[Any] = [edges[k] for k in self.rooted]
        # Computing a gradient is itself something that other tapes record.
        self.recorded = bool(active.tapes)
        self.retain = tape._persistent or tape._shared or self.recorded

    def check_recorded(self) -> None:
        """Raise if the target depends on a source, and was computed outside of the tape."""
        wanted = [place for place in self.places if place is not None]
        for edge in self.roots:
            node, _ = source(edge)
            if node is None or isinstance(node, AccumulateGrad) or self.tape.recorded(node):
                continue
            if node in {n for n, _ in wanted}:
                continue
            if node in engine.Targets(wanted).find([(edge, None)]):
                raise GradError(
                    f"the target was computed {self.tape.where_made(node)}, by {node.name()} at\n  "
                    f"{line_of(node.code, node.at)}\n"
                    "What the tape did not record is a constant to it. Compute the target inside "
                    "the with block."
                )

    def sweep(self, seeds: list[Any], retain: bool | None = None) -> list[Any]:
        """The gradients by the sources for cotangents of the targets."""
        targets = _Recorded([place for place in self.places if place is not None], self.tape)
        starts: list[Any] = [
            (root, seeds[k] if self.recorded else seeds[k]._array)
            for k, root in zip(self.rooted, self.roots, strict=True)
        ]
        if starts and targets.captured:
            engine.run(starts, self.retain if retain is None else retain, self.recorded, targets)
        return [None if p is None else shown(targets.captured[p]) for p in self.places]

    def rows(self, units: np.ndarray, together: bool) -> list[Any]:
        """The gradients of one target for each of several cotangents, stacked."""
        if not len(units):
            return [None] * len(self.sources)

        def one(unit: Tensor) -> list[Any]:
            return self.sweep([unit], retain=True)

        if together:
            return list(each(one, len(units), wrap(units)))
        columns = zip(*[one(wrap(unit)) for unit in units], strict=True)
        return [None if column[0] is None else stack(list(column)) for column in columns]

    def answer(
        self, cotangents: list[Any], zero: bool, outer: tuple[int, ...] = (), batched: bool = False
    ) -> Any:
        """What was found, in the containers of the sources."""

        def shape(x: Tensor) -> tuple[int, ...]:
            return (x.shape[0], *outer, *x.shape[1:]) if batched else (*outer, *x.shape)

        gradients = [
            eager(wrap(np.zeros(shape(x), x.dtype))) if g is None and zero else eager(g)
            for g, x in zip(cotangents, self.sources, strict=True)
        ]
        return rebuild(self.tree, iter(gradients))


def _weights(given: Any, count: int) -> list[Any]:
    """The cotangent of each of `count` targets, None for ones."""
    if given is None:
        return [None] * count
    is_list = isinstance(given, (list, tuple))
    if count == 1 and not (is_list and len(given) == 1 and not np.isscalar(given[0])):
        return [given]
    if not is_list or len(given) != count:
        raise ValueError(
            f"got {len(given) if is_list else 1} output_gradients for {count} targets: give a list "
            "with one for each, None for ones"
        )
    return list(given)


def _seed(target: Tensor, weight: Any) -> Tensor:
    if weight is None:
        return wrap(np.ones(target.shape, target.dtype))
    weight = read(weight)
    if not isinstance(weight, Tensor):
        weight = wrap(np.array(weight, target.dtype))
    if weight.shape != target.shape:
        raise ValueError(
            f"output_gradients have shape {list(weight.shape)} for a target of shape "
            f"{list(target.shape)}: they must be the same"
        )
    return weight.to(target.dtype)


def _wants_zeros(unconnected: Any) -> bool:
    try:
        return UnconnectedGradients(unconnected) is UnconnectedGradients.ZERO
    except ValueError:
        raise ValueError(
            f"Unknown value for unconnected_gradients: {unconnected!r}. Give "
            "UnconnectedGradients.NONE or UnconnectedGradients.ZERO."
        ) from None
