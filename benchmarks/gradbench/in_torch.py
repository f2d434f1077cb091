"""The problems in PyTorch: eager, in double precision, with the tools of `torch.func`.

particle and saddle are left out: their 59,000 and 48,000 steps of tiny operations take minutes.
"""

import functools
import math
from itertools import pairwise

import numpy as np
import torch
from torch.func import grad, jacfwd, jacrev, jvp, vmap


def gradient(f, argnums=0):
    """By `backward`'s machinery, which is quicker than `torch.func.grad`."""

    def of(*arguments):
        places = argnums if isinstance(argnums, tuple) else (argnums,)
        given = list(arguments)
        for i in places:
            given[i] = given[i].detach().requires_grad_()
        found = torch.autograd.grad(f(*given), [given[i] for i in places])
        return found if isinstance(argnums, tuple) else found[0]

    return of


def without_history(f):
    return functools.wraps(f)(torch.no_grad()(f))


# ---- gmm -------------------------------------------------------------------------------------


def log_posterior(alpha, mu, q, l, x, m, gamma):
    (n, d), k = x.shape, len(alpha)
    columns, rows = torch.triu_indices(d, d, 1)
    Q = torch.diag_embed(torch.exp(q)).index_put((slice_of(k), rows, columns), l)
    apart = (x - mu[:, None]) @ Q.mT
    terms = (alpha + q.sum(1))[:, None] - 0.5 * (apart**2).sum(2)
    likelihood = torch.logsumexp(terms, 0).sum() - n * torch.logsumexp(alpha, 0)
    nu = d + m + 1
    constant = nu * d * math.log(gamma / math.sqrt(2))
    constant -= torch.special.multigammaln(torch.tensor(nu / 2, dtype=x.dtype), d)
    squares = (torch.exp(q) ** 2).sum() + (l**2).sum()
    prior = k * constant + m * q.sum() - gamma**2 / 2 * squares
    return likelihood - n * d / 2 * math.log(2 * math.pi) + prior


def slice_of(k):
    return torch.arange(k)[:, None]


# ---- ba --------------------------------------------------------------------------------------


def rotate(r, x):
    square = r @ r
    angle = torch.sqrt(torch.where(square > 0, square, 1.0))
    axis = r / angle
    across = torch.linalg.cross(axis, x)
    cosine = torch.cos(angle)
    turned = x * cosine + across * torch.sin(angle) + axis * (axis @ x) * (1 - cosine)
    return torch.where(square > 0, turned, x + torch.linalg.cross(r, x))


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
    values = torch.cat([by_camera, by_point, by_weight[:, :, None]], 2)
    i, last = torch.arange(p)[:, None], 11 * n + 3 * m
    columns = torch.cat(
        [
            11 * by[:, None] + torch.arange(11),
            11 * n + 3 * seen[:, None] + torch.arange(3),
            last + i,
        ],
        1,
    )
    columns = torch.stack([columns, columns], 1)
    return {
        "rows": torch.cat([15 * torch.arange(2 * p), 30 * p + torch.arange(p + 1)]),
        "cols": torch.cat([columns.reshape(-1), last + torch.arange(p)]),
        "vals": torch.cat([values.reshape(-1), -2 * weights]),
    }


# ---- ht --------------------------------------------------------------------------------------


def pose(theta):
    table = theta.new_zeros(25, 3)
    columns = [theta[:3], torch.ones_like(theta[:3]), theta[3:6], table[0], table[0]]
    zero = table[0, :1]
    for a, b, c, d in theta[6:].reshape(5, 4, 1):
        columns += [torch.cat([a, b, zero]), torch.cat([c, zero, zero])]
        columns += [torch.cat([d, zero, zero]), table[0]]
    return torch.stack(columns)


def euler(angles):
    (cx, cz, cy), (sx, sz, sy) = torch.cos(angles).T, torch.sin(angles).T
    zero, one = torch.zeros_like(cx), torch.ones_like(cx)
    rows = [
        [cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx, zero],
        [sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx, zero],
        [-sy, cy * sx, cy * cx, zero],
        [zero, zero, zero, one],
    ]
    return torch.stack([torch.stack(row, -1) for row in rows], -2)


def rotation(r):
    square = r @ r
    angle = torch.sqrt(torch.where(square > 1e-8, square, 1.0))
    x, y, z = axis = r / angle
    zero = torch.zeros_like(x)
    cross = torch.stack([zero, -z, y, z, zero, -x, -y, x, zero]).reshape(3, 3)
    c, eye = torch.cos(angle), torch.eye(3, dtype=r.dtype)
    turned = c * eye + (1 - c) * torch.outer(axis, axis) + torch.sin(angle) * cross
    return torch.where(square > 1e-8, turned, eye)


