"""An engine for derivatives from nothing but NumPy, in nine steps, each of which checks its claims.

This is an essay that runs: `python docs/from_scratch.py`. It builds, in the order in which one
would think of them, the ideas on which wengert stands, each in its smallest form, and ends with a
network that reads handwritten digits. Where wengert does more, a note says what, and in which file.
"""

import heapq
import itertools
import math
from typing import NamedTuple

import numpy as np

# ---- 1. A value that remembers -----------------------------------------------------------------
#
# To differentiate a formula is school work: there is a rule for every function, and the chain rule
# puts them together. But who has a formula? We have programs, with loops, branches and calls.
#
# R. E. Wengert (1964): whatever a program computes, it computes in elementary steps. Write the
# steps down while the program runs, and its loops and branches are gone. What is left is a list,
# and each line on it is a function that somebody has differentiated before.
#
# So a `Value` is a number, or an array of them, and the step that made it: which function, of
# which arguments. We number values as we make them. Arguments come before results, which is all
# that we shall ever need to know about order.

numbers = itertools.count()


class Step(NamedTuple):
    """How a value was made."""

    function: object
    args: tuple
    settings: dict


class Value:
    """An array that remembers the step that made it, or None if it was simply given."""

    def __init__(self, array, step=None):
        self.array = np.asarray(array, np.float64)
        self.shape = self.array.shape
        self.step = step
        self.number = next(numbers)

    # NumPy asks its arguments what its own functions mean for them: ufuncs such as np.sin by the
    # first of these methods (NEP 13), all others by the second (NEP 18).
    def __array_ufunc__(self, ufunc, method, *args, **settings):
        return apply(ufunc, *args, **settings) if method == "__call__" else NotImplemented

    def __array_function__(self, function, types, args, settings):
        return apply(function, *args, **settings)

    __add__ = __radd__ = lambda a, b: apply(np.add, a, b)
    __mul__ = __rmul__ = lambda a, b: apply(np.multiply, a, b)
    __sub__ = lambda a, b: apply(np.subtract, a, b)
    __rsub__ = lambda a, b: apply(np.subtract, b, a)
    __truediv__ = lambda a, b: apply(np.divide, a, b)
    __rtruediv__ = lambda a, b: apply(np.divide, b, a)
    __matmul__ = lambda a, b: apply(np.matmul, a, b)
    __neg__ = lambda a: apply(np.negative, a)


def plain(x):
    return x.array if isinstance(x, Value) else x


def apply(function, *args, **settings):
    """Compute, and write down how."""
    return Value(function(*map(plain, args), **settings), Step(function, args, settings))


# That is all it takes to record a program. Our own functions are NumPy's, so a program written for
# NumPy needs no change; here is one that lectures on the subject like.


def f(x1, x2):
    return np.log(x1) + x1 * x2 - np.sin(x2)


x1, x2 = Value(2.0), Value(5.0)
y = f(x1, x2)
assert math.isclose(y.array, 11.652, rel_tol=1e-4)

# The steps hang together by their arguments. They are the graph; there is no other.

assert y.step.function is np.subtract  # the last step is a difference,
assert y.step.args[1].step.function is np.sin  # one side of which is a sine,
assert y.step.args[1].step.args == (x2,)  # which is that of x2


# ---- 2. A table of rules -----------------------------------------------------------------------
#
# For each function there is a rule: one lambda for each argument. Its first parameter, t, is what
# is passed on; then come the result y and the arguments. It multiplies by the derivative: t *
# dy/dx.

RULES = {
    np.add: (lambda t, y, a, b: t, lambda t, y, a, b: t),
    np.subtract: (lambda t, y, a, b: t, lambda t, y, a, b: -t),
    np.multiply: (lambda t, y, a, b: t * b, lambda t, y, a, b: t * a),
    np.divide: (lambda t, y, a, b: t / b, lambda t, y, a, b: -t * y / b),
    np.negative: (lambda t, y, x: -t,),
    np.exp: (lambda t, y, x: t * y,),
    np.log: (lambda t, y, x: t / x,),
    np.sin: (lambda t, y, x: t * np.cos(x),),
    np.cos: (lambda t, y, x: -t * np.sin(x),),
    np.tanh: (lambda t, y, x: t * (1 - y * y),),
}

# Nothing here has to be believed. A derivative is a limit of difference quotients, so a rule can
# be held against one. The error of a central difference is of the order of h² (the curve is not
# straight) plus 1e-16 / h (its ends are rounded), which is least near h = 6e-6.


def quotient(function, x, h=6e-6):
    return (function(x + h) - function(x - h)) / (2 * h)


