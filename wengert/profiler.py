"""Where the time goes, as `torch.profiler` tells it: by operation, line and module, both ways.

Nothing in the package knows of this. While a profile runs, the public functions, the methods of
Tensor and `Module.__call__` are replaced by ones that look at the clock; and during the reverse
sweep Python's own profiling hook tells when a node begins to pull and when it is done.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
import sys
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import TYPE_CHECKING, Any

from wengert import autograd
from wengert.autograd import engine
from wengert.compile.call.function import CompiledFunction
from wengert.history.files import whole
from wengert.history.location import INTERNAL, user_frame
from wengert.history.node import Node, tick
from wengert.imports import lacking as _lacking
from wengert.nn import functional
from wengert.nn.module import Module
from wengert.optim.optimizer import Optimizer
from wengert.tensor import Tensor

if TYPE_CHECKING:
    from wengert.visual.flames import FlameGraph

now = time.perf_counter_ns


class ProfilerActivity(Enum):
    """What is to be timed. There is the CPU; a GPU can be asked for, and has done nothing."""

    CPU = 0
    CUDA = 1
    XPU = 2


class ProfilerAction(Enum):
    """What a profile does in a step: see `schedule`."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


@dataclass(slots=True)
class Event:
    """One call: when it began and ended (ns), what it took itself, and where it was."""

    name: str
    kind: str  # "operation", "backward", "module" or "user"
    begin: int  # when it began
    place: tuple[CodeType | None, int]  # the user's code, and where in it
    module: str  # the layer that was running
    shapes: str = ""  # shapes of the inputs
    end: int = 0  # when it ended
    inside: int = 0  # spent in other events within this one

    @property
    def total(self) -> int:
        return self.end - self.begin

    @property
    def own(self) -> int:
        return self.total - self.inside

    @property
    def line(self) -> str:
        """The file's name and the number of the user's line."""
        code, at = self.place
        if code is None:
            return ""
        number = next((n for first, end, n in code.co_lines() if first <= at < end), None)
        return f"{Path(code.co_filename).name}:{number or code.co_firstlineno}"


