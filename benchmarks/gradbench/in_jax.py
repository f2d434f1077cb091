"""The problems in JAX: compiled by `jax.jit` in double precision, loops by `lax`.

Reverse mode through a while loop does not exist in JAX: particle and saddle are those of forward
mode outside, and saddle's reverse ones fail in the same way.
"""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import grad, jacfwd, jacrev, jit, jvp, lax, vmap

jax.config.update("jax_enable_x64", True)


# ---- gmm -------------------------------------------------------------------------------------


def log_posterior(alpha, mu, q, l, x, m, gamma):
    (n, d), k = x.shape, len(alpha)
    columns, rows = np.triu_indices(d, 1)
    diagonal = np.arange(d)
    Q = jnp.zeros((k, d, d)).at[:, diagonal, diagonal].set(jnp.exp(q)).at[:, rows, columns].set(l)
    apart = (x - mu[:, None]) @ Q.mT
    terms = (alpha + q.sum(1))[:, None] - 0.5 * (apart**2).sum(2)
    logsumexp = jax.scipy.special.logsumexp
    likelihood = logsumexp(terms, 0).sum() - n * logsumexp(alpha)
    nu = d + m + 1
    constant = nu * d * jnp.log(gamma / math.sqrt(2)) - jax.scipy.special.multigammaln(nu / 2, d)
    squares = (jnp.exp(q) ** 2).sum() + (l**2).sum()
    prior = k * constant + m * q.sum() - gamma**2 / 2 * squares
    return likelihood - n * d / 2 * math.log(2 * math.pi) + prior


# ---- ba --------------------------------------------------------------------------------------


def rotate(r, x):
    square = r @ r
    angle = jnp.sqrt(jnp.where(square > 0, square, 1.0))
    axis = r / angle
    across = jnp.cross(axis, x)
    cosine = jnp.cos(angle)
    turned = x * cosine + across * jnp.sin(angle) + axis * (axis @ x) * (1 - cosine)
    return jnp.where(square > 0, turned, x + jnp.cross(r, x))


def reprojection_error(camera, x, w, feature):
    seen = rotate(camera[:3], x - camera[3:6])
    v = seen[:2] / seen[2]
    s = v @ v
    projected = camera[6] * v * (1 + camera[9] * s + camera[10] * s * s) + camera[7:9]
    return w * (projected - feature)


def ba_objective(cameras, points, weights, features, by, seen):
    return vmap(reprojection_error)(cameras[by], points[seen], weights, features), 1 - weights**2


def ba_jacobian(cameras, points, weights, features, by, seen):
    n, m, p = len(cameras), len(points), len(weights)
    blocks = vmap(jacrev(reprojection_error, argnums=(0, 1, 2)))
    by_camera, by_point, by_weight = blocks(cameras[by], points[seen], weights, features)
    values = jnp.concatenate([by_camera, by_point, by_weight[:, :, None]], 2)
    i, last = jnp.arange(p)[:, None], 11 * n + 3 * m
    columns = jnp.concatenate(
        [11 * by[:, None] + jnp.arange(11), 11 * n + 3 * seen[:, None] + jnp.arange(3), last + i],
        1,
    )
    columns = jnp.stack([columns, columns], 1)
    return {
        "rows": jnp.concatenate([15 * jnp.arange(2 * p), 30 * p + jnp.arange(p + 1)]),
        "cols": jnp.concatenate([columns.reshape(-1), last + jnp.arange(p)]),
        "vals": jnp.concatenate([values.reshape(-1), -2 * weights]),
    }


# ---- ht --------------------------------------------------------------------------------------


def pose(theta):
    zero, none = jnp.zeros(1), jnp.zeros(3)
    columns = [theta[:3], jnp.ones(3), theta[3:6], none, none]
    for a, b, c, d in theta[6:].reshape(5, 4, 1):
        columns += [jnp.concatenate([a, b, zero]), jnp.concatenate([c, zero, zero])]
        columns += [jnp.concatenate([d, zero, zero]), none]
    return jnp.stack(columns)


def euler(angles):
    (cx, cz, cy), (sx, sz, sy) = jnp.cos(angles).T, jnp.sin(angles).T
    zero, one = jnp.zeros_like(cx), jnp.ones_like(cx)
    rows = [
        [cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx, zero],
        [sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx, zero],
        [-sy, cy * sx, cy * cx, zero],
        [zero, zero, zero, one],
    ]
    return jnp.stack([jnp.stack(row, -1) for row in rows], -2)


