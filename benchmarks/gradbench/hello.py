"""hello: f(x) = x², and its derivative 2x."""

import wengert as wg
from benchmarks.gradbench.problem import Problem, Workload


def square(x):
    return x * x


PROBLEM = Problem(
    fields={"x": "number"},
    functions={"square": wg.compile(square), "double": wg.compile(wg.grad(square))},
    derivatives=("double",),
    workloads=lambda data: [Workload("", lambda: {"x": 3.0})],
    repeated=False,
)