points = np.array([0.3, 1.7, 2.9])
for function in (np.negative, np.exp, np.log, np.sin, np.cos, np.tanh):
    (slope,) = RULES[function]
    assert np.allclose(slope(1.0, function(points), points), quotient(function, points), atol=1e-9)

# In wengert a lambda names only what it needs, `lambda t, y: t * (1 - y * y)`, and only what is
# named is kept in memory (rules/rule.py; the table begins in rules/elementwise.py).


# ---- 3. The sweep ------------------------------------------------------------------------------
#
# Now the chain rule, from the result back. Let the cotangent of a value be the derivative of the
# result by it. The result's own is 1. A value hands its cotangent to its arguments through the
# rule, and what is used twice gets two shares, which are added.
#
# A value must not be asked before all its users have paid. That is easy: users are made later, so
# take the value that was made last among those that wait. Then each step is visited once, however
# many paths lead through it, and that is the whole secret of reverse mode: all n derivatives for
# the price of a few evaluations, not of n.
#
# `read` is what rules get to see of a value: its array. We shall want to see more in step 6.


def pull(k, g, function, known, settings):
    """The share of argument k in a cotangent g; `known` are the result and the arguments."""
    return RULES[function][k](g, *known, **settings)


def gradient(y, inputs, read=plain):
    """dy/dx for each x of the inputs."""
    cotangents = {y.number: read(Value(np.ones(y.shape)))}
    waiting = [(-y.number, y)]
    while waiting:
        _, value = heapq.heappop(waiting)
        if value.step is None:
            continue
        function, args, settings = value.step
        known = [read(x) for x in (value, *args)]
        for k, x in enumerate(args):
            if not isinstance(x, Value):
                continue
            share = pull(k, cotangents[value.number], function, known, settings)
            if x.number in cotangents:
                cotangents[x.number] = cotangents[x.number] + share
            else:
                cotangents[x.number] = share
                heapq.heappush(waiting, (-x.number, x))
    return [cotangents.get(x.number, np.zeros(x.shape)) for x in inputs]


d1, d2 = gradient(y, [x1, x2])
assert math.isclose(d1, 1 / 2 + 5)  # 1/x1 + x2
assert math.isclose(d2, 2 - math.cos(5))  # x1 - cos x2

# A number squared sixty times: 2**60 paths lead from the result to x. We would still be waiting if
# the sweep followed each of them.

x = product = Value(1.0)
for _ in range(60):
    product = product * product
assert gradient(product, [x]) == [2.0**60]

# Branches and loops of Python are not seen at all, only what they did. And the sweep is a loop,
# not a recursion: a long history is no trouble.


def collatz(x):
    while plain(x) != 1:
        x = x / 2 if plain(x) % 2 == 0 else 3 * x + 1
    return x


x = Value(27.0)  # 111 steps: 41 times 3x + 1, and 70 times x / 2
assert gradient(collatz(x), [x]) == [3**41 / 2**70]

x = total = Value(1.0)
for _ in range(20_000):
    total = total + 1e-4
assert gradient(total, [x]) == [1.0]

# wengert's sweep is this loop (autograd/engine.py). It also lets go of history as it proceeds,
# runs hooks, notices values that were overwritten, and changes no gradient if it fails. Its steps
# do not hold the values that they made, so history is freed without the garbage collector.


# ---- 4. Arrays ---------------------------------------------------------------------------------
#
# All of this holds for arrays, element by element, but for one thing. NumPy repeats a smaller
# array to fit a larger one. If a number is used n times, a change of it counts n times: its
# cotangent is the sum over the places to which it was repeated.


def unbroadcast(g, shape):
    """Sum over the dimensions along which an array of `shape` was repeated to the shape of g."""
    extra = len(g.shape) - len(shape)
    if extra:
        g = np.sum(g, axis=tuple(range(extra)))
    repeated = tuple(k for k, n in enumerate(shape) if n == 1 and g.shape[k] != 1)
    return np.sum(g, axis=repeated, keepdims=True) if repeated else g


assert unbroadcast(np.ones((4, 3)), (3,)).tolist() == [4, 4, 4]
assert unbroadcast(np.ones((4, 3)), (4, 1)).tolist() == [[3]] * 4

# It is the same for every rule, so no rule mentions it: we put it behind all of them. The sweep,
# which looks `pull` up by name when it runs, is none the wiser.

pull_of_same_shape = pull


def pull(k, g, function, known, settings):
    share = pull_of_same_shape(k, g, function, known, settings)
    return unbroadcast(share, known[1 + k].shape)


