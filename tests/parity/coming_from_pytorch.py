"""The page docs/coming_from_pytorch.md: what is the same, what differs, what is missing.

`python -m tests.parity.coming_from_pytorch` writes it, from a comparison of public names with the
PyTorch that is installed; a test fails where it is out of date. What differs is written down here.
"""

from __future__ import annotations

import importlib
from collections import defaultdict
from pathlib import Path

import torch

import wengert
from docs.generate import modules
from wengert.pytorch import absent
from wengert.pytorch.modules import COMPARED
from wengert.pytorch.names import LACKING

PAGE = Path(__file__).parents[2] / "docs" / "coming_from_pytorch.md"

INTRODUCTION = """\
# Coming from PyTorch

`import wengert as torch` runs most programs written for PyTorch on the CPU as they are, and
`python -m wengert.as_torch program.py` runs one without changing even that line. This page says
what is the same, what differs, and what is missing. It is written by
`python -m tests.parity.coming_from_pytorch`, which compares public names with PyTorch {version}; a
test fails when it is out of date.

## What is the same

Names, arguments and their order, results, dtypes and their promotion, views and in-place writes
with their version counters, the graph (`grad_fn`, `next_functions`, hooks), grad modes, exceptions'
types, `state_dict` keys, the steps of all optimizers and schedules. `wengert.load` reads the files
of `torch.save` (tensors, parameters, numbers, strings and containers of them), and what
`wengert.save` writes is read by safetensors. Programs in `tests/programs` (language models, an
autoencoder, deep Q-learning, a GAN, super-resolution, a neural differential equation) have
PyTorch's losses, step by step, to rounding.

## What differs

{differences}
## What is there, counted

Public names of the modules that have a file here; names that are missing say so when they are used.

| PyTorch | names | here | missing |
|---|--:|--:|--:|
{table}

## torch.distributed, name by name

Of each package, with the modules below it; names that are there in several are told once.

{distributed}

## What is missing

{missing}
"""

DIFFERENCES = {
    "Random numbers": "sequences are wengert's own (Philox): `manual_seed` repeats a run exactly, "
    "but does not give PyTorch's numbers. To compare runs, copy the initial weights.",
    "Devices": "tensors are on the CPU. `cuda.is_available()` is False; asking for a GPU is an "
    "error.",
    "Tensors are NumPy arrays": "`x.numpy()` is the array inside; NumPy's functions take tensors "
    "and record history; `wengert.compile` takes plain NumPy code.",
    "Dtypes of layers": "an input of another dtype than the layer's is an error that names both, "
    "as there. `tensor(x)` of a tensor copies, without a warning.",
    "Integers": "one to a negative power is an error, where PyTorch gives 0; a number out of the "
    "range of a tensor's dtype is compared as it is, where PyTorch wraps it first (`uint8 > -1`).",
    "Numbers": "functions take NumPy's arrays for tensors, and those of one tensor a number, as "
    "`sin(0.5)`; of several, a number is a TypeError where it is one in PyTorch, as a list always "
    "is. `float(x)` of a tensor that requires grad does not warn.",
    "Conjugates": "`conj()`, `H` and `mH` of complex tensors are computed at once, into memory of "
    "their own: NumPy has no view that conjugates. What is written into one of them, or later into "
    "the tensor, does not arrive in the other, as it does in PyTorch.",
    "Out": "`out=` is of any dtype to which the result may be cast (`can_cast`); some of PyTorch's "
    "functions want the result's own.",
    "In place": "a result may be overwritten wherever PyTorch allows it, and in many places where "
    "it does not (softmax, prod): what can be computed again is.",
    "Modules": "all of PyTorch's can be imported. What has no meaning here (`fx`, `hub`) "
    "is an error when it is used, which says what to do instead.",
    "Processes": "`distributed` works over MPI, or between threads: backends 'mpi' (also called "
    "'gloo') and 'threads'. `wengert run` stands for torchrun. In-place collectives are recorded.",
    "Mixed precision": "`amp.autocast` computes in the dtypes it is given, with a warning; "
    "`GradScaler` works.",
    "Saving": "`save` writes atomically; a path that ends in .pt or .pth gets the form that "
    "`torch.load` reads, others safetensors. Of objects, files have the attributes and the names "
    "of their classes: modules and dataclasses are loaded with `weights_only=False`, if the "
    "program has imported them, or after `add_safe_globals`. Whole modules that PyTorch saved are "
    "loaded so too, as the layers of these names. No file can run code.",
    "Compiling": "`compile` traces once for each kind of arguments, and a whole training step, the "
    "optimizer included, may be one function. A branch on a number of a tensor is an error that "
    "says what to write instead; nothing falls back silently. `jit.script` and `jit.trace` return "
    "what they are given.",
    "Threads": "`set_num_threads` is for compiled functions, and one unless OMP_NUM_THREADS says "
    "more; NumPy's products keep what OMP_NUM_THREADS said at the start.",
    "Optimizers": "`foreach`, `fused` and `capturable` are accepted and choose nothing; "
    "`differentiable=True` is an error. `Muon` keeps the parameter's dtype in its iterations, "
    "where PyTorch rounds to bfloat16. The sparse gradient of `Embedding(sparse=True)` is dense "
    "under `create_graph=True` and in compiled functions.",
    "Loaders": "workers need no shared memory and end with the program however it ends; "
    "`state_dict()` gives the position within an epoch; `utils.training.TrainingState` saves and "
    "resumes a whole run bit for bit.",
    "Profiling": "`profiler.profile` names the user's lines and modules; memory and flops are not "
    "measured.",
}


