"""Layers that are a function and its settings."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY as KW_ONLY
from inspect import Parameter, Signature
from typing import Any, ClassVar, Concatenate, ParamSpec, TypeVar, dataclass_transform

from wengert.dispatch import signature
from wengert.nn.module import Module
from wengert.tensor import Tensor

A = TypeVar("A")
P = ParamSpec("P")
_UNSAID: Any = object()


class _Signed:
    """The signature of a class that has the constructor of `Applied`."""

    def __get__(self, module: Any, kind: type[Applied]) -> Signature:
        if kind.__init__ is not Applied.__init__:
            raise AttributeError("__signature__")
        return kind._signature


@dataclass_transform()
class Applied(Module):
    """A module that applies a function to its inputs, with the settings that it was made with.

    Its class names the function (None if the classes below do) and declares the settings, as
    annotated attributes in the order of the constructor, under the function's names for them; a
    `Tensor | None` is a buffer. `repr` shows those that are `shown`, or all. A function with an
    argument `training` is told whether the module is.

    >>> from wengert.nn import functional as F
    >>> class Leaky(Applied, function=F.leaky_relu):
    ...     negative_slope: float = 0.01
    ...     inplace: bool = False
    >>> Leaky(0.2)
    Leaky(negative_slope=0.2)
    """

    _function: ClassVar[Callable[..., Any]]
    _signature: ClassVar[Signature] = Signature()
    _shown: ClassVar[tuple[str, ...] | None] = None
    _passed: ClassVar[tuple[str, ...]] = ()
    _unpassed: ClassVar[frozenset[str]] = frozenset()  # what the constructor makes others of
    __signature__ = _Signed()

    def __init_subclass__(
        cls, function: Callable[..., Any] | None = _UNSAID, shown: str | None = None, **kwargs: Any
    ) -> None:
        super().__init_subclass__(**kwargs)
        if shown is not None:
            cls._shown = tuple(shown.split())
        if function is _UNSAID:
            return  # a class of the user's, whose annotations are its own
        if function is not None:
            cls._function = staticmethod(function)
        if own := inspect.get_annotations(cls):  # texts, which no file here evaluates
            cls._declare(own)
        if function is not None:
            cls._line_up()

    @classmethod
    def _declare(cls, own: dict[str, Any]) -> None:
        kind: Any = Parameter.POSITIONAL_OR_KEYWORD
        declared = dict(cls._signature.parameters)  # those of the class above come first
        for name, annotation in own.items():
            if annotation == "KW_ONLY":
                kind = Parameter.KEYWORD_ONLY
            elif not str(annotation).startswith("ClassVar"):
                default = vars(cls).get(name, Parameter.empty)
                declared[name] = Parameter(name, kind, default=default, annotation=annotation)
                if name in vars(cls) and name not in cls._unpassed:
                    delattr(cls, name)  # instances have it, and buffers are no attributes
        cls._signature = Signature([*declared.values()])
        cls._passed = tuple(name for name in declared if name not in cls._unpassed)

    @classmethod
    def _line_up(cls) -> None:
        """Have a `forward` that passes the settings by position, if they follow the inputs."""
        names, declared = signature(cls._function)[0], set(cls._signature.parameters)
        if "training" in names and "training" not in cls._passed:
            cls._passed += ("training",)
        declared.update(cls._passed)
        places = [k for k, name in enumerate(names) if name in declared]
        span = names[places[0] : places[-1] + 1] if places else ()
        by_name = any(p.kind is Parameter.KEYWORD_ONLY for p in cls._signature.parameters.values())
        forward: Any = Applied.forward
        if declared >= set(span) and not by_name:
            forward = _by_position(cls._function, places[0] if places else 0, span)
        if cls.forward is cls._made:
            cls.forward = forward  # type: ignore[method-assign]
        cls._made = forward

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self._get_name()}.__init__() {error}") from None
        bound.apply_defaults()
        for name, value in self._checked(bound.arguments).items():
            if self._signature.parameters[name].annotation == "Tensor | None":
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)

    def _checked(self, settings: dict[str, Any]) -> dict[str, Any]:
        """The settings as they are kept, or an error."""
        return settings

    def forward(self, *inputs: Any, **named: Any) -> Tensor:
        settings = {n: getattr(self, n) for n in self._passed}
        return self._function(*inputs, **named, **settings)

    _made: ClassVar[Callable[..., Any]] = forward
    """What is `forward` in classes that do not write it."""

    def extra_repr(self) -> str:
        names = self._signature.parameters if self._shown is None else self._shown
        shown = [f"{n}={getattr(self, n)!r}" for n in names if n != "inplace"]
        return ", ".join([*shown, *(["inplace=True"] if self.__dict__.get("inplace") else [])])


def _by_position(function: Callable[..., Any], inputs: int, names: Sequence[str]) -> Any:
    """A `forward` that passes so many inputs, and settings behind them: names take longer."""
    get: Any = operator.attrgetter(*names) if names else None
    settings = get if len(names) > 1 else lambda self: (get(self),)

    def forward(self: Applied, *given: Any, **named: Any) -> Any:
        if named or len(given) != inputs:
            return Applied.forward(self, *given, **named)
        return function(*given, *settings(self))

    def unset(self: Applied, *given: Any, **named: Any) -> Any:
        return function(*given, **named)

    return forward if names else unset


def unusual(module: Module, **usual: Any) -> str:
    """`, name=setting` for each setting of a module that is not the usual one."""
    settings = {name: getattr(module, name) for name in usual}
    return "".join(f", {n}={x}" for n, x in settings.items() if x != usual[n])


def beginning_with(
    first: A, make: Callable[Concatenate[Any, A, P], None]
) -> Callable[[Callable[[Any], None]], Callable[Concatenate[Any, P], None]]:
    """Decorates what a constructor does after `make`, whose first argument is known."""
    own, _, *others = inspect.signature(make).parameters.values()

    def decorate(then: Callable[[Any], None]) -> Callable[Concatenate[Any, P], None]:
        def __init__(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> None:
            make(self, first, *args, **kwargs)
            then(self)

        vars(__init__)["__signature__"] = Signature([own, *others])
        return __init__

    return decorate
