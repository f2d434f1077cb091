"""A problem within a problem: regularisation, tuned by the gradient of the validation loss.

Inner problem: weights w(s) that minimize the training loss of a linear classifier of digits plus
exp(s_k) |w_k|^2 / 2, with one strength for the pixels at the rim of the image and one for those in
the middle. Outer problem: strengths s that minimize the validation loss of w(s). The inner problem
is solved by SciPy's L-BFGS, which nobody differentiates: the derivative of w by s comes from the
condition that the inner gradient vanishes, by the implicit function theorem. The linear system with
the Hessian, of 650 unknowns, is solved by conjugate gradients, from products with the Hessian.
"""

import argparse

import numpy as np
import scipy.optimize

import wengert as wg
from wengert.datasets import load_digits

F = wg.nn.functional
CLASSES = 10
RIM = np.ones((8, 8))
RIM[2:-2, 2:-2] = 0
GROUPS = np.stack([RIM.ravel(), 1 - RIM.ravel()])  # which of the two strengths a pixel has


def by_lbfgs(f, w0):
    """A minimum of f, which knows nothing of what comes after."""
    both = wg.value_and_grad(lambda w: f(w.reshape(w0.shape)))
    options = {"gtol": 1e-8, "ftol": 0.0, "maxiter": 5000, "maxcor": 30}
    found = scipy.optimize.minimize(both, w0.ravel(), jac=True, method="L-BFGS-B", options=options)
    return found.x.reshape(w0.shape)


@wg.implicit.argmin(by_lbfgs, linear_solver="cg", rtol=1e-6)
def weights(w, strengths, images, labels):
    """The weights, (65, 10), the last row of which is the bias."""
    penalty = np.matmul(np.exp(strengths), GROUPS)  # one for each pixel
    return cross_entropy(w, images, labels) + np.sum(penalty[:, None] * w[:-1] ** 2) / 2


def cross_entropy(w, images, labels):
    scores = np.matmul(images, w[:-1]) + w[-1]
    top = np.max(scores, axis=1, keepdims=True)
    logs = np.log(np.sum(np.exp(scores - top), axis=1)) + top[:, 0]
    return np.mean(logs - scores[np.arange(len(labels)), labels])


def accuracy(w, images, labels):
    return np.mean(np.argmax(images @ w[:-1] + w[-1], axis=1) == labels)


def split(rng, train=150, validation=450):
    images, labels = load_digits()
    order = rng.permutation(len(labels))
    images, labels = images.reshape(-1, 64).astype(np.float64)[order], labels[order]
    ends = [train, train + validation]
    return list(zip(np.split(images, ends), np.split(labels, ends), strict=True))


def check(outer, strengths):
    """The derivative in one direction, against a difference of two solved inner problems."""
    direction, h = np.array([1.0, -0.5]), 1e-2
    quotient = (outer(strengths + h * direction) - outer(strengths - h * direction)) / (2 * h)
    found = wg.grad(outer)(strengths) @ direction
    print(f"derivative in a direction: implicit {found:+.6f}, difference quotient {quotient:+.6f}")
    assert abs(found - quotient) < 1e-3 * abs(quotient)


def tune(outer, start, runs):
    """The outer minimum, by L-BFGS as well, from the implicit gradients."""
    both, seen = wg.value_and_grad(outer), []

    def run(strengths):
        loss, g = both(strengths)
        seen.append(loss)
        if len(seen) in (1, 2, 4, 8, 16):
            shown = ", ".join(f"{v:.1e}" for v in np.exp(strengths))
            print(f"  run {len(seen):2d}: strengths {shown}, validation loss {loss:.4f}")
        return loss, g

    bounds, options = [(-14.0, 0.0)] * len(start), {"maxfun": runs, "ftol": 1e-5}
    found = scipy.optimize.minimize(
        run, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options
    )
    shown = ", ".join(f"{v:.1e}" for v in np.exp(found.x))
    print(f"  end of {len(seen)}: strengths {shown}, validation loss {found.fun:.4f}")
    return found.x


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=16, help="of the inner problem, at most")
    args = parser.parse_args(argv)
    train, validation, test = split(np.random.default_rng(0))
    last = [np.zeros((65, CLASSES))]  # where the next inner problem starts: its gradient is zero

    def outer(strengths):
        w = weights(last[0], strengths, *train)
        last[0] = np.array(w.detach() if isinstance(w, wg.Tensor) else w)
        return cross_entropy(w, *validation)

    start = np.log([1e-5, 1e-5])
    check(outer, np.log([1e-2, 1e-3]))
    before = accuracy(weights(last[0], start, *train), *test)
    strengths = tune(outer, start, args.runs)
    after = accuracy(weights(last[0], strengths, *train), *test)
    print(f"test accuracy {before:.3f} -> {after:.3f}, with {len(train[1])} digits to train on")
    assert after > before
    return strengths


if __name__ == "__main__":
    main()
