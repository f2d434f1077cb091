"""The command, used as newcomers use it: with mistakes."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import numpy as np
import pytest

from wengert import cli
from wengert.cli import commands, doctor
from wengert.symbolic.expressions import FUNCTIONS, Expression, ExpressionError

LECTURE = "log(x1) + x1*x2 - sin(x2)"


@pytest.fixture
def run(capsys):
    def run(*words):
        status = cli.main(words)
        out, err = capsys.readouterr()
        return status, out, err

    return run


def test_trace_prints_the_lectures_traces(run):
    status, out, err = run("trace", LECTURE, "x1=2", "x2=5")
    assert (status, err) == (0, "")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "Forward primal trace Forward tangent trace, ∂/∂x1" in lines
    assert "v₃ = sin v₀ = sin 5 = -0.959 v̇₃ = v̇₀ × cos v₀ = 0 × cos 5 = 0" in lines
    assert "y = v₅ = 11.652 ẏ = v̇₅ = 5.5" in lines
    assert "v̄₀ = v̄₀ + v̄₂ ∂v₂/∂v₀ = v̄₀ + v̄₂ × v₋₁ = -0.284 + 1 × 2 = 1.716" in lines
    assert lines[-1] == "∂y/∂x1 = 5.5, ∂y/∂x2 = 1.716"


def test_trace_takes_another_seed_more_digits_and_several_results(run):
    assert "ẏ   = v̇₅" in run("trace", LECTURE, "x1=2", "x2=5", "--wrt", "x2")[1]
    assert "1.71634" in run("trace", LECTURE, "x1=2", "x2=5", "--digits=5")[1]
    assert "∂f₂/∂x = 1, ∂f₂/∂y = 1" in run("trace", "x*y, x+y", "x=2", "y=3", "--of", "2")[1]


def test_trace_prints_markdown_and_ascii(run):
    assert (
        "| v₁ = ln v₋₁ | = ln 2 | = 0.693 |"
        in run("trace", LECTURE, "x1=2", "x2=5", "--markdown")[1]
    )
    assert run("trace", LECTURE, "x1=2", "x2=5", "--ascii")[1].isascii()


def test_values_come_in_the_order_given_and_may_be_computed(run):
    assert "f(b, a)" in run("trace", "a - b", "b=-pi/2", "a=1e-3")[1]


def test_a_formula_may_begin_with_a_minus(run):
    assert run("trace", "-x", "x=-2")[1].rstrip().endswith("∂y/∂x = -1")


def test_division_by_zero_and_logarithms_of_negative_numbers_are_values(run):
    assert run("trace", "1/x", "x=0")[1].rstrip().endswith("∂y/∂x = -inf")
    assert "= nan" in run("trace", "log(x)", "x=-1")[1]


@pytest.mark.parametrize(
    ("formula", "values", "says"),
    [
        ("x1 + log(x2*x1)", ("x1=2", "x2=-1"), "log(-2) is not a real number, and so with all"),
        ("x1 + log(x2*x1)", ("x1=2", "x2=-1"), "\n  x1 + log(x2*x1)\n       ^\n"),
        ("1 + 1/x", ("x=0",), "1 / 0 is infinite, and so with all that depends on it"),
        ("(0-x)**0.5, x", ("x=1",), "(-1) ** 0.5 is not a real number"),
        ("sqrt(x)", ("x=0",), ""),
    ],
)  # fmt: skip
def test_a_value_outside_a_domain_is_pointed_at_beside_the_traces(run, formula, values, says):
    status, out, err = run("trace", formula, *values)
    assert status == 0
    assert "∂" in out.splitlines()[-1]
    assert says in err if says else not err


def test_a_page_without_a_name_is_opened(run, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    for words in (["--html", "x*y", "x=2", "y=3"], ["x*y", "--html", "x=2", "y=3"]):
        status, out, _ = run("trace", *words)
        assert status == 0
        assert "opened" in out
    pages = [Path(url2pathname(urlsplit(address).path)) for address in opened]
    assert [page.read_text(encoding="utf-8")[:9] for page in pages] == ["<!DOCTYPE"] * 2


@pytest.mark.parametrize("option", ["--html", "--svg"])
def test_a_page_or_picture_that_cannot_be_written_is_said(run, tmp_path, option):
    status, _, err = run("trace", "x", "x=1", option, str(tmp_path))
    assert (status, err) == (
        2, f"wengert: {option} {tmp_path}: is a folder: name a file in it\n"
    )  # fmt: skip


def test_a_picture_that_fills_itself_is_written_on_request(run, tmp_path):
    status, out, _ = run("trace", LECTURE, "x1=2", "x2=5", "--svg", str(tmp_path / "f.svg"))
    assert status == 0
    assert out.splitlines()[-1] == f"wrote {tmp_path / 'f.svg'}: open it in a browser, and watch"
    assert (tmp_path / "f.svg").read_text(encoding="utf-8").startswith("<svg")


MISTAKES = [
    (["trace", "sni(x)", "x=1"], "unknown function sni; did you mean sin?\n  sni(x)\n  ^"),
    (["trace", "f(x)", "x=1"], "unknown function f (to multiply, write f*(...))"),
    (["trace", LECTURE, "x1=2"], "no value for the variable x2: add x2=..., for example x2=2"),
    (
        ["trace", "x", "X=2"],
        "X is not a variable of the formula: its variables are x; did you mean x?",
    ),
    (["trace", "x", "x=1", "z=2"], "z is not a variable of the formula: its variables are x"),
    (["trace", "x", "x=1", "x=2"], "x is given twice"),
    (["trace", "x", "x="], "x= lacks a number"),
    (["trace", "x", "x=abc"], "the value of x must be one number, not abc"),
    (["trace", "x", "x=1+"], "the value of x: the formula ends too early"),
    (["trace", "x", "x", "=", "2"], "not of the form NAME=VALUE, like x=2, without spaces"),
    (["trace", "x", "2=x"], "'2' is not a variable's name"),
    (["trace", "x=2", "x*x"], "the formula comes first"),
    (["trace", "3"], "no variable in 3"),
    (["trace", "", "x=1"], "the formula is empty"),
    (["trace", "x^2", "x=1"], "^ is not a power here: write **, as in x**2\n  x^2\n   ^"),
    (["trace", "2x", "x=1"], "to multiply, write *"),
    (["trace", "x1 x2", "x1=1", "x2=1"], "to multiply, write *"),
    (
        ["trace", "sin(x)cos(x)", "x=1"],
        "to multiply, write *: 2*x, not 2x\n  sin(x)cos(x)\n        ^",
    ),
    (["trace", "sin x", "x=1"], "a function's argument goes in parentheses"),
    (["trace", "sin", "x=1"], "sin is a function: write sin(a)"),
    (["trace", "sin(x", "x=1"], "this parenthesis is never closed\n  sin(x\n     ^"),
    (["trace", "x)", "x=1"], "this parenthesis was never opened"),
    (["trace", "x +", "x=1"], "the formula ends too early\n  x +\n     ^"),
    (["trace", "atan2(x)", "x=1"], "atan2 takes 2 arguments, got 1"),
    (["trace", "np.sin(x)", "x=1"], "write sin(...), with nothing before it"),
    (["trace", "x", "x=1", "--wrt", "z"], "--wrt z: the variables are x"),
    (["trace", "x", "x=1", "--of", "2"], "--of 2: choose from 1 to 1"),
    (["trace", "x", "x=1", "--digits", "99"], "--digits 99: choose from 0 to 17"),
    (["trace", "x"], "no value for the variable x"),
    (["trace"], "required: FORMULA"),
    (["tarce", "x", "x=1"], "invalid choice: 'tarce'"),
    (["demo", "--epochs", "0"], "--epochs 0: at least 1"),
    (["demo", "--epochs", "many"], "invalid int value: 'many'"),
    (["run", "--nproc", "2", "nosuch.py"], "there is no script nosuch.py"),
    (["run", "--nproc", "2", "tests"], "tests is a folder without __main__.py: name a script"),
    (["run", "-m", "nosuch"], "there is no module nosuch"),
    (["run", "-m", "json.nosuch"], "there is no module json.nosuch"),
    (["run", "-m", "json"], "json is a package without __main__.py"),
    (["run", "-m", "tests/test_cli.py"], "is a script: leave out -m"),
    (["run", "--hosts", "a:b", "x.py"], "--hosts a:b: write for example"),
]


@pytest.mark.parametrize(
    ("words", "message"), MISTAKES, ids=lambda p: " ".join(p) if isinstance(p, list) else ""
)
def test_mistakes_are_explained_on_stderr_with_status_2(run, words, message):
    status, out, err = run(*words)
    assert (status, out) == (2, "")
    assert message in err


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "().__class__",
        "x.real",
        "x[0]",
        "[x for x in (1, 2)]",
        "(lambda: 1)()",
        "(y := 2)",
        "f'{x}'",
        "x if x else 1",
        "x < 1",
        "x and 1",
        "'a' * 9",
        "1j * x",
        "True + x",
        "sin(*x)",
        "sin(x=1)",
        "(x, 1) + x",
        "await x",
        "x; x",
        "x % 2",
        "...",
        "{}",
        "x\0",
    ],
)
def test_what_is_not_arithmetic_is_refused(text):
    with pytest.raises(ExpressionError):
        Expression(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(" * 300 + "x" + ")" * 300, "parentheses"),
        ("-" * 300 + "x", "nested"),
        ("x" + "+x" * 300, "nested more than 200"),
        ("x*2," * 450, "more than 1000 parts"),
        ("x+" * 3000 + "x", "at most 2000"),
    ],
)
def test_large_formulas_are_refused_quickly(text, message):
    with pytest.raises(ExpressionError, match=message):
        Expression(text)


def test_large_numbers_are_floats_and_never_hang():
    assert Expression("9**9**9**9")() == np.inf
    assert Expression("9" * 400 + "* x")(1.0) == np.inf


@pytest.mark.parametrize(
    ("text", "value"),
    [("2*x - 3", 1), ("-x**2", -4), ("(-x)**2", 4), ("x**-1", 0.5), ("+x", 2), ("2**3**x", 512)],
)
def test_operators_bind_as_in_python(text, value):
    assert Expression(text)(2.0) == value


def test_constants_have_names_unless_a_variable_takes_them():
    assert Expression("2*pi")() == pytest.approx(2 * np.pi)
    assert Expression("e*x", ["e", "x"])(2.0, 3.0) == 6


def test_signs_from_textbooks_are_understood():
    assert Expression("3 × x − 1 ÷ 2")(2.0) == 5.5


def test_the_table_of_functions_states_how_many_arguments_each_takes():
    for name, (count, function) in FUNCTIONS.items():
        assert np.isfinite(function(*[np.float64(0.5 + (function is np.arccosh))] * count)), name


def test_help_and_version_are_printed_with_status_0(run):
    assert "NAME=VALUE" in run("trace", "--help")[1]
    assert run("--version")[1].startswith("wengert ")
    status, out, _ = run()
    assert (status, "trace" in out, "demo" in out) == (0, True, True)


def test_an_interruption_prints_one_line_and_ends_with_130(run, monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "_values", interrupted)
    assert run("trace", "x", "x=1") == (130, "", "\nwengert: interrupted\n")


def shell(*words, **variables):
    command = [sys.executable, "-m", "wengert", *words]
    environment = {**os.environ, **variables}
    return subprocess.run(command, capture_output=True, env=environment, check=False)


def test_a_stdout_that_knows_only_ascii_gets_ascii():
    done = shell("trace", "x*sqrt(x)", "x=2", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"bar(v_0) = bar(v_0) + bar(v_1) dv_1/dv_0" in done.stdout


def test_a_reader_who_leaves_early_causes_no_traceback():
    command = f'"{sys.executable}" -m wengert trace "{LECTURE}" x1=2 x2=5 | true'
    done = subprocess.run(command, shell=True, capture_output=True, check=False)
    assert done.stderr == b""


# ---- doctor --------------------------------------------------------------------------------


@pytest.fixture
def timed(monkeypatch):
    """Let things take so many times what is expected."""

    def let(factor):
        expected = iter([t.expected for t in doctor.TIMINGS])

        def measured(function):
            function()
            return factor * next(expected)

        monkeypatch.setattr(doctor, "measured", measured)

    return let


def test_the_doctor_tells_of_versions_machine_and_speed(run, timed):
    timed(1.5)
    status, out, err = run("doctor")
    assert (status, err) == (0, "")
    for words in ("Versions", np.__version__, "bits a vector", "cache", "expected 1.1 µs"):
        assert words in out
    assert out.endswith("All is well.\n")


def test_the_doctor_says_what_is_slow_and_the_status_tells(run, timed):
    timed(10)
    status, out, _ = run("doctor")
    assert status == 1
    assert "! compiled: a training step of 65 parameters: slow. The native entry" in out


def test_the_doctor_goes_on_when_something_fails(run, timed, monkeypatch):
    def broken():
        raise OSError("no such library")

    timed(1)
    first, *others = doctor.TIMINGS
    monkeypatch.setattr(doctor, "TIMINGS", (replace(first, make=broken), *others))
    monkeypatch.setattr(doctor, "measured", lambda function: 0.0)
    status, out, _ = run("doctor")
    assert status == 1
    assert "! NumPy: a product of 512 × 512 matrices: OSError: no such library" in out


def test_the_doctor_tells_of_packages_that_are_missing_and_of_no_cache(run, timed, monkeypatch):
    timed(1)
    monkeypatch.setenv("WENGERT_CACHE", "")
    needed = ["numpy>=2", "no-such>=1; extra == 'all'", "no-such>=1; extra == 'fast'"]
    monkeypatch.setattr(doctor.metadata, "requires", lambda name: needed)
    out = run("doctor")[1]
    assert "no-such     missing; pip install 'wengert[fast]' brings it" in out
    assert "none: WENGERT_CACHE is empty" in out


@pytest.mark.parametrize("word", ["--nproc-per-node", "--nproc_per_node=2", "--nprocs"])
def test_a_command_names_its_option_that_is_nearest_to_an_unknown_one(word, capsys):
    # It was the whole program that did not know it, whose help has no options of `run`.
    assert cli.main(["run", word, "script.py"]) == 2
    said = capsys.readouterr().err
    assert f"wengert run: unrecognized arguments: {word} (did you mean --nproc?)" in said
    assert "See wengert run --help." in said
