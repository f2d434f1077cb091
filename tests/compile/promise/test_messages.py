"""What a library keeps, or tells, of computed values; and refusals that somebody catches.

Texts of traced tensors were kept, messages came once, and an `except` took a refusal for an error.
"""

# ruff: noqa: E501  (programs as text read best with a statement on a line)
from __future__ import annotations

import re
import warnings
from typing import Any

import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.stories import alike, module, noted, numbers, same, told
from wengert.errors import TracingError

# ---- refusals that are caught --------------------------------------------------------------------

CAUGHT = {
    "by a class of errors": "try: y = x * 2 if x.sum() > 0 else x * 3\n    except Exception: y = x\n    return y",
    "by all": "try: y = x * 2 if x.sum() > 0 else x * 3\n    except: y = x\n    return y",
    "by finally": "try: y = x * 2 if x.sum() > 0 else x * 3\n    finally: return x",
    "by a manager of Python": "with contextlib.suppress(Exception): return x * 2 if x.sum() > 0 else x * 3\n    return x",
    "by a manager of one's own": "with M(): return x * 2 if x.sum() > 0 else x * 3\n    return x",
    "of an index": "try: y = x * [1, 2, 3][int(x[0].item())]\n    except Exception: y = x\n    return y",
    "of a variable": "try: V.set(3)\n    except Exception: pass\n    return x",
}  # fmt: skip
AROUND = """
import contextlib, contextvars
V = contextvars.ContextVar('V')
class M:
    def __enter__(self): return self
    def __exit__(self, *error): return True
"""


@pytest.mark.parametrize("body", CAUGHT.values(), ids=CAUGHT)
def test_a_refusal_that_is_caught_is_one_all_the_same(body: str) -> None:
    # What the handler did became the program: a branch on a number took the way of an error.
    m = module(f"{AROUND}\ndef f(x):\n    {body}")
    with pytest.raises(TracingError, match=r"line \d+, in f:\n"):
        wg.compile(m.f)(numbers(1, 2))


def test_a_number_that_decides_within_try_is_guarded() -> None:
    m = "k = 1\ndef f(x):\n    global k\n    k += 1\n    try: y = x * 2 if k > 3 else x * 3\n    except Exception: y = x\n    return y"
    same_for_each_call(m, "pass", "k")


