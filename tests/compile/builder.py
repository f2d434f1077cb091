"""Programs by hand, and random ones."""

import numpy as np

from wengert.compile.program.infer import statement
from wengert.compile.program.operations import added, astype, full, take, updated, view
from wengert.compile.program.program import Program, Statement, Value


class Builder:
    """`b(np.add, x, y)` appends a statement and gives its value."""

    def __init__(self):
        self.program = Program()

    def __call__(self, function, *args, **kwargs):
        s = statement(function, *args, **kwargs)
        self.program.statements.append(s)
        return s.output

    def opaque(self, function, args, *types, **kwargs):
        """A statement that plans know nothing about, with outputs of these shapes and dtypes."""
        outs = tuple(Value(shape, dtype) for shape, dtype in types)
        self.program.statements.append(Statement(function, args, kwargs, outs))
        return outs

    def input(self, *shape, dtype="f4", name=None):
        return self.program.input(shape, dtype, name or f"x{len(self.program.inputs)}")

    def constant(self, array):
        return self.program.constant(np.asarray(array))

    # ---- shorthands ---------------------------------------------------------------------------

    def total(self, x, *axes, keepdims=False):
        return self(np.sum, x, axis=axes, keepdims=keepdims)

    def mean(self, x, *axes, keepdims=True):
        count = int(np.prod([x.shape[k] for k in axes]))
        return self(np.divide, self.total(x, *axes, keepdims=keepdims), count)

    def softmax(self, x):
        last = len(x.shape) - 1
        shifted = self(np.subtract, x, self(np.max, x, axis=(last,), keepdims=True))
        e = self(np.exp, shifted)
        return self(np.divide, e, self.total(e, last, keepdims=True))

    def log_softmax(self, x):
        last = len(x.shape) - 1
        shifted = self(np.subtract, x, self(np.max, x, axis=(last,), keepdims=True))
        lse = self(np.log, self.total(self(np.exp, shifted), last, keepdims=True))
        return self(np.subtract, shifted, lse)

    def cross_entropy(self, logits, target):
        """The mean loss, and its gradient for the logits."""
        n, c = logits.shape
        logp = self.log_softmax(logits)
        rows = self(np.arange, n)
        picked = self(take, logp, (rows, target))
        loss = self(np.negative, self(np.divide, self.total(picked, 0), n))
        g = self(np.broadcast_to, self.constant(np.asarray(-1 / n, logits.dtype)), (n,))
        zeros = self(full, (n, c), 0, logits.dtype)
        scattered = self(added, zeros, (rows, target), g)
        sums = self.total(scattered, 1, keepdims=True)
        dlogits = self(np.subtract, scattered, self(np.multiply, self(np.exp, logp), sums))
        return loss, dlogits

    def layer_norm(self, x, weight, bias, eps=1e-5):
        """The result, with what the backward pass needs."""
        last = len(x.shape) - 1
        centred = self(np.subtract, x, self.mean(x, last))
        var = self.mean(self(np.multiply, centred, centred), last)
        scale = self(np.divide, 1.0, self(np.sqrt, self(np.add, var, eps)))
        hat = self(np.multiply, centred, scale)
        y = self(np.add, self(np.multiply, hat, weight), bias)
        return y, hat, scale

    def layer_norm_back(self, g, hat, scale, weight):
        last = len(g.shape) - 1
        lead = tuple(range(last))
        dweight = self.total(self(np.multiply, g, hat), *lead)
        dbias = self.total(g, *lead)
        ghat = self(np.multiply, g, weight)
        a = self.mean(ghat, last)
        b = self.mean(self(np.multiply, ghat, hat), last)
        inner = self(np.subtract, self(np.subtract, ghat, a), self(np.multiply, hat, b))
        return self(np.multiply, inner, scale), dweight, dbias

    def matmul_t(self, a, b, left=False, right=False):
        a = self(np.transpose, a, (1, 0)) if left else a
        b = self(np.transpose, b, (1, 0)) if right else b
        return self(np.matmul, a, b)

    def sgd(self, p, g, lr=0.1):
        self.program.updates[p] = self(np.subtract, p, self(np.multiply, g, lr))

    def adam(self, p, g, m, v, step):
        """One update; `step` is a scalar input that counts."""
        b1, b2 = 0.9, 0.999
        new_m = self(np.add, self(np.multiply, m, b1), self(np.multiply, g, 1 - b1))
        gg = self(np.multiply, g, g)
        new_v = self(np.add, self(np.multiply, v, b2), self(np.multiply, gg, 1 - b2))
        c1 = self(astype, self(np.subtract, 1.0, self(np.power, b1, step)), p.dtype)
        c2 = self(astype, self(np.subtract, 1.0, self(np.power, b2, step)), p.dtype)
        m_hat, v_hat = self(np.divide, new_m, c1), self(np.divide, new_v, c2)
        move = self(np.divide, m_hat, self(np.add, self(np.sqrt, v_hat), 1e-8))
        new_p = self(np.subtract, p, self(np.multiply, move, 1e-3))
        self.program.updates |= {m: new_m, v: new_v, p: new_p}