def rotation(r):
    square = r @ r
    angle = jnp.sqrt(jnp.where(square > 1e-8, square, 1.0))
    x, y, z = axis = r / angle
    zero = jnp.zeros_like(x)
    cross = jnp.stack([zero, -z, y, z, zero, -x, -y, x, zero]).reshape(3, 3)
    c = jnp.cos(angle)
    turned = c * jnp.eye(3) + (1 - c) * jnp.outer(axis, axis) + jnp.sin(angle) * cross
    return jnp.where(square > 1e-8, turned, jnp.eye(3))


def vertices(theta, hand):
    columns = pose(theta)
    relatives = hand["base_relatives"] @ euler(columns[3:])
    absolutes = []
    for parent, relative in zip(hand["parents"], relatives, strict=True):
        absolutes.append(relative if parent < 0 else absolutes[parent] @ relative)
    transforms = jnp.stack(absolutes) @ hand["inverse_base_absolutes"]
    moved = jnp.einsum("vi,ijk,vk->vj", hand["weights"], transforms, hand["base_positions"])[:, :3]
    if hand["is_mirrored"]:
        moved = moved * jnp.array([-1.0, 1.0, 1.0])
    return moved @ (rotation(columns[0]) * columns[1]).T + columns[2]


def apart(u, point, corners):
    a, b, c = corners
    return point - (u[0] * a + u[1] * b + (1 - u[0] - u[1]) * c)


def errors(theta, us, hand, corners, points):
    found = vertices(theta, hand)[corners]
    return vmap(apart)(us, points, found) if len(us) else points - found


def ht_objective(*arguments):
    return errors(*arguments).reshape(-1)


def ht_jacobian(theta, us, hand, corners, points):
    by_theta = jacfwd(errors)(theta, us, hand, corners, points)
    if not len(us):
        return by_theta.reshape(-1, 26)
    by_u = vmap(jacfwd(apart))(us, points, vertices(theta, hand)[corners])
    return jnp.concatenate([by_u, by_theta], 2).reshape(-1, 28)


def of_hand(f):
    """Compiled for each tree of bones, which decides what the program is."""
    compiled = jit(
        lambda theta, us, arrays, fixed, *others: f(theta, us, {**arrays, **dict(fixed)}, *others),
        static_argnums=3,
    )

    def call(theta, us, hand, corners, points):
        fixed = tuple((name, hand[name]) for name in ("parents", "is_mirrored"))
        arrays = {name: part for name, part in hand.items() if name not in dict(fixed)}
        return compiled(theta, us, arrays, fixed, corners, points)

    return call


# ---- lstm ------------------------------------------------------------------------------------


def loss(main, extra, state, sequence):
    def step(state, rows):
        x, following = rows
        v, after = x * extra[0], []
        for (W, B), (h, s) in zip(main, state, strict=True):
            f, o = jax.nn.sigmoid(v * W[::2] + B[::2])
            g = jax.nn.sigmoid(h * W[1] + B[1])
            s = s * f + g * jnp.tanh(h * W[3] + B[3])
            v = o * jnp.tanh(s)
            after.append(jnp.stack([v, s]))
        y = v * extra[1] + extra[2]
        return jnp.stack(after), jnp.sum(following * (y - jnp.log(2 + jnp.sum(jnp.exp(y)))))

    _, terms = lax.scan(step, state, (sequence[:-1], sequence[1:]))
    return -jnp.sum(terms) / sequence[1:].size


# ---- particle and saddle ---------------------------------------------------------------------


def minimum(f, gradient, x):
    def goes_on(carried):
        _, _, g, _, _, done = carried
        return ~done & (jnp.sum(g * g) > 1e-10)

    def step(carried):
        x, value, g, eta, successes, _ = carried

        def doubled(_):
            return x, value, g, 2 * eta, 0, False

        def moved(_):
            tried = x - eta * g

            def better(found):
                return tried, found, gradient(tried), eta, successes + 1, False

            def worse(found):
                return x, value, g, eta / 2, 0, False

            def far(_):
                found = f(tried)
                return lax.cond(found < value, better, worse, found)

            def near(_):
                return x, value, g, eta, successes, True

            return lax.cond(jnp.sum((x - tried) ** 2) <= 1e-10, near, far, None)

        return lax.cond(successes == 10, doubled, moved, None)

    return lax.while_loop(goes_on, step, (x, f(x), gradient(x), 1e-5, 0, False))[0]


