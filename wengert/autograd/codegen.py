"""From a rule to the text of its functions: one records, one pulls back, one pushes forward.

The text is straight-line Python, what a person would write by hand for one operation:

    record(a, b)    runs the function on the arrays inside, wraps the result, and, if an input is
                    tracked, makes a node that saves exactly what the rule's parameters name
    pull(node, cotangent)   hands each saved value to its lambda and returns the inputs' cotangents
    push(operands, tangents, ys)   the outputs' tangents, the sum over the operands that have one

Interpreting the rule at each call instead would cost several times the price of a small operation.
What the text means is stated, interpretively, by `rules.rule.pull` and `push`. `record.listing`
shows it.
"""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Sequence
from inspect import Parameter, Signature
from typing import Any

import numpy as np

from wengert.autograd.operands import keeps_integers
from wengert.history.location import INTERNAL
from wengert.rules.blocks import has_steps
from wengert.rules.quick import QUICK
from wengert.rules.rule import Rule, names_values, parameters

# The texts' own variables, which no rule's argument may be called.
RESERVED = frozenset(
    {"array", "code", "cotangent", "frame", "node", "odd", "result", "results", "saved", "self"}
    | {
        "into",
        "is_complex",
        "now",
        "record",
        "shapes",
        "special",
        "together",
        "view",
        "y",
        "y_cell",
    }
    | {"_operands", "_outputs", "_tangents", "_term", "_total", "broadcast_to", "fact", "plus"}
)


class Plan:
    """What the text for one rule must say: which arguments are tracked, which values are saved.

    `constant` names an argument that is known to be a Python number.
    """

    def __init__(self, rule: Rule, constant: str | None = None) -> None:
        assert RESERVED.isdisjoint(rule.arguments), f"{rule}: {RESERVED & set(rule.arguments)}"
        self.rule = rule
        self.constant = constant
        self.tracked = [n for n in rule.differentiable if n != constant]
        self.wanted = {n: parameters(rule.reverse[n]) for n in self.tracked}
        names = {p for n in self.tracked for p in self.wanted[n]}
        self.values = sorted(n for n in names if n in rule.arguments or n == "y")
        self.facts = sorted(names - set(self.values))
        self.shapes = rule.family == "elementwise" and len(self.tracked) > 1
        arrays = [n for n in self.values if n != "y" and self._may_be_array(n)]
        self.arrays = [*arrays, "y"] if "y" in self.values else arrays
        assert rule.together is None or names.issuperset(parameters(rule.together)), rule
        self.fields = [*self.values, *self.facts, *(["shapes"] if self.shapes else [])]
        self.at_once = rule.formulas and hasattr(rule.function, "plain")
        self.fused = [n for n in self.tracked if _is_fused(rule, n)]
        if "y" in self.values and rule.outputs == 1:  # saved as its array and its cell
            assert not rule.view, f"{rule}: a view shares the cell of its base"
            self.fields.insert(self.fields.index("y") + 1, "y_cell")

    def _may_be_array(self, name: str) -> bool:
        return name != self.constant and (name in self.rule.reverse or self.may_be_tensor(name))

    def may_be_tensor(self, name: str) -> bool:
        """Whether an argument without a derivative may nevertheless be a tensor."""
        return name in self.rule.constants

    @property
    def repeatable(self) -> bool:
        """Whether all arguments are saved, so that the result can be computed again from them."""
        opaque = getattr(self.rule.function, "opaque", False)
        return not opaque and set(self.rule.arguments) <= set(self.values)

    def users(self, name: str) -> list[str]:
        """The arguments whose derivative needs `name`."""
        return [n for n in self.tracked if name in self.wanted[n]]


def _is_fused(rule: Rule, n: str) -> bool:
    """Whether the cotangents of many numbers go to machine code, as `fused_n` does."""
    return rule.formulas and has_steps(rule.reverse[n], 1 + len(parameters(rule.reverse[n])))


