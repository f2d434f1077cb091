"""Recording and pulling back, written once for all rules: the hot path.

    record(a, b)    runs the function on the arrays inside, wraps the result, and, if an input is
                    tracked, makes a node that saves exactly what the rule's lambdas name
    pull(node, cotangent)   hands each saved value to its lambda and returns the inputs' cotangents

What this means is stated, interpretively, by `rules.rule.pull`; forward mode has its template in
`pushing.py`. For each rule the
questions to its `plan` are answered beforehand and the loops unrolled (`folding.py`): interpreting
a rule at each call would cost several times a small operation. `own` are the rule's own functions.
Without such a split of cases each function here would be a few lines; they are long because they
run straight through.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.autograd.folding import Folded, Named, handed_on, inline, put, template
from wengert.autograd.forward import carried
from wengert.autograd.operands import (
    alone,
    floating,
    foreign,
    needs_floating,
    promoted,
    refuse,
    unsuited,
    wrapped,
)
from wengert.autograd.out import into
from wengert.autograd.plan import Plan
from wengert.autograd.saved import (
    Cell,
    Freed,
    checked,
    freed,
    modified,
    operand,
    overwritten,
    restored,
    restored_output,
    settle_node,
    twin,
)
from wengert.dtypes import float16, float32
from wengert.history import modes
from wengert.history.location import INTERNAL, user_frame
from wengert.history.node import Output, tick
from wengert.rules import blocks
from wengert.rules.half import rounded
from wengert.rules.rule import unbroadcast
from wengert.tensor import (
    INFERENCE,
    NUMBERS,
    Tensor,
    View,
    cell_of,
    current_node,
    may_record,
    settle,
    view_of,
    views_of,
    wrap,
)

new, getframe, ndarray = object.__new__, sys._getframe, np.ndarray
conj, shape_of = np.conj, np.shape
dtype_of, same_dtype = dtypes.of, dtypes.same
DIRECT = frozenset({ndarray, int, slice, tuple, list, type(None), type(Ellipsis)})
"""What indices usually are."""

# ---- record --------------------------------------------------------------------------------


@template
def record(plan: Plan, own: Any, given: Named, out: Any = None, more: Any = ()) -> Any:
    """The function of a rule, of Tensors: its results, recorded."""
    arrays: Named = {}
    nodes: Named = {}
    x: Folded = given[plan.arguments[0]]
    x_array: Folded = arrays[plan.arguments[0]]

    # Which arguments are tensors. What usually comes is looked for first.
    if plan.form == "unary":
        if out is not None:
            return into(out, own.record, (x,), {})
        if not isinstance(x, Tensor):
            return alone(own.record, own.rule, x)
    if plan.form == "binary":
        for n in plan.backwards:
            if not isinstance(given[n], Tensor):
                if type(given[n]) in NUMBERS:
                    return own.number[n](*[given[m] for m in plan.arguments])
                return foreign(own.record, own.rule, (*[given[m] for m in plan.arguments],))
    if plan.form == "number" and not isinstance(given[plan.first], Tensor):
        return foreign(own.record, own.rule, (*[given[n] for n in plan.arguments],))
    if plan.form == "usual":
        if plan.more and more:
            return handed_on(own.general)
        if not (isinstance(put(plan.usual(plan.first)), Tensor) and all(put(f) for f in plan.when)):
            return handed_on(own.general)
        for n in plan.arguments:
            given[n] = put(plan.usual(n))
    odd = False
    for n in plan.operands:
        if plan.form != "any" or isinstance(given[n], Tensor):
            arrays[n] = given[n]._array
            if plan.form == "usual" and type(arrays[n]) is not ndarray:
                return handed_on(own.general)
            if n not in plan.tracked:
                if given[n]._origin is INFERENCE:
                    odd = True
                if n in plan.unstated and given[n].requires_grad:
                    refuse(own.rule, n)
            elif given[n]._origin is None:
                nodes[n] = given[n]._node
            else:
                nodes[n] = current_node(given[n])
                if given[n]._origin is INFERENCE:
                    odd = True
        else:
            arrays[n] = given[n]
            if n in plan.tracked:
                nodes[n] = None
    if plan.meeting:
        first: Folded = arrays[plan.first]
        if plan.form == "binary":
            dtype = first.dtype
        else:
            try:
                uniform = all(first.dtype is arrays[n].dtype for n in plan.tracked[1:])
            except AttributeError:  # a number, or None
                uniform = False
            uniform = uniform or all(same_dtype(first, arrays[n]) for n in plan.tracked[1:])
        if not (
            all(dtype is arrays[n].dtype for n in plan.tracked[1:])
            if plan.form == "binary"
            else uniform
        ):
            return promoted(own.record, own.rule, (*[given[n] for n in plan.arguments],))

    # The function, on the arrays.
    if plan.halves and plan.form != "binary":
        dtype = arrays[plan.first].dtype
    try:
        if plan.quickly is not None:
            array = put(plan.quickly, x_array)
        elif plan.form == "usual":
            array = own.function(*[value(plan, n, given, arrays) for n in plan.arguments])
        elif plan.direct and not is_plain(plan, arrays):
            array = (own.mixed if plan.rounds else own.dispatched)(
                *[value(plan, n, given, arrays) for n in plan.positional],
                **{n: value(plan, n, given, arrays) for n in plan.settings},
            )
        elif plan.rounds and is_narrow(plan, arrays[plan.first]):
            array = rounded(
                own.dispatched,
                *[value(plan, n, given, arrays) for n in plan.positional],
                **{n: value(plan, n, given, arrays) for n in plan.settings},
            )
        elif plan.halves and dtype is float16:
            array = own.halves(*[value(plan, n, given, arrays) for n in plan.arguments])
        elif plan.blocks and arrays[plan.first].size >= (
            blocks.FEW if plan.steps else blocks.BLOCK
        ):
            array = own.at_once(*[value(plan, n, given, arrays) for n in plan.arguments])
        elif plan.quick or plan.blocks:  # by position, which is quicker than by name
            array = own.function(*[value(plan, n, given, arrays) for n in plan.arguments])
        else:
            array = own.function(
                *[value(plan, n, given, arrays) for n in plan.positional],
                **{n: value(plan, n, given, arrays) for n in plan.settings},
            )
    except own.refusals as error:
        if plan.form == "usual":
            return handed_on(own.general)
        raise unsuited(own.rule, error, (*[given[n] for n in plan.arguments],)) from None
    except OverflowError:
        if plan.form != "number":
            raise
        return own.record(*[tensor(plan, n, given, arrays) for n in plan.arguments])
    if plan.form == "number" and array.dtype is not arrays[plan.first].dtype:
        if arrays[plan.first].dtype.kind != "V":
            return promoted(own.record, own.rule, (*[given[n] for n in plan.arguments],))
        array = rounded(own.dispatched, *[value(plan, n, given, arrays) for n in plan.arguments])
    if (
        plan.floats
        and all(nodes[n] is None for n in plan.tracked)
        and array.dtype is not (dtype if plan.halves else arrays[plan.first].dtype)
        and needs_floating(array, arrays[plan.first])
    ):
        return own.record(*[floating(given[n]) for n in plan.tracked])

    # Tensors of what came out; and of what they are views.
    if plan.several:
        results = tuple([wrap(item if type(item) is ndarray else settle(item)) for item in array])
        if plan.view:
            views_of(results, x, pick, own.record, (*[given[n] for n in plan.rest],))
        special = modes.special
    else:
        if not plan.settled and type(array) is not ndarray:
            array = settle(array)
        result = new(Tensor)
        result._array = array
        result._origin = result._cell = None
        special = modes.special
        if plan.view:
            now = tick()
            if (
                (
                    plan.form == "usual"
                    or (isinstance(x, Tensor) and type(array) is type(x_array) is ndarray)
                )
                and not special
                and (x._origin is None or type(x._origin) is View)
                and (array.base is x_array or array.base is x_array.base is not None)
            ):
                view = View()
                origin = x._origin
                if origin is None:
                    view.base = x
                    view.parent = view.creation = None
                else:
                    view.base = origin.base
                    view.parent = origin
                    view.creation = origin.creation
                view.call = (own.record, (*[given[n] for n in plan.rest],))
                view.leaf = None
                view.born = view.seen = now
                result._origin = view
                result._cell = x._cell or cell_of(x)
            elif (plan.form == "usual" or isinstance(x, Tensor)) and not (
                type(array) is ndarray and array.base is None and array is not x_array
            ):  # an array that owns its memory is no view
                view_of(result, x, own.record, (*[given[n] for n in plan.rest],))
    outcome: Folded = results if plan.several else result
    if special and not may_all(plan, outcome):
        if not plan.several:
            result._node = None
        return with_tangents(plan, own, given, outcome) if modes.pushing else outcome

    # A node, if an input is tracked: integers and truth values are outside the graph, and a view of
    # an inference tensor is one itself.
    if (
        any(nodes[n] is not None for n in plan.tracked)
        and (not plan.casts or array.dtype.kind not in "biu")
        and (
            not plan.view
            or plan.casts
            or not (odd and first_of(plan, outcome)._origin is INFERENCE)
        )
    ):
        if "y" in plan.values:
            if plan.several:
                y = tuple([twin(result) for result in results])
            else:
                y = array
                y_cell = result._cell = Cell()
        node = own.NodeClass()
        node.edges = (*[nodes[n] for n in plan.tracked],)
        node.saved = (*[kept(plan, f, given, arrays, nodes, y, y_cell) for f in plan.fields],)
        node.order = now if plan.view and not plan.several else tick()
        node.extras = None
        node.direct = not plan.several
        node.frees = plan.frees or any(nodes[n] is not None for n in plan.freeing)
        frame = getframe(plan.depth)
        code = frame.f_code
        try:
            while INTERNAL[code.co_filename] and frame.f_back is not None:
                frame = frame.f_back
                code = frame.f_code
        except KeyError:  # a file that nobody has asked about
            frame = user_frame(frame)
            code = frame.f_code
        node.code = code
        node.at = frame.f_lasti
        if odd or special:
            settle_node(node, array)
        if plan.several:
            node.outputs = len(results)
            node.likes = [(result._array.shape, result._array.dtype) for result in results]
            for slot, result in enumerate(results):
                result._node = Output(node, slot) if slot else node
        else:
            result._node = node
    elif not plan.several:
        result._node = None
    if special and modes.pushing:
        return with_tangents(plan, own, given, outcome)
    return outcome


@inline
def value(plan: Plan, n: str, given: Named, arrays: Named) -> Any:
    """What the function gets for an argument."""
    return arrays[n] if n in plan.operands else given[n]


@inline
def tensor(plan: Plan, n: str, given: Named, arrays: Named) -> Any:
    """An operand; a number as a tensor of the other's dtype."""
    return wrapped(given[n], arrays[plan.first]) if n == plan.number else given[n]


