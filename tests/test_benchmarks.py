"""The benchmarks run, and refuse to compare peers that compute different things.

Times are not tested: the machines that run tests are busy.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import wengert as wg
from benchmarks import (
    bare,
    by_hand,
    cnn,
    compile,
    elementwise,
    every,
    first_call,
    gpt,
    lstm,
    markdown,
    mlp,
    operators,
    peers,
    plot,
    ranks,
    report,
    resnet,
    running,
    sparse,
    sweep,
    train,
)
from benchmarks.timing import Case, check_agreement
from tests.distributed.processes import needs_mpi

FOLDER = Path(__file__).resolve().parents[1]
needs_a_compiler = pytest.mark.skipif(by_hand.find_compiler() is None, reason="no C compiler")


@pytest.fixture
def uncompiled(monkeypatch):
    """`wengert.compile` that leaves functions as they are."""
    monkeypatch.setattr(wg, "compile", lambda function: function, raising=False)


@pytest.fixture
def one_thread(monkeypatch):
    """What the tables say about threads, without changing this process's BLAS."""
    for variable in peers.THREAD_VARIABLES:
        monkeypatch.setenv(variable, "1")


def run(*words):
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *words], cwd=FOLDER, capture_output=True, text=True
    )


def test_a_quick_run_prints_a_table_and_writes_json(tmp_path):
    file = tmp_path / "results.json"
    words = "compile", "--quick", "--only", "step: 2-16", "--peers", "NumPy", "C", "--json"
    finished = run(*words, str(file))
    assert finished.returncode == 0, finished.stderr
    assert "2-16-16-1, batch 1, SGD" in finished.stdout
    results = json.loads(file.read_text())
    (row,) = results["rows"]
    assert row["medians"]["NumPy"] > 0
    assert ("C" in row["medians"]) != ("C" in results["left_out"])


def test_the_calls_of_numpy_in_an_operation_are_found_forward_and_backward():
    # They bound what an operation can take that NumPy computes; a table of them would grow old.
    x = wg.ones(3, 4, requires_grad=True)
    heard = lambda run: [call.func.__name__ for call in bare.heard_in(run, [x])]
    assert heard(lambda: x.softmax(1)) == ["max", "subtract", "exp", "sum", "divide"]
    both = heard(lambda: wg.autograd.grad(x.exp().sum(), x))
    assert [name for name in both if name in ("exp", "sum")] == ["exp", "sum"]
    assert both[-1] == "multiply"
    assert type(x._array) is np.ndarray


def test_the_draws_of_an_operation_are_heard_as_it_makes_them():
    # Arrays that note calls were drawn by another way, in thrice the time, and so no limit.
    x, one = np.zeros(3, np.float32), wg.zeros(3)
    (call,) = bare.drawn_in(one.normal_)
    assert (call.func.__name__, call.args) == ("standard_normal", (None, x.dtype, one._array))
    assert [call.func.__name__ for call in bare.drawn_in(lambda: wg.rand(3))] == ["random"]
    before = wg.get_rng_state().tolist()
    bare.calls(one.normal_, [one])()
    assert wg.get_rng_state().tolist() != before
    assert bare.drawn_in(lambda: one + 1) == []


def test_lines_of_the_sweep_beyond_the_limit_lead_and_say_where_numpy_is_it():
    def row(name, ours, alone):
        medians = {"wengert": ours, "PyTorch": 1.0, "NumPy": alone}
        return report.Row("random, small, forward", name, "s", medians, {}, ())

    rows = [row("slow", 3.0, 1.0), row("by NumPy", 3.0, 2.9), row("quick", 0.5, 2.9)]
    found = report.Report("sweep", ["wengert", "PyTorch"], {}, True, "", rows)
    sweep.judge(found)
    *_, slow, by_numpy, _, note, _, _, _ = markdown.short(found).split("\n")
    assert slow == "| random, small, forward slow | 3.00 s | 3.00 | 3.00 |  |"
    assert by_numpy.endswith("forward by NumPy | 3.00 s | 3.00 | 1.03 | NumPy alone: 2.9 |")
    assert note.startswith("small: 3 lines: median 3.00; 2 above 2, 1 of them where NumPy's")


