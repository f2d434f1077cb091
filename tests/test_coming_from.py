"""The tables for those who come from other libraries: rows are run on both sides, and compared."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wengert import tree

DOCS = Path(__file__).parents[1] / "docs"

IMPORTS = {
    "jax": """
import jax, jax.scipy.stats, jax.experimental.ode
import jax.numpy as jnp
jax.config.update("jax_enable_x64", True)
""",
    "autograd": """
import autograd, autograd.scipy.special, autograd.scipy.stats
import autograd.numpy as anp
""",
    "numpy": """
import scipy.differentiate, scipy.integrate, scipy.interpolate, scipy.linalg, scipy.optimize
import scipy.special, scipy.stats
""",
}
THEIR_NUMPY = {"jax": "jnp.", "autograd": "anp.", "numpy": "np."}
"""For each page: what the other side imports, and how it writes `np.` in the page's functions."""


def read(name: str) -> tuple[str, list[tuple[str, str]]]:
    """The code above a page's table, and the rows of two pieces of code."""
    page = (DOCS / f"coming_from_{name}.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert code
    return code[1], re.findall(r"^\| `(.*)` \| `(.*)` \|$", page, re.MULTILINE)


ROWS = [(name, *row) for name in IMPORTS for row in read(name)[1]]


@pytest.fixture(scope="module")
def names() -> dict[str, tuple[dict[str, Any], dict[str, Any] | None]]:
    """The names on our side of each page, and on theirs if they are installed."""
    made = {}
    for name, imports in IMPORTS.items():
        code = read(name)[0]
        ours: dict[str, Any] = {}
        theirs: dict[str, Any] | None = {}
        exec(code, ours)  # noqa: S102
        try:
            exec(imports, theirs)  # noqa: S102
        except ImportError:
            theirs = None
        else:
            data, _, functions = code.partition("\n\n\n")
            exec(data, theirs)  # noqa: S102
            exec(functions.replace("np.", THEIR_NUMPY[name]), theirs)  # noqa: S102
        made[name] = ours, theirs
    return made


@pytest.mark.parametrize(("page", "theirs", "ours"), ROWS, ids=[row[1] for row in ROWS])
def test_a_row_gives_the_same_on_both_sides(names, page, theirs, ours):
    here, there = names[page]
    found = tree.leaves(eval(ours, here))  # noqa: S307
    assert found
    if there is None:
        pytest.skip(f"needs {page}")
    expected = tree.leaves(eval(theirs, there))  # noqa: S307
    for mine, its in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(mine), np.asarray(its), rtol=1e-6, atol=1e-7)
