"""`f.explain()`: what a compiled function consists of, on one screen."""

import re

import numpy as np
import pytest

import wengert as wg
from wengert.errors import TracingError


def deep(x, w):
    for _ in range(20):
        x = np.tanh(x @ w)
    return x


def explained(f, *args):
    compiled = wg.compile(f)
    compiled(*args)
    return compiled.explain()


def test_equal_steps_are_one_line_which_says_how_many_there_are():
    found = explained(deep, np.ones((8, 8)), np.eye(8))
    assert len(found.lines) == 40
    _, _, *rows = str(found).splitlines()
    assert [row.split()[1:4] for row in rows] == [["20", "x", "matmul"], ["20", "x", "loops"]]


def test_steps_of_many_kinds_stay_on_a_screen():
    def wide(x):
        return sum(np.sort(np.sin(x[:n]))[0] for n in range(2, 50))

    found = explained(wide, np.arange(50.0))
    assert len(found.lines) > 90
    lines = str(found).splitlines()
    assert len(lines) <= 33
    assert "kinds of steps that take less" in lines[-1]
    assert max(map(len, lines)) <= 110


def test_what_a_loop_does_is_told_below_it():
    def rows(x):
        return wg.scan(lambda c, row: (c + np.sort(row), None), np.zeros(5), x)[0]

    _, _, *table = str(explained(rows, np.ones((100, 5)))).splitlines()
    (k,) = [k for k, row in enumerate(table) if "repeat" in row]
    assert "native     x 100" in table[k]
    assert "· " in table[k + 1]

    def halved(x):
        return wg.while_loop(lambda x: x > 1, lambda x: x * 0.5 - 0.1, x)

    found = explained(halved, np.array(9.0))
    assert [line.share for line in found.lines] == [None] * len(found.lines)  # it may not end
    assert "flop each" in str(found)


def test_a_roofline_sets_loops_beside_what_the_machine_can_do(tmp_path):
    compiled = wg.compile(deep)
    compiled(np.ones((64, 64)), np.eye(64))
    found = compiled.roofline()
    head, title, *rows, rest = str(found).splitlines()
    assert re.match(r"deep: this machine moves [\d.]+ .B/s and computes [\d.]+ .flop/s", head)
    assert title.split() == ["share", "flop/B", "speed", "of", "roof", "limit", "of"]
    assert sorted(row.split("  ")[-1] for row in rows) == ["20 x 64x64 @ 64x64", "20 x tanh"]
    assert rest.endswith("% without floating-point operations")
    product = next(p for p in found.points if "@" in p.what)
    assert product.intensity == 2 * 64**3 / (3 * 64**2 * 8)
    assert product.speed > 0
    for name in ("roof.svg", "roof.png"):
        assert found.save(tmp_path / name).stat().st_size > 5000
    text = (tmp_path / "roof.svg").read_text()
    assert "operations for each byte" in text
    assert "20 x tanh" in text


def test_a_check_that_fails_on_ones_leaves_steps_untimed():
    # The error of the check was one of explain().
    f = wg.compile(lambda x, i: x[i] * 2)
    f(np.ones(1), np.zeros(1, int))
    assert "multiply" in str(f.explain())
    g = wg.compile(lambda x, n: x * 2 if n % 5 == 3 else -x)
    for n in (3, 8):
        g(np.ones(9), n)
    assert "%  " in str(g.explain())


def test_a_loop_that_may_not_end_on_ones_has_no_roofline():
    f = wg.compile(lambda x: wg.while_loop(lambda y: y > 0, lambda y: y * 1.0, x))
    f(wg.tensor(-1.0))
    with pytest.raises(TracingError, match="which may be never on the arrays of ones"):
        f.roofline()
