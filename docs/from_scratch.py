"""An engine for derivatives from nothing but NumPy, in nine steps, each of which checks its claims.

This is an essay that runs: `python docs/from_scratch.py`. It builds, in the order in which one
would think of them, the ideas on which wengert stands, each in its smallest form, and ends with a
network that reads handwritten digits. Where wengert does more, a note says what, and in which file.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

# ---- 1. A value that remembers -----------------------------------------------------------------
#
# R. E. Wengert (1964): whatever a program computes is a list of elementary steps. Write the list
# down while the program runs, and the program's branches and loops are gone: what is left is a
# straight line of steps, each of which somebody has differentiated before.
#
# So a `Value` is an array, and the step that made it: which function, of which arguments. Values
# are numbered in the order in which they are made. An argument is always made before a result,
# which is all that the sweep of step 4 needs to know about order.

numbers = itertools.count()


class Step(NamedTuple):
    """How a value was made."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    settings: dict[str, Any]


class Value:
    """An array, and its history: the step that made it, or None if it was simply given."""

    def __init__(self, array: Any, step: Step | None = None) -> None:
        self.array = np.asarray(array, np.float64)
        self.step = step
        self.number = next(numbers)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    # NumPy asks its arguments what its own functions mean for them: ufuncs such as np.sin by the
    # first method (NEP 13), all others by the second (NEP 18). Hence no function is written anew,
    # and code that was written for NumPy is recorded as it stands.
    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **settings: Any) -> Any:
        return apply(ufunc, *args, **settings) if method == "__call__" else NotImplemented

    def __array_function__(self, function: Any, types: Any, args: Any, settings: Any) -> Any:
        return apply(function, *args, **settings)

    __add__ = __radd__ = lambda a, b: apply(np.add, a, b)
    __mul__ = __rmul__ = lambda a, b: apply(np.multiply, a, b)
    __sub__ = lambda a, b: apply(np.subtract, a, b)
    __rsub__ = lambda a, b: apply(np.subtract, b, a)
    __truediv__ = lambda a, b: apply(np.divide, a, b)
    __rtruediv__ = lambda a, b: apply(np.divide, b, a)
    __matmul__ = lambda a, b: apply(np.matmul, a, b)
    __neg__ = lambda a: apply(np.negative, a)


def plain(x: Any) -> Any:
    return x.array if isinstance(x, Value) else x


def apply(function: Callable[..., Any], *args: Any, **settings: Any) -> Value:
    """Compute, and write down how."""
    return Value(function(*map(plain, args), **settings), Step(function, args, settings))


def lectures_function(x1: Any, x2: Any) -> Any:
    return np.log(x1) + x1 * x2 - np.sin(x2)


x1, x2 = Value(2.0), Value(5.0)
y = lectures_function(x1, x2)
assert abs(y.array - 11.652) < 1e-3
assert y.step.function is np.subtract  # the last step is the difference ...
assert y.step.args[1].step.function is np.sin  # ... of which one side is the sine
assert y.step.args[1].step.args == (x2,)  # of x2. That is the graph; there is no other.


# ---- 2. Rules are data -------------------------------------------------------------------------
#
# For each function, one lambda for each argument. Its first parameter is the quantity that is
# passed on; then come the function's result and its arguments. For a function that acts on each
# element by itself the lambda multiplies by the derivative of that element: t * dy/dx.
#
# Because the product with a diagonal matrix is the same from both sides, this one line serves two
# purposes: it pushes a tangent forward (dy from dx) and pulls a cotangent back (dL/dx from dL/dy).


class Rule(NamedTuple):
    lambdas: tuple[Callable[..., Any], ...]
    linear: bool = False


RULES: dict[Any, Rule] = {
    np.add: Rule((lambda t, y, a, b: t, lambda t, y, a, b: t)),
    np.subtract: Rule((lambda t, y, a, b: t, lambda t, y, a, b: -t)),
    np.multiply: Rule((lambda t, y, a, b: t * b, lambda t, y, a, b: t * a)),
    np.divide: Rule((lambda t, y, a, b: t / b, lambda t, y, a, b: -t * y / b)),
    np.negative: Rule((lambda t, y, x: -t,)),
    np.exp: Rule((lambda t, y, x: t * y,)),
    np.log: Rule((lambda t, y, x: t / x,)),
    np.sin: Rule((lambda t, y, x: t * np.cos(x),)),
    np.cos: Rule((lambda t, y, x: -t * np.sin(x),)),
    np.tanh: Rule((lambda t, y, x: t * (1 - y * y),)),
}

