"""Programs written for PyTorch, unchanged: their losses under wengert and under PyTorch."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from wengert import as_torch

torch = pytest.importorskip("torch")

PROGRAMS = sorted((Path(__file__).resolve().parents[1] / "programs").glob("*.py"))


@pytest.fixture(autouse=True)
def settings():
    """The settings that programs change, as they were."""
    ours, theirs, threads = (
        wg.get_default_dtype(),
        torch.get_default_dtype(),
        torch.get_num_threads(),
    )
    torch.set_num_threads(1)  # threads cost more than they gain on arrays as small as these
    # PyTorch's table of operators, where another module has imported it, forbids programs to set
    # flags of backends.
    with torch.backends.__allow_nonbracketed_mutation():
        yield
    wg.set_default_dtype(ours)
    torch.set_default_dtype(theirs)
    torch.set_num_threads(threads)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_losses_are_equal_to_rounding(program, monkeypatch, capsys):
    ours = as_torch.run(program)
    printed = capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", [str(program)])
    theirs = runpy.run_path(str(program), run_name="__main__")
    assert ours["torch"] is wg
    assert theirs["torch"].__name__ == "torch"
    assert len(ours["losses"]) == len(theirs["losses"]) > 10
    # Rounding differs from the first product on, and grows with each step: fastest in L-BFGS.
    tolerance = 1e-6 if program.stem == "time_series" else 1e-9
    np.testing.assert_allclose(ours["losses"], theirs["losses"], rtol=tolerance)
    if program.stem == "gpt":
        assert capsys.readouterr().out == printed
