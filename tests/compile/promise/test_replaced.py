"""What is replaced, added or removed around a function between its calls."""

# ruff: noqa: E501  (programs as text read best with a statement on a line)
from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.stories import caught, module, numbers, same, thrice
from wengert.nn.module import _everywhere_after as everywhere_after

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        wg.manual_seed(0)
        self.one, self.two = nn.Linear(2, 2), nn.Linear(2, 2)
    def forward(self, x):
        return self.two(self.one(x).tanh())
net = Net()
"""
OBJECTS = "class C:\n    pass\n"
LAYERS = "wg.manual_seed(0)\nlayers = [nn.Linear(2, 2) for _ in range(3)]\n"
WALK = "def f(x):\n    for layer in layers: x = layer(x)\n    return x.detach()\n"

# What makes `f(x)`, and what happens between the calls: with the names of the module.
CHANGES: dict[str, tuple[str, str]] = {
    "a function": ("ACT = wg.relu\ndef f(x): return ACT(x - 1.5)", "ACT = wg.tanh"),
    "a function of the user": (
        "def act(x): return x * 2\ndef f(x): return act(x)",
        "def act(x): return x * 3",
    ),
    "the code of a function": (
        "def act(x): return x * 2\ndef f(x): return act(x)",
        "act.__code__ = (lambda x: x * 3).__code__",
    ),
    "a function in a closure": (
        (
            "def make():\n    act = wg.relu\n    def f(x): return act(x - 1.5)\n"
            "    def change():\n        nonlocal act\n        act = wg.tanh\n    return f, change\n"
            "f, change = make()"
        ),
        "change()",
    ),
    "a function in a dictionary": (
        "T = {'act': wg.relu}\ndef f(x): return T['act'](x - 1.5)",
        "T['act'] = wg.tanh",
    ),
    "a function of wengert": ("def f(x): return F.relu(x - 1.5)", "F = wg"),
    "a method": (
        "class C:\n    def act(self, x): return x * 2\nc = C()\ndef f(x): return c.act(x)",
        "C.act = lambda self, x: x * 3",
    ),
    "a method of one object": (
        "class C:\n    def act(self, x): return x * 2\nc = C()\ndef f(x): return c.act(x)",
        "c.act = lambda x: x * 3",
    ),
    "forward": (NET + "f = net", "net.forward = lambda x: net.one(x)"),
    "forward of a part": (NET + "f = net", "net.one.forward = lambda x: x * 2"),
    "forward of the class": (NET + "f = net", "Net.forward = lambda self, x: self.one(x)"),
    "defaults": ("def f(x, k=2.0): return x * k\ng = f", "g.__defaults__ = (3.0,)"),
    "keyword defaults": (
        "def f(x, *, k=2.0): return x * k\ng = f",
        "g.__kwdefaults__ = {'k': 3.0}",
    ),
    "defaults of another function": (
        "def g(x, k=2.0): return x * k\ndef f(x): return g(x)",
        "g.__defaults__ = (3.0,)",
    ),
    "defaults of a named tuple": (
        (
            "import typing\nclass P(typing.NamedTuple):\n    x: object\n    k: float = 2.0\n"
            "def f(x):\n    p = P(x)\n    return p.x * p.k"
        ),
        "P.__new__.__defaults__ = (3.0,)",
    ),
    "defaults of a dataclass": (
        (
            "import dataclasses\n@dataclasses.dataclass\nclass P:\n    x: object\n    k: float = 2.0\n"
            "def f(x):\n    p = P(x)\n    return p.x * p.k"
        ),
        "P.__init__.__defaults__ = (3.0,)",
    ),
    "a partial's keywords": (
        "import functools\ndef g(x, k): return x * k\nf = p = functools.partial(g, k=2.0)",
        "p.keywords['k'] = 3.0",
    ),
    "the keywords of a partial that is called": (
        (
            "import functools\ndef g(x, k): return x * k\np = functools.partial(g, k=2.0)\n"
            "def f(x): return p(x)"
        ),
        "p.keywords['k'] = 3.0",
    ),
    "a class": (
        (
            "class A:\n    def act(self, x): return x * 2\n"
            "class B:\n    def act(self, x): return x * 3\nc = A()\ndef f(x): return c.act(x)"
        ),
        "c.__class__ = B",
    ),
    "the class of a module": (
        NET + "class Other(Net):\n    def forward(self, x): return self.one(x)\nf = net",
        "net.__class__ = Other",
    ),
    "a class attribute": (
        "class C:\n    k = 2.0\nc = C()\ndef f(x): return x * c.k",
        "C.k = 3.0",
    ),
    "a class attribute of a module": (
        "class Net(nn.Module):\n    k = 2.0\n    def forward(self, x): return x * self.k\nf = Net()",
        "Net.k = 3.0",
    ),
    "a class attribute by its class": (
        "class C:\n    k = 2.0\ndef f(x): return x * C.k",
        "C.k = 3.0",
    ),
    "an attribute that hides that of the class": (
        "class C:\n    k = 2.0\nc = C()\ndef f(x): return x * c.k",
        "c.k = 3.0",
    ),
    "a property": (
        (
            "class C:\n    @property\n    def k(self): return self._k\nc = C()\nc._k = 2.0\n"
            "def f(x): return x * c.k"
        ),
        "c._k = 3.0",
    ),
    "an attribute of an imported module": (
        (
            "import types\nconfig = types.ModuleType('config')\nconfig.scale = 2.0\n"
            "def f(x): return x * config.scale"
        ),
        "config.scale = 3.0",
    ),
    "a slot": (
        "class C:\n    __slots__ = ('k',)\nc = C()\nc.k = 2.0\ndef f(x): return x * c.k",
        "c.k = 3.0",
    ),
    "a SimpleNamespace": (
        "import types\nc = types.SimpleNamespace(k=2.0)\ndef f(x): return x * c.k",
        "c.k = 3.0",
    ),
    "a dataclass": (
        (
            "import dataclasses\n@dataclasses.dataclass\nclass C:\n    k: float = 2.0\nc = C()\n"
            "def f(x): return x * c.k"
        ),
        "c.k = 3.0",
    ),
    "a nested object": (
        OBJECTS + "c = C()\nc.d = C()\nc.d.k = 2.0\ndef f(x): return x * c.d.k",
        "c.d.k = 3.0",
    ),
    "a nested object replaced": (
        OBJECTS + "c = C()\nc.d = C()\nc.d.k = 2.0\ndef f(x): return x * c.d.k",
        "c.d = C()\nc.d.k = 3.0",
    ),
    "self.cfg.scale": (
        OBJECTS + "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.cfg = C()\n        self.cfg.scale = 2.0\n"
        "    def forward(self, x): return x * self.cfg.scale\nf = Net()",
        "f0.cfg.scale = 3.0",
    ),
    "getattr by a name that is computed": (
        OBJECTS + "c = C()\nc.key = 2.0\ndef f(x): return x * getattr(c, 'k' + 'ey')",
        "c.key = 3.0",
    ),
    "vars": (
        OBJECTS + "c = C()\nc.key = 2.0\ndef f(x): return x * vars(c)['key']",
        "c.key = 3.0",
    ),
    "hasattr": (
        OBJECTS + "c = C()\ndef f(x): return x * (3 if hasattr(c, 'key') else 2)",
        "c.key = 1",
    ),
    "an attribute deleted": (
        OBJECTS + "c = C()\nc.key = 1\ndef f(x): return x * (3 if hasattr(c, 'key') else 2)",
        "del c.key",
    ),
    "an attribute deleted that is read": (
        OBJECTS + "c = C()\nc.key = 2.0\ndef f(x): return x * c.key",
        "del c.key",
    ),
    "a global deleted": ("K = 2.0\ndef f(x): return x * K", "del K"),
    "a global that hides a builtin": (
        "def f(x): return x * len([1, 2])",
        "len = lambda x: 7",
    ),
    "a list": ("L = [2.0, 3.0]\ndef f(x): return x * L[0]", "L = [5.0, 3.0]"),
    "an item of a list": ("L = [2.0, 3.0]\ndef f(x): return x * L[0]", "L[0] = 5.0"),
    "an item of a list, by iteration": (
        "L = [2.0, 3.0]\ndef f(x):\n    for k in L: x = x * k\n    return x",
        "L[1] = 5.0",
    ),
    "a list that grows": (
        "L = [2.0, 3.0]\ndef f(x):\n    for k in L: x = x * k\n    return x",
        "L.append(5.0)",
    ),
    # Asked with indices from outside, the meaning asked itself for ever.
    "the indices of np.split": (
        "I = np.array([1])\ndef f(x): return wg.from_numpy(np.split(x.numpy(), I)[0]).sum()",
        "I[0] = 2",
    ),
    "the indices of np.delete": (
        "I = np.array([1])\ndef f(x): return wg.from_numpy(np.delete(x.numpy(), I)).sum()",
        "I[0] = 0",
    ),
    "the indices of np.hsplit": (
        "I = np.array([1])\ndef f(x): return wg.from_numpy(np.hsplit(x.numpy(), I)[0]).sum()",
        "I[0] = 2",
    ),
    # A set's table has places of what was discarded, which were counted for its items.
    "the length of a set": ("S = {1, 2}\ndef f(x): return x * len(S)", "S.discard(1)"),
    # Its items alone were compared.
    "the order of a dictionary's keys": (
        "net = nn.Sequential(nn.ReLU(), nn.Softplus())\ndef f(x): return net(x - 1.5)",
        "net._modules['0'] = net._modules.pop('0')",
    ),
    # It has an order beside that of the dictionary which it is.
    "the order of an OrderedDict's keys": (
        "import collections\nT = collections.OrderedDict(a=2.0, b=3.0)\ndef f(x):\n    for k in T: x = (x + 1) * T[k]\n    return x",
        "T.move_to_end('a')",
    ),
    # Until there is one, calls of modules do not ask for hooks.
    "the first hook of the process": (
        "import wengert.nn.module as modules\nmodules.seen.hooks = False\nnet = nn.ReLU()\ndef f(x): return net(x)",
        "handle = net.register_forward_hook(lambda m, args, y: y * 3)",
    ),
    "a hook of all modules": (
        "import wengert.nn.module as modules\nnet = nn.ReLU()\ndef f(x): return net(x)",
        "handle = modules.register_module_forward_hook(lambda m, args, y: y * 3)",
    ),
    "the length of a list": ("L = [2.0, 3.0]\ndef f(x): return x * len(L)", "L.append(5.0)"),
    "the sum of a list": ("L = [2.0, 3.0]\ndef f(x): return x * sum(L)", "L.append(5.0)"),
    "a list asked for truth": ("L = []\ndef f(x): return x * 2 if L else x * 3", "L.append(1)"),
    "a list asked for a member": (
        "L = [1]\ndef f(x): return x * 2 if 5 in L else x * 3",
        "L.append(5)",
    ),
    "a list of lists": ("L = [[2.0], [3.0]]\ndef f(x): return x * L[1][0]", "L[1][0] = 5.0"),
    "a tuple": ("L = (2.0, 3.0)\ndef f(x): return x * L[0]", "L = (5.0, 3.0)"),
    "a set": ("S = {1}\ndef f(x): return x * 2 if 5 in S else x * 3", "S.add(5)"),
    "a dictionary": ("T = {'k': 2.0}\ndef f(x): return x * T['k']", "T = {'k': 5.0}"),
    "an item of a dictionary": ("T = {'k': 2.0}\ndef f(x): return x * T['k']", "T['k'] = 5.0"),
    "an item by get": ("T = {'k': 2.0}\ndef f(x): return x * T.get('k', 1.0)", "T['k'] = 5.0"),
    "an item that get did not find": (
        "T = {}\ndef f(x): return x * T.get('k', 1.0)",
        "T['k'] = 5.0",
    ),
    "an item by a computed key": (
        "T = {'k1': 2.0}\ndef f(x): return x * T['k' + str(1)]",
        "T['k1'] = 5.0",
    ),
    "the items of a dictionary": (
        "T = {'a': 2.0, 'b': 3.0}\ndef f(x):\n    for k, v in T.items(): x = x * v\n    return x",
        "T['b'] = 5.0",
    ),
    "the keys of a dictionary": (
        "T = {'a': 2.0}\ndef f(x):\n    for k in T: x = x * 2\n    return x",
        "T['b'] = 5.0",
    ),
    "a dictionary as keywords": (
        "T = {'alpha': 2.0}\ndef f(x): return wg.add(x, x, **T)",
        "T['alpha'] = 5.0",
    ),
    "a dictionary in a module": (
        (
            "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.t = {'k': 2.0}\n    def forward(self, x): return x * self.t['k']\nf = Net()"
        ),
        "f0.t['k'] = 5.0",
    ),
    "a tensor in a list": (
        "L = [wg.ones(2)]\ndef f(x): return x * L[0]",
        "L[0] = wg.ones(2) * 5",
    ),
    "a tensor in a dictionary": (
        "T = {'k': wg.ones(2)}\ndef f(x): return x * T['k']",
        "T['k'] = wg.ones(2) * 5",
    ),
    "a tensor in an object": (
        OBJECTS + "c = C()\nc.t = wg.ones(2)\ndef f(x): return x * c.t",
        "c.t = wg.ones(2) * 5",
    ),
    "a global tensor": ("T = wg.ones(2)\ndef f(x): return x * T", "T = wg.ones(2) * 5"),
    "a global tensor of another shape": (
        "T = wg.ones(2)\ndef f(x): return x * T",
        "T = wg.ones(1) * 5",
    ),
    "a tensor's data": ("T = wg.ones(2)\ndef f(x): return x * T", "T.data = wg.ones(1) * 5"),
    "requires_grad": (
        "T = wg.ones(2)\ndef f(x): return (x * T).sum()",
        "T.requires_grad_()",
    ),
    "a layer in a list": (LAYERS + WALK, "layers[1] = nn.Linear(2, 2)"),
    "a layer appended to a list": (LAYERS + WALK, "layers.append(nn.Linear(2, 2))"),
    "a layer popped from a list": (LAYERS + WALK, "layers.pop()"),
    "layers reversed": (LAYERS + WALK, "layers.reverse()"),
    "a layer in a tuple": (
        LAYERS.replace("[nn", "tuple([nn").replace("(3)]", "(3)])") + WALK,
        "layers = layers[:1]",
    ),
    "a layer in a Sequential": (
        LAYERS + "net = nn.Sequential(*layers)\ndef f(x): return net(x).detach()",
        "net[1] = nn.Tanh()",
    ),
    "a layer in a module": (NET + "def f(x): return net(x).detach()", "net.one = nn.Tanh()"),
    "a layer deeper in a module": (
        NET + "outer = nn.Sequential(net)\ndef f(x): return outer(x).detach()",
        "net.one = nn.Tanh()",
    ),
    "ModuleList.append": (
        LAYERS + "layers = nn.ModuleList(layers)\n" + WALK,
        "layers.append(nn.Tanh())",
    ),
    "ModuleDict's items": (
        LAYERS + "layers = nn.ModuleDict({'a': layers[0]})\n"
        "def f(x):\n    for k, layer in layers.items(): x = layer(x)\n    return x.detach()\n",
        "layers['b'] = nn.Tanh()",
    ),
    "ParameterList.append": (
        (
            "ps = nn.ParameterList([nn.Parameter(wg.ones(2))])\n"
            "def f(x):\n    for p in ps: x = x * (p + 1)\n    return x.detach()\n"
        ),
        "ps.append(nn.Parameter(wg.ones(2)))",
    ),
    "add_module seen by children": (
        LAYERS + "net = nn.Sequential(*layers)\n"
        "def f(x):\n    for layer in net.children(): x = layer(x)\n    return x.detach()\n",
        "net.add_module('more', nn.Tanh())",
    ),
    "add_module seen by modules": (
        LAYERS + "net = nn.Sequential(*layers)\ndef f(x): return x * len(list(net.modules()))\n",
        "net.add_module('more', nn.Tanh())",
    ),
    "a parameter seen by parameters": (
        LAYERS + "net = nn.Sequential(*layers)\n"
        "def f(x): return x * sum(p.sum().detach() for p in net.parameters())\n",
        "net[0].more = nn.Parameter(wg.ones(2))",
    ),
    "a parameter": (
        NET + "def f(x): return net(x).detach()",
        "net.one.weight = nn.Parameter(wg.ones(2, 2))",
    ),
    "a parameter by register_parameter": (
        NET + "def f(x): return net(x).detach()",
        "net.one.register_parameter('weight', nn.Parameter(wg.ones(2, 2)))",
    ),
    "a bias removed": (NET + "def f(x): return net(x).detach()", "net.one.bias = None"),
    "a buffer": (
        NET + "net.register_buffer('b', wg.ones(2))\ndef f(x): return net.b * x",
        "net.b = wg.zeros(2)",
    ),
    "load_state_dict": (
        NET + "def f(x): return net(x).detach()",
        "net.load_state_dict({k: v * 2 for k, v in net.state_dict().items()})",
    ),
    "load_state_dict with assign": (
        NET + "def f(x): return net(x).detach()",
        "net.load_state_dict({k: v * 2 for k, v in net.state_dict().items()}, assign=True)",
    ),
    "the dtype of a module": (
        NET + "def f(x): return net(x.to(net.one.weight.dtype)).detach()",
        "net.double()",
    ),
    "the mode of a module": (
        "net = nn.Sequential(nn.BatchNorm1d(2))\ndef f(x): return net(x.reshape(2, 1) * wg.ones(2)).detach()",
        "net.eval()",
    ),
    "the mode of a part": (
        "net = nn.Sequential(nn.BatchNorm1d(2))\ndef f(x): return net(x.reshape(2, 1) * wg.ones(2)).detach()",
        "net[0].eval()",
    ),
    "the p of a dropout": (
        "d = nn.Dropout(1.0)\ndef f(x): return d(x)",
        "d.p = 0.0",
    ),
    "os.environ": (
        "import os\ndef f(x): return x * float(os.environ.get('WENGERT_TEST_SCALE', 2))",
        "os.environ['WENGERT_TEST_SCALE'] = '5'",
    ),
    "the default dtype": (
        "def f(x): return wg.zeros(2) + 1",
        "wg.set_default_dtype(wg.float64)",
    ),
    "the grad mode": (
        "w = wg.ones(2, requires_grad=True)\ndef f(x): return w * x",
        "import functools\nno_grad = wg.set_grad_enabled(False)",
    ),
    "float32 from the default": (
        "K = 2.0\ndef f(x): return wg.tensor(K) * wg.tensor([1.0])",
        "wg.set_default_dtype(wg.float64)",
    ),
}

TWICE = """
class Twice(wg.autograd.Function):
    @staticmethod
    def forward(x): return x * 2
    @staticmethod
    def setup_context(ctx, inputs, output): pass
    @staticmethod
    def backward(ctx, g): return g * 2
    @staticmethod
    def jvp(ctx, t): return t * 2
    @staticmethod
    def vmap(info, in_dims, x): return x * 2, 0
