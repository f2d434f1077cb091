"""What iterations of Python's loops write beside variables: attributes, lists, counts, arrays.

A compiled function gives what eager mode gives. Where that would take more than one statement, each
iteration is traced by itself.
"""

import numpy as np
import pytest

import wengert as wg
from wengert.control.rolled import LONG

N = LONG + 3
x = np.random.default_rng(0).normal(size=(N, 3))
w = np.random.default_rng(1).normal(size=3) * 0.5


class Cell:
    def __init__(self, h):
        self.h = h

    def __call__(self, row, w):
        self.h = np.tanh(self.h * w + row)
        return self.h


cell = Cell(None)

# ---- loops that are one statement ----------------------------------------------------------------


def collected(x, w):
    h, log = x[0], {"h": [], "t": [], "name": []}
    for t in range(N):
        h = np.tanh(h * w + x[t])
        log["h"].append((h, h.sum()))
        log["t"].append(2 * t + 1)
        log["name"].append("h")
    assert (log["t"], log["name"]) == (list(range(1, 2 * N, 2)), ["h"] * N)
    return np.stack([h for h, _ in log["h"]]) * sum(total for _, total in log["h"])


def the_last_of_a_list(x, w):
    states = [x[0], x[1]]
    for row in x:
        states += [np.tanh(states[-1] * w + row - states[-2])]
    return np.stack(states)


def a_list_by_numbers(x, w):
    states = [x[0], x[1]]
    for t in range(2, N):
        states.append(np.tanh(states[t - 2] * w + states[t - 1] * x[t] + states[0]))
    return np.stack(states)


def an_attribute(x, w):
    own, outs = Cell(x[0]), []
    for row in x:
        outs.append(own(row, w))
    return np.stack(outs) + own.h


def an_attribute_from_outside(x, w):
    cell.h, cell.outs, cell.calls = x[0], [], 0
    for row in x:
        cell.outs.append(2 * cell(row, w))
        cell.calls += 1
    return np.stack(cell.outs) * cell.calls


def an_attribute_that_the_first_iteration_makes(x, w):
    seen = {}
    h = x[0]
    for row in x:
        h = np.tanh(h * w + row)
        seen["last"] = h
    return seen["last"] + h


def a_variable_of_another_function(x, w):
    h, n, outs = x[0], 0, []

    def follow(row):
        nonlocal h, n
        n += 1
        h = np.tanh(h * w + row / n)
        outs.append(h)

    for row in x:
        follow(row)
    return np.stack(outs) * n


def a_queue(x, w):
    queue = [x[0], x[1]]
    for row in x:
        queue.append(np.tanh(queue[-1] * w + row))
        queue.pop(0)
    return queue[0] + queue[1]


def rows_of_lists(x, w):
    rows = []
    for t in range(N):
        row, h = [], x[t]
        for k in range(LONG):
            h = np.tanh(h * w + k)
            row.append(h)
        rows.append(np.stack(row))
    return np.stack(rows, 1)


def an_array_in_place(x, w):
    h = x[0] * 1
    alias, part = h, h[1:]
    for row in x:
        h += np.tanh(h * w + row)
    return h + alias + part.sum()


def one_list_of_two_names(x, w):
    outs, h = [], x[0]
    other = outs
    for row in x:
        h = np.tanh(h * w + row)
        outs.append(h)
        other.append(h * 2)
    return np.stack(outs)


ONE = [
    collected, the_last_of_a_list, a_list_by_numbers, an_attribute, an_attribute_from_outside,
    an_attribute_that_the_first_iteration_makes, a_variable_of_another_function, a_queue,
    rows_of_lists, an_array_in_place, one_list_of_two_names,
]  # fmt: skip

# ---- loops whose iterations are traced one by one ------------------------------------------------


def the_length_of_a_list(x, w):
    h, outs = x[0], []
    for row in x:
        h = np.tanh(h * w + row) / (1 + len(outs))
        outs.append(h)
    return np.stack(outs)


def whether_a_list_is_empty(x, w):
    h, outs = x[0], []
    for row in x:
        h = h + outs[-1] if outs else h
        h = np.tanh(h * w + row)
        outs.append(h)
    return np.stack(outs)


def some_iterations_append(x, w):
    h, outs = x[0], []
    for t in range(N):
        h = np.tanh(h * w + x[t])
        if t % 2:
            outs.append(h)
    return np.stack(outs)


def one_array_again_and_again(x, w):
    h, outs = x[0] * 1, []
    for row in x:
        h += np.tanh(h * w + row)
        outs.append(h)
    return np.stack(outs)


def an_array_read_by_another_name(x, w):
    h = x[0] * 1
    alias = h
    for row in x:
        h += np.tanh(h * w + row + alias)
    return h


def a_result_written_after_the_loop(x, w):
    h, before, outs = x[0], x[0], []
    for row in x:
        h, before = np.tanh(h * w + row), h
        outs.append(h[:2])
    before += 1
    return np.stack(outs) + h[:2]


def rows_in_place(x, w):
    x, total = x * 1, np.zeros(3)
    for row in x:
        row *= 2
        total = total + row
    return total + x.sum()


def the_item_before_is_changed(x, w):
    outs = [x[0] * 1]
    for row in x:
        outs.append(np.tanh(outs[-1] * w + row))
        outs[-2] += 1
    return np.stack(outs)


def objects_are_made(x, w):
    h, outs = x[0], []
    for row in x:
        h = np.tanh(h * w + row)
        outs.append(Cell(h))
    return sum(made.h for made in outs)