def flight(slope):
    def potential(x, w):
        first = jnp.stack([10.0 * jnp.ones_like(w), 10 - w])
        second = jnp.array([10.0, 0.0])
        return 1 / jnp.sqrt(jnp.sum((x - first) ** 2)) + 1 / jnp.sqrt(jnp.sum((x - second) ** 2))

    def missed(w):
        def move(state):
            x, _, v = state
            return x + 0.1 * v, v, v - 0.1 * slope(lambda x: potential(x, w))(x)

        start = move((jnp.array([0.0, 8.0]), jnp.zeros(2), jnp.array([0.75, 0.0])))
        x, v, _ = lax.while_loop(lambda state: state[0][1] > 0, move, start)
        return (x[0] - x[1] / v[1] * v[0]) ** 2

    return missed


def particle(outer, inner):
    missed = flight(inner)
    return jit(lambda w: minimum(missed, outer(missed), w))


def saddle(outer, inner):
    f = lambda x, y: jnp.sum(x * x) - jnp.sum(y * y)

    def answer(x, start, mode):
        opposed = lambda y: -f(x, y)
        return minimum(opposed, mode(opposed), start)

    def solve(start):
        worst = lambda x: f(x, answer(x, start, inner))
        x = minimum(worst, outer(worst), start)
        return jnp.concatenate([x, answer(x, start, outer)])

    return jit(solve)


# ---- the others ------------------------------------------------------------------------------


def log_sum_exp(x):
    a = jnp.max(x)
    return a + jnp.log(jnp.sum(jnp.exp(x - a)))


def cost(points, centroids):
    """In the form that JAX is quickest with: a product of matrices for all distances."""
    distances = (points**2).sum(1)[:, None] - 2 * points @ centroids.T + (centroids**2).sum(1)
    return distances.min(1).sum()


def direction(points, centroids):
    g, h = jvp(grad(lambda c: cost(points, c)), (centroids,), (jnp.ones_like(centroids),))
    return g / h


def determinant(A, ell, columns):
    rows, minors = A.reshape(ell, ell), jnp.ones(math.factorial(ell))
    for row, left in zip(rows[::-1], columns[::-1], strict=True):
        signs = (-1.0) ** np.arange(left.shape[1])
        minors = jnp.sum(signs * row[left] * minors.reshape(left.shape), axis=1)
    return minors[0]


def misfit(x, n):
    t = jnp.linspace(-1, 1, n)

    def term(carried, coefficient):
        fitted, power = carried
        return (fitted + coefficient * power, power * t), None

    (fitted, _), _ = lax.scan(term, (jnp.zeros(n), jnp.ones(n)), x)
    return 0.5 * jnp.sum((jnp.sign(t) - fitted) ** 2)


def solve(x, s):
    def slope(y):
        return x * jnp.concatenate([jnp.ones(1), y[:-1]])

    def step(y, _):
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        k4 = slope(y + h * k3)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

    h = 2 / s
    return lax.scan(step, jnp.zeros_like(x), None, length=s)[0]


def square(x):
    return x * x


of_size = functools.partial(jit, static_argnums=1)  # an argument that is a number of steps

FUNCTIONS = {
    "hello": {"square": jit(square), "double": jit(grad(square))},
    "gmm": {"objective": jit(log_posterior), "jacobian": jit(grad(log_posterior, (0, 1, 2, 3)))},
    "ba": {"objective": jit(ba_objective), "jacobian": jit(ba_jacobian)},
    "ht": {"objective": of_hand(ht_objective), "jacobian": of_hand(ht_jacobian)},
    "lstm": {"objective": jit(loss), "jacobian": jit(grad(loss, (0, 1)))},
    "lse": {"primal": jit(log_sum_exp), "gradient": jit(grad(log_sum_exp))},
    "kmeans": {"cost": jit(cost), "dir": jit(direction)},
    "det": {"primal": of_size(determinant), "gradient": of_size(grad(determinant))},
    "llsq": {"primal": of_size(misfit), "gradient": of_size(grad(misfit))},
    "ode": {
        "primal": of_size(solve),
        "gradient": of_size(grad(lambda x, s: solve(x, s)[-1])),
    },
    "particle": {"ff": particle(jacfwd, jacfwd), "fr": particle(jacfwd, grad)},
    "saddle": {"ff": saddle(jacfwd, jacfwd), "fr": saddle(jacfwd, grad)},
}


def given(name, arguments):
    """The arguments of wengert's functions, as JAX's take them."""
    return _converted(arguments)


def _converted(x):
    if isinstance(x, np.ndarray):
        return jnp.asarray(x)
    if isinstance(x, tuple | list):
        return type(x)(_converted(item) for item in x)
    return {name: _converted(part) for name, part in x.items()} if isinstance(x, dict) else x


def wait(result):
    return jax.block_until_ready(result)
