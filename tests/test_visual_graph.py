"""Pictures of recorded history: what is drawn is what was recorded, and files are complete."""

import re
import xml.etree.ElementTree as ElementTree
from base64 import b64decode

import numpy as np
import pytest

import wengert as wg
from wengert import nn
from wengert.nn import functional as F
from wengert.visual import draw


def mlp():
    wg.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))


def transformer(layers=2):
    wg.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, layers)


def boxes(drawing):
    return {vertex.label.replace("\n", ": ") for vertex in drawing.graph.vertices}


def named(drawing, name):
    (found,) = [vertex for vertex in drawing.graph.vertices if vertex.name == name]
    return found


# ---- what can be drawn -------------------------------------------------------------------------


def test_a_result_is_drawn_with_the_names_that_are_given():
    w, b = wg.ones(3, requires_grad=True), wg.zeros((), requires_grad=True)
    picture = draw((w * 2).sum() + b, names={"w": w, "b": b})
    assert boxes(picture) == {"Add", "Sum", "Mul: 3", "w: 3", "b"}
    assert named(picture, "Add").is_result
    assert repr(picture) == "<Drawing of 5 boxes: Add, Sum, b, Mul, w>"


def test_a_module_is_drawn_with_its_parameters_and_inputs_by_name():
    assert boxes(draw(mlp(), wg.ones(5, 4))) == {
        "input: 5 × 4", "0.weight: 8 × 4", "0.bias: 8", "Addmm: 5 × 8", "Tanh: 5 × 8",
        "2.weight: 3 × 8", "2.bias: 3", "Addmm: 5 × 3",
    }  # fmt: skip


def test_a_function_is_drawn_with_its_parameters_and_what_it_finds_outside_by_name():
    net, scale = mlp(), wg.ones(3, requires_grad=True)
    target = wg.tensor([0, 2])
    picture = draw(lambda x: F.cross_entropy(net(x) * scale, target), np.ones((2, 4)).astype("f4"))
    leaves = {vertex.name for vertex in picture.graph.vertices if vertex.is_leaf}
    assert leaves == {"x", "scale", "net.0.weight", "net.0.bias", "net.2.weight", "net.2.bias"}


def test_a_module_made_inside_a_function_is_called_by_its_class():
    picture = draw(lambda x: nn.Linear(4, 2)(x), wg.ones(1, 4))
    assert {"Linear.weight", "x"} <= {vertex.name for vertex in picture.graph.vertices}


def test_containers_of_inputs_and_of_results_are_looked_into():
    picture = draw(lambda pair: {"sum": pair[0] + pair[1], "sine": np.sin(pair[0])}, [1.0, 2.0])
    assert boxes(picture) == {"Add", "Sin", "pair[0]", "pair[1]"}
    assert named(picture, "Add").is_result
    assert named(picture, "Sin").is_result


def test_integers_and_tensors_that_require_grad_are_passed_as_they_are():
    x = wg.ones(2, requires_grad=True)
    seen = []

    def f(x, k, label):
        seen.extend([x, k, label])
        return x * k

    label = wg.tensor([1])
    draw(f, x, 3, label)
    assert seen[0] is x
    assert seen[1:] == [3, label]


def test_drawing_changes_no_gradient_and_leaves_history_to_be_used():
    net = mlp()
    loss = net(wg.ones(1, 4)).sum()
    draw(loss, names=net.named_parameters())
    assert all(p.grad is None for p in net.parameters())
    loss.backward()


def test_inputs_may_be_given_by_name_and_functions_as_formulas():
    class Scale(nn.Module):
        def forward(self, x, *, scale):
            return x * scale

    assert boxes(draw(Scale(), wg.ones(2), scale=wg.ones(2))) == {"Mul: 2", "x: 2", "scale: 2"}
    assert boxes(draw("log(a) * b", 2.0, 5.0)) == {"Mul", "Log", "a", "b"}


def test_in_inference_mode_a_function_is_drawn_all_the_same():
    x = wg.ones(2)
    with wg.inference_mode():
        assert boxes(draw(lambda x: x * x, x)) == {"Mul: 2", "x: 2"}


def test_under_no_grad_a_function_is_drawn_all_the_same():
    with wg.no_grad():
        assert boxes(draw(lambda x: x * x, 2.0)) == {"Mul", "x"}


