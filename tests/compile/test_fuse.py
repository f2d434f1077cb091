"""Plans: what they compute, how many kernels they take, and that they respect each other's memory.

Plans are run by an interpreter in NumPy (`plans.py`), which also holds each kernel to the rules.
"""

import numpy as np
import pytest

import wengert as wg
from tests.compile.builder import Builder, arrays_for, random_program, transformer
from tests.compile.plans import NumPy, execute
from tests.counting import calls
from wengert.compile.plan import fit
from wengert.compile.plan.kernel import Load, Reduce, Store
from wengert.compile.plan.plan import Call, Loops, Multiply
from wengert.compile.plan.planner import plan
from wengert.compile.program.operations import added, astype, full, number, take, updated, view


def planned(made, *arrays, fuse=True):
    """The plan of a program, which computes what the program does."""
    program = made.program if isinstance(made, Builder) else made
    program.check()
    ours = [np.array(a) for a in arrays] if arrays else arrays_for(program)
    theirs = [a.copy() for a in ours]
    with np.errstate(all="ignore"):
        expected = program.run(theirs)
    result = plan(program, NumPy(), fuse=fuse)
    got = execute(result, ours)
    for mine, right in zip((*got, *ours), (*expected, *theirs), strict=True):
        assert mine.shape == right.shape
        np.testing.assert_allclose(mine, right, rtol=2e-5, atol=2e-6)
    return result


def count(steps, kind=Loops):
    return sum(isinstance(s, kind) for s in steps)


def operations(step, kind):
    return [op for stage in step.kernel.stages for op in stage if isinstance(op, kind)]


# ---- how well it fuses ------------------------------------------------------------------------


def test_softmax_is_one_kernel_of_three_stages():
    b = Builder()
    b.program.outputs = [b.softmax(b.input(3, 4, 5))]
    (step,) = planned(b).steps
    assert (step.kernel.extents, step.kernel.outer) == ((12, 5), 1)
    assert len(step.kernel.stages) == 3
    # The exponentials are kept for the row; the argument is read again, where it is needed.
    assert len(operations(step, Load)) == 2


def test_log_softmax_over_the_first_axis_of_little_data_is_one_kernel():
    b = Builder()
    x = b.input(5, 7)
    m = b(np.max, x, axis=(0,), keepdims=True)
    lse = b(np.log, b.total(b(np.exp, b(np.subtract, x, m)), 0, keepdims=True))
    b.program.outputs = [b(np.subtract, b(np.subtract, x, m), lse)]
    assert count(planned(b).steps) == 1


def test_the_derivative_of_a_long_log_sum_exp_keeps_nothing_for_each_element(monkeypatch):
    # That of the maximum asks which elements are equal to it: twelve statements on each.
    monkeypatch.setattr(fit, "ROW", 100)
    b = Builder()
    x = b.input(1000)
    top = b(np.max, x, axis=(0,), keepdims=True)
    e = b(np.exp, b(np.subtract, x, top))
    slope = b(np.divide, 1.0, b.total(e, 0, keepdims=True))
    scaled = b(np.multiply, slope, e)
    nan = b(np.bitwise_and, b(np.not_equal, x, x), b(np.not_equal, top, top))
    here = b(astype, b(np.bitwise_or, b(np.equal, x, top), nan), "f4")
    share = b(np.divide, here, b.total(here, 0, keepdims=True))
    b.program.outputs = [b(np.add, scaled, b(np.multiply, slope, share))]
    made = planned(b)
    assert len(made.steps) == 1
    assert made.arena == 0


def test_a_minimum_of_rows_that_are_read_again_is_left_to_their_readers():
    # Taken where the rows are made, it cost a fold of a vector for every few elements.
    b = Builder()
    x, c = b.input(40, 1, 3), b.input(50, 3)
    apart = b(np.subtract, x, c)
    distances = b.total(b(np.multiply, apart, apart), 2)
    least = b(np.min, distances, axis=(1,), keepdims=True)
    b.program.outputs = [b(np.subtract, distances, least)]
    made, again = planned(b).steps
    assert not any(op.combine for op in operations(made, Store))
    assert [op.name for op in operations(again, Reduce)] == ["minimum"]


