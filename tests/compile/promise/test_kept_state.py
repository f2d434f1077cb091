"""What a function keeps for its next call is a result like any other."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.stories import caught, module, noted, numbers, same, same_or_refused
from wengert import nn
from wengert.errors import TracingError

# Each text makes `f(x)`, and `state()` tells what it keeps.
FUNCTIONS = {
    "a recurrent state": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.RNNCell(2, 2)
        self.h = wg.zeros(1, 2)
    def forward(self, x):
        self.h = self.cell(x.reshape(1, 2), self.h).detach()
        return self.h
f = Net()
state = lambda: f.h
""",
    "a count in a module": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 0
    def forward(self, x):
        self.n += 1
        return x * self.n
f = Net()
state = lambda: f.n
""",
    "a float in a module": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rate = 1.0
    def forward(self, x):
        self.rate = self.rate * 0.5
        return x * self.rate
f = Net()
state = lambda: f.rate
""",
    "a count that is not read": """
class Net(nn.Module):
    n = 0
    def forward(self, x):
        self.n += 1
        return x * 2
f = Net()
state = lambda: f.n
""",
    "a buffer assigned anew": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer('mean', wg.zeros(2))
    def forward(self, x):
        self.mean = self.mean * 0.9 + x * 0.1
        return x - self.mean
