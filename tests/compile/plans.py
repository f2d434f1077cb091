"""A back end in NumPy: an interpreter for plans, and the rules that a plan must keep."""

import ctypes
import math

import numpy as np

from wengert.compile.call.executable import array_at
from wengert.compile.plan.kernel import Apply, Const, Index, Load, Reduce, Store
from wengert.compile.plan.plan import Call, Layout, Loops, Multiply, Place, Table
from wengert.compile.plan.strides import row_major
from wengert.compile.program.program import mapped
from wengert.history import location  # noqa: F401  (statements know their lines)

UFUNCS = {"add": np.add, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum}
UFUNCS |= {"logical_or": np.logical_or, "logical_and": np.logical_and}


class NumPy:
    """What `compile/backend.py` asks, as if there were code for every function of NumPy's."""

    def supports(self, function, dtypes):
        if any(d.kind not in "biufc" or d.itemsize > 16 for d in dtypes):
            return False
        names = ("where", "astype", "argmax", "argmin", "real", "imag")
        return function in names or hasattr(np, function)

    def multiplies(self, dtype):
        return dtype.char in "fdFD"

    def reads(self, shape, strides):
        return 1 in strides[-2:] or 1 in shape[-2:]

    def runs(self, step):
        return True

    def raises(self, function):
        return False

    def code(self, plan, name, timed=False):
        return Interpreted(plan)


class Interpreted:
    """A plan as a function of a table of addresses, as machine code would be."""

    def __init__(self, plan):
        self.plan, self.table = plan, Table.of(plan)
        self.function = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(self.run)
        self.body = ctypes.cast(self.function, ctypes.c_void_p).value

    def run(self, buffers):
        addresses = (ctypes.c_void_p * self.table.size).from_address(buffers)

        def array(slot, value):
            layout = Layout(None, value.shape, row_major(value.shape), value.dtype)
            return array_at(addresses[slot], layout)

        inputs = [array(self.table.input(k), v) for k, v in enumerate(self.plan.inputs)]
        for k, made in enumerate(execute(self.plan, inputs)):
            array(self.table.output(k), self.plan.outputs[k])[...] = made
        return 0


def execute(plan, arrays):
    """Run a plan on these inputs (which it may update); the outputs."""
    check(plan)
    rng = np.random.default_rng(0)
    memory = {("arena", 0): rng.integers(0, 255, plan.arena + 64, np.uint8)}
    for k, array in enumerate(arrays):
        assert array.flags.c_contiguous
        memory["input", k] = array.reshape(-1).view(np.uint8)
    for k, array in enumerate(plan.constants):
        assert array.flags.c_contiguous
        memory["constant", k] = array.reshape(-1).view(np.uint8).copy()
    for k, v in enumerate(plan.outputs):
        memory["output", k] = rng.integers(0, 255, v.nbytes, np.uint8)
    with np.errstate(all="ignore"):
        for step in plan.steps:
            if isinstance(step, Loops):
                run_kernel(step, memory)
            elif isinstance(step, Multiply):
                a, b, out = (seen(layout, memory) for layout in (step.a, step.b, step.out))
                product = np.matmul(a, b)
                out[...] = out + product if step.add else product
            else:
                run_call(step, memory)
    return [memory["output", k].view(v.dtype).reshape(v.shape) for k, v in enumerate(plan.outputs)]