def test_a_history_that_was_freed_is_drawn_and_says_why_shapes_may_be_missing():
    w = wg.ones(3, requires_grad=True)
    loss = (w * w).sum()
    loss.backward()
    picture = draw(loss)
    assert boxes(picture) == {"Sum", "Mul: 3", "leaf: 3"}
    assert picture.graph.note.startswith("shapes unknown: Trying to backward")
    assert "shapes unknown" in picture.svg()
    assert "a backward pass has freed it" in named(picture, "Mul").describe()


def test_an_overwritten_value_does_not_prevent_the_picture_that_may_explain_it():
    w = wg.ones(3, requires_grad=True)
    y = w.exp()
    z = y.sum()
    with wg.no_grad():
        y += 1
    assert "modified by an inplace operation" in draw(z).graph.note


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ((wg.ones(2),), ValueError, "no history to draw"),
        ((lambda: wg.ones(2),), ValueError, "the result has no history.*2.0 rather than 2"),
        ((lambda x: x * 2, 2), ValueError, "the result has no history"),
        ((wg.ones(2), wg.ones(2)), TypeError, "a result alone"),
        ((3.0,), TypeError, "but float was given"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_what_to_give(arguments, error, says):
    with pytest.raises(error, match=says):
        draw(*arguments)


# ---- what is said of a box ---------------------------------------------------------------------


def test_a_box_tells_shape_dtype_saved_values_and_the_line():
    w = wg.ones(3, dtype=wg.float64, requires_grad=True)
    picture = draw((w * np.ones((2, 3))).tanh())  # this line
    assert named(picture, "leaf").describe() == "leaf\n3, float64"
    said = named(picture, "Mul").describe().splitlines()
    assert said[:3] == ["MulBackward0", "result: 2 × 3, float64", "saves b: 2 × 3, float64"]
    assert said[3] == "48 B kept to go back"
    assert "test_visual_graph.py" in said[4]
    assert said[5].endswith("# this line")
    assert "saves y: 2 × 3, float64" in named(picture, "Tanh").describe()


def test_a_folded_module_says_what_it_keeps_and_how_long_it_took():
    # Boxes said shapes alone: neither memory nor time.
    class Twice(nn.Module):
        def forward(self, x):
            y = x.exp()
            return y.exp() * y  # y is saved by three operations, and is one array

    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Twice()

        def forward(self, x):
            return self.inner(x)

    (box,) = [v for v in draw(Two(), wg.ones(25), boxes=3).graph.vertices if v.folded]
    y, exp_y = 25 * 4, 25 * 4
    assert box.cost.bytes == y + exp_y
    assert 0 < box.cost.seconds < 60
    assert re.search(r"200 B kept to go back, took [\d.]+ (m|µ|n|)s", box.describe())


def test_a_custom_function_tells_what_it_saved():
    class Double(wg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return 2 * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    said = named(draw(Double.apply, wg.ones(4)), "Double").describe()
    assert "saves tensor 0: 4, float32" in said


# ---- folding -----------------------------------------------------------------------------------


def test_a_large_module_is_folded_from_the_innermost_modules_out():
    net, x = transformer(), wg.ones(2, 5, 16)
    whole = draw(net, x, boxes=400)
    assert all(vertex.folded is None for vertex in whole.graph.vertices)
    middle = draw(net, x)
    assert 8 < len(middle.graph.vertices) <= 40
    assert {v.path for v in middle.graph.vertices if v.folded} >= {
        "layers.0.self_attn", "layers.0.linear1", "layers.1.norm2",
    }  # fmt: skip
    few = draw(net, x, boxes=8)
    assert [v.name for v in few.graph.vertices] == ["TransformerEncoderLayer"] * 2 + ["src"]
    first = named_path(few, "layers.0")
    assert first.shape == (2, 5, 16)
    assert first.detail == f"layers.0 · {len(first.folded.operations)} ops"
    assert "layers.0.self_attn.in_proj_weight: 48 × 16" in first.describe()


def named_path(drawing, path):
    (found,) = [vertex for vertex in drawing.graph.vertices if vertex.path == path]
    return found


def test_folding_loses_no_operation_and_no_parameter():
    net, x = transformer(), wg.ones(2, 5, 16)
    every = {vertex.node.name() for vertex in draw(net, x, boxes=400).graph.vertices}
    for most in (40, 8):
        seen, leaves = set(), 0
        for vertex in draw(net, x, boxes=most).graph.vertices:
            parts = vertex.folded.operations + vertex.folded.leaves if vertex.folded else [vertex]
            seen |= {part.node.name() for part in parts}
            leaves += sum(part.is_leaf for part in parts)
        assert seen == every
        assert leaves == len(list(net.parameters())) + 1


def test_a_module_called_twice_is_two_boxes_and_its_weights_stand_alone():
    layer = nn.Sequential(nn.Linear(4, 4), nn.Tanh())

    def twice(x):
        return layer(layer(x))

    vertices = draw(twice, wg.ones(1, 4), boxes=5).graph.vertices
    assert [v.label for v in vertices if v.folded] == ["Sequential\nlayer · 2 ops\n1 × 4"] * 2
    assert {v.name for v in vertices if v.is_leaf} == {"x", "layer.0.weight", "layer.0.bias"}


def test_hooks_for_folding_are_gone_afterwards_also_after_an_error():
    from wengert.nn import module

    net = mlp()
    draw(net, wg.ones(1, 4))
    with pytest.raises(RuntimeError):
        draw(net, wg.ones(1, 5))
    assert not module._everywhere_before
    assert not module._everywhere_after


def test_thousands_of_operations_in_modules_are_a_readable_drawing():
    class Long(nn.Module):
        def forward(self, x):
            for _ in range(1000):
                x = x * 1.01
            return x

    picture = draw(nn.Sequential(Long(), Long()), wg.ones(1))
    assert boxes(picture) == {"Long: 0 · 1000 ops: 1", "Long: 1 · 1000 ops: 1", "input: 1"}


def test_a_loop_of_thousands_of_operations_is_folded_by_rounds_of_the_loop():
    def loop(x):
        speed = x * 0
        for _ in range(250):
            force = -x.sin()
            speed = speed + 0.1 * force
            x = x + 0.1 * speed
        return x.sum()

    first = loop.__code__.co_firstlineno
    picture = draw(loop, wg.ones(3))
    vertices = [v for v in picture.graph.vertices if v.folded]
    assert sum(len(v.folded.operations) for v in vertices) == 1 + 250 * 6 + 1
    middle = vertices[5]
    assert middle.label == f"lines {first + 3}–{first + 5}\nloop · 42 ops\n3"
    assert "force = -x.sin()" in middle.describe().splitlines()[3]
    assert len(picture.graph.vertices) <= 41
    assert picture.graph.note == "1,503 operations and leaves, folded in order of time"
    assert len(draw(loop(wg.ones(3, requires_grad=True))).graph.vertices) <= 41


def test_many_small_modules_are_folded_together():
    net = nn.Sequential(*[nn.Sequential(nn.Linear(3, 3), nn.Tanh()) for _ in range(200)])
    picture = draw(net, wg.ones(1, 3))
    assert len(picture.graph.vertices) <= 41
    first = named_path(picture, "0 … 4")
    assert first.label == "Sequential\n0 … 4 · 10 ops\n1 × 3"
    assert "4.0.weight: 3 × 3" in first.describe()


def test_a_leaf_that_many_read_is_drawn_beside_each_and_inside_of_what_is_folded():
    cell = nn.Linear(2, 2)

    def chain(x, steps):
        h = x[0]
        for k in range(steps):
            h = cell(h + x[k])
        return h

    few = draw(chain, wg.ones(3, 2), 3).graph.vertices
    assert sorted(v.name for v in few if v.is_leaf) == ["cell.bias", "cell.weight", "x"]
    shown = draw(chain, wg.ones(5, 2), 5).graph.vertices
    leaves = [v for v in shown if v.is_leaf]
    assert [v.name for v in leaves].count("cell.weight") == 5
    assert all(v.is_repeated for v in leaves)
    assert all(sum(v in w.inputs for w in shown) == 1 for v in leaves)
    folded = draw(chain, wg.ones(5, 2), 5, boxes=25).graph.vertices
    assert {v.name for v in folded if v.is_leaf} == {"x"}
    assert sum("cell.weight: 2 × 2" in v.describe() for v in folded) == 5


def test_operands_stand_from_left_to_right():
    def f(x1, x2):
        return np.log(x1) + x1 * x2 - np.sin(x2)

    columns = {v.name: v.column for v in draw(f, 2.0, 5.0).graph.vertices}
    assert columns["x1"] < columns["x2"]
    assert columns["Log"] < columns["Mul"] < columns["Sin"]


# ---- places ------------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [400, 40, 8])
def test_boxes_do_not_overlap_and_lines_go_down_around_them(most):
    made = draw(transformer(), wg.ones(2, 5, 16), boxes=most).graph
    places = [(v.row, v.column) for v in made.vertices]
    for k, (row, column) in enumerate(places):
        for other, far in places[k + 1 :]:
            assert row != other or abs(column - far) > 0.99
    for source, vertex, bends in made.ways:
        rows = [source.row, *(row for _, row in bends), vertex.row]
        assert rows == list(range(source.row, vertex.row - 1, -1))
        for column, row in bends:
            assert all(r != row or abs(column - c) > 0.69 for r, c in places)


def test_a_chain_with_parameters_beside_it_is_a_straight_line():
    made = draw(mlp(), wg.ones(5, 4)).graph
    trunk = [v.column for v in made.vertices if not v.is_leaf]
    assert max(trunk) - min(trunk) < 0.1


# ---- files -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def picture():
    return draw(mlp(), wg.ones(5, 4))


def test_files_are_of_the_kind_that_their_name_says(picture, tmp_path):
    for name, start in [
        ("a.png", b"\x89PNG"), ("a.pdf", b"%PDF"), ("a.svg", b"<?xml"), ("a.html", b"<!DOCTYPE"),
    ]:  # fmt: skip
        assert picture.save(tmp_path / name) == tmp_path / name
        assert (tmp_path / name).read_bytes().startswith(start)
    assert len(list(tmp_path.iterdir())) == 4
    with pytest.raises(ValueError, match=r"\.svg or .*\.html.*'a\.gif' was given"):
        picture.save(tmp_path / "a.gif")
    with pytest.raises(FileNotFoundError, match=r"there is no such folder: .*nowhere"):
        picture.save(tmp_path / "nowhere" / "a.svg")


def test_a_failed_write_leaves_the_old_file(picture, tmp_path, monkeypatch):
    old = tmp_path / "graph.svg"
    old.write_text("old")
    monkeypatch.setattr(type(picture), "svg", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        picture.save(old)
    assert old.read_text() == "old"
    assert list(tmp_path.iterdir()) == [old]


def test_the_svg_has_a_title_on_each_box_and_is_the_same_each_time(picture):
    text = picture.svg()
    root = ElementTree.fromstring(text)
    space = "{http://www.w3.org/2000/svg}"
    titles = [
        group.find(f"{space}title").text
        for group in root.iter(f"{space}g")
        if group.get("id", "").startswith("vertex-")
    ]
    assert sorted(titles) == sorted(v.describe() for v in picture.graph.vertices)
    texts = {item.text for item in root.iter(f"{space}text")}
    assert {"Addmm", "0.weight", "8 × 4"} <= texts
    assert picture.svg() == text


def test_the_page_needs_nothing_from_elsewhere(picture):
    page = picture.html()
    assert "<script" not in page
    assert not re.findall(r'(?:src|href)="(?!#)', page)
    assert page.count("<title>") == 1 + len(picture.graph.vertices)


def test_notebooks_show_the_drawing_trusted_or_not(picture):
    # JupyterLab prefers HTML, and where a notebook is not trusted strips it: the texts of the SVG
    # that it held were all that was left. A PNG is shown as it is.
    bundle = picture._repr_mimebundle_()
    assert bundle["image/svg+xml"].startswith("<?xml")
    assert b64decode(bundle["image/png"]).startswith(b"\x89PNG")
    assert bundle.keys() == {"image/svg+xml", "image/png", "text/plain"}


def test_names_and_lines_with_markup_in_them_are_text(tmp_path):
    w = wg.ones(2, requires_grad=True)
    page = draw(w * 2, names={"<b>&": w}).html()  # <i>
    assert "<b>" not in page
    assert "&lt;b&gt;&amp;" in page
    assert "# &lt;i&gt;" in page
