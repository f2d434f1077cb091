"""Recording: each rule of the table becomes a function to call and a class of nodes.

`recorder(np.multiply)` is the function that runs `np.multiply` on Tensors and records it:
`template.py`, folded for its rule when it is first called.

Read `node.py` and `template.py` first; `engine.py` walks what is recorded here.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from collections.abc import Callable, Sequence
from inspect import Parameter, Signature, signature
from types import FunctionType
from typing import Any

import numpy as np

from wengert.autograd import pushing, saved, template, zeros
from wengert.autograd.folding import folded, formula, text_of
from wengert.autograd.lists import of_list
from wengert.autograd.misfits import told
from wengert.autograd.operands import Recorder, casting, is_unary
from wengert.autograd.plan import Plan, Usual, plan_of, usual_plan
from wengert.dispatch import Function
from wengert.errors import MissingRuleError
from wengert.history import forks
from wengert.history.node import Node
from wengert.rules import blocks
from wengert.rules.half import rounded_if_narrow
from wengert.rules.quick import QUICK
from wengert.rules.rule import RULES, Rule
from wengert.rules.shapes import astype

RECORDERS: dict[Function, Recorder] = {}


def recorder(function: Function) -> Recorder:
    """The function that runs `function` on Tensors and records it, if it has a rule.

    Its text is written when it is first called, so that importing stays quick. What it records is
    its `rule`.
    """
    record = RECORDERS.get(function)
    if record is None:
        rule = RULES.get(function)
        if rule is None:
            raise MissingRuleError(
                f"{getattr(function, '__name__', function)} has no derivative rule, so it cannot "
                "be applied to a tensor. Write it with functions that have one, or apply it to "
                "x.detach().numpy() if no derivative is wanted."
            )
        record = of_list(rule, node_name(rule)) if rule.sequence else _unwritten(rule)
        RECORDERS[function] = record
        vars(record)["rule"] = rule
    return record


def _unwritten(rule: Rule) -> Recorder:
    first = _first_call_of_one if is_unary(rule) else _first_call
    return _written_later(functools.partial(_write, rule), first, rule.name.lower())


def _write(rule: Rule, record: Recorder, space: dict[str, Any]) -> Any:
    plan = plan_of(rule)
    own = _own(rule, plan) | {"record": record}
    if plan.form == "binary":
        a, b = rule.arguments
        own |= {"number_" + a: _of_number(rule, a, record)}
        own |= {"number_" + b: _of_number(rule, b, record)}
    function = folded(template.record, space, own, _head(plan), plan)
    if plan.form == "unary":
        function.__kwdefaults__ = {"out": None}
    else:
        function.__defaults__ = tuple(
            rule.defaults[n] for n in rule.arguments if n in rule.defaults
        )
    return function


def _of_number(rule: Rule, number: str, record: Recorder) -> Recorder:
    """The recorder where the argument `number` is a Python number."""

    def write(_: Recorder, space: dict[str, Any]) -> Any:
        plan = plan_of(rule, number)
        own = _own(rule, plan) | {"record": record}
        return folded(template.record, space, own, _head(plan), plan)

    return _written_later(write, _first_call, f"{rule.name.lower()}_of_number")


class _Later:
    """The text of a function until it is written, when the function is first called."""

    __slots__ = "first", "function", "write"
    first: Any
    function: Any
    write: Any

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.text()(*args, **kwargs)

    def text(self) -> Any:
        own = MOVED.get(self.function, self.function)
        with _WRITING:
            if own.__code__ is self.first.__code__:
                take_over(own, self.write(self.function, self.function.__globals__))
        return own


def _written_later(write: Any, first: Any, name: str) -> Recorder:
    """A function whose text `write(function, names)` is written when it is first called.

    Then it takes over the code that was compiled, and whoever holds it calls that code without a
    layer between. `first` is the code until then.
    """
    later = _Later()
    function = FunctionType(first.__code__, {"later": later}, name)
    function.__kwdefaults__ = first.__kwdefaults__
    later.write, later.first, later.function = write, first, function
    return function


def written(function: Recorder) -> Recorder:
    """The function, after its text was written: then it has the names of its parameters."""
    later = function.__globals__.get("later")
    return later.text() if isinstance(later, _Later) else function


_WRITING = forks.renewed(threading.RLock())
"""Held by the thread that writes a text; others that call its function meanwhile wait for it."""


MOVED: dict[Any, Any] = {}
"""Functions that ask the classes of their arguments first, and where their own code is now.

