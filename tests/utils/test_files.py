"""Objects in files, and what files become when they are written."""

import argparse
import ast
import dataclasses
import errno
import io
import os
import pickle
import re
import stat
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest

import wengert as wg
from wengert import nn
from wengert.history import files

FORMS = pytest.mark.parametrize("suffix", [".wg", ".pt"])


@dataclasses.dataclass
class Settings:
    rate: float
    layers: list


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 3)
        self.tied = nn.Linear(2, 3)
        self.tied.weight = self.inner.weight
        self.activation = nn.functional.relu
        self.norm = nn.BatchNorm1d(3)
        self.listed = [self.inner]

    def forward(self, x):
        return self.norm(self.activation(self.inner(x) + self.tied(x)))


class Shouting(nn.Module):
    """Would be heard if code of a file's class ran."""

    def __init__(self):
        raise AssertionError("was called")

    __setattr__ = __setstate__ = __new__ = __init__


@FORMS
def test_a_module_comes_back_with_what_it_shares(tmp_path, suffix):
    net, path = Net().eval(), tmp_path / f"net{suffix}"
    wg.save({"net": net, "again": net}, path)
    found = wg.load(path, weights_only=False)
    again = found["net"]
    x = wg.randn(4, 2)
    assert wg.equal(again(x), net(x))
    assert found["again"] is again
    assert again.tied.weight is again.inner.weight
    assert again.listed[0] is again.inner
    assert not again.training
    assert list(again.state_dict()) == list(net.state_dict())
    again(x).sum().backward()


@FORMS
def test_classes_are_made_if_the_program_allows_them(tmp_path, suffix):
    path = tmp_path / f"x{suffix}"
    options = argparse.Namespace(out=Path("a/b"), rate=0.5)
    wg.save({"settings": Settings(0.1, [1, 2]), "options": options}, path)
    with pytest.raises(pickle.UnpicklingError, match=r"Settings.*add_safe_globals"):
        wg.load(path)
    with wg.serialization.safe_globals([Settings]):
        assert wg.load(path)["settings"] == Settings(0.1, [1, 2])
    assert wg.load(path, weights_only=False)["options"] == options
    assert wg.serialization.get_safe_globals() == []


class Labelled(wg.Tensor):
    pass


@FORMS
def test_tensors_of_a_class_are_read_if_the_program_allows_it_and_were_read_as_plain(
    tmp_path, suffix
):
    path = tmp_path / f"x{suffix}"
    wg.save(wg.ones(2).as_subclass(Labelled), path)
    with pytest.raises(pickle.UnpicklingError, match=r"Labelled.*add_safe_globals"):
        wg.load(path)
    assert type(wg.load(path, weights_only=False)) is Labelled


@FORMS
def test_attributes_of_tensors_that_no_file_holds_are_refused_and_were_dropped(tmp_path, suffix):
    x = wg.ones(2)
    x.close = lambda: None
    with pytest.raises(TypeError, match="function"):
        wg.save(x, tmp_path / f"x{suffix}")
    del x.close
    vars(x)["shape"] = (3,)
    with pytest.raises(TypeError, match="'shape', which all tensors have"):
        wg.save(x, tmp_path / f"x{suffix}")


@pytest.mark.parametrize("form", ["torch", "wengert"])
def test_hooks_of_tensors_that_are_not_saved_are_told_of(form):
    x = wg.ones(2, requires_grad=True)
    x.register_hook(lambda g: 2 * g)
    with pytest.warns(UserWarning, match="backward hook .* will not be serialized"):
        wg.save(x, io.BytesIO(), format=form)
    with pytest.warns(UserWarning, match="backward hook .* will not be serialized"):
        pickle.dumps(x)


@FORMS
def test_layers_are_always_allowed(tmp_path, suffix):
    path = tmp_path / f"x{suffix}"
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.LSTM(3, 4))
    wg.save(net, path)
    assert repr(wg.load(path)) == repr(net)


@FORMS
def test_no_code_of_a_class_runs(tmp_path, suffix):
    path = tmp_path / f"x{suffix}"
    made = object.__new__(Shouting)
    vars(made).update(vars(nn.Identity()))
    wg.save(made, path)
    assert type(wg.load(path, weights_only=False)) is Shouting


@FORMS
@pytest.mark.parametrize("name", ["subprocess.Popen", "builtins.eval", "os.system"])
def test_a_file_cannot_name_what_is_no_module_and_no_dataclass(tmp_path, suffix, name):
    path = tmp_path / f"x{suffix}"
    wg.save(Settings(0.1, []), path)
    mine = f"{__name__}.Settings"
    old, new = (mine.rpartition("."), name.rpartition("."))
    data = path.read_bytes()
    if suffix == ".pt":
        file = io.BytesIO()
        wg.serialization.archive.torch_writer.zipfile
        pickled = f"c{new[0]}\n{new[2]}\n".encode() + b")\x81."
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("archive/data.pkl", b"\x80\x02" + pickled)
        path.write_bytes(file.getvalue())
    else:
        header = data[8:].replace(f"{old[0]}.{old[2]}".encode(), name.encode())
        path.write_bytes((len(header)).to_bytes(8, "little") + header)
    with pytest.raises(pickle.UnpicklingError, match=name):
        wg.load(path, weights_only=False)


