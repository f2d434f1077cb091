"""The page docs/coming_from_pytorch.md: what is the same, what differs, what is missing.

`python -m tests.parity.coming_from_pytorch` writes it, from a comparison of public names with the
PyTorch that is installed; a test fails where it is out of date. What differs is written down here.
"""

from __future__ import annotations

import importlib
import inspect
import re
import types
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "coming_from_pytorch.md"

NAMESPACES = (
    "torch", "torch.Tensor", "torch.nn", "torch.nn.functional", "torch.nn.init", "torch.nn.utils",
    "torch.nn.utils.parametrize", "torch.nn.utils.prune", "torch.nn.utils.rnn", "torch.optim",
    "torch.optim.lr_scheduler", "torch.optim.swa_utils", "torch.utils.data",
    "torch.utils.checkpoint", "torch.autograd",
    "torch.autograd.forward_ad", "torch.autograd.functional", "torch.autograd.graph", "torch.func",
    "torch.linalg", "torch.fft", "torch.special", "torch.distributions", "torch.amp",
    "torch.profiler", "torch.random",
)  # fmt: skip

INTERNAL = re.compile(
    r"(cudnn|mkldnn|miopen|quantized|fbgemm|native|q|sym|batch_norm_|fake|fused|sparse|autocast"
    r"|set_autocast|is_autocast|get_autocast|fork|wait|import_ir|parse|merge_type|unify|cpp|classes)_"
    r"|.*(_copy|_quantized?|_tf32|_cpu|_lazy|_ipu|_xla|_vulkan|_vmap|_out|_backward|_indices_|Storage)"
    r"|(ops|quasirandom|return_types|package|hub|futures|testing|monitor|overrides|classproperty)$"
    r"|(is|get|set)_warn_always.*|prepare_multi.*|.*_type_comment|int_repr|.*(cutlass|triton).*"
    r"|(TypedStorage|UntypedStorage|Storage|Sym.*|Stream|Event|Tag|.*Error|.*Type)$"
    r"|(functions|vital|read_vitals|set_vital|typename|compiled_with_cxx11_abi|segment_reduce)$"
    r"|(has_torch_function|handle_torch_function|boolean_dispatch|assert_int_or_pair|grad).*"
    r"|(dsmm|hsmm|hspmm|saddmm|smm|spmm|sspaddmm|resize_as_sparse_|to_sparse.*|to_mkldnn|as_subclass"
    r"|dequantize|quantize_.*|empty_quantized|choose_qparams.*|sparse_.*|.*_sparse_?|is_sparse.*"
    r"|crow_indices|col_indices|ccol_indices|row_indices|values|indices|coalesce|is_coalesced"
    r"|(is_)?(cuda|ipu|mps|mtia|xla|xpu|vulkan|maia|mkldnn|quantized|meta|nested)|map2?_|module_load"
    r"|qscheme|int_repr|data_ptr|name.*|.*names?|align_.*|refine_.*|unflatten_dim|reinforce|.*shared.*"
    r"|u?int[1-7]|bits.*|bit|float[48]_.*|complex32|chalf|qu?int.*|per_(channel|tensor)_.*|jagged"
    r"|has_.*|[A-Z_0-9]+|.*_notes|BroadcastingList\d|wait|fork|init_num_threads|get_file_path|.*scaled_mm"
    r"|get_device_module|thread_safe_generator|slice_inverse|const_data_ptr|hash_tensor|.*grouped_mm"
    r"|factory_kwargs|legacy_contiguous_format|norm_except_dim|(embedding_)?renorm_|batch_norm_.*"
    r"|.*DataPipe|DataChunk|.*_validation(_disabled)?|functional_datapipe|.*determin.*|volatile"
    r"|convolution|max_pool1d_with_indices|clear_autocast_cache|set_override_.*|set_warn_on_.*"
    r"|eig|lstsq|matrix_rank|solve|symeig|.*Container|NLLLoss2d|from_file|.*interop_threads"
    r"|new|storage_type|to_padded_tensor|record_stream|rename_?|dim_order|untyped_storage)$"
)
"""Names that programs do not use: kernels, sparse, quantized and named tensors, other devices, and
what PyTorch itself has given up.
"""

_TORCH_CLASSES = re.compile(r"(Tensor|Size|Generator|GradScaler|\w+Tensor)$")
"""Those of the package itself; its other names in CamelCase are parts of its compiler."""

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

