"""The tables for those who come from other libraries: rows are run on both sides, and compared."""

from __future__ import annotations

import functools
import importlib.util
import pickle
import re
import subprocess
import sys
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

# In a process of its own: JAX warns, in its own, of each fork that comes after.
THERE = """
import pickle, sys
import numpy as np
from wengert import tree

texts, rows = pickle.load(sys.stdin.buffer)
names = {}
for text in texts:
    exec(text, names)
found = {row: [np.asarray(x) for x in tree.leaves(eval(row, names))] for row in rows}
pickle.dump(found, sys.stdout.buffer)
"""


def read(name: str) -> tuple[str, list[tuple[str, str]]]:
    """The code above a page's table, and the rows of two pieces of code."""
    page = (DOCS / f"coming_from_{name}.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert code
    return code[1], re.findall(r"^\| `(.*)` \| `(.*)` \|$", page, re.MULTILINE)


ROWS = [(name, *row) for name in IMPORTS for row in read(name)[1]]


@functools.cache
def here(page: str) -> dict[str, Any]:
    """The names of a page's code."""
    names: dict[str, Any] = {}
    exec(read(page)[0], names)  # noqa: S102
    return names


@functools.cache
def there(page: str) -> dict[str, list[Any]] | None:
    """What each row gives on the other side; None if that is not installed."""
    if importlib.util.find_spec(page) is None:
        return None
    code, rows = read(page)
    data, _, functions = code.partition("\n\n\n")
    texts = [IMPORTS[page], data, functions.replace("np.", THEIR_NUMPY[page])]
    asked = pickle.dumps((texts, [theirs for theirs, _ in rows]))
    done = subprocess.run([sys.executable, "-c", THERE], input=asked, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return pickle.loads(done.stdout)


@pytest.mark.parametrize(("page", "theirs", "ours"), ROWS, ids=[row[1] for row in ROWS])
def test_a_row_gives_the_same_on_both_sides(page, theirs, ours):
    found = tree.leaves(eval(ours, here(page)))  # noqa: S307
    assert found
    expected = there(page)
    if expected is None:
        pytest.skip(f"needs {page}")
    for mine, its in zip(found, expected[theirs], strict=True):
        np.testing.assert_allclose(np.asarray(mine), its, rtol=1e-6, atol=1e-7)
