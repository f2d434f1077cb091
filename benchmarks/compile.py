"""The compile benchmark: whole training steps and array functions as one compiled call each.

wengert is `wengert.compile`, JAX is `jax.jit`, PyTorch runs eagerly; NumPy and C are written by
hand. The smallest networks show what a call costs, the larger ones how little is added to their
matrix products, the functions of large arrays how near they come to the speed of memory.
"""

from collections.abc import Callable
from functools import partial

from benchmarks import calls, cnn, elementwise, first_call, gpt, mlp
from benchmarks.peers import load
from benchmarks.report import OURS, Report
from benchmarks.running import chosen, run_cases
from benchmarks.timing import Case, Target

PEERS = ("wengert", "PyTorch", "JAX", "NumPy", "C")
LEGEND = (
    "wengert is wengert.compile, JAX is jax.jit, PyTorch is eager. PyTorch is the best of its "
    "optimizers' implementations and, where there is attention, of attention written out and its "
    "own (*: not its default). matmuls: the step's matrix products alone, in NumPy. memory: only "
    "moving the function's bytes. Both are the best of several ways (*)."
)
STEPS = "A compiled training step"
OVERHEAD = Target("JAX", 1.0)
AT_BOUND = (Target("memory", 1.2),)
FIRST_CALL = (Target("JAX", 0.5),)
MLP_TARGETS = {
    mlp.SMALL_1: (Target("PyTorch", 0.01), Target("JAX", 0.125)),
    mlp.SMALL_2: (Target("PyTorch", 1 / 15), Target("JAX", 0.25)),
    mlp.MIDDLE: (Target("matmuls", 1.15),),
    mlp.LARGE: (Target("matmuls", 1.15),),
}


# Section, name, targets, and what makes the case. Made only if asked for: some hold large arrays.
LINES: list[tuple[str, str, tuple[Target, ...], Callable[..., Case]]] = [
    *[
        (STEPS, f"{p}, SGD", MLP_TARGETS[p], partial(mlp.compiled_case, problem=p))
        for p in mlp.PROBLEMS
    ],
    (STEPS, gpt.NAME, (Target("PyTorch", 1 / 1.5), Target("JAX", 1.0)), gpt.gpt_case),
    (STEPS, str(cnn.PLAIN), (Target("PyTorch", 1.1), Target("JAX", 1.1)), cnn.cnn_case),
    *[
        (elementwise.SECTION, name, AT_BOUND, partial(elementwise.elementwise_case, name=name))
        for name in (elementwise.CHAIN, elementwise.LOGSUMEXP)
    ],
    (elementwise.CALL_SECTION, elementwise.CALL, (OVERHEAD,), elementwise.call_case),
    *[
        (
            calls.SECTION,
            name,
            calls.PART if shape in calls.IN_PARTS else calls.STEP,
            partial(calls.step_case, name=name),
        )
        for name, shape in calls.SHAPES.items()
    ],
    *[
        (calls.ARRAYS_SECTION, name, calls.ARRAYS, partial(calls.arrays_case, name=name))
        for name in calls.CONTAINERS
    ],
    (calls.ARRAYS_SECTION, calls.NUMBER, (Target("flat", 1.5),), calls.numbers_case),
    (calls.ARRAYS_SECTION, calls.GUARDS, calls.GUARDED, calls.guards_case),
]


def run(peers, quick: bool, only) -> Report:
    """Check that the peers compute the same numbers, time them, then time first calls."""
    modules, missing = load(peers)
    if OURS in modules and not callable(getattr(modules[OURS], "compile", None)):
        del modules[OURS]
        missing[OURS] = "not available: this version has no wengert.compile"
    report = Report("compile", list(modules), missing, quick, LEGEND)
    cases = [
        make(modules, section, targets=targets)
        for section, name, targets, make in LINES
        if chosen(section, name, only)
    ]
    run_cases(cases, report)
    programs = [p for p, name in first_call.NAMES.items() if chosen(first_call.SECTION, name, only)]
    first_call.measure(programs, report, FIRST_CALL)
    return report
