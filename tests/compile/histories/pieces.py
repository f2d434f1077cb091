"""Pieces that random histories are made of: what a step reads, where that is kept, how it changes.

A piece is some text around the step and a few lines in it. Most are a value of some kind at some
place (`PLACES` x `VALUES`); `PIECES` are the others. Each has its changes: statements that run
between two calls. A kind of change is named "place: value: how", as in "cell: float: replaced".

In texts `@` stands for the number of the piece, `%r` for a random float, `%i` for a small int.
"""

# ruff: noqa: E501  (a kind is a line)
from __future__ import annotations

from dataclasses import dataclass, field

PRELUDE = """
import abc, array, builtins, collections, contextvars, copy, csv, decimal, enum, fractions, functools, gc, io, itertools, json, os, random, re, sys, threading, types, weakref
import numpy as np
import wengert as wg
from wengert import nn, optim
from wengert.nn import functional as F

class Level(enum.Enum):
    LOW = 0.5
    HIGH = 1.5

class Net(nn.Module):
    pass

class Plain:
    def __init__(self, **names):
        vars(self).update(names)

class Other(Plain):
    pass

class Slots:
    __slots__ = ("a",)

NUDGE = 1.0  # another in the last bits tells what is rounding
def drawn(seed, scale, shape):
    return (np.random.default_rng(seed).normal(0, scale, shape) * NUDGE).astype(np.float32)

def linear(seed, n=3):
    layer = nn.Linear(n, n)
    with wg.no_grad():
        for p in layer.parameters():
            p.copy_(wg.from_numpy(drawn(seed, 0.5, p.shape)))
    return layer

def batch(seed, rows=2, columns=3):
    return wg.from_numpy(drawn(seed, 1, (rows, columns)))

def tagged(t, tag):
    t.tag = tag
    return t

def doubling():
    class Doubling(wg.autograd.Function):
        @staticmethod
        def forward(ctx, t): return t * 2
        @staticmethod
        def backward(ctx, g): return g * 2
    return Doubling

def identity(a):
    return a

def double(module, args, out):
    return out * 2

PACKAGE = '''
SCALE, COUNT = 0.7, 0


def scale(y):
    return y * SCALE


def count():
    global COUNT
    COUNT += 1
    return COUNT / 4


class Rows:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return iter([SCALE] * self.n)


class Box:
    def __init__(self, y):
        self.y = y

    def get(self):
        return self.y * SCALE

    scaled = property(get)


'''

def package(name):
    "A package that is installed."
    made = types.ModuleType(name)
    made.__file__ = f"/usr/lib/python3/site-packages/{name}.py"
    sys.modules[name] = made
    exec(__import__("builtins").compile(PACKAGE, made.__file__, "exec"), vars(made))
    return made

def swept(x, y):
    result = step(x, y, **keywords)
    losses = [t.sum() for t in tensors(result) if t.requires_grad and t.grad_fn is not None]
    with np.errstate(all="raise"):
        for loss in losses:
            loss.backward(retain_graph=True)
    return result

def in_thread(f):
    found = []
    def run():
        try:
            found.append((f(), None))
        except Exception as error:
            found.append((None, error))
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if found[0][1] is not None:
        raise found[0][1]
    return found[0][0]

def tensors(item):
    if isinstance(item, wg.Tensor):
        yield item
    elif isinstance(item, (list, tuple)):
        for part in item:
            yield from tensors(part)

def call(x, y):
    result = step(x, y, **keywords)
    losses = [t.sum() for t in tensors(result) if t.requires_grad and t.grad_fn is not None]
    if losses:
        sum(losses[1:], losses[0]).backward()
    return result

cells, keywords, handles = {}, {}, []
wg.manual_seed(0); np.random.seed(0); random.seed(0)
"""


@dataclass(frozen=True)
class Place:
    read: str
    setup: str = ""
    enclosing: str = ""  # in the function that encloses the step
    default: str = ""  # among the parameters of the step
    get: str = ""  # as read from outside, if otherwise
    put: str = ""  # how it is replaced from outside

    def outside(self) -> str:
        return self.get or self.read


PLACES: dict[str, Place] = {
    "global": Place("g@", "g@ = NEW", put="g@ = VALUE"),
    "cell": Place(
        "c@",
        enclosing="c@ = NEW\ndef put@(v):\n    nonlocal c@\n    c@ = v\ncells['c@'] = (lambda: c@), put@",
        get="cells['c@'][0]()",
        put="cells['c@'][1](VALUE)",
    ),
    "default": Place(
        "d@", default="d@=NEW", get="raw.__kwdefaults__['d@']", put="raw.__kwdefaults__['d@'] = VALUE"
    ),
    "argument": Place(
        "k@", "keywords['k@'] = NEW", default="k@", get="keywords['k@']", put="keywords['k@'] = VALUE"
    ),
    "argument in a tuple": Place(
        "k@[1]", "keywords['k@'] = (1, NEW)", default="k@", get="keywords['k@'][1]",
        put="keywords['k@'] = (1, VALUE)",
    ),
    "argument in a dict": Place(
        "k@['a']", "keywords['k@'] = {'a': NEW}", default="k@", get="keywords['k@']['a']",
        put="keywords['k@']['a'] = VALUE",
    ),
    "module attribute": Place("net@.a", "net@ = Net()\nnet@.a = NEW", put="net@.a = VALUE"),
    "nested module attribute": Place(
        "net@.part.a", "net@ = Net()\nnet@.part = Net()\nnet@.part.a = NEW", put="net@.part.a = VALUE"
    ),
    "object in a module": Place(
        "net@.cfg.a", "net@ = Net()\nnet@.cfg = Plain(a=NEW)", put="net@.cfg.a = VALUE"
    ),
    "object": Place("obj@.a", "obj@ = Plain(a=NEW)", put="obj@.a = VALUE"),
    "nested object": Place("obj@.cfg.a", "obj@ = Plain(cfg=Plain(a=NEW))", put="obj@.cfg.a = VALUE"),
    "namespace": Place("ns@.a", "ns@ = types.SimpleNamespace(a=NEW)", put="ns@.a = VALUE"),
    "slot": Place("slots@.a", "slots@ = Slots()\nslots@.a = NEW", put="slots@.a = VALUE"),
    "class attribute": Place(
        "C@.a", "class C@:\n    pass\nC@.a = NEW", put="C@.a = VALUE"
    ),
    "attribute of an instance's class": Place(
        "i@.a", "class C@:\n    pass\nC@.a = NEW\ni@ = C@()", get="C@.a", put="C@.a = VALUE"
    ),
    "imported module": Place(
        "config@.a", "config@ = types.ModuleType('config@')\nconfig@.a = NEW", put="config@.a = VALUE"
    ),
    "dict item": Place("t@['a']", "t@ = {'a': NEW}", put="t@['a'] = VALUE"),
    "dict item by get": Place("t@.get('a')", "t@ = {'a': NEW}", put="t@['a'] = VALUE"),
    "computed dict item": Place("t@['a' + str(1)]", "t@ = {'a1': NEW}", put="t@['a1'] = VALUE"),
    "list item": Place("l@[0]", "l@ = [NEW]", put="l@[0] = VALUE"),
    "iterated list": Place("[v for v in l@][0]", "l@ = [NEW]", get="l@[0]", put="l@[0] = VALUE"),
    "iterated dict": Place(
        "[v for _, v in t@.items()][0]", "t@ = {'a': NEW}", get="t@['a']", put="t@['a'] = VALUE"
    ),
    "helper's global": Place(
        "helper@()", "g@ = NEW\ndef helper@():\n    return g@", get="g@", put="g@ = VALUE"
    ),
    "helper's default": Place(
        "helper@()", "def helper@(*, a=NEW):\n    return a", get="helper@.__kwdefaults__['a']",
        put="helper@.__kwdefaults__['a'] = VALUE",
    ),
    "property": Place(
        "o@.a", "class C@:\n    a = property(lambda self: self.b)\no@ = C@()\no@.b = NEW", get="o@.b",
        put="o@.b = VALUE",
    ),
    "partial": Place(
        "p@()", "p@ = functools.partial(identity, a=NEW)", get="p@.keywords['a']",
        put="p@.keywords['a'] = VALUE",
    ),
    "argument that is a global": Place(
        "k@['a']", "g@ = {'a': NEW}\nkeywords['k@'] = g@", default="k@", get="g@['a']", put="g@['a'] = VALUE"
    ),
    "global that is an argument": Place(
        "g@['a']", "g@ = {'a': NEW}\nkeywords['k@'] = g@", default="k@", put="keywords['k@']['a'] = VALUE"
    ),
    "attribute that is an argument": Place(
        "(k@ + obj@.l)[0]", "obj@ = Plain(l=[NEW])\nkeywords['k@'] = obj@.l", default="k@", get="obj@.l[0]",
        put="obj@.l[0] = VALUE",
    ),
    "cell that is an argument": Place(
        "(c@['a'] if k@ is c@ else k@['b'])", "keywords['k@'] = {'a': NEW}",
        enclosing="c@ = keywords['k@']", default="k@", get="keywords['k@']['a']", put="keywords['k@']['a'] = VALUE",
    ),
    "getattr": Place("getattr(obj@, 'a' + 'b')", "obj@ = Plain(ab=NEW)", get="obj@.ab", put="obj@.ab = VALUE"),
}  # fmt: skip


