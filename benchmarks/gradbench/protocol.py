"""GradBench's protocol: one JSON object to a line asks, one to a line answers, with the same id.

A message that cannot be answered gets `{"id": ..., "success": false, "error": ...}`, and the next
one is read: nothing that is sent ends the session, but its end.
"""

import json
import time
from collections.abc import Iterable
from typing import Any, TextIO

from benchmarks.gradbench import NAMES, named
from benchmarks.gradbench.problem import InputError, Problem, nested, read

TOOL = "wengert"
REPEATED = {"min_runs": "integer", "min_seconds": "number"}


def serve(lines: Iterable[bytes | str], out: TextIO) -> None:
    """Answer each line, until there are no more."""
    for line in lines:
        if line.strip():
            out.write(_written(answer(line)) + "\n")
            out.flush()


def answer(line: bytes | str) -> dict[str, Any]:
    """What is answered to one line."""
    number = None
    try:
        message = _message(line)
        number = _id(message)
        return {"id": number, **KINDS[_kind(message)](message)}
    except InputError as error:
        said = str(error)
    except Exception as error:  # whatever a problem meets is its answer, and not the session's end
        said = f"{type(error).__name__}: {error}"
    return {"id": number, "success": False, "error": said}


def _written(answered: dict[str, Any]) -> str:
    """An answer as JSON, which has no inf and no NaN: a harness could not read them."""
    try:
        return json.dumps(answered, allow_nan=False)
    except ValueError:
        said = "the result holds inf or NaN, which JSON cannot"
        return json.dumps({"id": answered["id"], "success": False, "error": said})


def _message(line: bytes | str) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"this line is not JSON: {error}") from None
    if not isinstance(message, dict):
        raise InputError(f"a message is an object, not {type(message).__name__}")
    return message


def _id(message: Any) -> int:
    if type(message.get("id")) is not int:
        raise InputError("the message lacks the field id, an integer")
    return message["id"]


def _kind(message: Any) -> str:
    kind = _text(message, "kind")
    if kind not in KINDS:
        raise InputError(f"there is no kind {kind} of message, but {', '.join(KINDS)}")
    return kind


def _started(message: Any) -> dict[str, Any]:
    return {"tool": TOOL}


def _defined(message: Any) -> dict[str, Any]:
    name = _text(message, "module")
    if name not in NAMES:
        return {"success": False, "error": f"there is no module {name}, but {', '.join(NAMES)}"}
    start = time.perf_counter_ns()
    named(name)
    return {"success": True, "timings": [_timing("define", start)]}


def _evaluated(message: Any) -> dict[str, Any]:
    name, function = _text(message, "module"), _text(message, "function")
    if name not in NAMES:
        raise InputError(f"there is no module {name}, but {', '.join(NAMES)}")
    of = named(name)
    if function not in of.functions:
        raise InputError(f"{name} has no function {function}, but {', '.join(of.functions)}")
    if "input" not in message:
        raise InputError("the message lacks the field input")
    return _timed(of, function, _named(of, message["input"]))


def _named(of: Problem, given: Any) -> Any:
    """hello's input is its only field itself."""
    if of.repeated or isinstance(given, dict):
        return given
    (name,) = of.fields
    return {name: given}


def _timed(of: Problem, function: str, given: Any) -> dict[str, Any]:
    """The function's result, and how long each run took, without reading and writing JSON."""
    arguments = of.arguments(given)
    runs, seconds = 1, 0.0
    if of.repeated:
        asked = read({"min_runs": 1, "min_seconds": 0.0, **given}, REPEATED)
        runs, seconds = asked["min_runs"], asked["min_seconds"]
    call, timings, spent = of.functions[function], [], 0
    while not timings or len(timings) < runs or spent < seconds * 1e9:
        start = time.perf_counter_ns()
        result = call(*arguments)
        timings.append(_timing("evaluate", start))
        spent += timings[-1]["nanoseconds"]
    return {"success": True, "output": nested(of.answer(function, result)), "timings": timings}


def _analysed(message: Any) -> dict[str, Any]:
    return {}


KINDS = {
    "start": _started,
    "define": _defined,
    "evaluate": _evaluated,
    "analysis": _analysed,
}


def _timing(name: str, start: int) -> dict[str, Any]:
    return {"name": name, "nanoseconds": time.perf_counter_ns() - start}


def _text(message: Any, field: str) -> str:
    if not isinstance(message.get(field), str):
        raise InputError(f"the message lacks the field {field}, a text")
    return message[field]
