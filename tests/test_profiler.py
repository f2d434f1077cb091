"""The profiler: what it names, that it adds up, and that it leaves no trace."""

import json
import threading
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

import wengert as wg
from wengert import nn
from wengert.profiler import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    record_function,
    schedule,
    tensorboard_trace_handler,
)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.Tanh())
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        x = self.body(x)
        x = x * 2  # the line of the user's module
        return self.head(x)


def line_of(text):
    source = Path(__file__).read_text().split("\n")
    (number,) = [i for i, line in enumerate(source, 1) if text in line and "line_of" not in line]
    return f"{Path(__file__).name}:{number}"


def run(**options):
    net = Net()
    optimizer = wg.optim.Adam(net.parameters())
    with profile(**options) as prof:
        for _ in range(3):
            optimizer.zero_grad()
            loss = net(wg.ones(5, 4)).square().sum()
            loss.backward()  # the sweep
            optimizer.step()
    return prof


def row(prof, name, **options):
    (found,) = [r for r in prof.key_averages(**options) if r.key == name]
    return found


def test_modules_operations_and_nodes_are_named_with_their_lines():
    prof = run(activities=[ProfilerActivity.CPU])
    assert row(prof, "Net.body.0 (Linear)").module == "Net.body.0"
    mul = row(prof, "mul")
    assert (mul.count, mul.module, mul.line) == (3, "Net", line_of("# the line of the user's"))
    back = row(prof, "MulBackward0")
    assert (back.kind, back.module, back.line) == ("backward", "Net", mul.line)
    assert row(prof, "TanhBackward0").module == "Net.body.1"
    assert row(prof, "backward").line == line_of("# the sweep")
    assert row(prof, "Adam.step").count == 3
    assert row(prof, "AddmmBackward0", group_by="name").count == 6
    assert {r.module for r in prof.key_averages() if r.key == "AddmmBackward0"} == {
        "Net.body.0",
        "Net.head",
    }


def test_times_within_are_not_counted_twice():
    prof = run()
    whole = row(prof, "Net (Net)")
    parts = [r for r in prof.key_averages() if r.kind != "backward" and r.module.startswith("Net")]
    assert whole.cpu_time_total == pytest.approx(sum(r.self_cpu_time_total for r in parts))
    assert whole.self_cpu_time_total < whole.cpu_time_total
    for event in prof.events():
        assert 0 <= event.own <= event.total


def test_the_slow_part_is_first_in_the_table():
    with profile() as prof:
        with record_function("slow part"):
            time.sleep(0.02)
        for _ in range(4):
            wg.ones(3)
    text = prof.key_averages().table(row_limit=1)
    assert "slow part" in text
    assert "ones" not in text
    assert "ones" in prof.key_averages().table(sort_by="count").split("\n")[3]
    assert row(prof, "slow part").cpu_time_total >= 20_000
    with pytest.raises(ValueError, match="sort_by must be one of"):
        prof.key_averages().table(sort_by="colour")


def test_functions_can_be_named():
    @record_function("my part")
    def part(x):
        return x + 1

    assert part(1) == 2  # without a profile too
    with profile() as prof:
        part(wg.ones(1))
    assert row(prof, "my part").kind == "user"


def test_shapes_are_noted_when_asked_for():
    prof = run(record_shapes=True)
    assert row(prof, "mul", group_by_input_shape=True).shapes == "[5, 8]"


def test_nothing_is_left_behind():
    def names():
        owners = (wg, nn.functional, wg.Tensor, nn.Module, wg.optim.Optimizer, wg.autograd)
        return [dict(vars(owner)) for owner in owners]

    run()
    before = names()
    run()
    with pytest.raises(ZeroDivisionError), profile():
        1 / 0
    assert names() == before
    wg.ones(1, requires_grad=True).backward()


def test_results_are_the_same():
    def step():
        wg.manual_seed(0)
        net = Net()
        loss = net(wg.ones(5, 4)).square().sum()
        loss.backward()
        return [loss.item(), *(p.grad.tolist() for p in net.parameters())]

    plain = step()
    with profile():
        assert step() == plain


def test_an_operation_that_fails_ends_its_events():
    with profile() as prof:
        for _ in range(2):
            with pytest.raises(RuntimeError):
                Net()(wg.ones(5, 3))
        wg.ones(2) + 1
    assert row(prof, "Net (Net)").count == 2
    assert row(prof, "add").module == ""