def arrays_for(program, seed=0):
    """Inputs for a program, the same for the same seed; integers are small and not negative."""
    rng = np.random.default_rng(seed)
    made = []
    for v in program.inputs:
        if v.dtype.kind in "iu":
            made.append(rng.integers(0, 3, v.shape).astype(v.dtype))
        elif v.dtype.kind == "b":
            made.append(rng.integers(0, 2, v.shape).astype(bool))
        else:
            made.append(np.asarray(rng.normal(size=v.shape), v.dtype))
    return [
        np.ascontiguousarray(a).reshape(v.shape) for a, v in zip(made, program.inputs, strict=True)
    ]


def same(program, other, rtol=1e-5, atol=1e-4):
    """AssertionError if two programs return different arrays."""
    arrays = arrays_for(program)
    with np.errstate(all="ignore"):
        expected, found = (p.run([np.array(a) for a in arrays]) for p in (program, other))
    for mine, right in zip(found, expected, strict=True):
        assert (mine.shape, mine.dtype) == (right.shape, right.dtype)
        np.testing.assert_allclose(mine, right, rtol=rtol, atol=atol)


def factors(rng, n):
    """A random shape of n elements."""
    shape = []
    while n > 1:
        d = int(rng.choice([k for k in range(2, n + 1) if n % k == 0]))
        shape.append(d)
        n //= d
    for _ in range(rng.integers(0, 2)):
        shape.insert(int(rng.integers(0, len(shape) + 1)), 1)
    return tuple(shape)