class _Recorder:
    """Takes down events of one thread while it is active."""

    def __init__(self, shapes: bool) -> None:
        self.shapes = shapes
        self.events: list[Event] = []
        self.open: list[Event] = []
        self.modules: list[str] = []
        self.paths: dict[int, str] = {}
        # Calls of modules: the engine's time when they began, when they ended, and whose they were.
        self.begun: list[int] = []
        self.ended: list[float] = []
        self.called: list[str] = []
        self.thread = threading.get_ident()
        self.replaced: list[tuple[Any, str, Any]] = []

    # ---- events ---------------------------------------------------------------------------

    def begin(self, name: str, kind: str, place: Any, shapes: str = "") -> Event:
        event = Event(name, kind, 0, place, self.modules[-1] if self.modules else "", shapes)
        self.open.append(event)
        event.begin = now()
        return event

    def finish(self, event: Event) -> None:
        event.end = now()
        while self.open and self.open.pop() is not event:
            pass  # what was left by an exception
        if self.open:
            self.open[-1].inside += event.total
        self.events.append(event)

    # ---- what is replaced while it runs ---------------------------------------------------

    def start(self) -> None:
        package = sys.modules["wengert"]
        for name in dir(package):  # a name first asked for in a profile would stay a timed one
            getattr(package, name)
        for owner in (package, functional, Tensor):
            for name, function in list(vars(owner).items()):
                if isinstance(function, FunctionType) and _is_operation(name):
                    self.replace(owner, name, self.timed(function, _shown(name)))
        for owner, name in ((Tensor, "backward"), (autograd, "backward"), (autograd, "grad")):
            self.replace(owner, name, self.swept(vars(owner)[name], name))
        self.replace(Module, "__call__", self.through_module(Module.__call__))
        slot = vars(CompiledFunction)["__call__"]
        self.replace(CompiledFunction, "__call__", self.compiled(slot))
        for kind in _subclasses(Optimizer):
            if "step" in vars(kind):
                self.replace(kind, "step", self.stepping(vars(kind)["step"]))

    def stop(self) -> None:
        while self.replaced:
            owner, name, original = self.replaced.pop()
            setattr(owner, name, original)
        self.open.clear()

    def replace(self, owner: Any, name: str, function: Any) -> None:
        self.replaced.append((owner, name, vars(owner)[name]))
        setattr(owner, name, function)

    def timed(self, function: Any, name: str) -> Any:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() != self.thread:
                return function(*args, **kwargs)
            event = self.begin(name, "operation", _here(), self.shapes_of(args))
            try:
                return function(*args, **kwargs)
            finally:
                self.finish(event)

        return call

    def compiled(self, slot: Any) -> Any:
        def call(step: Any, *args: Any, **kwargs: Any) -> Any:
            # Not a method: the descriptor of a slot, which finds what to call in each object.
            entry = slot.__get__(step)
            name = f"compiled {getattr(step, '__name__', 'function')}"
            return self.timed(entry, name)(*args, **kwargs)

        return call

    def stepping(self, function: Any) -> Any:
        @functools.wraps(function)
        def call(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            name = f"{type(optimizer).__name__}.step"
            return self.timed(function, name)(optimizer, *args, **kwargs)

        return call

    def through_module(self, function: Any) -> Any:
        @functools.wraps(function)
        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() != self.thread:
                return function(module, *args, **kwargs)
            path = self.path_of(module)
            event = self.begin(f"{path} ({type(module).__name__})", "module", _here())
            event.module = path
            self.modules.append(path)
            number = len(self.begun)
            self.begun.append(tick())
            self.ended.append(math.inf)
            self.called.append(path)
            try:
                return function(module, *args, **kwargs)
            finally:
                self.ended[number] = tick()
                self.modules.pop()
                self.finish(event)

        return call

    def path_of(self, module: Any) -> str:
        """A module's name within the outermost module that was called."""
        if not self.modules:
            root = type(module).__name__
            self.paths = {
                id(part): f"{root}.{name}" if name else root
                for name, part in module.named_modules()
            }
        return self.paths.get(id(module), type(module).__name__)

    def maker_of(self, node: Node) -> str:
        """The module in whose call a node was made: the innermost."""
        i = bisect_right(self.begun, node.order) - 1
        while i >= 0 and self.ended[i] < node.order:
            i -= 1
        return self.called[i] if i >= 0 else ""

    def swept(self, function: Any, name: str) -> Any:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() != self.thread:
                return function(*args, **kwargs)
            event = self.begin(name, "operation", _here())
            before = sys.getprofile()
            sys.setprofile(self.watch())
            try:
                return function(*args, **kwargs)
            finally:
                sys.setprofile(before)
                self.finish(event)

        return call

    def watch(self) -> Callable[[FrameType, str, Any], None]:
        """The hook that sees each node of a sweep begin and end."""
        sweeps = {engine.sweep.__code__, engine.pull.__code__}
        running: dict[FrameType, Event] = {}

        def on(frame: FrameType, happening: str, argument: Any) -> None:
            if happening == "call":
                outer = frame.f_back
                if outer is not None and outer.f_code in sweeps:
                    node = frame.f_locals.get("self")
                    if isinstance(node, Node):
                        place = (node.code, node.at)
                        event = running[frame] = self.begin(node.name(), "backward", place)
                        event.module = self.maker_of(node)
            elif happening == "return" and frame in running:
                self.finish(running.pop(frame))

        return on

    def shapes_of(self, args: Iterable[Any]) -> str:
        if not self.shapes:
            return ""
        return ", ".join(str(list(x.shape)) for x in args if isinstance(x, Tensor))


def _subclasses(kind: type) -> list[type]:
    children: list[type] = kind.__subclasses__()
    return [kind, *itertools.chain.from_iterable(map(_subclasses, children))]


def _is_operation(name: str) -> bool:
    """Whether a name means something that takes time: no questions about a tensor, no settings."""
    if name.startswith("__"):
        return name in _OPERATORS
    quick = ("is_", "get_", "set_", "_", "register_", "requires_grad", "save", "load", "compile")
    return not name.startswith(quick) and name not in _QUICK


_OPERATORS = {
    *(
        f"__{prefix}{name}__"
        for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
        for prefix in ("", "r", "i")
    ),
    *("__neg__", "__abs__", "__and__", "__or__", "__getitem__", "__setitem__"),
    *("__eq__", "__lt__", "__gt__"),
}
_QUICK = frozenset(
    {
        *("size", "dim", "numel", "nelement", "ndimension", "stride", "storage_offset", "type"),
        *("data_ptr", "element_size", "detach", "item", "tolist", "numpy", "contiguous"),
        *("backward", "retain_grad", "manual_seed", "no_grad", "enable_grad", "explain"),
        *("grad", "value_and_grad", "vjp", "jvp", "hvp", "vhp", "jacrev", "jacfwd", "hessian"),
        *("jacobian", "vmap"),
    }
)


def _shown(name: str) -> str:
    return name.strip("_") if name.startswith("__") else name


def _here() -> tuple[CodeType, int]:
    frame = sys._getframe(2)
    if INTERNAL.get(frame.f_code.co_filename, True):
        frame = user_frame(frame)
    return frame.f_code, frame.f_lasti


_active: _Recorder | None = None


class record_function:
    """Names a part of the program for the profile: a `with` block, or a decorated function."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name if args is None else f"{name}: {args}"
        self._events: list[tuple[_Recorder, Event]] = []

    def __enter__(self) -> record_function:
        recorder = _active
        if recorder is not None and threading.get_ident() == recorder.thread:
            self._events.append((recorder, recorder.begin(self.name, "user", _here())))
        return self

    def __exit__(self, *exception: object) -> None:
        if self._events:
            recorder, event = self._events.pop()
            recorder.finish(event)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def named(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name):
                return function(*args, **kwargs)

        return named


# ---- averages ------------------------------------------------------------------------------


@dataclass
class Average:
    """All events of one name and place together. Times are in microseconds, as in PyTorch."""

    key: str  # the name of the events
    kind: str  # "operation", "backward", "module" or "user"
    module: str  # the layer that was running
    line: str  # the user's file and line
    shapes: str = ""  # shapes of the inputs
    count: int = 0  # how many there were
    self_cpu_time_total: float = 0.0  # time in them and in no event within
    cpu_time_total: float = 0.0  # time in them, all told

    @property
    def cpu_time(self) -> float:
        """The mean of one call."""
        return self.cpu_time_total / self.count


@dataclass
class Averages:
    """The rows of the table."""

    rows: list[Average] = field(default_factory=list)

    def __iter__(self) -> Iterator[Average]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, i: int) -> Average:
        return self.rows[i]

    def total_average(self) -> float:
        """All time that was spent in events (us)."""
        return sum(row.self_cpu_time_total for row in self.rows)

    def table(
        self, sort_by: str | None = None, row_limit: int = 100, max_name_column_width: int = 40
    ) -> str:
        """The rows as text: the largest `sort_by` first, which is an attribute of a row."""
        key = sort_by or "self_cpu_time_total"
        if key not in _SORTS:
            raise ValueError(f"sort_by must be one of {', '.join(_SORTS)}, got {sort_by!r}")
        rows = sorted(self.rows, key=lambda row: getattr(row, key), reverse=True)
        whole = self.total_average() or 1.0
        lines = [["Name", "Self CPU %", "Self CPU", "CPU total", "CPU avg", "# Calls", "Line",
                  "Module"]]  # fmt: skip
        for row in rows if row_limit < 0 else rows[:row_limit]:
            name = row.key
            if len(name) > max_name_column_width:
                name = name[: max_name_column_width - 3] + "..."
            share = f"{100 * row.self_cpu_time_total / whole:.2f}%"
            times = (row.self_cpu_time_total, row.cpu_time_total, row.cpu_time)
            lines.append([name, share, *map(_time, times), str(row.count), row.line, row.module])
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        rule = "  ".join("-" * width for width in widths)
        texts = [
            "  ".join(
                text.rjust(width) if 0 < i < 6 else text.ljust(width)
                for i, (text, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        ]
        total = f"Self CPU time total: {_time(whole)}"
        return "\n".join([rule, texts[0], rule, *texts[1:], rule, total])


_SORTS = ("self_cpu_time_total", "cpu_time_total", "cpu_time", "count")


def _time(microseconds: float) -> str:
    for unit, scale in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= scale:
            return f"{microseconds / scale:.3f}{unit}"
    return f"{microseconds:.3f}us"


# ---- profiles ------------------------------------------------------------------------------


def supported_activities() -> set[ProfilerActivity]:
    """What can be measured: the CPU."""
    return {ProfilerActivity.CPU}


def kineto_available() -> bool:
    """Whether PyTorch's own profiling library is there: no."""
    return False


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0
) -> Callable[[int], ProfilerAction]:
    """For `profile(schedule=...)`: steps to wait, to warm up and to record, over and over."""
    length = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        step -= skip_first
        if step < 0 or (repeat > 0 and step >= repeat * length):
            return ProfilerAction.NONE
        place = step % length
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        last = place == length - 1
        return ProfilerAction.RECORD_AND_SAVE if last else ProfilerAction.RECORD

    return action