def test_the_calls_of_numpy_in_windows_are_found_too():
    # A loop was chosen by an array beside the one that it reads: of what notes calls it made an
    # error, and nine lines of the sweep were left out.
    x, kernel = wg.ones(1, 2, 5, 5), wg.ones(3, 2, 3, 3)
    functional = wg.nn.functional
    for run in (lambda: functional.conv2d(x, kernel), lambda: functional.unfold(x, 3)):
        assert bare.heard_in(run, [x, kernel])


def test_the_eager_benchmark_takes_the_same_options():
    finished = run("eager", "--quick", "--peers", "wengert", "NumPy", "--only", "recording: add")
    assert finished.returncode == 0, finished.stderr
    assert "recording" in finished.stdout


def test_a_table_takes_its_place_in_a_markdown_file(tmp_path):
    file = tmp_path / "page.md"
    words = "eager", "--quick", "--peers", "NumPy", "--only", "recording: add", "--markdown"
    file.write_text("Nothing is marked.")
    finished = run(*words, str(file))
    assert (finished.returncode, "<!-- benchmark eager -->" in finished.stderr) == (2, True)
    assert file.read_text() == "Nothing is marked."
    file.write_text("Before.\n<!-- benchmark eager -->\nold\n<!-- /benchmark eager -->\nAfter.")
    finished = run(*words, str(file))
    assert finished.returncode == 0, finished.stderr
    text = file.read_text()
    assert text.startswith("Before.\n<!-- benchmark eager -->\n| |")
    assert text.endswith("<!-- /benchmark eager -->\nAfter.")
    assert "| add |" in text
    assert "old" not in text


def test_a_line_that_fails_costs_none_of_the_others(one_thread, capsys, tmp_path):
    # One disagreement, or one process that ran out of memory, once cost a run of hours.
    def case(name, ours):
        return Case("sum", name, {"wengert": lambda: ours, "NumPy": lambda: np.float64})

    found, cases = grown(10), [case("apart", partial(np.ones, ())), case("same", np.float64)]
    running.run_cases(cases, found)
    assert [row.name for row in found.rows] == ["n=10", "same"]
    assert [*found.failed] == ["sum: apart"]
    assert "wengert and NumPy compute different numbers" in found.failed["sum: apart"]
    report.write_json(found, tmp_path / "found.json")
    assert json.loads((tmp_path / "found.json").read_text())["failed"] == found.failed
    report.show(found)
    assert "Failed: sum: apart" in capsys.readouterr().out


def grown(*sizes):
    """A report of one section, whose rows cost ten times their size, in C half of that."""
    rows = [
        report.Row("sum", f"n={n}", "s", {"wengert": 1e-8 * n, "C": 5e-9 * n}, {}, (), size=n)
        for n in sizes
    ]
    rows[-1].leads = True
    return report.Report("sparse", ["wengert", "C"], {}, False, "", rows)


def test_a_drawing_shows_a_linear_cost_as_a_line_of_slope_one():
    picture = ElementTree.fromstring(plot.drawing(grown(10, 100, 10_000)))
    dots = [
        (float(dot.get("cx")), float(dot.get("cy")), dot[0].text)
        for dot in picture.iter("{http://www.w3.org/2000/svg}circle")
    ]
    assert [text for *_, text in dots[3:]] == [
        "wengert, 10: 100 ns",
        "wengert, 100: 1.00 µs",
        "wengert, 10000: 100 µs",
    ]
    (x, y, _), (x1, y1, _), (x2, y2, _) = dots[3:]
    assert (y2 - y) / (x2 - x) == pytest.approx((y1 - y) / (x1 - x), rel=0.01)


def test_a_notebook_shows_a_reports_table_and_its_drawing(one_thread):
    # A report was shown as the fields of its class.
    shown = grown(10, 100, 10_000)._repr_html_()
    assert shown.startswith("<table><tr><th></th><th>wengert</th>")
    assert '<img src="data:image/svg+xml;base64,' in shown
    assert "<img" not in grown(10)._repr_html_()


def test_there_is_no_drawing_where_nothing_has_several_sizes():
    assert plot.drawing(grown(10)) == ""