# A rule can be held against the limit that it claims to be. Central differences are wrong by the
# order of h² and of rounding / h; h near the cube root of the rounding makes the sum least.


def quotient(f: Callable[..., Any], x: Any, h: float = 6e-6) -> Any:
    return (f(x + h) - f(x - h)) / (2 * h)


points = np.array([0.3, 1.7, 2.9])
for function in (np.negative, np.exp, np.log, np.sin, np.cos, np.tanh):
    (slope,) = RULES[function].lambdas
    assert np.allclose(slope(1.0, function(points), points), quotient(function, points), atol=1e-9)

# wengert reads the lambdas' parameter names, and keeps only what is named: `lambda t, y: ...` keeps
# the result and lets the argument go. See rules/rule.py, and rules/elementwise.py for the table.


# ---- 3. Broadcasting ---------------------------------------------------------------------------
#
# NumPy repeats a smaller array to fit a larger one. If a number is used n times, a change of it
# counts n times: its cotangent is the sum over the places to which it was repeated.


def unbroadcast(g: Any, shape: tuple[int, ...]) -> Any:
    """Sum over the dimensions along which an array of `shape` was repeated to the shape of g."""
    extra = len(g.shape) - len(shape)
    if extra:
        g = np.sum(g, axis=tuple(range(extra)))
    repeated = tuple(k for k, n in enumerate(shape) if n == 1 and g.shape[k] != 1)
    return np.sum(g, axis=repeated, keepdims=True) if repeated else g


assert unbroadcast(np.ones((4, 3)), (3,)).tolist() == [4, 4, 4]
assert unbroadcast(np.ones((4, 3)), (4, 1)).tolist() == [[3]] * 4


# ---- 4. The sweep ------------------------------------------------------------------------------
#
# The chain rule, from the result back. Each value has a cotangent, the derivative of the result by
# it. That of the result is 1. Take the value that was made last among those waiting: nobody who
# could still add to its cotangent is left, since users are made after what they use. Hand its
# cotangent to its arguments through the rule; where two users meet, their shares are added.
#
# Each step is visited once, however many paths lead through it. That is the whole secret of
# reverse mode: n derivatives for the price of a few evaluations, not of n.

visits = 0


def gradient(y: Value, inputs: list[Value], higher: bool = False) -> list[Any]:
    """dy/dx for each of the inputs; as Values, with a history of their own, if `higher`."""
    global visits
    ones = np.ones(y.shape)
    cotangents: dict[int, Any] = {y.number: Value(ones) if higher else ones}
    waiting = [(-y.number, y)]
    while waiting:
        _, value = heapq.heappop(waiting)
        if value.step is None:
            continue
        visits += 1
        function, args, settings = value.step
        g = cotangents.pop(value.number) if value not in inputs else cotangents[value.number]
        known = [x if higher else plain(x) for x in (value, *args)]
        for argument, pull in zip(args, RULES[function].lambdas, strict=False):
            if not isinstance(argument, Value):
                continue
            share = unbroadcast(pull(g, *known, **settings), argument.shape)
            if argument.number in cotangents:
                cotangents[argument.number] = cotangents[argument.number] + share
            else:
                cotangents[argument.number] = share
                heapq.heappush(waiting, (-argument.number, argument))
    return [cotangents.get(x.number, 0.0) for x in inputs]


d1, d2 = gradient(y, [x1, x2])
assert abs(d1 - 5.5) < 1e-12  # 1/x1 + x2
assert abs(d2 - (2 - math.cos(5))) < 1e-12  # x1 - cos x2: the lecture's 1.716

# Sixty squarings: 2**60 paths from the result to x, and sixty visits.
x = product = Value(1.0)
for _ in range(60):
    product = product * product
visits = 0
assert gradient(product, [x]) == [2.0**60]
assert visits == 60

# And it is a loop, not a recursion: a long history is no trouble.
x = total = Value(1.0)
for _ in range(20_000):
    total = total + 1e-4
assert gradient(total, [x]) == [1.0]