@inline
def is_narrow(plan: Plan, array: Any) -> bool:
    """Whether an array is of half precision: see `rules/half.py`. Most are told by their size."""
    return (
        (plan.direct or type(array) is ndarray) and array.itemsize == 2 and array.dtype.char in "eE"
    )


@inline
def is_plain(plan: Plan, arrays: Named) -> bool:
    """Whether the meaning on plain arrays may be asked at once, and not the function's dispatch.

    One index may be of another kind by itself; several are looked at in special modes.
    """
    return (
        all(
            type(arrays[n]) is ndarray or (n in plan.optional and arrays[n] is None)
            for n in plan.tracked
        )
        and all(type(arrays[n]) in DIRECT for n in plan.indices)
        and not (plan.indices and modes.special)
    )


@inline
def may_all(plan: Plan, outcome: Any) -> bool:
    return all(may_record(item) for item in outcome) if plan.several else may_record(outcome)


@inline
def first_of(plan: Plan, outcome: Any) -> Any:
    return outcome[0] if plan.several else outcome


@inline
def with_tangents(plan: Plan, own: Any, given: Named, outcome: Any) -> Any:
    return carried(own.record, own.rule, (*[given[n] for n in plan.arguments],), outcome)


@inline
def kept(
    plan: Plan, field: str, given: Named, arrays: Named, nodes: Named, y: Any, y_cell: Any
) -> Any:
    """What to save for one field; an array only if an argument that needs it is tracked."""
    return (
        equal_shapes(plan, arrays)
        if field == "shapes"
        else fact_of(plan, plan.base(field), plan.attribute(field), given, arrays, nodes)
        if field in plan.facts
        else named(field, given, y, y_cell)
        if not plan.some(field) or any(nodes[n] is not None for n in plan.users(field))
        else None
    )


