"""Checkpoints that all ranks write together, and that any number of ranks can read.

A checkpoint is a folder: a file of each rank, in safetensors, and `index.json`, which says in which
file each entry lies. An entry that several ranks have is written by one of them, that with least to
write so far. The index is written last, whole or not at all: a folder without one is no checkpoint.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wengert.distributed import groups, objects, tensors
from wengert.errors import DistError
from wengert.history import modes
from wengert.history.files import whole
from wengert.imports import lacking as _lacking
from wengert.serialization.archive import load as load_file
from wengert.serialization.archive import save as save_file
from wengert.tensor import Tensor

INDEX = "index.json"


def save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str],
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Write what the ranks have into the folder `checkpoint_id`; all ranks call it.

    `state_dict` is a dictionary of tensors, numbers and strings, and of dictionaries and lists of
    them. Parts that all ranks have, as those of a replicated module, are written once; a rank may
    have parts of its own, under names that no other part has.
    """
    folder = Path(checkpoint_id)
    entries = dict(_entries(state_dict))
    own = None if no_dist or not groups.is_initialized() else _group(process_group)
    rank = 0 if own is None else own.rank()
    sizes = {key: x._array.nbytes if isinstance(x, Tensor) else 8 for key, x in entries.items()}
    everybody: list[Any] = [sizes]
    if rank == 0:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / INDEX).unlink(missing_ok=True)
    if own is not None:
        everybody = [None] * own.size()
        objects.all_gather_object(everybody, sizes, own)  # nobody writes before the index is gone
    writer = _dealt_out(everybody)
    mine = {key: x for key, x in entries.items() if writer[key] == rank}
    save_file(mine, folder / _name(rank))
    if own is not None:
        tensors.barrier(own)
    if rank == 0:
        for file in folder.glob("rank*.safetensors"):
            if file.name not in map(_name, range(len(everybody))):
                file.unlink()
        text = json.dumps({"ranks": len(everybody), "entries": writer}, indent=1)
        with whole(folder / INDEX) as path:
            path.write_text(text, encoding="utf-8")
    if own is not None:
        tensors.barrier(own)


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str],
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Take over into `state_dict` what a checkpoint has for its entries: tensors in place.

    Ranks read for themselves, and may be more or fewer than those that wrote. Errors: DistError if
    the folder has no complete checkpoint; KeyError for an entry that is not in it.
    """
    wanted = {key: x for key, x in _entries(state_dict) if not _is_empty(x)}
    saved = _read(Path(checkpoint_id), wanted)
    with modes.no_grad():
        for key, x in wanted.items():
            if isinstance(x, Tensor):
                x.copy_(saved[key])
            else:
                _put(state_dict, json.loads(key), saved[key])


def read(checkpoint_id: str | os.PathLike[str]) -> dict[str, Any]:
    """All that a checkpoint has, as the nested dictionary that was saved."""
    folder = Path(checkpoint_id)
    whole: dict[str, Any] = {}
    entries = _index(folder)["entries"]
    saved = _read(folder, entries)
    for key in entries:
        _put(whole, json.loads(key), saved[key])
    return whole


def latest(folder: str | os.PathLike[str]) -> Path | None:
    """The newest complete checkpoint among the folders in one; None if there is none."""
    checkpoints = [path.parent for path in Path(folder).glob(f"*/{INDEX}")]
    return max(checkpoints, key=lambda p: ((p / INDEX).stat().st_mtime_ns, p.name), default=None)


def remove(checkpoint_id: str | os.PathLike[str]) -> None:
    """Remove a checkpoint, its index first."""
    folder = Path(checkpoint_id)
    (folder / INDEX).unlink(missing_ok=True)
    shutil.rmtree(folder)


def _group(process_group: Any) -> groups.ProcessGroup:
    return groups.resolve(process_group, "checkpoint.save")


def _name(rank: int) -> str:
    return f"rank{rank:05d}.safetensors"


def _entries(item: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[str, Any]]:
    """What lies in nested dictionaries and lists, by the keys that lead to it."""
    if isinstance(item, dict) and item:
        for key, value in item.items():
            if not isinstance(key, (str, int)):
                raise TypeError(f"checkpoint: keys are strings or numbers, not {key!r}")
            yield from _entries(value, (*path, key))
    elif isinstance(item, (list, tuple)) and any(isinstance(x, (Tensor, dict)) for x in item):
        for k, value in enumerate(item):
            yield from _entries(value, (*path, [k]))
    else:
        yield json.dumps(path), item


def _is_empty(item: Any) -> bool:
    """Whether an entry is a container that has none."""
    return isinstance(item, (dict, list, tuple)) and not item


def _put(holder: Any, path: list[Any], value: Any) -> None:
    """Set what lies at the end of a path, through dictionaries and lists."""
    for step, after in zip(path, [*path[1:], None], strict=True):
        last = after is None
        fresh: Any = value if last else ([] if isinstance(after, list) else {})
        if isinstance(step, list):
            (k,) = step
            if k == len(holder):
                holder.append(fresh)
            elif last:
                holder[k] = value
            holder = holder[k]
        else:
            if last:
                holder[step] = value
            holder = holder.setdefault(step, fresh)


def _dealt_out(everybody: list[dict[str, int]]) -> dict[str, int]:
    """For each entry the rank that writes it; in the order in which the ranks have them."""
    loads = [0] * len(everybody)
    writer: dict[str, int] = {}
    sizes = {key: size for part in everybody for key, size in part.items()}
    for key, size in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
        who = min((r for r, part in enumerate(everybody) if key in part), key=loads.__getitem__)
        writer[key] = who
        loads[who] += size
    return {key: writer[key] for key in sizes}


def _index(folder: Path) -> dict[str, Any]:
    if not (folder / INDEX).exists():
        raise DistError(
            f"{folder} has no complete checkpoint: there is no {INDEX}, which is written last. "
            "wengert.distributed.checkpoint.latest(folder) finds the newest that is complete."
        )
    return json.loads((folder / INDEX).read_text(encoding="utf-8"))


def _read(folder: Path, wanted: Any) -> dict[str, Any]:
    entries = _index(folder)["entries"]
    for key in wanted:
        if key not in entries:
            raise KeyError(f"{folder} has no entry {'.'.join(map(str, json.loads(key)))}")
    saved: dict[str, Any] = {}
    for rank in sorted({entries[key] for key in wanted}):
        part = load_file(folder / _name(rank))
        saved |= {key: part[key] for key in wanted if entries[key] == rank}
    return saved


_lacking(__name__)
