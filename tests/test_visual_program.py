"""Pictures of compiled functions: what is drawn of their programs."""

import numpy as np
import pytest

import wengert as wg
from wengert import nn, optim


def test_a_small_program_is_drawn_statement_by_statement_and_a_loop_is_one(tmp_path):
    f = wg.compile(wg.grad(lambda x: wg.fori_loop(0, 9, lambda i, y: y.sin() * x, x).sum()))
    f(wg.ones(3))
    drawn = f.graph().graph.vertices
    assert [v.name for v in drawn if v.is_leaf] == ["x0"]
    loops = [v for v in drawn if v.name == "repeat × 9"]
    assert len(loops) == 2
    assert all("repeat × 9: " in v.describe() and "sin" in v.describe() for v in loops[1:])
    assert any(v.is_result for v in drawn)
    assert "test_visual_program.py" in loops[0].describe()
    text = f.graph().save(tmp_path / "program.svg").read_text(encoding="utf-8")
    assert "repeat × 9" in text


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.linear = nn.LayerNorm(4), nn.Linear(4, 4)

    def forward(self, x):
        h = self.norm(x)
        h = self.linear(h).tanh()
        return x + h


def test_a_large_program_is_folded_by_the_functions_and_lines_that_wrote_it():
    net = nn.Sequential(*[Block() for _ in range(4)])
    optimizer = optim.SGD(net.parameters(), lr=0.1)

    @wg.compile
    def step(x):
        optimizer.zero_grad()
        loss = net(x).square().sum()
        loss.backward()
        optimizer.step()
        return loss

    step(wg.ones(2, 4))
    assert len(step.program.statements) > 100
    graph = step.graph().graph
    names = [v.name for v in graph.vertices]
    assert len(names) <= 40
    assert any("forward" in name or "self.norm(x)" in name for name in names)
    assert "statements, folded by lines" in graph.note
    seen = set()  # data flows downwards: what is folded has no cycles
    for vertex in sorted(graph.vertices, key=lambda v: -v.row):
        early = [v.name for v in vertex.inputs if v not in seen]
        assert not early, (vertex.name, early)
        seen.add(vertex)
    assert len(step.graph(boxes=200).graph.vertices) > len(names)
    assert np.isfinite([v.column for v in graph.vertices]).all()


def test_boxes_say_their_shares_of_the_time_and_which_results_are_in_memory():
    # What a fused loop passes on within itself is in registers: it takes no memory.
    f = wg.compile(lambda a, b: wg.exp(wg.sin(a) * 2) @ b)
    f(wg.ones(40, 40), wg.ones(40, 40))
    graph = f.graph().graph
    costs = {v.name: v.cost for v in graph.vertices if not v.is_leaf}
    assert sum(cost.share for cost in costs.values()) == pytest.approx(1)
    assert {name: cost.bytes for name, cost in costs.items()} == {
        "sin": 0, "multiply": 0, "exp": 6400, "matmul": 6400,
    }  # fmt: skip
    assert costs["sin"].told == "in one loop with multiply, exp"
    (matmul,) = [v for v in graph.vertices if v.name == "matmul"]
    assert "6.4 kB" in matmul.label
    assert "shares of the time" in graph.note


def test_the_note_of_a_narrow_drawing_is_not_cut_off():
    # It was one line, which the edge of the picture cut.
    f = wg.compile(lambda x: wg.sin(x) * 2)
    f(wg.ones(3))
    figure = f.graph().figure()
    (ax,) = figure.axes
    (note,) = [text for text in ax.texts if "shares" in text.get_text()]
    extent = note.get_window_extent(figure.canvas.get_renderer())
    assert extent.x1 <= figure.bbox.x1
    assert extent.y1 <= figure.bbox.y1


def test_the_cost_of_a_folded_box_is_that_of_all_in_it():
    def step(x):
        for _ in range(60):
            x = wg.sin(x) @ x
        return x

    f = wg.compile(step)
    f(wg.ones(4, 4))
    vertices = f.graph(boxes=8).graph.vertices
    assert any(v.folded for v in vertices)
    shares = [v.cost.share for v in vertices if v.cost is not None]
    assert sum(shares) == pytest.approx(1)


def test_what_may_never_end_on_ones_is_drawn_without_times():
    f = wg.compile(lambda x: wg.while_loop(lambda y: y.sum() < 9, lambda y: y * 2, x))
    f(wg.ones(3))
    graph = f.graph().graph
    assert all(v.cost is None or v.cost.share is None for v in graph.vertices)
    assert "shares" not in graph.note