def test_a_minimum_of_rows_that_nobody_reads_again_is_taken_where_they_are_made():
    b = Builder()
    x, c = b.input(40, 1, 3), b.input(50, 3)
    apart = b(np.subtract, x, c)
    distances = b.total(b(np.multiply, apart, apart), 2)
    b.program.outputs = [b(np.min, distances, axis=(1,), keepdims=False)]
    (step,) = planned(b).steps
    assert len(operations(step, Load)) == 2


def test_rows_are_not_walked_across_memory_where_there_is_much():
    b = Builder()
    x = b.input(400, 30)
    b.program.outputs = [b(np.subtract, x, b.mean(x, 0))]
    steps = planned(b).steps
    assert count(steps) <= 3
    (store,) = operations(steps[0], Store)
    assert store.combine == "add"


def test_layer_norm_is_one_kernel_forward_and_one_backward():
    b = Builder()
    x, w, c = b.input(2, 3, 8), b.input(8), b.input(8)
    b.program.outputs = list(b.layer_norm(x, w, c))
    assert count(planned(b).steps) == 1
    b = Builder()
    g, hat, scale, w = b.input(2, 3, 8), b.input(2, 3, 8), b.input(2, 3, 1), b.input(8)
    b.program.outputs = list(b.layer_norm_back(g, hat, scale, w))
    (step,) = planned(b).steps
    assert sum(bool(op.combine) for op in operations(step, Store)) == 2


def test_cross_entropy_and_its_gradient_are_one_kernel_and_a_number():
    b = Builder()
    logits, target = b.input(6, 5), b.input(6, dtype="i8")
    b.program.outputs = list(b.cross_entropy(logits, target))
    steps = planned(b).steps
    assert [s.kernel.extents for s in steps] == [(6, 5), ()]


def test_adam_is_one_kernel_for_each_parameter_and_in_place():
    b = Builder()
    step = b.program.input((), "f8", "step", True)
    new = b(np.add, step, 1.0)
    b.program.updates[step] = new
    for shape in ((3, 4), (4,), (2, 2, 2)):
        p, g, m, v = (b.input(*shape) for _ in range(4))
        b.adam(p, g, b(np.absolute, m) and m, v, new)
    arrays = [np.abs(a) for a in arrays_for(b.program)]
    result = planned(b, *arrays)
    kernels = [s.kernel for s in result.steps]
    assert sorted(k.extents for k in kernels) == [(), (4,), (8,), (12,)]
    assert all(len(k.written) == 3 for k in kernels if k.extents)
    assert result.arena <= 64 * 6  # the corrections for the bias, nothing else


def mlp(batch=8, wide=6, hidden=5, classes=4):
    b = Builder()
    x, target = b.input(batch, wide), b.input(batch, dtype="i8")
    w1, b1, w2, b2 = b.input(hidden, wide), b.input(hidden), b.input(classes, hidden), b.input(4)
    z = b(np.add, b.matmul_t(x, w1, right=True), b1)
    h = b(np.maximum, z, 0)
    loss, dlogits = b.cross_entropy(b(np.add, b.matmul_t(h, w2, right=True), b2), target)
    dz = b(np.where, b(np.greater, z, 0), b(np.matmul, dlogits, w2), 0.0)
    b.sgd(w2, b.matmul_t(dlogits, h, left=True))
    b.sgd(b2, b.total(dlogits, 0))
    b.sgd(w1, b.matmul_t(dz, x, left=True))
    b.sgd(b1, b.total(dz, 0))
    b.program.outputs = [loss]
    return b


def test_a_training_step_of_a_network_takes_few_steps():
    steps = planned(mlp()).steps
    assert count(steps, Multiply) == 5
    # bias and relu; loss and its gradient; the mean; relu's backward and the bias's; four updates
    assert count(steps) <= 8
    assert not count(steps, Call)


def test_a_training_step_of_a_transformer():
    program = transformer()
    arrays = [a if a.dtype.kind == "i" else np.abs(a) for a in arrays_for(program)]
    steps = planned(program, *arrays).steps
    parameters = sum(v.shape != () and v.dtype == np.float32 for v in program.inputs) // 3
    assert not count(steps, Call)
    # For each of two layers: 5 kernels forward, 7 backward.
    assert count(steps) <= parameters + 2 * 12 + 10
    assert not any(s.statements and s.statements[0].function is np.reshape for s in steps)