@dataclass(frozen=True)
class Value:
    new: str
    use: str
    changes: dict[str, str]  # "= TEXT" replaces; in other texts AT is the value as read outside


T3 = "wg.tensor([%r, %r, %r])"
A3 = "np.array([%r, %r, %r], np.float32)"
ARRAY = {
    "replaced": f"= {A3}", "written": "AT[:] = %r", "item written": "AT[0] = %r",
    "of another shape": "= np.array([%r], np.float32)", "of another dtype": "= np.array([%r, %r, %r])",
}  # fmt: skip
NUMBER = {
    "replaced": "= %r", "by an int": "= %i", "by a bool": "= True", "by np.float64": "= np.float64(%r)",
    "by np.float32": "= np.float32(%r)", "by a 0-d array": "= np.array(%r)", "by a tensor": "= wg.tensor(%r)",
    "by None": "= None", "by a string": "= 'a'", "by -0.0": "= -0.0", "by infinity": "= float('inf')",
    "by a tensor that is trained": "= wg.tensor(%r, requires_grad=True)",
}  # fmt: skip

VALUES: dict[str, Value] = {
    "float": Value("%r", "h = h * USE", NUMBER),
    "deciding float": Value("%r", "h = h * 2 if USE > 1 else h * 0.5", {"replaced": "= %r", "by np.float64": "= np.float64(%r)"}),
    "int": Value("%i", "h = h * USE", {"replaced": "= %i", "by a float": "= %i.0", "by a bool": "= True", "by np.int64": "= np.int64(%i)"}),
    "int as a size": Value("%i", "h = h.repeat(1, USE)[:, :3] * USE", {"replaced": "= %i", "by np.int64": "= np.int64(%i)"}),
    "bool": Value("True", "h = h * 2 if USE else h * 0.5", {"replaced": "= False", "by an int": "= 0", "by np.bool_": "= np.bool_(False)", "by a list": "= []"}),
    "number in a text": Value("%r", "v = USE\nout.append(f'{v:.2f} {v!r}' + str(USE) + repr([USE]) + '%s' % USE)", {"replaced": "= %r", "by an int": "= %i", "by np.float32": "= np.float32(%r)", "by np.float64": "= np.float64(%r)", "by np.bool_": "= np.bool_(False)"}),
    "int in a name": Value("%i", "v = USE\nh = h * {f'w{k}': k / 4 for k in range(9)}[f'w{v}']", {"replaced": "= %i", "by np.int64": "= np.int64(%i)"}),
    "remainder that decides": Value("%i", "h = h * 2 if USE % 2 == 0 else h * 0.5", {"replaced": "= %i", "by np.int64": "= np.int64(%i)", "by a float": "= %r"}),
    "deciding numbers": Value("%r", "k = USE * 2 - 1\nif k > 1 or not USE: h = h * 2\nelif max(USE, 0.6) == 0.6: h = h * USE", {"replaced": "= %r", "by an int": "= %i", "by 0": "= 0", "by NaN": "= float('nan')", "by np.float32": "= np.float32(%r)"}),
    "int computed that decides": Value("%i", "v = (USE * 3 + 1) % 4\nh = h * [0.5, 0.75, 1.25, 1.5][v] if v != 2 else -h\nif USE // 2 in (1, 3): h = h + 0.25\nout.append(str(USE % 3))", {"replaced": "= %i", "counted": "= AT + 1", "by np.int64": "= np.int64(%i)", "by a bool": "= True"}),
    "float computed that decides": Value("%r", "h = h * 2 if np.sin(USE) * 0.5 + USE > 1 else h * 0.5\nh = h * round(USE * 2 + 1)", {"replaced": "= %r", "by np.float64": "= np.float64(%r)", "by infinity": "= float('inf')", "by an int": "= %i"}),
    "number in half precision": Value("%r", "h = wg.where(wg.full((3,), 1.2).half() == USE, h * 2, h * 0.5)", {"replaced": "= %r", "by np.float16": "= np.float16(1.2)", "by np.float32": "= np.float32(1.2)"}),
    "weight": Value("%r", "h = h.lerp(h.detach() * h, USE)", {"replaced": "= %r", "by an int": "= 1", "by np.float32": "= np.float32(%r)", "by a tensor": "= wg.tensor(%r)"}),
    "bytes": Value("b'ab'", "h = h * (USE[0] / 90)", {"replaced": "= b'%k'", "by an array of bytes": "= bytearray(b'%k')"}),
    "array of bytes": Value("bytearray(b'ab')", "h = h * (USE[0] / 90)", {"replaced": "= bytearray(b'%k')", "item set": "AT[0] = %k", "appended": "AT.append(%k)"}),
    "buffer": Value("np.array([%r, %r, %r], np.float32).tobytes()", "h = h * wg.from_numpy(np.frombuffer(USE, np.float32).copy())", {"replaced": "= np.array([%r, %r, %r], np.float32).tobytes()"}),
    "array of Python's": Value("array.array('f', [%r, %r])", "h = h * USE[1] * len(USE)", {"replaced": "= array.array('f', [%r, %r])", "item set": "AT[1] = %r", "appended": "AT.append(%r)"}),
    "queue": Value("collections.deque([%r, %r], 3)", "h = h * sum(USE)", {"replaced": "= collections.deque([%r])", "appended": "AT.append(%r)", "put first": "AT.appendleft(%r)", "emptied": "AT.clear()"}),
    "copied dict": Value(f"{{'a': [%r], 't': {T3}}}", "d = copy.deepcopy(USE)\nh = h * d['a'][0] + d['t']\nd['a'].append(1); d['t'].mul_(2)", {"replaced": f"= {{'a': [%r], 't': {T3}}}", "item set": "AT['a'][0] = %r", "item written": "AT['t'].mul_(%r)", "appended": "AT['a'].append(%r)"}),
    "copied module": Value("linear(1)", "m = copy.deepcopy(USE)\nh = m(h)\nwith wg.no_grad(): m.weight.mul_(2)", {"replaced": "= linear(2)", "weight written": "AT.weight.data.mul_(%r)", "bias removed": "AT.bias = None", "frozen": "AT.requires_grad_(False)", "weight replaced": "AT.weight = linear(3).weight"}),
    "copied object": Value(f"Plain(v=[%r], t={T3})", "o, c = copy.copy(USE), copy.deepcopy(USE)\nc.v[0] = 0.5\nh = h * o.v[0] + c.t * c.v[0]", {"replaced": f"= Plain(v=[%r], t={T3})", "attribute set": "AT.v = [%r]", "attribute written": "AT.t.mul_(%r)", "class replaced": "AT.__class__ = Other"}),
    "str": Value("'sin'", "h = getattr(wg, USE)(h)", {"replaced": "= 'tanh'"}),
    "None": Value("None", "h = h if USE is None else h * USE", {"replaced": "= %r", "by a tensor": f"= {T3}"}),
    "np.float64": Value("np.float64(%r)", "h = h * USE", {"replaced": "= np.float64(%r)", "by a float": "= %r"}),
    "np.float32": Value("np.float32(%r)", "h = h * USE", {"replaced": "= np.float32(%r)"}),
    "np.int64": Value("np.int64(%i)", "h = h * USE", {"replaced": "= np.int64(%i)", "by an int": "= %i"}),
    "np.bool_": Value("np.bool_(True)", "h = h * 2 if USE else h * 0.5", {"replaced": "= np.bool_(False)"}),
    "Fraction": Value("fractions.Fraction(1, 2)", "h = h * float(USE)", {"replaced": "= fractions.Fraction(3, 2)"}),
    "Enum": Value("Level.LOW", "h = h * USE.value", {"replaced": "= Level.HIGH"}),
    "dtype": Value("wg.float32", "out.append(h.to(USE))", {"replaced": "= wg.float64"}),
    "tuple of numbers": Value("(1, 2)", "out.append((h > 0).long() * USE[0])", {"replaced": "= (3, 2)", "by equal floats": "= (1.0, 2)", "by equal bools": "= (True, 2)"}),
    "function": Value("wg.tanh", "h = USE(h)", {"replaced": "= wg.sin", "by a lambda": "= lambda t: t * %r"}),
    "function of the user": Value("(lambda t: t * %r)", "h = USE(h)", {"replaced": "= lambda t: t * %r", "code replaced": "AT.__code__ = (lambda t: t * 0.25).__code__"}),
    "tensor": Value(T3, "h = h * USE", {
        "replaced": f"= {T3}", "written": "with wg.no_grad(): AT.mul_(%r)", "item written": "with wg.no_grad(): AT[0] = %r",
        "of another shape": "= wg.tensor([%r])", "of another dtype": f"= {T3}.double()", "data replaced": f"AT.data = {T3}",
        "data of another shape": "AT.data = wg.tensor([%r])", "requires grad": "AT.requires_grad_()", "by a number": "= %r",
        "by a view": "= wg.tensor([%r, %r] * 3)[::2]", "by a parameter": f"= nn.Parameter({T3})", "by an expanded one": "= wg.tensor([%r]).expand(3)",
    }),
    "tensor with an attribute": Value(f"tagged({T3}, %r)", "h = h * USE * getattr(USE, 'tag', 0.5)\nif hasattr(USE, 'more'): h = h * 2", {
        "replaced": f"= tagged({T3}, %r)", "by one without": f"= {T3}", "attribute set": "AT.tag = %r", "attribute added": "AT.more = None", "attribute removed": "vars(AT).pop('tag', None)",
    }),
    "tensor that gets an attribute": Value(T3, "USE.calls = getattr(USE, 'calls', 0) + 1\nh = h * USE * (2 if USE.calls % 2 else 0.5)\nr = h * 2\nr.calls = USE.calls\nout.append(r)\nout.append(USE.calls)", {
        "replaced": f"= {T3}", "attribute set": "AT.calls = %i", "attribute removed": "vars(AT).pop('calls', None)",
    }),
    "dictionary of a library": Value("collections.UserDict(k=%r)", "h = h * USE['k'] * len(USE)", {"replaced": "= collections.UserDict(k=%r)", "item set": "AT['k'] = %r", "item added": "AT['l'] = %r", "updated": "AT.update(k=%r)"}),
    "parameter": Value(f"nn.Parameter({T3})", "h = h * USE", {
        "replaced": f"= nn.Parameter({T3})", "written": "with wg.no_grad(): AT.mul_(%r)", "frozen": "AT.requires_grad_(False)",
        "gradient set": f"AT.grad = {T3}", "gradient removed": "AT.grad = None", "gradient written": "AT.grad = None if AT.grad is None else AT.grad.mul_(%r)",
        "data replaced": f"AT.data = {T3}", "hook added": "handles.append(AT.register_hook(lambda g: g * 2))",
    }),
    "parameter that is written": Value(f"nn.Parameter({T3})", "with wg.no_grad(): USE.mul_(0.9)\nh = h * USE.detach()", {
        "replaced": f"= nn.Parameter({T3})", "written": "with wg.no_grad(): AT.mul_(%r)",
    }),
    "tensor that is written": Value(T3, "USE.mul_(0.9)\nh = h * USE", {
        "replaced": f"= {T3}", "written": "AT.mul_(%r)", "of another dtype": f"= {T3}.double()", "by a view": "= wg.tensor([%r, %r] * 3)[::2]",
    }),
    "tensor asked for its gradient": Value(f"{T3}.requires_grad_()", "h = h * 2 if USE.grad is None else h + USE.grad", {
        "gradient set": f"AT.grad = {T3}", "gradient removed": "AT.grad = None",
    }),
    "array": Value(A3, "h = h * wg.from_numpy(USE)", ARRAY),
    "array's item": Value(A3, "h = h * float(USE[0])", ARRAY),
    "array's sum": Value(A3, "h = h * USE.sum()", ARRAY),
    "array in a tensor": Value(A3, "h = h * wg.tensor(USE)", ARRAY),
    "list": Value("[%r, %r]", "h = h * USE[0] + len(USE)", {"replaced": "= [%r, %r]", "item set": "AT[0] = %r", "appended": "AT.append(%r)", "popped": "AT.pop()", "emptied": "AT.clear()"}),
    "walked list": Value("[%r, %r]", "for k in USE: h = h * k", {"replaced": "= [%r, %r]", "item set": "AT[1] = %r", "appended": "AT.append(%r)"}),
    "list of tensors": Value(f"[{T3}, {T3}]", "for k in USE: h = h * k", {"replaced": f"= [{T3}]", "item set": f"AT[1] = {T3}", "appended": f"AT.append({T3})", "item written": "AT[0].mul_(%r)"}),
    "dict": Value("{'k': %r}", "h = h * USE['k']", {"replaced": "= {'k': %r}", "item set": "AT['k'] = %r", "item added": "AT['l'] = %r"}),
    "walked dict": Value("{'k': %r}", "for k, w in USE.items(): h = h * w", {"item set": "AT['k'] = %r", "item added": "AT['l'] = %r", "emptied": "AT.clear()"}),
    "dict of tensors": Value(f"{{'k': {T3}}}", "h = h * USE['k']", {"item set": f"AT['k'] = {T3}", "item written": "AT['k'].mul_(%r)"}),
    "set": Value("{1}", "h = h * 2 if 5 in USE else h * 0.5", {"replaced": "= {5}", "added": "AT.add(5)"}),
    "object": Value("Plain(v=%r)", "h = h * USE.v", {"replaced": "= Plain(v=%r)", "attribute set": "AT.v = %r", "class replaced": "AT.__class__ = Other"}),
    "object with a tensor": Value(f"Plain(v={T3})", "h = h * USE.v", {"replaced": f"= Plain(v={T3})", "attribute set": f"AT.v = {T3}", "attribute written": "AT.v.mul_(%r)"}),
    "module": Value("linear(1)", "h = USE(h)", {
        "replaced": "= linear(2)", "weight written": "AT.weight.data.mul_(%r)", "weight replaced": "AT.weight = linear(3).weight", "bias removed": "AT.bias = None",
        "hook added": "handles.append(AT.register_forward_hook(double))", "hooks removed": "for _ in range(len(handles)): handles.pop().remove()",
        "forward replaced": "AT.forward = lambda t: t * 0.5", "loaded": "AT.load_state_dict(linear(4).state_dict())", "frozen": "AT.requires_grad_(False)", "class replaced": "AT.__class__ = nn.Identity",
    }),
    "custom function": Value("doubling()", "h = USE.apply(h)", {"replaced": "= doubling()", "forward replaced": "AT.forward = staticmethod(lambda ctx, t: t * %r)", "backward replaced": "AT.backward = staticmethod(lambda ctx, g: g * %r)"}),
    "list of modules": Value("[linear(1), nn.Tanh()]", "for layer in USE: h = layer(h)", {"one replaced": "AT[0] = linear(2)", "one appended": "AT.append(linear(3))", "one popped": "AT.pop()", "reversed": "AT.reverse()"}),
    "ModuleList": Value("nn.ModuleList([linear(1), nn.Tanh()])", "for layer in USE: h = layer(h)", {"one replaced": "AT[0] = linear(2)", "one appended": "AT.append(linear(3))"}),
    "Sequential": Value("nn.Sequential(linear(1), nn.Tanh())", "h = USE(h)", {"one replaced": "AT[1] = nn.ReLU()", "one appended": "AT.append(linear(3))"}),
    "batch norm": Value("nn.BatchNorm1d(3)", "h = USE(h)", {"to evaluation": "AT.eval()", "to training": "AT.train()", "momentum set": "AT.momentum = 0.5", "reset": "AT.reset_running_stats()", "buffer replaced": "AT.running_mean = wg.zeros(3)"}),
    "dropout": Value("nn.Dropout(0.5)", "h = USE(h)", {"to evaluation": "AT.eval()", "p set": "AT.p = 0.1", "reseeded": "wg.manual_seed(3)"}),
}  # fmt: skip


