"""The exponent estimator on a gradient tape: a program written for TensorFlow, its import changed.

The last program of the blog post on reverse-mode autodiff finds θ from samples of y = x^θ by the
tape, variables and an optimizer of TensorFlow's. `train` below does, with the same calls; nothing
but `import wengert.tape as tf` tells that they are wengert's. What else a tape does follows:
second derivatives, Jacobians, recording stopped, and how it answers when misused.
"""

import argparse
from pathlib import Path

import numpy as np

import wengert as wg
import wengert.tape as tf


def rmse(y, prediction):
    return tf.sqrt(tf.reduce_mean(tf.square(y - prediction)))


def train(x_train, y_train, epochs, learning_rate=5e-6):
    """The losses, tensors as they came, and θ after each step."""
    x, y = tf.Variable(x_train), tf.Variable(y_train)
    theta = tf.Variable(4.0, name="theta_hat")
    optimizer = tf.keras.optimizers.SGD(learning_rate, momentum=0.0)
    losses, thetas = [], []
    for _ in range(epochs):
        with tf.GradientTape() as tape:
            loss = rmse(y, tf.pow(x, theta))
        grads = tape.gradient(loss, [theta])
        optimizer.apply_gradients(zip(grads, [theta], strict=True))
        losses.append(loss)
        thetas.append(theta.numpy())
    return losses, thetas


def plot(losses, thetas, file):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    left.plot(np.arange(len(losses)), losses)  # tensors give matplotlib their numbers
    right.plot(np.arange(len(thetas)), thetas)
    left.set(title="loss (RMSE)", xlabel="epoch", yscale="log")
    right.set(title="exponent θ", xlabel="epoch")
    figure.savefig(file, dpi=120)
    plt.close(figure)
    print(f"drawn in {file}")


# ---- what else a tape does --------------------------------------------------------------


def by_backward(x, y, epochs, learning_rate=5e-6):
    """The same descent with wengert's own `backward` and optimizer, to compare."""
    theta = wg.tensor(4.0, requires_grad=True)
    optimizer = wg.optim.SGD([theta], lr=learning_rate)
    for _ in range(epochs):
        optimizer.zero_grad()
        loss = (y - x.pow(theta)).square().mean().sqrt()
        loss.backward()
        optimizer.step()
    return theta.item()


def second_derivatives():
    """Newton's method: the inner tape's gradient is recorded by the outer one."""
    x = tf.Variable(2.0, dtype=tf.float64)
    print("\nNewton's method for the minimum of exp(x) - 2x, by nested tapes:")
    for _ in range(6):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = tf.exp(x) - 2 * x
            slope = inner.gradient(y, x)
        curvature = outer.gradient(slope, x)
        print(f"  x = {x.numpy():.12f}  slope {slope.numpy():+.1e}")
        x.assign_sub(slope / curvature)
    assert abs(x.numpy() - np.log(2)) < 1e-12


def jacobians():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.square(x) * tf.reduce_sum(x, axis=1, keepdims=True)
        with tape.stop_recording():
            scale = tf.reduce_max(y)  # a constant to the tape
        z = y / scale
    whole, blocks = tape.jacobian(y, x), tape.batch_jacobian(y, x)
    print(f"\njacobian {list(whole.shape)}, batch_jacobian {list(blocks.shape)}:")
    print(blocks.numpy())
    np.testing.assert_allclose(np.einsum("bibj->bij", whole), blocks)
    np.testing.assert_allclose(tape.gradient(z, x) * scale, tape.gradient(y, x), rtol=1e-6)


def misuse():
    x = tf.Variable(3.0)
    outside = x * x
    with tf.GradientTape() as tape:
        y = x * x * x
    print("\nTwo questions to a tape that is not persistent, and a target it did not record:")
    tape.gradient(y, x)
    persistent = tf.GradientTape(persistent=True)
    with persistent:
        _ = x + 1
    for ask in (lambda: tape.gradient(y, x), lambda: persistent.gradient(outside, x)):
        try:
            ask()
        except RuntimeError as error:
            print(f"  {str(error).splitlines()[0]}")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=5000)
    parser.add_argument("--out", type=Path, help="a folder for the plot of loss and theta")
    args = parser.parse_args(argv)
    wg.manual_seed(0)
    x_train = wg.rand(10) * 10
    y_train = x_train.pow(1.5)

    losses, thetas = train(x_train, y_train, args.epochs)
    last = args.epochs - 1
    for epoch in sorted({0, last // 100, last // 10, last // 2, last}):
        print(f"{epoch:6d}  loss {float(losses[epoch]):12.6f}  theta {thetas[epoch]:.6f}")
    other = by_backward(x_train, y_train, args.epochs)
    print(f"backward() and optim.SGD come to theta {other:.6f} by the same steps")
    assert abs(other - thetas[-1]) < 1e-5

    second_derivatives()
    jacobians()
    misuse()
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        plot(losses, thetas, args.out / "exponent_tape.png")


if __name__ == "__main__":
    main()
