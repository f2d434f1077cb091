"""lstm: a recurrent network that predicts the next character, with diagonal weights.

    f = σ(v W_f + B_f),   i = σ(h W_i + B_i),   o = σ(v W_o + B_o),   c = tanh(h W_c + B_c)
    s <- s f + i c,   h <- o tanh s

for each of the layers, whose output h is the next one's v. All products are element by element.
"""

import numpy as np

import wengert as wg
from benchmarks.gradbench.problem import InputError, Problem, Workload, generator


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def layer(weights, biases, v, h, s):
    W_f, W_i, W_o, W_c = weights
    B_f, B_i, B_o, B_c = biases
    f, i, o = sigmoid(v * W_f + B_f), sigmoid(h * W_i + B_i), sigmoid(v * W_o + B_o)
    c = np.tanh(h * W_c + B_c)
    s = s * f + i * c
    return o * np.tanh(s), s


def step(main, extra, state, x):
    """The prediction of what follows on x, and the state after it."""
    v, after = x * extra[0], []
    for (weights, biases), (h, s) in zip(main, state, strict=True):
        v, s = layer(weights, biases, v, h, s)
        after.append(np.stack([v, s]))
    return v * extra[1] + extra[2], np.stack(after)


def loss(main, extra, state, sequence):
    def predict(state, rows):
        x, following = rows
        y, state = step(main, extra, state, x)
        return state, np.sum(following * (y - np.log(2 + np.sum(np.exp(y)))))

    _, terms = wg.scan(predict, state, (sequence[:-1], sequence[1:]))
    return -np.sum(terms) / sequence[1:].size


def gradient(main, extra, state, sequence):
    return wg.grad(loss, argnums=(0, 1))(main, extra, state, sequence)


def prepare(main_params, extra_params, state, sequence):
    layers, b = len(state) // 2, state.shape[1]
    if len(sequence) < 2:
        raise InputError("field sequence has fewer than two rows, so nothing follows")
    return main_params.reshape(layers, 2, 4, b), extra_params, state.reshape(layers, 2, b), sequence


def workload(layers, length, b=14):
    def fields():
        draw = generator()
        return {
            "main_params": draw.uniform(size=(2 * layers, 4 * b)),
            "extra_params": draw.uniform(size=(3, b)),
            "state": draw.uniform(size=(2 * layers, b)),
            "sequence": draw.integers(0, 2, (length, b)).astype(float),
        }

    return Workload(f"l={layers},c={length}", fields)


SIZES = [(layers, length) for layers in (2, 4, 6) for length in (1024, 4096, 8192)]

PROBLEM = Problem(
    fields={"main_params": "2l 4b", "extra_params": "3 b", "state": "2l b", "sequence": "c b"},
    functions={"objective": wg.compile(loss), "jacobian": wg.compile(gradient)},
    derivatives=("jacobian",),
    workloads=lambda data: [workload(*size) for size in sorted(SIZES, key=np.prod)],
    prepare=prepare,
    work=lambda state, sequence, **_: len(state) // 2 * len(sequence),
    answer=lambda function, result: (
        np.concatenate([np.ravel(part) for part in result]).tolist()
        if function == "jacobian"
        else float(result)
    ),
)
