"""What a trace makes of calls whose code is not observed: readings, and statements.

What such a call answers may come from anywhere in the process, so it is asked again at each call
of the program (`readings.py`). Where nobody looks at what it returns, it is a statement: each call
of the program carries it out, after its own work, and the trace does not.
"""

from __future__ import annotations

import functools
import gc
import operator
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import FunctionType, MethodDescriptorType, MethodType, ModuleType
from typing import Any

import numpy as np

from wengert.compile.trace import observe
from wengert.compile.trace.arrays.array import TracedArray
from wengert.compile.trace.observe import Observer, Unobserved
from wengert.compile.trace.observe.events import MISSING
from wengert.compile.trace.observe.given import Done, Within
from wengert.compile.trace.observe.objects import (
    ATOMS,
    CHANGEABLE,
    CONTAINERS,
    contents,
    held_in,
    name_of,
    same,
)
from wengert.compile.trace.observe.operators import OPERATORS, Decided
from wengert.compile.trace.observe.users import is_users_class
from wengert.compile.trace.world import meanwhile, watch
from wengert.compile.trace.world.conditions import Conditions
from wengert.compile.trace.world.drawn import ASKS_FILES
from wengert.compile.trace.world.messages import Message, is_of_place, is_told, speaks
from wengert.compile.trace.world.places import Attribute, Guard
from wengert.compile.trace.world.reached import led_to, reached_from
from wengert.compile.trace.world.readings import (
    Made,
    Passing,
    Step,
    always,
    asks,
    asks_classes,
    collection,
    compared,
    given_back,
    goes_by_arguments,
    is_asked,
    is_computed,
    is_copied,
    is_for_good,
    is_let_go_of,
    is_of_an_atom,
    is_ours,
    is_seen_whole,
    lasting,
    package_of,
    reading,
)
from wengert.compile.trace.world.stand_ins import StandIns
from wengert.compile.trace.world.state import attributes, held_by, is_itself
from wengert.dispatch import errors_pass
from wengert.errors import TracingError
from wengert.history.location import here, line_of
from wengert.history.surroundings import DECIDING, IN_TENSORS, SETTINGS
from wengert.tensor import Tensor


@dataclass(slots=True)
class Asked:
    """A call in the user's code that is on its way, and that can be made again."""

    frame: Any
    callee: Any
    step: Step
    given: tuple[Any, ...] = ()
    done: Done | None = None
    stood: Any = None
    is_copied: bool = False
    """Whether something that it is given is another object at the next call."""
    ran: list[Unobserved] = field(default_factory=list)


