"""PyTorch's names that are not here by themselves: each can be imported all the same.

Programs mention what they do not use: ONNX, streams of a GPU, distributed wrappers. So all modules
of PyTorch's and all public names of theirs can be looked up. A module that has no file here has the
names whose objects PyTorch has in another one, too: `torch.nn.modules.dropout.Dropout` is
`wengert.nn.Dropout`. What has no meaning here is a class that says, when it is used, what to do
instead. `modules.py` and `names.py`, which are generated, say what PyTorch has and where that is
here; this file says what the rest is. What is in private packages is not listed: it is taken to be
there, for nothing in there has a meaning here.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import re
import sys
import typing
from types import FunctionType, ModuleType
from typing import Any, NoReturn

from wengert.imports import Aliases, kept
from wengert.pytorch.modules import MODULES
from wengert.pytorch.names import HOMES, LACKING

INSTEAD = (
    (
        r"(.*quanti[sz]|.*\bqat\b|ao\b|.*fbgemm|q_|.*qparams|.*Observer).*|qu?int\w+|qscheme|int_repr",
        "Quantization of weights is in wengert.nn.quantization.",
    ),
    (r"(u?int|bits)\d.*|bit|float[48]_.*|complex32|chalf", "NumPy has no such dtype."),
    (r"(cudnn|miopen|mkldnn)_.*", "The function without this prefix is the same."),
    (r"(cuda|xpu|mps|mtia|accelerator|backends)\b.*|Stream|.*vulkan.*", "Tensors are on the CPU."),
    (r"contrib\b.*", "Summaries for TensorBoard are in wengert.utils.tensorboard."),
    (
        r"distributed\b.*",
        "wengert.distributed has groups, collectives and messages; MPI finds and carries them.",
    ),
    (r"(nn\.)?attention\b.*", "nn.functional.scaled_dot_product_attention is the one attention."),
    (r"(hub|utils\.model_zoo)\b.*", "Load weights with wengert.load from a downloaded file."),
    (r"onnx\b.*", "wengert.onnx.export writes forward passes; it needs no settings."),
    (
        r"sparse\b.*|sparse_(csc|bsr|bsc|compressed)\w*",
        "Of sparse tensors there are x.to_sparse() and x.to_sparse_csr(); take x.t() for columns.",
    ),
    (r"package\b.*", "Install the program's code, and save state_dict()."),
    (
        r"library\b.*|utils\.cpp_extension\b.*",
        "wengert.primitive makes functions of one's own differentiable.",
    ),
    (
        r"(jit|export|fx|compiler)\b.*|[A-Z]\w*Type|[Ss]ym_?\w+|(Script|Execution|Graph)\w*|Future",
        "wengert.compile records programs; wengert.explain shows them.",
    ),
    (r"\w*Storage|multiprocessing\b.*", "Tensors are NumPy arrays: x.numpy() is the memory."),
    (r"utils\.data\b.*", "Data sets and loaders are in wengert.utils.data."),
)
"""What to do where a part of PyTorch has no meaning here, by its path after `torch.`."""

OPERATORS = ("_C", "_VF")
"""Packages of PyTorch's without a file, whose names are those of operators."""

OTHERWISE = {
    "DistributedDataParallel": "nn.distributed.DistributedDataParallel",
    "_single": "nn.functional.shared.one",
    "_pair": "nn.functional.shared.two",
    "_triple": "nn.functional.shared.three",
    "_log_api_usage_once": "pytorch.cuda.synchronize",
    "_get_tracing_state": "pytorch.cuda.synchronize",  # nothing is traced
    "_disabled_torch_function_impl": "pytorch.overrides.disabled",
    "DisableTorchFunction": "pytorch.overrides.DisableTorchFunction",
    "DisableTorchFunctionSubclass": "pytorch.overrides.DisableTorchFunctionSubclass",
    "_overload_method": "pytorch.jit.export",
    "functional_datapipe": "pytorch.jit.ignore",  # the class, which cannot be called
    "_tensor_str": "functions.printing.body_text",
}
"""Names that programs take from the inside of PyTorch, and what they are here."""