class Rest(Twice): pass
def slope(x): return wg.grad(lambda v: (Rest.apply(v) ** 2).sum())(x)
"""
SPREAD = "class D(wg.distributions.Gamma): pass\nd = D(wg.tensor(1.0), wg.tensor(2.0))\n"
# What the library asks of a class of the user's by itself, where nobody sees it.
CHANGES |= {
    "the backward of a Function": (
        TWICE + "f = slope",
        "Rest.backward = staticmethod(lambda ctx, g: g * 3)",
    ),
    "the inherited backward of a Function": (
        TWICE + "f = slope",
        "Twice.backward = staticmethod(lambda ctx, g: g * 3)",
    ),
    "the forward of a Function": (
        TWICE + "f = Rest.apply",
        "Twice.forward = staticmethod(lambda x: x * 3)",
    ),
    "the jvp of a Function": (
        TWICE + "def f(x): return wg.jvp(Rest.apply, (x,), (x,))[1]",
        "Rest.jvp = staticmethod(lambda ctx, t: t * 3)",
    ),
    "the vmap of a Function": (
        TWICE + "def f(x): return wg.vmap(Rest.apply)(x)",
        "Rest.vmap = staticmethod(lambda info, dims, x: (x * 3, 0))",
    ),
    "how modules of a class are called": (
        "class M(nn.Module):\n    def forward(self, x): return x * 2\nnet = nn.Sequential(M())\ndef f(x): return net(x)",
        "M.__call__ = lambda self, x: x * 3",
    ),
    "what a property of a base asks": (
        SPREAD + "def f(x): return d.stddev * x",
        "D.variance = property(lambda self: self.rate * 7)",
    ),
    "what a property asks of an object made inside": (
        SPREAD + "def f(x): return D(wg.tensor(1.0), wg.tensor(2.0)).stddev * x",
        "D.variance = property(lambda self: self.rate * 7)",
    ),
    "a hook's other name": (
        "class H:\n    def run(self, *a): return a[-1] * 2\n    __call__ = run\nnet = nn.Tanh()\nnet.register_forward_hook(H())\ndef f(x): return net(x)",
        "H.__call__ = lambda self, *a: a[-1] * 3",
    ),
}


BASES = (
    "class A: pass\nclass B: pass\nclass C(A): v = 1\nclass D(C): pass\nc, d = C(), D()\n"
    "def matched(c):\n    match c:\n        case B(): return 2\n    return 3\n"
    "def f(x): return x * "
)
OF_BASES = ["isinstance(d, B)", "issubclass(D, (A, B))", "isinstance(C(), B)", "matched(c)"]
OF_BASES += ["len(D.__mro__)", "len([q for q in (c, d) if isinstance(q, B)])"]
OF_BASES += [
    "len(list(filter(B.__subclasscheck__, [C])))",
    "next(map(lambda q: isinstance(q, B), [c]))",
]
CHANGES |= {f"bases, {asked}": (BASES + asked, "C.__bases__ = (B,)") for asked in OF_BASES}


@pytest.fixture(autouse=True)
def as_before() -> Any:
    yield
    put_back()


@pytest.mark.parametrize("name", (CHANGES))
def test_what_is_replaced_is_noticed(name: str) -> None:
    text, change = CHANGES[name]

    def story(compile: Any) -> Any:
        m = module(text)
        m.f0, x = m.f, numbers(1, 2)
        f = compile(m.f)
        seen = thrice(f, x)
        exec(change, vars(m))  # noqa: S102
        seen += [caught(f, x) for _ in range(3)]
        put_back()
        return seen

    same(story)


def put_back() -> None:
    os.environ.pop("WENGERT_TEST_SCALE", None)
    wg.set_default_dtype(wg.float32)
    wg.set_grad_enabled(True)
    everywhere_after.clear()


HOOKED = (
    NET
    + """