@dataclass(frozen=True)
class Piece:
    """Some text around a step, lines in it, and what may change between its calls."""

    name: str
    lines: str
    setup: str = ""
    enclosing: str = ""
    default: str = ""
    changes: dict[str, str] = field(default_factory=dict)


def placed(place: str, value: str) -> Piece:
    p, v = PLACES[place], VALUES[value]
    changes = {}
    for how, text in v.changes.items():
        new = text.removeprefix("= ")
        put = new if new == text else p.put.replace("VALUE", new)
        changes[how] = put.replace("AT", p.outside())
    return Piece(
        f"{place}: {value}", v.use.replace("USE", p.read), p.setup.replace("NEW", v.new),
        p.enclosing.replace("NEW", v.new), p.default.replace("NEW", v.new), changes,
    )  # fmt: skip


def trained(optimizer: str) -> tuple[str, str]:
    setup = f"net@ = nn.Sequential(linear(1), nn.Tanh(), linear(2))\nopt@ = optim.{optimizer}"
    lines = "opt@.zero_grad()\nloss = (net@(h) ** 2).mean()\nloss.backward()\nopt@.step()\nout.append(loss.detach())\nh = h.detach() * 1.5"
    return setup, lines


TRAINING = {
    "rate set": "opt@.param_groups[0]['lr'] = %r * 0.1",
    "rate set to np.float64": "opt@.param_groups[0]['lr'] = np.float64(%r * 0.1)",
    "decay set": "opt@.param_groups[0]['weight_decay'] = %r * 0.1",
    "maximize set": "opt@.param_groups[0]['maximize'] = True",
    "group replaced": "opt@.param_groups[0] = {**opt@.param_groups[0], 'lr': %r * 0.1}",
    "checkpoint loaded": "opt@.load_state_dict({**opt@.state_dict(), 'state': {}})",
    "own checkpoint loaded": "import copy; opt@.load_state_dict(copy.deepcopy(opt@.state_dict()))",
    "state cleared": "opt@.state.clear()",
    "state replaced": "for s in opt@.state.values(): s.update({k: v * 0.5 for k, v in s.items() if isinstance(v, wg.Tensor)})",
    "state written": "for s in opt@.state.values(): [v.mul_(0.5) for v in s.values() if isinstance(v, wg.Tensor)]",
    "parameter popped": "opt@.param_groups[0]['params'].pop()",
    "group added": "opt@.add_param_group({'params': [nn.Parameter(wg.ones(3))]})",
    "parameter written": "net@[0].weight.data.mul_(%r)",
    "parameter replaced": "net@[0].weight = linear(3).weight",
    "parameter's data replaced": "net@[0].weight.data = linear(3).weight.data",
    "parameters tied": "net@[2].weight = net@[0].weight",
    "parameters' data tied": "net@[2].weight.data = net@[0].weight.data",
    "parameter frozen": "net@[0].weight.requires_grad_(False)",
    "layer replaced": "net@[1] = nn.ReLU()",
    "network loaded": "net@.load_state_dict(nn.Sequential(linear(5), nn.Tanh(), linear(6)).state_dict())",
    "network loaded by assignment": "net@.load_state_dict(nn.Sequential(linear(5), nn.Tanh(), linear(6)).state_dict(), assign=True)",
    "gradient set": "net@[0].weight.grad = wg.ones(3, 3)",
    "gradients removed": "opt@.zero_grad()",
    "tensor hook added": "handles.append(net@[0].weight.register_hook(lambda g: g * 2))",
    "post-accumulate hook added": "handles.append(net@[0].weight.register_post_accumulate_grad_hook(lambda p: [p.grad.mul_(2)].clear()))",
    "forward hook added": "handles.append(net@[0].register_forward_hook(double))",
    "backward hook added": "handles.append(net@[0].register_full_backward_hook(lambda m, gi, go: None))",
    "step hook added": "handles.append(opt@.register_step_post_hook(lambda o, a, k: [p.data.mul_(0.5) for p in o.param_groups[0]['params']].clear()))",
    "hooks removed": "for _ in range(len(handles)): handles.pop().remove()",
    "optimizer replaced": "opt@ = optim.SGD(net@.parameters(), lr=0.05)",
}