@inline
def named(field: str, given: Named, y: Any, y_cell: Any) -> Any:
    return y if field == "y" else y_cell if field == "y_cell" else given[field]


@inline
def equal_shapes(plan: Plan, arrays: Named) -> Any:
    """The shapes of the arguments, where one of them was repeated to meet the others."""
    return (
        None
        if all(shape(plan, n, arrays) == shape(plan, plan.first, arrays) for n in plan.tracked[1:])
        and all(shape_of(arrays[n]) in ((), shape_of(arrays[plan.first])) for n in plan.indices)
        else (*[shape(plan, n, arrays) for n in plan.tracked],)
    )


@inline
def shape(plan: Plan, n: str, arrays: Named) -> Any:
    """The shape of an operand. Of three, some may be numbers."""
    return arrays[n].shape if plan.form != "any" or hasattr(arrays[n], "shape") else ()


@inline
def fact_of(plan: Plan, n: str, attribute: str, given: Named, arrays: Named, nodes: Named) -> Any:
    """The shape or dtype of an argument. A tracked one is an array; any other may be a number."""
    return (
        number_fact(attribute, given[n])
        if n not in plan.tracked
        else getattr(arrays[n], attribute)
        if len(plan.tracked) == 1 or nodes[n] is not None
        else number_fact(attribute, arrays[n])
    )


