"""Anomaly mode: which forward line made the backward fail, or made a NaN."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg


def leaf(lib: Any, *values: float) -> Any:
    return lib.tensor(list(values), requires_grad=True)


@contextlib.contextmanager
def detecting(lib: Any, **options: Any) -> Iterator[list[Any]]:
    """Anomaly mode; what it warns of goes to the list given."""
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        with lib.autograd.detect_anomaly(**options):
            caught.clear()
            yield caught


def texts(caught: list[Any]) -> list[str]:
    return [str(w.message) for w in caught]


def nan(lib: Any) -> Any:
    """A function whose gradient is NaN."""

    class MakesNan(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * float("nan")

    return MakesNan.apply


def failing(lib: Any) -> Any:
    class Fails(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            raise ValueError("failed on purpose")

    return Fails.apply


def test_entering_warns(lib):
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        lib.autograd.detect_anomaly()


def test_the_mode_nests_and_is_restored(lib):
    assert not lib.is_anomaly_enabled()
    with detecting(lib):
        assert lib.is_anomaly_enabled()
        assert lib.is_anomaly_check_nan_enabled()
        with detecting(lib, check_nan=False):
            assert lib.is_anomaly_enabled()
            assert not lib.is_anomaly_check_nan_enabled()
        assert lib.is_anomaly_check_nan_enabled()
    assert not lib.is_anomaly_enabled()


def test_the_mode_can_be_set(lib):
    with lib.autograd.set_detect_anomaly(True):
        assert lib.is_anomaly_enabled()
        with lib.autograd.set_detect_anomaly(False):
            assert not lib.is_anomaly_enabled()
        assert lib.is_anomaly_enabled()
    assert not lib.is_anomaly_enabled()
    lib.autograd.set_detect_anomaly(True)
    assert lib.is_anomaly_enabled()
    lib.autograd.set_detect_anomaly(False)
    assert not lib.is_anomaly_enabled()


def test_nan_names_the_function_and_the_output(lib):
    x = leaf(lib, 1.0)
    with detecting(lib), pytest.raises(RuntimeError) as caught:
        nan(lib)(x).backward()
    assert "Function 'MakesNanBackward' returned nan values in its 0th output." in str(caught.value)


def test_the_second_of_two_gradients_may_be_the_nan(lib):
    x, w = leaf(lib, 1.0), leaf(lib, 0.0)
    with detecting(lib), pytest.raises(RuntimeError, match="nan values in its 1th output"):
        ((x * 0) / w).backward()


def test_without_the_mode_nan_is_no_error(lib):
    x = leaf(lib, 1.0)
    nan(lib)(x).backward()
    assert x.grad.isnan().all()


def test_nor_without_the_check(lib):
    x = leaf(lib, 1.0)
    with detecting(lib, check_nan=False):
        nan(lib)(x).backward()
    assert x.grad.isnan().all()


def test_nan_counts_where_the_forward_ran_outside_the_mode(lib):
    y = nan(lib)(leaf(lib, 1.0))
    with detecting(lib) as caught, pytest.raises(RuntimeError, match="nan values"):
        y.backward()
    (text,) = texts(caught)
    assert "Error detected in MakesNanBackward." in text
    assert "No forward pass information" in text


def test_any_error_is_preceded_by_the_traceback_of_the_forward_line(lib):
    x = leaf(lib, 1.0)
    with detecting(lib) as caught:
        y = failing(lib)(x * 2)  # the line to blame
        with pytest.raises(ValueError, match="on purpose"):
            (y * 3).backward()
    (text,) = texts(caught)
    assert "Error detected in FailsBackward." in text
    assert "the line to blame" in text


def test_the_line_of_an_operator_is_shown_too(lib):
    x = leaf(lib, 0.0)
    with detecting(lib) as caught:
        y = (x * 0) / x  # zero over zero
        with pytest.raises(RuntimeError, match="nan values"):
            y.backward()
    assert "Error detected in DivBackward0." in texts(caught)[0]
    assert "zero over zero" in texts(caught)[0]


def test_a_node_made_in_a_backward_leads_to_its_parent(lib):
    class Grows(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return failing(lib)(g)  # made in the backward

    x, v = leaf(lib, 1.0), leaf(lib, 1.0)
    with detecting(lib) as caught:
        y = Grows.apply(x)  # the parent's line
        (g,) = lib.autograd.grad(y, x, v, create_graph=True)
        with pytest.raises(ValueError, match="on purpose"):
            g.backward()
    child, parent = texts(caught)
    assert "Error detected in FailsBackward." in child
    assert "made in the backward" in child
    assert "GrowsBackward" in parent
    assert "the parent's line" in parent


def test_a_parent_outside_the_mode_has_no_information(lib):
    x = leaf(lib, 0.0)
    y = (x**2).sqrt()
    with detecting(lib, check_nan=False):
        (g,) = lib.autograd.grad(y, x, create_graph=True)
    with detecting(lib) as caught, pytest.raises(RuntimeError, match="nan values"):
        g.backward()
    assert len(caught) >= 2
    assert any("No forward pass information" in text for text in texts(caught)[1:])


def test_with_warnings_as_errors_the_text_goes_to_stderr(lib, capsys):
    with detecting(lib):
        y = failing(lib)(leaf(lib, 1.0))  # the line to blame
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="on purpose"):
            y.backward()
    assert "the line to blame" in capsys.readouterr().err


def test_nodes_keep_no_traceback_outside_the_mode(lib):
    assert "traceback_" not in (leaf(lib, 1.0) * 2).grad_fn.metadata
    with detecting(lib):
        assert "traceback_" in (leaf(lib, 1.0) * 2).grad_fn.metadata


# ---- wengert's own -------------------------------------------------------------------------


def test_the_message_counts_the_nans_and_shows_the_first():
    x = wg.tensor([1.0, 0.0, 0.0], requires_grad=True)
    with detecting(wg), pytest.raises(wg.errors.WengertError) as caught:
        ((x * 0) / x).sum().backward()
    assert "2 of 3 entries are NaN, the first at index (1,)" in str(caught.value)


def test_the_traceback_ends_at_the_users_line():
    with detecting(wg):
        y = leaf(wg, 1.0).sum()  # here
    assert "# here" in y.grad_fn.metadata["traceback_"][-1]


def test_the_mode_is_per_thread():
    seen = []
    with detecting(wg):
        thread = threading.Thread(target=lambda: seen.append(wg.is_anomaly_enabled()))
        thread.start()
        thread.join()
    assert seen == [False]