def test_other_threads_are_not_timed():
    with profile() as prof:
        thread = threading.Thread(target=lambda: wg.ones(3).exp())
        thread.start()
        thread.join()
        wg.ones(3).sin()
    assert {r.key for r in prof.key_averages()} == {"ones", "sin"}


def test_profiles_do_not_nest():
    with profile(), pytest.raises(RuntimeError, match="cannot be nested"), profile():
        pass
    with profile() as prof:
        wg.ones(1)
    assert len(prof.events()) == 1


def test_compiled_functions_are_named():
    @wg.compile
    def double(x):
        return x * 2

    double(wg.ones(2))
    with profile() as prof:
        double(wg.ones(2))
    assert row(prof, "compiled double").count == 1


def test_a_schedule_chooses_the_steps(tmp_path):
    plan = schedule(skip_first=1, wait=1, warmup=1, active=2, repeat=2)
    none, warmup, record, save = ProfilerAction
    assert [plan(i) for i in range(10)] == [
        none, none, warmup, record, save, none, warmup, record, save, none,
    ]  # fmt: skip
    seen = []
    with profile(schedule=plan, on_trace_ready=lambda p: seen.append(len(p.events()))) as prof:
        for _ in range(10):
            wg.ones(1)
            prof.step()
    assert seen == [2, 2]
    handler = tensorboard_trace_handler(str(tmp_path))
    with profile(on_trace_ready=handler):
        wg.ones(1)
    assert len(list(tmp_path.glob("*.pt.trace.json"))) == 1


def test_traces_for_chrome(tmp_path):
    prof = run()
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert len(events) == len(prof.events())
    (first, *_) = [e for e in events if e["name"] == "mul"]
    assert first["ph"] == "X"
    assert first["args"]["module"] == "Net"


def test_what_is_not_measured_is_refused():
    with pytest.raises(NotImplementedError, match="tracemalloc"):
        profile(profile_memory=True)
    with pytest.raises(ValueError, match="group_by must be"):
        run().key_averages(group_by="colour")


def test_a_flame_graph_puts_each_call_below_what_called_it():
    # A table says how long each operation took, but not for whom.
    prof = run()
    root = prof.flame_graph().root
    (net,) = [frame for frame in root.inside.values() if frame.name == "Net (Net)"]
    assert net.count == 3
    assert {frame.name for frame in net.inside.values()} == {
        "Net.body (Sequential)",
        "Net.head (Linear)",
        "mul",
    }
    (back,) = [frame for frame in root.inside.values() if frame.name == "backward"]
    assert "TanhBackward0" in {frame.name for frame in back.inside.values()}
    own = sum(path[-1].own for path in root.walk())
    assert own == root.total == sum(e.own for e in prof.events())  # nothing twice, nothing lost


def test_a_flame_graph_is_written_as_a_picture_and_as_stacks(tmp_path):
    with profile() as prof, record_function("a <part>; slow"):
        with record_function("inner"):
            time.sleep(0.002)
        time.sleep(0.002)
    picture = prof.flame_graph().save(tmp_path / "flames.svg").read_text(encoding="utf-8")
    bars = ElementTree.fromstring(picture).findall("{http://www.w3.org/2000/svg}g")
    assert [bar[0].text.split("\n")[0] for bar in bars] == ["all", "a <part>; slow", "inner"]
    assert "Flame graph" in prof.flame_graph().save(tmp_path / "flames.html").read_text("utf-8")
    with pytest.raises(ValueError, match=r"saved as \.svg or \.html"):
        prof.flame_graph().save(tmp_path / "flames.png")
    assert prof.flame_graph()._repr_mimebundle_().keys() >= {"image/svg+xml", "image/png"}
    prof.export_stacks(str(tmp_path / "stacks.txt"))
    first, second = (tmp_path / "stacks.txt").read_text(encoding="utf-8").splitlines()
    assert first.startswith("a <part>, slow ")
    assert second.startswith("a <part>, slow;inner ")
    with pytest.raises(ValueError, match="only the CPU is timed"):
        prof.export_stacks(str(tmp_path / "stacks.txt"), "self_cuda_time_total")


def test_a_profile_of_nothing_has_a_flame_graph_of_nothing():
    with profile() as prof:
        pass
    assert repr(prof.flame_graph()) == "<FlameGraph of 0 bars: 0 ns>"
    assert prof.flame_graph().svg().count("<rect") == 1
