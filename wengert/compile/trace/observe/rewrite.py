"""Rewriting a function's bytecode so that what it reads and writes is told to an observer.

Instructions are rewritten one by one, in three ways, none of which needs more of the stack than
its operands, gathered in a tuple:

    shown       operands -> told[operands] -> operands, instruction
    replaced    operands -> told[operands] -> result
    called      callee, arguments -> told[callee, arguments] -> callee, arguments, a call of these

`told` is a constant that knows the instruction. It is asked by a subscript, since that has the same
form in all versions and may return anything. Calls are made by the rewritten code itself and not
by the observer, so frames lie as they did: `locals()`, `super()`, `exec` and tracebacks see what
they saw before.

What differs between versions of Python is at the end of this file.
"""

from __future__ import annotations

import dis
import operator
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

from bytecode import BinaryOp, Bytecode, Instr
from bytecode.instr import FreeVar, TryBegin, TryEnd

from wengert.compile.trace.observe.loops import Site, site_of
from wengert.compile.trace.observe.objects import ATOMS


class _Thread(threading.local):
    observer: Any = None


THREAD = _Thread()
"""Who observes in this thread. Rewritten code that is run outside of an observation asks too, finds
nobody, and does what the original does."""


class Told:
    """A constant in rewritten code: `told[operands]` tells this thread's observer of them."""

    __slots__ = ("argument", "meaning", "original")

    def __init__(
        self, meaning: str, original: Callable[..., Any], argument: tuple[Any, ...]
    ) -> None:
        self.meaning = meaning
        self.original = original
        self.argument = argument

    def __getitem__(self, operands: tuple[Any, ...]) -> Any:
        observer = THREAD.observer
        if observer is None:
            return self.original(*operands, *self.argument)
        return getattr(observer, self.meaning)(*operands, *self.argument)


class Shown(Told):
    """Tells of operands that stay as they are. Atoms hold nothing, and are not worth telling of."""

    __slots__ = ()

    def __getitem__(self, operands: tuple[Any, ...]) -> Any:
        if type(operands[0]) in ATOMS:
            if len(operands) == 1:
                return operands[0]
            if len(operands) == 2 and type(operands[1]) in ATOMS:
                return operands[::-1]
        return Told.__getitem__(self, operands)


class Stated(Told):
    """Tells of a call that is a statement: nobody looks at what it returns."""

    __slots__ = ()
    tried = False

    def __getitem__(self, operands: tuple[Any, ...]) -> Any:
        observer = THREAD.observer
        if observer is None:
            return self.original(*operands, *self.argument)
        observer.is_statement, observer.is_tried = True, self.tried
        try:
            return getattr(observer, self.meaning)(*operands, *self.argument)
        finally:
            observer.is_statement = observer.is_tried = False


class Tried(Stated):
    """Tells of a statement whose error may be caught where it stands."""

    __slots__ = ()
    tried = True


# ---- what each instruction does without an observer ------------------------------------------


def _same(*operands: Any) -> Any:
    """Shown operands, as UNPACK_SEQUENCE wants them: the last one first."""
    return operands[::-1]


def _first(value: Any, *_: Any) -> Any:
    return value


def _nothing(*_: Any) -> None:
    return None


def super_object(cls: Any, start: Any, owner: Any, given: bool) -> Any:
    """What `super()` makes, or `super(start, owner)` if these are `given`; or what another makes
    that is called so."""
    return cls(start, owner) if given or cls is super else cls()


def _through_super(cls: Any, start: Any, owner: Any, given: bool, name: str) -> Any:
    return getattr(super_object(cls, start, owner, given), name)


def _store_attribute(value: Any, owner: Any, name: str) -> None:
    setattr(owner, name, value)


def _store_item(value: Any, owner: Any, key: Any) -> None:
    owner[key] = value


def _call(*operands: Any) -> tuple[Any, Any, Any]:
    """The callee, its arguments and its keyword arguments, last one first."""
    return {}, *taken_apart(operands)


def _call_named(*operands: Any) -> tuple[Any, Any, Any]:
    arguments, callee = taken_apart(operands[:-1])
    arguments, named = by_name(arguments, operands[-1])
    return named, arguments, callee