def counted() -> dict[str, tuple[int, list[str]]]:
    """For each module how many public names it has, and which are missing here."""
    found = {
        f"torch.{path}".rstrip("."): (len(modules.public(path)), LACKING.get(path, "").split())
        for path in modules.paths()
        if absent.has_file(path) and modules.public(path)
    }
    methods = [name for name in dir(torch.Tensor) if not name.startswith("_")]
    found["torch.Tensor"] = len(methods), [n for n in methods if not hasattr(wengert.Tensor, n)]
    return found


def missing(path: str, names: list[str]) -> str:
    """The names of a module that have no meaning here, after what to do instead."""
    said = defaultdict(list)
    for name in names:
        said[absent.instead(f"{path.partition('.')[2]}.{name}".lstrip("."))].append(f"`{name}`")
    lines = [f"- {hint} {', '.join(found)}\n" for hint, found in said.items()]
    return f"**{path}**\n\n" + "".join(lines)


def is_here(path: str, name: str) -> bool:
    """Whether a name of a module of PyTorch's has a meaning here."""
    found = getattr(importlib.import_module(f"wengert.{path}"), name)
    return not isinstance(found, absent.Unavailable)


def by_name(package: str) -> str:
    """The names of a package and of the modules below it: those that are here, and the others."""
    groups: dict[str, dict[str, bool]] = defaultdict(dict)
    for path in modules.paths():
        if f"{path}.".startswith(f"{package}."):
            group = ".".join(path.split(".")[:2])
            for name in modules.public(path):
                groups[group][name] = groups[group].get(name, False) or is_here(path, name)
    lines = []
    for group, names in sorted(groups.items()):
        for state in (True, False):
            told = [f"`{name}`" for name in sorted(names) if names[name] is state]
            if told:
                word = "here" if state else "missing"
                lines.append(f"- **torch.{group}**, {word} ({len(told)}): {', '.join(told)}")
    return "\n".join(lines)


def page() -> str:
    """The page's text."""
    comparison = counted()
    rows = [
        f"| `{name}` | {count} | {count - len(absent)} | {len(absent)} |"
        for name, (count, absent) in comparison.items()
    ]
    lists = [missing(name, absent) for name, (_, absent) in comparison.items() if absent]
    differences = "".join(f"- **{title}**: {text}\n" for title, text in DIFFERENCES.items())
    return INTRODUCTION.format(
        version=COMPARED,
        differences=differences,
        table="\n".join(rows),
        missing="\n".join(lists).rstrip(),
        distributed=by_name("distributed"),
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE} written")