NOTHING = {"_BaseDataLoaderIter", "_SingleProcessDataLoaderIter", "_MultiProcessingDataLoaderIter"}
NOTHING |= {"sparse_csc", "sparse_bsr", "sparse_bsc"}
"""Classes and layouts that programs ask for, and that nothing here is an instance of, or has."""

ELSEWHERE = {
    "utils.data.dataset": "utils.data.datasets",
    "utils.data.dataloader": "utils.data.loader",
    "utils.data.sampler": "utils.data.samplers",
    "utils.data.distributed": "utils.data.samplers",
    "utils.data._utils.collate": "utils.data.loader",
    "cuda.amp.grad_scaler": "amp.grad_scaler",
    "distributed.algorithms.ddp_comm_hooks.default_hooks": "distributed.hooks",
    "distributed.algorithms.ddp_comm_hooks.powerSGD_hook": "distributed.hooks",
    "distributed.nn.functional": "distributed.functional",
    "distributed.checkpoint": "serialization.sharded",
    "distributed.elastic": "serialization.elastic",
    "_dynamo": "pytorch.compiler",
    "distributed.optim": "optim.sharded",
}
"""PyTorch's modules whose files have other names here."""


class Absent(ModuleType):
    """A module of PyTorch's without a file here."""

    def __getattr__(self, name: str) -> Any:
        file = ELSEWHERE.get(_after(self.__name__).removeprefix("pytorch."))
        if file is not None and not name.startswith("__"):
            defined = vars(importlib.import_module(f"wengert.{file}"))
            if name in defined:
                return defined[name]
        item = answer(self.__name__, name)
        setattr(self, name, item)
        return item

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What is private to PyTorch may have been a function of this name."""
        package, _, name = self.__name__.rpartition(".")
        return _unavailable(_after(package), name)(*args, **kwargs)


def answer(module: str, name: str) -> Any:
    """What stands for a name of PyTorch's in a module that does not define it; AttributeError."""
    paths = _theirs(module)
    if any(is_module(f"{path}.{name}".lstrip(".")) for path in paths):
        return importlib.import_module(f"{module}.{name}")
    if name.startswith("__") or name == "pytest_plugins":  # which pytest asks all modules for
        raise _unknown(module, name)
    if name.startswith("_foreach_") and paths == [""]:
        function = importlib.import_module("wengert.pytorch.foreach").function(name)
        if function is not None:
            return function
    if name.startswith("_") and paths == [""]:  # an operator of PyTorch's inside
        aten = importlib.import_module("wengert.pytorch.aten")
        if hasattr(aten.OWN, name):
            return aten.operator(name)
    if name in OTHERWISE and paths != [""]:
        where, _, own = f"wengert.{OTHERWISE[name]}".rpartition(".")
        return getattr(importlib.import_module(where), own)
    if all(map(has_file, paths)):
        if name not in NOTHING and not any(name in LACKING.get(p, "").split() for p in paths):
            raise _unknown(module, name)
    elif (item := _shared(paths[0], name)) is not None:
        return item
    elif name in typing.__all__:  # programs take `List` from where PyTorch imported it
        return getattr(typing, name)
    elif name.startswith("_") and is_private(paths[0]):
        raise _unknown(module, name)
    if name == "is_available":  # which programs ask before they use the rest
        return _is_available
    if name.islower() and is_private(paths[0]):  # a module or a function
        return importlib.import_module(f"{module}.{name}")
    return _unavailable(paths[0], name)


def _unavailable(path: str, name: str) -> Unavailable:
    return Unavailable(name, (), {"__module__": f"torch.{path}".rstrip(".")})


def _is_available() -> bool:
    """What a part of PyTorch's that is not here answers."""
    return False


def _shared(path: str, name: str) -> Any:
    """What a module without a file has by a name, if another one has it here, too."""
    if path.partition(".")[0] in OPERATORS:
        return getattr(importlib.import_module("wengert.pytorch.aten"), name, None)
    module, own = _homes(path).get(name, (None, name))
    return module and getattr(importlib.import_module(module), own)