def test_a_page_has_a_short_table_where_it_marks_one_and_the_drawing_beside_the_whole(
    tmp_path, one_thread
):
    page, picture = tmp_path / "page.md", tmp_path / "folder" / "sparse.svg"
    page.write_text(
        "<!-- benchmark sparse, in short -->\n<!-- /benchmark sparse, in short -->\n"
        "<!-- benchmark sparse -->\n<!-- /benchmark sparse -->\nAfter."
    )
    markdown.replace_table(grown(10, 100), page, picture)
    text = page.read_text()
    brief, whole = text.split("<!-- /benchmark sparse, in short -->")
    assert "| sum n=100 | 1.00 µs | 2.00 |" in brief
    assert "n=10 |" not in brief
    assert "| n=10 | 100 ns | 2.00 |" in whole
    assert "(folder/sparse.svg)" in whole
    assert text.endswith("<!-- /benchmark sparse -->\nAfter.")


def test_all_benchmarks_write_to_the_pages_that_mark_a_place_for_them():
    words = every.words("gradbench", ["--quick"], Path("data"))
    assert words[:2] == ["gradbench", "--quick"]
    assert words[-2:] == ["--data", "data"]
    assert {Path(word).name for word in words} >= {
        "gradbench.json",
        "gradbench.svg",
        "README.md",
        "benchmarks.md",
    }
    assert "--markdown" not in every.words("ranks", [], Path("data"))
    finished = run("all", "--only", "GPT")
    assert (finished.returncode, "--only: all decides that itself" in finished.stderr) == (2, True)


def test_what_is_asked_for_in_vain_is_an_error():
    finished = run("compile", "--only", "no such line", "--peers", "NumPy")
    assert (finished.returncode, "no line of compile" in finished.stderr) == (2, True)
    finished = run("eager", "--peers", "C")
    assert (finished.returncode, "C takes no part in eager" in finished.stderr) == (2, True)


def test_a_missing_compiler_of_either_kind_is_named(monkeypatch, capsys, one_thread):
    monkeypatch.setattr(by_hand, "COMPILERS", ())
    monkeypatch.setattr(wg, "compile", None, raising=False)
    results = compile.run(("wengert", "NumPy", "C"), quick=True, only=["step: 2-16"])
    report.show(results)
    printed = capsys.readouterr().out
    assert "not available" in printed
    assert "no C compiler" in printed
    assert set(results.rows[0].medians) == {"NumPy"}


def test_peers_that_disagree_are_not_timed():
    case = Case("section", "sums", {"one": lambda: lambda: 1.0, "two": lambda: lambda: 1.01})
    with pytest.raises(AssertionError, match="sums: one and two compute different numbers"):
        check_agreement(case)


def test_yardsticks_need_not_agree():
    check_agreement(
        Case("section", "sums", {"one": lambda: lambda: 1.0}, yardsticks={"two": lambda: None})
    )


@pytest.mark.crossed
@needs_a_compiler
@pytest.mark.parametrize("headers", [True, False], ids=["extension module", "ctypes"])
@pytest.mark.parametrize("problem", [mlp.SMALL_1, mlp.SMALL_2], ids=str)
def test_c_trains_as_numpy_does(problem, headers, monkeypatch):
    if not headers:
        monkeypatch.setattr(by_hand.sysconfig, "get_path", lambda name: "nowhere")
    modules = {"NumPy": np, "C": by_hand.build()}
    check_agreement(mlp.compiled_case(modules, compile.STEPS, (), problem), steps=20)


@pytest.mark.parametrize("problem", mlp.PROBLEMS, ids=str)
def test_wengert_trains_as_numpy_does(problem, uncompiled):
    modules = {"wengert": wg, "NumPy": np}
    check_agreement(mlp.compiled_case(modules, compile.STEPS, (), problem))


def test_each_turn_starts_from_the_first_parameters(uncompiled):
    make = mlp.compiled_case({"wengert": wg}, compile.STEPS, ()).entrants["wengert"]
    first = [make()().item() for _ in range(2)]
    assert first[0] == first[1]
    step = make()
    assert [step().item() for _ in range(2)] != first


@pytest.mark.parametrize("peer", ["PyTorch", "JAX"])
@pytest.mark.parametrize(
    "case",
    [
        gpt.gpt_case,
        *(partial(cnn.cnn_case, problem=p) for p in (cnn.PLAIN, cnn.LENET, cnn.DIGITS)),
        resnet.resnet_case,
    ],
    ids=["gpt", "plain CNN", "LeNet", "digits", "ResNet"],
)
def test_one_network_in_every_library(case, peer, uncompiled):
    library = pytest.importorskip(peers.PACKAGES[peer])
    check_agreement(case({"wengert": wg, peer: library}, compile.STEPS, ()))


