"""What NumPy's functions mean on traced arrays: statements of a program's small vocabulary.

A function that is not named here is, in this order: written in terms of others by its own body (our
primitives) or by the meaning it has on Tensors; or one opaque statement, which the compiled program
carries out by calling it. Its shape is then learned by running it once on zeros.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.arrays.translated import through_tensors
from wengert.compile.trace import reductions as reductions
from wengert.compile.trace import shapes as shapes
from wengert.compile.trace.array import Trace, TracedArray
from wengert.compile.trace.core import MEANINGS, OPAQUE, into, is_tensor
from wengert.compile.trace.core import Postponed as Postponed
from wengert.compile.trace.core import opaque as opaque
from wengert.compile.trace.indexing import getitem as getitem
from wengert.compile.trace.indexing import setitem as setitem
from wengert.compile.trace.primitives import primitives
from wengert.compile.trace.ufuncs import of_ufunc as of_ufunc
from wengert.rules import RULES


def of_function(trace: Trace, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of a NumPy function or a primitive with traced arrays among its arguments."""
    from wengert.functions.numpy.calls import TRANSLATIONS

    if any(is_tensor(x) for x in (*args, *kwargs.values())):
        return NotImplemented
    out = kwargs.pop("out", None)
    if out is not None:
        return into(out, of_function(trace, function, args, kwargs))
    kwargs = {k: v for k, v in kwargs.items() if v is not np._NoValue}
    if not OPAQUE:
        primitives()
    meaning = MEANINGS.get(function)
    if meaning is not None:
        return meaning(trace, *args, **kwargs)
    plain = getattr(function, "plain", None)
    if plain is not None and function not in OPAQUE and not function.opaque:
        return plain(*args, **kwargs)
    if function in TRANSLATIONS and function not in RULES:
        return through_tensors(TracedArray, TRANSLATIONS[function], args, kwargs)
    return opaque(trace, function, args, kwargs)