KEPT = {
    "a count in a module": ("net@ = Net()\nnet@.n = 1", "net@.n += 1\nh = h * (net@.n / 4)"),
    "a tensor in a module": ("net@ = Net()\nnet@.h = wg.zeros(3)", "net@.h = (net@.h * 0.5 + h.detach().mean(0))\nh = h + net@.h"),
    "a buffer assigned": ("net@ = Net()\nnet@.register_buffer('h', wg.zeros(3))", "net@.h = (net@.h * 0.5 + h.detach().mean(0))\nh = h + net@.h"),
    "a buffer written": ("net@ = Net()\nnet@.register_buffer('h', wg.zeros(3))", "net@.h.mul_(0.5).add_(h.detach().mean(0))\nh = h + net@.h"),
    "a tensor in an object": ("obj@ = Plain(h=wg.zeros(3))", "obj@.h = obj@.h * 0.5 + h.detach().mean(0)\nh = h + obj@.h"),
    "a tensor in a dict": ("t@ = {'h': wg.zeros(3)}", "t@['h'] = t@['h'] * 0.5 + h.detach().mean(0)\nh = h + t@['h']"),
    "a count in a dict": ("t@ = {'n': 1}", "t@['n'] += 1\nh = h * (t@['n'] / 4)"),
    "a list appended to": ("l@ = []", "l@.append(h.detach() * 2)\nh = h * 1.5"),
    "a global tensor": ("g@ = wg.zeros(3)", "global g@\ng@ = g@ * 0.5 + h.detach().mean(0)\nh = h + g@"),
    "a global count": ("g@ = 1", "global g@\ng@ += 1\nh = h * (g@ / 4)"),
    "a nonlocal count": ("", "nonlocal n@\nn@ += 1\nh = h * (n@ / 4)"),
    "a nonlocal tensor": ("", "nonlocal n@\nn@ = n@ * 0.5 + h.detach().mean(0)\nh = h + n@"),
    "a last value": ("net@ = Net()\nnet@.last = None", "h = h if net@.last is None else h + net@.last\nnet@.last = h.detach().mean(0)"),
    "an array written": ("a@ = np.zeros(3, np.float32)", "a@[0] += 1\nh = h * float(a@[0])"),
    "a class's count": ("class C@:\n    n = 1", "C@.n += 1\nh = h * (C@.n / 4)"),
    "a class's count, read of an object": ("class C@:\n    n = 1\nc@ = C@()", "C@.n += 1\nh = h * (c@.n / 4)"),
    "a count in a dict of the user's": ("class D@(dict):\n    sets = 0\n    def __setitem__(self, k, v):\n        D@.sets += 1\n        super().__setitem__(k, v)\nd@ = D@(n=1)", "d@['n'] = d@['n'] + 1\nh = h * (D@.sets / 4) + d@['n']"),
    "a list of the user's": ("class L@(list):\n    def append(self, x): super().append(x / 2)\n    def __len__(self): return 4\nl@ = L@()", "l@.append(3.0)\nh = h * l@[-1] / len(l@)"),
    "a gradient replaced": ("w@ = wg.ones(3, requires_grad=True)\nw@.grad = wg.ones(3)", "v = w@.grad\nw@.grad = v * 0.5 + h.detach().mean(0)\nh = h * v"),
    "an iterator": ("it@ = itertools.count(1)", "h = h * (next(it@) / 4)"),
    "a generator": ("def g@():\n    k = 1.0\n    while True: yield (k := k * 0.9)\nit@ = g@()", "h = h * next(it@)"),
    "a generator that is sent to": ("def g@():\n    k = 1.0\n    while True: k = (yield k) * 0.9\nit@ = g@()\nnext(it@)", "h = h * it@.send(0.5)"),
    "an iterator over a list": ("it@ = iter([0.5, 0.7, 0.9] * 20)", "for k in it@:\n    h = h * k\n    break"),
    "pairs of iterators": ("it@ = zip(itertools.count(1), [0.5, 0.7, 0.9] * 20)", "for n, k in itertools.islice(it@, 2): h = h * (k / n)"),
    "lines of a file": ("f@ = io.StringIO('\\n'.join('123456789' * 9))", "h = h * (float(next(f@)) / 4)"),
    "a log of texts": ("l@, n@ = [], 1", "global n@\nn@ += 1\nl@.append(f'step {n@}: {n@ / 4:.2f}')\nh = h * (n@ / 4)"),
    "items by name": ("d@, n@ = {}, 1", "global n@\nn@ += 1\nd@[f'h{n@ % 3}'] = h.detach().mean(0)\nh = h + sum(d@.values())"),
    "each third step": ("net@ = Net()\nnet@.n = 0", "net@.n += 1\nif net@.n % 3 == 0: h = h * 2"),
    "a parameter": (f"net@ = Net()\nnet@.w = nn.Parameter({T3})", "h = h * net@.w.detach()\nnet@.w = nn.Parameter(net@.w.detach() * 0.9)\nout.append(net@.w.requires_grad)"),
    "a tensor that comes and goes": ("net@ = Net()\nnet@.last = None", "if net@.last is not None: net@.last, h = None, h * 2\nelse: net@.last = h.detach().sum()"),
    "an attribute that comes and goes": ("obj@ = Plain(n=1)", "if hasattr(obj@, 'h'):\n    del obj@.h\n    h = h * 2\nelse: obj@.h = obj@.n"),
    "a kind of number": ("t@ = {'n': 1}", "if isinstance(t@['n'], int): t@['n'], h = 1.5, h * 2\nelse: t@['n'] = 3"),
    "the best of modules": ("net@, best@ = linear(1), None", "global best@\nh = net@(h)\nbest@ = copy.deepcopy(net@.state_dict())\nout.append(best@)"),
    "a mean with a weight": ("t@, n@ = wg.zeros(3), 0", "global n@\nn@ += 1\nwith wg.no_grad(): t@.lerp_(h.mean(0), 1 / n@)\nh = h + t@"),
}  # fmt: skip