def compiled(text: str, space: dict[str, Any], rule: Rule) -> Any:
    """The function of a text, which finds its names in `space`; tracebacks show its lines."""
    name = text[4 : text.index("(")]
    filename = f"<wengert {rule.name}.{name} {abs(hash(text)):x}>"
    INTERNAL.add(filename)
    space.setdefault("__name__", __name__)  # whence NumPy's warnings come
    exec(compile(text, filename, "exec"), space)
    lines = [line + "\n" for line in text.split("\n")]
    linecache.cache[filename] = (len(text), None, lines, filename)
    return space[name]


# ---- record --------------------------------------------------------------------------------


def record_text(plan: Plan) -> str:
    """Any function: each argument may be a tensor or a number."""
    head = f"def record({', '.join(_formal(plan.rule, n) for n in plan.rule.arguments)}):"
    return "\n".join([head, *_record_body(plan)])


def usual_text(
    plan: Plan, name: str, signature: Signature, condition: str, actual: str, quick: str
) -> str:
    """The recorder as a public function with its own signature, for the calls that it usually gets.

    Those have one tensor, the first argument, around a plain array. Other calls go to `general`,
    and those that NumPy refuses: it will say what is wrong.
    """
    parameters = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    general = f"return general({', '.join(map(_passed_on, parameters))})"
    x, *others = plan.rule.arguments
    given, *rest = actual.split(", ", len(others))
    return "\n".join(
        [
            f"def {name}{Signature(parameters)}:",
            f"    if not (isinstance({given}, Tensor) and {condition}): {general}",
            *([f"    {x} = {given}"] if given != x else []),
            *[f"    {n} = {value}" for n, value in zip(others, rest, strict=True) if n != value],
            f"    {x}_array = {x}._array",
            f"    if type({x}_array) is not ndarray: {general}",
            "    odd = False",
            *_node_of(x, "    "),
            f"    try: array = {quick}",
            f"    except (ValueError, TypeError, IndexError): {general}",
            *_wrap(plan, ndarray=True),
        ]
    )


def _passed_on(p: Parameter) -> str:
    if p.kind == p.KEYWORD_ONLY:
        return f"{p.name}={p.name}"
    stars = "*" if p.kind == p.VAR_POSITIONAL else "**" if p.kind == p.VAR_KEYWORD else ""
    return stars + p.name


def _record_body(plan: Plan) -> list[str]:
    rule = plan.rule
    lines = ["    odd = False"]
    arrays = {n: n for n in rule.arguments}
    for n in rule.arguments:
        if n not in plan.tracked and not plan.may_be_tensor(n):
            continue
        arrays[n] = f"{n}_array"
        lines += [f"    if isinstance({n}, Tensor):", f"        {n}_array = {n}._array"]
        if n in plan.tracked:
            lines += _node_of(n, "        ")
        else:
            lines += [f"        if {n}._origin is INFERENCE: odd = True"]
            if n in rule.unstated:
                lines += [f"        if {n}.requires_grad: refuse(rule, {n!r})"]
        lines += ["    else:", f"        {n}_array = {n}"]
        if n in plan.tracked:
            lines += [f"        {n}_node = None"]
    if len(plan.tracked) > 1:
        first, *others = plan.tracked
        call = f"promoted(record, rule, ({', '.join(rule.arguments)},))"
        equal = " and ".join(f"{first}_array.dtype is {n}_array.dtype" for n in others)
        other = " and ".join(f"same_dtype({first}_array, {n}_array)" for n in others)
        lines += [
            f"    try: uniform = {equal}",
            f"    except AttributeError: uniform = {other}  # a number, or None",
            f"    if not uniform: return {call}",
        ]
    lines += _run(plan, _actual(rule, arrays), rule.arguments, ", ".join(arrays.values()))
    return lines + (_wrap(plan) if rule.outputs == 1 else _wrap_several(plan))


def unary_text(plan: Plan) -> str:
    """An elementwise function of one tensor; integers become floating point first.

    It has PyTorch's arguments, so that `x.exp()` and `exp(x)` call this very code.
    """
    (x,) = plan.rule.arguments
    return "\n".join(
        [
            "def record(input, *, out=None):",
            "    if out is not None: return into(out, record, (input,), {})",
            f"    {x} = input",
            f"    if not isinstance({x}, Tensor): return alone(record, rule, {x})",
            "    odd = False",
            f"    {x}_array = {x}._array",
            *_node_of(x, "    "),
            *_run(plan, f"{x}_array", (x,)),
            _if_made_floating(x),
            f"        return record(floating({x}))",
            *_wrap(plan),
        ]
    )


