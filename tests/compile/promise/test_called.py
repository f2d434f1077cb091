"""Whatever calls the user's code, what that reads is noticed: a global changes between the calls.

Python, C and libraries call functions that they were given, and methods that they find.
"""

# ruff: noqa: E501  (programs as text read best with a statement on a line)
from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.stories import alike, caught, module, numbers, same
from wengert.errors import TracingError
from wengert.rules.rule import RULES


@pytest.fixture(autouse=True)
def table():
    """The table of rules without those of the programs here: its own tests go through all of it."""
    before = dict(RULES)
    yield
    RULES.clear()
    RULES.update(before)


PRELUDE = """
import bisect, collections, contextlib, copy, dataclasses, functools, heapq, itertools, operator, re, threading, weakref
from wengert import func, optim
K = 2.0
def user(x): return x * K
"""

# What makes `f(x)`, which depends on K by what it calls.
CALLED = {
    "body of a primitive": "@wg.primitive.linear(lambda g: g)\ndef h(x): return x * K\ndef f(x): return h(x)",
    "rule of a primitive": "@wg.primitive.linear(lambda g: g * K)\ndef h(x): return 2. * x\ndef f(x): return func.grad(lambda z: h(z).sum())(x)",
    "map": "def f(x): return list(map(user, [x, x]))[0]",
    "filter": "def f(x): return x * len(list(filter(lambda i: i * K < 6, [1., 2.])))",
    "sorted key": "def f(x):\n    for i in sorted([1., -2., 7.], key=lambda i: abs(i - K)): x = (x + 1) * i\n    return x",
    "list.sort key": "def f(x):\n    l = [1., -2., 7.]\n    l.sort(key=lambda i: abs(i - K))\n    for i in l: x = (x + 1) * i\n    return x",
    "min key": "def f(x): return x * min([1., -2., 7.], key=lambda i: abs(i - K))",
    "reduce": "def f(x): return functools.reduce(lambda a, b: a * b * K, [1., 2.], x)",
    "partial": "def f(x): return functools.partial(user)(x)",
    "partialmethod": "class C:\n    def m(self, k, x): return x * k * K\n    p = functools.partialmethod(m, 3.)\nc = C()\ndef f(x): return c.p(x)",
    "cmp_to_key": "def f(x):\n    for i in sorted([1., -2., 7.], key=functools.cmp_to_key(lambda a, b: abs(a - K) - abs(b - K))): x = (x + 1) * i\n    return x",
    "accumulate": "def f(x): return list(itertools.accumulate([x, x, x], lambda a, b: a + b * K))[-1]",
    "starmap": "def f(x): return list(itertools.starmap(lambda a, b: a * b * K, [(x, x)]))[0]",
    "takewhile": "def f(x): return x * len(list(itertools.takewhile(lambda i: i * K < 6, [1., 2.])))",
    "dropwhile": "def f(x): return x * len(list(itertools.dropwhile(lambda i: i * K < 6, [1., 2.])))",
    "filterfalse": "def f(x): return x * len(list(itertools.filterfalse(lambda i: i * K < 6, [1., 2.])))",
    "iter with a sentinel": "def f(x):\n    l = [1.]\n    def step():\n        l.append(l[-1] + K)\n        return l[-1] > 9\n    n = len(list(iter(step, True)))\n    return x * n",
    "defaultdict": "def f(x): return x * collections.defaultdict(lambda: K)['a']",
    "a global defaultdict": "D = collections.defaultdict(lambda: K)\ndef f(x):\n    D.clear()\n    return x * D['a']",
    "singledispatch": "@functools.singledispatch\ndef g(x): return x * K\ndef f(x): return g(x)",
    "cached_property": "class C:\n    @functools.cached_property\n    def p(self): return K\ndef f(x): return x * C().p",
    "property": "class C:\n    @property\n    def p(self): return K\nc = C()\ndef f(x): return x * c.p",
    "wraps": "def d(g):\n    @functools.wraps(g)\n    def w(*a): return g(*a)\n    return w\nu = d(user)\ndef f(x): return u(x)",
    "contextmanager": "@contextlib.contextmanager\ndef m():\n    yield K\ndef f(x):\n    with m() as k: return x * k",
    "ExitStack callback": "def f(x):\n    l = []\n    with contextlib.ExitStack() as s: s.callback(lambda: l.append(K))\n    return x * l[0]",
    "generator": "def g():\n    yield K\ndef f(x): return x * next(g())",
    "generator in sum": "def g():\n    yield K\ndef f(x): return x * sum(g())",
    "generator expression in sum": "def f(x): return x * sum(i * K for i in [1., 2.])",
    "__len__ by len": "class C:\n    def __len__(self): return int(K)\ndef f(x): return x * len(C())",
    "__iter__ by sum": "class C:\n    def __iter__(self): return iter([K])\ndef f(x): return x * sum(C())",
    "__iter__ by list": "class C:\n    def __iter__(self): return iter([K])\ndef f(x): return x * list(C())[0]",
    "__iter__ by tuple": "class C:\n    def __iter__(self): return iter([K])\nc = C()\ndef f(x): return x * tuple(c)[0]",
    "__getitem__ by list": "class C:\n    def __getitem__(self, i):\n        if i: raise IndexError\n        return K\nc = C()\ndef f(x): return x * list(c)[0]",
    "__float__ by float": "class C:\n    def __float__(self): return K\nc = C()\ndef f(x): return x * float(c)",
    "__index__ by range": "class C:\n    def __index__(self): return int(K)\nc = C()\ndef f(x): return x * len(range(c))",
    "__int__ by int": "class C:\n    def __int__(self): return int(K)\nc = C()\ndef f(x): return x * int(c)",
    "__round__": "class C:\n    def __round__(self, n=None): return K\nc = C()\ndef f(x): return x * round(c)",
    "__abs__": "class C:\n    def __abs__(self): return K\nc = C()\ndef f(x): return x * abs(c)",
    "__neg__": "class C:\n    def __neg__(self): return K\nc = C()\ndef f(x): return x * -c",
    "__bool__ by all": "class C:\n    def __bool__(self): return K > 6\nc = C()\ndef f(x): return x * (1 + all([c]))",
    "__bool__ by any": "class C:\n    def __bool__(self): return K > 6\nc = C()\ndef f(x): return x * (1 + any([c]))",
    "__bool__ by filter": "class C:\n    def __bool__(self): return K > 6\nc = C()\ndef f(x): return x * (1 + len(list(filter(None, [c]))))",
    "__eq__ by in": "class C:\n    def __eq__(self, o): return K > 6\n    __hash__ = None\nc = C()\ndef f(x): return x * (1 + (3 in [c]))",
    "__eq__ by list ==": "class C:\n    def __eq__(self, o): return K > 6\n    __hash__ = None\nc = C()\ndef f(x): return x * (1 + ([c] == [1]))",
    "__eq__ by count": "class C:\n    def __eq__(self, o): return K > 6\n    __hash__ = None\nc = C()\ndef f(x): return x * (1 + [c].count(1))",
    "__eq__ by index": "class C:\n    def __eq__(self, o): return K > 6\n    __hash__ = None\nc = C()\ndef f(x): return x * (1 + [c, 1].index(1))",
    "__hash__ by dict": "class C:\n    def __init__(self, v): self.v = v\n    def __hash__(self): return 1\n    def __eq__(self, o): return K > 6\ndef f(x): return x * len({C(1): 1, C(2): 2})",
    "__lt__ by sorted": "class C:\n    def __init__(self, v): self.v = v\n    def __lt__(self, o): return abs(self.v - K) < abs(o.v - K)\ndef f(x):\n    for c in sorted([C(1.), C(-2.), C(7.)]): x = (x + 1) * c.v\n    return x",
    "__lt__ by heapq": "class C:\n    def __init__(self, v): self.v = v\n    def __lt__(self, o): return abs(self.v - K) < abs(o.v - K)\ndef f(x):\n    h = []\n    for v in (1., -2., 7.): heapq.heappush(h, C(v))\n    return x * h[0].v",
    "bisect key": "def f(x): return x * (1 + bisect.bisect([1., 2.], 6, key=lambda i: i * K))",
    "__format__": "class C:\n    def __format__(self, s): return str(K)\nc = C()\ndef f(x): return x * float(f'{c}')",
    "__str__ by str": "class C:\n    def __str__(self): return str(K)\nc = C()\ndef f(x): return x * float(str(c))",
    "__str__ by format": "class C:\n    def __str__(self): return str(K)\nc = C()\ndef f(x): return x * float('{}'.format(c))",
    "__repr__ by repr": "class C:\n    def __repr__(self): return str(K)\nc = C()\ndef f(x): return x * float(repr(c))",
    "__repr__ by %": "class C:\n    def __repr__(self): return str(K)\nc = C()\ndef f(x): return x * float('%r' % c)",
    "__call__": "class C:\n    def __call__(self, x): return x * K\nc = C()\ndef f(x): return c(x)",
    "__call__ by map": "class C:\n    def __call__(self, x): return x * K\nc = C()\ndef f(x): return list(map(c, [x]))[0]",
    "bound method by map": "class C:\n    def m(self, x): return x * K\nc = C()\ndef f(x): return list(map(c.m, [x]))[0]",
    "class by map": "class C:\n    def __init__(self, x): self.v = x * K\ndef f(x): return list(map(C, [x]))[0].v",
    "staticmethod by map": "class C:\n    @staticmethod\n    def m(x): return x * K\ndef f(x): return list(map(C.m, [x]))[0]",
    "classmethod by map": "class C:\n    @classmethod\n    def m(cls, x): return x * K\ndef f(x): return list(map(C.m, [x]))[0]",
    "__reversed__": "class C:\n    def __reversed__(self): return iter([K])\nc = C()\ndef f(x): return x * list(reversed(c))[0]",
    "__contains__ by operator": "class C:\n    def __contains__(self, o): return K > 6\nc = C()\ndef f(x): return x * (1 + operator.contains(c, 1))",
    "operator.mul of objects": "class C:\n    def __mul__(self, o): return K\nc = C()\ndef f(x): return x * operator.mul(c, 1)",
    "operator.attrgetter": "class C:\n    @property\n    def p(self): return K\nc = C()\ndef f(x): return x * operator.attrgetter('p')(c)",
    "operator.methodcaller": "class C:\n    def p(self): return K\nc = C()\ndef f(x): return x * operator.methodcaller('p')(c)",
    "operator.itemgetter": "class C:\n    def __getitem__(self, i): return K\nc = C()\ndef f(x): return x * operator.itemgetter(0)(c)",
    "sum of objects": "class C:\n    def __radd__(self, o): return o + K\nc = C()\ndef f(x): return x * sum([c])",
    "__getattr__ by getattr": "class C:\n    def __getattr__(self, n): return K\nc = C()\ndef f(x): return x * getattr(c, 'foo')",
    "__getattribute__": "class C:\n    def __getattribute__(self, n): return K\nc = C()\ndef f(x): return x * c.foo",
    "__set_name__": "class D:\n    def __set_name__(self, o, n): o.k = K\ndef f(x):\n    class C:\n        d = D()\n    return x * C.k",
    "__init_subclass__": "class B:\n    def __init_subclass__(cls): cls.k = K\ndef f(x):\n    class C(B): pass\n    return x * C.k",
    "metaclass call": "class M(type):\n    def __call__(cls): return K\nclass C(metaclass=M): pass\ndef f(x): return x * C()",
    "metaclass new": "class M(type):\n    def __new__(m, n, b, d):\n        c = type.__new__(m, n, b, d)\n        c.k = K\n        return c\ndef f(x):\n    class C(metaclass=M): pass\n    return x * C.k",
    "__instancecheck__": "class M(type):\n    def __instancecheck__(cls, o): return K > 6\nclass C(metaclass=M): pass\ndef f(x): return x * (1 + isinstance(3, C))",
    "__subclasscheck__": "class M(type):\n    def __subclasscheck__(cls, o): return K > 6\nclass C(metaclass=M): pass\ndef f(x): return x * (1 + issubclass(int, C))",
    "__class_getitem__": "class C:\n    def __class_getitem__(cls, i): return K\ndef f(x): return x * C[0]",
    "__missing__": "class C(dict):\n    def __missing__(self, k): return K\nc = C()\ndef f(x): return x * c['a']",
    "__post_init__": "@dataclasses.dataclass\nclass C:\n    a: float\n    def __post_init__(self): self.k = K\ndef f(x): return x * C(1.).k",
    "default_factory": "@dataclasses.dataclass\nclass C:\n    a: list = dataclasses.field(default_factory=lambda: [K])\ndef f(x): return x * C().a[0]",
    "__enter__ by ExitStack": "class C:\n    def __enter__(self): return K\n    def __exit__(self, *a): pass\nc = C()\ndef f(x):\n    with contextlib.ExitStack() as s: return x * s.enter_context(c)",
    "closing": "class C:\n    k = [0]\n    def close(self): self.k[0] = K\ndef f(x):\n    c = C()\n    with contextlib.closing(c): pass\n    return x * c.k[0]",
    "__del__": "l = [0.]\nclass C:\n    def __del__(self): l[0] = K\ndef f(x):\n    C()\n    return x * l[0]",
    "weakref callback": "l = [0.]\nclass C: pass\ndef f(x):\n    c = C()\n    r = weakref.ref(c, lambda _: l.__setitem__(0, K))\n    del c\n    return x * l[0]",
    "weakref.finalize": "l = [0.]\nclass C: pass\ndef f(x):\n    c = C()\n    weakref.finalize(c, lambda: l.__setitem__(0, K))\n    del c\n    return x * l[0]",
    "re.sub": "def f(x): return x * float(re.sub('a', lambda m: str(K), 'a'))",
    "copy.copy": "class C:\n    def __copy__(self): return K\nc = C()\ndef f(x): return x * copy.copy(c)",
    "copy.deepcopy": "class C:\n    def __deepcopy__(self, m): return K\nc = C()\ndef f(x): return x * copy.deepcopy(c)",
    "np.vectorize": "def f(x): return x * float(np.vectorize(lambda i: i * K)([1.])[0])",
    "np.fromfunction": "def f(x): return x * float(np.fromfunction(lambda i: i + K, (1,))[0])",
    "np.apply_along_axis": "def f(x): return x * float(np.apply_along_axis(lambda a: a.sum() * K, 0, np.ones(3)))",
    "np.frompyfunc": "def f(x): return x * float(np.frompyfunc(lambda a: a * K, 1, 1)(2.))",
    "np.piecewise": "def f(x): return x * float(np.piecewise(np.ones(2), [np.array([True, True])], [lambda a: a * K])[0])",
    "__array__": "class C:\n    def __array__(self, dtype=None, copy=None): return np.array([K])\nc = C()\ndef f(x): return x * float(np.asarray(c)[0])",
    "__array_function__": "class C:\n    def __array_function__(self, fu, t, a, k): return K\nc = C()\ndef f(x): return x * np.sum(c)",
    "__array_ufunc__": "class C:\n    def __array_ufunc__(self, *a, **k): return K\nc = C()\ndef f(x): return x * np.exp(c)",
    "object array": "class C:\n    def __add__(self, o): return K\ndef f(x): return x * (np.array([C()], object) + 1)[0]",
    "exec": "def f(x):\n    d = {'K': K}\n    exec('r = K', d)\n    return x * d['r']",
    "exec in globals": "def f(x):\n    exec('R = K', globals())\n    return x * R",
    "eval": "def f(x): return x * eval('K')",
    "eval of a call": "def f(x): return eval('user(x)')",
    "compiled inside": "inner = wg.compile(user)\ndef f(x): return inner(x)",
    "forward hook": "net = nn.Identity()\nnet.register_forward_hook(lambda m, a, y: y * K)\ndef f(x): return net(x)",
    "forward pre-hook": "net = nn.Identity()\nnet.register_forward_pre_hook(lambda m, a: (a[0] * K,))\ndef f(x): return net(x)",
    "forward pre-hook with kwargs": "net = nn.Identity()\nnet.register_forward_pre_hook(lambda m, a, k: ((a[0] * K,), k), with_kwargs=True)\ndef f(x): return net(x)",
    "forward hook in f": "net = nn.Identity()\ndef f(x):\n    h = net.register_forward_hook(lambda m, a, y: y * K)\n    y = net(x)\n    h.remove()\n    return y",
    "full backward hook": "net = nn.Linear(2, 2)\nnet.register_full_backward_hook(lambda m, gi, go: tuple(g * K for g in gi))\ndef f(x):\n    x = x.detach().requires_grad_()\n    net(x).sum().backward()\n    return x.grad",
    "full backward pre-hook": "net = nn.Linear(2, 2)\nnet.register_full_backward_pre_hook(lambda m, go: tuple(g * K for g in go))\ndef f(x):\n    x = x.detach().requires_grad_()\n    net(x).sum().backward()\n    return x.grad",
    "global forward hook": "import wengert.nn.module as mm\nnet = nn.Identity()\ndef f(x):\n    h = mm.register_module_forward_hook(lambda m, a, y: y * K)\n    y = net(x)\n    h.remove()\n    return y",
    "tensor hook": "def f(x):\n    x = x.detach().requires_grad_()\n    x.register_hook(lambda g: g * K)\n    (x * 2).sum().backward()\n    return x.grad",
    "tensor hook outside": "w = wg.ones(2, requires_grad=True)\nw.register_hook(lambda g: g * K)\ndef f(x):\n    w.grad = None\n    (x * w).sum().backward()\n    return w.grad",
    "tensor hook outside, autograd.grad": "w = wg.ones(2, requires_grad=True)\nw.register_hook(lambda g: g * K)\ndef f(x): return wg.autograd.grad((x * w).sum(), w)[0]",
    "post-accumulate hook": "w = wg.ones(2, requires_grad=True)\nl = []\nw.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(K))\ndef f(x):\n    w.grad = None\n    (x * w).sum().backward()\n    return w.grad",
    "node prehook": "def f(x):\n    x = x.detach().requires_grad_()\n    y = x * 2\n    y.grad_fn.register_prehook(lambda gs: (gs[0] * K,))\n    y.sum().backward()\n    return x.grad",
    "node hook": "def f(x):\n    x = x.detach().requires_grad_()\n    y = x * 2\n    y.grad_fn.register_hook(lambda gi, go: tuple(None if g is None else g * K for g in gi))\n    y.sum().backward()\n    return x.grad",
    "step pre-hook": "w = wg.ones(2, requires_grad=True)\nopt = optim.SGD([w], lr=0.1)\nopt.register_step_pre_hook(lambda o, a, k: [w.grad.mul_(K)].clear())\ndef f(x):\n    w.data.fill_(1.)\n    w.grad = x.clone()\n    opt.step()\n    return w.detach().clone()",
    "step post-hook": "w = wg.ones(2, requires_grad=True)\nopt = optim.SGD([w], lr=0.1)\nopt.register_step_post_hook(lambda o, a, k: [w.data.mul_(K)].clear())\ndef f(x):\n    w.data.fill_(1.)\n    w.grad = x.clone()\n    opt.step()\n    return w.detach().clone()",
    "step closure": "w = wg.ones(2, requires_grad=True)\nopt = optim.SGD([w], lr=0.1)\ndef f(x):\n    w.data.fill_(1.)\n    def closure():\n        opt.zero_grad()\n        l = (w * x * K).sum()\n        l.backward()\n        return l\n    opt.step(closure)\n    return w.detach().clone()",
    "own optimizer": "class O(optim.Optimizer):\n    def __init__(self, ps): super().__init__(ps, {})\n    def step(self):\n        for g in self.param_groups:\n            for p in g['params']: p.data.add_(p.grad * K)\nw = wg.ones(2, requires_grad=True)\nopt = O([w])\ndef f(x):\n    w.data.fill_(1.)\n    w.grad = x.clone()\n    opt.step()\n    return w.detach().clone()",
    "schedule lambda": "w = wg.ones(2, requires_grad=True)\ndef f(x):\n    opt = optim.SGD([w], lr=0.1)\n    s = optim.lr_scheduler.LambdaLR(opt, lambda e: K)\n    return x * s.get_last_lr()[0]",
    "custom Function forward": "class G(wg.autograd.Function):\n    @staticmethod\n    def forward(ctx, x): return x * K\n    @staticmethod\n    def backward(ctx, g): return g\ndef f(x): return G.apply(x)",
    "custom Function backward": "class G(wg.autograd.Function):\n    @staticmethod\n    def forward(ctx, x): return x * 2\n    @staticmethod\n    def backward(ctx, g): return g * K\ndef f(x):\n    x = x.detach().requires_grad_()\n    G.apply(x).sum().backward()\n    return x.grad",
    "custom Function setup_context": "class G(wg.autograd.Function):\n    @staticmethod\n    def forward(x): return x * 2\n    @staticmethod\n    def setup_context(ctx, i, o): ctx.k = K\n    @staticmethod\n    def backward(ctx, g): return g * ctx.k\ndef f(x):\n    x = x.detach().requires_grad_()\n    G.apply(x).sum().backward()\n    return x.grad",
    "custom Function jvp": "class G(wg.autograd.Function):\n    @staticmethod\n    def forward(x): return x * 2\n    @staticmethod\n    def setup_context(ctx, i, o): pass\n    @staticmethod\n    def jvp(ctx, t): return t * K\ndef f(x): return func.jvp(lambda x: G.apply(x), (x,), (x,))[1]",
    "grad": "def f(x): return func.grad(lambda x: (user(x) ** 2).sum())(x)",
    "vjp": "def f(x): return func.vjp(user, x)[1](x)[0]",
    "jvp": "def f(x): return func.jvp(user, (x,), (x,))[1]",
    "jacrev": "def f(x): return func.jacrev(user)(x)",
    "jacfwd": "def f(x): return func.jacfwd(user)(x)",
    "hessian": "def f(x): return func.hessian(lambda x: (user(x) ** 2).sum())(x)",
    "vmap": "def f(x): return func.vmap(user)(x)",
    "linearize": "def f(x): return func.linearize(user, x)[1](x)",
    "functional_call": "class M(nn.Module):\n    def forward(self, x): return x * K\nm = M()\ndef f(x): return func.functional_call(m, {}, (x,))",
    "module apply": "l = []\nnet = nn.Linear(2, 2)\ndef f(x):\n    l = []\n    net.apply(lambda m: l.append(K))\n    return x * l[0]",
    "extra_repr": "class M(nn.Module):\n    def extra_repr(self): return str(K)\nm = M()\ndef f(x): return x * float(repr(m)[2:-1])",
    "module __getattr__": "class M(nn.Module):\n    def __getattr__(self, n): return K if n == 'foo' else super().__getattr__(n)\nm = M()\ndef f(x): return x * m.foo",
    "user's forward in Sequential": "class M(nn.Module):\n    def forward(self, x): return x * K\nnet = nn.Sequential(M())\ndef f(x): return net(x)",
    "user's __call__ in Sequential": "class M(nn.Module):\n    def __call__(self, x): return x * K\nnet = nn.Sequential(M())\ndef f(x): return net(x)",
    "lambda in module": "class L(nn.Module):\n    def __init__(self, f):\n        super().__init__()\n        self.f = f\n    def forward(self, x): return self.f(x)\nnet = nn.Sequential(L(lambda x: x * K))\ndef f(x): return net(x)",
    "parametrize": "from wengert.nn.utils import parametrize\nclass P(nn.Module):\n    def forward(self, w): return w * K\nnet = nn.Linear(2, 2)\nparametrize.register_parametrization(net, 'weight', P())\ndef f(x): return net(x)",
    "saved_tensors_hooks": "def f(x):\n    x = x.detach().requires_grad_()\n    with wg.autograd.graph.saved_tensors_hooks(lambda t: t * K, lambda t: t):\n        y = (x * x).sum()\n    y.backward()\n    return x.grad",
    "distribution": "class D(wg.distributions.Normal):\n    def log_prob(self, x): return super().log_prob(x) * K\ndef f(x): return D(0., 1.).log_prob(x)",
    "groupby": "def f(x): return x * len(list(itertools.groupby([1, 2], lambda i: i * K > 12)))",
    "__gt__ by max": "class C:\n    def __init__(self, v): self.v = v\n    def __gt__(self, o): return abs(self.v - K) > abs(o.v - K)\ndef f(x): return x * max(C(1.), C(-2.), C(7.)).v",
}