DRAWS = {
    "wg.rand": "h = h + wg.rand(3)", "a generator": "h = h + wg.rand(3, generator=gen@)", "np.random": "h = h * float(np.random.rand())",
    "default_rng": "h = h + wg.from_numpy(rng@.random(3, dtype=np.float32))", "random": "h = h * random.random()", "dropout": "h = F.dropout(h, 0.5)",
    "randperm": "h = h[:, wg.randperm(3)]", "normal_": "h = h + wg.empty(3).normal_()", "bernoulli": "h = h * wg.bernoulli(wg.full((3,), 0.5))",
}  # fmt: skip
SEEDS = {
    "reseeded": "wg.manual_seed(7); np.random.seed(7); random.seed(7)", "state set": "wg.set_rng_state(state@)",
    "generator reseeded": "gen@.manual_seed(5)", "drawn from": "wg.rand(2); np.random.rand(); random.random()",
}  # fmt: skip

ASKED = {
    "a package's global": ("q@ = package('lent@')", "h = q@.scale(h)", {"replaced": "q@.SCALE = %r", "function replaced": "q@.scale = lambda y: y * %r"}),
    "a package's method": ("q@ = package('lent@')", "h = q@.Box(h).get()", {"replaced": "q@.SCALE = %r", "method replaced": "q@.Box.get = lambda box: box.y * %r"}),
    "a package's property": ("q@ = package('lent@')", "h = q@.Box(h).scaled", {"replaced": "q@.SCALE = %r"}),
    "a package's count": ("q@ = package('lent@')", "h = h * q@.count()", {"kept": "pass", "set": "q@.COUNT = %i"}),
    "a package's rows": ("q@ = package('lent@')", "for k in q@.Rows(2): h = h * k", {"replaced": "q@.SCALE = %r"}),
    "a class of what is made": ("class B@:\n    k = %r\n    def __init__(self, y):\n        self.y = y\n    def get(self):\n        return self.y * self.k", "h = B@(h).get()", {"method replaced": "B@.get = lambda b: b.y * %r", "number replaced": "B@.k = %r", "made otherwise": "B@.__init__ = lambda b, y: setattr(b, 'y', y * %r)"}),
    "an abstract class": ("class A@(abc.ABC):\n    pass", "h = h * 2 if isinstance(h, A@) else h * 0.5", {"registered": "A@.register(wg.Tensor)"}),
    "a function that dispatches": ("g@ = functools.singledispatch(lambda t: t * 0.5)", "h = g@(h)", {"registered": "g@.register(wg.Tensor, lambda t: t * %r)"}),
    "a function that dispatches on a number": ("g@ = functools.singledispatch(lambda v, t: t * 0.5)\nv@ = %r", "h = g@(v@, h)", {"registered": "g@.register(float, lambda v, t: t * v)", "replaced": "v@ = %r", "replaced by a text": "v@ = 'a'"}),
    "a method that dispatches": ("class C@:\n    m = functools.singledispatchmethod(lambda self, t: t * 0.5)\ni@ = C@()", "h = i@.m(h)", {"registered": "vars(C@)['m'].register(wg.Tensor, lambda self, t: t * %r)"}),
    "rows of a reader": ("csv.register_dialect('d@', delimiter=',')", "for r in csv.reader(io.StringIO('1,2;3;4'), 'd@'): h = h * (len(r) / 2)", {"registered": "csv.register_dialect('d@', delimiter=';')"}),
    "rows beside tensors": ("csv.register_dialect('d@', delimiter=',')", "for r, t in zip(csv.reader(io.StringIO('1,2;3;4'), 'd@'), [h]): h = t * (len(r) / 2)", {"registered": "csv.register_dialect('d@', delimiter=';')"}),
    "a variable of a context": ("V@ = contextvars.ContextVar('V', default=%r)", "h = h * V@.get()", {"set": "V@.set(%r)"}),
    "a pattern": ("P@ = re.compile('a+')", "h = h * (len(P@.findall('aabab')) / 2)", {"replaced": "P@ = re.compile('a')"}),
    "a precision": ("D@ = decimal.Decimal('0.123456789')", "h = h * float(+D@)", {"set": "decimal.getcontext().prec = %i"}),
    "what is told of collections": ("class C@:\n    n = %r\ngc.callbacks.append(lambda phase, info: C@.n)", "h = h * C@.n", {"replaced": "C@.n = %r", "often": "gc.set_threshold(1)", "another": "gc.callbacks.append(lambda phase, info: setattr(C@, 'm', 1))"}),
    "the last of a list": ("l@ = [1.5, %r]", "h = h * l@[-1]", {"appended": "l@.append(%r)", "put first": "l@.insert(0, %r)", "replaced": "l@[-1] = %r"}),
    "the last of a list that is set": ("l@ = [1.5, %r]", "l@[-1] = l@[-1] * 0.5\nh = h * l@[0] * l@[-1]", {"appended": "l@.append(%r)", "put first": "l@.insert(0, %r)"}),
    "a factory of what is missing": ("g@ = %r\nd@ = collections.defaultdict(lambda: g@)", "h = h * d@['a']", {"replaced": "g@ = %r", "cleared": "d@.clear()", "set": "d@['a'] = %r", "another": "d@.default_factory = lambda: %r"}),
    "a count of what is missing": ("d@ = collections.Counter()", "d@['a'] += 1\nh = h * (d@['a'] / 4)", {"cleared": "d@.clear()", "counted": "d@.update('aab')"}),
    "a class's way with what is missing": ("class D@(dict):\n    z = %r\n    def __missing__(self, key):\n        return self.z\nd@ = D@()", "h = h * d@['q']", {"replaced": "D@.z = %r", "an item's": "d@['q'] = %r", "an own one": "d@.z = %r"}),
    "a descriptor's number": ("class G@:\n    k = 1.5\n    def __get__(self, owner, cls=None):\n        return self.k\nclass C@:\n    a = G@()\nc@ = C@()", "h = h * c@.a", {"set": "vars(C@)['a'].k = %r", "of the class": "G@.k = %r"}),
    "a name of globals()": ("g@ = %r", "globals()['g@'] = globals()['g@'] * 0.5\nh = h * g@", {"set": "g@ = %r"}),
    "a class that is matched": ("class P@:\n    __match_args__ = ('a', 'b')\n    a, b = 1.5, %r\np@ = P@()", "match p@:\n    case P@(v): h = h * v", {"set": "p@.a = %r", "otherwise": "P@.__match_args__ = ('b', 'a')"}),
    "a builtin": ("", "h = h * abs(-1.5)", {"hidden": "abs = lambda v: %r"}),
    "a container in another": ("l@ = [%r]", "h = h * len(json.dumps({'a': l@}))", {"set": "l@[0] = %r", "appended": "l@.append(%i)"}),
    "an error that is caught": ("t@ = {'a': %r}", "try: k = t@['b']\nexcept KeyError: k = t@['a']\nh = h * k", {"added": "t@['b'] = %r", "set": "t@['a'] = %r", "taken": "t@.pop('b', None)"}),
    "a weak reference": ("o@ = Plain(a=%r)\nw@ = weakref.ref(o@)", "h = h * w@().a", {"set": "o@.a = %r"}),
    "a weak set": ("o@ = Plain(a=%r)\nw@ = weakref.WeakSet([o@])", "for o in w@: h = h * o.a", {"set": "o@.a = %r"}),
    "a weak proxy": ("o@ = Plain(a=%r)\nw@ = weakref.proxy(o@)", "h = h * w@.a", {"set": "o@.a = %r"}),
    "a weak dictionary": ("o@ = Plain(a=%r)\nw@ = weakref.WeakValueDictionary(a=o@)", "h = h * w@['a'].a", {"set": "o@.a = %r"}),
    "a weak reference that is made": ("o@ = Plain(a=%r)", "h = h * weakref.ref(o@)().a", {"set": "o@.a = %r", "replaced": "o@ = Plain(a=%r)"}),
    "how many live": ("o@ = [Plain(a=1) for _ in range(9)]\nw@ = weakref.WeakSet(o@)", "h = h * (len(w@) / 4)", {"let go": "o@.pop()", "added": "o@.append(Plain(a=1)); w@.add(o@[-1])"}),
    "what is kept by an object": ("o@ = Plain(a=1)\nw@ = weakref.WeakKeyDictionary({o@: %r})", "h = h * w@[o@]", {"set": "w@[o@] = %r"}),
    "a view of a dict": ("d@ = {'a': %r}\nv@ = d@.values()", "for k in v@: h = h * k", {"set": "d@['a'] = %r"}),
    "a leaf that is made": ("k@ = %r", "w = wg.full((3,), k@, requires_grad=True)\nout.append((x * w).sum())\nout.append(nn.Parameter(x.detach() * 2))", {"replaced": "k@ = %r"}),
    "the shape of what is not computed with": ("q@ = nn.Parameter(wg.ones(3))", "h = h * (q@.shape[0] / 4)", {"data replaced": "q@.data = wg.ones(%i)", "replaced": "q@ = nn.Parameter(wg.ones(%i))"}),
    "how often something was written": ("q@ = wg.ones(3)", "h = h * (1 + q@._version / 8)", {"written": "q@.add_(%r)", "replaced": "q@ = wg.ones(%i)"}),
    "a leaf": ("q@ = wg.ones(3, requires_grad=True)", "h = h * (2 if q@.is_leaf else 0.5)", {"computed": "q@ = (q@ * %r)", "a leaf": "q@ = q@.detach().requires_grad_()"}),
    "what is computed outside": ("w@ = wg.ones(3, requires_grad=True)\nq@ = w@ * %r", "h = h * q@", {"again": "q@ = w@ * %r", "of another": "q@ = wg.ones(3, requires_grad=True).exp()", "detached": "q@ = q@.detach()"}),
    "a gradient that is set": ("q@, k@ = nn.Parameter(wg.ones(3)), %r", "q@.grad = (h * k@).sum(0)\nout.append(q@.grad[:2])", {"replaced": "k@ = %r", "removed": "q@.grad = None", "written": "q@.grad is None or q@.grad.data.mul_(%r)"}),
    "a command": ("", "h = h * (os.system('true') + 1)", {"done": "pass"}),
}  # fmt: skip