f = Net()
state = lambda: f.mean
""",
    "a buffer written in place": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer('mean', wg.zeros(2))
    def forward(self, x):
        self.mean.mul_(0.9).add_(x * 0.1)
        return x - self.mean
f = Net()
state = lambda: f.mean
""",
    "the last value, if there is one": """
class Net(nn.Module):
    last = None
    def forward(self, x):
        y = x if self.last is None else x - self.last
        self.last = x
        return y
f = Net()
state = lambda: f.last
""",
    "a global tensor": """
H = wg.zeros(2)
def f(x):
    global H
    H = H * 0.9 + x
    return H * 2
state = lambda: H
""",
    "a global number": """
N = 1
def f(x):
    global N
    N = N + 1
    return x * N
state = lambda: N
""",
    "a nonlocal tensor": """
def make():
    h = wg.zeros(2)
    def f(x):
        nonlocal h
        h = h * 0.9 + x
        return h * 2
    return f, lambda: h
f, state = make()
""",
    "a nonlocal number": """
def make():
    n = 1
    def f(x):
        nonlocal n
        n *= 2
        return x * n
    return f, lambda: n
f, state = make()
""",
    "an attribute of an object": """
class C: pass
obj = C()
obj.h = wg.zeros(2)
def f(x):
    obj.h = obj.h * 0.9 + x
    return obj.h * 2
state = lambda: obj.h
""",
    "an attribute of the object whose method it is": """
class C:
    def __init__(self):
        self.h = wg.zeros(2)
    def step(self, x):
        self.h = self.h * 0.9 + x
        return self.h * 2
obj = C()
f = obj.step
state = lambda: obj.h
""",
    "an attribute of a nested object": """
class C: pass
obj = C()
obj.inner = C()
obj.inner.h = wg.zeros(2)
def f(x):
    obj.inner.h = obj.inner.h * 0.9 + x
    return obj.inner.h * 2
state = lambda: obj.inner.h
""",
    "averages in a dictionary": """
def make():
    ema = {'a': wg.zeros(2), 'b': wg.ones(2)}
    def f(x):
        for k, v in (('a', x), ('b', x * x)):
            ema[k] = ema[k] * 0.9 + v * 0.1
        return ema['a'] + ema['b']
    return f, lambda: ema
f, state = make()
""",
    "a global dictionary": """
T = {'h': wg.zeros(2)}
def f(x):
    T['h'] = T['h'] * 0.9 + x
    return T['h'] * 2
state = lambda: T
""",
    "a dictionary of numbers": """
T = {'n': 1}
def f(x):
    T['n'] += 1
    return x * T['n']
state = lambda: T
""",
    "a list that is appended to": """
SEEN = []
def f(x):
    SEEN.append(x * 2)
    return x * 3
state = lambda: SEEN
""",
    "a list that is appended to and read": """
SEEN = []
def f(x):
    y = x * (1 + len(SEEN))
    SEEN.append(y)
    return sum(SEEN[-2:], 0 * x)
state = lambda: SEEN
""",
    "a list item": """
ITEMS = [wg.zeros(2), 1]
def f(x):
    ITEMS[0] = ITEMS[0] + x
    ITEMS[1] += 1
    return ITEMS[0] * ITEMS[1]
state = lambda: ITEMS
""",
    "a cache": """
CACHE = {}
def f(x):
    if 'mask' not in CACHE:
        CACHE['mask'] = wg.ones(2) * 3
    return x * CACHE['mask']
state = lambda: CACHE
""",
    "a deque": """
import collections
LAST = collections.deque([wg.zeros(2)], maxlen=2)
def f(x):
    LAST.append(x * 2)
    return LAST[0] + x
state = lambda: list(LAST)
""",
    "a class attribute": """
class C:
    n = 1
def f(x):
    C.n += 1
    return x * C.n
state = lambda: C.n
""",
    "an attribute of the function": """
def f(x):
    f0.n += 1
    return x * f0.n
f.n = 1
f0 = f
state = lambda: f0.n
""",
    "a default that is mutable": """
def f(x, seen=[]):
    seen.append(1)
    return x * len(seen)
f0 = f
state = lambda: f0.__defaults__[0]
""",
    "a generator that is advanced": """
import itertools
N = itertools.count(1)
def f(x):
    return x * next(N)
state = lambda: repr(N)
""",
    "a NumPy array written": """
A = np.zeros(2)
def f(x):
    A[0] += 1
    return x * float(A[0])
state = lambda: A
""",
    "a gradient set": """
W = wg.ones(2, requires_grad=True)
def f(x):
    W.grad = x * 2
    return x * 3
state = lambda: W.grad
""",
    "requires_grad switched": """
W = wg.ones(2)
def f(x):
    y = (W * x).sum()
    W.requires_grad_(not W.requires_grad)
    return y.detach()
state = lambda: W.requires_grad
""",
    "the mode of a module": """
class Net(nn.Module):
    def forward(self, x):
        y = x * (2 if self.training else 3)
        self.train(not self.training)
        return y
f = Net()
state = lambda: f.training
""",
    "data replaced": """
W = wg.ones(2, requires_grad=True)
def f(x):
    W.data = W.data * 0.5
    return (W * x).detach()
state = lambda: W.detach()
""",
    "a parameter registered anew": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(wg.ones(2))
    def forward(self, x):
        self.w = nn.Parameter(self.w.detach() * 0.5)
        return (self.w * x).detach()
f = Net()
state = lambda: f.w.detach()
""",
    "what a hook of the library sets": """
import warnings
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    net = nn.utils.weight_norm(nn.Linear(2, 2))
def f(x): return net(x).detach()
state = lambda: net.weight.detach()
""",
    "an attribute that is set and deleted": """
net = nn.Linear(2, 2)
net.k = 3
def f(x):
    net.k = getattr(net, "k", 1) + 1
    y = x * net.k
    del net.k
    return y
state = lambda: hasattr(net, "k")
""",
    "items of an OrderedDict": """
from collections import OrderedDict
seen = OrderedDict(a=1)
def f(x):
    seen["b"] = seen.pop("a", 0) + len(seen)
    seen.move_to_end("b")
    return x * len(seen)
