"""Each public name of PyTorch's is here, or says when it is used what to do instead."""

import importlib

import pytest

torch = pytest.importorskip("torch")

import wengert as wg  # noqa: E402
from docs.generate import modules  # noqa: E402
from wengert import as_torch  # noqa: E402
from wengert.pytorch import absent  # noqa: E402
from wengert.pytorch.names import HOMES, LACKING  # noqa: E402


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
    "jit.annotations": "List Any",
    "utils.data": "functional_datapipe",
    "utils.data.dataloader": "_BaseDataLoaderIter _MultiProcessingDataLoaderIter",
    "_C": "_log_api_usage_once _get_tracing_state",
    "_dynamo": "disable allow_in_graph is_compiling reset",
    "autograd.function": "FunctionCtx",
    "autograd.profiler": "record_function",
    "backends.cuda": "sdp_kernel",
    "cuda.amp": "custom_fwd",
    "distributions.constraints": "__all__",
    "distributions.utils": "_standard_normal _sum_rightmost lazy_property",
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


def test_a_module_without_a_file_holds_the_names_that_it_shares_with_others():
    # Programs look for classes in vars(module), which was empty.
    with as_torch.installed():
        import torch.nn.modules.activation as module

        kinds = [kind for kind in vars(module).values() if isinstance(kind, type)]
    assert {wg.nn.ReLU, wg.nn.SiLU} <= set(kinds)


def test_a_name_that_no_other_module_of_pytorchs_has_is_that_of_the_file_that_defines_its_like():
    # Homes were looked for by PyTorch's paths only, and PyTorch has no `nn.module`.
    seen = []
    with as_torch.installed():
        from torch import nn
        from torch.nn.modules.module import register_module_forward_hook
    with register_module_forward_hook(lambda module, args, output: seen.append(module)):
        layer = nn.Identity()
        layer(1)
    assert seen == [layer]
    with pytest.raises(NotImplementedError):  # another one than that of torch.profiler
        wg.autograd.profiler.profile()


def test_another_layer_of_pytorchs_by_the_same_name_is_not_the_package_s_own():
    # Names were those of the nearest package, so that a quantized layer was the one of floats.
    for path in ("nn.quantized", "nn.qat.modules", "nn.quantized.dynamic.modules"):
        with pytest.raises(NotImplementedError, match=r"wengert\.nn\.quantization"):
            importlib.import_module(f"wengert.{path}").Linear(3, 2)


@pytest.mark.parametrize("title", [title for title in HOMES if "nn.layers" in title])
def test_private_bases_are_bases_of_no_other_layers_than_pytorchs(title):
    path = title.partition(" in")[0]
    theirs = importlib.import_module(f"torch.{path}")
    for name in (text.partition("=")[0] for text in HOMES[title].split()):
        for layer in modules.public("nn"):
            here = getattr(wg.nn, layer)
            if isinstance(here, type) and issubclass(here, getattr(ours(path), name)):
                assert issubclass(getattr(torch.nn, layer), getattr(theirs, name)), layer


def test_operators_of_pytorchs_inside_are_found_at_the_top_and_take_out():
    out = wg.empty(2)
    wg._safe_softmax(wg.zeros(2), 0, out=out)
    assert out.tolist() == [0.5, 0.5]


def test_a_part_that_is_not_here_is_not_available():
    # It was the answer of the nearest package, which is.
    assert not wg.cuda.nccl.is_available()
    assert not wg.distributed.rpc.is_available()


def test_private_modules_are_those_of_pytorch():
    with as_torch.installed():
        assert importlib.import_module("torch._inductor.config")
        with pytest.raises(ImportError, match=r"torch\._six"):  # by which programs tell versions
            importlib.import_module("torch._six")


def test_what_is_in_a_private_package_is_not_listed_and_explained_when_it_is_used():
    with as_torch.installed():
        import torch._inductor

        torch._inductor.config.triton.cudagraphs = True
        assert torch._inductor.config.triton.cudagraphs is True
        from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily
    assert not isinstance(wg.ones(1), FakeTensor)
    with pytest.raises(NotImplementedError, match=r"torch._subclasses.*unset_fake_temporarily"):
        unset_fake_temporarily()
    assert not hasattr(torch._inductor, "_private")


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


def test_ways_to_compute_attention_are_chosen_among_which_was_an_error():
    with as_torch.installed():
        from torch.nn.attention import SDPBackend, sdpa_kernel
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH], set_priority=True):
        pass
    with pytest.raises(TypeError, match=r"SDPBackend\.MATH"), sdpa_kernel("math"):
        pass