See `pytorch/overrides.py`.
"""


def take_over(function: Any, text: Any) -> None:
    """Let a function be what another one is."""
    function.__defaults__, function.__kwdefaults__ = text.__defaults__, text.__kwdefaults__
    function.__code__ = text.__code__  # the last: from now on other threads run it


# Each function that is written later has a `later` of its own.
def _first_call(*args: Any, **kwargs: Any) -> Any:
    return later(*args, **kwargs)  # type: ignore[name-defined]  # noqa: F821


def _first_call_of_one(input: Any, *, out: Any = None) -> Any:
    return later(input, out=out)  # type: ignore[name-defined]  # noqa: F821


def usually(
    function: Function,
    *,
    when: Callable[..., bool] | Sequence[Callable[..., bool]],
    given: Callable[..., tuple[Any, ...]],
    quick: Callable[..., Any] | None = None,
) -> Callable[[Recorder], Recorder]:
    """A decorator that takes the commonest calls of a public function straight to `function`.

    Formulas say which and how; the first two kinds are about parameters of the public function.
    Calls that give a tensor around a plain array first, and for which all of `when` are true,
    record `function(*given)` without a layer between. `quick` is what that is for the array of the
    first and the other arguments of `function`, unless the function itself is as quick. All other
    calls go to the public function as it is written.
    """
    rule = RULES[function]
    conditions = (when,) if callable(when) else when
    formulas = tuple(map(formula, conditions)), formula(given), quick and formula(quick)

    def decorate(general: Recorder) -> Recorder:
        def write(_: Recorder, space: dict[str, Any]) -> Any:
            parameters, asked = list(signature(general).parameters.values()), general
            if hasattr(np.ndarray, general.__name__):
                parameters, asked = _taking_all(parameters), _as_given(told(general))
            names = tuple(p.name for p in parameters if p.name != "more")
            plan = usual_plan(rule, Usual(*formulas, len(names) < len(parameters)))
            own = _own(rule, plan) | {"general": asked, "record": recorder(function)}
            space |= _names_of(*conditions, given, quick or given)
            bare = [p.replace(annotation=p.empty, default=p.empty) for p in parameters]
            head = f"{general.__name__}{Signature(bare)}"
            written = folded(template.record, space, own, head, plan, others=names)
            defaults = [p.default for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
            written.__defaults__ = tuple(d for d in defaults if d is not Parameter.empty)
            written.__kwdefaults__ = inspect.unwrap(general).__kwdefaults__
            return written

        later = _written_later(write, _first_call, general.__name__)
        return functools.update_wrapper(later, general)

    return decorate


class _Absent:
    """The default of an argument that has to be given."""


def _taking_all(parameters: list[Parameter]) -> list[Parameter]:
    """Parameters that take too few and too many arguments, so that an error can tell of them.

    Python refuses a call that does not fit, and asks no one.
    """
    first, *rest = parameters
    by_place = [p for p in rest if p.kind is p.POSITIONAL_OR_KEYWORD]
    others = [p for p in rest if p.kind is not p.POSITIONAL_OR_KEYWORD]
    taken = [p.replace(default=_Absent) if _is_required(p) else p for p in by_place]
    if not any(p.kind is p.VAR_POSITIONAL for p in others):
        taken.append(Parameter("more", Parameter.VAR_POSITIONAL))
    return [first, *taken, *others]


def _is_required(p: Parameter) -> bool:
    return p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD


def _as_given(general: Function) -> Function:
    """A function that is called without the arguments that were not given."""
    if not any(map(_is_required, [*signature(general).parameters.values()][1:])):
        return general

    def called(*args: Any, **kwargs: Any) -> Any:
        return general(*[x for x in args if x is not _Absent], **kwargs)

    return called


def _names_of(*formulas: Any) -> dict[str, Any]:
    """What formulas find by name in their module; the template means no other things by them."""
    theirs = vars(sys.modules[formulas[0].__module__])
    names = {n: theirs[n] for f in formulas for n in f.__code__.co_names if n in theirs}
    other = vars(template)
    assert all(other.get(n, thing) is thing for n, thing in names.items()), names
    return names


def listing(function: Function) -> str:
    """The code of a function's rule: how it records, how its node pulls back, how it pushes.

    >>> print(listing(np.tanh).splitlines()[0])
    def record(input, *, out=None):
    """
    rule = RULES[function]
    plan = plan_of(rule)
    heads = {template.record: _head(plan), template.pull: plan.head("pull", "self", "cotangent")}
    heads[pushing.push] = plan.head("push", "operands", "tangents", "outputs")
    return "\n\n".join(
        text_of(written, head, plan, recorded=False, together=True)
        for written, head in heads.items()
    )


def _head(plan: Plan) -> str:
    more = ", *, out=None" if plan.form == "unary" else ""
    return f"record({', '.join(plan.variables.values())}{more})"


@functools.cache
def _node_class(rule: Rule, number: str | None = None) -> type[Node]:
    """The class of a recorder's nodes, whose methods are folded when they are first asked for."""
    plan = plan_of(rule, number)
    own = _own(rule)

    def pulling(recorded: bool, together: bool, own: dict[str, Any]) -> Any:
        head = plan.head(f"pull{'_recorded' * recorded}", "self", "cotangent")
        return folded(template.pull, {}, own, head, plan, recorded=recorded, together=together)

    def later(name: str) -> Any:
        def pull(self: Any, cotangent: Any) -> Any:
            setattr(kind, name, pulling(name == "pull_recorded", True, own))
            return getattr(self, name)(cotangent)

        return pull

    def selecting(recorded: bool) -> Any:  # the same where zeros stay zero; see `zeros.py`
        chosen = {f"reverse_{n}": _zeros_kept(transpose) for n, transpose in rule.reverse.items()}
        return pulling(recorded, False, own | chosen)

    members: dict[str, Any] = {"__slots__": (), "rule": rule, "fields": plan.fields}
    members |= saved.introspection(plan.fields, rule.parts)
    members["numbers"] = int(number is not None and rule.boxes)
    members |= {name: later(name) for name in ("pull", "pull_recorded")}
    members["selecting"] = staticmethod(functools.cache(selecting))
    kind: Any = type(node_name(rule), (Node if rule.outputs == 1 else Several,), members)
    return kind