def tensorboard_trace_handler(dir_name: str) -> Callable[[Any], None]:
    """For `profile(on_trace_ready=...)`: writes each trace to a file in a folder."""

    def write(profiled: profile) -> None:
        folder = Path(dir_name)
        folder.mkdir(parents=True, exist_ok=True)
        profiled.export_chrome_trace(str(folder / f"worker.{time.time_ns()}.pt.trace.json"))

    return write


class profile:
    """Times what runs in a `with` block: operations, modules, nodes of the reverse sweep.

    Each row of the table has the line of the user's program it belongs to (for the reverse sweep,
    the line that ran the operation forward) and the module. Only the thread that entered the block
    is timed. One operation costs a microsecond more while it is; `record_shapes` notes inputs'
    shapes. With a `schedule`, `step()` goes on to the next step of the program.

    >>> import wengert as wg
    >>> net = wg.nn.Sequential(wg.nn.Linear(2, 3), wg.nn.ReLU())
    >>> with profile() as prof:
    ...     net(wg.ones(1, 2)).sum().backward()
    >>> rows = prof.key_averages()
    >>> [row.key for row in rows if row.kind == "module"]
    ['Sequential.0 (Linear)', 'Sequential.1 (ReLU)', 'Sequential (Sequential)']
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[Any], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
    ) -> None:
        for name, asked in (("profile_memory", profile_memory), ("with_flops", with_flops)):
            if asked:
                raise NotImplementedError(
                    f"profile({name}=True): only time is measured. Python's tracemalloc measures "
                    "memory, NumPy's arrays included; a compiled function's explain() counts "
                    "its operations."
                )
        self.activities = activities
        self.schedule = schedule
        self.on_trace_ready = on_trace_ready
        self.record_shapes = record_shapes
        self.step_num = 0
        self._events: list[Event] = []
        self._recorder: _Recorder | None = None

    def start(self) -> None:
        """Begin; `with` does it."""
        self._act(ProfilerAction.RECORD if self.schedule is None else self.schedule(0))

    def stop(self) -> None:
        """End; `with` does it."""
        recording = self._recorder is not None
        self._end()
        if recording and self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def step(self) -> None:
        """The program's next step begins."""
        if self.schedule is None:
            self.step_num += 1
            return
        if self.schedule(self.step_num) is ProfilerAction.RECORD_AND_SAVE:
            self.stop()
        self.step_num += 1
        self._act(self.schedule(self.step_num))

    def _act(self, action: ProfilerAction) -> None:
        wanted = action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        if wanted and self._recorder is None:
            self._begin()
        elif not wanted:
            self._end()

    def _begin(self) -> None:
        global _active
        if _active is not None:
            raise RuntimeError("another profile is running; profiles cannot be nested")
        self._recorder = _active = _Recorder(self.record_shapes)
        self._events = self._recorder.events
        _active.start()

    def _end(self) -> None:
        global _active
        if self._recorder is not None:
            self._recorder.stop()
            self._recorder = _active = None

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    # ---- results --------------------------------------------------------------------------

    def events(self) -> list[Event]:
        """All calls, in the order in which they ended."""
        return self._events

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by: str = "line"
    ) -> Averages:
        """Calls put together by name and `group_by`: "line", "module" or only the "name"."""
        if group_by not in ("line", "module", "name"):
            raise ValueError(f"group_by must be 'line', 'module' or 'name', got {group_by!r}")
        rows: dict[Any, Average] = {}
        for event in self._events:
            line = event.line if group_by == "line" else ""
            module = event.module if group_by != "name" else ""
            shapes = event.shapes if group_by_input_shape else ""
            key = (event.name, event.kind, module, line, shapes)
            row = rows.get(key)
            if row is None:
                row = rows[key] = Average(event.name, event.kind, module, line, shapes)
            row.count += 1
            row.self_cpu_time_total += event.own / 1000
            row.cpu_time_total += event.total / 1000
        return Averages(list(rows.values()))

    def flame_graph(self) -> FlameGraph:
        """Where the time goes as a picture, to look at in a notebook or to `save("flames.svg")`.

        Each bar is a call, as wide as its time, and below it is what it called: modules green,
        operations blue, the reverse sweep orange. Calls of one name and line are one bar.

        >>> import wengert as wg
        >>> net = wg.nn.Sequential(wg.nn.Linear(2, 3), wg.nn.ReLU())
        >>> with profile() as prof:
        ...     y = net(wg.ones(1, 2))
        >>> prof.flame_graph()
        <FlameGraph of ... bars: ...s>
        """
        from wengert.visual.flames import FlameGraph

        return FlameGraph(self._events)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write the calls with those around them and their own times, a line each.

        flamegraph.pl and speedscope read such files; `flame_graph` needs neither.
        """
        if metric != "self_cpu_time_total":
            raise ValueError(
                f"metric must be 'self_cpu_time_total', got {metric!r}: only the CPU is timed"
            )
        with whole(Path(path)) as part:
            part.write_text(self.flame_graph().stacks() + "\n", encoding="utf-8")

    def export_chrome_trace(self, path: str) -> None:
        """Write a file for chrome://tracing or Perfetto."""
        trace = [
            {
                "name": event.name,
                "cat": event.kind,
                "ph": "X",
                "ts": event.begin / 1000,
                "dur": event.total / 1000,
                "pid": 0,
                "tid": 0,
                "args": {"line": event.line, "module": event.module, "shapes": event.shapes},
            }
            for event in self._events
        ]
        with whole(Path(path)) as part:
            part.write_text(json.dumps({"traceEvents": trace, "displayTimeUnit": "ms"}))


_lacking(__name__)