| PyTorch | names | here | missing |
|---|--:|--:|--:|
{table}

Not counted are names that programs do not use: kernels of one library or device, and what belongs
to sparse, quantized, nested and named tensors, which do not exist here.

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
    "In place": "a result may be overwritten wherever PyTorch allows it, and in many places where "
    "it does not (softmax, prod): what can be computed again is.",
    "Modules": "all of PyTorch's can be imported. What has no meaning here (`onnx`, `fx`, `hub`, "
    "`distributed`) is an error when it is used, which says what to do instead.",
    "Mixed precision": "`amp.autocast` computes in the dtypes it is given, with a warning; "
    "`GradScaler` works.",
    "Saving": "`save` takes tensors, numbers, strings and containers of them, and writes "
    "atomically; modules are saved by `state_dict()`. No file can run code.",
    "Compiling": "`compile` traces once for each kind of arguments, and a whole training step, the "
    "optimizer included, may be one function. A branch on a number of a tensor is an error that "
    "says what to write instead; nothing falls back silently. `jit.script` and `jit.trace` return "
    "what they are given.",
    "Threads": "`set_num_threads` cannot change NumPy's threads: set OMP_NUM_THREADS before.",
    "Optimizers": "`foreach`, `fused` and `capturable` are accepted and choose nothing; "
    "`differentiable=True` is an error. `Muon` keeps the parameter's dtype in its iterations, "
    "where PyTorch rounds to bfloat16. `SparseAdam` is an error.",
    "Loaders": "workers need no shared memory and end with the program however it ends; "
    "`state_dict()` gives the position within an epoch; `utils.training.TrainingState` saves and "
    "resumes a whole run bit for bit.",
    "Profiling": "`profiler.profile` names the user's lines and modules; memory and flops are not "
    "measured.",
}


def namespace(name: str) -> Any:
    """A module or class by its dotted name; None if it does not exist."""
    head, *rest = name.split(".")
    found: Any = importlib.import_module(head)
    path = head
    for part in rest:
        path = f"{path}.{part}"
        try:
            found = importlib.import_module(path)
        except ImportError:
            found = getattr(found, part, None)
        if found is None:
            return None
    return found


def public(name: str) -> set[str]:
    """The names that users of a namespace of PyTorch know."""
    space = namespace(name)
    stated = getattr(space, "__all__", None) if name != "torch" else None
    names = set(stated) if stated else {n for n in dir(space) if not n.startswith("_")}
    if name == "torch":
        names = {n for n in names if not n[0].isupper() or _TORCH_CLASSES.match(n)}
    elif name != "torch.Tensor":
        names.discard("Tensor")
    return {n for n in names if _is_meant(getattr(space, n, None), n, bool(stated))}


def _is_meant(value: Any, name: str, stated: bool) -> bool:
    if name.startswith("_") or INTERNAL.match(name) or isinstance(value, types.ModuleType):
        return False
    home = getattr(value, "__module__", None) or ""
    if inspect.isclass(value) and home in ("torch._C", "builtins", "typing"):
        return False
    return stated or home.startswith("torch") or home == "" or name in ("dtype", "device")


def missing() -> dict[str, tuple[int, list[str]]]:
    """For each namespace how many names there are, and which are missing here."""
    found = {}
    for name in NAMESPACES:
        theirs = public(name)
        ours = namespace("wengert" + name.removeprefix("torch"))
        found[name] = len(theirs), sorted(n for n in theirs if not _has(ours, n))
    return found


def _has(space: Any, name: str) -> bool:
    try:
        getattr(space, name)
    except AttributeError:
        return False
    except ImportError:  # the name is there, the package that it needs (bfloat16's) is not
        return True
    return True


def page() -> str:
    """The page's text."""
    import torch

    comparison = missing()
    rows = [
        f"| `{name}` | {count} | {count - len(absent)} | {len(absent)} |"
        for name, (count, absent) in comparison.items()
    ]
    lists = [
        f"**{name}**: " + ", ".join(f"`{n}`" for n in absent) + ".\n"
        for name, (_, absent) in comparison.items()
        if absent
    ]
    differences = "".join(f"- **{title}**: {text}\n" for title, text in DIFFERENCES.items())
    return INTRODUCTION.format(
        version=torch.__version__.split("+")[0],
        differences=differences,
        table="\n".join(rows),
        missing="\n".join(lists).rstrip() or "Nothing that is counted above.",
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE} written")