class Asking(Observer):
    """The calls of one trace that are asked again, and those that are statements."""

    conditions: Conditions
    effects: list[Any]

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Asked] = []
        """The calls that are on their way, the innermost last."""
        self.steps: list[Step] = []
        """The calls that have made something, in their order."""
        self.made: dict[int, tuple[Any, int]] = {}
        """By id: what such a call made, and its number."""
        self.readings: list[tuple[Guard, Any]] = []
        """What was asked, and the user's lines."""
        self.containers: dict[int, Any] = {}
        """By id: those that calls gave, which were compared as they were at first."""
        self.stand_ins = StandIns()
        self.managers: list[str] = []
        """The packages whose context managers were entered, and not left yet."""
        self.acted: dict[int, Any] = {}
        """What statements may change that each call carries out, by id."""
        self.acted_at: Any = None
        """The first one's line."""
        self.messages: list[Message] = []
        self.showed_at: Any = None
        """Where a text was made of what is computed."""

    # ---- readings -------------------------------------------------------------------------------

    def _trusted(self, callee: Any, args: Any, named: Any) -> Any:
        frame, statement = self.calling, self.is_statement
        known = self.telling or _is_of_a_container(callee, args) or not callable(callee)
        if frame is None or known or any(callee is puts for puts in _SETS.values()):
            return super()._trusted(callee, args, named)
        if _is_cached(callee) and self.is_outside(callee):
            return {}, (), functools.partial(self._from_cache, callee, args, named)
        if statement:
            tried = self.is_tried
            if callee is warnings.warn:
                filters = Attribute(reading(_FILTERS, True), "answer")
                self.conditions.note(Guard(filters, _filters()))
            if self._is_deferred(callee, args, named):
                if tried:
                    self._refuse_tried(callee)
                self._defer(callee, args, named)
                return {}, (), _nothing
            if self._is_message(callee, args, named):
                self._tell_later(frame, callee, args, named)
                return {}, (), _nothing
            self._note_step(callee, args, named)
        else:
            if (callee is repr or callee is ascii) and args and type(args[0]) is TracedArray:
                args = (args[0].known("repr()"),)
            told = not self._goes_by_arguments(callee, args) or _is_setting(callee, args, named)
            if told and not (speaks(callee) and self.gives_messages(_owner(callee))):
                self._expect(frame, callee, args, named)
        if is_of_an_atom(callee) or self._look_into(callee):
            args = tuple(map(_known, args))
            named = {name: _known(x) for name, x in named.items()}
        owners = [x for x in (*args, *named.values()) if isinstance(x, CHANGEABLE)]
        if any(map(self.is_outside, owners)) and not is_ours(callee):
            trusted = super()._trusted(callee, args, named)
            if self._is_meant(trusted[2]):
                return trusted
            return {}, (), functools.partial(self._with_containers, callee, args, named, trusted)
        return super()._trusted(callee, args, named)

    def _with_containers(self, callee: Any, args: Any, named: Any, really: Any) -> Any:
        """A function that may change the containers that it is given, as a method of theirs may."""
        given = [*args, *named.values()]
        seen = [*really[1], *really[0].values()]
        pairs = [
            (owner, now)
            for owner, now in zip(given, seen, strict=True)
            if isinstance(owner, CHANGEABLE) and self.is_outside(owner)
        ]
        before, done = [contents(now) for _, now in pairs], self.done()
        result = really[2](*really[1], **really[0])
        changed = [
            (owner, was)
            for (owner, now), was in zip(pairs, before, strict=True)
            if not same(was, contents(now))
        ]
        if not changed:
            return result
        if any(owner is not now for owner, now in pairs):
            raise TracingError(
                f"{name_of(callee)}() changes a container that holds arrays, at\n"
                f"  {line_of(*here())}\nUse a method of the container, or do it outside."
            )
        self.asked.clear()
        for owner, was in changed:
            self._changed(owner, was)
            self.carried_out(owner, Within(done, ()))
            if result is not None:
                self._read_contents(owner)
        around = _owner(callee)
        if not (around is None or is_itself(around) or self.is_outside(around)):
            self.refuse(f"a {type(around).__name__} that is made inside changes what is outside")
        self.effects.append((None, (callee, "__call__", args, named)))
        return result

    def carried_out(self, owner: Any, within: Within) -> None:
        """A call that has changed a container is made again by each call of the program."""

    def _goes_by_arguments(self, callee: Any, args: Any) -> bool:
        if callee is isinstance or callee is issubclass:
            return len(args) < 2 or not asks_classes(args[1])
        return goes_by_arguments(callee, args)

    def _expect(self, frame: Any, callee: Any, args: Any, named: Any) -> None:
        """A call begins whose answer may come from anywhere."""
        self.asked[:] = [known for known in self.asked if known.frame is not frame]
        try:
            step = self._step(callee, args, named)
        except Passing:
            self._forget(callee, args, named)
            return
        given = *args, *named.values()
        asked = Asked(frame, callee, step, given, self.done(), self.standing())
        asked.is_copied = any(map(is_copied, (callee, *given), (step.callee, *step.given())))
        self.asked.append(asked)

    def _lasting(self, x: Any) -> Any:
        """What an argument is at the next call."""
        return lasting(self.real(x), self.is_outside, self._instead)

    def _instead(self, x: Any) -> Any:
        """What is given to a call that is asked again in the place of what is computed."""
        if isinstance(x, Tensor) and watch.is_real(x) and self.is_outside(x):
            return x
        return self._made_by(x) or self.stand_ins.of(x)

    def _made_by(self, x: Any) -> Made | None:
        known = self.made.get(id(x))
        return None if known is None else Made(known[1], type(x).__name__)

    def _step(self, callee: Any, args: Any, named: Any) -> Step:
        """A call that can be made again; Passing if it cannot."""
        by_name = {name: self._lasting(x) for name, x in named.items()}
        return Step(self._lasting(callee), tuple(map(self._lasting, args)), by_name)

    def _note_step(self, callee: Any, args: Any, named: Any) -> None:
        """Something is done to what earlier calls have made; or these cannot be made again."""
        if any(id(x) in self.made for x in (_owner(callee), *args, *named.values())):
            try:
                self.steps.append(self._step(callee, args, named))
            except Passing:
                self._forget(callee, args, named)

    def _forget(self, callee: Any, args: Any, named: Any) -> None:
        """What earlier calls have made may be changed by something that does not last."""
        for x in (_owner(callee), *args, *named.values()):
            self.made.pop(id(x), None)

    def _made(self, step: Step, value: Any) -> None:
        """A call has answered with an object that only it has."""
        self.made[id(value)] = value, len(self.steps)
        self.steps.append(step)

    def _behind_step(self, last: Step) -> tuple[Step, ...]:
        """A call after all that was done before to the objects that it is given, or to theirs."""
        objects, wanted, grew = last.uses(), set[int](), True
        while grew:
            grew = False
            for number, step in enumerate(self.steps):
                uses = step.uses() | {number}
                if number not in wanted and uses & objects:
                    wanted.add(number)
                    objects |= uses
                    grew = True
        places = {number: place for place, number in enumerate(sorted(wanted))}
        steps = (*(self.steps[number] for number in places), last)
        return tuple([step.filled(lambda x: Made(places[x.step], x.kind)) for step in steps])

    def read_attribute(self, owner: Any, name: str) -> Any:
        value = super().read_attribute(owner, name)
        maker = self._made_by(owner)
        if maker is None or self.telling or callable(value):
            return value
        return self._decide(getattr, (owner, name), value)

    def _put(self, put: Any, kind: str, owner: Any, key: Any, *value: Any) -> None:
        if id(owner) in self.made:
            does = _SETS[kind, bool(value)]
            self._note_step(does, (owner, key, *value), {})
        super()._put(put, kind, owner, key, *value)

    def _seen(self, place: Attribute, value: Any) -> Any:
        """What stands for a value that is read at a place."""
        return value

    def check_held(self, owner: Any) -> None:
        """An object gives others: it has to be what holds them, or something else that lasts."""

    def _guard_held(self, x: Any, known: set[int]) -> None:
        """All that an object holds becomes a condition."""

    def refuse(self, what: str) -> Any:
        """No program can do something again."""

    def real(self, x: Any) -> Any:
        """An array from outside, in the place of what stands for it."""
        return x

    def answered(self, value: Any) -> Any:
        """What a call returned: from now on it is a condition, or a number that is fetched."""
        value = self.behind_shadow(value)
        if not self.asked or self.asked[-1].frame is not sys._getframe(2):
            return value
        asked = self.asked.pop()
        if is_ours(asked.callee):
            if type(value) in ATOMS:
                self.note_answer(Guard(Attribute(reading((asked.step,), True), "answer"), value))
            return value
        if not self.has_acted(asked) and self.standing() == asked.stood:
            if not asked.ran and is_computed(asked.callee, asked.step.given(), value):
                return value
            shared = sys.getrefcount(value) > observe.references()
            return self._compare(asked, value, shared)
        for ran in asked.ran:
            self.on_unobserved(ran)
        return value

    def note_answer(self, guard: Guard) -> None:
        """A function of the library has answered: whether it would answer that again."""

    def has_acted(self, asked: Asked) -> bool:
        """Whether a call has called what does something: it cannot be asked again."""
        assert asked.done is not None
        now = self.done()
        return now.effects > asked.done.effects or self.has_computed(asked.done, now)

    def has_computed(self, before: Done, now: Done) -> bool:
        """Whether something was drawn in a period, or written into arrays that were there."""
        return False

    def _compare(self, asked: Asked, value: Any, shared: bool) -> Any:
        """What a call answered is compared at each call, as it is or by what it holds.

        What a class makes is asked when something is asked of it.
        """
        if type(value) in ATOMS:
            value = self._tell(self._read_answer, asked, True, value, value)
            self._asked_of_made(asked)
            return value
        if back := given_back(value, asked.given):
            self._tell(self._read_answer, asked, None, back, value)
            self._asked_of_made(asked)
            return value
        known = id(value) in self.containers  # the function itself may have written into it
        if isinstance(value, CONTAINERS):
            self.containers[id(value)] = value
        if asked.is_copied or isinstance(asked.callee, type):
            seen, shared = self._once_more(asked, value)
        else:
            seen = compared(value, shared)
        if shared and seen is not MISSING:
            for owner in (_owner(asked.callee), *asked.step.args):
                self.check_held(owner)
        if seen is not MISSING:
            value = self._tell(self._read_answer, asked, shared, seen, value)
            for part in contents(value) if isinstance(value, CONTAINERS) else ():
                if isinstance(part, type | ModuleType):  # which no call makes
                    self._reach(part, None, _words(asked))
        if seen is MISSING and not (isinstance(asked.callee, type) and is_let_go_of(value)):
            for ran in asked.ran:
                self.on_unobserved(ran)
        if seen is MISSING and isinstance(value, CONTAINERS) and not self.is_outside(value):
            if not known and not isinstance(asked.callee, type):
                self._ask_for_items(asked.step, value)
            return value
        is_kept = is_asked(value) or is_users_class(type(value)) or isinstance(value, Iterator)
        if not self.is_outside(value) and is_kept:
            self._made(asked.step, value)
        else:
            self._asked_of_made(asked)
        return value

    def _once_more(self, asked: Asked, value: Any) -> tuple[Any, bool]:
        """What is compared of what is given by an object that is made anew."""
        computed = isinstance(value, Tensor) and not watch.is_real(value)
        if type(value) is TracedArray or computed or isinstance(asked.callee, type):
            return MISSING, False
        with watch.aside():
            return always(self._behind_step(asked.step), value)

    def _ask_for_items(self, step: Step, container: Any) -> None:
        """Of what cannot be compared as a whole each item is asked for."""
        self._made(step, container)
        named = hasattr(container, "keys")
        for key in [*container] if named else range(len(container)):
            if named or hasattr(container, "__getitem__"):
                item, place = container[key], (container, key)
                seen = self._decide(operator.getitem, place, item)
                if self.is_outside(item) and (seen is not item or isinstance(item, Tensor)):
                    asked = Asked(None, operator.getitem, self._step(operator.getitem, place, {}))
                    self._note_answer(asked, True, item)  # which stays in the container as it is

    def _asked_of_made(self, asked: Asked) -> None:
        """What is asked of an object may change it, as `next` does; an attribute does not."""
        if asked.callee is not getattr and asked.step.uses():
            self.steps.append(asked.step)

    def _decide(self, function: Any, args: tuple[Any, ...], value: Any) -> Any:
        """What an operator, or an attribute, of a library's object is: asked as a call is."""
        try:
            step = self._step(function, args, {})
        except Passing:
            return value
        return self._compare(Asked(None, function, step, is_copied=True), value, True)

    def raised(self, error: BaseException) -> None:
        """Calls that raised: another time they may not."""
        while self.asked:
            asked = self.asked.pop()
            if isinstance(error, Exception) and not isinstance(error, TracingError):
                with watch.aside():
                    self._note_answer(asked, False, type(error))

    def _read_answer(self, asked: Asked, shared: bool | None, held: Any, value: Any) -> Any:
        if self.acted_at is not None:
            self._too_late(f"{_words(asked)} is asked")
        place = self._asked(asked, shared, held)
        if not shared:
            self.conditions.note(Guard(place, held))
            return value
        seen = self._seen(place, value)
        self._reach(value, None, _words(asked))
        return seen

    def _note_answer(self, asked: Asked, shared: bool, seen: Any) -> None:
        self.conditions.note(Guard(self._asked(asked, shared, seen), seen))

    def _asked(self, asked: Asked, shared: bool | None, seen: Any) -> Attribute:
        """The place of an answer."""
        place = Attribute(reading(self._behind_step(asked.step), shared), "answer")
        self.readings.append((Guard(place, seen), here()))
        return place

    def check_readings(self) -> None:
        """What answers otherwise now was due to the function itself, or does so each time."""
        for guard, line in self.readings:
            if not guard.holds():
                raise TracingError(
                    f"{guard.place} in a compiled function answers something else when it is asked "
                    f"again, at\n  {line_of(*line)}\nAsk before the call, and pass the answer as "
                    "an argument."
                )
        self.readings.clear()

    def on_unobserved(self, ran: Unobserved) -> None:
        """A call that is asked again may ask for files: so it does each time."""
        if self.asked and ran.name in _FILES:
            self.asked[-1].ran.append(ran)
        else:
            self.unseen(ran)

    def unseen(self, ran: Unobserved) -> None:
        """Something ran where it cannot be seen what it reads."""

    def _from_cache(self, cached: Any, args: Any, named: Any) -> Any:
        """What a cached function answers, from what it has kept outside: it runs as it is."""
        try:
            given = tuple([_lasting_or_tensor(x, self.is_outside) for x in args])
            by_name = {k: _lasting_or_tensor(x, self.is_outside) for k, x in named.items()}
        except Passing:
            raise TracingError(
                f"{cached.__name__}() keeps what it answers, and is given something that a "
                f"compiled function computes, at\n  {line_of(*here())}\n"
                "Call the function behind the cache, as its __wrapped__."
            ) from None
        asked = Asked(None, cached, Step(cached, given, by_name))
        with watch.aside():
            outer, self.telling = self.telling, True
            try:
                value = cached(*args, **named)
            finally:
                self.telling = outer
            return self._read_answer(asked, True, value, value)

    def _look_into(self, callee: Any) -> bool:
        """A function of a library that is made around something, as one that dispatches, goes by
        that; whether it is one: it may go by the classes of what it is given.
        """
        if type(callee) is FunctionType and callee.__closure__:
            with watch.aside():
                return self._guard_closure(callee, set())
        return False

    def _guard_closure(self, function: FunctionType, known: set[int]) -> bool:
        known.add(id(function))
        if is_ours(function) or self._of_user(function):
            return False
        guarded = False
        for cell in function.__closure__ or ():
            part = held_in(cell)
            inner = (part, *(x for _, x in attributes(part))) if not is_itself(part) else (part,)
            for x in inner:
                if type(x) is FunctionType and id(x) not in known:
                    guarded = self._guard_closure(x, known) or guarded
            if is_users_class(type(part)) or type(part) is FunctionType:
                continue
            if is_seen_whole(held_by(part)):
                self._guard_held(part, known)
                guarded = guarded or isinstance(part, CHANGEABLE)
        return guarded

    def formatted(self, value: Any) -> Any:
        value = super().formatted(value)
        if not self.telling and isinstance(value, np.ndarray | TracedArray):
            with watch.aside():
                self._note_text(value)
        return value

    def _note_text(self, value: Any) -> None:
        """How an array is written down is a setting of NumPy's."""
        try:
            if type(value) is TracedArray and value.scalar:
                value = value.known("str()")
            text, given = str(value), self._lasting(value)
        except (Passing, TracingError):  # which whoever asks for the text meets
            return
        self._note_answer(Asked(None, str, Step(str, (given,), {})), True, text)

    # ---- operators ------------------------------------------------------------------------------

    def operands(self, left: Any, right: Any, operation: str) -> tuple[Any, Any]:
        operands = super().operands(left, right, operation)
        if type(left) is str and operation == "mod":
            for x in right if type(right) is tuple else (right,):
                self.formatted(x)
        if type(operands[1]) is Decided or self.telling:
            return operands
        there, back = OPERATORS[operation]
        if not (asks(left, there) or asks(right, back)):
            return operands
        decided = self._operator(_function_of(operation), left, right)
        return operands if decided is None else (None, decided)

    def in_place(self, left: Any, right: Any, operation: str) -> tuple[Any, Any]:
        """A number has no operators in place, as the traced array has that stands for it."""
        if type(left) is not TracedArray or not left.scalar:
            return super().in_place(left, right, operation)
        second, first = self.operands(left, right, operation)
        if type(first) is Decided:
            return second, first
        return None, Decided(_function_of(operation)(first, second))

    def _operator(self, function: Any, *operands: Any) -> Decided | None:
        """What an operator makes of a library's objects; None if it is left to Python."""
        step: Step | None = None
        try:
            step = self._step(function, operands, {})
            value = function(*operands)
        except Passing:
            step = value = None
        except Exception as error:  # Python's own, which may not come again
            if step is not None:
                self._note_answer(Asked(None, function, step), False, type(error))
            step = value = None
        if step is None or hasattr(value, "__array_function__"):
            for x in operands:
                if is_asked(x) or is_users_class(type(x)):
                    self._given(x, function)
        if step is None:
            return None
        self._note_copied(operands, step)
        shared = sys.getrefcount(value) > _OURS
        return Decided(self._compare(Asked(None, function, step), value, shared))

    def _note_copied(self, given: tuple[Any, ...], step: Step) -> None:
        """An array is asked for by a copy, so what it holds is a condition."""
        for x, copy in zip(given, step.args, strict=True):
            if copy is not x and is_asked(x):
                self._given(x, step.callee)

    def unary(self, value: Any, operation: str) -> Any:
        value = super().unary(value, operation)
        if self.telling or type(value) is Decided or not asks(value, f"__{operation}__"):
            return value
        return self._operator(_function_of(operation), value) or value

    def contains(self, item: Any, container: Any) -> Any:
        arguments = super().contains(item, container)
        if self.telling or arguments[0] is not container or not is_asked(container):
            return arguments
        decided = self._operator(operator.contains, container, item)
        if decided is None:
            return arguments
        return (item,) if decided.result else (), item

    def match_kind(self, subject: Any) -> Any:
        cls = type(subject)
        if not (self.telling or is_for_good(cls)):
            self._decide(collection, (cls,), collection(cls))
        return super().match_kind(subject)

    def match_class(self, subject: Any, cls: Any, names: Any) -> tuple[Any, Any, Any]:
        if asks_classes(cls) and not self.telling:
            self._decide(isinstance, (subject, cls), isinstance(subject, cls))
        return super().match_class(subject, cls, names)

    # ---- statements -----------------------------------------------------------------------------

    def enter(self, manager: Any) -> tuple[Any, Any]:
        entered, leave = super().enter(manager)
        if not errors_pass():
            leave(None, None, None)
            raise TracingError(
                f"a {type(manager).__name__} has errors of arithmetic raised or told in a compiled "
                f"function, at\n  {line_of(*here())}\nMachine code makes infinities and NaN, and "
                "looks at none of them. Look at the result with np.isfinite, or set it around the "
                "call, which then runs eagerly."
            )
        if is_users_class(type(manager)):
            return entered, leave
        self.managers.append(package_of(type(manager)))
        return entered, functools.partial(self._left, leave)

    def _left(self, leave: Any, *error: Any) -> Any:
        if self.managers:
            self.managers.pop()
        return leave(*error)

    def _is_deferred(self, callee: Any, args: Any, named: Any) -> bool:
        """Whether a statement is carried out by each call, and not by the trace."""
        if speaks(callee) or isinstance(callee, type) or package_of(callee) in self.managers:
            return False
        around = getattr(callee, "__self__", None)
        around = None if isinstance(around, ModuleType | type) else around
        if is_ours(callee):
            if not isinstance(callee, MethodType) or _is_known_otherwise(around):
                return False
        elif goes_by_arguments(callee, args):
            return False
        if around is not None and not self.is_outside(around):
            return False
        try:
            for x in (callee, *args, *named.values()):
                if is_copied(x, lasting(x, self.is_outside, _number_or_none)):
                    return False
            self._reached_by(around, args, named)
        except Passing:
            return False
        return True

    def _reached_by(self, around: Any, args: Any, named: Any) -> list[Any]:
        """All that a statement may change; loggers lead everywhere, and change themselves."""
        given = (*args, *named.values())
        if self.gives_messages(around):
            return [around, *reached_from(given)]
        return [*reached_from((around, *given))]

    def gives_messages(self, owner: Any) -> bool:
        """Whether an object is for messages."""
        return False

    def _defer(self, callee: Any, args: Any, named: Any) -> None:
        self.effects.append((None, (callee, "__call__", args, named)))
        around = getattr(callee, "__self__", None)
        around = None if isinstance(around, ModuleType | type) else around
        collecting = meanwhile.callbacks() if callee is gc.collect else ()
        for x in (*self._reached_by(around, args, named), *led_to(collecting)):
            self.acted[id(x)] = x
        if self.acted_at is None:
            self.acted_at = here()

    # ---- messages -------------------------------------------------------------------------------

    def _is_message(self, callee: Any, args: Any, named: Any) -> bool:
        """Whether a statement is a message that each call gives, and not the trace."""
        if not speaks(callee) or is_of_place(callee) or {*self.managers} - {"wengert"}:
            return False
        streams = [x for x in (named.get("file"), _owner(callee)) if x is not None]
        lasting = all(isinstance(x, ModuleType) or self.is_outside(x) for x in streams)
        return lasting and all(map(is_told, (args, {**named, "file": None})))

    def _tell_later(self, frame: Any, callee: Any, args: Any, named: Any) -> None:
        message = Message(callee, frame, (args, {**named, "file": None}))
        self.messages.append(message)
        self.effects.append((None, (message, "__call__", args, named)))
        for x in (named.get("file"), _owner(callee)):
            if not (x is None or isinstance(x, ModuleType) or self.gives_messages(x)):
                self.acted[id(x)] = x
                self.acted_at = self.acted_at or here()

    def showed(self) -> None:
        """A text is made of what is computed, which tells no number."""
        if not self.telling and self.showed_at is None:
            self.showed_at = here()

    def check_messages(self) -> None:
        if self.showed_at is not None:
            raise TracingError(
                "a text is made of a value that a compiled function computes, at\n"
                f"  {line_of(*self.showed_at)}\n"
                "Its numbers are not known while the function is compiled. Return the value, or "
                "keep it, and make the text outside; print() and loggers may be given the value "
                "itself."
            )
        for message in self.messages:
            message.check()

    def _refuse_tried(self, callee: Any) -> None:
        raise TracingError(
            f"{callee.__name__}() is called within try, at\n  {line_of(*here())}\n"
            "A compiled function does that when all else is done, when nothing catches its errors. "
            "Do it before the call, or outside of try."
        )

    def check_acted(self, owner: Any, named: str = "") -> None:
        """Something is read, or written, that a statement may have changed before."""
        if id(owner) in self.acted:
            self._too_late(f"a {named or type(owner).__name__} is used")

    def _too_late(self, what: str) -> None:
        raise TracingError(
            f"{what} in a compiled function, at\n  {line_of(*here())}\n"
            f"which may be changed by what is called before, at\n  {line_of(*self.acted_at)}\n"
            "A compiled function does that when all else is done. Call it as the last thing, or "
            "after the compiled function."
        )


