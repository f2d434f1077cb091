"""The command `wengert`: textbook traces of a formula, and a demonstration.

    wengert trace "log(x1) + x1*x2 - sin(x2)" x1=2 x2=5
    wengert demo
    wengert run --nproc 4 train.py

It ends with 0 if all went well, 1 if the work failed, 2 if the command was not understood, and 130
if it was interrupted.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from wengert.cli import run as launcher
from wengert.cli.usage import UsageError
from wengert.symbolic.expressions import CONSTANTS, Expression, ExpressionError

OK, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130
EXAMPLE = 'wengert trace "log(x1) + x1*x2 - sin(x2)" x1=2 x2=5'


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with these words (those of the shell, if None) and return its exit status."""
    words = _with_page(_with_leading_minus(list(sys.argv[1:] if argv is None else argv)))
    try:
        options = _parser().parse_args(words)
        status: int = options.run(options)
        sys.stdout.flush()
        return status
    except SystemExit as ended:  # argparse has printed its message
        return ended.code if isinstance(ended.code, int) else USAGE
    except UsageError as error:
        print(f"wengert: {_printable(str(error), sys.stderr)}", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        print("\nwengert: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has left (`wengert trace ... | head`). Python would complain
        # when it flushes stdout at exit, so there must be nothing left to flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as error:
        print(f"wengert: {_printable(str(error), sys.stderr)}", file=sys.stderr)
        return FAILED


def _with_leading_minus(words: list[str]) -> list[str]:
    """Let a formula begin with a minus: argparse takes `-x` for an option, but not ` -x`."""
    if words[:1] != ["trace"]:
        return words
    return [
        f" {word}" if word.startswith("-") and not word.startswith("--") and word != "-h" else word
        for word in words
    ]


def _with_page(words: list[str]) -> list[str]:
    """Let a formula or a value follow --html: only what can be a page's name is taken for one.

    >>> _with_page(["trace", "--html", "x*y", "x=1"])
    ['trace', 'x*y', 'x=1', '--html=']
    """
    if words[:1] != ["trace"] or "--html" not in words:
        return words
    k = words.index("--html")
    name = "".join(words[k + 1 : k + 2])
    given = not words[1].startswith("-")  # the formula, before the options
    free = given and name and "=" not in name and not name.startswith("-")
    if free or name.lower().endswith((".html", ".htm")):
        return words
    return [*words[:k], *words[k + 1 :], "--html="]


class _Parser(argparse.ArgumentParser):
    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """A command says itself what it does not know: its help has its options."""
        options, unknown = super().parse_known_args(args, namespace)
        if unknown and self._subparsers is None:
            name, known = unknown[0].partition("=")[0], self._option_string_actions
            near = difflib.get_close_matches(name, known, 1)
            hint = f" (did you mean {near[0]}?)" if near else ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return options, unknown

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        print(f"{self.prog}: {message}\nSee {self.prog} --help.", file=sys.stderr)
        raise SystemExit(USAGE)


class _Version(argparse.Action):
    """--version; the installation is asked only when someone wants to know."""

    def __call__(self, parser: argparse.ArgumentParser, *rest: Any) -> None:
        import numpy

        python = ".".join(map(str, sys.version_info[:3]))
        print(f"wengert {version()} (NumPy {numpy.__version__}, Python {python})")
        parser.exit()


def version() -> str:
    """The version of the installed package, or that of a checkout that was never installed."""
    from importlib import metadata

    import wengert

    try:
        return getattr(wengert, "__version__", None) or metadata.version("wengert")
    except metadata.PackageNotFoundError:
        return "(not installed)"


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="wengert",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Automatic differentiation for Python.",
        epilog=f"examples:\n  {EXAMPLE}\n  wengert demo --out pictures",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    parser.set_defaults(run=lambda _: _help(parser))
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for add_command in (_add_trace, _add_demo, _add_doctor, launcher.add_command):
        add_command(commands)
    return parser


def _add_trace(commands: Any) -> None:
    trace = commands.add_parser(
        "trace",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        help="differentiate a formula step by step, as a textbook does",
        description=(
            "Print the traces of a formula at a point: the forward primal trace, the forward\n"
            "tangent trace beside it, and the reverse adjoint trace."
        ),
        epilog=_about_formulas(),
    )
    trace.add_argument("formula", metavar="FORMULA", help="in quotation marks, e.g. 'x*y + sin(x)'")
    trace.add_argument(
        "values", metavar="NAME=VALUE", nargs="*", help="each variable's value, e.g. x=2"
    )
    trace.add_argument("--wrt", metavar="NAME", help="the variable whose tangent is 1 (the first)")
    trace.add_argument(
        "--of",
        metavar="N",
        type=int,
        default=1,
        help="which of several results to go back from (1)",
    )
    trace.add_argument("--digits", metavar="N", type=int, default=3, help="decimals to show (3)")
    trace.add_argument("--markdown", action="store_true", help="print Markdown tables")
    trace.add_argument("--latex", action="store_true", help="print LaTeX")
    trace.add_argument(
        "--html",
        metavar="FILE.html",
        nargs="?",
        const="",
        help="write a page to step through; without a name, open it in the browser",
    )
    trace.add_argument(
        "--svg", metavar="FILE", help="write a picture that fills itself, instead of printing"
    )
    trace.add_argument("--ascii", action="store_true", help="use no letters or signs beyond ASCII")
    trace.set_defaults(run=_trace)


def _add_demo(commands: Any) -> None:
    demo = commands.add_parser(
        "demo",
        help="train a small network on handwritten digits and draw what happened",
        description=(
            "Train a small network on 1,797 handwritten digits, check one of its gradients against "
            "finite differences, and write a picture and a checkpoint."
        ),
    )
    demo.add_argument(
        "--out", metavar="DIR", default="wengert-demo", help="where to write (wengert-demo)"
    )
    demo.add_argument("--epochs", metavar="N", type=int, default=30, help="rounds of training (30)")
    demo.add_argument(
        "--seed",
        metavar="N",
        type=int,
        default=0,
        help="of the first parameters and the order of training (0)",
    )
    demo.add_argument(
        "--compile",
        action="store_true",
        help="train with the compiled step, and compare it with the eager one",
    )
    demo.set_defaults(run=_demo)


def _add_doctor(commands: Any) -> None:
    doctor = commands.add_parser(
        "doctor",
        help="tell what is installed, what is missing, and whether it runs as fast as it should",
        description=(
            "Tell the versions, the BLAS, the width of the processor's vectors, the cache of "
            "machine code and which optional packages are missing; then time four things, which "
            "takes some seconds. The status is 1 if something fails or takes far too long."
        ),
    )
    doctor.set_defaults(run=_doctor)


def _help(parser: argparse.ArgumentParser) -> int:
    parser.print_help()
    return OK


def _about_formulas() -> str:
    from textwrap import fill

    from wengert.symbolic.expressions import FUNCTIONS

    names = fill(", ".join(FUNCTIONS), 78, initial_indent="  ", subsequent_indent="  ")
    return (
        f"example:\n  {EXAMPLE}\n\n"
        f"A formula has numbers, variables, + - * / **, parentheses, pi, e, and\n{names}.\n"
        "Several formulas separated by commas are one function with several results."
    )


# ---- trace ---------------------------------------------------------------------------------


def _trace(options: argparse.Namespace) -> int:
    from wengert.explain import explain

    if re.match(r"\s*\w+\s*=[^=]", options.formula):
        raise UsageError(f"the formula comes first, then the values: {EXAMPLE}")
    values = _values(options.values)
    if not 0 <= options.digits <= 17:
        raise UsageError(f"--digits {options.digits}: choose from 0 to 17")
    formula = _formula(options.formula, values)
    wrt = formula.variables[0] if options.wrt is None else options.wrt
    if wrt not in formula.variables:
        raise UsageError(f"--wrt {wrt}: the variables are {', '.join(formula.variables)}")
    if not 1 <= options.of <= formula.results:
        raise UsageError(f"--of {options.of}: choose from 1 to {formula.results}")
    e = explain(formula, *values.values(), wrt=wrt, of=options.of - 1, digits=options.digits)
    status = _show(e, options)
    if trouble := formula.trouble(*values.values()):
        sys.stdout.flush()
        print(f"wengert: {_printable(trouble, sys.stderr)}", file=sys.stderr)
    return status


def _show(e: Any, options: argparse.Namespace) -> int:
    if options.html == "":
        return _opened(e)
    if options.html is not None:
        return _written(e, "--html", options.html, e.page(), "and press Next")
    if options.svg is not None:
        return _written(e, "--svg", options.svg, e.animation(), "and watch")
    if options.latex:
        print(e.latex())
        return OK
    ascii = options.ascii or not _can_print(str(e), sys.stdout)
    if options.markdown:
        print(e.markdown(ascii=ascii))
    elif sys.stdout.isatty() and not ascii:
        from rich.console import Console

        Console().print(e.rich())
    else:
        print(e.text(ascii=ascii))
    return OK


def _opened(e: Any) -> int:
    import tempfile
    import webbrowser
    from pathlib import Path

    from wengert.history.files import whole

    name = Path(tempfile.mkdtemp(prefix="wengert-")) / "trace.html"
    with whole(name) as part:
        part.write_text(e.page(), encoding="utf-8")
    there = webbrowser.open(name.as_uri())
    print(f"{e.summary()}\n{'opened' if there else 'no browser was found; wrote'} {name}")
    return OK


def _written(e: Any, option: str, name: str, text: str, then: str) -> int:
    from pathlib import Path

    from wengert.history.files import whole

    try:
        with whole(Path(name)) as part:
            part.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{option} {name}: {error.strerror or error}") from None
    print(f"{e.summary()}\nwrote {name}: open it in a browser, {then}")
    return OK


def _formula(text: str, values: dict[str, float]) -> Expression:
    try:
        free = Expression(text)
    except ExpressionError as error:
        raise UsageError(str(error)) from None
    if not free.variables and not values:
        raise UsageError(f"there is no variable in {text.strip()}, so nothing to differentiate by")
    unused = [name for name in values if name not in {*free.variables, *CONSTANTS}]
    if unused:
        lower = {name.lower(): name for name in free.variables}
        near = difflib.get_close_matches(unused[0].lower(), lower, n=1)
        hint = f"; did you mean {lower[near[0]]}?" if near else ""
        known = (
            f"its variables are {', '.join(free.variables)}" if free.variables else "it has none"
        )
        raise UsageError(f"{unused[0]} is not a variable of the formula: {known}{hint}")
    try:
        return Expression(text, values)
    except ExpressionError as error:
        raise UsageError(str(error)) from None


def _values(words: list[str]) -> dict[str, float]:
    """The variables' values: x=2, also x=-pi/2."""
    values: dict[str, float] = {}
    for word in words:
        name, equals, text = (part.strip() for part in word.partition("="))
        if not equals:
            raise UsageError(
                f"{word.strip()} is not of the form NAME=VALUE, like x=2, without spaces. "
                f"If it belongs to the formula, put the formula in quotation marks:\n  {EXAMPLE}"
            )
        if not name.isidentifier():
            raise UsageError(f"{name!r} is not a variable's name; write for example x=2")
        if name in values:
            raise UsageError(f"{name} is given twice")
        values[name] = _value(name, text)
    return values


def _value(name: str, text: str) -> float:
    if not text:
        raise UsageError(f"{name}= lacks a number; write for example {name}=2")
    try:
        constant = Expression(text)
    except ExpressionError as error:
        raise UsageError(f"the value of {name}: {error}") from None
    if constant.variables or constant.results != 1:
        raise UsageError(f"the value of {name} must be one number, not {text}")
    return float(constant())


def _can_print(text: str, stream: Any) -> bool:
    try:
        text.encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _printable(text: str, stream: Any) -> str:
    encoding = getattr(stream, "encoding", None) or "ascii"
    return text.encode(encoding, "replace").decode(encoding)


# ---- demo ----------------------------------------------------------------------------------


def _demo(options: argparse.Namespace) -> int:
    if options.epochs < 1:
        raise UsageError(f"--epochs {options.epochs}: at least 1 is needed")
    from wengert.cli.demo import run

    return run(options.out, epochs=options.epochs, seed=options.seed, compiled=options.compile)


# ---- doctor --------------------------------------------------------------------------------


def _doctor(options: argparse.Namespace) -> int:
    from wengert.cli.doctor import run

    well = run(lambda line: print(_printable(line, sys.stdout)))
    return OK if well else FAILED