state = lambda: list(seen.items())
""",
}


@pytest.mark.parametrize("name", (FUNCTIONS))
def test_what_a_function_keeps_is_there_at_its_next_call(name: str) -> None:
    def story(compile: Any) -> Any:
        m = module(FUNCTIONS[name])
        f = compile(m.f)
        seen = []
        for k in range(5):
            seen += [f(numbers(1, k)), m.state()]
            seen[-1] = copied(seen[-1])
        return seen

    same_or_refused(story)


def test_a_step_that_sets_the_mode_of_its_modules_is_compiled_twice_at_most() -> None:
    # The library set it while the step was traced, and no call did.
    def story(compile: Any) -> Any:
        wg.manual_seed(0)
        net = nn.Sequential(nn.Dropout(0.5), nn.BatchNorm1d(2))

        def step(x: Any) -> Any:
            net.eval()
            before = net(x).detach()
            net.train()
            return before, net(x).detach()

        step, seen = compile(step), []
        net.eval()
        for k in range(5):
            seen += [step(numbers(1, 2, 3, k).reshape(2, 2)), [m.training for m in net.modules()]]
        assert len(getattr(step, "retraces", ())) <= 1
        return seen

    same(story)


CHANGES = {
    "net.register_forward_hook(lambda m, args, out: out * 2)": "_forward_hooks of a Sequential",
    "net.append(nn.Tanh())": "_modules of a Sequential",
    "nn.module.register_module_forward_hook(print)": "what holds for all modules",
    "net[0].requires_grad_(False)": "requires_grad of a tensor",
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_the_library_changes_in_modules_is_refused_if_no_call_can_do_it(change: str) -> None:
    # It was done once, while the function was traced, or not at all.
    m = module(
        "net = nn.Sequential(nn.Linear(2, 2))\n"
        f"def f(x):\n    {change}\n    return net(x)\n"
        "state = lambda: [len(net), len(net._forward_hooks), net[0].weight.requires_grad]"
    )
    f, before = wg.compile(m.f), m.state()
    for _ in range(2):
        with pytest.raises(TracingError, match=CHANGES[change]):
            f(numbers(1, 2))
        assert m.state() == before


# What C or a library does to what is outside, in which the function has written before or has not.
DONE_BY_OTHERS = [
    "list(map(o.l.append, [7]))",
    "list(map(o.l.extend, [[7], [8]]))",
    "any(map(o.l.append, [7]))",
    "next(iter(o.l.pop, 9))",
    "list(map(operator.setitem, [o.l], [0], [7]))",
    "list(map(operator.delitem, [o.l], [0]))",
    "list(map(operator.iadd, [o.l], [[7]]))",
    "list(map(o.d.pop, ['a']))",
    "list(map(operator.setitem, [o.d], ['b'], [7]))",
    "list(map(setattr, [o], ['a'], [7]))",
    "list(map(delattr, [o], ['a']))",
    "list(map(object.__setattr__, [o], ['a'], [7]))",
    "with contextlib.ExitStack() as end: end.callback(o.l.append, 7)",
    "with contextlib.ExitStack() as end: end.callback(o.d.update, {'b': 7})",
    "with contextlib.ExitStack() as end: end.callback(setattr, o, 'a', 7)",
]
BEFORE = ["", "o.l.append(5)", "o.d['a'] = 5", "o.a = 5", "o.l += [5]"]


@pytest.mark.parametrize("before", BEFORE, ids=lambda text: text or "nothing")
@pytest.mark.parametrize("done", DONE_BY_OTHERS)
def test_what_others_change_outside_is_changed_at_each_call_or_refused(
    done: str, before: str
) -> None:
    # What C changed was lost if the function itself had written there too, and what a library
    # was given within a list was changed once, while the function was traced.
    def story(compile: Any) -> list[Any]:
        m = module(
            "import contextlib, operator, types\n"
            "o = types.SimpleNamespace(a=0, l=[1], d={'a': 1})\n"
            f"def f(x):\n    {before}\n    {done}\n    return x * 2"
        )
        f, seen = compile(m.f), []
        for k in range(4):
            m.o.a, m.o.l[:], m.o.d["a"] = k, [k, k + 1], k
            seen += [noted(f(numbers(1))), noted(vars(m.o))]
        return seen

    same_or_refused(story)


OF_CLASSES = ["C.n = k", "D.n = k", "C.n += k", "setattr(C, 'n', k)", "type(c).n = k", "C.new = k"]
OF_CLASSES += ["C.f = lambda self: k", "del C.n; C.n = k", "D.n = 3; del D.n"]


@pytest.mark.parametrize("read", ["c.n", "d.n", "c.n + C.n", "getattr(d, 'new', 4)", "d.f()"])
@pytest.mark.parametrize("write", OF_CLASSES)
def test_what_is_written_to_a_class_and_read_of_an_object_is_kept(write: str, read: str) -> None:
    # What an object had by its class then was taken for what the class had before the call.
    def story(compile: Any) -> list[Any]:
        m = module(
            "class C:\n    n = 1\n    f = lambda self: 5\nclass D(C): pass\nc, d = C(), D()\n"
            f"def f(x, k):\n    {write}\n    return x * ({read})"
        )
        f, seen = compile(m.f), []
        for k in (3, 3, 4, 4):
            seen += [noted(f(numbers(1), k)), m.C.n, m.D.n, m.d.f(), "n" in vars(m.D)]
            m.C.n = 1
        return seen

    same(story)


class Appending(list[Any]):
    def __iadd__(self, item: Any) -> Any:
        self.append(item)
        return self


def test_an_operator_of_the_users_that_changes_a_list_in_place_is_done_once() -> None:
    # The call did what it does, and then the operator of the list itself.
    def story(compile: Any) -> list[Any]:
        items = Appending()

        def f(x: Any) -> Any:
            nonlocal items
            items += 3
            return x * len(items)

        f = compile(f)
        return [noted([f(numbers(1)), list(items)]) for _ in range(4)]

    same(story)


def test_what_a_function_does_before_an_error_is_done() -> None:
    # A trace that failed was undone as one that succeeds, and nothing did it anew.
    def story(compile: Any) -> Any:
        m = module(
            "N, L = 1, []\n"
            "def f(x, y):\n    global N\n    N += 1\n    L.append(N)\n    return x @ y"
        )
        f, seen = compile(m.f), []
        for y in (wg.ones(3), wg.ones(2), wg.ones(3), wg.ones(2)):
            seen += [caught(f, wg.ones(2), y), m.N, list(m.L)]
        return seen

    same(story)


def copied(x: Any) -> Any:
    if isinstance(x, wg.Tensor):
        return x.detach().clone()
    if isinstance(x, dict):
        return {k: copied(v) for k, v in x.items()}
    return [copied(v) for v in x] if isinstance(x, list) else x


def test_what_is_kept_may_be_replaced_from_outside() -> None:
    def story(compile: Any) -> Any:
        net: Any = nn.Module()
        net.register_buffer("h", wg.zeros(2))

        def f(x: Any) -> Any:
            net.h = net.h + x
            return net.h * 2

        f = compile(f)
        seen = [f(numbers(1, 2)) for _ in range(3)]
        net.h = numbers(5, 6)
        return [*seen, *(f(numbers(1, 2)) for _ in range(3))]

    same(story)


@pytest.mark.parametrize("value", ["x", "2.0", "np.array(2.0)"])
def test_what_setattr_sets_is_there_for_what_follows(value: str) -> None:
    # A call as a statement was left to the end of each call, and what was read before was returned.
    def story(compile: Any) -> list[Any]:
        m = module(
            "import types\no = types.SimpleNamespace(n=0, last=None)\ndef f(x):\n"
            f"    setattr(o, 'last', {value})\n    setattr(o, 'n', o.n + 1)\n    return x, o.n"
        )
        f = compile(m.f)
        return [[noted(f(numbers(1))), noted(m.o.last)] for _ in range(4)]

    same(story)