def binary_text(plan: Plan) -> str:
    """The hot path: an elementwise function of two tensors; numbers have variants of their own."""
    a, b = plan.rule.arguments
    return "\n".join(
        [
            f"def record({a}, {b}):",
            f"    if not isinstance({b}, Tensor):",
            f"        if type({b}) in NUMBERS: return right_number({a}, {b})",
            f"        return foreign(record, rule, ({a}, {b}))",
            f"    if not isinstance({a}, Tensor):",
            f"        if type({a}) in NUMBERS: return left_number({a}, {b})",
            f"        return foreign(record, rule, ({a}, {b}))",
            f"    {a}_array = {a}._array; {b}_array = {b}._array",
            f"    if {a}_array.dtype is not {b}_array.dtype:",
            f"        return promoted(record, rule, ({a}, {b}))",
            "    odd = False",
            *_node_of(a, "    "),
            *_node_of(b, "    "),
            *_run(plan, f"{a}_array, {b}_array", (a, b)),
            *(
                []
                if keeps_integers(plan.rule)
                else [
                    _if_made_floating(a, b),
                    f"        return record(floating({a}), floating({b}))",
                ]
            ),
            *_wrap(plan),
        ]
    )


def _if_made_floating(*names: str) -> str:
    """Whether NumPy made floats of a kind of its own, of integers, which are never tracked."""
    x = f"{names[0]}_array"
    untracked = " is ".join(f"{n}_node" for n in names)
    return f"    if {untracked} is None and array.dtype is not {x}.dtype and needs_floating(array, {x}):"


def number_text(plan: Plan, name: str) -> str:
    """The recorder where one argument is a Python number: nothing broadcasts, the dtype stays."""
    rule = plan.rule
    (x,) = (n for n in rule.arguments if n != plan.constant)
    actual = ", ".join(f"{n}_array" if n == x else n for n in rule.arguments)
    return "\n".join(
        [
            f"def {name}({', '.join(rule.arguments)}):",
            f"    if not isinstance({x}, Tensor): return foreign(record, rule, ({', '.join(rule.arguments)}))",
            "    odd = False",
            f"    {x}_array = {x}._array",
            *_node_of(x, "    "),
            *_run(plan, actual, rule.arguments),
            f"    except OverflowError: return record({', '.join(n if n == x else f'wrapped({n}, {x}_array)' for n in rule.arguments)})",
            f"    if array.dtype is not {x}_array.dtype:",
            f"        if {x}_array.dtype.kind != 'V': return promoted(record, rule, ({', '.join(rule.arguments)}))",
            f"        array = rounded(dispatched, {actual})",
            *_wrap(plan, depth=2),
        ]
    )


def _run(plan: Plan, actual: str, operands: Iterable[str], in_order: str = "") -> list[str]:
    """The call of the function; NumPy's complaint about shapes or dtypes becomes ours.

    A primitive's body, or the quick form of a NumPy function, is the meaning on plain arrays: it is
    called at once for them; the other kinds of arrays are reached through the function's dispatch.
    Quick forms take all arguments `in_order`, which is quicker than by name.
    """
    call = f"function({actual})"
    if plan.rule.formulas and isinstance(plan.rule.function, np.ufunc):
        call = f"(function if {plan.tracked[0]}_array.dtype is not float16 else halves)({actual})"
    if hasattr(plan.rule.function, "plain") or plan.rule.function in QUICK:
        ndarrays = " and ".join(_is_ndarray(plan, n) for n in plan.tracked)
        if indices := [n for n in plan.rule.arguments if plan.may_be_tensor(n)]:
            # One index may be of another kind by itself; several are looked at in special modes.
            direct = " and ".join(f"type({n}_array) in DIRECT" for n in indices)
            ndarrays = f"{ndarrays} and {direct} and not modes.special"
        quick = in_order if plan.rule.function in QUICK or plan.at_once else actual
        function = "function"
        if plan.at_once:
            function = f"(at_once if {plan.tracked[0]}_array.size >= blocks.SEVERAL else function)"
        call = f"{function}({quick or actual}) if {ndarrays} else dispatched({actual})"
    rule = plan.rule  # of views and casts there is nothing to compute in float32
    if not (rule.view or rule.casts or getattr(rule.function, "signature", "") is None):
        call = f"rounded(dispatched, {actual}) if {_is_narrow(plan)} else {call}"
    return [
        f"    try: array = {call}",
        f"    except (ValueError, TypeError) as error: raise unsuited(rule, error, ({', '.join(operands)},)) from None",
    ]


