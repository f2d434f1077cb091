"""Each public name of PyTorch's is here, or says when it is used what to do instead."""

import importlib

import pytest

pytest.importorskip("torch")

import wengert as wg
from docs.generate import modules
from wengert import as_torch
from wengert.pytorch import absent
from wengert.pytorch.modules import LACKING


def ours(path):
    return importlib.import_module(absent.counterpart(path))


@pytest.mark.parametrize("path", modules.paths(), ids=lambda path: path or "torch")
def test_each_public_name_of_a_module_is_found(path):
    missing = [name for name in modules.public(path) if not found(ours(path), name)]
    assert missing == [], "add them, or write modules.py again and call _lacking(__name__)"


def found(module, name):
    try:
        getattr(module, name)
    except AttributeError:
        return False
    except ImportError:  # bfloat16 needs a package
        return True
    return True


def test_the_generated_table_is_up_to_date():
    assert modules.TARGET.read_text(encoding="utf-8") == modules.text()


@pytest.mark.parametrize(
    ("path", "name"), [(path, name) for path, names in LACKING.items() for name in names.split()]
)
def test_what_has_no_meaning_here_says_what_to_do_when_it_is_used(path, name):
    value = getattr(ours(path), name)
    assert not isinstance(1, value)
    assert not hasattr(value, "member")
    with pytest.raises(NotImplementedError, match=rf"{name} has no counterpart in wengert. \w+"):
        value()


def test_a_name_that_pytorch_has_not_is_an_attribute_error():
    # A name for everything would hide misspelt ones, and make each question by hasattr true.
    for module in (wg, wg.nn, wg.cuda, wg.jit, wg.optim, wg.utils.data):
        assert not hasattr(module, "Linaer")


PRIVATE = {
    "__config__": "show parallel_info",
    "_tensor_str": "_tensor_str",
    "jit": "ScriptModule _overload",
    "utils.data": "functional_datapipe",
    "utils.data.dataloader": "_BaseDataLoaderIter _MultiProcessingDataLoaderIter",
    "_C": "_log_api_usage_once",
    "_dynamo": "disable allow_in_graph is_compiling reset",
    "autograd.function": "FunctionCtx",
    "autograd.profiler": "record_function",
    "backends.cuda": "sdp_kernel",
    "cuda.amp": "custom_fwd",
    "distributions.utils": "_standard_normal lazy_property",
    "functional": "norm",
    "library": "custom_op",
    "multiprocessing": "set_start_method",
    "nn": "SyncBatchNorm",
    "nn.attention": "sdpa_kernel",
    "nn.common_types": "_size_2_t",
    "nn.init": "_no_grad_trunc_normal_",
    "nn.modules.batchnorm": "_BatchNorm",
    "nn.modules.container": "Sequential",
    "nn.modules.conv": "_ConvNd",
    "nn.modules.dropout": "Dropout",
    "nn.modules.loss": "_Loss",
    "nn.modules.utils": "_pair",
    "nn.parallel": "DistributedDataParallel",
    "onnx": "export",
    "optim": "Adafactor",
    "optim.lbfgs": "ParamsT",
    "optim.lr_scheduler": "_LRScheduler",
    "return_types": "max",
    "serialization": "MAP_LOCATION",
    "testing": "assert_close",
    "types": "Device",
    "utils._pytree": "tree_map",
    "utils.benchmark": "Timer",
    "utils.data._utils.collate": "default_collate",
    "utils.hooks": "RemovableHandle",
    "utils.model_zoo": "load_url",
}
NAMED = [(path, name) for path, names in PRIVATE.items() for name in names.split()]


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_names_that_published_code_imports_are_found(path, name):
    with as_torch.installed():
        assert getattr(importlib.import_module(f"torch.{path}"), name) is not None


def test_functions_that_an_absent_name_decorates_say_so_when_they_are_called():
    # Decorating them, which their module does when it is imported, was an error.
    with as_torch.installed():
        import torch

        @torch.distributed.rpc.api._require_initialized
        def function():
            return 1

        with pytest.raises(NotImplementedError, match="_require_initialized has no counterpart"):
            function()
        with pytest.raises(NotImplementedError, match="_pin_memory has no counterpart"):
            torch.ops.aten._pin_memory.default(1)
        assert torch.onnx.is_in_onnx_export() is False