_NET = "net@ = nn.Sequential(linear(1), nn.Tanh(), linear(2))\nopt@ = optim.SGD(net@.parameters(), lr=0.1, momentum=0.9)\n"
_LOSS = "loss = (net@(h) ** 2).mean()\n"
_AFTER = "\nopt@.zero_grad()\nout.append(loss.detach())\nh = h.detach() * 1.5"
IDIOMS = {
    "a scaler of losses": (
        _NET + "scaler@ = wg.amp.GradScaler('cpu', init_scale=4.0, growth_interval=2)",
        _LOSS + "scaler@.scale(loss).backward()\nscaler@.step(opt@)\nscaler@.update()" + _AFTER,
        {"set": "scaler@.update(%r)", "too large": "scaler@.update(3e38)", "loaded": "scaler@.load_state_dict({**scaler@.state_dict(), 'scale': 2.0})"},
    ),
    "a scaler, and clipped gradients": (
        _NET + "scaler@ = wg.amp.GradScaler('cpu', init_scale=4.0, growth_interval=2)\nm@ = 0.1",
        "h = F.dropout(h, 0.5)\n" + _LOSS + "scaler@.scale(loss).backward()\nscaler@.unscale_(opt@)\nnn.utils.clip_grad_norm_(net@.parameters(), m@)\nscaler@.step(opt@)\nscaler@.update()\nh = h * scaler@.get_scale() / 4" + _AFTER,
        {"set": "scaler@.update(%r)", "too large": "scaler@.update(3e38)", "clipped otherwise": "m@ = %r"},
    ),
    "a rate that is set inside": (
        _NET + "i@ = 0\nk@ = %r",
        "global i@\ni@ += 1\nr@ = 0.1 * i@ if i@ < 3 else 0.05 * (1 + np.cos(i@)) * k@\nfor g in opt@.param_groups: g['lr'] = r@\n" + _LOSS + "loss.backward()\nopt@.step()" + _AFTER,
        {"begun again": "i@ = 0", "replaced": "k@ = %r", "set outside": "opt@.param_groups[0]['lr'] = 0.3"},
    ),
    "momentum that is forgotten": (
        _NET + "i@ = 0",
        "global i@\ni@ += 1\nif i@ % 4 == 0: opt@.state.clear()\n" + _LOSS + "loss.backward()\nopt@.step()" + _AFTER,
        {"counted on": "i@ += 1", "loaded": "opt@.load_state_dict({**opt@.state_dict(), 'state': {}})"},
    ),
    "a gradient that is given": (
        _NET + "g@ = wg.full((3, 3), %r)",
        "net@[0].weight.grad = g@\nopt@.step()\nout.append(net@[0].weight.grad is g@)",
        {"replaced": "g@ = wg.full((3, 3), %r)", "written": "g@.mul_(%r)", "removed": "net@[0].weight.grad = None"},
    ),
    "a scheduler": (
        _NET + "sch@ = optim.lr_scheduler.StepLR(opt@, 2, 0.5)",
        "opt@.zero_grad()\n" + _LOSS + "loss.backward()\nopt@.step()\nsch@.step()\nout.append(loss.detach())\nh = x * 1.5",
        {"stepped": "sch@.step()", "rate set": "opt@.param_groups[0]['lr'] = %r", "loaded": "sch@.load_state_dict({**sch@.state_dict(), 'last_epoch': %i})"},
    ),
    "an optimizer after its scheduler": (
        _NET + "sch@ = optim.lr_scheduler.StepLR(opt@, 2, 0.5)",
        _LOSS + "loss.backward()\nsch@.step()\nopt@.step()" + _AFTER,
        {"stepped": "sch@.step()"},
    ),
    "meters that are made": (
        "class Meter@:\n    k = 1.0\n    def __init__(self): self.sum = 0.0\n    def add(self, v): self.sum += v * self.k\nm@ = collections.defaultdict(Meter@)",
        "m@['h'].add(h.detach().mean())\nm@['x'].add(x.detach().mean())\nh = h * (1 + m@['h'].sum) + m@['x'].sum",
        {"cleared": "m@.clear()", "set": "m@['h'].sum = %r", "of the class": "Meter@.k = %r", "by a number": "m@['x'].sum = %r"},
    ),
}  # fmt: skip
"""What training scripts do beside: what it needs, the lines, and how it changes."""

