"""PyTorch's modules, all of them: what each is here, and what its names say when they are used."""

from __future__ import annotations

import importlib
import subprocess
import sys
import typing

import pytest

import wengert as wg
from wengert import as_torch

torch = pytest.importorskip("torch")

from docs.generate import modules  # noqa: E402
from wengert.pytorch.modules import COMPARED, MODULES  # noqa: E402

PATHS = sorted(
    f"{package}.{name}".lstrip(".") for package in MODULES for name in MODULES[package].split()
)


def test_the_list_of_modules_is_up_to_date():
    assert torch.__version__.split("+")[0] == COMPARED
    for target, text in modules.files().items():
        assert target.read_text(encoding="utf-8") == text


def test_every_module_of_pytorch_can_be_imported_here_and_under_its_name():
    with as_torch.installed():
        for path in PATHS:
            if path != "utils.tensorboard.summary":
                assert importlib.import_module(f"torch.{path}") is not None
    for path in ("onnx", "fx", "hub", "distributed.fsdp", "nn.modules.dropout"):
        assert importlib.import_module(f"wengert.{path}") is not None


def test_a_module_of_no_library_is_still_an_import_error():
    with as_torch.installed(), pytest.raises(ImportError, match="nothing that stands for"):
        importlib.import_module("torch.nonsense")
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        wg.nonsense


def test_files_of_a_package_offer_what_the_package_has_here():
    with as_torch.installed():
        from torch.autograd.grad_mode import no_grad
        from torch.distributions.beta import Beta
        from torch.functional import einsum
        from torch.nn.modules.batchnorm import _BatchNorm
        from torch.nn.modules.dropout import Dropout
        from torch.nn.modules.utils import _pair
        from torch.optim.adamw import AdamW
        from torch.optim.lr_scheduler import _LRScheduler
    assert (Beta, Dropout, AdamW) == (wg.distributions.Beta, wg.nn.Dropout, wg.optim.AdamW)
    assert (no_grad, einsum) == (wg.no_grad, wg.einsum)
    assert isinstance(wg.nn.BatchNorm2d(1), _BatchNorm)
    assert _pair(3) == (3, 3)
    assert issubclass(wg.optim.lr_scheduler.StepLR, _LRScheduler)


def test_a_function_stays_what_it_is_when_a_module_of_its_name_is_imported():
    importlib.import_module("wengert.nn.parallel.data_parallel")
    net = wg.nn.Linear(3, 2)
    assert wg.nn.parallel.data_parallel(net, wg.ones(4, 3), [0]).shape == (4, 2)
    assert wg.nn.utils.clip_grad_norm_ is wg.nn.utils.clip_grad.clip_grad_norm_


MEANINGLESS = {
    "onnx.TrainingMode": "no counterpart.*wengert.onnx.export writes forward passes",
    "hub.load": "wengert.load from a downloaded file",
    "distributed.TCPStore": "wengert.distributed has groups",
    "utils.model_zoo.load_url": "wengert.load from a downloaded file",
    "fx.symbolic_trace": "wengert.compile",
    "utils.cpp_extension.load": "wengert.primitive",
}


@pytest.mark.parametrize("path", MEANINGLESS)
def test_a_name_without_a_meaning_says_so_when_it_is_used(path):
    module, _, name = path.rpartition(".")
    found = getattr(importlib.import_module(f"wengert.{module}"), name)
    assert not isinstance(wg.nn.Linear(1, 1), found)
    with pytest.raises(NotImplementedError, match=MEANINGLESS[path]):
        found(wg.nn.Linear(1, 1))


def test_programs_ask_for_accelerators_processes_and_versions():
    assert not wg.accelerator.is_available()
    assert wg.accelerator.current_accelerator() is None
    assert wg.distributed.is_available()
    assert not wg.distributed.is_initialized()
    assert (wg.distributed.get_rank(), wg.distributed.get_world_size()) == (0, 1)
    own = wg.__version__
    with as_torch.installed():
        import torch as theirs

        assert theirs.__version__ == theirs.version.__version__ == COMPARED
        assert theirs.__name__ == "torch"  # by which a library finds what it changes
    assert wg.__version__ == own
    assert wg.__name__ == "wengert"


def test_a_module_says_which_names_a_star_takes_as_pytorchs_do():
    # Pyro adds PyTorch's list of constraints to its own.
    with as_torch.installed():
        listed = importlib.import_module("torch.distributions.constraints").__all__
        lists = importlib.import_module("torch.jit.annotations").List
    assert {"positive", "simplex"} <= set(listed)
    assert {"Any", "np", "annotations"}.isdisjoint(listed)
    assert lists is typing.List  # noqa: UP006


def test_processes_are_started_by_spawn():
    program = (
        "import wengert as wg\n"
        "def work(k, x):\n"
        "    assert x.tolist() == [1, 2] and k in (0, 1)\n"
        "wg.multiprocessing.spawn(work, (wg.tensor([1, 2]),), 2, start_method='fork')\n"
        "print('done')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "done\n", done.stderr


def test_assert_close_compares_numbers_shapes_and_dtypes():
    close = wg.testing.assert_close
    close([wg.ones(2), {"a": 1.0}], [wg.ones(2) + 1e-7, {"a": 1.0}])
    for actual, expected, told in (
        (wg.ones(2), wg.ones(2) + 1e-3, r"Mismatched elements: 2 / 2"),
        (wg.ones(2), wg.ones(1, 2), "shapes"),
        (wg.ones(2), wg.ones(2, dtype=wg.float64), "dtypes"),
        ([1.0], [1.0, 2.0], "lengths"),
    ):
        with pytest.raises(AssertionError, match=told):
            close(actual, expected)