def random_program(seed, length=25):
    """A program of random statements of all sorts, with several outputs and updates."""
    rng = np.random.default_rng(seed)
    b = Builder()
    pool = [b.input(*factors(rng, int(rng.choice([6, 12, 24]))), dtype="f8") for _ in range(4)]
    pool.append(b.input(4, 6, dtype="f8"))
    pool.append(b.input(4, 1, dtype="f8"))
    index = b.input(4, dtype="i8")
    kinds = [_unary, _binary, _binary, _reduce, _reduce, _reshape, _transpose, _view, _broadcast]
    kinds += [_gather, _matmul, _concatenate, _updated, _opaque, _scatter, _normalise]
    while len(b.program.statements) < length:
        x = pool[int(rng.integers(max(0, len(pool) - 8), len(pool)))]
        made = kinds[int(rng.integers(len(kinds)))](b, rng, x, pool, index)
        if made is not None and made.size <= 200:
            pool.append(made)
    count = int(rng.integers(1, 4))
    b.program.outputs = [pool[int(k)] for k in rng.integers(len(pool) // 2, len(pool), count)]
    b.program.outputs.append(pool[-1])
    for target in b.program.inputs:
        same = [v for v in pool if v.shape == target.shape and v.dtype == target.dtype]
        if same and rng.random() < 0.6:
            b.program.updates[target] = same[int(rng.integers(len(same)))]
    return b.program


def _unary(b, rng, x, pool, index):
    return b([np.tanh, np.negative, np.cos, np.absolute][rng.integers(4)], x)


def _binary(b, rng, x, pool, index):
    fits = [v for v in pool if _broadcasts(v.shape, x.shape)]
    y = fits[int(rng.integers(len(fits)))] if rng.random() < 0.9 else 0.5
    return b([np.add, np.subtract, np.multiply, np.maximum][rng.integers(4)], x, y)


def _broadcasts(s, t):
    return all(m == n or 1 in (m, n) for m, n in zip(s[::-1], t[::-1], strict=False))


def _reduce(b, rng, x, pool, index):
    if not x.shape:
        return None
    count = int(rng.integers(1, len(x.shape) + 1))
    axes = tuple(sorted(int(k) for k in rng.choice(len(x.shape), count, replace=False)))
    f = [np.sum, np.max, np.min, np.sum][rng.integers(4)]
    return b(f, x, axis=axes, keepdims=bool(rng.integers(2)))


def _normalise(b, rng, x, pool, index):
    if not x.shape:
        return None
    return b.softmax(x)


def _reshape(b, rng, x, pool, index):
    return b(np.reshape, x, factors(rng, x.size))


def _transpose(b, rng, x, pool, index):
    return b(np.transpose, x, tuple(int(k) for k in rng.permutation(len(x.shape))))


def _view(b, rng, x, pool, index):
    entries = []
    for n in x.shape:
        start = int(rng.integers(0, n))
        entries.append(
            [
                slice(0, n, 1),
                slice(start, n, 1),
                slice(start, n, 2),
                slice(n - 1, None, -1),
                start,
            ][rng.integers(5)]
        )
    if rng.random() < 0.3:
        entries.insert(int(rng.integers(len(entries) + 1)), None)
    return b(view, x, tuple(entries))


def _broadcast(b, rng, x, pool, index):
    shape = tuple(3 if n == 1 and rng.random() < 0.5 else n for n in x.shape)
    return b(np.broadcast_to, x, ((2,) if rng.random() < 0.3 else ()) + shape)


def _gather(b, rng, x, pool, index):
    fits = [k for k, n in enumerate(x.shape) if n >= 3]
    if not fits:
        return None
    k = int(rng.choice(fits))
    entries = [slice(0, n, 1) for n in x.shape]
    entries[k] = index
    if k and x.shape[0] == 4 and rng.random() < 0.7:
        entries[0] = b(np.arange, 4)
    return b(take, x, tuple(entries))


def _matmul(b, rng, x, pool, index):
    fits = [
        v for v in pool if len(v.shape) == 2 and len(x.shape) >= 2 and v.shape[0] == x.shape[-1]
    ]
    if not fits:
        return None
    return b(np.tanh, b(np.matmul, x, fits[int(rng.integers(len(fits)))]))


def _concatenate(b, rng, x, pool, index):
    if not x.shape:
        return None
    return b(np.concatenate, (x, b(np.negative, x)), axis=int(rng.integers(len(x.shape))))


def _updated(b, rng, x, pool, index):
    if not x.shape or x.shape[0] < 2:
        return None
    part = b(view, x, (slice(0, 1, 1), *[slice(0, n, 1) for n in x.shape[1:]]))
    where = (slice(1, 2, 1), *[slice(0, n, 1) for n in x.shape[1:]])
    return b(updated, x, where, part if rng.random() < 0.7 else 2.5)


def _opaque(b, rng, x, pool, index):
    if not x.shape:
        return None
    return b.opaque(np.cumsum, (x,), (x.shape, x.dtype), axis=len(x.shape) - 1)[0]


def _scatter(b, rng, x, pool, index):
    if x.shape and x.shape[0] == 4 and rng.random() < 0.7:
        whole = tuple(slice(0, n, 1) for n in x.shape[1:])
        base = b(full, (5, *x.shape[1:]), 0, x.dtype)
        if rng.random() < 0.5:
            bases = [v for v in pool if len(v.shape) == len(x.shape) and v.shape[1:] == x.shape[1:]]
            bases = [v for v in bases if v.shape[0] > 2]
            base = bases[int(rng.integers(len(bases)))]
        return b([added, updated][rng.integers(2)], base, (index, *whole), x)
    if x.shape != (4,):
        return None
    if rng.random() < 0.5:
        return b(added, b(full, (5,), 0, x.dtype), (index,), x)
    base = b(full, (4, 6), 0, x.dtype)
    return b([added, updated][rng.integers(2)], base, (b(np.arange, 4), index), x)


def transformer(layers=2, batch=2, time=6, heads=2, width=8, vocabulary=11):
    """A training step of a small GPT with Adam: forward, backward, update."""
    b = Builder()
    depth = width // heads
    ids, targets = b.input(batch, time, dtype="i8"), b.input(batch * time, dtype="i8")
    step = b.program.input((), "f8", "step", True)
    count = b(np.add, step, 1.0)
    b.program.updates[step] = count
    params, grads = [], []

    def parameter(*shape):
        params.append(b.input(*shape))
        return params[-1]

    def heads_of(x):  # (B, T, D) to (B, H, T, D/H)
        return b(np.transpose, b(np.reshape, x, (batch, time, heads, depth)), (0, 2, 1, 3))

    def merged(x):
        return b(np.reshape, b(np.transpose, x, (0, 2, 1, 3)), (batch, time, width))

    def flat(x):
        return b(np.reshape, x, (batch * time, x.shape[-1]))

    def swapped(x):
        return b(np.transpose, x, (0, 1, 3, 2))

    def linear(x, w, c):
        y = b.matmul_t(flat(x), w, right=True)
        return b(np.add, b(np.reshape, y, (batch, time, w.shape[0])), c)

    def linear_back(g, x, w, c):
        dw = b.matmul_t(flat(g), flat(x), left=True)
        grads.extend([(w, dw), (c, b.total(g, 0, 1))])
        return b(np.reshape, b(np.matmul, flat(g), w), x.shape)

    wte, wpe = parameter(vocabulary, width), parameter(time, width)
    whole = slice(0, width, 1)
    x = b(np.add, b(take, wte, (ids, whole)), wpe)
    mask = b(
        np.less_equal,
        b(np.reshape, b(np.arange, time), (1, time)),
        b(np.reshape, b(np.arange, time), (time, 1)),
    )
    saved = []
    for _ in range(layers):
        g1, c1 = parameter(width), parameter(width)
        n1, hat1, s1 = b.layer_norm(x, g1, c1)
        wa, ca = parameter(3 * width, width), parameter(3 * width)
        qkv = linear(n1, wa, ca)
        q, k, v = (
            heads_of(
                b(
                    view,
                    qkv,
                    (slice(0, batch, 1), slice(0, time, 1), slice(i * width, (i + 1) * width, 1)),
                )
            )
            for i in range(3)
        )
        scores = b(np.multiply, b(np.matmul, q, swapped(k)), depth**-0.5)
        att = b.softmax(b(np.where, mask, scores, -np.inf))
        o = merged(b(np.matmul, att, v))
        wo, co = parameter(width, width), parameter(width)
        x2 = b(np.add, x, linear(o, wo, co))
        g2, c2 = parameter(width), parameter(width)
        n2, hat2, s2 = b.layer_norm(x2, g2, c2)
        w1, c3 = parameter(4 * width, width), parameter(4 * width)
        h = linear(n2, w1, c3)
        cube = b(np.multiply, b(np.multiply, h, h), h)
        inner = b(np.multiply, b(np.add, h, b(np.multiply, cube, 0.044715)), 0.7978845608)
        t = b(np.tanh, inner)
        act = b(np.multiply, b(np.multiply, h, 0.5), b(np.add, t, 1.0))
        w2, c4 = parameter(width, 4 * width), parameter(width)
        x3 = b(np.add, x2, linear(act, w2, c4))
        saved.append((
            g1, c1, n1, hat1, s1, wa, ca, q, k, v, att, o, wo, co, g2, c2, n2, hat2, s2,
            w1, c3, h, t, act, w2, c4,
        ))  # fmt: skip
        x = x3
    gf, cf = parameter(width), parameter(width)
    nf, hatf, sf = b.layer_norm(x, gf, cf)
    wl = parameter(vocabulary, width)
    logits = b.matmul_t(flat(nf), wl, right=True)
    loss, dl = b.cross_entropy(logits, targets)
    grads.append((wl, b.matmul_t(dl, flat(nf), left=True)))
    g = b(np.reshape, b(np.matmul, dl, wl), (batch, time, width))

    def norm_back(g, hat, scale, weight, bias):
        dx, dw, db = b.layer_norm_back(g, hat, scale, weight)
        grads.extend([(weight, dw), (bias, db)])
        return dx

    dx = norm_back(g, hatf, sf, gf, cf)
    for (
        g1, c1, n1, hat1, s1, wa, ca, q, k, v, att, o, wo, co, g2, c2, n2, hat2, s2,
        w1, c3, h, t, act, w2, c4,
    ) in reversed(saved):  # fmt: skip
        dact = linear_back(dx, act, w2, c4)
        dt = b(
            np.multiply,
            b(np.multiply, dact, b(np.multiply, h, 0.5)),
            b(np.subtract, 1.0, b(np.multiply, t, t)),
        )
        dinner = b(np.multiply, dt, 0.7978845608)
        poly = b(np.add, 1.0, b(np.multiply, b(np.multiply, h, h), 3 * 0.044715))
        half = b(np.multiply, b(np.multiply, dact, 0.5), b(np.add, t, 1.0))
        dh = b(np.add, half, b(np.multiply, dinner, poly))
        dn2 = linear_back(dh, n2, w1, c3)
        dx2 = b(np.add, dx, norm_back(dn2, hat2, s2, g2, c2))
        do = heads_of(linear_back(dx2, o, wo, co))
        datt = b(np.matmul, do, swapped(v))
        dv = b(np.matmul, swapped(att), do)
        dot = b.total(b(np.multiply, datt, att), 3, keepdims=True)
        dm = b(np.multiply, att, b(np.subtract, datt, dot))
        ds = b(np.multiply, b(np.where, mask, dm, 0.0), depth**-0.5)
        dq, dk = b(np.matmul, ds, k), b(np.matmul, swapped(ds), q)
        dqkv = b(np.concatenate, (merged(dq), merged(dk), merged(dv)), axis=2)
        dn1 = linear_back(dqkv, n1, wa, ca)
        dx = b(np.add, dx2, norm_back(dn1, hat1, s1, g1, c1))
    grads.append((wpe, b.total(dx, 0)))
    zeros = b(full, (vocabulary, width), 0, dx.dtype)
    grads.append((wte, b(added, zeros, (ids, whole), dx)))
    for p, g in grads:
        b.adam(p, g, b.input(*p.shape), b.input(*p.shape), count)
    b.program.outputs = [loss]
    return b.program