def _enter(manager: Any) -> tuple[Any, Any]:
    enter, leave = entering(manager)
    return enter(), leave


def entering(manager: Any) -> tuple[Any, Any]:
    """A context manager's two methods, looked up where Python does: in its class."""
    enter, leave = method_of(manager, "__enter__"), method_of(manager, "__exit__")
    if enter is None or leave is None:
        with manager:  # raises Python's own error
            raise AssertionError
    return enter, leave


def method_of(owner: Any, name: str) -> Any:
    """A special method, found in the class and bound; or None."""
    for cls in type(owner).__mro__:
        if name in vars(cls):
            method = vars(cls)[name]
            return method.__get__(owner, type(owner)) if hasattr(method, "__get__") else method
    return None


def special(owner: Any, name: str) -> tuple[Any, Any]:
    """A method that `with` looks up, as self and a function, last one first."""
    method = method_of(owner, name)
    if method is None and not name.startswith("__a"):
        with owner:  # raises Python's own error
            raise AssertionError
    if method is None:
        missed = " (missed __aexit__ method)" if name == "__aexit__" else ""
        raise TypeError(
            f"'{type(owner).__name__}' object does not support the asynchronous context manager "
            f"protocol{missed}"
        )
    return method, apply


def apply(function: Any, *arguments: Any) -> Any:
    return function(*arguments)


def cleaned(error: BaseException) -> BaseException:
    """An error whose traceback shows the user's program, and not how it was observed."""
    kept = None
    steps = []
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename not in OURS:
            steps.append(step)
        step = step.tb_next
    for step in reversed(steps):
        if step.tb_next is not kept:
            step.tb_next = kept
        kept = step
    if error.__traceback__ is not kept:
        error.__traceback__ = kept
    return error


OURS = frozenset(map(str, Path(__file__).parent.glob("*.py")))
"""The files whose frames no traceback of an observed function shows."""

# ---- which instructions are rewritten, and how -------------------------------------------------

ASKED: dict[str, tuple[str, int, str, Any]] = {
    "LOAD_GLOBAL": ("after", 1, "read_global", _first),
    "LOAD_NAME": ("after", 1, "read_name", _first),
    "LOAD_FROM_DICT_OR_GLOBALS": ("after", 1, "read_name", _first),
    "IMPORT_NAME": ("after", 1, "read_module", _first),
    "LOAD_ATTR": ("instead", 1, "read_attribute", getattr),
    "BINARY_SUBSCR": ("instead", 2, "read_item", operator.getitem),
    "STORE_GLOBAL": ("before", 1, "write_global", _first),
    "STORE_NAME": ("before", 1, "write_name", _first),
    "STORE_ATTR": ("alone", 2, "write_attribute", _store_attribute),
    "STORE_SUBSCR": ("alone", 3, "write_item", _store_item),
    "DELETE_ATTR": ("alone", 1, "delete_attribute", delattr),
    "DELETE_SUBSCR": ("alone", 2, "delete_item", operator.delitem),
}
"""Instructions of which the observer is told with so many operands, and what takes their place
where nobody observes: it comes before or after them, instead of them, or alone, and leaves nothing.
"""

SHOWN: dict[str, tuple[Any, ...]] = {
    "UNPACK_SEQUENCE": (1, "iterated"),
    "UNPACK_EX": (1, "iterated"),
    "LIST_EXTEND": (1, "extended"),
    "SET_UPDATE": (1, "iterated"),
    "DICT_UPDATE": (1, "mapped"),
    "DICT_MERGE": (1, "mapped"),
    "FORMAT_VALUE": (1, "formatted"),
    "FORMAT_SIMPLE": (1, "formatted"),
    "FORMAT_WITH_SPEC": (2, "formatted_by"),
    "CONVERT_VALUE": (1, "formatted"),
    "GET_YIELD_FROM_ITER": (1, "whole"),
    "CONTAINS_OP": (2, "contains"),
    "IS_OP": (2, "identical"),
    "MATCH_SEQUENCE": (1, "match_kind"),
    "MATCH_MAPPING": (1, "match_kind"),
    "MATCH_KEYS": (2, "match_keys"),
    "MATCH_CLASS": (3, "match_class"),
    "GET_LEN": (1, "length"),
    "UNARY_NEGATIVE": (1, "unary", "neg"),
    "UNARY_POSITIVE": (1, "unary", "pos"),
    "UNARY_INVERT": (1, "unary", "invert"),
    "UNARY_NOT": (1, "truth"),
    "TO_BOOL": (1, "truth"),
    **{
        f"POP_JUMP_{way}IF_{truth}": (1, "truth")
        for way in ("", "FORWARD_", "BACKWARD_")
        for truth in ("TRUE", "FALSE")
    },
    "PUSH_EXC_INFO": (1, "caught"),
}
"""Instructions that stay, and whose operands are shown before: how many, what they mean, and more
of the instruction's.
"""