RETURNED = {
    "the argument": "out.append(x)", "a view of the argument": "out.append(x[0])", "a detached result": "out.append(h.detach())",
    "a result and a view": "out.extend([h * 2, (h * 2)[0]])", "a global": "out.append(g@)", "a global's view": "out.append(g@[0])",
    "an argument written": "x.add_(1)", "an argument's copy written": "z = x.reshape(-1)\nz += 1\nh = h + x", "a stride": "h = h * x.stride()[0]",
    "contiguity": "h = h * (2 if x.is_contiguous() else 0.5)", "identity": "h = h * 2 if x is y else h * 0.5", "a dtype": "out.append(wg.zeros(2, dtype=x.dtype))", "a leaf": "h = h * (2 if x.is_leaf else 0.5)", "how often written": "h = h * (1 + x._version / 8)",
    "the default dtype": "out.append(wg.zeros(2))", "the grad mode": "h = h * (2 if wg.is_grad_enabled() else 0.5)", "both arguments": "h = h * 10 + y",
    "a gradient of the argument": "h = h + wg.func.grad(lambda t: (t ** 2).sum())(x)",
}  # fmt: skip

CALLS = {
    "usual": "call(batch(%k), batch(%k))", "same again": "call(a, b)", "one object": "call(a, a)", "one memory": "call(a, a.view(2, 3))", "swapped": "call(b, a)",
    "another batch size": "call(batch(%k, 4), batch(%k, 4))", "float64": "call(batch(%k).double(), batch(%k).double())", "of two dtypes": "call(batch(%k), batch(%k).double())",
    "transposed": "call(batch(%k, 3, 2).T, batch(%k))", "every other": "call(batch(%k, 2, 6)[:, ::2], batch(%k))", "expanded": "call(batch(%k, 1).expand(2, 3), batch(%k))",
    "reversed": "call(batch(%k).flip(0), batch(%k))", "requiring grad": "call(batch(%k).requires_grad_(), batch(%k))", "kept, requiring grad": "call(p, b)", "computed outside": "call(p * %r, b)", "a view of a leaf": "call(p[:], b)",
    "under no_grad": "exec('with wg.no_grad(): result = call(a, b)')", "under inference mode": "exec('with wg.inference_mode(): result = call(a, b)')",
    "in a thread": "in_thread(lambda: call(a, b))", "written between": "call(a.mul_(%r), b)", "a result as argument": "call(result[0].detach(), b)",
    "float64 by default": "wg.set_default_dtype(wg.float64); result = call(a, b); wg.set_default_dtype(wg.float32)", "a part of another": "call(a[:1], b[:1])",
    "swept where errors are raised": "swept(a, b)", "after an error": "call(batch(1, 2, 5), b)", "another shape of b": "call(a, batch(%k, 1))",
}  # fmt: skip


