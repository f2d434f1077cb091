"""Exception classes. Each docstring is a short how-to for the person who meets the error.

Every class derives from the built-in exception that PyTorch raises in the same situation, so
`except RuntimeError` in a ported program keeps working.
"""

from __future__ import annotations

import numpy as np


class WengertError(RuntimeError):
    """Base of the errors that concern derivatives."""


class GradError(WengertError):
    """The derivative that was asked for does not exist as asked.

    Typical cures: reduce the output to one number (`y.sum()`), pass `gradient=`, mark an input
    with `requires_grad_()`, or pass `allow_unused=True`.
    """


class FreedGraphError(WengertError):
    """A backward pass reached values that an earlier pass has already freed.

    If the graph was meant to be used twice, give the first pass `retain_graph=True`. If it was
    not, some tensor was computed once, outside the loop: compute it inside, or `detach()` it.
    """

    stamp: int = 0


class ModifiedError(WengertError):
    """A value that a derivative needs was overwritten after it had been saved.

    Write `x = x + 1` instead of `x += 1`, or give the operation that saved it a `x.clone()`.
    """


class InplaceError(WengertError):
    """An in-place operation is not allowed on this tensor.

    Leaves that require grad are updated under `no_grad()`; views handed out several at a time
    (`unbind`, `split`, ...) are cloned first.
    """


class ForwardModeError(WengertError):
    """Forward mode met a custom Function that does not say, or says wrongly, how to push tangents.

    Write its static method `jvp(ctx, *tangents)`, or differentiate by reverse mode: `wengert.grad`,
    `vjp`, `jacrev`.
    """


class InferenceError(WengertError):
    """A tensor made in inference mode was used where autograd would have to track it.

    `clone()` it outside `inference_mode`, or use `no_grad` instead.
    """


class LinAlgError(np.linalg.LinAlgError, RuntimeError):
    """A matrix does not have what was asked for: it is singular, or not positive definite.

    `wengert.linalg.lstsq` and `pinv` take singular matrices; a small multiple of the identity makes
    a matrix regular; `wengert.linalg.cond(A)` says how close to singular it is. Functions named
    `..._ex` return an error code instead. (A RuntimeError, as PyTorch raises, and NumPy's error.)
    """


class ShapeError(RuntimeError, ValueError):
    """Tensors of these shapes cannot be combined, or not by this function.

    Compare `x.shape` of both: sizes must agree, counted from the right, where neither is 1.
    `unsqueeze`, `expand`, `reshape` and `mT` bring shapes into line. (A RuntimeError, as PyTorch
    raises, and a ValueError, as NumPy does.)
    """


class LayoutError(RuntimeError, ValueError):
    """A tensor was asked for in another layout than strides: `layout=` is to be left out.

    (A RuntimeError of most functions, and a ValueError of some, as PyTorch raises.)
    """


class DtypeError(NotImplementedError, TypeError):
    """A function is not defined for tensors of this dtype.

    Convert first, as in `x.float()` or `x.to(other.dtype)`. (A NotImplementedError, and so a
    RuntimeError, as PyTorch raises, and a TypeError, as NumPy does.)
    """


class MissingRuleError(NotImplementedError):
    """A function was called on a tracked tensor, and the table has no derivative for it.

    Write the function in terms of supported ones, pass `x.detach()` if no derivative is wanted,
    or give it a rule of its own.
    """


class TracingError(WengertError):
    """A function cannot be compiled as it is written: something in it needs numbers too early.

    Inside a compiled function arrays have shapes and dtypes, and no numbers yet. Choose between
    values with `wengert.where` instead of `if`; pass what decides a branch as a Python number; do
    the rest outside, on what the function returns.
    """


class StateError(WengertError, TypeError):
    """The states of a loop, or the results of branches, differ in structure, shape or dtype.

    A loop carries a state whose form stays: `wengert.scan`, `fori_loop`, `while_loop`. Branches of
    `wengert.cond` and `switch` return results of one form. The message shows both.
    """


class StudyError(WengertError):
    """A parameter study cannot go on, or not with this file.

    What was finished is kept in the study's file, and the same call of `wengert.studies.map` goes
    on from there. A file belongs to one function and its parameters: another study needs another.
    """


class BatchingError(RuntimeError):
    """A function cannot be vmapped as it is written: it needs the numbers of one example.

    Inside `vmap` a value stands for those of a whole batch. Choose with `wengert.where` instead of
    `if`; write into arrays that are batched too (`np.zeros_like(x)`); say what random numbers are
    to be with `randomness="different"` or `"same"`. (A RuntimeError, as PyTorch raises.)
    """


class PatternError(WengertError):
    """A sparsity pattern cannot be found, or does not hold where it is used.

    A pattern is that of the branches taken at one point. Prepare a new plan at a point of the other
    kind, `wengert.sparse_jacobian(f, x)`, or give it a pattern that holds everywhere: `pattern=`.
    """


class GradcheckError(WengertError):
    """A derivative is not what difference quotients say, or fails another check of `gradcheck`.

    The message shows the entry that differs most, both its values, and how the difference quotient
    changes with the step: a derivative formula at fault, a step too large or small (`eps=`), a
    point without a derivative and too few digits (float32 inputs) look different there.
    """


class DistError(RuntimeError):
    """Ranks could not do together what they were asked to.

    The message names the rank, the operation and its line. Most often the ranks do not all come to
    the same operation, in the same order, with arrays of one shape and dtype.
    """


class DistBackendError(DistError):
    """What carries blocks from rank to rank is missing, was started wrongly, or broke down.

    `pip install "wengert[mpi]"` brings MPI; `wengert run --nproc 4 script.py` starts ranks.
    """


class RankLostError(DistBackendError):
    """A rank has died, and its group can do no more as it is.

    Under `wengert run --min 2`, `wengert.distributed.elastic.run` goes on with those that are left;
    otherwise end the program, and start it again from its newest checkpoint.
    """


class DistTimeoutError(DistError):
    """Some ranks did not come to an operation in time; the message says where each stands.

    `init_process_group(timeout=...)` sets how long to wait. After a timeout a group is of no more
    use: end the program, and start it again from a checkpoint.
    """