REFUSED = {
    "Tensor.map_": "def f(x): return x.clone().map_(x, lambda a, b: a * K)",
    "Tensor.apply_": "def f(x): return x.clone().apply_(lambda v: v * K)",
    "Thread": "def f(x):\n    l = []\n    t = threading.Thread(target=lambda: l.append(K))\n    t.start(), t.join()\n    return x * l[0]",
}


def story(text: str) -> Any:
    def told(compile: Any) -> Any:
        m = module(PRELUDE + text)
        f, x, seen = compile(m.f), numbers(1, 2), []
        for m.K in (2.0, 2.0, 2.0, 3.0, 3.0, 9.0):
            seen.append(caught(f, x))
        return seen

    return told


@pytest.mark.parametrize("name", CALLED)
def test_what_code_reads_is_noticed_whoever_calls_it(name: str) -> None:
    same(story(CALLED[name]))


@pytest.mark.parametrize("name", CALLED)
def test_each_of_them_depends_on_what_changes(name: str) -> None:
    first, *_, last = story(CALLED[name])(lambda f: f)
    with pytest.raises(AssertionError):
        alike(first, last, 1e-5, "")


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_cannot_be_seen_is_refused_with_its_line(name: str) -> None:
    m = module(PRELUDE + REFUSED[name])
    with pytest.raises(TracingError, match=rf"{m.__name__}.*line \d+, in f"):
        wg.compile(m.f)(numbers(1, 2))


