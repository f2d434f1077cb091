"""`studies.map` in this process: what rows are, what is returned, what is refused."""

import functools

import numpy as np
import pytest

import wengert as wg
from tests.studies import fits
from wengert import studies
from wengert.errors import BatchingError, StateError
from wengert.studies.rows import Rows, parameters
from wengert.studies.stock import Batch
from wengert.studies.work import Job

ONE_BY_ONE = {"vmap": False, "compile": False}


@pytest.mark.parametrize("how", [{}, {"vmap": False}, {"compile": False}, ONE_BY_ONE], ids=str)
def test_each_row_gives_what_the_function_gives(how):
    rows = fits.rows(7)
    found = studies.map(fits.fit, rows, batch=3, **how)
    for k in range(7):
        alone = fits.fit({name: column[k] for name, column in rows.items()})
        np.testing.assert_allclose(found["p"][k], alone["p"], rtol=1e-12)
        np.testing.assert_allclose(found["loss"][k], alone["loss"], rtol=1e-10)


def test_all_batches_have_one_shape_so_that_one_program_is_compiled():
    # The last batch has fewer rows, and was compiled a second time for them.
    job = Job(fits.square, vmap=True, compile=True)
    rows = parameters(np.arange(10.0))
    for size in (4, 8, 12):  # of which several may go out together
        for batch in Batch(np.arange(10)).parts(size):
            _, made = job(rows.taken(batch.rows), 4)
            assert made.arrays[0].tolist() == [k * k for k in batch.rows]
    assert sum(map(len, job.ready.specializations.values())) == 1
    assert studies.map(fits.square, np.arange(10.0), batch=4).tolist() == [k * k for k in range(10)]


def test_tensors_give_tensors_and_numbers_give_arrays():
    assert isinstance(studies.map(fits.square, wg.arange(3.0)), wg.Tensor)
    assert studies.map(lambda x: float(x) * 2, np.arange(3.0), **ONE_BY_ONE).tolist() == [0, 2, 4]


def test_a_compiled_function_is_mapped_as_the_function_it_was_made_of():
    assert studies.map(wg.compile(fits.square), np.arange(3.0)).tolist() == [0, 1, 4]


def test_as_completed_gives_each_row_with_its_number():
    given = studies.as_completed(lambda p: {"y": p["x"] + 1}, {"x": wg.arange(5.0)}, batch=2)
    assert [(k, row["y"].item()) for k, row in given] == [(k, k + 1.0) for k in range(5)]


def test_containers_of_one_structure_come_back_from_another_process():
    # The mark of a leaf was another object in each process, so that no leaf was recognised.
    import pickle

    rows = Rows.of({"a": np.ones(2), "b": [wg.ones(2), None]})
    back = pickle.loads(pickle.dumps(rows))
    assert back.tree == rows.tree
    assert wg.equal(back.value()["b"][0], wg.ones(2))


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        (
            {"a": np.ones(3), "b": np.ones(2)},
            r"\(parameters\['a'\]: 3, parameters\['b'\]: 2\) rows",
        ),
        ([1.0, 2.0], r"parameters\[0\] is a Python number, and has no rows"),
        ("text", "parameters is a str"),
    ],
)
def test_parameters_without_equally_many_rows_are_refused(parameters, says):
    with pytest.raises(StateError, match=says):
        studies.map(fits.square, parameters)


def test_a_study_of_nothing_is_refused():
    with pytest.raises(ValueError, match="the parameters have no rows"):
        studies.map(fits.square, np.zeros(0))
    with pytest.raises(ValueError, match="batch should be a number of rows, not 0"):
        studies.map(fits.square, np.zeros(3), batch=0)
    with pytest.raises(TypeError, match="takes a function, but got float"):
        studies.map(1.0, np.zeros(3))


def test_an_error_of_the_function_names_the_row(tmp_path):
    with pytest.raises(ValueError, match="five is refused") as caught:
        studies.map(
            functools.partial(fits.refused, tmp_path), np.arange(9.0), batch=2, **ONE_BY_ONE
        )
    assert caught.value.__notes__ == [
        "in row 5 of the study",
        "4 of 9 rows of the study were finished; file= would have kept them.",
    ]


def test_a_decision_by_numbers_says_how_to_run_one_row_at_a_time():
    with pytest.raises(BatchingError) as caught:
        studies.map(lambda x: x if x > 0 else -x, np.arange(3.0))
    assert "vmap=False" in caught.value.__notes__[0]


def test_results_that_do_not_fit_together_are_refused():
    with pytest.raises(StateError, match=r"row 0 is an array of shape \[0\].*row 1 is .* \[1\]"):
        studies.map(lambda x: np.ones(int(x)), np.arange(3.0), batch=3, **ONE_BY_ONE)
    with pytest.raises(StateError, match="an earlier result is an array of shape"):
        studies.map(lambda x: np.ones(int(x)), np.arange(3.0), **ONE_BY_ONE)
    with pytest.raises(TypeError, match=r"result\['name'\] has dtype <U1"):
        studies.map(lambda x: {"name": np.array("a")}, np.arange(3.0), **ONE_BY_ONE)


def test_progress_is_shown_in_a_terminal(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    studies.map(fits.square, np.arange(10.0), **ONE_BY_ONE)
    assert "10/10" in capsys.readouterr().out
    studies.map(fits.square, np.arange(10.0), progress=False, **ONE_BY_ONE)
    assert capsys.readouterr().out == ""