_NAMES = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "matrix_multiply": "matmul",
    "true_divide": "truediv",
    "floor_divide": "floordiv",
    "remainder": "mod",
    "power": "pow",
}
"""Operators in the words of their methods, where these are others."""

_DECIDED = {"COMPARE_OP", "CONTAINS_OP", "IS_OP", "UNARY_NOT", "TO_BOOL"}
"""What these leave was shown already: their truth tells nothing new."""


_DEEPER = 8
"""What is said of an instruction takes so much more room on the stack, at most."""


class Rewriter:
    """Rewrites one code object."""

    def __init__(self, code: CodeType) -> None:
        self.body = Bytecode.from_code(code, conserve_exception_block_stackdepth=True)
        # What stands for an instruction begins and ends at its depth, so `try` blocks keep theirs;
        # in between it goes as deep as a call's operands, and the cells that a loop shows.
        self.depth = code.co_stacksize + len(code.co_cellvars) + len(code.co_freevars) + _DEEPER
        self.told: dict[Any, Told] = {}
        self.site: Site | None = None
        """The loop that this instruction begins."""
        self.is_statement = False
        """Whether nobody looks at what this call returns."""
        self.tries: list[Any] = []
        """The `try` blocks around an instruction, the innermost last."""

    def rewritten(self) -> CodeType:
        out: list[Any] = []
        before = ""
        named = False
        body = list(self.body)
        following = _following(body)
        for k, old in enumerate(body):
            if not isinstance(old, Instr):
                if isinstance(old, TryBegin) and not _is_with(body, old):
                    self.tries.append(old)
                elif isinstance(old, TryEnd) and old.entry in self.tries:
                    self.tries.remove(old.entry)
                out.append(old)
                continue
            self.site = site_of(self.body, k) if old.name == "GET_ITER" else None
            self.is_statement = following[k] == "POP_TOP"
            for step in uniform(old, named):
                for new in self.instructions(step, before):
                    new.location = old.location  # tracebacks keep the user's lines
                    out.append(new)
                before = step.name
            named = old.name == "KW_NAMES" or (named and old.name == "PRECALL")
        self.body.clear()
        self.body.extend(out)
        # To find the depths anew, along all ways through the code, took half of the time.
        return self.body.to_code(stacksize=self.depth, compute_exception_stack_depths=False)

    def instructions(self, step: Step, before: str) -> Iterator[Instr]:
        rule = getattr(self, step.name.lower(), None)
        if rule is not None:
            yield from rule(step)
            return
        if step.name in ASKED:
            yield from self.pattern(step, *ASKED[step.name])
            return
        count, meaning, *argument = SHOWN.get(step.name, (0, ""))
        if count and not (meaning == "truth" and before in _DECIDED):
            yield from self.shown(count, meaning, *argument)
        yield step.native

    # The patterns.

    def asked(
        self, count: int, meaning: str, original: Any, *argument: Any, cls: type[Told] = Told
    ) -> Iterator[Instr]:
        """Operands from the stack, in a tuple, and what the observer makes of them."""
        key = (cls, meaning, original, argument)
        told = self.told.setdefault(key, cls(meaning, original, argument))
        yield Instr("BUILD_TUPLE", count)
        yield Instr("LOAD_CONST", told)
        yield Instr("SWAP", 2)
        yield read_item()

    def pattern(
        self, step: Step, where: str, count: int, meaning: str, original: Any
    ) -> Iterator[Instr]:
        if where == "after":
            yield step.native
        argument = () if step.name.endswith("_SUBSCR") else (step.arg,)
        yield from self.asked(count, meaning, original, *argument)
        if where == "before":
            yield step.native
        elif where == "alone":
            yield Instr("POP_TOP")

    def shown(self, count: int, meaning: str, *argument: Any) -> Iterator[Instr]:
        original: Callable[..., Any] = _reversed if argument else _same
        if count == 1:
            original = cleaned if meaning == "caught" else _first
        yield from self.asked(count, meaning, original, *argument, cls=Shown)
        if count > 1:
            yield Instr("UNPACK_SEQUENCE", count)

    def done(self, count: int, meaning: str, original: Any, *argument: Any) -> Iterator[Instr]:
        """In the place of an instruction that leaves nothing."""
        yield from self.asked(count, meaning, original, *argument)
        yield Instr("POP_TOP")

    # Reads.

    def load_const(self, step: Step) -> Iterator[Instr]:
        nested = isinstance(step.arg, CodeType)
        yield Instr("LOAD_CONST", rewritten(step.arg)) if nested else step.native

    def load_deref(self, step: Step) -> Iterator[Instr]:
        yield step.native
        if isinstance(step.arg, FreeVar):
            yield Instr(LOAD_CELL, step.arg)
            yield from self.asked(2, "read_cell", _first, step.arg.name)

    load_classderef = load_from_dict_or_deref = load_deref

    def get_iter(self, step: Step) -> Iterator[Instr]:
        site = self.site
        if site is None:
            yield from self.shown(1, "iterated")
        else:
            yield from (Instr(LOAD_CELL, cell) for cell in site.cells)
            yield from self.asked(1 + len(site.cells), "looped", _first, site)
        yield step.native

    def load_super_attr(self, step: Step) -> Iterator[Instr]:
        yield from self.asked(3, "through_super", _through_super, *step.arg)

    def import_from(self, step: Step) -> Iterator[Instr]:
        yield Instr("COPY", 1)
        yield step.native
        yield from self.asked(2, "imported", _first_of_two, step.arg)

    def binary_op(self, step: Step) -> Iterator[Instr]:
        name = step.arg.name.lower()
        meaning = "in_place" if name.startswith("inplace_") else "operands"
        name = name.removeprefix("inplace_")
        yield from self.shown(2, meaning, _NAMES.get(name, name))
        yield step.native

    def compare_op(self, step: Step) -> Iterator[Instr]:
        yield from self.shown(2, "operands", step.arg.name.lower().removesuffix("_cast"))
        yield step.native

    # Errors.

    def raise_varargs(self, step: Step) -> Iterator[Instr]:
        if step.arg == 2:
            yield Instr("SWAP", 2)
        if step.arg:
            yield from self.asked(1, "raising", _first)
        if step.arg == 2:
            yield Instr("SWAP", 2)
        yield step.native

    # Writes.

    def delete_global(self, step: Step) -> Iterator[Instr]:
        yield from self.done(0, "delete_global", _nothing, step.arg)
        yield step.native

    def store_deref(self, step: Step) -> Iterator[Instr]:
        if isinstance(step.arg, FreeVar):
            yield Instr(LOAD_CELL, step.arg)
            yield from self.asked(2, "write_cell", _first, step.arg.name)
        yield step.native

    def delete_deref(self, step: Step) -> Iterator[Instr]:
        if isinstance(step.arg, FreeVar):
            yield Instr(LOAD_CELL, step.arg)
            yield from self.done(1, "delete_cell", _nothing, step.arg.name)
        yield step.native

    # Calls.

    def call(self, step: Step) -> Iterator[Instr]:
        yield from self.called(step.arg + 2, "call", _call)

    def call_kw(self, step: Step) -> Iterator[Instr]:
        yield from self.called(step.arg + 3, "call_named", _call_named)

    def call_function_ex(self, step: Step) -> Iterator[Instr]:
        has_named = ALWAYS_NAMED or step.arg & 1
        yield from self.called(4 if has_named else 3, "call_unpacked", unpacked)

    def called(self, count: int, meaning: str, original: Any) -> Iterator[Instr]:
        """A call, and what it returned, if anybody looks at that."""
        if self.is_statement:
            yield from self.asked(count, meaning, original, cls=Tried if self.tries else Stated)
            yield from call_unpacked()
        else:
            yield from self.asked(count, meaning, original)
            yield from call_unpacked()
            yield from self.asked(1, "answered", _first)

    def before_with(self, step: Step) -> Iterator[Instr]:
        yield from self.asked(1, "enter", _enter)
        yield Instr("UNPACK_SEQUENCE", 2)

    def load_special(self, step: Step) -> Iterator[Instr]:
        yield from self.asked(1, "special", special, f"__{step.arg.name.lower()}__")
        yield Instr("UNPACK_SEQUENCE", 2)