# What makes a function of w, the derivative of which depends on K by what it calls.
PULLED = {
    "a hook of a leaf": "w.register_hook(lambda g: g * K)\ndef f(x): return (x * w).sum()",
    "a hook of a result": "def f(x):\n    y = x * w\n    y.register_hook(lambda g: g * K)\n    return y.sum()",
    "a post-accumulate hook": "w.register_post_accumulate_grad_hook(lambda p: [p.grad.mul_(K)].clear())\ndef f(x): return (x * w).sum()",
    "a backward hook": "net = nn.Linear(2, 1)\nnet.weight = w = nn.Parameter(wg.ones(1, 2))\nnet.register_full_backward_pre_hook(lambda m, go: tuple(g * K for g in go))\ndef f(x): return net(x * w[0]).sum()",
    "a Function's backward": "class G(wg.autograd.Function):\n    @staticmethod\n    def forward(ctx, x): return x * 2\n    @staticmethod\n    def backward(ctx, g): return g * K\ndef f(x): return G.apply(x * w).sum()",
}


@pytest.mark.parametrize("name", PULLED)
def test_what_a_derivative_reads_is_noticed(name: str) -> None:
    def told(compile: Any) -> Any:
        m = module("K = 2.0\nw = wg.ones(2, requires_grad=True)\n" + PULLED[name])
        f, x, seen = compile(m.f), numbers(1, 2), []
        for m.K in (2.0, 2.0, 2.0, 3.0, 3.0, 9.0):
            m.w.grad = None
            f(x).backward()
            seen.append(m.w.grad.clone())
        return seen

    same(told)