column, row = Value([[1.0], [2.0]]), Value([3.0, 4.0, 5.0])
by_column, by_row = gradient(column * row, [column, row])
assert by_column.tolist() == [[12.0], [12.0]]  # 3 + 4 + 5, for each row
assert by_row.tolist() == [3.0, 3.0, 3.0]  # 1 + 2, for each column


# ---- 5. Functions that mix elements ------------------------------------------------------------
#
# Sums, products of matrices, changes of shape: each is linear in an argument, y = A x, and pulls a
# cotangent back by the transpose: Aᵀ g. The transpose of a sum hands the cotangent of the total to
# every term; that of repeating is adding up; that of a reshape is to reshape back.


def spread(g, shape, axis, keepdims):
    if axis is not None and not keepdims:
        axes = (axis,) if isinstance(axis, int) else axis
        g = np.reshape(g, tuple(1 if k in axes else n for k, n in enumerate(shape)))
    return np.broadcast_to(g, shape)


LINEAR = {
    np.sum: (lambda g, y, a, axis=None, keepdims=False: spread(g, a.shape, axis, keepdims),),
    np.broadcast_to: (lambda g, y, a, shape: unbroadcast(g, a.shape),),
    np.reshape: (lambda g, y, a, shape: np.reshape(g, a.shape),),
    np.transpose: (lambda g, y, a: np.transpose(g),),
    np.matmul: (
        lambda g, y, a, b: np.matmul(g, np.transpose(b)),
        lambda g, y, a, b: np.matmul(np.transpose(a), g),
    ),
}
RULES |= LINEAR

# A transpose is defined by <g, A t> = <Aᵀ g, t>. So draw g and t at random: no difference
# quotients, and no tolerance but rounding.

random = np.random.default_rng(0)
A, t, g = (random.standard_normal(shape) for shape in ((4, 3), (3, 2), (4, 2)))
_, transpose = RULES[np.matmul]
assert np.isclose(np.sum(g * (A @ t)), np.sum(transpose(g, None, A, t) * t))
(transpose,) = RULES[np.sum]
assert np.isclose(np.sum(g[:, 0] * np.sum(A, axis=1)), np.sum(transpose(g[:, 0], None, A, 1) * A))

# Now we can differentiate a layer of a network, and find what textbooks derive with much ado about
# indices: dW = Xᵀ dY, db = the sum of dY over the batch, dX = dY Wᵀ.

X, W, b = Value(random.standard_normal((5, 3))), Value(A.T), Value(np.zeros(4))
dW, db, dX = gradient(np.sum(np.tanh(X @ W + b)), [W, b, X])
dY = 1 - np.tanh(X.array @ W.array) ** 2
assert np.allclose(dW, X.array.T @ dY)
assert np.allclose(db, dY.sum(0))
assert np.allclose(dX, dY @ W.array.T)


# ---- 6. Derivatives of derivatives -------------------------------------------------------------
#
# Look at the rules again: they are NumPy programs. Given arrays they compute numbers. Given Values
# they are recorded, as every NumPy program is; then the derivative is a Value with a history, and
# can be differentiated in its turn. So let the rules read the values themselves. All that this
# asks of them is to use only functions that have rules.


def itself(x):
    return x


x = Value(0.7)
(first,) = gradient(np.sin(x) * np.exp(x), [x], read=itself)
(second,) = gradient(first, [x], read=itself)
(third,) = gradient(second, [x])
assert np.isclose(first.array, math.exp(0.7) * (math.sin(0.7) + math.cos(0.7)))
assert np.isclose(second.array, 2 * math.exp(0.7) * math.cos(0.7))
assert np.isclose(third, 2 * math.exp(0.7) * (math.cos(0.7) - math.sin(0.7)))

# A Hessian times a vector, without the Hessian: the gradient of the number <grad f, v>.

x, v = Value([1.0, 2.0, 3.0]), np.array([1.0, 0.0, -1.0])
(first,) = gradient(np.sum(x * x * x), [x], read=itself)
(product,) = gradient(np.sum(first * v), [x])
assert np.allclose(product, 6 * x.array * v)

# The same trick once more makes the rest of wengert. Arrays that stand for a batch
# (arrays/batched), that write a program down so that it can be compiled (compile/trace), or that
# are symbols (arrays/symbolic) all go through this one table.


# ---- 7. Forward mode ---------------------------------------------------------------------------
#
# The list can be read from its first step to its last as well. Let the tangent of a value be its
# change when the input moves in a direction t. For functions that act element by element, the
# Jacobian is diagonal, and the product with a diagonal matrix is the same from both sides: the
# lambda that pulled cotangents back pushes tangents forward. And the change of a linear function
# is the function of the change.