@inline
def number_fact(attribute: str, x: Any) -> Any:
    return dtype_of(x) if attribute == "dtype" else x.shape if type(x) is ndarray else shape_of(x)


def pick(x: Tensor, record: Any, slot: int, *args: Any) -> Tensor:
    """One output of a function with several, to replay a view."""
    output: Tensor = record(x, *args)[slot]
    return output


# ---- pull ----------------------------------------------------------------------------------


@template
def pull(
    plan: Plan, own: Any, recorded: bool, together: bool, values: Named, self: Any, cotangent: Any
) -> Any:
    """The cotangents of the arguments: of plain arrays, or of Tensors, `recorded` again.

    `together` says whether machine code, and one lambda for all arguments, may be asked first.
    """
    nodes: Named = {}
    cotangents: Named = {}
    if plan.fields:
        saved = self.saved
        if type(saved) is Freed:
            raise freed(self)
        values.update(zip(plan.fields, saved, strict=True))
    nodes.update(zip(plan.tracked, self.edges, strict=True))
    if plan.several:
        cotangent = filled(self, cotangent)

    # What was saved, as arrays, or recorded; overwritten since, it is no longer what was meant.
    for n in plan.inputs:
        if values[n] is not None:
            if recorded:
                values[n] = restored(self, values[n], nodes[n] if n in plan.tracked else None)
            elif plan.all_tensors or isinstance(values[n], Tensor):  # or a Packed one like it
                if values[n]._cell is not None and values[n]._cell.stamp > self.order:
                    raise modified(self, values[n]._array, values[n]._cell)
                values[n] = values[n]._array
            else:
                values[n] = operand(values[n])
    # PyTorch saves for functions that are `repeatable` something else than the result.
    if "y" in plan.values:
        if (
            plan.repeatable
            and is_overwritten(plan, self, values["y"], values["y_cell"])
            and all(values[n] is not None for n in plan.inputs)
        ):
            values["y"] = own.dispatched(
                *[values[n] for n in plan.positional], **{n: values[n] for n in plan.settings}
            )
        elif plan.several:
            see: Folded = restored if recorded else checked
            values["y"] = [see(self, item, at(self, k)) for k, item in enumerate(values["y"])]
        elif recorded:
            if values["y"] is not None:
                values["y"] = restored_output(self, values["y"], values["y_cell"], self)
        else:
            if is_overwritten(plan, self, values["y"], values["y_cell"]):
                raise modified(self, values["y"], values["y_cell"])
            if type(values["y"]) is not ndarray:
                values["y"] = operand(values["y"])

    asked: Folded = plan.joint and together and not recorded
    if asked and all(nodes[n] is not None for n in plan.tracked):
        all_at_once = own.all_together(cotangent, *[values[p] for p in plan.together])
        if all_at_once is not None:
            return all_at_once
    if plan.conjugated:  # conj(f(conj(cotangent))) makes the adjoint of the transpose
        is_complex = cotangent.dtype is not float32 and cotangent.dtype.kind == "c"
    for n in plan.tracked:
        if len(plan.tracked) > 1 and nodes[n] is None:
            cotangents[n] = None
        else:
            if n in plan.conjugated and is_complex:
                cotangents[n] = conj(
                    own.reverse[n](conj(cotangent), *[values[p] for p in plan.wanted(n)])
                )
            elif n in plan.fused and together and not recorded and is_large(cotangent):
                cotangents[n] = own.fused[n](cotangent, *[values[p] for p in plan.wanted(n)])
            else:
                cotangents[n] = own.reverse[n](cotangent, *[values[p] for p in plan.wanted(n)])
            if plan.shapes and values["shapes"] is not None:
                cotangents[n] = unbroadcast(cotangents[n], values["shapes"][plan.place(n)])
    return (*[cotangents[n] for n in plan.tracked],)


@inline
def is_overwritten(plan: Plan, self: Any, y: Any, cell: Any) -> bool:
    return (
        any(overwritten(self, item._cell) for item in y)
        if plan.several
        else cell is not None and cell.stamp > self.order
    )


@inline
def is_large(x: Any) -> bool:
    return type(x) is ndarray and x.size >= blocks.FEW


def at(node: Any, slot: int) -> Any:
    """An edge to one output of a node."""
    return Output(node, slot) if slot else node


def filled(node: Any, cotangents: list[Any]) -> list[Any]:
    """Outputs that received no cotangent count as zero; a lone one arrives without its list."""
    if node.outputs == 1:
        cotangents = [cotangents]
    return [
        np.zeros(shape, dtype) if g is None else g
        for g, (shape, dtype) in zip(cotangents, node.likes, strict=True)
    ]
