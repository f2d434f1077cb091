"""Event files, read back by a reader written from the format's description alone."""

import struct
import zlib

import numpy as np
import pytest

import wengert as wg
from wengert.utils.tensorboard import SummaryWriter


def checksum(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 * (crc & 1))
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17 & 0xFFFFFFFF)) + 0xA282EAD8) & 0xFFFFFFFF


def fields(data):
    """A protocol buffer's fields: number -> values."""
    found, i = {}, 0

    def varint():
        nonlocal i
        value = shift = 0
        while True:
            byte = data[i]
            i += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 128:
                return value

    while i < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            value = varint()
        else:
            size = {1: 8, 5: 4}.get(kind) or varint()
            value = data[i : i + size]
            i += size
            if kind != 2:
                (value,) = struct.unpack("<d" if kind == 1 else "<f", value)
        found.setdefault(key >> 3, []).append(value)
    return found


def events(folder):
    (path,) = folder.glob("events.out.tfevents.*")
    data, found = path.read_bytes(), []
    while data:
        (length,) = struct.unpack("<Q", data[:8])
        assert struct.unpack("<I", data[8:12]) == (checksum(data[:8]),)
        content, data = data[12 : 12 + length], data[12 + length :]
        assert struct.unpack("<I", data[:4]) == (checksum(content),)
        data = data[4:]
        found.append(fields(content))
    return found


def values(folder):
    """(tag, step, the value's fields) of each summary."""
    out = []
    for event in events(folder):
        for summary in event.get(5, []):
            (value,) = fields(summary)[1]
            value = fields(value)
            out.append((value[1][0].decode(), event[2][0], value))
    return out


def test_a_file_begins_with_its_version_and_holds_scalars(tmp_path):
    with SummaryWriter(tmp_path, purge_step=4) as writer:
        writer.add_scalar("loss", 0.5)
        writer.add_scalar("loss", wg.tensor(0.25, requires_grad=True), 1, walltime=12.5)
        writer.add_scalar("loss", np.float64(0.1), 2, double_precision=True)
    first, session, *_ = events(tmp_path)
    assert first[3] == [b"brain.Event:2"]
    assert session[2] == [4]
    assert fields(session[7][0]) == {1: [1]}
    found = values(tmp_path)
    assert [(tag, step) for tag, step, _ in found] == [("loss", 0), ("loss", 1), ("loss", 2)]
    assert [v[2][0] for _, _, v in found[:2]] == [0.5, 0.25]
    assert events(tmp_path)[3][1] == [12.5]
    tensor = fields(found[2][2][8][0])
    assert (tensor[1], struct.unpack("<d", tensor[6][0])) == ([2], (0.1,))


def test_histograms_count_every_number(tmp_path):
    rng = np.random.default_rng(0)
    numbers = np.concatenate([rng.standard_normal(500), [0.0, -7.0]])
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram("w", wg.tensor(numbers), 3)
        writer.add_histogram("w", numbers, 3, bins="auto", max_bins=5)
        with pytest.raises(ValueError, match="not finite"):
            writer.add_histogram("w", [np.nan])
    for (_, step, value), most in zip(values(tmp_path), (1000, 7), strict=True):
        content = fields(value[5][0])
        least, largest, n, total, squares = (content[i][0] for i in range(1, 6))
        assert (step, least, largest, n) == (3, numbers.min(), numbers.max(), 502)
        assert total == pytest.approx(numbers.sum())
        assert squares == pytest.approx((numbers**2).sum())
        limits, counts = (np.frombuffer(content[i][0], "<f8") for i in (6, 7))
        assert len(limits) == len(counts) <= most
        assert (np.diff(limits) > 0).all()
        if most == 1000:
            assert counts.sum() == 502
            inside = [(numbers < b).sum() for b in limits[1:]]
            assert np.array_equal(np.cumsum(counts)[1:-1], inside[:-1])


