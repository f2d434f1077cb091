"""Files made to do harm, and damaged ones: an error each time, and never anything run."""

import collections
import io
import os
import pickle
import random
import zipfile
from pathlib import Path

import pytest

import wengert as wg
from wengert.serialization import torch_files


def archive(pickled, records=(), byteorder=b"little", method=zipfile.ZIP_STORED):
    """A file of PyTorch's form around a pickle."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as z:
        z.writestr("x/data.pkl", pickled)
        z.writestr("x/byteorder", byteorder)
        for key, data in dict(records).items():
            z.writestr(f"x/data/{key}", data)
    return file.getvalue()


def load(data, **options):
    return wg.load(io.BytesIO(data), **options)


class Name:
    """Pickled as a name to import; called with arguments if there are some."""

    def __init__(self, module, name, args=None):
        self.module, self.name, self.args = module, name, args


class Pickler(pickle._Pickler):
    """Writes `Name`s as any program could, and storages as PyTorch does."""

    def persistent_id(self, value):
        return value.args if isinstance(value, Name) and value.module == "storage" else None

    def save(self, value, save_persistent_id=True):
        if isinstance(value, Name) and value.module != "storage":
            self.write(f"c{value.module}\n{value.name}\n".encode())
            if value.args is not None:
                super().save(value.args)
                self.write(pickle.REDUCE)
            return
        super().save(value, save_persistent_id)


def pickled(value):
    file = io.BytesIO()
    Pickler(file, 2).dump(value)
    return file.getvalue()


def tensor(key="0", offset=0, size=(2, 2), stride=(2, 1), storage="FloatStorage", where="cpu"):
    reference = ("storage", Name("torch", storage), key, where, 4)
    args = (Name("storage", "", reference), offset, size, stride, False, collections.OrderedDict())
    return Name("torch._utils", "_rebuild_tensor_v2", args)


class Harmful:
    def __init__(self, *call):
        self.call = call

    def __reduce__(self):
        return self.call[0], self.call[1:]


@pytest.mark.parametrize(
    "value",
    [
        Harmful(os.system, "touch {path}"),
        Harmful(eval, "__import__('os').system('touch {path}')"),
        Harmful(exec, "open({path!r}, 'w')"),
        Harmful(open, "{path}", "w"),
        Harmful(getattr, os, "system"),
    ],
    ids=["system", "eval", "exec", "open", "getattr"],
)
@pytest.mark.parametrize("protocol", range(6))
def test_nothing_in_a_file_is_run(tmp_path, value, protocol):
    path = str(tmp_path / "harm")
    value.call = tuple(x.format(path=path) if isinstance(x, str) else x for x in value.call)
    try:
        data = pickle.dumps({"weights": value}, protocol)
    except TypeError:  # modules cannot be pickled: name one instead
        data = pickled({"weights": Name("builtins", "getattr", (1, "real"))})
    with pytest.raises(pickle.UnpicklingError, match="holds more than data"):
        load(archive(data))
    assert not Path(path).exists()


@pytest.mark.parametrize(
    "data",
    [
        b"(S'touch /tmp/harm'\nios\nsystem\n.",  # INST
        b"(cos\nsystem\nS'touch /tmp/harm'\no.",  # OBJ
        b"\x80\x02\x82\x01.",  # EXT1
        b"Pname\n.",  # PERSID
        b"\x80\x02ccollections\nOrderedDict\n}X\x06\x00\x00\x00updateNsb.",  # BUILD on a name
        b"\x80\x02ccollections\nOrderedDict\n)R}X\x06\x00\x00\x00updateK\x01sb.",  # BUILD, key
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n}X\x08\x00\x00\x00__code__Nsb.",
        b"\x80\x02K\x01)R.",  # a number called
        b"\x80\x02ctorch\nFloatStorage\n)R.",  # a value called
    ],
)
def test_instructions_that_are_no_data_are_refused(data):
    with pytest.raises(pickle.UnpicklingError, match="Nothing of it was run"):
        load(archive(data))


def test_the_functions_of_this_package_cannot_be_changed_by_a_file():
    before = {name: vars(f).copy() for name, f in torch_files.CALLS.items()}
    for name in torch_files.CALLS:
        for state in ({"__defaults__": ()}, {"anything": 1}):
            with pytest.raises(pickle.UnpicklingError):
                load(archive(pickled(Name(*name))[:-1] + pickled(state)[2:-1] + b"b."))
    assert before == {name: vars(f) for name, f in torch_files.CALLS.items()}


def test_a_tensor_cannot_reach_outside_of_its_storage():
    records = {"0": bytes(16)}
    assert load(archive(pickled(tensor()), records)).shape == (2, 2)
    for wrong in (
        tensor(offset=1),
        tensor(offset=-1),
        tensor(size=(3, 2)),
        tensor(stride=(2, -1)),
        tensor(stride=(2,)),
        tensor(size=(2**40, 2**40)),
        tensor(key="1"),
        tensor(key="../data.pkl"),
        tensor(storage="DoubleStorage"),
    ):
        with pytest.raises(RuntimeError, match="is damaged"):
            load(archive(pickled(wrong), records))


def test_big_endian_files_are_read():
    data = archive(
        pickled(tensor(size=(2,), stride=(1,))), {"0": b"\x3f\x80\0\0\x40\0\0\0"}, b"big"
    )
    assert load(data).tolist() == [1.0, 2.0]


def test_tensors_of_a_gpu_need_a_map_location():
    data = archive(pickled({"w": tensor(where="cuda:0")}), {"0": bytes(16)})
    with pytest.raises(RuntimeError, match=r"on a cuda:0 device.*map_location='cpu'"):
        load(data)
    places = ["cpu", wg.device("cpu"), {"cuda:0": "cpu"}, lambda storage, place: storage]
    for place in places:
        assert load(data, map_location=place)["w"].shape == (2, 2)
    with pytest.raises(TypeError, match="map_location should be"):
        load(data, map_location=3)


def test_archives_of_other_programs_are_told_apart():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as z:
        z.writestr("letter.txt", "hello")
    with pytest.raises(RuntimeError, match=r"not of torch\.save"):
        load(file.getvalue())
    with pytest.raises(RuntimeError, match="compressed, which"):
        load(archive(pickled([1] * 1000), method=zipfile.ZIP_DEFLATED))


def test_damaged_files_raise_and_nothing_else():
    # Whatever byte is changed, the outcome is an object or an error of the two documented kinds.
    data = archive(pickled({"w": tensor(), "n": [1, "text", (2.5, None)]}), {"0": bytes(16)})
    rng = random.Random(0)
    outcomes = collections.Counter()
    for _ in range(2000):
        damaged = bytearray(data)
        for _ in range(rng.choice([1, 1, 3])):
            damaged[rng.randrange(4, len(data))] = rng.randrange(256)
        try:
            load(bytes(damaged[: rng.choice([len(data), rng.randrange(8, len(data))])]))
            outcomes["read"] += 1
        except (RuntimeError, pickle.UnpicklingError) as error:
            outcomes[type(error).__name__] += 1
    assert outcomes["RuntimeError"] > 100


def test_damaged_pickles_raise_and_nothing_else():
    content = pickled({"w": tensor(), "n": [1, "text", (2.5, None), {"a": {1, 2}}]})
    rng = random.Random(1)
    outcomes = collections.Counter()
    for _ in range(3000):
        damaged = bytearray(content)
        for _ in range(rng.choice([1, 2, 5])):
            damaged[rng.randrange(len(content))] = rng.randrange(256)
        try:
            load(archive(bytes(damaged), {"0": bytes(16)}))
            outcomes["read"] += 1
        except (RuntimeError, pickle.UnpicklingError) as error:
            outcomes[type(error).__name__] += 1
    assert min(outcomes.values()) > 50