def _is_narrow(plan: Plan) -> str:
    """A test for a first array of half precision: see `rules/half.py`."""
    n = plan.tracked[0]
    return f"type({n}_array) is ndarray and {n}_array.dtype.char in 'eE'"


def _is_ndarray(plan: Plan, n: str) -> str:
    """A test for a plain array; arguments after the first two may be left out of a call."""
    optional = f" or {n}_array is None" if n in plan.tracked[2:] else ""
    return f"(type({n}_array) is ndarray{optional})" if optional else f"type({n}_array) is ndarray"


def _node_of(name: str, indent: str) -> list[str]:
    return [
        f"{indent}if {name}._origin is None: {name}_node = {name}._node",
        f"{indent}else:",
        f"{indent}    {name}_node = current_node({name})",
        f"{indent}    if {name}._origin is INFERENCE: odd = True",
    ]


def _wrap(plan: Plan, depth: int = 1, ndarray: bool = False) -> list[str]:
    """From `array` on: wrap it, and record the operation if it is tracked.

    `ndarray` says that the first argument is known to be a tensor around a plain array.
    """
    rule = plan.rule
    settled = ndarray and rule.view
    lines = [
        *([] if settled else ["    if type(array) is not ndarray: array = settle(array)"]),
        "    result = new(Tensor)",
        "    result._array = array",
        "    result._origin = result._cell = None",
        "    special = modes.special",
        *(_note_view(plan, ndarray) if rule.view else []),
        "    if special and not may_record(result):",
        "        result._node = None",
        f"        return {_carried(plan, 'result')}",
        _if_tracked(plan, "result"),
    ]
    if "y" in plan.values:
        lines += ["        y = array; y_cell = result._cell = Cell()"]
    lines += [*_make_node(plan, depth), "        result._node = node"]
    lines += [f"        return {_returned(plan, 'result')}"]
    return [
        *lines,
        "    result._node = None",
        f"    return {_returned(plan, 'result')}",
    ]


def _note_view(plan: Plan, ndarray: bool) -> list[str]:
    """Note what `result` looks into, as `view_of` does: at once if nothing is unusual."""
    x, *rest = plan.rule.arguments
    call = f"(record, ({''.join(f'{n}, ' for n in rest)}))"
    unsure = f"isinstance({x}, Tensor) and type(array) is type({x}_array) is ndarray and "
    known = "" if ndarray else unsure
    otherwise = "else" if ndarray else f"elif isinstance({x}, Tensor)"
    return [
        "    now = tick()",
        f"    if {known}not special and ({x}._origin is None or type({x}._origin) is View) \\",
        f"            and (array.base is {x}_array or array.base is {x}_array.base is not None):",
        f"        view = View(); origin = {x}._origin",
        f"        if origin is None: view.base = {x}; view.parent = view.creation = None",
        "        else: view.base = origin.base; view.parent = origin; view.creation = origin.creation",
        f"        view.call = {call}; view.leaf = None; view.born = view.seen = now",
        "        result._origin = view",
        f"        result._cell = {x}._cell or cell_of({x})",
        f"    {otherwise}: view_of(result, {x}, *{call})",
    ]


def _returned(plan: Plan, result: str) -> str:
    return f"{result} if not special else {_carried(plan, result)}"