# wengert's sweep is this loop (autograd/engine.py). It also frees history as it goes, runs hooks,
# notices values that were overwritten, and leaves all gradients alone when a pass fails. Its nodes
# do not keep the values that they made, so that history dies without the garbage collector.


# ---- 5. Functions that mix elements ------------------------------------------------------------
#
# Sums, products of matrices, changes of shape: each is linear in an argument, y = A x, and pulls a
# cotangent back by the transpose, A^T g. (Forward mode will apply the function itself.)


def spread(g: Any, shape: tuple[int, ...], axis: Any, keepdims: bool) -> Any:
    """The transpose of a sum: every term gets the cotangent of the total."""
    if axis is not None and not keepdims:
        axes = (axis,) if isinstance(axis, int) else axis
        around = tuple(1 if k in axes else n for k, n in enumerate(shape))
        g = np.reshape(g, around)
    return np.broadcast_to(g, shape)


RULES |= {
    np.sum: Rule(
        (lambda g, y, a, axis=None, keepdims=False: spread(g, a.shape, axis, keepdims),), True
    ),
    np.broadcast_to: Rule((lambda g, y, a, shape: unbroadcast(g, a.shape),), True),
    np.reshape: Rule((lambda g, y, a, shape: np.reshape(g, a.shape),), True),
    np.transpose: Rule((lambda g, y, a: np.transpose(g),), True),
    np.matmul: Rule(
        (
            lambda g, y, a, b: np.matmul(g, np.transpose(b)),
            lambda g, y, a, b: np.matmul(np.transpose(a), g),
        ),
        True,
    ),
}

# A transpose is defined by <g, A t> = <A^T g, t>, so it is checked by drawing g and t at random: no
# difference quotients, and no tolerance but rounding.
random = np.random.default_rng(0)
A, t, g = (random.standard_normal(shape) for shape in ((4, 3), (3, 2), (4, 2)))
_, transpose = RULES[np.matmul].lambdas
assert np.isclose(np.sum(g * (A @ t)), np.sum(transpose(g, None, A, t) * t))
(transpose,) = RULES[np.sum].lambdas
assert np.isclose(np.sum(g[:, 0] * np.sum(A, axis=1)), np.sum(transpose(g[:, 0], None, A, 1) * A))

# The gradient of a layer: dW = X^T dY, db = the sum over the batch, dX = dY W^T.
X, W, b = Value(random.standard_normal((5, 3))), Value(A.T), Value(np.zeros(4))
dW, db, dX = gradient(np.sum(np.tanh(X @ W + b)), [W, b, X])
dY = 1 - np.tanh(X.array @ W.array) ** 2
assert np.allclose(dW, X.array.T @ dY)
assert np.allclose(db, dY.sum(0))
assert np.allclose(dX, dY @ W.array.T)


# ---- 6. Derivatives of derivatives -------------------------------------------------------------
#
# The rules are ordinary NumPy code. Run on arrays they give numbers. Run on Values (`higher=True`)
# they are recorded like any other code, so that a derivative is a result, and has derivatives. No
# line is added for this; all it asks is that rules use only functions that have rules.

x = Value(0.7)
(first,) = gradient(np.sin(x) * np.exp(x), [x], higher=True)
(second,) = gradient(first, [x], higher=True)
(third,) = gradient(second, [x])
assert np.isclose(first.array, math.exp(0.7) * (math.sin(0.7) + math.cos(0.7)))
assert np.isclose(second.array, 2 * math.exp(0.7) * math.cos(0.7))
assert np.isclose(third, 2 * math.exp(0.7) * (math.cos(0.7) - math.sin(0.7)))

# The Hessian times a vector, without the Hessian: the gradient of <grad f, v>.
x, v = Value([1.0, 2.0, 3.0]), np.array([1.0, 0.0, -1.0])
(first,) = gradient(np.sum(x * x * x), [x], higher=True)
(product,) = gradient(np.sum(first * v), [x])
assert np.allclose(product, 6 * x.array * v)


# ---- 7. Forward mode ---------------------------------------------------------------------------
#
# The same list, from the first step to the last: each value gets a tangent, how it changes when the
# input moves in a direction t. Elementwise rules push with the very lambda that pulled; of a linear
# function the tangent is the function of the tangent. (wengert pushes while the program runs, so
# that nothing is kept: autograd/forward.py.)


