"""Pictures of compiled functions: what is drawn of their programs."""

import numpy as np

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