def test_a_link_stays_a_link_and_a_file_keeps_its_mode(tmp_path):
    # The link was replaced by a file, whose mode was that of new ones.
    target, link = tmp_path / "target.wg", tmp_path / "link.wg"
    wg.save(1, target)
    target.chmod(0o640)
    link.symlink_to(target.name)
    wg.save(2, link)
    assert link.is_symlink()
    assert wg.load(target) == 2
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_pipe_and_a_device_stay_what_they_are(tmp_path):
    pipe, read = tmp_path / "pipe.wg", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    wg.save([1, 2], pipe)
    reader.join(10)
    assert wg.load(io.BytesIO(read[0])) == [1, 2]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    wg.save(1, "/dev/null")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_what_a_killed_program_left_is_removed_by_the_next(tmp_path):
    path = tmp_path / "x[1].wg"
    program = (
        "import sys, os; from pathlib import Path; from wengert.history import files\n"
        "with files.whole(Path(sys.argv[1])): os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", program, str(path)], check=False)
    assert len(list(tmp_path.iterdir())) == 1
    with files.whole(path) as mine:
        wg.save(1, path)
        assert mine.exists(), "that of a program that runs stays"
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@FORMS
def test_an_object_nested_too_deeply_is_refused_in_words(tmp_path, suffix):
    deep = 1
    for _ in range(10_000):
        deep = [deep]
    with pytest.raises(ValueError, match="nested too deeply"):
        wg.save(deep, tmp_path / f"x{suffix}")
    assert not list(tmp_path.iterdir())


def test_a_header_nested_too_deeply_is_a_damaged_file():
    # It was a RecursionError.
    header = b"[" * 100_000
    with pytest.raises(RuntimeError, match="head is no JSON"):
        wg.load(io.BytesIO(len(header).to_bytes(8, "little") + header))


# ---- the package's own writers -------------------------------------------------------------------

OTHERWISE = {
    "distributed.near": "memory that ranks share, which ends with them",
    "history.cache": "checks what it reads, and may lose a file",
    "studies.lent": "memory that processes of this machine share, which ends with the study",
    "utils.tensorboard": "a stream, which TensorBoard reads while it grows",
}


def test_files_are_written_by_one_description():
    # Machine code with its header, profiles and rooflines were not: a full disk left half a file.
    package = Path(wg.__file__).parent
    found = []
    for path in sorted(package.rglob("*.py")):
        nodes = [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
        parts = {
            item.optional_vars.id
            for node in nodes
            if isinstance(node, ast.With)
            for item in node.items
            if isinstance(item.context_expr, ast.Call)
            and called(item.context_expr) == "whole"
            and isinstance(item.optional_vars, ast.Name)
        }
        found += [
            f"{path.relative_to(package)}:{call.lineno}"
            for call in nodes
            if isinstance(call, ast.Call) and writes(call) and target(call) not in parts
        ]
    rooms = {name.partition(".py")[0].replace("/", ".") for name in found}
    assert rooms == set(OTHERWISE), found


def called(call: ast.Call) -> str:
    """The last name of what is called."""
    return getattr(call.func, "attr", "") or getattr(call.func, "id", "")


def writes(call: ast.Call) -> bool:
    name = called(call)
    if name in ("open", "fdopen"):
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        modes = [x.value for x in given if isinstance(x, ast.Constant) and type(x.value) is str]
        return any(re.fullmatch("[wax][bt+]*|r[bt]*[+][bt]*", mode) for mode in modes)
    return name in ("write_text", "write_bytes")


def target(call: ast.Call) -> str:
    """The variable that holds the path."""
    if isinstance(call.func, ast.Attribute) and call.func.attr.startswith("write_"):
        return ast.unparse(call.func.value)
    return ast.unparse(call.args[-1]) if call.args else ""


def test_machine_code_and_its_header_are_written_together_or_not_at_all(tmp_path, monkeypatch):
    f = wg.compile(lambda x: x * 2)
    f(wg.ones(2))
    f.save(tmp_path / "f.o", header=True, name="f")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full(self, *args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device", str(self))

    f(wg.ones(3))
    for method in ("write_text", "write_bytes"):
        with monkeypatch.context() as patch:
            patch.setattr(Path, method, full)
            with pytest.raises(OSError, match="No space left"):
                f.save(tmp_path / "f.o", header=True, name="f")
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("name", ["f.onnx", "f.h", "f"])
def test_machine_code_is_not_written_under_another_name(name, tmp_path):
    # An object file called "f.onnx" was written, and one called "f.h" took the place of its header.
    f = wg.compile(lambda x: x * 2)
    f(wg.ones(2))
    with pytest.raises(ValueError, match=r"saved as \.o or \.obj"):
        f.save(tmp_path / name, header=True, name="f")
    assert not list(tmp_path.iterdir())