def _carried(plan: Plan, result: str) -> str:
    """The result, with its tangents where forward mode is what is special."""
    operands = "".join(f"{n}, " for n in plan.rule.arguments)
    return f"carried(record, rule, ({operands}), {result}) if modes.pushing else {result}"


def _if_tracked(plan: Plan, result: str) -> str:
    tracked = " or ".join(f"{n}_node is not None" for n in plan.tracked)
    if plan.rule.casts:  # integers and truth values are outside the graph
        return f"    if ({tracked}) and array.dtype.kind not in 'biu':"
    if not plan.rule.view:
        return f"    if {tracked}:"
    # A view of an inference tensor is one itself, and has no history.
    return f"    if ({tracked}) and not (odd and {result}._origin is INFERENCE):"


def _wrap_several(plan: Plan) -> list[str]:
    """The results of a function with several outputs as tensors, each of them tracked."""
    rule = plan.rule
    x = rule.arguments[0]
    lines = ["    results = tuple(wrap(settle(item)) for item in array)"]
    if rule.view:
        rest = "".join(f"{n}, " for n in rule.arguments[1:])
        lines += [
            "    for slot, result in enumerate(results):",
            f"        view_of(result, {x}, pick, (record, slot, {rest}), 'multi')",
        ]
    lines += [
        "    special = modes.special",
        "    if special and not all([may_record(result) for result in results]):",
        f"        return {_carried(plan, 'results')}",
        _if_tracked(plan, "results[0]"),
    ]
    if "y" in plan.values:
        lines += ["        y = tuple(twin(result) for result in results)"]
    lines += [
        *_make_node(plan, 1),
        "        node.outputs = len(results)",
        "        node.likes = [(result._array.shape, result._array.dtype) for result in results]",
        "        for slot, result in enumerate(results): result._node = Output(node, slot) if slot else node",
        f"    return {_returned(plan, 'results')}",
    ]
    return lines


def _make_node(plan: Plan, depth: int) -> list[str]:
    kept = [_kept(plan, field) for field in plan.fields]
    return [
        "        node = NodeClass()",
        f"        node.edges = ({' '.join(f'{n}_node,' for n in plan.tracked)})",
        f"        node.saved = ({' '.join(value + ',' for value in kept)})",
        f"        node.order = {'now' if plan.rule.view and plan.rule.outputs == 1 else 'tick()'}",
        "        node.extras = None",
        f"        node.direct = {plan.rule.outputs == 1}",
        f"        node.frees = {_frees(plan)}",
        f"        frame = getframe({depth})",
        "        code = frame.f_code",
        "        while code.co_filename in INTERNAL and frame.f_back is not None:",
        "            frame = frame.f_back; code = frame.f_code",
        "        node.code = code",
        "        node.at = frame.f_lasti",
        "        if odd or special: settle_node(node, array)",
    ]


def _kept(plan: Plan, field: str) -> str:
    """What to save for one field; an array only if an argument that needs it is tracked."""
    if field == "shapes":
        arrays = [f"{n}_array" for n in plan.tracked]
        shapes = f"({', '.join(f'{a}.shape' for a in arrays)})"
        return f"None if {' == '.join(f'{a}.shape' for a in arrays)} else {shapes}"
    if field in plan.facts:
        base, _, attribute = field.rpartition("_")
        if base not in plan.tracked:
            return f"{attribute}_of({base})"
        array = f"{base}_array"
        if len(plan.tracked) == 1:
            return f"{array}.{attribute}"
        # A tracked argument is an array; any other may be a number.
        return f"{array}.{attribute} if {base}_node is not None else {attribute}_of({array})"
    value = "y" if field == "y_cell" else field
    users = plan.users(value)
    if value in plan.arrays and len(users) < len(plan.tracked):
        return f"{field} if {' or '.join(f'{n}_node is not None' for n in users)} else None"
    return field


def _frees(plan: Plan) -> str:
    """Whether arrays are saved: a node without any can be gone through again."""
    users = {user for field in plan.arrays for user in plan.users(field)}
    if users >= set(plan.tracked):
        return str(bool(plan.arrays))
    return " or ".join(f"{n}_node is not None" for n in plan.tracked if n in users) or "False"