_OURS = 2
"""References to an object that only one variable holds, as they are counted."""


def _nothing() -> None:
    return None


def _filters() -> tuple[Any, ...]:
    """What becomes of warnings: errors are more than messages."""
    return tuple(warnings.filters)


_FILTERS = (Step(_filters, (), {}),)


def _known(x: Any) -> Any:
    """A number that a library's code looks at, as Python's code would see it."""
    return x.concrete("the class") if type(x) is TracedArray and x.scalar else x


def _number_or_none(x: Any) -> Any:
    """A number that is computed, which a statement is given when its call is carried out."""
    return x if type(x) is TracedArray and x.scalar else None


def _words(asked: Asked) -> str:
    return str(asked.step)


_SETS = {
    ("attribute", True): setattr,
    ("attribute", False): delattr,
    ("item", True): operator.setitem,
    ("item", False): operator.delitem,
}


def _owner(callee: Any) -> Any:
    """The object whose method this is."""
    return getattr(callee, "__self__", None)


def _lasting_or_tensor(x: Any, is_outside: Any) -> Any:
    """A tensor from outside, with its numbers, is a key of a cache as any object is."""
    if isinstance(x, Tensor) and watch.is_real(x):
        return x
    if isinstance(x, (*DECIDING, *SETTINGS)) and is_outside(x):
        return x
    return lasting(x, is_outside)


_FILES = frozenset(ASKS_FILES.values())


def _function_of(operation: str) -> Any:
    return getattr(operator, {"and": "and_", "or": "or_"}.get(operation, operation))


def _is_known_otherwise(around: Any) -> bool:
    return around is None or is_itself(around) or isinstance(around, tuple(IN_TENSORS))


def _is_of_a_container(callee: Any, args: Any) -> bool:
    """Whether this is a method of a container, which is an operation on that."""
    around = getattr(callee, "__self__", None)
    if around is None and isinstance(callee, MethodDescriptorType) and args:
        around = args[0]
    return isinstance(around, CONTAINERS)


def _is_setting(callee: Any, args: Any, named: Any) -> bool:
    """Whether a function of wengert may tell a setting of the process: it is given no array."""
    atoms = all(type(x) in ATOMS for x in (*args, *named.values()))
    return atoms and type(callee) is FunctionType and is_ours(callee)


def _is_cached(callee: Any) -> bool:
    return type(callee) is functools._lru_cache_wrapper
