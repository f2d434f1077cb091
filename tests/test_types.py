"""What type checkers and editors see: the files of types, and signatures.

What they make of it is checked by `mypy` and `basedpyright`, which read `tests/types` and the
examples with the package.
"""

from __future__ import annotations

import inspect
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import wengert as wg
from docs.generate import stubs
from wengert.nn import functional as F


@pytest.fixture(scope="module")
def texts():
    """Written by the first test that asks, and not by each process that collects the tests."""
    return stubs.texts()


def test_what_type_checkers_see_is_up_to_date(texts):
    old = [path for path, text in texts.items() if path.read_text(encoding="utf-8") != text]
    assert not old, "run python -m docs.generate.stubs"


def test_a_class_that_answers_for_functions_changes_no_type(texts):
    # Functions ask the classes of their arguments from the first such class on.
    class Own(wg.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return super().__torch_function__(function, types, args, kwargs)

    assert wg.ones(2).as_subclass(Own).add(1).sum() == 4
    assert stubs.texts() == texts
    assert type(wg.ones(2).as_subclass(Own).exp()) is Own


UNSAID = {
    "to_dlpack", "get_default_device", "__array_namespace__", "__dlpack__", "__new__", "storage",
    "__reduce_ex__", "__torch_function__", "_typed_storage", "module_load", "tolist", "type",
    "untyped_storage",
}  # fmt: skip
"""Functions whose result has no type that could be written, or one for each argument."""


def test_the_result_of_each_function_has_a_type(texts):
    found = {
        name for text in texts.values() for name in re.findall(r"def (\w+)\(.*\) -> _Any:", text)
    }
    assert found == UNSAID


@pytest.mark.parametrize("module", [wg, wg.linalg, wg.special, F], ids=lambda m: m.__name__)
def test_each_public_function_is_seen_by_type_checkers(module, texts):
    text = texts[pathlib.Path(module.__file__).with_suffix(".pyi")]
    star = "from wengert.functions.elementary import *" in text
    names = {n for n, f in vars(module).items() if inspect.isfunction(f) and n[0] != "_"}
    if star:
        names -= vars(sys.modules["wengert.functions.elementary"]).keys()
    seen = set(re.findall(r"(?:def| as|^)\s*(\w+)(?= =|\(|$)", text, re.MULTILINE))
    assert names - seen == set()


def test_no_internal_argument_is_seen_in_a_signature(texts):
    # `_stacklevel` of F.softmax was shown to users: it is PyTorch's, and does nothing here.
    for text in texts.values():
        assert "_stacklevel" not in text
    for name in ("softmax", "log_softmax", "softmin"):
        assert "_stacklevel" not in inspect.signature(getattr(F, name)).parameters
        assert getattr(F, name)(wg.ones(2), 0, _stacklevel=5).shape == (2,)


@pytest.mark.sweep
def test_mypy_finds_each_mistake_and_nothing_else():
    mypy = shutil.which("mypy")
    if mypy is None:
        pytest.skip("mypy is not installed")
    root = pathlib.Path(stubs.__file__).parents[2]
    files = sorted(str(p) for p in (root / "tests" / "types").glob("*.py"))
    done = subprocess.run([mypy, *files], cwd=root, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout


def test_a_name_that_an_import_changes_is_public_in_files_of_types(texts):
    # `from wengert import solvers as implicit` is private there: `wg.implicit` was unknown.
    for text in texts.values():
        renamed = re.findall(r"^from \S+ import (\w+) as ([a-z]\w*)$", text, re.MULTILINE)
        assert [new for old, new in renamed if new != old] == []


def test_each_parameter_and_buffer_of_a_layer_has_a_type():
    # Those of normalizations are made in a loop: type checkers took running_mean for None.
    for made in (wg.nn.BatchNorm1d(2), wg.nn.LayerNorm(2), wg.nn.GroupNorm(1, 2), wg.nn.RMSNorm(2),
                 wg.nn.Linear(1, 1), wg.nn.Conv1d(1, 1, 1), wg.nn.MultiheadAttention(2, 1),
                 wg.nn.GRUCell(1, 1), wg.nn.Embedding(1, 1), wg.nn.PReLU()):  # fmt: skip
        classes = type(made).__mro__[: -len(wg.nn.Module.__mro__)]
        said = {name for kind in classes for name in inspect.get_annotations(kind)}
        texts = "".join(map(inspect.getsource, classes))
        said |= set(re.findall(r"self\.(\w+)(?:: \w+)? = ", texts))
        assert {*made._parameters, *made._buffers} <= said, type(made)