def _homes(path: str) -> dict[str, tuple[str, str]]:
    """For the names that it has so, the module here and the name there."""
    homes = namesakes(path)
    package = path.rpartition(".")[0]
    for title, names in HOMES.items():
        theirs, _, home = title.partition(" in")
        home = home.strip()
        # A package has what its modules have of the one that it is in: `nn.modules` has all layers.
        if theirs == path or (theirs.startswith(f"{path}.") and home == package):
            for name, _, own in (text.partition("=") for text in names.split()):
                homes[name] = counterpart(home), own or name
    return homes


def namesakes(path: str) -> dict[str, tuple[str, str]]:
    """The classes of its package by the module's own name: `HalfCauchy` of `half_cauchy`."""
    package, _, own = path.rpartition(".")
    if not has_file(package):
        return {}
    module = importlib.import_module(counterpart(package))
    alike = [n for n in dir(module) if n.lower() == own.replace("_", "").lower() and n != own]
    kinds = {name: getattr(module, name) for name in alike}
    home = module.__name__
    return {
        name: (home, name)
        for name, kind in kinds.items()
        if isinstance(kind, type) and kind.__module__.startswith(home)
    }


def _unknown(module: str, name: str) -> AttributeError:
    return AttributeError(f"module {module!r} has no attribute {name!r}", name=name)


def _theirs(module: str) -> list[str]:
    """The paths of PyTorch's modules, after `torch.`, that are this module."""
    path = _after(module).removeprefix("pytorch.")
    renamed = [theirs for theirs, ours in ELSEWHERE.items() if ours == path]
    return [path, *renamed] if is_module(path) else renamed or [path]


class Unavailable(type):
    """A name of PyTorch's without a meaning here: nothing is an instance, and no call succeeds.

    A function that it decorates has no meaning either, and says so when it is called.
    """

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and isinstance(args[0], FunctionType):
            return Unavailable(cls.__name__, (), {"__module__": cls.__module__})  # a decorator
        raise NotImplementedError(_explained(cls))

    def __getattr__(cls, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise NoCounterpart(_explained(cls))


class NoCounterpart(NotImplementedError, AttributeError):
    """An attribute was asked of what has no meaning here; to `hasattr` it is not there."""


def _explained(cls: type) -> str:
    path = f"{cls.__module__}.{cls.__name__}"
    return f"{path} has no counterpart in wengert. {instead(_after(path))}"


def instead(path: str) -> str:
    """What to do where a name of PyTorch's, by its path after `torch.`, has no meaning here."""
    said = [hint for pattern, hint in INSTEAD if re.fullmatch(pattern, path)]
    return said[0] if said else "docs/coming_from_pytorch.md says what there is."


def _after(name: str) -> str:
    """The path of a module after `torch.` or `wengert.`."""
    return name.partition(".")[2]


def is_module(path: str) -> bool:
    """Whether PyTorch has a module of this path."""
    package, _, name = path.rpartition(".")
    return name in MODULES.get(package, "").split()


def is_private(path: str) -> bool:
    """Whether a module of PyTorch's is private: one that is not listed may be in there."""
    return "._" in f".{path}" and path.partition(".")[0] not in OPERATORS


def counterpart(path: str) -> str:
    """The name of the module that stands for one of PyTorch's."""
    return f"wengert.{ELSEWHERE.get(path, path)}".rstrip(".")


def has_file(path: str) -> bool:
    try:
        spec = importlib.util.find_spec(counterpart(path))
    except ModuleNotFoundError:
        return False
    if spec is not None and isinstance(spec.loader, Aliases):
        spec = spec.loader_state
    return spec is not None and not isinstance(spec.loader, Finder)


class Finder:
    """Finds PyTorch's modules under its package's name here, after all other finders."""

    def find_spec(
        self, fullname: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        theirs = _after(fullname).removeprefix("pytorch.")
        there = is_module(theirs) or is_private(theirs.rpartition(".")[0])
        if not there or not fullname.startswith("wengert."):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return Absent(spec.name, f"What stands for torch.{_after(spec.name)}.")

    def exec_module(self, module: ModuleType) -> None:
        # The package's function stays the package's; who imports the module finds it in there.
        for name in _homes(_theirs(module.__name__)[0]):  # which programs look through with vars()
            getattr(module, name)
        held = kept(module.__name__)
        if held is not None:
            setattr(module, module.__name__.rpartition(".")[2], held)


FINDER = Finder()
sys.meta_path.append(FINDER)
