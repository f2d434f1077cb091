"""The gradient tape does as TensorFlow's, and says more when it is misused."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import wengert as wg
import wengert.tape as tf
from wengert.errors import GradError, ModifiedError


def near(found, expected, rtol=1e-6):
    np.testing.assert_allclose(np.asarray(found), expected, rtol=rtol)


# ---- gradients -----------------------------------------------------------------------------


def test_trainable_variables_are_watched_and_constants_are_not():
    x, frozen, c = tf.Variable(3.0), tf.Variable(2.0, trainable=False), tf.constant(5.0)
    with tf.GradientTape() as tape:
        y = x * x * frozen * c
    assert [None if g is None else float(g) for g in tape.gradient(y, [x, frozen, c])] == [
        60.0,
        None,
        None,
    ]


def test_what_is_watched_counts():
    frozen, c = tf.Variable(2.0, trainable=False), tf.constant(5.0)
    plain = wg.tensor(3.0)
    with tf.GradientTape() as tape:
        tape.watch({"a": [frozen, c], "b": plain})
        y = frozen * c * plain
    assert [float(g) for g in tape.gradient(y, [frozen, c, plain])] == [15.0, 6.0, 10.0]


def test_variables_can_be_left_unwatched():
    x, y = tf.Variable(3.0), tf.Variable(2.0)
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(x)
        z = x * y
    assert tape.gradient(z, y) is None
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(x)
        z = x * y
    assert float(tape.gradient(z, x)) == 2.0
    assert tape.watched_variables() == (x,)


def test_watched_variables_come_in_the_order_of_use_and_only_if_used():
    x, y, unused = tf.Variable(1.0), tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        _ = y * x
    assert [v is w for v, w in zip(tape.watched_variables(), (y, x), strict=True)] == [True, True]
    assert all(v is not unused for v in tape.watched_variables())


def test_sources_may_be_nested_and_intermediate():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = x * x
        z = tf.reduce_sum(y * y)
    found = tape.gradient(z, {"x": x, "pair": (y, x)})
    near(found["x"], [4.0, 32.0])
    near(found["pair"][0], [2.0, 8.0])
    assert type(found["pair"]) is tuple


def test_targets_that_are_no_scalars_and_several_targets_are_added():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        y, z = x * x, 3 * x
    near(tape.gradient(y, x), [2.0, 4.0])
    near(tape.gradient([y, {"z": z}], x), [5.0, 7.0])
    near(tape.gradient([y, z], x, output_gradients=[[1.0, 10.0], None]), [5.0, 43.0])
    near(tape.gradient(y, x, output_gradients=tf.constant([0.0, 1.0])), [0.0, 4.0])


@pytest.mark.parametrize("how", [tf.UnconnectedGradients.ZERO, "zero"])
def test_unconnected_gradients_are_none_or_zeros(how):
    x, other = tf.Variable([1.0, 2.0]), tf.Variable([[3.0]])
    with tf.GradientTape(persistent=True) as tape:
        y = x * x
    assert tape.gradient(y, other) is None
    near(tape.gradient(y, other, unconnected_gradients=how), [[0.0]])
    assert tape.jacobian(y, other, unconnected_gradients=how).shape == (2, 1, 1)
    with pytest.raises(ValueError, match="Unknown value for unconnected_gradients"):
        tape.gradient(y, other, unconnected_gradients="nothing")


def test_a_target_may_be_a_source_itself():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
    near(tape.gradient(x, x), [1.0, 1.0])


def test_numpy_and_wengert_functions_are_recorded():
    x = tf.Variable([0.5, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        a, b = np.sin(x), wg.sin(x)
        c = np.concatenate([x, np.ones(1, np.float32) * x[0]])
    near(tape.gradient(a, x), np.cos([0.5, 2.0]))
    near(tape.gradient(b, x), np.cos([0.5, 2.0]))
    near(tape.gradient(c, x), [2.0, 1.0])


# ---- derivatives of derivatives ------------------------------------------------------------


def test_nested_tapes_give_second_derivatives():
    x = tf.Variable(3.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = x**3 * tf.sin(x)
        slope = inner.gradient(y, x)
    curvature = outer.gradient(slope, x)
    s, c = np.sin(3), np.cos(3)
    near(slope, 27 * s + 27 * c, 1e-5)
    near(curvature, 18 * s + 54 * c - 27 * s, 1e-5)


def test_a_persistent_tape_differentiates_what_it_recorded_of_itself():
    x = tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        y = x**4
        slope = tape.gradient(y, x)
    assert float(tape.gradient(slope, x)) == 108.0


def test_a_gradient_asked_for_outside_of_every_tape_is_not_recorded():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x**4
    assert not tape.gradient(y, x).requires_grad


def test_tapes_side_by_side_do_not_free_each_others_values():
    x = tf.Variable(3.0)
    with tf.GradientTape() as one, tf.GradientTape() as two:
        y = x * x
    assert float(one.gradient(y, x)) == float(two.gradient(y, x)) == 6.0


def test_a_tape_inside_differentiates_what_it_saw_only():
    x = tf.Variable(3.0)
    with tf.GradientTape() as outer:
        y = x * x
        with tf.GradientTape() as inner:
            inner.watch(y)
            z = y * x
        by_y, by_x = inner.gradient(z, [y, x])
    assert float(by_x) == 9.0  # y is a constant to the inner tape
    assert float(by_y) == 3.0
    assert float(outer.gradient(z, x)) == 27.0


# ---- jacobians -----------------------------------------------------------------------------


@pytest.mark.parametrize("together", [True, False])
def test_jacobians_have_the_shape_of_target_and_source(together):
    w, v = tf.Variable(np.arange(6.0).reshape(2, 3) / 9), tf.Variable(np.array([1.0, -2.0, 0.5]))
    with tf.GradientTape() as tape:
        y = tf.tanh(w @ v)
    by_w, by_v = tape.jacobian(y, [w, v], experimental_use_pfor=together)
    slope = 1 - np.tanh(w.numpy() @ v.numpy()) ** 2
    near(by_v, slope[:, None] * w.numpy())
    near(by_w, np.einsum("i,ij,k->ijk", slope, np.eye(2), v.numpy()))


@pytest.mark.parametrize("together", [True, False])
def test_batch_jacobians_are_the_diagonal_blocks(together):
    x = tf.constant(np.random.default_rng(0).standard_normal((4, 3)))
    a = np.random.default_rng(1).standard_normal((3, 2))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.square(x) @ a
    blocks = tape.batch_jacobian(y, x, experimental_use_pfor=together)
    near(blocks, np.einsum("bj,jk->bkj", 2 * x.numpy(), a))
    whole = tape.jacobian(y, x)
    near(blocks, np.einsum("bkbj->bkj", whole.numpy()))
    with pytest.raises(ValueError, match="first dimension of target shape and source shape"):
        tape.batch_jacobian(y[1:], x)


def test_a_jacobian_can_be_recorded_by_another_tape():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = tf.reduce_sum(x**3)
        slope = inner.gradient(y, x)
    near(outer.jacobian(slope, x), np.diag([6.0, 12.0]))


# ---- recording -----------------------------------------------------------------------------


def test_what_is_computed_while_stopped_is_a_constant():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
        with tape.stop_recording():
            weight = x * x
        z = y * weight
    assert float(tape.gradient(z, x)) == 54.0


def test_another_tape_goes_on_while_one_is_stopped():
    x = tf.Variable(3.0)
    with tf.GradientTape() as outer, tf.GradientTape() as inner:
        y = x * x
        with inner.stop_recording():
            z = y * x
    assert float(outer.gradient(z, x)) == 27.0
    with pytest.raises(GradError, match="while the tape's recording was stopped"):
        inner.gradient(z, x)


def test_reset_forgets_and_goes_on():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
        tape.reset()
        assert tape.watched_variables() == ()
        z = x * 5
    assert float(tape.gradient(z, x)) == 5.0
    with tf.GradientTape() as tape:
        y = x * x
        tape.reset()
        _ = x * 5
    with pytest.raises(GradError, match="before the tape began to record"):
        tape.gradient(y, x)


def test_a_tape_that_is_entered_again_goes_on_recording():
    x = tf.Variable(3.0)
    tape = tf.GradientTape()
    with tape:
        y = x * x
    between = x * 2
    with tape:
        z = y * x * between
    assert float(tape.gradient(z, x)) == 3 * 9 * 6.0


# ---- misuse --------------------------------------------------------------------------------


def test_a_tape_that_is_not_persistent_answers_once():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
    tape.gradient(y, x)
    for ask in (tape.gradient, tape.jacobian):
        with pytest.raises(
            RuntimeError, match=r"can only be used to compute one set.*persistent=T"
        ):
            ask(y, x)


@pytest.mark.parametrize("when", ["before the tape began", "after the tape's with block"])
def test_a_target_computed_outside_is_named_with_its_line(when):
    x = tf.Variable(3.0)
    if "before" in when:
        y = x * x  # outside
    with tf.GradientTape() as tape:
        _ = x + 1
    if "after" in when:
        y = x * x  # outside
    with pytest.raises(GradError, match=when) as caught:
        tape.gradient(y, x)
    assert "# outside" in str(caught.value)
    assert "Compute the target inside the with block" in str(caught.value)


def test_other_misuse_is_named():
    x = tf.Variable(3.0)
    tape = tf.GradientTape(persistent=True)
    with pytest.raises(RuntimeError, match="recorded nothing"):
        tape.gradient(x, x)
    with pytest.raises(RuntimeError, match="inside the tape's with block"):
        tape.watch(x)
    with pytest.raises(RuntimeError, match="not recording"), tape.stop_recording():
        pass
    with tape:
        y = x * x
        with pytest.raises(ValueError, match="still recording"), tape:
            pass
        with pytest.raises(ValueError, match="must be floating"):
            tape.watch(tf.constant([1, 2]))
        with pytest.raises(ValueError, match="not a tensor"):
            tape.watch(3.0)
    with pytest.raises(TypeError, match="source of a gradient must be a tensor, got float"):
        tape.gradient(y, [x, 3.0])
    with pytest.raises(TypeError, match="target of a gradient must be a tensor, got float"):
        tape.gradient(float(y), x)
    with pytest.raises(ValueError, match=r"shape \[2\] for a target of shape \[\]"):
        tape.gradient(y, x, output_gradients=[np.ones(2)])
    with pytest.raises(ValueError, match="1 output_gradients for 2 targets"):
        tape.gradient([y, y], x, output_gradients=[1.0])


# ---- variables and tensors -----------------------------------------------------------------


def test_variables_are_assigned_to_and_what_was_computed_keeps_its_value():
    x = tf.Variable([1.0, 2.0], name="x")
    with tf.GradientTape(persistent=True) as tape:
        y = x * x
        assert x.assign([10.0, 20.0]) is x
        z = x * x
    near(tape.gradient(y, x), [2.0, 4.0])
    near(tape.gradient(z, x), [20.0, 40.0])
    before = x.value()
    x.assign_add([1.0, 1.0]).assign_sub(tf.constant([0.5, 0.0]))
    near(x, [10.5, 21.0])
    near(before, [10.0, 20.0])
    assert repr(x).startswith("<Variable 'x:0' shape=(2,) dtype=float32, numpy=array([10.5, 21. ]")


def test_wengerts_own_functions_notice_an_assignment():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = wg.square(x)
    x.assign([3.0, 4.0])
    with pytest.raises(ModifiedError, match="overwritten by assign"):
        tape.gradient(y, x)


def test_values_are_copied_and_dtypes_kept():
    array = np.ones(2)
    v = tf.Variable(array)
    array[:] = 7
    near(v, [1.0, 1.0])
    assert v.dtype == tf.float64
    assert tf.Variable(1.0).dtype == tf.float32
    assert tf.Variable(wg.ones(2, dtype=wg.float64)).dtype == tf.float64
    assert tf.Variable(lambda: [1, 2], dtype=tf.float32).dtype == tf.float32
    assert not tf.Variable([1, 2]).requires_grad


def test_wrong_assignments_are_refused():
    v = tf.Variable([1.0, 2.0], name="v")
    with pytest.raises(ValueError, match="Cannot assign value to variable 'v:0': Shape mismatch"):
        v.assign([1.0])
    with pytest.raises(TypeError, match="assign_add"):
        v += 1
    with pytest.raises(TypeError, match="item assignment"):
        v[0] = 3.0
    with pytest.raises(TypeError, match="complex128"):
        v.assign(np.ones(2) * 1j)


def test_numbers_come_out_whether_recorded_or_not():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape():
        y = tf.reduce_sum(x * x)
    assert isinstance(y.numpy(), np.float32)
    assert np.array([y, y]).tolist() == [5.0, 5.0]
    y2 = y
    y2 += 1.0
    assert (float(y), float(y2)) == (5.0, 6.0)


def test_operators_take_numbers_arrays_and_tensors_from_both_sides():
    x = tf.Variable([1.0, 2.0])
    results = [2 * x, x * np.float32(2), np.full(2, 2.0, np.float32) * x, wg.tensor([2.0, 2.0]) * x]
    for result in results:
        assert isinstance(result, tf.EagerTensor)
        near(result, [2.0, 4.0])
    assert (x > 1.5).numpy().tolist() == [False, True]


def test_the_names_of_tensorflow_compute_what_they_say():
    x = np.array([[1.0, 4.0], [9.0, 16.0]])
    cases = {
        "sqrt": np.sqrt(x), "square": x**2, "exp": np.exp(x), "tanh": np.tanh(x),
        "reduce_sum": x.sum(), "reduce_mean": x.mean(), "reduce_max": 16.0, "reduce_min": 1.0,
        "reduce_prod": x.prod(), "transpose": x.T, "negative": -x, "abs": x, "zeros_like": 0 * x,
        "ones_like": 0 * x + 1, "identity": x, "stop_gradient": x, "sigmoid": 1 / (1 + np.exp(-x)),
    }  # fmt: skip
    for name, expected in cases.items():
        near(getattr(tf, name)(x), expected)
    for name in ("reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod"):
        assert getattr(tf, name)(x, axis=1, keepdims=True).shape == (2, 1)
        assert getattr(tf, name)(x, keepdims=True).shape == (1, 1)
    near(tf.math.log(x), np.log(x))
    near(tf.matmul(x, tf.reshape(x, [2, 2])), x @ x)
    near(tf.concat([x, x], axis=1), np.concatenate([x, x], 1))
    near(tf.stack([x, x], axis=1), np.stack([x, x], 1))
    near(tf.maximum(x, 5.0) - tf.minimum(x, 5.0), abs(x - 5))
    near(tf.pow(2.0, [1.0, 3.0]), [2.0, 8.0])
    assert tf.cast(x, tf.int32).dtype == tf.int32
    assert tf.constant(2.0, shape=(2, 3)).shape == (2, 3)
    near(tf.convert_to_tensor([tf.constant(1.0), tf.constant(2.0)]), [1.0, 2.0])
    assert tf.zeros([2]).dtype == tf.ones((2, 1)).dtype == tf.float32


def test_a_stopped_gradient_does_not_pass():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * tf.stop_gradient(x)
    assert float(tape.gradient(y, x)) == 3.0


# ---- optimizers ----------------------------------------------------------------------------


def descend(optimizer, steps=20):
    w = tf.Variable(np.array([1.0, -2.0]))
    path = []
    for _ in range(steps):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w**2 * [1.0, 3.0])
        optimizer.apply_gradients(zip(tape.gradient(loss, [w]), [w], strict=True))
        path.append(w.numpy())
    return np.array(path)


@pytest.mark.parametrize(
    ("make", "same"),
    [
        (lambda: tf.optimizers.SGD(0.05), lambda p: wg.optim.SGD(p, lr=0.05)),
        (lambda: tf.optimizers.SGD(0.05, momentum=0.9), lambda p: wg.optim.SGD(p, 0.05, 0.9)),
        (
            lambda: tf.keras.optimizers.SGD(0.05, momentum=0.9, nesterov=True),
            lambda p: wg.optim.SGD(p, 0.05, 0.9, nesterov=True),
        ),
        (
            lambda: tf.optimizers.Adam(0.1, epsilon=1e-14),
            lambda p: wg.optim.Adam(p, lr=0.1, eps=1e-14),
        ),
    ],
)
def test_optimizers_take_the_steps_of_wengerts_own(make, same):
    w = wg.tensor([1.0, -2.0], dtype=wg.float64, requires_grad=True)
    optimizer = same([w])
    path = []
    for _ in range(20):
        optimizer.zero_grad()
        (w**2 * wg.tensor([1.0, 3.0], dtype=wg.float64)).sum().backward()
        optimizer.step()
        path.append(w.detach().numpy().copy())
    near(descend(make()), path, rtol=1e-9)


def test_adams_epsilon_is_where_keras_has_it():
    w = tf.Variable(0.0)
    tf.optimizers.Adam(0.1, epsilon=1.0).apply_gradients([(tf.constant(2.0), w)])
    m, v = 0.1 * 2, 0.001 * 4
    near(w, -0.1 * np.sqrt(1 - 0.999) / (1 - 0.9) * m / (np.sqrt(v) + 1.0), 1e-5)


def test_missing_gradients_are_warned_of_or_refused():
    w, other = tf.Variable(1.0, name="w"), tf.Variable(1.0, name="other")
    optimizer = tf.optimizers.SGD(0.5)
    with pytest.warns(UserWarning, match=r"do not exist for variables \['other:0'\]"):
        optimizer.apply_gradients([(1.0, w), (None, other)])
    assert (float(w), float(other), optimizer.iterations) == (0.5, 1.0, 1)
    with pytest.raises(ValueError, match=r"No gradients provided for any variable: \['w:0'\]"):
        optimizer.apply_gradients([(None, w)])
    with pytest.raises(TypeError, match="in this order"):
        optimizer.apply_gradients([(w, 1.0)])
    with pytest.raises(ValueError, match="learning_rate=-1"):
        tf.optimizers.SGD(-1)


def test_the_tape_is_there_as_wg_tape():
    code = "import wengert as wg; assert wg.tape.GradientTape; import wengert.tape as tf"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