def pixels(data):
    """The pixels of a PNG file that this package wrote."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    i, body = 8, b""
    while i < len(data):
        (length,) = struct.unpack(">I", data[i : i + 4])
        name, content = data[i + 4 : i + 8], data[i + 8 : i + 8 + length]
        (crc,) = struct.unpack(">I", data[i + 8 + length : i + 12 + length])
        assert crc == zlib.crc32(name + content)
        if name == b"IHDR":
            width, height, _, kind = struct.unpack(">IIBB", content[:10])
        if name == b"IDAT":
            body += content
        i += 12 + length
    rows = np.frombuffer(zlib.decompress(body), np.uint8).reshape(height, -1)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, {0: 1, 2: 3, 6: 4}[kind])


def test_pictures(tmp_path):
    rng = np.random.default_rng(0)
    picture = rng.random((3, 4, 5))
    with SummaryWriter(tmp_path) as writer:
        writer.add_image("chw", wg.tensor(picture), 1)
        writer.add_image("hw", (picture[0] * 255).astype(np.uint8), dataformats="HW")
        writer.add_images("batch", np.stack([picture, picture]))
        with pytest.raises(ValueError, match="does not fit dataformats"):
            writer.add_image("x", picture[0])
        with pytest.raises(ValueError, match="expected 1, 3 or 4 channels, got 5"):
            writer.add_image("x", picture.T)
    found = {tag: fields(value[4][0]) for tag, _, value in values(tmp_path)}
    expected = (picture * 255).astype(np.uint8).transpose(1, 2, 0)
    assert np.array_equal(pixels(found["chw"][4][0]), expected)
    assert np.array_equal(pixels(found["hw"][4][0]), expected[..., :1])
    assert np.array_equal(pixels(found["batch"][4][0]), np.hstack([expected, expected]))
    assert [found["chw"][i][0] for i in (1, 2, 3)] == [4, 5, 3]


def test_figures(tmp_path):
    matplotlib = pytest.importorskip("matplotlib.figure")
    figure = matplotlib.Figure(figsize=(2, 1), dpi=50)
    with SummaryWriter(tmp_path) as writer:
        writer.add_figure("plot", figure)
    ((_, _, value),) = values(tmp_path)
    assert pixels(fields(value[4][0])[4][0]).shape == (50, 100, 3)


def test_texts(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_text("note", "**bold** ü", 2)
    ((tag, step, value),) = values(tmp_path)
    assert (tag, step) == ("note/text_summary", 2)
    assert fields(value[8][0])[8] == ["**bold** ü".encode()]
    assert fields(fields(value[9][0])[1][0]) == {1: [b"text"]}


def test_several_scalars_get_folders_of_their_own(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalars("loss/all", {"train": 1.0, "test": 2.0}, 5)
    ((tag, step, value),) = values(tmp_path / "loss_all_test")
    assert (tag, step, value[2]) == ("loss/all", 5, [2.0])


def test_entries_reach_the_disk_without_closing(tmp_path):
    writer = SummaryWriter(tmp_path, max_queue=2)
    for i in range(2):
        writer.add_scalar("x", i, i)
    assert len(values(tmp_path)) == 2
    writer.add_scalar("x", 3)
    writer.flush()
    assert len(values(tmp_path)) == 3
    writer.close()
    with pytest.raises(ValueError, match="is closed"):
        writer.add_scalar("x", 4)


def test_graphs_are_drawn_elsewhere(tmp_path):
    with SummaryWriter(tmp_path) as writer, pytest.raises(NotImplementedError, match="visual"):
        writer.add_graph(wg.nn.Linear(1, 1), wg.ones(1, 1))


SETTINGS = {"rate": 0.1, "layers": wg.tensor(3), "name": "adam", "bias": True, "seed": None}


def with_settings(folder):
    with SummaryWriter(folder) as writer:
        writer.add_hparams(SETTINGS, {"loss": 0.5}, {"name": ["adam", "sgd"]}, "run", 7)


def test_settings_and_metrics_of_a_run_are_written_for_the_table_of_runs(tmp_path):
    with_settings(tmp_path)
    found = {tag: (step, value) for tag, step, value in values(tmp_path / "run")}
    assert found["loss"][0] == 7
    assert found["loss"][1][2] == [0.5]
    parts = {}
    for name, number in [("experiment", 2), ("session_start_info", 3), ("session_end_info", 4)]:
        plugin = fields(fields(found[f"_hparams_/{name}"][1][9][0])[1][0])
        assert plugin[1] == [b"hparams"]
        parts[name] = fields(fields(plugin[2][0])[number][0])
    infos = [fields(info) for info in parts["experiment"][4]]
    assert [(i[1][0], i[4][0]) for i in infos] == [
        (b"rate", 3), (b"layers", 3), (b"name", 1), (b"bias", 2)
    ]  # fmt: skip
    assert [fields(v) for v in fields(infos[2][5][0])[1]] == [{3: [b"adam"]}, {3: [b"sgd"]}]
    pairs = [fields(pair) for pair in parts["session_start_info"][1]]
    assert {p[1][0]: fields(p[2][0]) for p in pairs} == {
        b"rate": {2: [0.1]}, b"layers": {2: [3.0]}, b"name": {3: [b"adam"]}, b"bias": {4: [1]},
    }  # fmt: skip
    assert parts["session_end_info"] == {1: [1]}


def test_tensorboard_reads_settings(tmp_path):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    with_settings(tmp_path)
    (path,) = (tmp_path / "run").glob("events.*")
    read = {v.tag: v for e in EventFileLoader(str(path)).Load() for v in e.summary.value}
    content = read["_hparams_/session_start_info"].metadata.plugin_data.content
    hparams = HParamsPluginData.FromString(content).session_start_info.hparams
    assert hparams["rate"].number_value == 0.1
    assert hparams["bias"].bool_value is True


def test_settings_that_a_table_cannot_hold_are_refused(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        with pytest.raises(TypeError, match=r"'net' is a Linear.*write str"):
            writer.add_hparams({"net": wg.nn.Linear(1, 1)}, {})
        with pytest.raises(TypeError, match="'rate' are of several types"):
            writer.add_hparams({"rate": 0.1}, {}, {"rate": ["fast"]})
        with pytest.raises(TypeError, match=r"names \['gone'\], which are not"):
            writer.add_hparams({"rate": 0.1}, {}, {"gone": [1]})
        with pytest.raises(TypeError, match="takes dictionaries, not a list"):
            writer.add_hparams([], {})
