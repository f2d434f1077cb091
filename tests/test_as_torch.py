"""`import torch` that means wengert: for programs, for a block, and for no longer."""

import subprocess
import sys
import types
from pathlib import Path

import pytest

import wengert as wg
from wengert import as_torch

PROGRAMS = sorted((Path(__file__).resolve().parent / "programs").glob("*.py"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_programs_run_and_learn(program):
    before = wg.get_default_dtype()
    try:
        losses = as_torch.run(program)["losses"]
    finally:
        wg.set_default_dtype(before)
    n = len(losses) // 4
    if program.stem not in ("dqn", "gan"):  # whose losses need not fall
        gain = -1 if program.stem == "super_resolution" else 1  # its last number is a PSNR
        assert gain * losses[-1] < gain * losses[0]
        if gain == 1:
            assert sum(losses[-n:]) < sum(losses[:n])


def test_the_command_runs_a_program_with_its_arguments(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import sys, torch, helper\n"
        "from torch.utils.data.dataset import TensorDataset\n"
        "print(__name__, sys.argv[1:], torch.__name__, helper.one, TensorDataset.__module__)\n"
        "sys.exit(3)\n"
    )
    (tmp_path / "helper.py").write_text("import torch.nn.functional as F\none = F.relu\n")
    command = [sys.executable, "-m", "wengert.as_torch", str(program), "--lr", "1"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 3, done.stderr
    assert done.stdout.startswith("__main__ ['--lr', '1'] torch <function relu")
    assert "wengert.utils.data" in done.stdout


def test_the_command_explains_itself(capsys):
    assert as_torch.main(["--help"]) == 0
    assert as_torch.main([]) == 2
    assert "PROGRAM [ARGUMENTS...]" in capsys.readouterr().out
    assert as_torch.main(["absent.py"]) == 2
    assert "there is no file absent.py" in capsys.readouterr().err


def test_a_module_that_is_imported_does_not_take_the_place_of_a_function_of_its_name():
    # The import system sets a module in its parent, where `autograd.gradcheck` is the function.
    gradcheck = wg.autograd.gradcheck
    with as_torch.installed():
        from torch.autograd.gradcheck import GradcheckError
        from torch.autograd.graph import Node

        assert wg.autograd.gradcheck is gradcheck
        assert GradcheckError.__module__.startswith("wengert")
        assert Node is wg.autograd.graph.Node
    assert type(wg.autograd) is type(wg.nn)


def test_a_module_without_a_file_does_not_take_the_place_of_the_function_of_its_name():
    # After `import torch.nn.utils.weight_norm` the reference, and users, met a module: the finder
    # of modules without a file let it hide the function for good.
    weight_norm = wg.nn.utils.weight_norm
    with as_torch.installed():
        import torch.jit.annotations
        import torch.nn.utils.weight_norm as named
        from torch.nn.utils.weight_norm import WeightNorm
        from torch.nn.utils.weight_norm import weight_norm as imported

        assert wg.nn.utils.weight_norm is named is imported is weight_norm
        assert isinstance(WeightNorm, type)
        assert isinstance(torch.jit.annotations, types.ModuleType)  # and no line of `__future__`
    assert type(wg.nn.utils) is type(wg.nn)


def test_modules_of_pytorch_are_those_of_wengert_and_stay_themselves():
    import wengert.nn

    spec = wengert.nn.__spec__
    with as_torch.installed():
        import torch
        import torch.backends.cudnn as cudnn
        import torch.cuda.amp
        import torch.nn as nn
        import torch.nn.functional
        from torch.autograd import Variable
        from torch.distributions import constraints
        from torch.distributions.kl import kl_divergence
        from torch.distributions.normal import Normal
        from torch.distributions.utils import broadcast_all
        from torch.nn.modules.loss import MSELoss
        from torch.nn.parameter import Parameter
        from torch.nn.utils import clip_grad_norm_
        from torch.optim.lr_scheduler import StepLR
        from torch.utils.data.dataloader import DataLoader, default_collate

        assert torch is wg
        assert nn is wg.nn
        assert torch.nn.functional is wg.nn.functional
        assert cudnn is wg.backends.cudnn
        assert (MSELoss, Parameter) == (wg.nn.MSELoss, wg.nn.Parameter)
        assert DataLoader is wg.utils.data.DataLoader
        assert StepLR is wg.optim.lr_scheduler.StepLR
        assert all((Variable, clip_grad_norm_, default_collate, broadcast_all))
        assert torch.distributions.Normal is Normal is wg.distributions.Normal
        assert constraints is wg.distributions.constraints
        assert kl_divergence is wg.distributions.kl_divergence
        with pytest.raises(ModuleNotFoundError, match=r"stands for torch\.gone"):
            import torch.gone
    assert wengert.nn.__spec__ is spec
    assert wengert.nn.__name__ == "wengert.nn"


def test_what_was_imported_before_is_there_again_after():
    class Mark:
        pass

    before = sys.modules.get("torch")
    sys.modules["torch"] = Mark
    try:
        with as_torch.installed():
            import torch

            assert torch is wg
        assert sys.modules["torch"] is Mark
    finally:
        del sys.modules["torch"]
        if before is not None:
            sys.modules["torch"] = before


def test_questions_about_machines_are_answered_truly():
    assert not wg.cuda.is_available()
    assert not wg.backends.mps.is_available()
    assert not wg.backends.cudnn.is_available()
    assert wg.version.cuda is None
    assert wg.version.__version__ == wg.__version__
    with pytest.raises(RuntimeError, match="No CUDA GPUs are available"):
        wg.cuda.get_device_name(0)
    wg.backends.cudnn.benchmark = False
    with wg.backends.cudnn.flags(benchmark=True):
        assert wg.backends.cudnn.benchmark
    assert not wg.backends.cudnn.benchmark
    assert wg.backends.cpu.get_cpu_capability() in ("DEFAULT", "AVX2", "AVX512")


def test_a_function_can_ask_whether_it_is_being_compiled():
    asked = []

    @wg.compile
    def double(x):
        asked.append(wg.compiler.is_compiling())
        return x * 2

    double(wg.ones(2))
    assert asked == [True]
    assert not wg.compiler.is_compiling()


def test_scripted_functions_are_what_they_were():
    net = wg.nn.Linear(1, 1)
    assert wg.jit.script(net) is net
    assert wg.jit.trace(net, wg.ones(1, 1)) is net
    with pytest.raises(NotImplementedError, match="state_dict"):
        wg.jit.save(net, "x")