def one_container_again_and_again(x, w):
    h, outs, shared = x[0], [], [1]
    for row in x:
        h = np.tanh(h * w + row)
        outs.append(shared)
    outs[0].append(5)
    return h * sum(len(part) for part in outs)


def a_container_of_two_names(x, w):
    state, outs = [x[0]], []
    for row in x:
        state[0] = state[0] + 1
        state = [np.tanh(state[0] * w + row)]
        outs.append(state)
    return sum(part[0] for part in outs)


def a_method_of_a_list(x, w):
    h, count = x[0], []
    note = count.append
    for row in x:
        h = np.tanh(h * w + row)
        note(1)
    return h * len(count)


MANY = [
    the_length_of_a_list, whether_a_list_is_empty, some_iterations_append,
    one_array_again_and_again, an_array_read_by_another_name, a_result_written_after_the_loop,
    rows_in_place, the_item_before_is_changed, objects_are_made, one_container_again_and_again,
    a_container_of_two_names, a_method_of_a_list,
]  # fmt: skip


def check(f, rolled):
    compiled = wg.compile(f)
    for scale in (1.0, 0.7):
        mine, known = compiled(x * scale, w), f(x * scale, w)
        assert (mine.shape, mine.dtype) == (known.shape, known.dtype)
        assert np.allclose(mine, known, rtol=1e-11, atol=1e-13)
    assert ("repeat" in {s.name for s in compiled.program.statements}) == rolled


@pytest.mark.parametrize("f", ONE)
def test_what_iterations_write_is_part_of_one_statement(f):
    check(f, True)


@pytest.mark.parametrize("f", MANY)
def test_what_one_statement_could_not_write_is_traced_one_by_one(f):
    # Arrays and containers of several names were taken for several: an `h += row` with a second
    # name for h, rows that were written, and lists that a method of theirs changes.
    check(f, False)


@pytest.mark.parametrize("f", [the_last_of_a_list, an_attribute, collected, rows_of_lists])
def test_derivatives_of_what_is_collected_are_loops(f):
    slope = wg.grad(lambda x, w: f(x, w).sum(), (0, 1))
    compiled = wg.compile(slope)
    for mine, known in zip(compiled(x, w), slope(x, w), strict=True):
        assert np.allclose(mine, known, rtol=1e-10, atol=1e-12)
    assert [s.name for s in compiled.program.statements].count("repeat") == 2


def test_what_a_loop_collects_is_stacked_as_it_lies():
    # Each row was a statement, and so was each row's cotangent.
    def statements(n):
        compiled = wg.compile(wg.grad(lambda x: (the_last_of_a_list(x, w) ** 2).sum()))
        compiled(np.ones((n, 3)))
        return len(compiled.program.statements)

    assert statements(LONG) == statements(3 * LONG) < 20


def test_a_network_that_keeps_its_state_is_trained_by_one_loop():
    class Net(wg.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.h = wg.nn.Linear(3, 4), wg.nn.Linear(4, 4), None

        def forward(self, row):
            self.h = wg.tanh(self.a(row) + self.b(self.h))
            return self.h

    def step(rows):
        net.zero_grad()
        net.h, outs = wg.zeros(2, 4), []
        for row in rows:
            outs.append(net(row))
        loss = wg.stack(outs, 1).square().mean() + net.h.sum()
        loss.backward()
        return loss

    wg.manual_seed(0)
    net, rows = Net(), wg.randn(N, 2, 3)
    known = [step(rows), net.h, *[p.grad.clone() for p in net.parameters()]]
    compiled = wg.compile(step)
    mine = [compiled(rows), net.h, *[p.grad for p in net.parameters()]]
    assert all(wg.allclose(a, b, atol=1e-5) for a, b in zip(mine, known, strict=True))
    assert [s.name for s in compiled.program.statements].count("repeat") == 2
    assert len(compiled.program.statements) < 60


@pytest.mark.parametrize(
    ("f", "power"),
    [
        (the_last_of_a_list, 2), (a_list_by_numbers, 2), (an_attribute, 2), (the_last_of_a_list, 1),
        (an_attribute, 1), (an_attribute_from_outside, 1),
    ],
)  # fmt: skip
def test_what_derivatives_run_again_keeps_and_changes_nothing(f, power):
    # It kept the frame, and so tensors of a trace that was over; and it put back what the loop
    # had written, as before the loop. Of a plain sum results that nobody read, and cotangents of
    # one number, lay in memory all the time, so that no budget did with less.
    slope = wg.grad(lambda x, w: (f(x, w) ** power).sum())
    free = wg.compile(slope)
    known = free(x, w), cell.h
    tight = wg.compile(slope, memory=free.explain().arena - 8)
    cell.h = None
    assert np.allclose(tight(x, w), known[0])
    assert tight.explain().memory.kinds
    if f is an_attribute_from_outside:
        assert np.allclose(cell.h, known[1])


def test_of_what_is_written_at_one_place_the_last_alone_is_differentiated():
    # What stood there between was no result of the program, and was looked for among them.
    compiled = wg.compile(an_attribute_from_outside)
    slope = wg.compile(wg.grad(lambda x, w: an_attribute_from_outside(x, w).sum()))
    known = wg.grad(lambda x, w: an_attribute_from_outside(x, w).sum())(x, w)
    assert np.allclose(compiled(x, w), an_attribute_from_outside(x, w))
    assert np.allclose(slope(x, w), known)