def _zeros_kept(transpose: Any) -> Any:
    return lambda g, *values: zeros.kept(g, transpose(g, *values))


def node_name(rule: Rule) -> str:
    """The node's class name, as PyTorch spells it: AddBackward0, and CopyBackwards."""
    return rule.name if rule.name.endswith("Backwards") else f"{rule.name}Backward0"


class Several(Node):
    """A node with several outputs; `likes` tells the shape and dtype of each."""

    __slots__ = ("likes", "outputs")
    likes: list[tuple[tuple[int, ...], np.dtype[Any]]]


def _own(rule: Rule, plan: Plan | None = None) -> dict[str, Any]:
    """The functions of a rule, by the names that its folded code has for them."""
    function = rule.function
    own = {
        "rule": rule,
        "dispatched": function,
        "mixed": functools.partial(rounded_if_narrow, function),
        "function": QUICK.get(function) or getattr(function, "body", function),
        "all_together": rule.together,
    }
    own |= {f"reverse_{n}": transpose for n, transpose in rule.reverse.items()}
    if rule.formulas:
        own |= {f"fused_{n}": blocks.at_once(transpose) for n, transpose in rule.reverse.items()}
        own["at_once"] = blocks.at_once(function)
        own["halves"] = blocks.at_once(function, blocks.ENOUGH)
    if plan is not None:
        own["refusals"] = _REFUSALS if plan.usually is None else (*_REFUSALS, IndexError)
        own["NodeClass"] = _node_class(rule, plan.number)
    return own


_REFUSALS = ValueError, TypeError
"""The errors that say that a function refused its arguments."""


casting.record = recorder(astype)
casting.frees = lambda rule, number: plan_of(rule, number).frees
