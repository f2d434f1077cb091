"""The world around a traced function: each read becomes an input or a guard, each write a result.

The user's code is observed as it runs (`observe/`), so where a value came from is known. What is
read as an array is an input of the program, fetched at each call; so is a number, or a tensor that
is no parameter, once it was seen to change (it is *varying*). All else is a guard: the program is
used again if the same is still there. What is written is put back when the trace ends, and written
anew by each call. What can be none of these is refused, by an error that names the line.

The library's own code is trusted and not observed; `watch.py` tells what it reads of modules.
"""

from __future__ import annotations

import contextlib
import functools
import math
import sys
from collections.abc import Iterator, Mapping
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from wengert.autograd.methods import HISTORY, PAST
from wengert.compile.trace.arrays.array import TracedArray, stacked
from wengert.compile.trace.arrays.conversions import (
    array_of,
    holds_traced,
    is_conversion,
    taken_for_arrays,
    with_arrays,
)
from wengert.compile.trace.arrays.numbers import (
    NUMBERS,
    ROUNDED,
    class_of,
    converted,
    method_of,
    rounded,
)
from wengert.compile.trace.arrays.opaque import with_dtype
from wengert.compile.trace.arrays.reals import is_of_reals, of_reals
from wengert.compile.trace.arrays.refusals import Postponed
from wengert.compile.trace.arrays.scopes import late_write
from wengert.compile.trace.loops.repeats import ask_history
from wengert.compile.trace.observe import Unobserved, Write, rewrite
from wengert.compile.trace.observe.given import Done, Within
from wengert.compile.trace.observe.objects import (
    ATOMS,
    CONTAINERS,
    contents,
    fill,
    has_method,
    own_attribute,
    same,
)
from wengert.compile.trace.observe.operators import METHODS
from wengert.compile.trace.observe.stubs import code_of
from wengert.compile.trace.world import meanwhile, watch
from wengert.compile.trace.world.conditions import Conditions, home_of, homes
from wengert.compile.trace.world.drawn import ASKS_FILES, SYSTEM, acts, drawn, where_numpy_stands
from wengert.compile.trace.world.drawn import EVERYWHERE as GENERATORS_OF_ALL
from wengert.compile.trace.world.inputs import (
    Fixed,
    Inputs,
    Passed,
    Retraced,
    Specialize,
    StandIn,
    Varying,
)
from wengert.compile.trace.world.iterating import goes_through
from wengert.compile.trace.world.outside import Outside
from wengert.compile.trace.world.places import (
    MISSING,
    Argument,
    Attribute,
    Contents,
    Element,
    Guard,
    Item,
    Known,
    Own,
    Past,
    Place,
    Variable,
    is_hideable,
    is_outside,
    is_own,
    key_of,
)
from wengert.compile.trace.world.readings import is_inherited, package_of
from wengert.compile.trace.world.reads import (
    LibraryRead,
    Reads,
    is_computed,
    is_fetchable,
    is_where_texts_go,
)
from wengert.compile.trace.world.settings import OF_A_STEP, remembered
from wengert.errors import TracingError
from wengert.functions.methods.conversations import element
from wengert.history import modes
from wengert.history.location import here, line_of
from wengert.history.node import source, tick
from wengert.history.surroundings import EVERYWHERE, SETTINGS
from wengert.tensor import Tensor, current_node

OF_THE_TRACE = TracingError | Retraced | Postponed
OF_ITS_SIZE = MemoryError | RecursionError
"""Errors of what a trace takes more of than a call, memory and depth, unless the function raises
them itself."""


