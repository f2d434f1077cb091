"""Who is told, while a sweep goes on, that a leaf's gradient is complete."""

from __future__ import annotations

import gc

import pytest

import wengert as wg
from wengert.autograd import watching
from wengert.autograd.watching import Watcher


class Log(Watcher):
    def __init__(self, **leaves):
        self.names = {id(t): name for name, t in leaves.items()}
        for t in leaves.values():
            t.register_post_accumulate_grad_hook(lambda t: self.seen.append(self.names[id(t)]))
        self.leaves = {t._node: t for t in leaves.values()}
        self.seen = []
        self.takes, self.ends = False, 0
        self.watch()

    def complete(self, leaf, g):
        assert self.leaves[leaf].grad is None
        self.seen.append((self.names[id(self.leaves[leaf])], g.tolist()))
        return self.takes

    def swept(self):
        self.ends += 1


class Unhooked(Watcher):
    def __init__(self, x):
        self.leaves = {x._node: x}
        self.seen = []
        self.watch()

    def complete(self, leaf, g):
        self.seen.append(g.tolist())
        return True


@pytest.fixture
def leaves():
    yield [wg.tensor([float(k)], requires_grad=True) for k in (2, 3)]
    watching.WATCHERS.clear()


def test_a_leaf_is_told_of_when_all_its_uses_have_been_gone_through(leaves):
    x, w = leaves
    log = Log(x=x, w=w)
    ((x * x) * w + w * w).sum().backward()
    assert log.seen[:2] == [("w", [4.0 + 6.0]), ("x", [12.0])]
    assert sorted(log.seen[2:]) == ["w", "x"]


def test_what_a_watcher_takes_is_not_added_to_the_gradient(leaves):
    x, w = leaves
    log = Log(x=x)
    log.takes = True
    (x * w).sum().backward()
    assert log.seen == [("x", [3.0])]  # and no hook after it
    assert x.grad is None
    assert w.grad.tolist() == [2.0]
    assert log.ends == 1


def test_leaves_of_a_compiled_function_are_told_of_too():
    # Its result's backward() put the gradients in their places without a sweep, and told nobody.
    x = wg.tensor([2.0], requires_grad=True)
    f = wg.compile(lambda x: (x * x).sum())
    for _ in range(4):  # traced, linked, pulled, linked
        x.grad = None
        f(x).backward()
    watcher = Unhooked(x)
    x.grad = None
    f(x).backward()
    assert watcher.seen == [[4.0]]
    assert x.grad is None


def test_the_latest_layers_leaves_are_told_of_first(leaves):
    x, w = leaves
    log = Log(x=x, w=w)
    ((x * 2).exp() * w).sum().backward()
    assert [name for name, _ in log.seen[:2]] == ["w", "x"]


@pytest.mark.filterwarnings("ignore:Using backward")
@pytest.mark.parametrize("kind", ["hook", "inputs", "recorded", "away"])
def test_sweeps_that_others_may_change_are_not_told_of(leaves, kind):
    x, w = leaves
    log = Log(x=x, w=w)
    if kind == "hook":
        w.register_hook(lambda g: g * 2)
    if kind == "away":
        log.look_away()
    settings = {"inputs": {"inputs": [x, w]}, "recorded": {"create_graph": True}}.get(kind, {})
    (x * w).sum().backward(**settings)
    told = [s for s in log.seen if isinstance(s, tuple)]
    assert told == ([("x", [3.0])] if kind == "hook" else [])
    assert sorted(s for s in log.seen if isinstance(s, str)) == ["w", "x"]


def test_who_is_gone_watches_no_more(leaves):
    x, w = leaves
    log = Log(x=x)
    x._node.post_hooks.clear()
    del log
    gc.collect()
    assert not watching.WATCHERS
    (x * w).sum().backward()
