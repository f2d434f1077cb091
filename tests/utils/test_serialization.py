"""Saving and loading."""

import io
from collections import OrderedDict, defaultdict, deque
from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from wengert import nn, optim


def test_nested_objects_come_back_equal(tmp_path):
    saved = {
        "state": OrderedDict(w=wg.randn(2, 3), n=wg.arange(4)),
        "list": [1, 2.5, "three", None, True, (4, [5]), {6: 7}],
        3: {"inf": float("inf"), "nan": float("-inf"), "c": 1 + 2j},
        "size": wg.zeros(2, 3).shape,
        "dtype": wg.float32,
        "array": np.arange(3, dtype=np.int16),
        "complex": wg.tensor([1 + 2j]),
        "empty": wg.zeros(0, 2),
        "scalar": wg.tensor(3.5),
        "flags": wg.tensor([True, False]),
    }
    wg.save(saved, tmp_path / "x.wg")
    loaded = wg.load(tmp_path / "x.wg")
    assert list(loaded) == list(saved)
    assert loaded["list"] == saved["list"]
    assert loaded[3] == saved[3]
    assert type(loaded["state"]) is OrderedDict
    assert wg.equal(loaded["state"]["w"], saved["state"]["w"])
    assert loaded["size"] == saved["size"]
    assert loaded["dtype"] is saved["dtype"]
    assert loaded["array"].dtype == np.int16
    for name in ("complex", "empty", "scalar", "flags"):
        assert loaded[name].dtype == saved[name].dtype
        assert loaded[name].tolist() == saved[name].tolist()
        assert loaded[name].shape == saved[name].shape


def test_training_continues_from_a_checkpoint_as_if_nothing_had_happened(tmp_path):
    def build():
        wg.manual_seed(0)
        net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
        return net, optim.Adam(net.parameters(), lr=0.1)

    def train(net, optimizer, steps):
        for i in range(steps):
            optimizer.zero_grad()
            net(wg.tensor([[1.0, i], [2.0, 3.0], [0.0, 1.0]])).square().sum().backward()
            optimizer.step()

    net, optimizer = build()
    train(net, optimizer, 3)
    wg.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, tmp_path / "c.wg")
    train(net, optimizer, 3)
    again, other = build()
    state = wg.load(tmp_path / "c.wg")
    again.load_state_dict(state["net"])
    other.load_state_dict(state["optimizer"])
    train(again, other, 3)
    for a, b in zip(net.state_dict().values(), again.state_dict().values(), strict=True):
        assert wg.equal(a, b)


def test_parameters_and_leaves_keep_their_kind():
    file = io.BytesIO()
    wg.save([nn.Parameter(wg.ones(1)), wg.ones(2, requires_grad=True), wg.ones(1)], file)
    file.seek(0)
    a, b, c = wg.load(file)
    assert isinstance(a, nn.Parameter)
    assert a.requires_grad
    assert b.requires_grad
    assert not c.requires_grad


def test_a_tensor_saved_twice_is_stored_once_and_stays_shared():
    x = wg.ones(1000)
    file = io.BytesIO()
    wg.save({"a": x, "b": x}, file)
    assert len(file.getvalue()) < 6000
    file.seek(0)
    loaded = wg.load(file)
    loaded["a"] += 1
    assert loaded["b"][0].item() == 2.0


def test_views_and_transposed_tensors_are_saved_as_they_look():
    file = io.BytesIO()
    x = wg.arange(6.0).reshape(2, 3)
    wg.save([x.t(), x[:, 1], x.expand(2, 2, 3)], file)
    file.seek(0)
    t, column, wide = wg.load(file)
    assert t.tolist() == x.t().tolist()
    assert column.tolist() == [1.0, 4.0]
    assert wide.tolist() == x.expand(2, 2, 3).tolist()


def test_other_libraries_can_read_the_tensors(tmp_path):
    from safetensors.numpy import load_file, save_file

    wg.save({"w": wg.ones(2)}, tmp_path / "x.safetensors")
    assert load_file(tmp_path / "x.safetensors")["w"].tolist() == [1.0, 1.0]
    save_file({"v": np.zeros(3)}, tmp_path / "y.safetensors")
    assert wg.load(tmp_path / "y.safetensors")["v"].tolist() == [0.0] * 3


def test_what_cannot_be_saved_is_named_with_its_place(tmp_path):
    path = tmp_path / "x.wg"
    with pytest.raises(TypeError, match=r"the object\['a'\]\[1\] is a function"):
        wg.save({"a": [1, lambda: 0]}, path)
    hooked = nn.Linear(1, 1)
    hooked.register_forward_hook(print)
    with pytest.raises(TypeError, match=r"is a Linear.*has hooks.*save its state_dict\(\)"):
        wg.save(hooked, path)
    assert not list(tmp_path.iterdir())


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "x.wg"
    wg.save(1, path)

    def fail(*args):
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        wg.save(2, path)
    monkeypatch.undo()
    assert wg.load(path) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["x.wg"]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: data[:4], "too few"),
        (lambda data: data[:100], "cut off"),
        (lambda data: data[:-3], "tensors cannot be read"),
        (lambda data: data[:8] + b"x" + data[9:], "head is no JSON"),
        (lambda data: b"PK\x03\x04" + data, "not a zip file"),
        (lambda data: data.replace(b'{\\"t\\": \\"w', b'{\\"t\\": \\"v'), "does not fit"),
        (lambda data: data.replace(b'\\"format\\": 1', b'\\"format\\": 9'), "format 9"),
    ],
)
def test_damaged_files_are_told_apart(damage, message):
    file = io.BytesIO()
    wg.save({"w": wg.ones(20)}, file)
    with pytest.raises(RuntimeError, match=message):
        wg.load(io.BytesIO(damage(file.getvalue())))


@pytest.mark.parametrize("suffix", [".wg", ".pt"])
def test_values_of_the_standard_library_that_checkpoints_hold_come_back(tmp_path, suffix):
    # Devices, logs in a defaultdict, bytes in the own form and the rest were refused.
    log = defaultdict(list, loss=[1.0, 2.0])
    saved = [
        wg.device("cpu"), wg.device("cpu", 0), log, defaultdict(None), deque([1, "a"], 3),
        deque([wg.Size([2])]), frozenset({1, "x"}), range(1, 9, 2), slice(None, 3), b"\x00\xff",
        bytearray(b"ab"), {"nested": (deque(), b"")},
    ]  # fmt: skip
    wg.save(saved, tmp_path / f"x{suffix}")
    loaded = wg.load(tmp_path / f"x{suffix}")
    assert loaded == saved
    assert [type(value) for value in loaded] == [type(value) for value in saved]
    assert loaded[2].default_factory is list
    assert loaded[4].maxlen == 3


def test_a_defaultdict_of_a_function_is_refused(tmp_path):
    with pytest.raises(TypeError, match="is a function"):
        wg.save(defaultdict(lambda: 0), tmp_path / "x.wg")


def test_batch_normalization_loads_states_from_before_batches_were_counted():
    # Published weights of that time have no num_batches_tracked: a missing key.
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    old = {k: v for k, v in net.state_dict().items() if not k.endswith("num_batches_tracked")}
    assert net.load_state_dict(old).missing_keys == []
    new = net.state_dict()
    del new["1.num_batches_tracked"]
    with pytest.raises(RuntimeError, match="num_batches_tracked"):
        net.load_state_dict(new)