def flat(place, dtype, memory):
    """A place's memory to its end, as elements."""
    block = memory[place.kind, place.number][place.offset :]
    return block[: block.size // dtype.itemsize * dtype.itemsize].view(dtype)


def strided(elements, offset, shape, strides):
    if not math.prod(shape):
        return np.zeros(shape, elements.dtype)
    ends = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
    low, high = sum(min(e, 0) for e in ends), sum(max(e, 0) for e in ends)
    assert offset + low >= 0, "before the beginning"
    assert offset + high < elements.size, "past the end"
    steps = [s * elements.itemsize for s in strides]
    return np.lib.stride_tricks.as_strided(elements[offset:], shape, steps)


def seen(layout, memory):
    place, size = layout.place, layout.dtype.itemsize
    assert place.offset % size == 0
    whole = flat(Place(place.kind, place.number), layout.dtype, memory)
    return strided(whole, place.offset // size, layout.shape, layout.strides)


def run_call(step, memory):
    s = step.statement
    values = {v: seen(layout, memory).copy() for v, layout in step.inputs.items()}
    values = {v: a.item() if v.weak else a for v, a in values.items()}
    made = s.function(*mapped(s.args, values.get), **mapped(s.kwargs, values.get))
    for layout, array in zip(step.outputs, s.results(made), strict=True):
        seen(layout, memory)[...] = array


def run_kernel(step, memory):
    kernel = step.kernel
    n = len(kernel.extents)
    buffers = [flat(p, d, memory) for p, d in zip(step.places, kernel.buffers, strict=True)]
    row = tuple(range(kernel.outer, n))
    done = []
    for stage in kernel.stages:
        for op in stage:
            done.append(run_operation(op, done, buffers, kernel, row))


def grid(access, done, extents):
    """The element numbers of an access, of size 1 along loops that it is the same for."""
    where = np.asarray(access.offset).reshape((1,) * len(extents))
    for k, (n, s) in enumerate(zip(extents, access.strides, strict=True)):
        if s:
            steps = np.arange(n) * s
            where = where + steps.reshape([-1 if i == k else 1 for i in range(len(extents))])
    for number, stride, size in access.indices:
        index = done[number]
        assert index.dtype == np.int64
        assert ((index >= -size) & (index < size)).all(), "an index out of range"
        where = where + np.where(index < 0, index + size, index) * stride
    return where


def run_operation(op, done, buffers, kernel, row):
    extents = kernel.extents
    if isinstance(op, Load):
        buffer = buffers[op.access.buffer]
        assert buffer.dtype == op.dtype
        where = grid(op.access, done, extents)
        assert where.size == 0 or where.min() >= 0
        return buffer[where]
    if isinstance(op, Const):
        return np.full((1,) * len(extents), op.value, op.dtype)
    if isinstance(op, Index):
        shape = [-1 if i == op.loop else 1 for i in range(len(extents))]
        return np.arange(extents[op.loop]).reshape(shape)
    if isinstance(op, Apply):
        return run_apply(op, [done[k] for k in op.args])
    if isinstance(op, Reduce):
        x = done[op.arg]
        shape = [
            n if k in row else m for k, (n, m) in enumerate(zip(extents, x.shape, strict=True))
        ]
        x = np.broadcast_to(x, shape)
        if op.name in ("argmax", "argmin"):
            assert len(row) == 1
            return getattr(np, op.name)(x, axis=row[0], keepdims=True)
        assert x.dtype == op.dtype
        return UFUNCS[op.name].reduce(x, axis=row, keepdims=True, dtype=op.dtype)
    return run_store(op, done[op.arg], done, buffers, kernel, row)


def run_apply(op, args):
    if op.name == "astype":
        return args[0].astype(op.dtype)
    if op.name == "where":
        assert args[0].dtype == bool
        assert args[1].dtype == args[2].dtype == op.dtype
        return np.where(*args)
    assert len({a.dtype for a in args}) == 1, f"{op} of {[a.dtype for a in args]}"
    result = np.asarray(getattr(np, op.name)(*args))
    assert result.dtype == op.dtype, f"{op} gave {result.dtype}"
    return result


def run_store(op, value, done, buffers, kernel, row):
    extents, access = kernel.extents, op.access
    buffer = buffers[access.buffer]
    assert buffer.dtype == value.dtype, f"{value.dtype} stored to {buffer.dtype}"
    outer = range(kernel.outer)
    if access.indices:
        where = grid(access, done, extents)
        once = all(where.shape[k] == value.shape[k] == 1 for k in row)
        each = [1 if once and k in row else n for k, n in enumerate(extents)]
        where, value = np.broadcast_to(where, each), np.broadcast_to(value, each)
        if op.combine:
            UFUNCS[op.combine].at(buffer, where, value)
        else:
            buffer[where.reshape(-1)] = value.reshape(-1)
        return None
    if op.combine:
        over = tuple(k for k in outer if not access.strides[k])
        assert over, "a store combines over nothing"
        for k in row:
            assert access.strides[k] or value.shape[k] == 1, "a sum within a row needs a Reduce"
        shape = [extents[k] if k in over else m for k, m in enumerate(value.shape)]
        value = np.broadcast_to(value, shape)
        value = UFUNCS[op.combine].reduce(value, axis=over, keepdims=True, dtype=value.dtype)
    for k, (n, s) in enumerate(zip(value.shape, access.strides, strict=True)):
        assert s or n == 1, f"loop {k} writes one element many times"
    where = grid(access, done, extents)
    assert not where.size or (where.min() >= 0 and len(np.unique(where)) == where.size)
    value = np.broadcast_to(value, where.shape)
    buffer[where] = UFUNCS[op.combine](buffer[where], value) if op.onto else value
    return None


# ---- the rules ---------------------------------------------------------------------------------


def check(plan):
    for step in plan.steps:
        if isinstance(step, Loops):
            check_kernel(step)
        elif isinstance(step, Multiply):
            assert disjoint(step.out, step.a), "a product over its operand"
            assert disjoint(step.out, step.b), "a product over its operand"
            assert step.a.dtype == step.b.dtype == step.out.dtype
        else:
            assert isinstance(step, Call)


def disjoint(a, b):
    return (
        a.place.kind != b.place.kind
        or a.place.number != b.place.number
        or a.place.kind == ("arena")
    )


def check_kernel(step):
    kernel = step.kernel
    assert hash(kernel) == hash(kernel)
    assert 0 <= kernel.outer <= len(kernel.extents)
    assert len(step.places) == len(kernel.buffers)
    stage_of, ops = {}, []
    written = set()
    for k, stage in enumerate(kernel.stages):
        for op in stage:
            for arg in arguments(op):
                assert arg < len(ops), "an operation before its argument"
                assert not isinstance(ops[arg], Store)
                if isinstance(ops[arg], Reduce) and not isinstance(op, Store):
                    assert stage_of[arg] < k, "a reduction used in its own stage"
            if isinstance(op, Load | Store):
                assert len(op.access.strides) == len(kernel.extents)
            if isinstance(op, Store):
                written.add(op.access.buffer)
            stage_of[len(ops)] = k
            ops.append(op)
    assert set(kernel.written) == written
    check_overlaps(step, ops, stage_of)


def arguments(op):
    if isinstance(op, Load):
        return [k for k, _, _ in op.access.indices]
    if isinstance(op, Apply):
        return op.args
    return (op.arg,) if isinstance(op, Reduce | Store) else ()


def span(step, number, ops):
    """The bytes of a buffer that a kernel may touch."""
    kernel, place = step.kernel, step.places[number]
    size = kernel.buffers[number].itemsize
    low, high = math.inf, 0
    for op in ops:
        if isinstance(op, Load | Store) and op.access.buffer == number:
            a = op.access
            ends = [(n - 1) * s for n, s in zip(kernel.extents, a.strides, strict=True)]
            ends += [(n - 1) * s for _, s, n in a.indices]
            low = min(low, a.offset + sum(min(e, 0) for e in ends))
            high = max(high, a.offset + sum(max(e, 0) for e in ends) + 1)
    return place.offset + low * size, place.offset + high * size


def are_apart(a, b, extents):
    """Whether two accesses of one buffer have no element in common: parts of what is joined."""
    if a.indices or b.indices:
        return False
    return not np.intersect1d(grid(a, (), extents), grid(b, (), extents)).size


def check_overlaps(step, ops, stage_of):
    """What is written lies apart from what is read, or in step with it."""
    kernel = step.kernel
    spans = [span(step, k, ops) for k in range(len(kernel.buffers))]
    for w in kernel.written:
        for other, place in enumerate(step.places):
            home = step.places[w]
            if (place.kind, place.number) != (home.kind, home.number):
                continue
            if other == w and any(is_at(op, Store, w) and op.access.indices for op in ops):
                assert not any(is_at(op, Load, w) for op in ops), "a scatter reads what it writes"
                continue
            if other != w and (spans[w][1] <= spans[other][0] or spans[other][1] <= spans[w][0]):
                continue
            assert other not in kernel.written or other == w, "two writes overlap"
            stores = [(k, op) for k, op in enumerate(ops) if is_at(op, Store, w)]
            loads = [(k, op) for k, op in enumerate(ops) if is_at(op, Load, other)]
            for i, load in loads:
                for j, store in stores:
                    a, b = load.access, store.access
                    if other == w and are_apart(a, b, kernel.extents):
                        continue
                    same = (a.strides, a.offset, a.indices) == (b.strides, b.offset, b.indices)
                    assert same, "an array is written over out of step"
                    steps = zip(b.strides, kernel.extents, strict=True)
                    once = all(step or extent <= 1 for step, extent in steps)
                    assert once, "an element is read again after it was written over"
                    assert not store.combine
                    assert i < j, "an array is read after it was written over"
                    assert stage_of[i] <= stage_of[j]
            if other != w and loads:
                assert place == home
                assert kernel.buffers[other].itemsize == kernel.buffers[w].itemsize


def is_at(op, kind, buffer):
    return isinstance(op, kind) and op.access.buffer == buffer
