"""ba: bundle adjustment. Cameras look at points; where a point should be in a picture, where it is.

A camera has a rotation vector r, a centre C, a focal length f, a principal point u₀ and radial
coefficients k₁, k₂. It sees the point X at f v (1 + k₁|v|² + k₂|v|⁴) + u₀, where v are the first
two coordinates of R(r) (X - C) over the third one. An observation weighs the difference by w, and
1 - w² keeps weights from vanishing.

Each of the p observations depends on its own camera, point and weight alone: a block of two rows
and 15 columns, the same small function for all. The blocks are the Jacobian, in compressed rows.
"""

import numpy as np

import wengert as wg
from benchmarks.gradbench import data as files
from benchmarks.gradbench.problem import Problem, Workload, nested


def rotate(r, x):
    """Rodrigues' formula."""
    square = np.sum(r * r)
    angle = np.sqrt(np.where(square > 0, square, 1.0))
    axis = r / angle
    across = np.cross(axis, x)
    turned = x * np.cos(angle) + across * np.sin(angle) + axis * (axis @ x) * (1 - np.cos(angle))
    return np.where(square > 0, turned, x + np.cross(r, x))


def project(camera, x):
    r, centre, focal, principal, radial = (
        camera[:3],
        camera[3:6],
        camera[6],
        camera[7:9],
        camera[9:],
    )
    seen = rotate(r, x - centre)
    v = seen[:2] / seen[2]
    s = np.sum(v * v)
    return focal * v * (1 + radial[0] * s + radial[1] * s * s) + principal


def reprojection_error(camera, x, w, feature):
    return w * (project(camera, x) - feature)


def objective(cameras, points, weights, features, seen_by, seen):
    errors = wg.vmap(reprojection_error)(cameras[seen_by], points[seen], weights, features)
    return errors, 1 - weights**2


def jacobian(cameras, points, weights, features, seen_by, seen):
    n, m, p = len(cameras), len(points), len(weights)
    blocks = wg.vmap(wg.jacrev(reprojection_error, argnums=(0, 1, 2)))
    by_camera, by_point, by_weight = blocks(cameras[seen_by], points[seen], weights, features)
    values = np.concatenate([by_camera, by_point, by_weight[:, :, None]], axis=2)

    i = np.arange(p)[:, None]
    columns = np.concatenate(
        [
            11 * seen_by[:, None] + np.arange(11),
            11 * n + 3 * seen[:, None] + np.arange(3),
            11 * n + 3 * m + i,
        ],
        axis=1,
    )
    columns = np.stack([columns, columns], axis=1)  # of both rows
    return {
        "rows": np.concatenate([15 * np.arange(2 * p), 30 * p + np.arange(p + 1)]),
        "cols": np.concatenate([columns.reshape(-1), 11 * n + 3 * m + np.arange(p)]),
        "vals": np.concatenate([values.reshape(-1), -2 * weights]),
    }


def prepare(n, m, p, cam, x, w, feat):
    i = np.arange(p)
    cameras, points, features = np.tile(cam, (n, 1)), np.tile(x, (m, 1)), np.tile(feat, (p, 1))
    return cameras, points, np.full(p, w), features, i % n, i % m


def answer(function, result):
    if function == "objective":
        errors, weights = result
        return {
            "reproj_error": {"elements": nested(errors[0]), "repeated": len(errors)},
            "w_err": {"element": float(weights[0]), "repeated": len(weights)},
        }
    return {name: nested([*part[:30], part[-1]]) for name, part in result.items()}


def workloads(folder):
    if folder is not None:
        paths = files.numbered((folder / "ba").glob("ba*.txt"))[:14]
        return [Workload(path.stem, lambda path=path: files.bundle(path)) for path in paths]
    sizes = [(49, 7776, 31843), (257, 65132, 225911)]
    return [
        Workload("n{}_m{}_p{}".format(*size), lambda size=size: files.made_up_bundle(*size))
        for size in sizes
    ]


PROBLEM = Problem(
    fields={
        "n": "size n",
        "m": "size m",
        "p": "size p",
        "cam": "11",
        "x": "3",
        "w": "number",
        "feat": "2",
    },
    functions={"objective": wg.compile(objective), "jacobian": wg.compile(jacobian)},
    derivatives=("jacobian",),
    workloads=workloads,
    prepare=prepare,
    work=lambda p, **_: p,
    answer=answer,
)