class World(Reads):
    """What one trace reads and writes outside. `varying` has the places whose values are inputs."""

    acting = frozenset({*map(id, GENERATORS_OF_ALL), *ASKS_FILES, *SYSTEM} - {id(None)})

    def __init__(
        self,
        inputs: Inputs,
        passed: Passed,
        conditions: Conditions,
        outside: Outside,
        varying: Mapping[Any, Place],
    ) -> None:
        super().__init__()
        self.trace = passed.trace
        self.inputs = inputs
        self.passed = passed
        self.conditions = conditions
        self.outside = outside
        self.varying = varying
        self.reading: Any = None  # an object's id and the attribute that the user's code reads
        self.writing: Any = None  # that, if it is written
        conditions.settings.written, conditions.settings.before = self.written_places, self.before
        conditions.changed = self.changed
        self.begun: dict[int, Any] = {}
        """Modules that are made in the trace, by id."""
        self.own: set[tuple[Place, str]] = set()
        """Attributes that tensors were asked for which are given."""
        self.effects: list[tuple[Place | None, Any]] = []
        """What the function wrote, in order: a place and a value, or a call on a container."""
        self.shadows: dict[int, tuple[Any, Any]] = {}
        self.unobserved: Unobserved | None = None  # the first that ran so
        self.unasked: tuple[float, str] = math.inf, ""
        """Since when nobody may ask for a history, and what is refused then."""
        self.mode_unasked = ""
        self.identifies = False  # whether it counts which object a container among the arguments is
        self.unrolled: dict[Any, int] | None = None
        """How many steps of the user's loops are traced before the others; None if all are."""
        self.broken: BaseException | None = None
        """What ends the trace, though the function may have caught that."""
        self.unexplained: list[tuple[BaseException, Any]] = []
        """Errors that the function has caught, and where, whose cause nobody saw."""
        self.bodies: dict[int, CodeType] = {}
        """The code of what runs the body of a loop, or a branch, for a statement, by its id."""
        self.handlers = {id(code): code for code in map(code_of, meanwhile.handlers())}

    # ---- running --------------------------------------------------------------------------------

    def run(self, function: Any, leaves: list[Any], /, *args: Any, **named: Any) -> Any:
        """Call a function; `leaves` are what its arguments hold."""
        for i, leaf in enumerate(leaves):
            if not self.is_known(leaf):
                self._reach(leaf, None, f"argument {i}")
        named_by = function if isinstance(function, FunctionType | MethodType) else type(function)
        self._reach(function, None, named_by.__name__)
        for container in EVERYWHERE:
            self._tell(self.reached, container)
            self._note_library_read(Contents(container), "what holds for all modules")
        result = self.called(function, *args, **named)
        self.trace.returned = tick()
        return result

    def let_go(self) -> None:
        """Of everything. A trace's frames have it, so by what it holds they would hold themselves,
        and with them the variables of all who called, until garbage is collected.
        """
        vars(self).clear()

    @contextlib.contextmanager
    def observing(self) -> Iterator[None]:
        meanwhile.expect()
        for handler in meanwhile.handlers():  # which may be called while nobody hears
            self.lend(handler)
        try:
            with super().observing():
                yield
                missed = self._missed()
                if missed and self.broken is None:
                    self.unseen(Unobserved(missed, *here()))
        except Exception as error:
            self._check_observed(error)
            if meanwhile.raised_by(error, self.handlers):
                self.broken = error
            raise
        self._check_observed(None)
        if self.broken is not None:
            raise self.broken

    def _missed(self) -> str:
        """What nobody has heard, since an interrupt came amid it; nothing, if all was heard."""
        if rewrite.THREAD.observer is not self:
            return "a collection of garbage"
        return "what came after an interrupt" if self.deaf else ""

    def _tell(self, handler: Any, *event: Any) -> Any:
        return self.unheard(self._aside, handler, *event)

    def _aside(self, handler: Any, *event: Any) -> Any:
        with watch.aside():
            return super()._tell(handler, *event)

    def is_told(self) -> bool:
        return super().is_told() and watch.active() is not None

    def acts(self, function: Any) -> bool:
        return acts(function)

    def gives_messages(self, owner: Any) -> bool:
        return is_where_texts_go(owner)

    def standing(self) -> bytes:
        return where_numpy_stands()

    def raised(self, error: BaseException) -> None:
        # No run of the function itself raises that, so what it does then is none of its ways.
        explained = self.is_explained(error)
        ours = OF_THE_TRACE if explained else OF_THE_TRACE | OF_ITS_SIZE
        came = self._missed() or meanwhile.raised_by(error, self.handlers)
        if self.broken is None and (came or isinstance(error, ours)):
            self.broken = error
        if self.broken is None and meanwhile.raised_by(error, self.bodies):
            self.broken = _ended_body(error)
        if not explained:
            self.unexplained.append((error, (type(error), *here())))
            self.explain(error)
        super().raised(error)

    def unseen(self, ran: Unobserved) -> None:
        if self.unobserved is None:
            self.unobserved = ran

    def _check_observed(self, error: Exception | None) -> None:
        """What runs past the observer may have read anything."""
        ran = self.unobserved
        if ran is not None:
            name, line = ran.name, line_of(ran.caller, ran.at)
            raise TracingError(
                f"{name} runs where a compiled function cannot see what it reads or does, called "
                f"at\n  {line}\nCall it in the function itself, or before it: pass what comes "
                "of it."
            ) from error

    def lent_out(self, container: Any) -> None:
        self._note_library_read(Contents(container))

    def is_known(self, owner: Any, name: Any = None) -> bool:
        if isinstance(owner, Tensor):
            return name is None or not is_own(owner, name)
        return isinstance(owner, TracedArray | np.generic | np.dtype)

    def read_attribute(self, owner: Any, name: str) -> Any:
        if name == "__class__" and type(owner) is TracedArray:
            return class_of(owner)
        outer, self.reading = self.reading, (id(owner), name)
        try:
            if isinstance(owner, Tensor) and is_own(owner, name):
                self._find_own(owner, name)
            if name == "__dict__" and isinstance(owner, Tensor) and self._is_there(owner):
                self.refuse("a tensor from outside is asked for all its attributes")
            value = super().read_attribute(owner, name)
        finally:
            self.reading = outer
        if name in HISTORY and isinstance(owner, Tensor):
            self._ask_history(current_node(owner))
        is_method = type(value) is MethodType and name not in OF_A_STEP
        if is_method and isinstance(owner, (*SETTINGS,)):
            for guard in remembered(owner):  # which it may tell
                self.conditions.note(guard)
        is_told = name in PAST and own_attribute(owner, name) is MISSING
        return self._past_of(owner, name, value) if is_told else value

    def _behind(self, owner: Any, name: str) -> Any:
        if type(owner) is TracedArray:
            cls = class_of(owner)
            of_class = getattr(TracedArray, name, super)  # which is no atom
            if not hasattr(cls, name) or type(of_class) in ATOMS:
                alike = np.empty(0) if cls is np.ndarray else cls()
                return functools.partial(
                    getattr, alike, name
                )  # its constant, or Python's own error
            if owner.weak and name in METHODS:
                return functools.partial(method_of, owner, name)
        return super()._behind(owner, name)

    def _hasattr(self, function: Any, owner: Any, name: Any) -> bool:
        if type(owner) is TracedArray:
            return hasattr(class_of(owner), name)
        return super()._hasattr(function, owner, name)

    def _getattr(self, function: Any, owner: Any, name: Any, *default: Any) -> Any:
        if type(owner) is TracedArray and hasattr(class_of(owner), name):
            default = ()  # what a traced array lacks, the call runs eagerly for
        return super()._getattr(function, owner, name, *default)

    def _lacks(self, owner: Any, name: str) -> None:
        if type(owner) is not TracedArray:  # that is known by what it stands for
            super()._lacks(owner, name)

    def _read_attribute(self, owner: Any, name: str, value: Any) -> Any:
        if not isinstance(owner, Tensor) or name in vars(owner) or not is_hideable(owner, name):
            return super()._read_attribute(owner, name, value)
        place = Item(vars(owner), name)
        if watch.is_real(owner) and key_of(place) not in self.written_places:
            self.conditions.note(Guard(place, MISSING))
        self.had_by_class(type(owner), name)
        return value

    def _ask_history(self, edge: Any) -> None:
        ask_history([edge])
        node, (since, what) = source(edge)[0], self.unasked
        if node is not None and abs(node.order) > since:
            self.refuse(what)

    @contextlib.contextmanager
    def recorded_unasked(self, what: str, since: int | None = None) -> Iterator[None]:
        """What runs inside is recorded, though not in eager mode: nobody may ask for the mode, or
        for the history of what was made inside; or, if `since` is given, of what was made since.
        """
        outer, mode = self.unasked, self.mode_unasked
        if since is None:
            self.mode_unasked, since = what, tick()
        self.unasked = min(outer, (since, what))
        try:
            yield
        finally:
            self.unasked, self.mode_unasked = outer, mode

    def note_answer(self, guard: Guard) -> None:
        """A mode that holds for a while is known anyway, and it may be the function's own."""
        with watch.aside():  # what is answered otherwise then tells of the trace alone
            holds = guard.holds()
            with modes.no_grad():
                is_of_mode = guard.holds() is not holds
        if is_of_mode and self.mode_unasked:
            self.refuse(self.mode_unasked)
        if holds:
            self.conditions.note(guard, late=True)

    def _find_own(self, x: Tensor, name: str) -> StandIn | None:
        """Let what stands for a tensor have an attribute that the user has given that one; what
        does, or None if this is no such tensor.
        """
        passed = self.passed.stand_ins.get(x)
        if passed is not None and (passed.place, name) not in self.own:
            self.own.add((passed.place, name))
            value = self.inputs.told(Own(passed.place, name))
            if value is not MISSING:
                vars(x)[name] = value
                self._reach(value, x, f".{name}")
        return passed

    def _past_of(self, x: Any, name: str, value: Any) -> Any:
        """What a tensor says of its past: of what it was given, and of what the trace did since."""
        x = self._counted_with(x) if name == "_version" else x
        passed = self.passed.stand_ins.get(x) if isinstance(x, Tensor) else None
        if passed is None and not (isinstance(x, Tensor) and watch.is_real(x)):
            return value
        before = self.inputs.told(Past(Known(x) if passed is None else passed.place, name))
        if isinstance(before, type):
            self.refuse(f"{name} is asked of a tensor from outside")
        if passed is None:
            return value
        if callable(value):
            return functools.partial(bool, before)
        return value + before if type(value) is int else value or before

    def _is_there(self, x: Tensor) -> bool:
        """Whether a tensor is given, or found, in the place of which another may stand."""
        return x in self.passed.stand_ins or watch.is_real(x)

    def _counted_with(self, x: Any) -> Any:
        """The tensor from outside whose writes are counted with those of one made inside."""
        cell = x._cell if isinstance(x, Tensor) and not self._is_there(x) else None
        given = [passed.tensor for passed in self.passed.stand_ins.values()]
        outside = [entry.tensor for entry in self.outside.tensors.values()]
        return next((t for t in (*given, *outside) if cell is not None and t._cell is cell), x)

    def read_by_library(self, owner: Any, name: str, value: Any) -> Any:
        """What the library gets for an attribute of a module."""
        if id(owner) in self.begun:
            return value
        with watch.aside():
            home = home_of(owner, name)
            if home is not None:
                place = Item(home, name)
                if key_of(place) not in self.written_places:
                    self.conditions.note(Guard(place, value))
            elif name[:1] != "_":
                self._through_class(owner, type(owner), name)
            self._use_class(owner)
            self._reach(owner, None, f"a {type(owner).__name__}")
            self._reach(value, owner, f".{name}")
            self.conditions.name(value if isinstance(value, dict) else {name: value})
            if isinstance(value, CONTAINERS):
                self._note_library_read(Contents(value), f"{name} of a {type(owner).__name__}")
                self._read_contents(value)
            return value

    def written_by_library(self, owner: Any, put: Any, name: str, *value: Any) -> None:
        """The library sets or deletes an attribute of a module."""
        with watch.aside():
            home = home_of(owner, name)
            if home is not None and type(home[name]) in ATOMS and id(owner) in self.origins:
                self.conditions.note(Guard(Item(home, name), home[name]))
        self._put(put, "attribute", owner, name, *value)

    def _put(self, put: Any, kind: str, owner: Any, key: Any, *value: Any) -> None:
        if kind == "attribute" and isinstance(owner, Tensor) and is_own(owner, key):
            passed = self._find_own(owner, key)
            if passed is not None:
                put(owner, key, *value)
                self.effects.append((Own(passed.place, key), value[0] if value else MISSING))
                return
        outer, self.writing = self.writing, (id(owner), key)
        try:
            super()._put(put, kind, owner, key, *value)
        finally:
            self.writing = outer

    def identical(self, left: Any, right: Any) -> tuple[Any, Any]:
        containers = self.passed.containers
        self.identifies = self.identifies or id(left) in containers or id(right) in containers
        tensors = [x for x in (left, right) if isinstance(x, Tensor | TracedArray | np.ndarray)]
        if len(tensors) == 2 and any(map(self._is_known_outside, tensors)):
            for x in tensors:
                self.known_by_itself(x)
        return super().identical(self.real(left), self.real(right))

    def _is_known_outside(self, x: Any) -> bool:
        """Whether something is no argument, and was not made in the trace."""
        place = self._place_of_stand_in(x)
        if place is not None:
            return is_outside(place)
        return isinstance(x, np.ndarray) or (isinstance(x, Tensor) and watch.is_real(x))

    def _place_of_stand_in(self, x: Any) -> Place | None:
        if isinstance(x, TracedArray):
            return self.passed.place_of(x)
        known = self.passed.stand_ins.get(x) if isinstance(x, Tensor) else None
        return None if known is None else known.place

    def known_by_itself(self, x: Any) -> None:
        """What stands for one that is fetched is no other: which one that is has to be known."""
        place = self._place_of_stand_in(x)
        if isinstance(place, Argument):
            raise Specialize(place)
        if place is not None and not isinstance(place, Known):
            raise Fixed(place)

    def read_item(self, owner: Any, key: Any) -> Any:
        return super().read_item(owner, _known_key(owner, key))

    def write_item(self, value: Any, owner: Any, key: Any) -> None:
        super().write_item(value, owner, _known_key(owner, key))

    def delete_item(self, owner: Any, key: Any) -> None:
        super().delete_item(owner, _known_key(owner, key))

    def looped(self, items: Any, *rest: Any) -> Any:
        from wengert.control.rolled import rolling

        iterated, site = self.iterated(items), rest[-1]
        if self.unrolled is None or self.telling:
            return iterated
        return rolling(self, items, site, rest[:-1]) or iterated

    # ---- what the program sees ------------------------------------------------------------------

    def match_class(self, subject: Any, cls: Any, names: Any) -> tuple[Any, Any, Any]:
        """A pattern asks for the class that a traced array would have; it may take a number."""
        if type(subject) is TracedArray:
            if subject.scalar:
                subject = subject.concrete("the class")
            elif issubclass(class_of(subject), cls):
                return names, TracedArray, subject
        return super().match_class(subject, cls, names)

    def matched(self, seen: Any, value: Any) -> None:
        if seen is not value:
            known = self.passed.stand_in_for(value) if isinstance(value, Tensor) else None
            place = self.inputs.places.get(seen.value) if known is None else known.place
            if place is not None and key_of(place) in self.varying:
                raise Fixed(place)

    def real(self, x: Any) -> Any:
        place = self.passed.place_of(x) if type(x) is TracedArray else None
        if type(place) is not Known or x.storage.value is not x.storage.origin:
            return x
        return place.object

    def shadow(self, value: Any, depth: int = 1) -> Any:
        """A container in whose place a library gets another, with traced arrays in it."""
        if not depth or not isinstance(value, list | tuple | dict) or id(value) not in self.origins:
            return value
        shadow = self._shadowed(value, depth)
        if shadow is not value:
            self.shadows[id(shadow)] = value, shadow
        return shadow

    def _shadowed(self, value: Any, depth: int) -> Any:
        held = contents(value)
        half = len(held) // 2 if isinstance(value, dict) else 0
        keys, held = held[:half], held[half:]
        with watch.aside():
            seen = [self.shadow(self._inside(x), depth - 1) for x in held]
        if all(a is b for a, b in zip(held, seen, strict=True)):
            return value
        if isinstance(value, dict):
            return dict(zip(keys, seen, strict=True))
        return seen if isinstance(value, list) else tuple(seen)

    def depth_for(self, callee: Any, args: tuple[Any, ...]) -> int:
        if any(map(self._computes, (callee, *args))):
            return sys.getrecursionlimit()
        return 0 if isinstance(callee, type) and not goes_through(callee) else 1

    def _computes(self, x: Any) -> bool:
        """Whether this is a library's that is none of Python's: it may compute with all it gets."""
        return callable(x) and package_of(x) not in sys.stdlib_module_names and not self._of_user(x)

    def behind_shadow(self, value: Any) -> Any:
        return self.shadows.get(id(value), (value,))[0]

    # ---- calls ----------------------------------------------------------------------------------

    def _class(self, function: Any, *args: Any) -> Any:
        """`isinstance` and `type`: a traced array is of the class that it would have."""
        if not args or type(args[0]) is not TracedArray:
            return super()._class(function, *args)
        cls = class_of(args[0])
        return issubclass(cls, args[1]) if function is isinstance else cls

    def _trusted(self, callee: Any, args: Any, named: Any) -> Any:
        if any(type(x) is TracedArray for x in (*args, *named.values())):
            args, named = self._tell(with_dtype, callee, args, named)
        if len(args) == 1 and not named and any(callee is kind for kind in NUMBERS):
            return named, args, functools.partial(self._number, callee)
        if len(args) == 1 and not named and _is_rounded(callee, args[0]):
            return named, args, functools.partial(rounded, callee)
        if not named and _is_of_reals(callee, args):
            return named, args, functools.partial(self._of_reals, callee)
        if args and is_conversion(callee, named):
            x = stacked(self._listed(callee, args[0]))
            if type(x) is TracedArray:
                return named, (x, *args[1:]), functools.partial(array_of, callee)
        if holds_traced(callee, args, named):
            taken = self._tell(taken_for_arrays, callee, args, named)
            put = functools.partial(with_arrays, taken, functools.partial(self._listed, callee))
            args, named = tuple(map(put, args)), {name: put(x) for name, x in named.items()}
        answer = drawn(callee, args, named, self)
        if answer is None:
            trusted = super()._trusted(callee, args, named)
        else:
            for value in (*args, *named.values()):
                self._given(value, callee)
            trusted = named, args, answer
        if (callee is zip or callee is enumerate) and self.unrolled is not None:
            from wengert.control.rolled import together

            joined = together(callee, *args, **named)
            return trusted if joined is None else ({}, (), lambda: joined)
        return trusted

    def _listed(self, callee: Any, x: Any) -> Any:
        """What stands for an argument that is made an array, and so read to its depth."""
        if not isinstance(x, list | tuple):
            return x
        self._given(x, callee)
        return self.shadow(x, sys.getrecursionlimit())

    def _number(self, kind: type, x: Any) -> Any:
        """What `float(x)` and its like make."""
        self._given(x, kind)
        if isinstance(x, Tensor):
            x = element(x, kind)
        return converted(x, kind) if type(x) is TracedArray else kind(x)

    def _of_reals(self, function: Any, *args: Any) -> Any:
        """What a function of `math` makes, which takes all that has a `float()`."""
        return of_reals(function, *[self._number(float, x) for x in args])

    # ---- writes ---------------------------------------------------------------------------------

    def kept_attribute(self, owner: Any, name: str) -> Any:
        home = home_of(owner, name)
        if home is None and is_computed(owner, name):
            return getattr(owner, name, MISSING)
        return super().kept_attribute(owner, name) if home is None else home[name]

    def before_write(self, kind: str, owner: Any) -> None:
        """What cannot be put back is not written."""
        written = kind == "item" and has_method(type(owner), "__setitem__")
        if written and not isinstance(owner, CONTAINERS):
            self.refuse(f"an item of a {type(owner).__name__} from outside is set")

    def on_write(self, write: Write) -> None:
        is_call = write.kind in ("call", "in place")
        place = None if is_call else self._place_of(write)
        if place is not None:  # noted before anything is refused: it is put back
            self.written_places.setdefault(key_of(place), (place, write.before))
        if self.trace.returned is not None:
            raise late_write()
        self.check_acted(write.owner)
        if isinstance(write.owner, np.random.BitGenerator):
            self.refuse("the state of a generator from outside is set")
        if is_call:
            self._did(write)
        elif place is None:
            deleted = write.after is MISSING
            method, args = ("del", (write.key,)) if deleted else ("set", (write.key, write.after))
            self.effects.append((None, (write.owner, f"__{method}item__", args, {})))
        else:
            if write.kind == "attribute":
                for mapping in homes(write.owner):
                    self.left(mapping)
            elif write.kind == "global":
                self.left(write.owner, write.key, write.after)
            self.effects.append((place, write.after))

    def done(self) -> Done:
        return Done(len(self.effects), len(self.trace.written), len(self.trace.drawn), tick())

    def has_computed(self, before: Done, now: Done) -> bool:
        return now.draws > before.draws or self._wrote_into(before, before, now)

    def has_done(self, begun: Done, before: Done, now: Done) -> bool:
        """Whether something that was there when it `begun` has been changed meanwhile."""
        return now.effects > before.effects or self._wrote_into(begun, before, now)

    def _wrote_into(self, begun: Done, before: Done, now: Done) -> bool:
        written = self.trace.written[before.writes : now.writes]
        return any(born < begun.time for born in written)

    def draws_anew(self, before: Done, now: Done) -> bool:
        """Whether something was drawn meanwhile that a second time would be something else."""
        draws = self.trace.drawn[before.draws : now.draws]
        return any(draw.again is False for draw, _ in draws)

    def carried_out(self, owner: Any, within: Within) -> None:
        """A call that has changed this container is made again by each call of the program, with
        all that it calls in its turn: what that did is no effect by itself.
        """
        own = within.own(self.done())
        if any(self.has_computed(*period) for period in own):
            self.refuse(
                f"a {type(owner).__name__} from outside is changed by what calls a function that "
                "writes into arrays, or draws random numbers"
            )
        if any(now.effects > before.effects for before, now in own):
            given = within.periods
            if any(after.effects > before.effects for before, after in given):
                self.refuse(  # each goes by what the others did
                    f"a {type(owner).__name__} from outside is changed by what calls a function "
                    "that writes, and goes through an iterator that writes as well"
                )
            del self.effects[within.begun.effects :]
            self._read_contents(owner)

    def _did(self, write: Write) -> None:
        if isinstance(write.owner, CONTAINERS):
            self.carried_out(write.owner, write.within)
        if write.kind == "call":
            args, named = write.after
            self.effects.append((None, (write.owner, write.key, args, named)))
        elif isinstance(write.owner, CONTAINERS):
            self.effects.append((None, (write.owner, f"__i{write.key}__", (write.after,), {})))
        elif is_inherited(write.owner, f"__i{write.key}__"):
            self.refuse(f"a {type(write.owner).__name__} from outside is changed in place")

    def _place_of(self, write: Write) -> Place | None:
        owner, key = write.owner, write.key
        if write.kind == "global":
            return Item(owner, key)
        if write.kind == "cell":
            return Variable(owner)
        if write.kind == "attribute":
            home = home_of(owner, key)
            own = getattr(owner, "__dict__", None)
            if home is None and type(own) is dict and write.after is MISSING:
                home = own
            return Attribute(owner, key) if home is None else Item(home, key)
        if isinstance(owner, dict):
            return Item(owner, key)
        if isinstance(owner, list) and isinstance(key, int) and write.after is not MISSING:
            return self._element(owner, key)
        return None

    # ---- the end --------------------------------------------------------------------------------

    def check_library(self) -> None:
        for read in self._changed_by_library():
            self.refuse_change(read)

    def _changed_by_library(self) -> Iterator[LibraryRead]:
        for read in self.library_read.values():
            if not same(read.place.read(()), read.held):
                yield read

    def standing_now(self) -> list[tuple[Any, Any]]:
        """What stands now where the function has written."""
        places = [(place, place.read(())) for place, _ in self.written_places.values()]
        changed = [self.origins[key].value for key in self.before]
        return places + [(Contents(container), contents(container)) for container in changed]

    def came(self, what: str, stood: list[tuple[Place, Any]]) -> None:
        """Something came that may have called anything; what stood before."""
        for place, before in stood:
            if not same(place.read(()), before):
                self.unseen(Unobserved(f"{what} that changes {place}", *here()))

    def interrupts(self, code: CodeType) -> bool:
        if id(code) not in self.handlers:
            return False
        meanwhile.begin(meanwhile.HANDLER)
        return True

    def resumes(self) -> None:
        meanwhile.end(meanwhile.HANDLER)

    def put_back(self) -> None:
        """Make the world what it was before the trace."""
        for read in [*self._changed_by_library()]:
            for put in read.undo:
                with contextlib.suppress(Exception):  # what is closed, say, is refused as it is
                    put()
        self.library_read = {}
        self.put.clear()  # what is alive after this has outlived the function
        self.explained.clear()
        if rewrite.THREAD.observer is self:  # an interrupt came while it was taken away
            rewrite.THREAD.observer = None
        self.take_back()
        for place, before in reversed(self.written_places.values()):
            if not isinstance(place, Element):
                place.write(before, ())  # type: ignore[union-attr]
        self.written_places = {}
        for key, held in self.before.items():
            fill(self.origins[key].value, held)
        self.before = {}

    def check_kept(self, fixed: Mapping[Any, Place]) -> None:
        """What is read and written is kept for the next call: it is fetched from its place."""
        known = {*self.varying, *fixed}
        kept = {
            key: place
            for key, (place, before) in self.written_places.items()
            if self.conditions.is_known(key) and key not in known and is_fetchable(before)
        }
        if kept:
            raise Varying(kept)


def _known_key(owner: Any, key: Any) -> Any:
    """Where a number says which item of a dictionary is meant, it decides that."""
    if not isinstance(owner, dict):
        return key
    if type(key) is tuple:
        return tuple([_known_key(owner, part) for part in key])
    return key.concrete("a key") if type(key) is TracedArray and key.scalar else key


def _is_rounded(callee: Any, x: Any) -> bool:
    """Whether a function makes an int of a traced number of Python's."""
    if not any(callee is function for function in ROUNDED):
        return False
    return type(x) is TracedArray and issubclass(class_of(x), float | int)


def _is_of_reals(callee: Any, args: tuple[Any, ...]) -> bool:
    """Whether a function of `math` is called with a number that is known only when it runs."""
    if not is_of_reals(callee, len(args)):
        return False
    return any(type(x._array if isinstance(x, Tensor) else x) is TracedArray for x in args)


def _ended_body(error: BaseException) -> TracingError:
    return TracingError(
        f"a {type(error).__name__} that has ended the body of a loop, or a branch, is caught in a "
        f"compiled function, at\n  {line_of(*here())}\nWhat the body did before it would not be "
        "done. Catch it in the body, or find out before the loop whether it comes."
    )
