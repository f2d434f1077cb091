"""Classes derived from Tensor, beside PyTorch's: results keep the class, and it may be asked."""

import subprocess
import sys

import pytest

pytest.importorskip("torch")

import torch

import wengert as wg
from wengert.pytorch import overrides

LIBRARIES = pytest.mark.parametrize("library", [torch, wg], ids=["torch", "wengert"])
PLAIN = wg.add.__code__


@pytest.fixture(autouse=True)
def _restored():
    yield
    overrides.restore()
    assert wg.add.__code__ is PLAIN


def derived(library):
    class Derived(library.Tensor):
        pass

    return library.arange(6.0).reshape(2, 3).as_subclass(Derived)


RESULTS = {
    "number right": lambda x, lib: x + 1,
    "number left": lambda x, lib: 1 - x,
    "plain left": lambda x, lib: lib.ones(2, 3) * x,
    "plain right": lambda x, lib: x @ lib.ones(3, 2),
    "negative": lambda x, lib: -x,
    "comparison": lambda x, lib: x == x,
    "method": lambda x, lib: x.sum(0),
    "function": lambda x, lib: lib.exp(x),
    "functional": lambda x, lib: lib.nn.functional.gelu(x),
    "linalg": lambda x, lib: lib.linalg.norm(x),
    "fft": lambda x, lib: lib.fft.fft(x),
    "special": lambda x, lib: lib.special.erf(x),
    "layer": lambda x, lib: lib.nn.Linear(3, 2)(x),
    "activation": lambda x, lib: lib.nn.ReLU()(x),
    "network": lambda x, lib: lib.nn.Sequential(lib.nn.Linear(3, 2), lib.nn.LayerNorm(2))(x),
    "in a list": lambda x, lib: lib.stack([lib.ones(2, 3), x]),
    "several": lambda x, lib: x.split(1)[1],
    "named": lambda x, lib: x.max(0).values,
    "index": lambda x, lib: x[0],
    "property": lambda x, lib: x.T,
    "view": lambda x, lib: x.view(3, 2),
    "made alike": lambda x, lib: lib.zeros_like(x),
    "made new": lambda x, lib: x.new_zeros(2),
    "cast": lambda x, lib: x.double(),
    "moved": lambda x, lib: x.to("cpu"),
    "detached": lambda x, lib: x.detach(),
    "parameter": lambda x, lib: lib.nn.Parameter(lib.ones(3)) * x,
    "in place": lambda x, lib: x.clone().add_(1),
    "into plain": lambda x, lib: lib.ones(2, 3).add_(x),
    "loss": lambda x, lib: x.clone().requires_grad_().pow(2).sum(),
    "plain": lambda x, lib: lib.ones(3),
    "own class": lambda x, lib: lib.nn.Parameter(x.as_subclass(lib.Tensor)) + 1,
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_have_the_classes_that_pytorch_gives_them(name):
    theirs, ours = (RESULTS[name](derived(library), library) for library in (torch, wg))
    assert type(ours).__name__ == type(theirs).__name__
    assert tuple(ours.shape) == tuple(theirs.shape)


@LIBRARIES
def test_a_class_that_defines_torch_function_sees_each_call_once(library):
    seen = []

    class Logged(library.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func.__name__ != "__get__":
                seen.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs)

    x = library.ones(3).as_subclass(Logged)
    seen.clear()
    # What a function is composed of is its own matter, and not shown.
    library.nn.functional.cross_entropy(library.stack([x.exp(), x + x]), library.tensor([0, 1]))
    assert seen == ["exp", "add", "stack", "cross_entropy"]
    assert repr(library.ones(2).as_subclass(Logged)) == "Logged([1., 1.])"


@LIBRARIES
def test_a_class_of_another_kind_may_say_what_functions_mean(library):
    handled = {
        library.sum: lambda x: "a sum",
        library.nn.functional.relu: lambda x, inplace: "a relu",
    }

    class Activates(library.Tensor):
        pass

    class Other:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func not in handled or not all(
                issubclass(t, (library.Tensor, Other)) for t in types
            ):
                return NotImplemented
            return handled[func](*args, **(kwargs or {}))

    assert library.sum(Other()) == "a sum"
    assert library.nn.functional.relu(Other(), inplace=False) == "a relu"
    with pytest.raises(TypeError, match=r"no implementation found for|Multiple dispatch failed"):
        library.exp(Other())


@LIBRARIES
def test_derived_classes_are_asked_before_their_bases(library):
    class First(library.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return cls.__name__

    class Second(First):
        pass

    x, y = library.ones(2).as_subclass(First), library.ones(2).as_subclass(Second)
    assert [library.add(x, y), library.add(y, x), library.add(x, x)] == ["Second"] * 2 + ["First"]


@LIBRARIES
def test_a_mode_is_asked_first(library):
    seen = []

    class Mode(library.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    with Mode():
        x = library.ones(2)
        library.add(x, 1)
        with library._C.DisableTorchFunction():
            library.add(x, 1)
    library.add(x, 1)
    assert seen == ["ones", "add"]


@LIBRARIES
def test_asking_can_be_switched_off(library):
    x = derived(library)
    with library._C.DisableTorchFunctionSubclass():
        assert type(x + 1) is library.Tensor
    assert type(x + 1) is type(x)
    assert library.overrides.has_torch_function((x,))
    assert not library.overrides.has_torch_function_unary(library.ones(1))


@LIBRARIES
def test_gradients_pass_through_derived_classes(library):
    x = derived(library).detach().requires_grad_()
    y = (x * x).sum()
    y.backward()
    assert type(y) is type(x)
    assert (x.grad == 2 * x).all()


def test_plain_programs_are_not_slowed_down():
    # A class derived from Tensor makes functions ask; without one their code is what it was.
    program = "import wengert as wg, sys; wg.ones(2).sum(); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "wengert.tensor" in done.stdout.split()
    assert "wengert.pytorch.overrides" not in done.stdout.split()


def test_functions_may_be_called_first_after_a_class_is_derived():
    # Their texts are written at the first call: they were looked for where they no longer were.
    program = (
        "import wengert as wg\n"
        "class Derived(wg.Tensor): pass\n"
        "x = wg.ones(2).as_subclass(Derived)\n"
        "print(type(wg.tanh(x) * x[0] + wg.ones(2)).__name__, (2 / wg.ones(2)).sum().item())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "Derived 4.0\n", done.stderr


def test_tensors_of_pytorch_are_not_asked_what_functions_of_wengert_mean():
    # They called the function again, which asked them again: until the interpreter crashed.
    derived(wg)
    t = torch.ones(2)
    assert wg.tensor(t).tolist() == [1.0, 1.0]
    with pytest.raises(TypeError, match=r"torch\.Tensor"):
        wg.ones(2) + t
