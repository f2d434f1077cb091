"""GradBench's problems beside derivatives by hand and differences, and what the protocol says.

Times are not tested. The problems run uncompiled on small inputs, but for the sweep that compiles
all of them.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import by_hand
from benchmarks.gradbench import (
    NAMES,
    ba,
    data,
    gmm,
    ht,
    in_c,
    kmeans,
    llsq,
    lstm,
    named,
    ode,
    table,
)
from benchmarks.gradbench.data import DataError
from benchmarks.gradbench.problem import InputError
from benchmarks.gradbench.protocol import answer, serve
from benchmarks.gradbench.table import check, parts

FOLDER = Path(__file__).resolve().parents[1]
needs_a_compiler = pytest.mark.skipif(by_hand.find_compiler() is None, reason="no C compiler")

HAND = data.made_up_hand(6, 20)
HAND["data"]["correspondences"] %= 20


def given(name):
    """A small input, as a message would hold it."""
    draw = np.random.default_rng(0)
    sized = lambda workload: dict(workload.fields())
    return {
        "hello": {"x": 3.0},
        "gmm": sized(gmm.workload(3, 2, 7)),
        "ba": data.made_up_bundle(2, 3, 7),
        "ht": HAND,
        "lstm": sized(lstm.workload(2, 5, b=3)),
        "lse": {"x": draw.normal(size=9)},
        "kmeans": sized(kmeans.workload(3, 40, 2)),
        "det": {"A": draw.uniform(size=16), "ell": 4},
        "llsq": sized(llsq.workload(9, 4)),
        "ode": sized(ode.workload(6, 3)),
        "particle": {"w": 0.0},
        "saddle": {"start": [1.0, 1.0]},
    }[name]


def uncompiled(function):
    return getattr(function, "function", function)


# ---- derivatives ------------------------------------------------------------------------------

SMALL = [name for name in NAMES if name not in ("hello", "particle", "saddle")]


@needs_a_compiler
@pytest.mark.parametrize("name", SMALL)
def test_values_and_derivatives_are_those_written_by_hand(name):
    arguments = named(name).arguments(given(name))
    for function, ours in named(name).functions.items():
        theirs = in_c.FUNCTIONS[name][function](*arguments)
        check(f"{name} {function}", {"C": theirs, "wengert": uncompiled(ours)(*arguments)})


@needs_a_compiler
def test_a_hand_may_meet_vertices_and_be_mirrored():
    model = HAND["data"]["model"] | {"is_mirrored": True}
    arguments = ht.PROBLEM.arguments(HAND | {"us": [], "data": HAND["data"] | {"model": model}})
    check("ht", {"C": in_c.ht(*arguments), "wengert": ht.jacobian(*arguments)})


@needs_a_compiler
def test_a_camera_that_does_not_turn_has_a_derivative():
    fields = data.made_up_bundle(1, 1, 1)
    fields["cam"][:3] = 0.0
    arguments = ba.PROBLEM.arguments(fields)
    check("ba", {"C": in_c.ba_jacobian(*arguments), "wengert": ba.jacobian(*arguments)})


DIFFERENTIATED = {  # a function, its derivative, and by which of the arguments
    "gmm": ("objective", "jacobian", (0, 1, 2, 3)),
    "lse": ("primal", "gradient", (0,)),
    "det": ("primal", "gradient", (0,)),
    "llsq": ("primal", "gradient", (0,)),
    "lstm": ("objective", "jacobian", (0, 1)),
}


@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_gradients_are_the_difference_quotients(name):
    value, derivative, places = DIFFERENTIATED[name]
    functions = named(name).functions
    arguments = list(named(name).arguments(given(name)))
    gradients = parts(uncompiled(functions[derivative])(*arguments))
    for place, gradient in zip(places, gradients, strict=True):
        direction = np.random.default_rng(1).normal(size=gradient.shape)
        along = _quotient(uncompiled(functions[value]), arguments, place, direction)
        assert np.sum(gradient * direction) == pytest.approx(along, rel=1e-8)


def _quotient(f, arguments, place, direction, h=1e-3):
    """The derivative along a direction, by central differences extrapolated twice (Richardson)."""

    def central(h):
        moved = [list(arguments), list(arguments)]
        moved[0][place] = arguments[place] + h * direction
        moved[1][place] = arguments[place] - h * direction
        return (float(f(*moved[0])) - float(f(*moved[1]))) / (2 * h)

    coarse, middle, fine = central(h), central(h / 2), central(h / 4)
    once, again = (4 * middle - coarse) / 3, (4 * fine - middle) / 3
    return (16 * again - once) / 15


def test_the_last_element_of_the_ode_depends_on_all_before_it():
    # On GradBench's own sizes its gradient is exactly zero, so any zeros would pass there.
    x = np.array([0.3, 0.7, 0.2])
    expected = 2**3 / 6 * np.prod(x) / x
    np.testing.assert_allclose(uncompiled(ode.PROBLEM.functions["gradient"])(x, 4), expected)


@pytest.mark.sweep
@needs_a_compiler
@pytest.mark.parametrize("name", SMALL)
def test_compiled_problems_are_those_written_by_hand(name):
    arguments = named(name).arguments(given(name))
    for function, ours in named(name).functions.items():
        theirs = in_c.FUNCTIONS[name][function](*arguments)
        for _ in range(2):
            check(f"{name} {function}", {"C": theirs, "wengert": ours(*arguments)})


@pytest.mark.sweep
@needs_a_compiler
@pytest.mark.parametrize(("name", "function"), [("particle", "rr"), ("saddle", "rf")])
def test_searches_whose_length_is_not_known_end_where_those_by_hand_end(name, function):
    arguments = named(name).arguments(given(name))
    theirs = in_c.FUNCTIONS[name][function](*arguments)
    check(name, {"C": theirs, "wengert": named(name).functions[function](*arguments)})


# ---- the protocol -----------------------------------------------------------------------------


def test_a_session_is_answered_line_by_line():
    messages = [
        {"id": 0, "kind": "start", "eval": "lse"},
        {"id": 1, "kind": "define", "module": "lse"},
        {
            "id": 2,
            "kind": "evaluate",
            "module": "lse",
            "function": "gradient",
            "description": "n=3",
            "input": {"x": [1.0, 1, 1], "min_runs": 3, "min_seconds": 0},
        },
        {"id": 3, "kind": "analysis", "of": 2, "valid": True},
        {"id": 4, "kind": "evaluate", "module": "hello", "function": "double", "input": 3.0},
    ]
    out = io.StringIO()
    serve([json.dumps(message) for message in messages], out)
    answers = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [a["id"] for a in answers] == [0, 1, 2, 3, 4]
    assert (answers[0]["tool"], answers[1]["success"], answers[3]) == ("wengert", True, {"id": 3})
    assert answers[2]["output"] == pytest.approx([1 / 3] * 3)
    assert [t["name"] for t in answers[2]["timings"]] == ["evaluate"] * 3
    assert answers[4]["output"] == 6.0


def lse(**fields):
    message = {"id": 7, "kind": "evaluate", "module": "lse", "function": "primal"}
    return json.dumps(message | {"input": {"x": [1.0, 2.0]}} | fields)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("not JSON", "not JSON"),
        ("[" * 100_000, "not JSON"),
        (b"\xff\xfe", "not JSON"),
        ("[1]", "a message is an object, not list"),
        ('{"kind": "start"}', "lacks the field id"),
        ('{"id": 7}', "lacks the field kind"),
        ('{"id": 7, "kind": "dance"}', "no kind dance"),
        ('{"id": 7, "kind": "define"}', "lacks the field module"),
        ('{"id": 7, "kind": "define", "module": "os"}', "no module os"),
        (lse(module="os"), "no module os"),
        (lse(module=["lse"]), "lacks the field module"),
        (lse(function="hessian"), "no function hessian, but primal, gradient"),
        ('{"id": 7, "kind": "evaluate", "module": "lse", "function": "primal"}', "field input"),
        (lse(input=3), "the input is an object with the fields x"),
        (lse(input={"x": 3}), "field x has 0 dimensions, and should have 1: n"),  # it was a size
        (lse(input={}), "lacks the field x"),
        (lse(input={"x": [[1.0]]}), "field x has 2 dimensions, and should have 1"),
        (lse(input={"x": [[1.0], [1.0, 2.0]]}), "field x has rows of different lengths"),
        (lse(input={"x": ["a"]}), "field x holds numbers"),
        (lse(input={"x": None}), "field x holds numbers"),
        (lse(input={"x": [1.0], "min_runs": -1}), "field min_runs is an integer"),
        (lse(input={"x": [1.0], "min_seconds": "1"}), "field min_seconds is a number"),
        (lse(input={"x": []}), "field x has nothing along its size n"),
        (lse(input={"x": [1.0, float("nan")]}), "field x holds finite numbers"),
        (lse(input={"x": [1.0], "min_seconds": float("inf")}), "field min_seconds is a number"),
        (lse(id=True), "lacks the field id, an integer"),
        (lse(module="llsq", input={"x": [1.0], "n": 10**30}), "Error: "),
    ],
)
def test_what_cannot_be_answered_is_an_error_in_the_answer(line, said):
    found = answer(line)
    assert not found["success"]
    assert said in found["error"]


def test_a_result_that_is_not_finite_is_an_error_in_the_answer():
    # JSON has no Infinity: a harness could not read the line, and the session ended.
    out = io.StringIO()
    serve(
        [lse(input={"x": [-1e308, 1e308]}), lse(module="hello", function="square", input=1e200)],
        out,
    )
    answers = [json.loads(line, parse_constant=pytest.fail) for line in out.getvalue().splitlines()]
    assert [(a["id"], a["success"]) for a in answers] == [(7, True), (7, False)]
    assert "inf or NaN" in answers[1]["error"]


@pytest.mark.parametrize(
    ("name", "fields", "said"),
    [
        ("gmm", {"d": 4}, "field mu has 3 for its size d, which is 4 in field d"),
        ("gmm", {"l": np.ones((2, 5))}, "field l has rows of 5, and should have 3"),
        ("gmm", {"m": 0.5}, "field m is an integer, not 0.5"),
        ("kmeans", {"centroids": np.ones((2, 5))}, "field centroids has 5 for its size d"),
        ("ba", {"cam": np.ones(10)}, "field cam has 10 where it should have 11"),
        ("ba", {"p": -1}, "field p is a positive integer, not -1"),
        ("ba", {"n": 0}, "field n is a positive integer, not 0"),
        ("ode", {"s": 0}, "field s is a positive integer, not 0"),
        ("gmm", {"gamma": 1e999}, "field gamma is a number, not inf"),
        ("lstm", {"main_params": np.ones((4, 13))}, "13 where it should have a multiple of 4"),
        ("lstm", {"sequence": np.ones((1, 3))}, "fewer than two rows"),
        ("det", {"ell": 5}, "field A has 16 numbers, and should have 5 x 5"),
        ("ht", {"theta": np.ones(25)}, "field theta has 25 where it should have 26"),
        ("ht", {"us": np.ones((5, 2))}, "field us has 5 rows for 6 points"),
        ("ht", {"data": {}}, "lacks the field correspondences"),
        ("saddle", {"start": [1.0]}, "field start has 1 where it should have 2"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(name, fields, said):
    with pytest.raises(InputError, match=said):
        named(name).arguments(dict(given(name)) | fields)


def test_the_session_goes_on_after_an_error():
    command = [sys.executable, "-m", "benchmarks.gradbench"]
    sent = 'rubbish\n\n{"id": 1, "kind": "start"}\n'
    done = subprocess.run(command, input=sent, cwd=FOLDER, capture_output=True, text=True)
    first, second = map(json.loads, done.stdout.splitlines())
    assert (first["success"], second) == (False, {"id": 1, "tool": "wengert"}), done.stderr


# ---- data -------------------------------------------------------------------------------------

BUNDLE = "1 2 3\n" + " ".join(["0.5"] * 11) + "\n1 2 3\n0.5\n7 8\n"


def test_data_files_are_read_or_refused_with_their_name_and_line(tmp_path):
    path = tmp_path / "ba1.txt"
    path.write_text(BUNDLE)
    assert data.bundle(path)["feat"] == [7.0, 8.0]
    for text, line, said in [
        ("\n".join(BUNDLE.split("\n")[:3]), 4, "the file ends too early"),
        (BUNDLE[:-2], 5, "2 numbers are expected, and 1 are there"),
        (BUNDLE.replace("1 2 3", "1 2"), 1, "3 numbers are expected, and 2 are there"),
        (BUNDLE.replace("0.5\n7", "half\n7"), 4, "these are not all numbers: half"),
    ]:
        path.write_text(text)
        with pytest.raises(DataError, match=rf"ba1\.txt, line {line}: {said}"):
            data.bundle(path)
    with pytest.raises(DataError, match=r"nothing\.txt"):
        data.bundle(tmp_path / "nothing.txt")


def test_files_are_in_the_order_of_their_numbers(tmp_path):
    names = ["ba10_n1.txt", "ba2_n3.txt", "ba1_n2.txt"]
    assert [p.name for p in data.numbered(tmp_path / n for n in names)] == names[::-1]


@pytest.mark.sweep
def test_a_quick_table_of_one_problem():
    command = [sys.executable, "-m", "benchmarks", "gradbench", "--quick", "--peers", "wengert"]
    done = subprocess.run([*command, "--only", "hello"], cwd=FOLDER, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "double" in done.stdout


def test_a_slow_tool_takes_no_turns_from_the_others_and_leaves_them_nothing_to_do(monkeypatch):
    # The time for a row was for all tools together, so a fast one was timed once, and right after
    # JAX, which goes on freeing its memory when its result is there.
    now, left_to_do = [0.0], [0.0]
    monkeypatch.setattr(table.time, "perf_counter", lambda: now[0])

    def fast():
        now[0] += 0.01 + left_to_do[0]
        left_to_do[0] = 0.0

    def slow():
        now[0] += 1.0
        left_to_do[0] = 0.02

    times = table.race({"fast": fast, "slow": slow}, 15, 2.0)
    assert len(times["fast"]) == 15
    assert len(times["slow"]) == 1
    np.testing.assert_allclose(times["fast"], 0.01)
