"""`wengert demo`, in short: it learns, checks itself, and writes whole files or none."""

import builtins
import re
import sys

import numpy as np
import pytest

import wengert as wg
from wengert import cli
from wengert.cli import demo
from wengert.nn import functional as F
from wengert.visual import graph as drawing


@pytest.fixture(scope="module")
def trained():
    wg.manual_seed(0)
    digits, net, lines = demo.split(), demo.network(), []
    history = demo.train(net, digits, epochs=30, say=lines.append)
    return digits, net, history, lines


def test_a_fifth_of_each_digit_is_held_out_and_never_trained_on():
    digits = demo.split()
    assert len(digits.train_labels) + len(digits.test_labels) == 1797
    shares = np.bincount(digits.test_labels.numpy()) / np.bincount(
        np.concatenate([digits.test_labels.numpy(), digits.train_labels.numpy()])
    )
    np.testing.assert_allclose(shares, 0.2, atol=0.004)
    assert (demo.split().test_images.numpy() == digits.test_images.numpy()).all()


def test_the_network_reads_97_percent_of_digits_it_has_not_seen(trained):
    _, _, history, lines = trained
    assert history.test[-1] >= 0.97
    assert history.losses[-1] < history.losses[0] / 10
    assert 8 <= len(lines) <= 12
    assert lines[-1].startswith("epoch 30/30  loss 0.0")


def test_a_derivative_of_the_trained_network_is_its_difference_quotient(trained):
    digits, net, _, _ = trained
    before = {name: value.numpy().copy() for name, value in net.state_dict().items()}
    name, by_backward, by_differences = demo.check_gradient(
        net, digits.test_images, digits.test_labels
    )
    assert name.startswith("0.weight[")
    assert by_backward == pytest.approx(by_differences, rel=1e-7)
    for key, value in net.state_dict().items():
        assert (value.numpy() == before[key]).all()
        assert value.dtype == wg.float32


def test_a_wrong_derivative_is_reported():
    lines = []
    assert not demo.say_check("w[0]", 1.0, 1.1, lines.append)
    assert lines[-1].endswith("THEY DISAGREE")
    assert demo.say_check("w[0]", 1.0, 1.0 + 1e-9, lines.append)


def test_the_drawing_knows_the_parameters_and_all_shapes(trained):
    digits, net, _, _ = trained
    for p in net.parameters():
        p.grad = None
    loss = F.cross_entropy(net(digits.train_images[:7]), digits.train_labels[:7])
    made = drawing.graph(loss, net.named_parameters())
    leaves = {vertex.name: vertex.shape for vertex in made.vertices if vertex.is_leaf}
    assert leaves == {
        "0.weight": (128, 64),
        "0.bias": (128,),
        "2.weight": (10, 128),
        "2.bias": (10,),
    }
    assert all(vertex.shape is not None for vertex in made.vertices)
    assert all(source.row > vertex.row for source, vertex in made.edges)
    assert len({(vertex.row, vertex.column) for vertex in made.vertices}) == len(made.vertices)
    assert all(p.grad is None for p in net.parameters())
    loss.backward()  # the drawing has not used the graph up


def test_a_drawing_needs_history():
    with pytest.raises(ValueError, match="no history to draw"):
        drawing.graph(wg.ones(()))


def test_demo_writes_a_picture_and_a_checkpoint_that_can_be_loaded(tmp_path, capsys):
    out = tmp_path / "new" / "folder"
    assert cli.main(["demo", "--out", str(out), "--epochs", "2"]) == 0
    said = capsys.readouterr().out
    assert str(out / "digits.png") in said
    assert str(out / "digits.safetensors") in said
    assert "relative error" in said
    assert sorted(path.name for path in out.iterdir()) == ["digits.png", "digits.safetensors"]
    assert (out / "digits.png").read_bytes().startswith(b"\x89PNG")
    net = demo.network()
    net.load_state_dict(wg.load(out / "digits.safetensors"))
    digits = demo.split()
    assert demo.accuracy(net, digits.test_images, digits.test_labels) > 0.8


def test_without_matplotlib_everything_but_the_picture_is_done(tmp_path, capsys, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    importing = builtins.__import__

    def missing(name, *args, **kwargs):
        if name.split(".")[0] == "matplotlib":
            raise ModuleNotFoundError("No module named 'matplotlib'", name="matplotlib")
        return importing(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    assert cli.main(["demo", "--out", str(tmp_path), "--epochs", "1"]) == 0
    assert "pip install matplotlib" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["digits.safetensors"]


def test_an_interrupted_write_leaves_the_old_file_and_no_rest(tmp_path):
    path = tmp_path / "digits.png"
    path.write_text("old")

    def write():
        with demo.whole(path) as part:
            part.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    with demo.whole(path) as part:
        part.write_text("new")
    (tmp_path / "folder").mkdir()
    refused = pytest.raises(OSError, match=r"is a folder: name a file in it: .*folder")
    with refused, demo.whole(tmp_path / "folder") as part:
        part.write_text("new")
    assert len(list(tmp_path.iterdir())) == 2
    assert path.read_text() == "new"


def test_an_interruption_during_training_is_one_line_and_no_file(tmp_path, capsys, monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "accuracy", interrupted)
    assert cli.main(["demo", "--out", str(tmp_path), "--epochs", "3"]) == 130
    assert capsys.readouterr().err == "\nwengert: interrupted\n"
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_refused_before_training(tmp_path, capsys):
    taken = tmp_path / "file"
    taken.write_text("")
    for out in (taken, taken / "below"):
        assert cli.main(["demo", "--out", str(out)]) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert "is not a folder: choose another name with --out" in err


def test_a_compiled_demo_says_how_it_compares_with_an_eager_one(tmp_path, capsys):
    assert cli.main(["demo", "--compile", "--out", str(tmp_path), "--epochs", "2"]) == 0
    said = capsys.readouterr().out
    assert "times as fast (medians of 46)" in said
    assert "s for batches of 64" in said
    assert float(re.search(r"differ from the eager ones by at most (\S+)", said)[1]) < 1e-3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["digits.png", "digits.safetensors"]