def history(y):
    """All values that y depends on, in the order in which they were made."""
    found, waiting = {y.number: y}, [y]
    while waiting:
        step = waiting.pop().step
        for x in step.args if step else ():
            if isinstance(x, Value) and x.number not in found:
                found[x.number] = x
                waiting.append(x)
    return [found[number] for number in sorted(found)]


def push(y, x, t):
    """The derivative of y in the direction t of x: J t."""
    tangents = {x.number: t}
    for value in history(y):
        if value.step is None:
            continue
        function, args, settings = value.step
        known = [plain(x) for x in args]
        for k, x in enumerate(args):
            if not isinstance(x, Value) or x.number not in tangents:
                continue
            t = tangents[x.number]
            if function in LINEAR:
                change = function(*known[:k], t, *known[k + 1 :], **settings)
            else:
                change = RULES[function][k](t, value.array, *known, **settings)
            tangents[value.number] = tangents.get(value.number, np.zeros(value.shape)) + change
    return tangents.get(y.number, np.zeros(y.shape))


assert math.isclose(push(y, x1, 1.0), 5.5)

# One run gives one column of the Jacobian, J t; one sweep gives one row, Jᵀ g. They are readings
# of one table, so they must agree: <g, J t> = <Jᵀ g, t>. This one line tests every rule that it
# uses.

X, t, g = Value(X.array), random.standard_normal((5, 3)), random.standard_normal((5, 4))
Y = np.tanh(X @ W + b) / (1 + np.exp(-X @ W))
(back,) = gradient(np.sum(Y * g), [X])
assert np.isclose(np.sum(g * push(Y, X, t)), np.sum(back * t))

# wengert pushes tangents while the program runs, so that nothing needs to be kept
# (autograd/forward.py). Its tests hold each rule against a difference quotient in this direction,
# and the two directions against each other.


# ---- 8. A network that reads digits ------------------------------------------------------------
#
# The engine is finished. Here is a use: 1,797 pictures of handwritten digits, 8 by 8 dots each,
# come with wengert; a fifth of them is put aside, for the examination.

from wengert.datasets import load_digits  # noqa: E402 - the essay needs it only now

images, labels = load_digits()
images = images.reshape(len(images), 64).astype(np.float64)
order = random.permutation(len(images))
held_out, training = order[:360], order[360:]
targets = np.eye(10)[labels]

# Two layers make ten scores of 64 dots. The loss is the cross-entropy, -log p of the right digit.
# The largest score is taken off first, as a plain number: that changes neither the value nor the
# derivative, and no exponential overflows.
#
# (`images @ W1` is a product of an array and a Value. NumPy's operator asks the Value what that
# means, and so it is recorded.)


def scores(images, parameters):
    W1, b1, W2, b2 = parameters
    return np.tanh(images @ W1 + b1) @ W2 + b2


def cross_entropy(z, targets):
    z = z - np.max(plain(z), axis=1, keepdims=True)
    logarithms = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
    return -np.sum(targets * logarithms) / len(targets)


# Training is to walk downhill, a few pictures at a time, with some momentum.

parameters = [
    Value(random.standard_normal((64, 32)) / 8),
    Value(np.zeros(32)),
    Value(random.standard_normal((32, 10)) / 6),
    Value(np.zeros(10)),
]
speed = [np.zeros(p.shape) for p in parameters]
losses = []
for _ in range(12):
    random.shuffle(training)
    for batch in np.array_split(training, 24):
        loss = cross_entropy(scores(images[batch], parameters), targets[batch])
        for k, dp in enumerate(gradient(loss, parameters)):
            speed[k] = 0.9 * speed[k] - 0.1 * dp
            parameters[k] = Value(parameters[k].array + speed[k])
        losses.append(float(loss.array))

read = np.argmax(scores(images[held_out], parameters).array, axis=1)
accuracy = np.mean(read == labels[held_out])
assert np.mean(losses[-24:]) < losses[0] / 10
assert accuracy > 0.93


# ---- 9. The same with wengert ------------------------------------------------------------------
#
# Its functions are NumPy's too, so it takes the network as it stands, and the gradients agree to
# the last digits. What it adds to this page is [how the engine works](engine.md).

import wengert as wg  # noqa: E402

some = held_out[:50]


def loss_of(*parameters):
    return cross_entropy(scores(images[some], parameters), targets[some])


ours = gradient(loss_of(*parameters), parameters)
theirs = wg.grad(loss_of, argnums=(0, 1, 2, 3))(*(p.array for p in parameters))
for mine, yours in zip(ours, theirs, strict=True):
    assert np.allclose(mine, yours, rtol=1e-12, atol=1e-14)

if __name__ == "__main__":
    print(f"every claim holds; the network reads {accuracy:.1%} of the digits it has not seen")