def _others() -> dict[str, Piece]:
    made = []
    for name in (
        "SGD(net@.parameters(), lr=0.1)",
        "SGD(net@.parameters(), lr=0.1, momentum=0.9)",
        # Divided by next to nothing, the rounding of a gradient that is nearly zero (where a tanh
        # rounds to one, say) would be a step as long as any other: its sign.
        "Adam(net@.parameters(), lr=0.05, eps=0.01)",
    ):
        setup, lines = trained(name)
        short = "momentum" if "momentum" in name else name.partition("(")[0]
        made.append(Piece(f"training: {short}", lines, setup, changes=TRAINING))
    for name, (setup, lines) in KEPT.items():
        start = "wg.zeros(3)" if "tensor" in name else "1"
        enclosing = f"n@ = {start}\ncells['n@'] = (lambda: n@), None" if "nonlocal" in name else ""
        made.append(Piece(f"kept: {name}", lines, setup, enclosing, changes={"kept": "pass"}))
    for name, lines in DRAWS.items():
        setup = "gen@ = wg.Generator().manual_seed(1)\nrng@ = np.random.default_rng(1)\nstate@ = wg.get_rng_state()"
        made.append(Piece(f"random: {name}", lines, setup, changes={"drawn": "pass", **SEEDS}))
    for name, lines in RETURNED.items():
        setup = "g@ = wg.tensor([[1.0, 2.0, 3.0]])" if "g@" in lines else ""
        made.append(Piece(f"memory: {name}", lines, setup, changes={"as it is": "pass"}))
    for kind, told in (("asked", ASKED), ("idiom", IDIOMS)):
        made += [
            Piece(f"{kind}: {name}", lines, setup, changes=c)
            for name, (setup, lines, c) in told.items()
        ]
    return {piece.name: piece for piece in made}


PIECES = _others()


def piece(name: str) -> Piece:
    return PIECES[name] if name in PIECES else placed(*name.split(": "))


NAMES = [*PIECES, *(f"{p}: {v}" for v in VALUES for p in PLACES)]
# A function there is a method, and would be given the instance.
NAMES = [n for n in NAMES if not n.startswith("attribute of an instance's class: function")]
KINDS = [
    *(f"{name}: {how}" for name in NAMES for how in piece(name).changes),
    *(f"call: {name}" for name in CALLS),
]
REFUSED = {
    "kept: an iterator: kept": "iterators and data loaders from outside",
    "asked: a weak reference: set": "objects that are found by a weak reference",
    "asked: a weak set: set": "objects that are found by a weak reference",
    "kept: a generator: kept": "iterators and data loaders from outside",
    "kept: a generator that is sent to: kept": "iterators and data loaders from outside",
    "kept: pairs of iterators: kept": "iterators and data loaders from outside",
    "kept: lines of a file: kept": "what a call changes in an object of a library",
    "asked: a weak proxy: set": "objects that are found by a weak reference",
    "asked: a weak dictionary: set": "objects that are found by a weak reference",
    "idiom: an optimizer after its scheduler: stepped": "what is used after a statement that may have changed it",
    "asked: a command: done": "functions that act on the system",
}
"""Kinds of change that are refused, with the line; and the words of docs/compiler.md about them."""