def test_what_a_derivative_writes_outside_is_refused() -> None:
    # It was written once, while tracing, and never when the derivative ran.
    m = module(
        "l = []\nw = wg.ones(2, requires_grad=True)\n"
        "def f(x):\n    y = x * w\n    y.register_hook(lambda g: l.append(1))\n    return y.sum()"
    )
    with pytest.raises(TracingError, match=r"changes something outside(.|\n)*line 5"):
        wg.compile(m.f)(numbers(1, 2))
    assert m.l == []


def test_a_function_is_what_it_was_once_it_is_traced() -> None:
    m = module(PRELUDE + "def f(x): return list(map(user, [x]))[0]")
    code = m.user.__code__
    wg.compile(m.f)(numbers(1, 2))
    assert m.user.__code__ is code


EXCHANGED = {
    "an argument": "def f(x, w): return func.functional_call(net, {'weight': w}, (x,))",
    "what is computed": "def f(x, w): return func.functional_call(net, {'weight': w * 2, 'bias': x}, (x,))",
    "its gradient": "def f(x, w):\n    loss = lambda d: (func.functional_call(net, d, (x,)) ** 2).sum()\n    return func.grad(loss)({'weight': w})['weight']",
    "in a row": "two = nn.Sequential(net, nn.ReLU())\ndef f(x, w): return func.functional_call(two, {'0.weight': w}, (x,))",
    "what was there is read": "def f(x, w): return func.functional_call(net, {'weight': w}, (x,)) + net(x)",
    "by the user": "def f(x, w):\n    old = net._parameters['weight']\n    net._parameters['weight'] = w\n    try: return net(x)\n    finally: net._parameters['weight'] = old",
}  # fmt: skip