def test_planning_takes_some_hundred_calls_a_statement():
    program = transformer(layers=6, vocabulary=20)
    assert calls(lambda: plan(program, NumPy())) < 600 * len(program.statements)


def test_what_is_cheap_is_made_again_by_each_reader():
    b = Builder()
    x = b.input(20, 20)
    doubled = b(np.multiply, x, 2.0)
    b.program.outputs = [b(np.add, doubled, b(np.matmul, b(np.tanh, doubled), x))]
    assert all(len(s.kernel.written) == 1 for s in planned(b).steps if isinstance(s, Loops))


def test_what_is_only_needed_later_is_not_computed_early():
    # Else a forward pass would write what only the backward pass reads.
    b = Builder()
    x, w = b.input(20, 20), b.input(20, 20)
    t = b(np.tanh, x)
    y = b(np.matmul, t, w)
    slope = b(np.subtract, 1.0, b(np.multiply, t, t))
    b.program.outputs = [b(np.multiply, b(np.matmul, y, w), slope)]
    first, *_ = planned(b).steps
    assert len(first.kernel.written) == 1


# ---- layout --------------------------------------------------------------------------------


def attention(b, q, k, v, width):
    batch, time_, _ = q.shape
    heads = 2

    def split(x):
        x = b(np.reshape, x, (batch, time_, heads, width // heads))
        return b(np.transpose, x, (0, 2, 1, 3))

    scores = b(np.matmul, split(q), b(np.transpose, split(k), (0, 1, 3, 2)))
    out = b(np.matmul, b.softmax(b(np.multiply, scores, 0.5)), split(v))
    return b(np.reshape, b(np.transpose, out, (0, 2, 1, 3)), (batch, time_, width))


def test_heads_are_split_and_merged_without_copies():
    b = Builder()
    q, k, v, w = b.input(2, 3, 8), b.input(2, 3, 8), b.input(2, 3, 8), b.input(8, 8)
    b.program.outputs = [b(np.matmul, attention(b, q, k, v, 8), w)]
    steps = planned(b).steps
    assert (count(steps), count(steps, Multiply)) == (1, 3)


def test_parts_of_a_concatenation_are_computed_in_their_place():
    b = Builder()
    x, y, w = b.input(4, 3), b.input(5, 3), b.input(3, 2)
    parts = b(np.exp, x), b(np.transpose, b.matmul_t(w, y, left=True, right=True), (1, 0))
    b.program.outputs = [b(np.concatenate, (parts[0], b(np.reshape, y, (5, 3))), axis=0)]
    b.program.outputs.append(b(np.concatenate, (b(np.tanh, b(np.matmul, x, w)), parts[1]), axis=0))
    steps = planned(b).steps
    assert count(steps) == 3  # exp, a copy of y, tanh


def test_a_reshape_that_strides_cannot_express_is_copied():
    b = Builder()
    x, w = b.input(4, 6), b.input(8, 2)
    flat = b(np.reshape, b(np.transpose, x, (1, 0)), (3, 8))
    b.program.outputs = [b(np.matmul, flat, w), b(np.exp, flat)]
    assert count(planned(b).steps) == 2


def test_transposed_and_reversed_reads():
    b = Builder()
    x, y = b.input(3, 4, 5), b.input(5, 3)
    t = b(np.transpose, x, (2, 0, 1))
    back = b(view, t, (slice(4, None, -1), slice(0, 3, 1), slice(3, None, -2)))
    one = b(view, back, (slice(0, 5, 2), 1, None, slice(0, 2, 1)))
    b.program.outputs = [b(np.add, b(np.exp, back), b(np.reshape, y, (5, 3, 1))), b(np.tanh, one)]
    planned(b)


def test_reductions_over_several_axes():
    b = Builder()
    x = b.input(3, 4, 5, 2)
    reductions = [(np.sum, (0, 2)), (np.max, (1, 3)), (np.min, (0,)), (np.prod, (0, 1, 2, 3))]
    b.program.outputs = [b(f, x, axis=axes, keepdims=bool(len(axes) % 2)) for f, axes in reductions]
    flags = b(np.greater, x, 1.0)
    b.program.outputs += [
        b(np.any, flags, axis=(2, 3), keepdims=False),
        b(np.all, x, axis=(0,), keepdims=True),
        b(np.argmax, x, axis=2, keepdims=False),
        b(np.argmin, x, axis=0, keepdims=True),
    ]
    planned(b)


def test_batch_norm():
    b = Builder()
    x, w = b.input(4, 3, 2, 5), b.input(3)
    centred = b(np.subtract, x, b.mean(x, 0, 2, 3))
    var = b.mean(b(np.multiply, centred, centred), 0, 2, 3)
    hat = b(np.divide, centred, b(np.sqrt, b(np.add, var, 1e-5)))
    b.program.outputs = [b(np.multiply, hat, b(np.reshape, w, (3, 1, 1))), var]
    assert count(planned(b).steps) == 1


# ---- indexing ------------------------------------------------------------------------------


def test_an_embedding_and_its_gradient():
    b = Builder()
    table, ids, g = b.input(7, 4), b.input(2, 5, dtype="i8"), b.input(2, 5, 4)
    whole = slice(0, 4, 1)
    rows = b(take, table, (ids, whole))
    zeros = b(full, (7, 4), 0, np.dtype("f4"))
    b.sgd(table, b(added, zeros, (ids, whole), g))
    b.program.outputs = [b(np.multiply, rows, 2.0)]
    steps = planned(b).steps
    assert count(steps) == len(steps) == 4


def test_gathers_of_all_sorts():
    b = Builder()
    x, i, j = b.input(4, 5, 6), b.input(3, dtype="i8"), b.input(2, 1, dtype="i4")
    a, c, d = (slice(0, n, 1) for n in x.shape)
    doubled = b(np.multiply, x, 2.0)
    b.program.outputs = [
        b(take, x, (i, c, d)),
        b(take, doubled, (a, i, j)),
        b(take, x, (i, c, j)),
        b(take, x, (0, i, d)),
        b(take, x, (i, slice(4, None, -2), None, 1)),
        b(take, b(np.softmax, x) if hasattr(np, "softmax") else b.softmax(x), (i, i, d)),
    ]
    planned(b)


def test_negative_indices_count_from_the_end():
    b = Builder()
    x, i = b.input(4, 5), b.input(3, dtype="i8")
    whole, rows = slice(0, 5, 1), b(np.arange, 4)
    column = b.input(4, dtype="i8")
    zeros = b(full, (4, 5), 0, np.dtype("f4"))
    b.program.outputs = [
        b(take, x, (i, whole)),
        b(take, b(np.arange, 9), (i,)),
        b(updated, zeros, (rows, column), 3.0),
        b(added, x, (i, whole), 1.0),
    ]
    first, second = np.array([-1, 0, -3]), np.array([-5, -1, 0, 4])
    x = np.arange(20, dtype="f4").reshape(4, 5)
    planned(b, x, first, second)


def test_scatters_write_in_order_and_keep_the_rest():
    b = Builder()
    x, i, v = b.input(5, 3), b.input(4, dtype="i8"), b.input(4, 3)
    whole = slice(0, 3, 1)
    b.program.outputs = [b(updated, x, (i, whole), v), x]
    b.program.updates[x] = b(added, x, (i, whole), v)
    planned(b)


def test_what_is_added_at_few_places_is_made_in_the_loop_that_adds_it():
    # What the derivative of a determinant adds up lay in memory, and what two sums shared was
    # computed for each: twice the time.
    b = Builder()
    i, j = (b.input(60, 3, dtype="i8") for _ in range(2))
    zeros = b(full, (7,), 0, np.dtype("f4"))
    shared = b(np.multiply, b.input(60, 1), b.input(60, 3))
    sums = [b(added, zeros, (i,), b(np.exp, shared)), b(added, zeros, (j,), shared)]
    b.program.outputs = [b(np.concatenate, tuple(sums), axis=0)]
    steps = [s for s in planned(b).steps if operations(s, Load)]
    assert [len(operations(s, Store)) for s in steps] == [2]


@pytest.mark.parametrize("places", [(1,), (6,), (1, 1), (2, 3)])
@pytest.mark.parametrize("given", [(5, 4), (5, 1), ()])
def test_what_is_added_at_few_places_is_read_when_all_has_been_added(places, given):
    b = Builder()
    x = b.input(5, 4)
    index = [b.input(5, 4, dtype="i8"), b.input(4, dtype="i8")][: len(places)]
    value = b(np.sin, b.input(*given)) if given else 2.0
    sums = b(added, b(full, places, 0, np.dtype("f4")), tuple(index), value)
    more = b(added, b(full, places, 0, np.dtype("f4")), tuple(index), b(take, sums, tuple(index)))
    b.program.outputs = [
        b(np.multiply, x, b(np.reshape, sums, (1,) if sums.size < 2 else (*places, 1, 1))),
        b(np.divide, b(take, sums, tuple(index)), b(np.sum, x, axis=(1,), keepdims=True)),
        b(np.exp, sums),
        b(added, sums, tuple(index), x),
        more,
    ]
    arrays = arrays_for(b.program)
    for k, v in enumerate(b.program.inputs):
        if v.dtype.kind == "i":
            arrays[k] %= min(places)
    planned(b, *arrays)


def test_what_is_added_at_few_places_is_added_once_for_a_row_or_for_each_of_its_elements():
    # Loops said which of the two, where neither what is added nor its place differs in a row.
    def added_up(i, v, w):
        sums = [np.zeros_like(v, shape=6) for _ in range(3)]
        rows = np.exp(v)[:, None] * w
        shares = rows / np.sum(rows, axis=1, keepdims=True)
        each = np.broadcast_to(i[:, None], rows.shape)
        np.add.at(sums[0], i, np.exp(v))
        np.add.at(sums[1], each, np.broadcast_to(np.exp(v)[:, None], rows.shape))
        np.add.at(sums[2], each, shares)
        return *sums, shares

    random = np.random.default_rng(0)
    i, v, w = random.integers(0, 6, 40), random.normal(size=40), random.uniform(1, 2, 7)
    compiled = wg.compile(added_up)
    for mine, right in zip(compiled(i, v, w), added_up(i, v, w), strict=True):
        np.testing.assert_allclose(mine, right, rtol=1e-13)
    planned(compiled.program, i, v, w)


def test_adding_at_a_place_known_beforehand_keeps_what_is_there():
    b = Builder()
    x, v = b.input(5, 3), b.input(1, 3)
    rows = b.constant(np.array([2])), b.constant(np.arange(5))
    whole = slice(0, 3, 1)
    b.program.outputs = [b(added, x, (rows[0], whole), v), b(added, x, (rows[1], whole), v)]
    b.program.outputs += [b(added, x, (3, slice(2, None, -1)), 2.0), b(added, x, (whole, whole), v)]
    planned(b)


def test_what_is_joined_several_times_is_computed_in_all_its_places_by_one_kernel():
    # Each part that was joined twice, or was cheap, or was used on the way, once took a copy.
    b = Builder()
    x, y = b.input(20), b.input(20)
    total = b(np.add, b(np.sin, x), y)
    parts = [total, b(np.negative, total), b(np.exp, total), b(np.multiply, total, y)]
    columns = [b(np.reshape, p, (20, 1)) for p in (*parts, parts[0], parts[2])]
    b.program.outputs = [b(np.concatenate, tuple(columns), axis=1)]
    (step,) = planned(b).steps
    assert len(operations(step, Store)) == 6


def test_a_part_that_another_step_reads_lies_by_itself_as_well():
    b = Builder()
    x, w = b.input(20, 3), b.input(3, 4)
    made = b(np.exp, x)
    joined = b(np.concatenate, (made, b(np.tanh, x), made), axis=1)
    b.program.outputs = [joined, b(np.matmul, made, w)]
    planned(b)


def test_what_no_loop_computes_is_joined_with_itself():
    # Its places lie in one buffer. The copy from one to the other was taken for one onto itself.
    b = Builder()
    x, y, w = b.input(4, 3), b.input(4, 3), b.input(3, 3)
    joined = b(np.concatenate, (x, b(np.exp, y)), axis=1)
    product = b(np.matmul, x, w)
    written = b(updated, b(np.exp, x), (slice(0, 4, 2), slice(0, 3, 1)), 1.5)
    b.program.outputs = [
        b(np.concatenate, (joined, joined), axis=1),
        b(np.concatenate, (product, b(np.negative, product), product), axis=1),
        b(np.concatenate, (written, written), axis=0),
    ]
    planned(b)


def test_concatenation_and_writes_into_parts():
    b = Builder()
    x, y = b.input(3, 4), b.input(3, 2)
    joined = b(np.concatenate, (x, b(np.exp, y), b(np.negative, y)), axis=1)
    part = (slice(0, 3, 2), slice(5, None, -1))
    row = b(view, joined, (1, slice(0, 6, 1)))
    new = b(updated, joined, part, row)
    b.program.outputs = [joined, new, b(updated, new, (2, slice(0, 8, 1)), 1.5)]
    planned(b)


def test_a_cache_is_written_in_place():
    b = Builder()
    cache, new = b.input(8, 3), b.input(2, 3)
    b.program.updates[cache] = b(updated, cache, (slice(2, 4, 1), slice(0, 3, 1)), new)
    result = planned(b)
    assert len(result.steps) == 1
    assert result.arena == 0


def test_where_a_cast_makes_longer_numbers_its_readers_cast_what_is_short():
    # The mask of a maximum lay in memory as floats, eight times as long as its truth values.
    b = Builder()
    x, y = b.input(64, 1000, dtype="f8"), b.input(64, 1, dtype="f8")
    terms = b(np.subtract, y, b(np.multiply, x, 0.5))
    highest = b(np.max, terms, axis=(0,), keepdims=True)
    unordered = b(np.not_equal, terms, terms)
    here = b(astype, b(np.bitwise_or, b(np.equal, terms, highest), unordered), np.dtype("f8"))
    share = b(np.divide, here, b.total(here, 0, keepdims=True))
    weights = b(np.exp, b(np.subtract, terms, highest))
    b.program.outputs = [
        b.total(b(np.multiply, share, b(np.divide, weights, b.total(weights, 0))), 1)
    ]
    assert planned(b).arena < 1.5 * x.nbytes


@pytest.mark.parametrize(("combine", "reduction"), [(np.add, np.sum), (np.maximum, np.max)])
@pytest.mark.parametrize("axes", [(0,), (0, 1), (1,)])
@pytest.mark.parametrize("first", [True, False])
def test_what_is_added_to_an_array_in_its_place_is_summed_there(combine, reduction, axes, first):
    # The sum lay in memory by itself, and another kernel added it: of loops over blocks, each time.
    b = Builder()
    x, y = b.input(9, 16, 32), b.input(9, 16, 32)
    total = b(reduction, b(np.multiply, x, y), axis=axes)
    state = b.input(*total.shape)
    args = (state, total) if first else (total, state)
    b.program.updates[state] = b(combine, *args)
    result = planned(b)
    (step,) = result.steps
    (store,) = operations(step, Store)
    assert (store.onto, store.combine) == (True, combine.__name__)
    assert result.arena == 0


def test_what_is_summed_onto_an_array_that_others_read_leaves_that_as_it_was_for_them():
    b = Builder()
    x, state, other = b.input(60, 30), b.input(30), b.input(60, 30)
    b.program.updates[state] = b(np.add, state, b.total(x, 0))
    b.program.outputs = [b.total(b(np.multiply, x, state), 0), b(np.multiply, other, state)]
    planned(b)


def test_what_is_summed_onto_an_array_may_be_a_result_as_well():
    b = Builder()
    x, state = b.input(60, 30), b.input(30)
    new = b.program.updates[state] = b(np.add, b.total(x, 0), state)
    b.program.outputs = [b(np.exp, new), new, state]
    planned(b)


def test_a_sum_that_is_read_twice_is_not_summed_onto_an_array():
    b = Builder()
    x, state = b.input(60, 30), b.input(30)
    total = b.total(x, 0)
    b.program.updates[state] = b(np.add, state, total)
    b.program.outputs = [total]
    planned(b)


def test_sums_onto_arrays_that_trade_places():
    b = Builder()
    x, y, z = b.input(30), b.input(30), b.input(60, 30)
    b.program.updates = {x: y, y: b(np.add, y, b.total(z, 0))}
    planned(b)


# ---- memory --------------------------------------------------------------------------------


def test_inputs_that_swap():
    b = Builder()
    x, y = b.input(3, 4), b.input(3, 4)
    b.program.updates = {x: y, y: x}
    b.program.outputs = [x]
    planned(b)


def test_inputs_that_rotate_through_computations():
    b = Builder()
    x, y, z = b.input(3, 3), b.input(3, 3), b.input(3, 3)
    b.program.updates = {x: b(np.exp, y), y: b(np.matmul, x, z), z: b(np.transpose, x, (1, 0))}
    b.program.outputs = [b(np.add, x, z), b.program.updates[y]]
    planned(b)


def test_updates_from_views_of_what_they_write_over():
    b = Builder()
    x, y = b.input(4, 4), b.input(4, 4)
    b.program.updates = {
        x: b(np.transpose, x, (1, 0)),
        y: b(np.add, y, b(view, y, (slice(3, None, -1), slice(0, 4, 1)))),
    }
    planned(b)


def test_one_value_in_many_places():
    b = Builder()
    x, y, z = b.input(3, 4), b.input(3, 4), b.input(3, 4)
    v = b(np.multiply, x, y)
    b.program.updates = {x: v, z: v}
    b.program.outputs = [v, v, b(np.reshape, v, (12,)), b.constant(np.arange(3.0)), z, z]
    planned(b)


def test_a_chain_runs_in_the_memory_of_its_result():
    b = Builder()
    x, w = b.input(16, 16), b.input(16, 16)
    for _ in range(6):
        x = b(np.tanh, b(np.matmul, x, w))
    b.program.outputs = [x]
    assert planned(b).arena <= 2 * 16 * 16 * 4


def test_opaque_functions_take_arrays_as_they_lie():
    b = Builder()
    x = b.input(4, 6)
    t = b(np.transpose, b(np.exp, x), (1, 0))
    (c,) = b.opaque(np.cumsum, (t,), ((6, 4), "f4"), axis=1)
    q, r = b.opaque(np.linalg.qr, (c,), ((6, 4), "f4"), ((4, 4), "f4"))
    b.program.outputs = [b(np.matmul, q, r), b(np.negative, r), c]
    steps = planned(b).steps
    assert count(steps, Call) == 2


def test_an_opaque_function_gets_an_array_without_elements_in_its_dtype():
    # It was one of int8, and what was cast to its dtype lost what follows the point.
    b = Builder()
    x = b(np.reshape, b(np.exp, b.input(5, 0, 5)), (0, 1))
    (c,) = b.opaque(lambda x: np.full(3, 0.5).astype(x.dtype), (x,), ((3,), "f4"))
    b.program.outputs = [b(np.negative, c)]
    planned(b)


class WithoutTanh(NumPy):
    def supports(self, function, dtypes):
        return function != "tanh"


def test_functions_without_code_are_called():
    b = Builder()
    x = b.input(4, 6)
    y = b(np.tanh, b(np.exp, x))
    b.program.outputs = [b(np.add, y, 1.0)]
    result = plan(b.program, WithoutTanh())
    assert [type(s) for s in result.steps] == [Loops, Call, Loops]


# ---- the corners ---------------------------------------------------------------------------


def test_no_elements():
    b = Builder()
    x, y = b.input(0, 4), b.input(4, 3)
    b.program.outputs = [
        b(np.exp, x),
        b(np.matmul, x, y),
        b(np.matmul, b(np.transpose, x, (1, 0)), x),
        b.total(x, 0),
        b(np.all, x, axis=(0, 1), keepdims=False),
        b(np.concatenate, (x, b(np.transpose, y, (1, 0))), axis=0),
        b(np.add, b.total(x, 1, keepdims=True), x),
        b(view, y, (slice(2, 2, 1), slice(0, 3, 1))),
    ]
    b.program.updates[x] = b(np.tanh, x)
    planned(b)


def test_numbers():
    b = Builder()
    x, lr = b.input(), b.program.input((), "f8", "lr", True)
    half = b(np.multiply, lr, 0.5)
    y = b(np.multiply, b(np.exp, x), b(astype, half, np.dtype("f4")))
    as_number = b(number, b(np.reshape, y, (1, 1)), np.dtype("f8"))
    b.program.outputs = [y, b(np.reshape, y, (1, 1, 1)), half, b(np.add, as_number, lr)]
    b.program.updates[x] = y
    assert count(planned(b).steps) == 1


def test_results_that_are_views_are_computed_in_their_own_memory():
    # They were computed in the arena, and copied: what is joined, with each reshape once more.
    def results(x, w):
        joined = np.concatenate([np.sin(x), np.cos(x)]).reshape(2, -1)
        between = np.stack([x, -x, 2 * x], -1).ravel()
        product = (x @ w).ravel()
        y = np.exp(x)
        return joined, between, product, y, y.T, y.reshape(2, 3, 5).transpose(2, 0, 1)

    x, w = np.linspace(-1, 1, 30).reshape(6, 5), np.linspace(0, 2, 20).reshape(5, 4)
    compiled = wg.compile(results)
    for mine, known in zip(compiled(x, w), results(x, w), strict=True):
        np.testing.assert_allclose(mine, known, rtol=1e-14)
    assert compiled.explain().arena == 0


def test_axes_of_one_element():
    b = Builder()
    x = b.input(1, 5, 1)
    b.program.outputs = [
        b.softmax(x),
        b.total(x, 0),
        b.total(x, 0, 2),
        b(np.argmax, x, axis=0, keepdims=False),
        b.softmax(b(np.reshape, x, (1, 5))),
    ]
    planned(b)


def test_signs_of_zero_tell_kernels_apart():
    def kernel(zero):
        b = Builder()
        b.program.outputs = [b(np.add, b.input(3), zero)]
        return planned(b).steps[0].kernel

    assert kernel(0.0) == kernel(0.0)
    assert kernel(0.0) != kernel(-0.0)


def test_an_outer_product_of_row_sums_is_not_one_row():
    b = Builder()
    x = b.input(4, 4)
    s = b.total(x, 1)
    b.program.outputs = [b(np.multiply, b(np.reshape, s, (4, 1)), s)]
    planned(b)


def test_reductions_of_reductions():
    b = Builder()
    x = b.input(6, 5)
    s = b.total(b(np.exp, x), 1)
    b.program.outputs = [b.total(s, 0), b.total(b(np.multiply, s, s), 0), s]
    (step,) = planned(b).steps
    assert len(operations(step, Reduce)) == 1


def test_readers_that_have_joined_a_group_are_not_joined_twice():
    planned(random_program(5839))


@pytest.mark.parametrize("seed", range(120))
def test_random_programs(seed):
    program = random_program(seed)
    for fuse in (False, True):
        planned(program, fuse=fuse)


@pytest.mark.parametrize("seed", range(900, 915))
def test_long_random_programs(seed):
    planned(random_program(seed, 80))


@pytest.mark.parametrize("seed", range(2000, 2040))
def test_random_programs_of_what_counts_as_large(seed, monkeypatch):
    monkeypatch.setattr(fit, "CACHED", 0)
    monkeypatch.setattr(fit, "ROW", 5 + seed % 10)
    planned(random_program(seed, 40))


@pytest.mark.parametrize("shape", [(), (3, 4)])
def test_long_chains(shape):
    b = Builder()
    x = b.input(*shape)
    for k in range(1500):
        x = b([np.tanh, np.add][k % 2], *([x] if k % 2 == 0 else [x, 0.5]))
    b.program.outputs = [x]
    assert count(planned(b).steps) <= 20


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.complex128])
def test_a_sine_beside_its_cosine_is_what_both_are_alone(dtype):
    # A function and its derivative ask for both: each was reduced and evaluated by itself.
    x = np.linspace(-50, 50, 1003).astype(dtype)
    compiled = wg.compile(lambda x: (np.sin(x), np.cos(x), np.sum(np.sin(x)) + np.cos(x)))
    tight = 4 * np.finfo(x.real.dtype).eps
    for one, other in zip(compiled(x), (np.sin(x), np.cos(x)), strict=False):
        np.testing.assert_allclose(one, other, rtol=0, atol=tight * np.max(np.abs(other)))
    summed = np.sum(np.sin(x.astype(np.result_type(dtype, np.float64))))
    loose = 2000 * tight * np.max(np.abs(np.cos(x)))
    np.testing.assert_allclose(compiled(x)[2], summed + np.cos(x), rtol=0, atol=loose)
