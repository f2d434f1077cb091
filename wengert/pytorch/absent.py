"""PyTorch's modules that are not here by their own names: each can be imported all the same.

What such a module has in common with its package, which has fewer files here, is found there:
`torch.nn.modules.dropout.Dropout` is `wengert.nn.Dropout`. Any other name of it is a class that
says, when it is used, that there is nothing of the kind and what to do instead. So a program that
only mentions ONNX, or asks whether an object is a distributed one, goes on.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
from types import ModuleType
from typing import Any, NoReturn

from wengert.pytorch.modules import MODULES

INSTEAD = {
    "ao": "Quantization of weights is in wengert.nn.quantization.",
    "contrib": "Summaries for TensorBoard are in wengert.utils.tensorboard.",
    "distributed": "A program runs in one process here; is_available() says so.",
    "export": "Compile the function with wengert.compile, which can write C.",
    "fx": "wengert.compile records programs; wengert.explain shows them.",
    "hub": "Load weights with wengert.load from a file that you have downloaded.",
    "library": "wengert.primitive states rules for functions of one's own.",
    "mps": "Tensors are on the CPU.",
    "mtia": "Tensors are on the CPU.",
    "nn.attention": "nn.functional.scaled_dot_product_attention is the one implementation.",
    "onnx": "No graphs of other formats are written. Save state_dict(), in safetensors or NumPy.",
    "package": "Install the program's code, and save state_dict().",
    "quantization": "Quantization of weights is in wengert.nn.quantization.",
    "utils.cpp_extension": "wengert.primitive makes functions of other libraries differentiable.",
    "utils.model_zoo": "Load weights with wengert.load from a file that you have downloaded.",
    "xpu": "Tensors are on the CPU.",
}
"""What to do where a part of PyTorch has no meaning here, by its name after `torch.`."""

ABOVE = {
    "autograd.grad_mode": "wengert",
    "functional": "wengert",
    "return_types": "wengert",
    "storage": "wengert",
    "torch_version": "wengert.pytorch.version",
    "cpu.amp": "wengert.amp",
    "nn.backends": "",
}
"""Where names of a module are found, if not in the nearest package above it that is here."""


OTHERWISE = {
    "_BatchNorm": "nn.layers.normalization._BatchNorm",
    "_NormBase": "nn.layers.normalization._Norm",
    "_InstanceNorm": "nn.layers.normalization._InstanceNorm",
    "_DropoutNd": "nn.layers.normalization._Dropout",
    "_ConvNd": "nn.layers.convolution._Convolution",
    "_ConvTransposeNd": "nn.layers.convolution._ConvTranspose",
    "_MaxPoolNd": "nn.layers.pooling._MaxPool",
    "_Loss": "nn.layers.losses._Loss",
    "_single": "nn.functional.shared.one",
    "_pair": "nn.functional.shared.two",
    "_triple": "nn.functional.shared.three",
    "_log_api_usage_once": "pytorch.cuda.synchronize",
}
"""Names that programs take from the inside of PyTorch, and what they are here."""

PRIVATE = {"_C", "_dynamo", "_dynamo.config", "utils._pytree", "utils.data._utils"}
"""Modules that programs look into, although their names say that they are private."""


class Absent(ModuleType):
    """A module of PyTorch's without a file here.

    What has its name in the package, an object or a function, it stands for too.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return getattr(self, self.__name__.rpartition(".")[2])(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "pytest_plugins":  # which pytest asks all modules for
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        namesake = vars(self).get(self.__name__.rpartition(".")[2])
        if hasattr(namesake, name):
            return getattr(namesake, name)
        path = f"{_after(self.__name__)}.{name}"
        if is_module(path):
            return importlib.import_module(f"{self.__name__}.{name}")
        where, own = _above(_after(self.__name__)), name
        if name in OTHERWISE:
            where, _, own = f"wengert.{OTHERWISE[name]}".rpartition(".")
        found = getattr(importlib.import_module(where), own, None) if where else None
        if found is None and name.startswith("_"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if found is None:
            found = Unavailable(name, (), {"__module__": f"torch.{_after(self.__name__)}"})
        setattr(self, name, found)
        return found


class Unavailable(type):
    """A name of PyTorch's without a meaning here: nothing is an instance, and no call succeeds."""

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(_explained(cls))

    def __getattr__(cls, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise NotImplementedError(_explained(cls))


def _explained(cls: type) -> str:
    path = cls.__module__.removeprefix("torch.")
    said = [INSTEAD[part] for part in _parents(path) if part in INSTEAD]
    hint = said[0] if said else "docs/coming_from_pytorch.md says what there is."
    return f"torch.{path}.{cls.__name__} has no counterpart in wengert. {hint}"


def _parents(path: str) -> list[str]:
    """`a.b.c`, `a.b`, `a`."""
    parts = path.split(".")
    return [".".join(parts[:k]) for k in range(len(parts), 0, -1)]


def _after(name: str) -> str:
    """The path of a module after `torch.` or `wengert.`."""
    return name.partition(".")[2]


def is_module(path: str) -> bool:
    """Whether PyTorch has a module of this path."""
    package, _, name = path.rpartition(".")
    return path in PRIVATE or name in MODULES.get(package, "").split()


def _above(path: str) -> str | None:
    """The module in which the names of one of PyTorch's are found here."""
    for parent in _parents(path):
        if parent in ABOVE:
            return ABOVE[parent]
        if parent in INSTEAD:
            return None
        try:
            spec = importlib.util.find_spec(f"wengert.{parent}")
        except ModuleNotFoundError:
            continue
        if spec is not None and not isinstance(spec.loader, Finder):
            return f"wengert.{parent}"
    return None


class Finder:
    """Finds PyTorch's modules under its package's name here, after all other finders."""

    def find_spec(
        self, fullname: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        package, _, rest = fullname.partition(".")
        if package != "wengert" or not is_module(rest):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return Absent(spec.name, f"What stands for torch.{_after(spec.name)}.")

    def exec_module(self, module: ModuleType) -> None:
        # Importing puts the module in the place of what has its name in the package.
        package, _, name = module.__name__.rpartition(".")
        if name in vars(sys.modules[package]):
            setattr(module, name, vars(sys.modules[package])[name])


FINDER = Finder()
sys.meta_path.append(FINDER)