@pytest.mark.parametrize("problem", [lstm.SERIES, lstm.FEATURES], ids=str)
def test_wengerts_lstm_learns_as_pytorchs(problem, uncompiled):
    modules = {"wengert": wg, "PyTorch": pytest.importorskip("torch")}
    check_agreement(lstm.lstm_case(modules, compile.STEPS, (), problem))


def test_optimizers_and_loaders_do_the_same():
    modules = {"wengert": wg, "PyTorch": pytest.importorskip("torch")}
    for method in train.METHODS:
        check_agreement(train.optimizer_case(modules, train.OPTIMIZERS, (), method))
    for dataset in train.DATASETS:
        check_agreement(train.loader_case(modules, train.LOADERS, (), dataset))


def test_the_train_benchmark_times_steps_optimizers_and_loaders():
    words = (
        "--quick",
        "--peers",
        "wengert",
        "--only",
        "eager training step: LSTM: 1",
        "momentum, 100",
    )
    finished = run("train", *words, "a list")
    assert finished.returncode == 0, finished.stderr
    for section in (train.EAGER, train.OPTIMIZERS, train.LOADERS):
        assert f"timing: {section}" in finished.stdout


@pytest.mark.parametrize("name", [elementwise.CHAIN, elementwise.LOGSUMEXP])
def test_functions_of_large_arrays_agree(name, uncompiled, monkeypatch):
    monkeypatch.setattr(elementwise, "COUNT", 1000)
    elementwise.data.cache_clear()
    modules = {"wengert": wg, "NumPy": np}
    if by_hand.find_compiler():
        modules["C"] = by_hand.build()
    case = elementwise.elementwise_case(modules, elementwise.SECTION, (), name)
    check_agreement(case)
    for make in case.yardsticks.values():
        make()()
    elementwise.data.cache_clear()


@needs_a_compiler
def test_both_ways_to_move_memory_move_all_of_it():
    library = by_hand.build()
    x, y = np.arange(1001, dtype=np.float32), np.ones(1001, np.float32)
    for name in ("move", "move_past_caches"):
        out = np.zeros_like(x)
        library.loop(name, x, y, out)()
        assert np.array_equal(out, x + y)


def test_a_first_call_is_timed(uncompiled):
    assert min(first_call.seconds_of_calls("wengert", "MLP")) > 0


def test_sparse_matrices_agree_with_those_by_hand_and_with_dense_ones(monkeypatch):
    monkeypatch.setattr(sparse, "DENSE", 20)
    modules = {"wengert": wg, "NumPy": np}
    for method, f, hand, shape in sparse.PROBLEMS.values():
        small = (9, 9) if isinstance(shape, tuple) else 30
        check_agreement(sparse.sparse_case(modules, "section", "small", method, f, hand, small))
    torch = pytest.importorskip("torch")
    check_agreement(sparse.dense_case({"wengert": wg, "PyTorch": torch}))


@needs_mpi
@pytest.mark.sweep
def test_processes_print_their_times():
    times = ranks.processes(2, "sums", "1000", "True")
    assert [len(samples) for samples in times.values()] == [5, 5]
    trained = [ranks.processes(n, "training", "wengert", "together", "eager") for n in (1, 2)]
    assert [len(times["seconds"]) for times in trained] == [30, 30]


def test_operators_and_their_gradients_agree_with_pytorchs():
    modules = {"wengert": wg, "PyTorch": pytest.importorskip("torch")}
    for case in operators.cases(modules):
        check_agreement(case, steps=1)


def test_the_sweep_has_rows_of_complex_numbers_where_they_are_taken(monkeypatch):
    # It had none: what complex numbers alone make slow was seen by no table.
    monkeypatch.setattr(sweep, "SIDES", {"small": 10})
    names = {c.name for c in sweep.cases({"wengert": wg}) if c.section.endswith("complex128")}
    assert {"torch.exp(x)", "x @ y", "x.unfold(0, 3, 1)"} <= names
    assert names.isdisjoint({"x.sort()[0]", "torch.floor(x)", "index + index"})