def vertices(theta, hand):
    columns = pose(theta)
    relatives = hand["base_relatives"] @ euler(columns[3:])
    absolutes = []
    for parent, relative in zip(hand["parents"], relatives, strict=True):
        absolutes.append(relative if parent < 0 else absolutes[parent] @ relative)
    transforms = torch.stack(absolutes) @ hand["inverse_base_absolutes"]
    moved = torch.einsum("vi,ijk,vk->vj", hand["weights"], transforms, hand["base_positions"])[
        :, :3
    ]
    if hand["is_mirrored"]:
        moved = moved * moved.new_tensor([-1.0, 1.0, 1.0])
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
    return torch.cat([by_u, by_theta], 2).reshape(-1, 28)


# ---- lstm ------------------------------------------------------------------------------------


def loss(main, extra, state, sequence):
    total = 0.0
    h, s = [list(part) for part in state.unbind(1)]
    for x, following in pairwise(sequence):
        v = x * extra[0]
        for i, (W, B) in enumerate(main):
            f, o = torch.sigmoid(v * W[::2] + B[::2])
            g = torch.sigmoid(h[i] * W[1] + B[1])
            s[i] = s[i] * f + g * torch.tanh(h[i] * W[3] + B[3])
            v = h[i] = o * torch.tanh(s[i])
        y = v * extra[1] + extra[2]
        total = total + torch.sum(following * (y - torch.log(2 + torch.sum(torch.exp(y)))))
    return -total / sequence[1:].numel()


# ---- the others ------------------------------------------------------------------------------


def log_sum_exp(x):
    a = torch.max(x)
    return a + torch.log(torch.sum(torch.exp(x - a)))


def cost(points, centroids):
    """In the form that PyTorch is quickest with: a product of matrices for all distances."""
    distances = (points**2).sum(1)[:, None] - 2 * points @ centroids.T + (centroids**2).sum(1)
    return distances.min(1).values.sum()


def direction(points, centroids):
    g, h = jvp(grad(lambda c: cost(points, c)), (centroids,), (torch.ones_like(centroids),))
    return g / h


def determinant(A, ell, columns):
    rows, minors = A.reshape(ell, ell), A.new_ones(math.factorial(ell))
    for row, left in zip(rows.flip(0), columns[::-1], strict=True):
        signs = (-1.0) ** torch.arange(left.shape[1])
        minors = (signs * row[left] * minors.reshape(left.shape)).sum(1)
    return minors[0]


def misfit(x, n):
    """The powers by a running product, which makes one operation of them."""
    t = torch.linspace(-1, 1, n, dtype=x.dtype)
    ones = torch.ones_like(t)
    powers = torch.cumprod(torch.stack([ones] + [t] * (len(x) - 1)), 0)
    return 0.5 * ((torch.sign(t) - x @ powers) ** 2).sum()


def solve(x, s):
    def slope(y):
        return x * torch.cat([one, y[:-1]])

    one, h, y = x.new_ones(1), 2 / s, torch.zeros_like(x)
    for _ in range(s):
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        k4 = slope(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


def square(x):
    return x * x


FUNCTIONS = {
    "hello": {"square": square, "double": gradient(square)},
    "gmm": {
        "objective": without_history(log_posterior),
        "jacobian": gradient(log_posterior, (0, 1, 2, 3)),
    },
    "ba": {"objective": without_history(ba_objective), "jacobian": ba_jacobian},
    "ht": {"objective": without_history(ht_objective), "jacobian": ht_jacobian},
    "lstm": {"objective": without_history(loss), "jacobian": gradient(loss, (0, 1))},
    "lse": {"primal": without_history(log_sum_exp), "gradient": gradient(log_sum_exp)},
    "kmeans": {"cost": without_history(cost), "dir": direction},
    "det": {"primal": without_history(determinant), "gradient": gradient(determinant)},
    "llsq": {"primal": without_history(misfit), "gradient": gradient(misfit)},
    "ode": {
        "primal": without_history(solve),
        "gradient": gradient(lambda x, s: solve(x, s)[-1]),
    },
}


def given(name, arguments):
    """The arguments of wengert's functions, as PyTorch's take them."""
    torch.set_num_threads(1)
    return _converted(arguments) if name != "hello" else (torch.tensor(arguments[0]).double(),)


def _converted(x):
    if isinstance(x, np.ndarray):
        return torch.from_numpy(x)
    if isinstance(x, tuple | list):
        return type(x)(_converted(item) for item in x)
    return {name: _converted(part) for name, part in x.items()} if isinstance(x, dict) else x


def wait(result):
    return result
