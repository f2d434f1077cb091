"""What `import wengert` loads, and the names by which modules are found."""

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import wengert as wg
from wengert import imports, pytorch

ROOT = Path(wg.__file__).parent


def run(*lines):
    """What a program of these lines prints."""
    command = [sys.executable, "-c", "\n".join(lines)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT.parent)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


LATER = [
    "llvmlite", "scipy", "rich", "matplotlib", "sympy", "safetensors", "numpy.random",
    *(f"wengert.{name}" for name in [
        "compile.", "distributions", "explain.", "nn", "numeric", "optim", "profiler", "pytorch.",
        "serialization", "solvers", "sparse", "tape", "transforms", "utils", "visual",
    ]),
]  # fmt: skip
"""What a program that takes a gradient may do without."""


def test_losses_and_indices_of_few_numbers_need_no_compiler():
    # Classes were noted and picked by machine code from the first on: a small loss took 0.2 s.
    loaded = run(
        "import sys, wengert as wg",
        "x, t = wg.randn(9, 9, requires_grad=True), wg.arange(9)",
        "wg.nn.functional.nll_loss(x.log_softmax(1), t).backward()",
        "x.gather(1, t[:, None]), x.cummax(1), x.mode(1)",
        "print(*sys.modules)",
    )
    assert not [name for name in loaded if name.startswith("llvmlite")]


def test_importing_the_package_loads_what_every_program_needs():
    loaded = run("import sys, wengert", "print(*sys.modules)")
    found = [name for name in loaded if name.startswith(tuple(LATER))]
    assert found == ["wengert.pytorch.version"]


def test_importing_the_package_loads_no_path_text_or_trace_of_python():
    # pathlib for code that was kept, string for its letters, traceback for anomaly mode, and what
    # Python's tokens are, compiled for the signature of np.concatenate: an eighth of the import.
    loaded, numpy = (
        set(run(f"import sys, {m}", "print(*sys.modules)")) for m in ("wengert", "numpy")
    )
    assert not {"pathlib", "string", "traceback", "wengert.autograd.nans"} & (loaded - numpy)
    asked = run(
        "import numpy, inspect",
        "said = inspect._signature_fromstr",
        "inspect._signature_fromstr = lambda *args: print(args[1]) or said(*args)",
        "import wengert",
    )
    assert asked == []


def test_every_name_that_waits_is_found():
    for name in dir(wg):
        getattr(wg, name)
    assert {"nn", "optim", "compile", "conv2d", "autocast", "cuda"} <= {*dir(wg)}
    assert {"Explanation", "MAX_STEPS", "explain"} <= {*dir(sys.modules["wengert.explain"])}
    with pytest.raises(AttributeError, match="module 'wengert' has no attribute 'gone'"):
        wg.gone


def test_a_star_takes_what_waits_and_no_module():
    found = run(
        "import random, numpy",  # which the package has as well, with other things in them
        "from wengert import *",
        "print(conv2d.__name__, random.shuffle.__name__, numpy.__name__, 'nn' in dir())",
    )
    assert found == ["conv2d", "shuffle", "numpy", "False"]


def test_a_name_first_asked_for_in_a_profile_is_the_function_itself_afterwards():
    found = run(
        "import wengert as wg",
        "from wengert.profiler import profile",
        "with profile(): wg.relu_, wg.vmap",
        "print(wg.relu_ is wg.nn.functional.relu_, wg.vmap is wg.func.vmap)",
    )
    assert found == ["True", "True"]


@pytest.mark.parametrize("name", imports.MOVED)
def test_modules_are_found_by_the_names_they_had(name):
    module = importlib.import_module(name)
    assert module is importlib.import_module(imports.MOVED[name])
    assert module.__name__ == module.__spec__.name == imports.MOVED[name]


def modules_of_pytorch():
    return [info.name for info in pkgutil.walk_packages(pytorch.__path__, "wengert.pytorch.")]


@pytest.mark.parametrize("first", ["wengert", "wengert.pytorch"])
def test_modules_of_pytorch_have_its_names_and_are_loaded_once(first):
    own = modules_of_pytorch()
    public = [name.replace(".pytorch.", ".") for name in own]
    order = [*public, *own] if first == "wengert" else [*own, *public]
    same = [f"print({a} is {b})" for a, b in zip(own, public, strict=True)]
    assert run("import " + ", ".join(order), *same) == ["True"] * len(own)
    assert run("import wengert.cuda.amp", "print(wengert.cuda.amp.__name__)") == [
        "wengert.pytorch.cuda.amp"
    ]


def test_modules_of_pytorch_are_attributes_of_the_package():
    for info in pkgutil.iter_modules(pytorch.__path__):
        if info.name in (
            "absent",
            "names",
            "aten",
            "foreach",
            "modules",
            "native",
        ):  # which are about the others
            continue
        assert getattr(wg, info.name) is importlib.import_module(f"wengert.pytorch.{info.name}")


def test_a_module_that_is_missing_is_missing():
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'wengert\.gone'"):
        import wengert.gone
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'wengert\.cuda\.gone'"):
        import wengert.cuda.gone  # noqa: F401


NAMESAKES = [
    "import wengert.compile, wengert.explain", "import wengert.compile.call.function",
    "import wengert.explain.source", "from wengert.explain import explain as f",
    "from wengert import compile, explain, source", "import wengert; wengert.compile(abs)",
]  # fmt: skip


@pytest.mark.parametrize("first", NAMESAKES)
def test_functions_win_over_the_folders_of_their_names(first):
    kinds = [f"type(wengert.{name}).__name__" for name in ("compile", "explain", "source")]
    line = f"print({', '.join(kinds)})"
    assert run(first, "import wengert", line, *NAMESAKES, line) == ["function"] * 6


FACADES = ["func", "linalg", "pytorch.amp", "pytorch.backends", "pytorch.compiler", "pytorch.cuda",
           "pytorch.fft", "pytorch.jit", "pytorch.masked", "pytorch.random", "pytorch.signal",
           "pytorch.special", "pytorch.version"]  # fmt: skip


@pytest.mark.parametrize("name", FACADES)
def test_modules_with_pytorchs_names_say_so_first(name):
    first = importlib.import_module(f"wengert.{name}").__doc__.splitlines()[0]
    assert f"`torch.{name.removeprefix('pytorch.')}`" in first


def test_the_front_hall_is_small():
    names = {path.relative_to(ROOT).parts[0] for path in ROOT.rglob("*.py")}
    assert len(names) <= 40  # NumPy's and SciPy's namespaces among them