def _is_with(body: Any, begin: TryBegin) -> bool:
    """Whether an error goes to a context manager."""
    k = next(k for k, x in enumerate(body) if x is begin.target)
    steps = [x.name for x in body[k + 1 : k + 4] if isinstance(x, Instr)]
    return "WITH_EXCEPT_START" in steps


def _following(body: list[Any]) -> list[str]:
    """The instruction after each one."""
    names, name = [], ""
    for x in reversed(body):
        names.append(name)
        name = x.name if isinstance(x, Instr) else name
    return names[::-1]


def _reversed(left: Any, right: Any, operation: str) -> Any:
    return right, left


def _first_of_two(module: Any, value: Any, name: str) -> Any:
    return value


# ---- rewritten once ----------------------------------------------------------------------------

_rewritten: dict[int, tuple[Any, CodeType]] = {}
"""The copy of a code object, by the id of the original, as long as that lives."""

_copies: dict[int, CodeType] = {}
"""Rewritten copies by their own ids. They are held: an id alone would soon be another code's, which
would run unobserved."""


def rewritten(code: CodeType) -> CodeType:
    """The observed copy of a code object, the same one each time and for all threads.

    By identity: codes that are equal may be of different files.
    """
    observed = known(code)
    if observed is not None:
        return observed
    key, copy = id(code), Rewriter(code).rewritten()

    def forget(_: Any, known: Any = _rewritten, copies: Any = _copies) -> None:
        known.pop(key, None)
        copies.pop(id(copy), None)

    _copies[id(copy)] = copy
    _, observed = _rewritten.setdefault(key, (weakref.ref(code, forget), copy))
    if observed is not copy:  # another thread was first
        del _copies[id(copy)]
    return observed