def _formal(rule: Rule, name: str) -> str:
    return f"{name}=default_{name}" if name in rule.defaults else name


def _actual(rule: Rule, arrays: dict[str, str]) -> str:
    """Arguments without a default by position, settings by keyword."""
    return ", ".join(
        arrays[n] if n in rule.positional else f"{n}={arrays[n]}" for n in rule.arguments
    )


_IS_COMPLEX = "    is_complex = cotangent.dtype is not float32 and cotangent.dtype.kind == 'c'"

# ---- pull ----------------------------------------------------------------------------------


def pull_text(plan: Plan, recorded: bool, together: bool = True) -> str:
    """The method that pulls cotangents back: on plain arrays, or on Tensors, recorded again.

    `together` says whether one lambda for all arguments may be asked first, where a rule has one.
    """
    rule = plan.rule
    lines = [f"def {'pull_recorded' if recorded else 'pull'}(self, cotangent):"]
    if plan.fields:
        lines += [
            "    saved = self.saved",
            "    if type(saved) is Freed: raise freed(self)",
            f"    {' '.join(f + ',' for f in plan.fields)} = saved",
        ]
    lines += [f"    {' '.join(f'{n}_node,' for n in plan.tracked)} = self.edges"]
    if rule.outputs != 1:
        lines += ["    cotangent = filled(self, cotangent)"]
    for n in plan.arrays:
        lines += _read_back(plan, n, recorded)
    if rule.together is not None and together and not recorded:
        values = "".join(f", {p}" for p in parameters(rule.together))
        lines += [
            f"    if {' and '.join(f'{n}_node is not None' for n in plan.tracked)}:",
            f"        together = rule_together(cotangent{values})",
            "        if together is not None: return together",
        ]
    results = []
    for n in plan.tracked:
        values = "".join(f", {p}" for p in plan.wanted[n])
        expression = f"rule_{n}(cotangent{values})"
        if n in plan.fused and together and not recorded:
            many = "type(cotangent) is ndarray and cotangent.size >= blocks.BLOCK"
            expression = f"(fused_{n} if {many} else rule_{n})(cotangent{values})"
        if rule.family != "general" and names_values(rule, rule.reverse[n]):
            # conj(f(conj(cotangent))) turns the transpose into the adjoint; real arrays are left alone.
            if _IS_COMPLEX not in lines:
                lines += [_IS_COMPLEX]
            expression = f"conj(rule_{n}(conj(cotangent){values})) if is_complex else {expression}"
        if plan.shapes:
            lines += [
                f"    if {n}_node is None: {n}_g = None",
                "    else:",
                f"        {n}_g = {expression}",
                f"        if shapes is not None: {n}_g = unbroadcast({n}_g, shapes[{plan.tracked.index(n)}])",
            ]
            expression = f"{n}_g"
        elif len(plan.tracked) > 1:
            expression = f"None if {n}_node is None else ({expression})"
        results.append(f"({expression}),")
    return "\n".join([*lines, f"    return ({' '.join(results)})"])


def _is_tensor_only(plan: Plan) -> bool:
    """Whether the recording function sees to it that every tracked argument is a Tensor."""
    rule = plan.rule
    return rule.family == "elementwise" and len(rule.arguments) == len(rule.reverse) <= 2


def _read_back(plan: Plan, n: str, recorded: bool) -> list[str]:
    if n == "y":
        return _read_back_result(plan, recorded)
    if recorded:
        edge = f"{n}_node" if n in plan.tracked else "None"
        return [f"    if {n} is not None: {n} = restored(self, {n}, {edge})"]
    overwritten = f"{n}._cell is not None and {n}._cell.stamp > self.order"
    error = f"modified(self, {n}._array, {n}._cell)"
    if _is_tensor_only(plan):  # or a Packed one that behaves like it
        return [
            f"    if {n} is not None:",
            f"        if {overwritten}: raise {error}",
            f"        {n} = {n}._array",
        ]
    return [
        f"    if {n} is not None:",
        f"        if isinstance({n}, Tensor):",
        f"            if {overwritten}: raise {error}",
        f"            {n} = {n}._array",
        f"        else: {n} = operand({n})",
    ]


