"""Loops and branches of compiled functions, printed as NumPy source that runs by itself."""

import numpy as np
import pytest

import wengert as wg
from tests.control.test_compiled import cell, tensor, through_reverse, with_a_number
from tests.control.test_compiled_branches import either, in_a_loop, one_sided
from tests.control.test_compiled_while import counting, growing
from wengert.compile.program.source import namespace, source

TWO = tensor(3), tensor(3, seed=1)
THREE = tensor(3, 3), tensor(3, 3, seed=1), tensor(3, seed=2)


@pytest.mark.parametrize(
    ("f", "args"),
    [
        *((f, THREE) for f in (cell, through_reverse, with_a_number)),
        *((f, TWO) for f in (either, one_sided, in_a_loop, growing, counting)),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_the_printed_program_computes_what_the_function_does(f, args):
    def slopes(*args):
        made = f(*args)
        parts = made if isinstance(made, tuple) else (made,)
        return wg.autograd.grad(sum((y * y).sum() for y in parts), args, materialize_grads=True)

    compiled = wg.compile(slopes)
    known = compiled(*args)
    text = source(compiled.program)
    names = namespace(compiled.program)
    exec(text, names)  # noqa: S102  (the text is what is tested)
    made = names["program"](*(x.detach().numpy() for x in args[: len(compiled.program.inputs)]))
    for a, b in zip(made, known, strict=True):
        assert np.allclose(a, b.detach())


def test_explaining_a_loop_that_would_not_end_on_ones():
    f = wg.compile(lambda x: wg.while_loop(lambda y: y > 0, lambda y: y * 1.0, x))
    f(wg.tensor(-1.0))
    assert "until" in str(f.explain())