def history(y: Value) -> list[Value]:
    """All values that y depends on, in the order in which they were made."""
    found, waiting = {y.number: y}, [y]
    while waiting:
        step = waiting.pop().step
        for argument in step.args if step else ():
            if isinstance(argument, Value) and argument.number not in found:
                found[argument.number] = argument
                waiting.append(argument)
    return [found[number] for number in sorted(found)]


def push(y: Value, x: Value, t: Any) -> Any:
    """The derivative of y along t at x: J t."""
    tangents = {x.number: np.asarray(t, np.float64)}
    for value in history(y):
        if value.step is None:
            continue
        function, args, settings = value.step
        rule, known = RULES[function], [plain(a) for a in args]
        for k, argument in enumerate(args):
            t = tangents.get(argument.number) if isinstance(argument, Value) else None
            if t is None:
                continue
            if rule.linear:
                change = function(*known[:k], t, *known[k + 1 :], **settings)
            else:
                change = rule.lambdas[k](t, value.array, *known, **settings)
            tangents[value.number] = tangents.get(value.number, np.zeros(value.shape)) + change
    return tangents.get(y.number, np.zeros(y.shape))


assert np.isclose(push(y, x1, 1.0), 5.5)

# Forward and reverse are two readings of one table, so they must agree: <g, J t> = <J^T g, t>.
X, t, g = Value(X.array), random.standard_normal((5, 3)), random.standard_normal((5, 4))
Y = np.tanh(X @ W + b) / (1 + np.exp(-X @ W))
(back,) = gradient(np.sum(Y * g), [X])
assert np.isclose(np.sum(g * push(Y, X, t)), np.sum(back * t))


# ---- 8. A network that reads digits ------------------------------------------------------------
#
# Nothing of the engine is new from here on. The loss is cross-entropy, -log p of the right digit,
# with the logarithm of the softmax written so that no exponential overflows: the largest score, a
# plain number, is taken off first, which changes neither the value nor the derivative.
#
# `images @ W1` is a product of an array and a Value: NumPy's operator asks the Value what that
# means, and so it is recorded.

from wengert.data import load_digits  # noqa: E402 - the essay needs it only now

images, labels = load_digits()
images = images.reshape(len(images), 64).astype(np.float64)
order = random.permutation(len(images))
held_out, training = order[:360], order[360:]
targets = np.eye(10)[labels]

parameters = [
    Value(random.standard_normal((64, 32)) / 8),
    Value(np.zeros(32)),
    Value(random.standard_normal((32, 10)) / 6),
    Value(np.zeros(10)),
]


def scores(images: Any, parameters: Any) -> Any:
    W1, b1, W2, b2 = parameters
    return np.tanh(images @ W1 + b1) @ W2 + b2


def cross_entropy(z: Any, targets: Any) -> Any:
    z = z - np.max(plain(z), axis=1, keepdims=True)
    logarithms = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
    return -np.sum(targets * logarithms) / len(targets)


speed = [np.zeros(p.shape) for p in parameters]
losses = []
for _ in range(12):
    random.shuffle(training)
    for batch in np.array_split(training, 24):
        loss = cross_entropy(scores(images[batch], parameters), targets[batch])
        for k, dp in enumerate(gradient(loss, parameters)):  # gradient descent with momentum
            speed[k] = 0.9 * speed[k] - 0.1 * dp
            parameters[k] = Value(parameters[k].array + speed[k])
        losses.append(float(loss.array))

read = np.argmax(scores(images[held_out], parameters).array, axis=1)
accuracy = np.mean(read == labels[held_out])
assert np.mean(losses[-24:]) < losses[0] / 10
assert accuracy > 0.93


# ---- 9. The same with wengert ------------------------------------------------------------------
#
# Its functions are NumPy's too, so the network above is given wengert's tensors as it stands.

import wengert as wg  # noqa: E402

some = held_out[:50]


def loss_of(*parameters: Any) -> Any:
    return cross_entropy(scores(images[some], parameters), targets[some])


ours = gradient(loss_of(*parameters), parameters)
theirs = wg.grad(loss_of, argnums=(0, 1, 2, 3))(*(p.array for p in parameters))
for mine, yours in zip(ours, theirs, strict=True):
    assert np.allclose(mine, yours, rtol=1e-12, atol=1e-14)

if __name__ == "__main__":
    print(f"every claim holds; the network reads {accuracy:.1%} of the digits it has not seen")