@pytest.mark.parametrize("name", EXCHANGED)
def test_tensors_stand_for_a_while_in_place_of_parameters(name: str) -> None:
    # Such a call was refused, unless the function had read the parameter before.
    def told(compile: Any) -> Any:
        m = module(f"{PRELUDE}\nnet = nn.Linear(2, 2)\n{EXCHANGED[name]}")
        with wg.no_grad():
            for k, p in enumerate(m.net.parameters()):
                p.copy_(numbers(*range(k, k + p.numel())).reshape(p.shape))
        f, seen = compile(m.f), []
        for k in range(6):
            if k == 3:  # another parameter, which a program must not put back
                m.net.weight = m.nn.Parameter(wg.ones(2, 2))
            before = m.net.weight
            seen.append(caught(f, numbers(1, 2), numbers(k, 1, 0, 1).reshape(2, 2)))
            seen.append(m.net.weight is before)
        return seen

    same(told)


def test_what_a_metaclass_does_when_its_class_is_called_is_that_of_each_call() -> None:
    # Metaclasses counted as a library's, which no one changes.
    def told(compile: Any) -> Any:
        m = module(
            f"{PRELUDE}\nclass Meta(type):\n    def __call__(cls, v):\n"
            "        made = super().__call__(v)\n        made.z = K\n        return made\n"
            "class A(metaclass=Meta):\n    def __init__(self, v): self.v = v\n"
            "class Other:\n    v = z = 7.0\n"
            "def f(x): return x * A(3.0).v * A(1.0).z"
        )
        f, seen = compile(m.f), []
        for change in ("", "K = 3.0", "Meta.__call__ = lambda cls, v: Other()"):
            exec(change, vars(m))  # noqa: S102
            seen += [caught(f, numbers(1)) for _ in range(2)]
        return seen

    same(told)