def _read_back_result(plan: Plan, recorded: bool) -> list[str]:
    """The result as it was: one that was overwritten is computed again, if the arguments are known.

    PyTorch saves for such functions something else than the result, and lets it be overwritten.
    """
    if plan.rule.outputs != 1:
        overwritten = "any(overwritten(self, item._cell) for item in y)"
        kept = f"[{'restored' if recorded else 'checked'}(self, item, at(self, k)) for k, item in enumerate(y)]"
        otherwise = [f"    y = {kept}"]
    else:
        overwritten = "y_cell is not None and y_cell.stamp > self.order"
        otherwise = [
            "    if y is not None: y = restored_output(self, y, y_cell, self)"
            if recorded
            else "    if type(y) is not ndarray: y = operand(y)"
        ]
    if not plan.repeatable:
        refused = f"    if {overwritten}: raise modified(self, y, y_cell)"
        return otherwise if recorded or plan.rule.outputs != 1 else [refused, *otherwise]
    known = "".join(f" and {n} is not None" for n in plan.arrays if n != "y")
    again = f"dispatched({_actual(plan.rule, {n: n for n in plan.rule.arguments})})"
    lines = [f"    if {overwritten}{known}: y = {again}", "    else:"]
    if plan.rule.outputs == 1 and not recorded:
        lines += [f"        if {overwritten}: raise modified(self, y, y_cell)"]
    return [*lines, *(f"    {line}" for line in otherwise)]


# ---- push ----------------------------------------------------------------------------------


def push_text(rule: Rule) -> str:
    """The function that pushes tangents forward: a list with the tangent of each output."""
    several = rule.outputs != 1
    tracked = [n for n in rule.arguments if n in rule.reverse]
    lines = [
        "def push(_operands, _tangents, _outputs):",
        f"    {' '.join(f'{n},' for n in rule.arguments)} = _operands",
        f"    {' '.join(f'{n}_t,' for n in tracked)} = _tangents",
        "    y = _outputs" if several else "    y = _outputs[0]",
        "    _total = None",
    ]
    for k, n in enumerate(tracked):
        lines += [f"    if {n}_t is not None:"]
        if not k:
            lines += [f"        _total = {_pushed(rule, n)}"]
            continue
        both = "plus(_total, _term, _tangents)"
        if several:
            both = "[plus(t, u, _tangents) for t, u in zip(_total, _term, strict=True)]"
        lines += [
            f"        _term = {_pushed(rule, n)}",
            f"        _total = _term if _total is None else {both}",
        ]
    if rule.family == "elementwise":
        lines += ["    if _total.shape != y.shape: _total = broadcast_to(_total, y.shape)"]
    return "\n".join([*lines, "    return _total" if several else "    return [_total]"])


def formula_text(rule: Rule, given: Sequence[bool]) -> tuple[str, list[str]]:
    """The sum for the tangents `given`, as a function of arrays; and the names of those."""
    tracked = [n for n in rule.arguments if n in rule.reverse]
    present = [n for n, there in zip(tracked, given, strict=True) if there]
    names = {name: None for n in present for name in (f"{n}_t", *parameters(rule.forward[n]))}
    terms = " + ".join(_pushed(rule, n) for n in present)
    return f"def formula({', '.join(names)}):\n    return {terms}", list(names)


def _pushed(rule: Rule, n: str) -> str:
    """What one argument's tangent contributes: by its lambda, or by the function, which is linear."""
    if n not in rule.forward:
        return f"function({_actual(rule, {m: f'{m}_t' if m == n else m for m in rule.arguments})})"
    values = []
    for p in parameters(rule.forward[n]):
        base, _, attribute = p.rpartition("_")
        known = p == "y" or p in rule.arguments
        values.append(p if known else f"fact({base}, {attribute!r})")
    return f"forward_{n}({', '.join([f'{n}_t', *values])})"
