"""A container in another one, which Python or a library has gone through, is the program's own.

Libraries got copies with traced arrays in the place of NumPy's; where such a copy came back, as an
item of `d.values()` or of `sorted(l)`, the program wrote into the copy, and nothing arrived.
"""

from __future__ import annotations

import copy
import functools
import itertools
import operator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from wengert.errors import TracingError

FORMS = """
for v in d.values(): v['r'] = y | for k, v in d.items(): v['r'] = y | for v in l: v['r'] = y
list(l)[0]['r'] = y | sorted(l, key=len)[0]['r'] = y | [*l][0]['r'] = y | next(iter(l))['r'] = y
list(reversed(l))[0]["r"] = y | l.copy()[0]["r"] = y | copy.copy(l)[0]["r"] = y
tuple(l)[1]['r'] = y
list(zip(l, l))[0][0]['r'] = y | list(enumerate(l))[0][1]['r'] = y
list(itertools.chain(l, l))[0]['r'] = y | list(map(lambda v: v.update(r=y), l))
functools.reduce(lambda a, b: a, l)['r'] = y | max(l, key=len)['r'] = y | a, *b = l; a['r'] = y
(lambda *a: a[0].update(r=y))(*l) | d.setdefault('p', {})['r'] = y | d.get('p')['r'] = y
list(filter(None, l))[0]['r'] = y | functools.partial(lambda a: a.update(r=y), l[0])()
copy.deepcopy(l)[0]['r'] = y | dict(d)['p']['r'] = y | {**d}['p']['r'] = y | (l + l)[0]['r'] = y
l[:1][0]['r'] = y | list(d.values())[0]['r'] = y | for q in t: q.append(y) | list(t)[0].append(y)
l.pop(0)['r'] = y | l.insert(0, l.pop()); l[0]['r'] = y | max(l[0], l[1], key=len)['r'] = y
l[0]['r'] = y * (l[0] is list(l)[0]) | l.sort(key=lambda v: v['k']); l[0]['r'] = y
list(itertools.repeat(l[0], 2))[0]['r'] = y | q = {}; q.update(z=l[0]); q['z']['r'] = y
q = [l[0]]; q[0]['r'] = y | q = dict(z=l[0]); q['z']['r'] = y | operator.itemgetter(0)(l)['r'] = y
l[0]['r'] = np.stack([v['r'] for v in l]).sum(0) | l[0]['r'] = y * sum(map(np.sum, n[0][0]))
l[0]['r'] = y * np.sum(n) | l[0]['r'] = y * list(map(np.sum, n))[0]
l[0]['r'] = y * [np.sum(q) for p in n for q in p][0] | l[0]['r'] = y * max(map(np.sum, n[0]))
for p in n: [q.__setitem__(0, y) for q in p]
""".replace("\n", " | ").strip(" |").split(" | ")  # fmt: skip
MADE = """
A = lambda: np.array([1., 2., 3.])
d = {'p': {'r': A()}, 'q': {'r': A(), 's': 1}}
l = [{'r': A(), 'k': 2}, {'r': A(), 's': 1, 'k': 1}]
t = ([A()], [A(), A()])
n = [[[A(), A()]], [[A(), A()]]]
"""


def shown(x: Any) -> Any:
    if isinstance(x, dict):
        return {key: shown(value) for key, value in x.items()}
    if isinstance(x, list | tuple):
        return [type(x), *map(shown, x)]
    return x.tolist() if hasattr(x, "tolist") else x


def told(form: str, compiled: bool) -> list[Any]:
    names: dict[str, Any] = {
        "copy": copy,
        "functools": functools,
        "itertools": itertools,
        "np": np,
        "operator": operator,
    }
    exec(  # noqa: S102
        f"{MADE}\ndef f(x):\n    y = x.numpy() * 2\n    {form}\n"
        "    return x + l[0]['r'].sum() + t[0][0].sum() + n[0][0][0].sum()",
        names,
    )
    f = wg.compile(names["f"]) if compiled else names["f"]
    seen: list[Any] = []
    for k in range(4):
        try:
            seen.append(f(wg.tensor([1.0, 2.0, float(k)], dtype=wg.float64)).tolist())
        except IndexError as error:
            seen.append(str(error))
        seen.append([shown(names[name]) for name in "dltn"])
        if k == 1 and len(names["l"]) > 1:
            names["l"][0]["r"] += 5.0
            names["n"][0][0][1] += 3.0
    return seen


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", FORMS)
def test_what_is_written_into_a_container_in_a_container_arrives(form: str) -> None:
    expected = told(form, False)
    try:
        assert told(form, True) == expected
    except TracingError as refusal:
        assert "asked again" in str(refusal)  # noqa: PT017