def test_a_refusal_that_the_function_makes_its_own_error_runs_eagerly() -> None:
    m = module(
        "def f(x):\n    try:\n        if x.sum() > 9: return x\n    except Exception as error:\n"
        "        raise ValueError('no') from error\n    return x * 2"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert wg.compile(m.f)(numbers(1, 2)).tolist() == [2.0, 4.0]


# ---- texts ---------------------------------------------------------------------------------------

TEXTS = {
    "repr": "out.append(repr(x * 2))",
    "str": "out.append(str(x))",
    "format": "out.append(format(x.sum()))",
    "an f-string": "out.append(f'{x.sum()}')",
    "an f-string's repr": "out.append(f'{x!r}')",
    "percent": "out.append('%s' % x.sum())",
    "a method": "out.append('{}'.format(x))",
    "a text of a list": "out.append(str([x]))",
    "a text of what is outside": "out.append(str(w))",
    "of an object of the library": "out.append(repr(types.SimpleNamespace(a=x)))",
    "wrapped": "out.append(textwrap.fill(str(x)))",
    "an attribute": "o.text = repr(x)",
    "a global": "global T; T = str(x)",
    "a key": "out.append({str(x): 1})",
    "a length": "x = x * len(str(x))",
    "a branch": "x = x * 2 if '2' in str(x) else x",
    "of an error that is caught": "\n    try: raise ValueError(f'{x}')\n    except ValueError as e: out.append(e.args[0])",
    "a warning": "warnings.warn(f'{x}')",
    "a message of a text": "print(f'{x}')",
    "NumPy's": "out.append(np.array2string(x.numpy()))",
}  # fmt: skip


@pytest.mark.parametrize("body", TEXTS.values(), ids=TEXTS)
def test_a_text_of_what_is_computed_is_refused_with_the_line(body: str) -> None:
    m = module(
        "import textwrap, types, warnings\nout, o, w = [], types.SimpleNamespace(), wg.ones(2)\n"
        f"def f(x):\n    {body}\n    return x"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(TracingError, match=r"line \d+, in f:\n"):
            wg.compile(m.f)(numbers(1, 2))
    assert m.out == []


def test_a_text_of_what_is_computed_may_be_an_error_s() -> None:
    m = module("def f(x):\n    raise ValueError(f'{x}')")
    with pytest.raises(ValueError, match=r"tensor\(\[1., 2.\]\)"):
        wg.compile(m.f)(numbers(1, 2))


# ---- messages ------------------------------------------------------------------------------------

LOGGED = "import io, logging\nb = io.StringIO()\nL = logging.Logger('L', 10)\nH = logging.StreamHandler(b)\nL.addHandler(H)"
MESSAGES = {
    "of a tensor": ("", "print(x, x.sum())", "pass"),
    "of numbers": ("k = 1", "print('step', k, x.sum().item(), sep=', ')", "k += 1"),
    "of structures": ("", "print([x, {'a': x * 2}], (x.shape, x.dtype), end='')", "pass"),
    "of a text": ("", "print('hello')", "pass"),
    "of what is written before": ("", "x = x * 2\n    x.add_(1)\n    print(x)", "pass"),
    "of a parameter": ("w = wg.nn.Parameter(wg.ones(2))", "print(w)\n    x = x * w", "w.data.mul_(3)"),
    "within try": ("", "try: print(x)\n    except ValueError: pass", "pass"),
    "under no_grad": ("", "with wg.no_grad(): print(x)", "pass"),
    "of a branch": ("k = 1", "if k > 2: print(k, x)\n    else: print('no')", "k += 1"),
    "in a loop": ("", "for k in range(9):\n        x = x * 1.5\n        print(k, x)", "pass"),
    "to a stream": ("import io\nb = io.StringIO()", "print(x, file=b)", "print('between', file=b)"),
    "to a stream by itself": ("import io\nb = io.StringIO()", "b.write('abc')", "pass"),
    "to the system's stream": ("import sys", "sys.stdout.write('abc')", "pass"),
    "to a log": (LOGGED, "L.info('%s %s', x, x.sum().item())", "pass"),
    "to a log of texts": (LOGGED, "L.info('a'); L.info('b')", "pass"),
    "to a log that counts": (LOGGED + "\nk = 1", "L.info('%s', k)", "k += 1"),
    "to a log of another level": (LOGGED, "L.info('%s', x)", "L.setLevel(30 - L.level)"),
    "to a log of lines": (LOGGED + "\nH.setFormatter(logging.Formatter('%(funcName)s %(lineno)d %(filename)s %(message)s'))", "L.info('%s', x)", "pass"),
}  # fmt: skip


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_is_given_at_each_call(name: str, capsys: Any) -> None:
    # It came once, from the trace, and told of no numbers.
    setup, body, change = MESSAGES[name]
    read = "b.getvalue()" if "b =" in setup else "0"
    same_for_each_call(f"{setup}\ndef f(x):\n    {body}\n    return x * 2", change, read, capsys)


def same_for_each_call(program: str, change: str, read: str, capsys: Any = None) -> None:
    def story(compile: Any) -> Any:
        m = module(program)
        f, seen = compile(m.f), []
        for k in range(5):
            seen.append(noted(f(numbers(1 + k, 2))))
            seen.append(noted(eval(read, vars(m))))  # noqa: S307
            exec(change, vars(m))  # noqa: S102
        seen.append(capsys.readouterr().out if capsys else "")
        return with_files_alike(seen)

    alike(told(story, wg.compile), told(story, lambda f: f), 1e-5, program)


def with_files_alike(seen: list[Any]) -> list[Any]:
    """Each story has a module of its own, with a number in its name."""
    return [re.sub(r"users_module_\d+", "module", x) if type(x) is str else x for x in seen]


@pytest.mark.parametrize("told", ["w", "[w]", "x", "y"])
def test_a_message_of_what_is_written_afterwards_is_refused(told: str) -> None:
    m = module(
        f"w = wg.ones(2)\ndef f(x):\n    y = x * 2\n    print({told})\n"
        "    for t in (w, x, y): t.add_(1)\n    return y"
    )
    with pytest.raises(TracingError, match=r"written afterwards.*\n.*line \d+, in f:\n"):
        wg.compile(m.f)(numbers(1, 2))


def test_a_message_beside_a_derivative_costs_none_of_it() -> None:
    w = wg.tensor([1.0, 2.0], requires_grad=True)

    def f(x: Any) -> Any:
        y = x * w
        print(y)
        return (y * y).sum()

    compiled = wg.compile(f)
    for _ in range(3):
        w.grad = None
        compiled(numbers(1, 2)).backward()
        assert w.grad.tolist() == [2.0, 16.0]


# ---- what is given to a library ------------------------------------------------------------------

GIVEN = {
    "in a dictionary made inside": ("import json\nk, out = [1], []", "out.append(json.dumps({'a': k}))", "k.append(2)"),
    "to draw from": ("import random\nk, out = [1.0, 2.0, 3.0], []", "out.append(random.choice(k))", "k[:] = [x * 2 for x in k]"),
}  # fmt: skip


@pytest.mark.parametrize("name", GIVEN)
def test_a_container_that_a_library_is_given_is_looked_into(name: str) -> None:
    # Neither containers within those made inside nor what was drawn from were.
    setup, body, change = GIVEN[name]
    same_for_each_call(f"{setup}\ndef f(x):\n    {body}\n    return x", change, "out")


DUMPED = {
    "in a dictionary": "json.dump({'a': float(x.sum()), 'b': [x.sum().item(), 1]}, out)",
    "in a list of tuples": "json.dump([(float(x.sum()), 'b'), (1, x.mean().item())], out)",
}


@pytest.mark.parametrize("body", DUMPED.values(), ids=DUMPED)
def test_computed_numbers_within_containers_are_written_once(body: str) -> None:
    # The trace carried the statement out, up to where the library met a number it did not know,
    # and what it had written until then stayed when the call was made eagerly.
    program = f"import io, json\nout = io.StringIO()\ndef f(x):\n    {body}\n    return x"
    same_for_each_call(program, "", "out.getvalue()")


KEPT = {
    "in a function": "out.append(lambda: x)",
    "in an error": "out.append(ValueError(x.sum()))",
    "to its depth": "out.append(types.SimpleNamespace(a=types.SimpleNamespace(b=(x * 2,))))",
}  # fmt: skip


@pytest.mark.parametrize("body", KEPT.values(), ids=KEPT)
def test_objects_that_keep_what_is_computed_are_made_at_each_call(body: str) -> None:
    # All calls shared the first one's object, which got the numbers of the last; then they were
    # refused.
    program = f"import types\nout = []\nk = 2.0\ndef f(x):\n    {body}\n    return x"

    def seen(item: Any) -> Any:
        while not isinstance(item, wg.Tensor):
            item = (
                item() if callable(item) else item.args[0] if hasattr(item, "args") else item.a.b[0]
            )
        return noted(item)

    def story(compile: Any) -> Any:
        m = module(program)
        f = compile(m.f)
        for n in range(5):
            f(numbers(1, n))
            m.k = n
        return [*map(seen, m.out), len(set(map(id, m.out)))]

    same(story)


def test_what_a_library_calls_at_the_end_of_a_with_statement_changes_nothing_outside() -> None:
    m = module(
        "import contextlib\nout = []\ndef f(x):\n"
        "    with contextlib.ExitStack() as stack: stack.callback(out.append, x.sum())\n    return x"
    )
    with pytest.raises(TracingError, match="changes what a list holds"):
        wg.compile(m.f)(numbers(1, 2))
    assert m.out == []
