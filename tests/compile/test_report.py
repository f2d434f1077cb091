"""`f.explain()`: what a compiled function consists of, on one screen."""

import numpy as np

import wengert as wg


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