optimizer = wg.optim.SGD(net.parameters(), lr=0.1)
def f(x):
    optimizer.zero_grad()
    loss = (net(x) ** 2).sum()
    loss.backward()
    optimizer.step()
    return loss.detach()
"""
)
HOOKS: dict[str, str] = {
    "forward hook": "net.one.register_forward_hook(lambda m, args, y: y * 2)",
    "forward hook of the whole": "net.register_forward_hook(lambda m, args, y: y * 2)",
    "forward pre-hook": "net.one.register_forward_pre_hook(lambda m, args: (args[0] * 2,))",
    "full backward hook": "net.two.register_full_backward_hook(lambda m, gi, go: tuple(g * 2 for g in gi))",
    "tensor hook": "net.one.weight.register_hook(lambda g: g * 2)",
    "post-accumulate hook": "net.one.weight.register_post_accumulate_grad_hook("
    "lambda p: p.grad.mul_(2))",
    "optimizer step pre-hook": "optimizer.register_step_pre_hook("
    "lambda o, a, k: [o.param_groups[0]['params'][0].grad.mul_(2)].clear())",
    "optimizer step post-hook": "optimizer.register_step_post_hook("
    "lambda o, a, k: [o.param_groups[0]['params'][0].data.mul_(0.5)].clear())",
}


@pytest.mark.parametrize("name", (HOOKS))
def test_hooks_that_are_added_run(name: str) -> None:
    def story(compile: Any) -> Any:
        m = module(HOOKED)
        f, x = compile(m.f), numbers(1, 2)
        seen = thrice(f, x)
        exec("handle = " + HOOKS[name], vars(m))  # noqa: S102
        seen += thrice(f, x)
        m.handle.remove()
        return [*seen, *thrice(f, x), [p.detach() for p in m.net.parameters()]]

    same(story)


@pytest.mark.parametrize("name", (HOOKS))
def test_hooks_that_are_removed_run_no_more(name: str) -> None:
    def story(compile: Any) -> Any:
        m = module(HOOKED)
        exec("handle = " + HOOKS[name], vars(m))  # noqa: S102
        f, x = compile(m.f), numbers(1, 2)
        seen = thrice(f, x)
        m.handle.remove()
        return [*seen, *thrice(f, x), [p.detach() for p in m.net.parameters()]]

    same(story)


BETWEEN: dict[str, Any] = {
    "float": lambda k: k + 1.0,
    "int": lambda k: k + 1,
    "array": lambda k: np.full(2, k + 1.0),
    "tensor": lambda k: wg.full((2,), k + 1.0),
}


@pytest.mark.parametrize("place", ["v", "c.v", "d['v']"])
@pytest.mark.parametrize("kind", BETWEEN)
def test_a_backward_pass_knows_what_its_call_has_read(kind: str, place: str) -> None:
    # It read again what had been replaced since: the gradient was that of another function.
    make = BETWEEN[kind]
    source = (
        "class C: pass\nc = C()\nd = {}\n"
        f"def put(x):\n    global v\n    v = c.v = d['v'] = x\ndef f(x): return (x**2 * {place}).sum()"
    )

    def story(compile: Any) -> Any:
        m = module(source)
        f, seen = compile(m.f), []
        for k in range(6):
            m.put(make(k))
            x = numbers(1.5, 2.5, requires_grad=True)
            y = f(x)
            m.put(make(99))
            y.backward()
            seen.append(x.grad)
        return seen

    same(story)


@pytest.mark.parametrize("kind", BETWEEN)
def test_a_second_derivative_is_that_of_the_call_or_refused(kind: str) -> None:
    # It ran the function again, in a world that had changed, and the first derivative with it.
    make = BETWEEN[kind]
    m = module("v = None\ndef f(x): return (x**2 * v).sum()")
    compiled = wg.compile(m.f)
    for k in range(5):
        for change in (False, True):
            m.v = make(k)
            x = numbers(1.5, 2.5, requires_grad=True)
            y = compiled(x)
            if change:
                m.v = make(99)
                with pytest.raises(RuntimeError, match="has changed since it was called"):
                    wg.autograd.grad(y, x, create_graph=True)
            else:
                (slope,) = wg.autograd.grad(y, x, create_graph=True)
                (curvature,) = wg.autograd.grad(slope.sum(), x)
                assert curvature.tolist() == [2.0 * (k + 1)] * 2


def test_a_function_that_counts_its_calls_is_not_run_again_for_a_second_derivative() -> None:
    class Calls:
        n = 0

    @wg.compile
    def f(x: Any) -> Any:
        Calls.n += 1
        return (x**2 * Calls.n).sum()

    for k in range(1, 5):
        x = numbers(1.5, 2.5, requires_grad=True)
        y = f(x)
        with pytest.raises(RuntimeError, match="cannot be differentiated twice"):
            wg.autograd.grad(y, x, create_graph=True)
        assert Calls.n == k
