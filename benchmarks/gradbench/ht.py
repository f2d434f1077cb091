"""ht: hand tracking. A model of a hand, posed by 26 angles, and the points that it should meet.

    relative_i = base_i Rz Ry Rx (angles of bone i),   absolute_i = absolute_parent(i) relative_i
    vertex_v   = Σ_i weight_vi absolute_i base⁻¹_i position_v,   turned and moved as a whole

A point is held against a vertex ("simple"), or against a place u in a triangle ("complicated"). The
Jacobian has three rows for each point, and 26 columns of the angles after two of the point's own u.
"""

import numpy as np

import wengert as wg
from benchmarks.gradbench import data as files
from benchmarks.gradbench.problem import InputError, Problem, Workload, read


def pose(theta):
    """25 columns of three numbers: what moves the whole hand, then the angles of each bone."""
    zero = np.zeros(1)
    columns = [theta[:3], np.ones(3), theta[3:6], np.zeros(3), np.zeros(3)]
    for a, b, c, d in theta[6:].reshape(5, 4, 1):  # a finger
        columns += [
            np.concatenate([a, b, zero]),
            np.concatenate([c, zero, zero]),
            np.concatenate([d, zero, zero]),
            np.zeros(3),
        ]
    return np.stack(columns)


def euler(angles):
    """Rz Ry Rx of each row (x, z, y), in the upper left of a 4 x 4 identity."""
    (cx, cz, cy), (sx, sz, sy) = np.cos(angles).T, np.sin(angles).T
    zero, one = np.zeros_like(cx), np.ones_like(cx)
    rows = [
        [cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx, zero],
        [sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx, zero],
        [-sy, cy * sx, cy * cx, zero],
        [zero, zero, zero, one],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def rotation(r):
    """The matrix of a rotation vector."""
    square = r @ r
    angle = np.sqrt(np.where(square > 1e-8, square, 1.0))
    x, y, z = axis = r / angle
    zero = np.zeros_like(x)
    cross = np.stack([zero, -z, y, z, zero, -x, -y, x, zero]).reshape(3, 3)
    cosine = np.cos(angle)
    turned = cosine * np.eye(3) + (1 - cosine) * np.outer(axis, axis) + np.sin(angle) * cross
    return np.where(square > 1e-8, turned, np.eye(3))


def vertices(theta, hand):
    columns = pose(theta)
    relatives = hand["base_relatives"] @ euler(columns[3:])
    absolutes = []
    for parent, relative in zip(hand["parents"], relatives, strict=True):
        absolutes.append(relative if parent < 0 else absolutes[parent] @ relative)
    transforms = np.stack(absolutes) @ hand["inverse_base_absolutes"]
    moved = np.einsum("vi,ijk,vk->vj", hand["weights"], transforms, hand["base_positions"])[:, :3]
    if hand["is_mirrored"]:
        moved = moved * np.array([-1.0, 1.0, 1.0])
    return moved @ (rotation(columns[0]) * columns[1]).T + columns[2]


def apart(u, point, corners):
    """From a place in a triangle to the point."""
    a, b, c = corners
    return point - (u[0] * a + u[1] * b + (1 - u[0] - u[1]) * c)


def errors(theta, us, hand, corners, points):
    """`corners`: the vertex of each point, or the three of its triangle."""
    found = vertices(theta, hand)[corners]
    return wg.vmap(apart)(us, points, found) if len(us) else points - found


def objective(theta, us, hand, corners, points):
    return errors(theta, us, hand, corners, points).reshape(-1)


def jacobian(theta, us, hand, corners, points):
    by_theta = wg.jacfwd(errors)(theta, us, hand, corners, points)
    if not len(us):
        return by_theta.reshape(-1, len(theta))
    by_u = wg.vmap(wg.jacfwd(apart))(us, points, vertices(theta, hand)[corners])
    return np.concatenate([by_u, by_theta], axis=2).reshape(-1, 2 + len(theta))


DATA = {"correspondences": "int p", "points": "p 3", "model": "table"}
MODEL = {
    "bone_count": "size b",
    "parents": "int b",
    "base_relatives": "b 4 4",
    "inverse_base_absolutes": "b 4 4",
    "base_positions": "v 4",
    "weights": "v b",
    "triangles": "int * 3",
}


def prepare(theta, us, data):
    given = read(data, DATA)
    hand = read(given["model"], MODEL)
    triangles, count = hand.pop("triangles"), hand.pop("bone_count")
    parents = hand["parents"] = tuple(hand["parents"].tolist())  # the tree is part of the program
    hand["is_mirrored"] = bool(given["model"].get("is_mirrored", False))
    if count != files.BONES or any(parent >= i for i, parent in enumerate(parents)):
        raise InputError(f"field parents holds a tree of {files.BONES} bones, parents first")
    corners = given["correspondences"]
    if len(us) not in (0, len(corners)):
        raise InputError(f"field us has {len(us)} rows for {len(corners)} points")
    places = triangles if len(us) else hand["base_positions"]
    if corners.size and not 0 <= corners.min() <= corners.max() < len(places):
        raise InputError(f"field correspondences holds a number that is not below {len(places)}")
    return theta, us, hand, triangles[corners] if len(us) else corners, given["points"]


def workloads(folder):
    if folder is not None:
        return [
            Workload(f"{path.parent.name}/{path.stem}", lambda path=path: files.hand(path))
            for kind in ("complicated_small", "complicated_big")
            for path in files.numbered((folder / "ht" / kind).glob("hand*.txt"))
        ]
    sizes = [(100, 544), (100, 10000), (800, 10000)]
    return [
        Workload(f"{v} vertices, {p} points", lambda p=p, v=v: files.made_up_hand(p, v))
        for p, v in sizes
    ]


PROBLEM = Problem(
    fields={"theta": "26", "us": "* 2", "data": "table"},
    functions={"objective": wg.compile(objective), "jacobian": wg.compile(jacobian)},
    derivatives=("jacobian",),
    workloads=workloads,
    prepare=prepare,
    work=lambda data, **_: len(data["points"]),
)
