"""C by hand: compiles `by_hand.c` for this machine, in the run that times it.

The steps are called as an extension module's functions where Python's headers are found, else
through ctypes. The loops that move memory take milliseconds, so ctypes calls those.
"""

import ctypes
import importlib.util
import shutil
import subprocess
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np

SOURCE = Path(__file__).with_suffix(".c")
COMPILERS = ("cc", "gcc", "clang")
OPTIONS = ("-O3", "-march=native", "-shared", "-fPIC")


@dataclass(frozen=True)
class ByHand:
    """What came out: the library, and the extension module inside it where there is one."""

    library: ctypes.CDLL
    extension: ModuleType | None

    def train(self, width, parameters, inputs, targets):
        """A function that makes one step: it changes the flat `parameters`, returns the loss."""
        name = f"train_{width}"
        arrays = parameters, inputs, targets
        if self.extension is not None:
            step = getattr(self.extension, name)
        else:
            step = getattr(self.library, name)
            step.restype = ctypes.c_float
            arrays = [ctypes.c_void_p(array.ctypes.data) for array in arrays]

        def run(kept=(parameters, inputs, targets)):  # addresses alone keep no array alive
            return step(*arrays)

        return run

    def loop(self, name, *arrays):
        """A function that calls a loop of the library over whole arrays of one length."""
        function = getattr(self.library, name)
        count = ctypes.c_size_t(arrays[0].size)
        addresses = [ctypes.c_void_p(array.ctypes.data) for array in arrays]

        def run(kept=arrays):
            function(count, *addresses)

        return run


def build() -> ByHand:
    """Compile and load. `ImportError` where this machine has no C compiler."""
    compiler = find_compiler()
    if compiler is None:
        raise ImportError(f"no C compiler: none of {', '.join(COMPILERS)} is found")
    headers = Path(sysconfig.get_path("include"))
    with_python = (headers / "Python.h").exists()
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "by_hand.so"
        python = ("-DWITH_PYTHON", f"-I{headers}") if with_python else ()
        compiled = subprocess.run(
            [compiler, *OPTIONS, *python, str(SOURCE), "-o", str(target)],
            capture_output=True,
            text=True,
        )
        if compiled.returncode:
            raise ImportError(f"{compiler} does not compile {SOURCE.name}: {compiled.stderr}")
        # Both loads last when the file is gone: the system keeps what is mapped.
        return ByHand(ctypes.CDLL(str(target)), _extension(target) if with_python else None)


def find_compiler() -> str | None:
    return next((path for name in COMPILERS if (path := shutil.which(name))), None)


def version() -> str:
    """The first line in which the compiler names itself, with the options it is given."""
    compiler = find_compiler()
    assert compiler is not None, "asked only after `build`"
    text = subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout
    return " ".join([text.partition("\n")[0], *OPTIONS[:2]])


def flat(parameters) -> np.ndarray:
    """`[(weight, bias)]` in one new array, in the order in which the C code expects them."""
    return np.concatenate([array.ravel() for layer in parameters for array in layer])


def _extension(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("by_hand", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