def known(code: CodeType) -> CodeType | None:
    """The observed copy of a code object if there is one, which may be itself."""
    return code if is_rewritten(code) else _rewritten.get(id(code), (None, None))[1]


def is_rewritten(code: CodeType) -> bool:
    return id(code) in _copies


def running(frame: Any) -> Any:
    """The nearest frame outward that runs rewritten code."""
    while not is_rewritten(frame.f_code):
        frame = frame.f_back
    return frame


# ---- what differs between versions of Python ---------------------------------------------------

_VERSION = sys.version_info[:2]

NULL_FIRST = _VERSION < (3, 13)
"""Of a call's two lowest operands: NULL and callee, or method and self. Since 3.13 the callee lies
below, and then NULL or self."""

LOAD_CELL = "LOAD_CLOSURE" if NULL_FIRST else "LOAD_FAST"

ALWAYS_NAMED = _VERSION >= (3, 14)
"""Whether CALL_FUNCTION_EX always has keyword arguments, or NULL."""


_HAS_SPEC = 4
"""Whether FORMAT_VALUE is given a format too."""


class _Absent:
    """In the place of NULL, which no tuple can hold."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = _Absent()


class Step(NamedTuple):
    """An instruction as all versions could have it; `native` where this version has it so."""

    name: str
    arg: Any
    native: Any = None


def uniform(old: Instr, named: bool) -> list[Step]:
    """An instruction in the words of all versions.

    ABSENT stands for NULL; a method is loaded as an attribute; keyword names lie on the stack and
    CALL_KW takes them (`named`: this call has such); slices are objects; BINARY_SUBSCR reads items;
    `a and b` jumps with a copy of `a`; a format is given to FORMAT_WITH_SPEC.
    """
    name = old.name
    arg: Any = old.arg
    if name == "PRECALL":
        return []
    if name in ("PUSH_NULL", "KW_NAMES"):
        return [_constant(ABSENT if name == "PUSH_NULL" else arg)]
    if name == "LOAD_GLOBAL":
        load = Step(name, arg[1], Instr(name, (False, arg[1])))
        return _beside_absent(load) if arg[0] else [load]
    if name == "LOAD_SUPER_ATTR":
        load = Step(name, arg[1:])
        return _beside_absent(load) if arg[0] else [load]
    if name in ("LOAD_ATTR", "LOAD_METHOD"):
        load = Step("LOAD_ATTR", arg if isinstance(arg, str) else arg[1])
        bound = name == "LOAD_METHOD" or (not isinstance(arg, str) and arg[0])
        return _beside_absent(load) if bound else [load]
    if name == "CALL" and named:
        return [Step("CALL_KW", arg)]
    if name in ("JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP"):
        jump = f"POP_JUMP_FORWARD_{name[5:].removesuffix('_OR_POP')}"
        return [*map(_native, (Instr("COPY", 1), Instr(jump, arg), Instr("POP_TOP")))]
    if name == "FORMAT_VALUE" and arg & _HAS_SPEC:
        return [Step("FORMAT_WITH_SPEC", None, old)]
    if name in ("BINARY_SLICE", "STORE_SLICE"):
        item = "BINARY_SUBSCR" if name == "BINARY_SLICE" else "STORE_SUBSCR"
        return [_native(Instr("BUILD_SLICE", 2)), Step(item, None)]
    if name == "BINARY_OP" and arg.name == "SUBSCR":
        return [Step("BINARY_SUBSCR", None)]
    if name == "CALL_INTRINSIC_1" and arg.name == "INTRINSIC_UNARY_POSITIVE":
        return [Step("UNARY_POSITIVE", None, old)]
    return [_native(old)]


def _native(instruction: Instr) -> Step:
    return Step(instruction.name, instruction.arg, instruction)


def _constant(value: Any) -> Step:
    return _native(Instr("LOAD_CONST", value))


def _beside_absent(callee: Step) -> list[Step]:
    """A callee, and the place for its self, which it does not have."""
    if NULL_FIRST:
        return [callee, _constant(ABSENT), _native(Instr("SWAP", 2))]
    return [callee, _constant(ABSENT)]


def call_unpacked() -> list[Instr]:
    """The call itself, of a tuple of keyword arguments, arguments, and the callee."""
    unpack = Instr("UNPACK_SEQUENCE", 3)
    if NULL_FIRST:
        return [Instr("PUSH_NULL"), Instr("SWAP", 2), unpack, Instr("CALL_FUNCTION_EX", 1)]
    call = Instr("CALL_FUNCTION_EX") if ALWAYS_NAMED else Instr("CALL_FUNCTION_EX", 1)
    return [unpack, Instr("PUSH_NULL"), Instr("SWAP", 3), Instr("SWAP", 2), call]


def read_item() -> Instr:
    if "BINARY_SUBSCR" in dis.opmap:
        return Instr("BINARY_SUBSCR")
    return Instr("BINARY_OP", BinaryOp["SUBSCR"])


def taken_apart(operands: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any]:
    """A call's positional arguments and its callee."""
    low, high, *rest = operands
    if NULL_FIRST:
        return (tuple(rest), high) if low is ABSENT else ((high, *rest), low)
    return (tuple(rest), low) if high is ABSENT else ((high, *rest), low)


def by_name(
    arguments: tuple[Any, ...], names: tuple[str, ...]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The last arguments are those with names."""
    count = len(arguments) - len(names)
    return arguments[:count], dict(zip(names, arguments[count:], strict=True))


def unpacked(low: Any, high: Any, arguments: Any, *named: Any) -> tuple[Any, Any, Any]:
    """Keyword arguments, arguments and callee of CALL_FUNCTION_EX."""
    callee = high if NULL_FIRST else low
    return (named[0] if named and named[0] is not ABSENT else {}), arguments, callee
