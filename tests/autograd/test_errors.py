"""The famous errors: each names the lines it is about, the likely cause, and what to type."""

from __future__ import annotations

import pytest

import wengert as wg
from wengert import errors


def leaf(*values: float) -> wg.Tensor:
    return wg.tensor(list(values), requires_grad=True)


# ---- a second pass -------------------------------------------------------------------------


def test_a_second_pass_names_the_recording_line_and_the_freeing_line():
    x = leaf(2.0)
    y = x * x  # recorded here
    y.backward()  # freed here
    with pytest.raises(errors.FreedGraphError) as caught:
        y.backward()
    text = str(caught.value)
    assert "MulBackward0" in text
    assert "# recorded here" in text
    assert "# freed here" in text
    assert __file__ in text


@pytest.mark.parametrize("how", ["grad", "backward"])
def test_the_freeing_line_is_the_users_whichever_way_the_pass_was_started(how):
    x = leaf(2.0)
    y = x * x
    if how == "grad":
        wg.autograd.grad(y, x)  # freed here
    else:
        wg.autograd.backward(y)  # freed here
    with pytest.raises(errors.FreedGraphError, match="# freed here"):
        y.backward()


def test_a_state_carried_from_one_iteration_to_the_next_is_named_as_the_likely_cause():
    x, state = leaf(2.0), leaf(1.0) * 1

    def iterate(state: wg.Tensor) -> wg.Tensor:
        state = state * x
        (state * state).backward()
        return state

    state = iterate(state)
    with pytest.raises(errors.FreedGraphError, match=r"Likely cause[^$]*outside the loop"):
        iterate(state)


def test_running_one_root_twice_is_not_taken_for_that():
    x = leaf(2.0)
    y = x * x
    y.backward()
    with pytest.raises(errors.FreedGraphError) as caught:
        y.backward()
    assert "Likely cause" not in str(caught.value)


# ---- an overwritten value ------------------------------------------------------------------


def test_an_overwritten_value_names_the_saving_line_and_the_writing_line():
    x = leaf(2.0)
    t = x * 1
    y = t * t  # saved here
    t.add_(1)  # written here
    with pytest.raises(errors.ModifiedError) as caught:
        y.backward()
    text = str(caught.value)
    assert "# saved here" in text
    assert "# written here" in text
    assert "add_" in text
    assert "shape [1]" in text


def test_a_write_with_an_operator_is_named_too():
    x = leaf(2.0)
    t = x.exp()  # saved here
    t *= 2  # written here
    with pytest.raises(errors.ModifiedError, match=r"(?s)# saved here.*# written here"):
        t.backward()


def test_a_write_by_indexing_is_named_too():
    x = leaf(2.0, 3.0)
    t = x * 1
    y = (t * t).sum()
    t[0] = 0.0  # written here
    with pytest.raises(errors.ModifiedError, match="# written here"):
        y.backward()


# ---- .grad of what is no leaf --------------------------------------------------------------


def test_grad_of_a_non_leaf_names_the_line_that_made_it():
    y = leaf(2.0) * 3  # made here
    with pytest.warns(UserWarning, match="not a leaf") as caught:
        assert y.grad is None
    text = str(caught[0].message)
    assert "# made here" in text
    assert "retain_grad()" in text


def test_the_warning_points_at_the_line_that_read_it():
    y = leaf(2.0) * 3
    with pytest.warns(UserWarning, match="not a leaf") as caught:
        y.grad
    assert caught[0].filename == __file__


# ---- does not require grad -----------------------------------------------------------------


def test_no_grad_is_named_as_the_cause():
    x = leaf(2.0)
    with wg.no_grad():
        y = x * 2
        with pytest.raises(errors.GradError, match="inside no_grad"):
            y.backward()


def test_an_integer_root_is_named_as_the_cause():
    with pytest.raises(errors.GradError, match="integers and booleans have no derivative"):
        leaf(2.0).argmax().backward()


def test_a_cut_history_is_named_as_the_cause():
    with pytest.raises(errors.GradError, match=r"detach\(\)"):
        (leaf(2.0).detach() * 2).backward()


def test_the_message_says_what_to_type():
    with pytest.raises(errors.GradError, match=r"requires_grad_\(\)"):
        wg.ones(1).backward()
    with pytest.raises(errors.GradError, match=r"y\.sum\(\)\.backward\(\)"):
        leaf(1.0, 2.0).backward()


# ---- classes -------------------------------------------------------------------------------


def test_every_error_is_the_class_that_pytorch_raises():
    for error in (
        errors.GradError,
        errors.FreedGraphError,
        errors.ModifiedError,
        errors.InplaceError,
    ):
        assert issubclass(error, RuntimeError)


def test_an_error_holds_the_users_frame_and_ends_there():
    x = leaf(2.0)
    y = x * x
    y.backward()
    for _ in range(2):
        with pytest.raises(errors.FreedGraphError):
            y.backward()
