"""wengert.func against torch.func: values, structures, histories, errors."""

import numpy as np
import pytest

import wengert as wg

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")

RNG = np.random.default_rng(2)
A, X, Y = RNG.standard_normal((3, 4)), RNG.standard_normal(4), RNG.standard_normal(4)


def plain(result):
    """A result of either library as NumPy arrays in the same containers."""
    if isinstance(result, dict):
        return {k: plain(v) for k, v in result.items()}
    if isinstance(result, (list, tuple)):
        return type(result)(plain(v) for v in result)
    return result.detach().numpy() if hasattr(result, "detach") else result


def same(ours, theirs):
    assert type(ours) is type(theirs)
    if isinstance(ours, dict):
        assert list(ours) == list(theirs)
        ours, theirs = list(ours.values()), list(theirs.values())
    if isinstance(ours, (list, tuple)):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            same(a, b)
        return
    np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)
    if isinstance(ours, np.ndarray):
        assert ours.dtype == theirs.dtype
        assert ours.shape == theirs.shape


CASES = {
    "grad": lambda T, F, x, y: F.grad(lambda x: (x.sin() * x).sum())(x),
    "grad of two": lambda T, F, x, y: F.grad(lambda x, y: (x * y * y).sum(), (1, 0))(x, y),
    "grad negative": lambda T, F, x, y: F.grad(lambda x, y: (x * y * y).sum(), -1)(x, y),
    "grad unused": lambda T, F, x, y: F.grad(lambda x, y: x.sum(), (0, 1))(x, y),
    "grad aux": lambda T, F, x, y: F.grad(lambda x: (x.sum(), {"y": x * 2}), has_aux=True)(x),
    "grad dict": lambda T, F, x, y: F.grad(lambda d: (d["a"] * d["b"][0]).sum())(
        {"a": x, "b": [y]}
    ),
    "grad twice": lambda T, F, x, y: F.grad(F.grad(lambda a: a**4))(x[0]),
    "grad and value": lambda T, F, x, y: F.grad_and_value(lambda x: (x**3).sum())(x),
    "vjp": lambda T, F, x, y: F.vjp(lambda x, y: x * y, x, y)[1](x),
    "vjp structure": lambda T, F, x, y: F.vjp(lambda x: [x * 2, {"a": x.sum()}], x)[1](
        [y, {"a": y[0]}]
    ),
    "vjp aux": lambda T, F, x, y: F.vjp(lambda x: (x * 2, x), x, has_aux=True)[2],
    "vjp complex": lambda T, F, x, y: F.vjp(lambda z: z * z, T.complex(x, y))[1](T.complex(y, x)),
    "grad complex": lambda T, F, x, y: F.grad(lambda z: (z * z.conj()).real.sum())(T.complex(x, y)),
    "jacrev": lambda T, F, x, y: F.jacrev(lambda x: (T.tensor(A) @ x).tanh())(x),
    "jacrev of two": lambda T, F, x, y: F.jacrev(lambda x, y: (x * y, x.sum()), (0, 1))(x, y),
    "jacrev chunks": lambda T, F, x, y: F.jacrev(lambda x: x * x, chunk_size=2)(x),
    "jacrev dict": lambda T, F, x, y: F.jacrev(lambda d: {"s": d["a"] * d["b"]})({"a": x, "b": y}),
    "jacrev of matrices": lambda T, F, x, y: F.jacrev(lambda m: m.T * 2)(x.reshape(2, 2)),
    "hessian": lambda T, F, x, y: F.hessian(lambda x: (x[0] * x.sin()).sum())(x),
    "hessian of two": lambda T, F, x, y: F.hessian(lambda x, y: (x * y * y).sum(), (0, 1))(x, y),
    "hessian vector": lambda T, F, x, y: F.hessian(lambda x: x**3)(x),
    "jacrev of grad": lambda T, F, x, y: F.jacrev(F.grad(lambda x: (x**4).sum()))(x),
    "float32": lambda T, F, x, y: F.grad(lambda x, y: (x * y).sum(), (0, 1))(x.float(), y),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_results_are_pytorchs(case):
    ours = case(wg, wg.func, wg.tensor(X), wg.tensor(Y))
    theirs = case(torch, torch.func, torch.tensor(X), torch.tensor(Y))
    same(plain(ours), plain(theirs))


ERRORS = {
    "vector": lambda F, x: F.grad(lambda x: x)(x),
    "float": lambda F, x: F.grad(lambda x: 3.0)(x),
    "none": lambda F, x: F.grad(lambda x: None)(x),
    "list": lambda F, x: F.grad(lambda x: [x.sum()])(x),
    "pair": lambda F, x: F.grad(lambda x: (x.sum(), x))(x),
    "no aux": lambda F, x: F.grad(lambda x: x.sum(), has_aux=True)(x),
    "integers": lambda F, x: F.grad(lambda x: x.sum())(x.long()),
    "complex": lambda F, x: F.grad(lambda x: (x * 1j).sum())(x),
    "argnums": lambda F, x: F.grad(lambda x: x.sum(), 1)(x),
    "argnums twice": lambda F, x: F.grad(lambda x: x.sum(), (0, 0))(x),
    "argnums empty": lambda F, x: F.grad(lambda x: x.sum(), ())(x),
    "argnums text": lambda F, x: F.grad(lambda x: x.sum(), "a")(x),
    "write": lambda F, x: F.grad(lambda x: x.sin_().sum())(x),
    "structure": lambda F, x: F.vjp(lambda x: [x], x)[1]((x,)),
    "jacrev complex": lambda F, x: F.jacrev(lambda x: x * 1j)(x),
    "jacrev bool": lambda F, x: F.jacrev(lambda x: x > 0)(x),
}


@pytest.mark.parametrize("case", ERRORS.values(), ids=ERRORS.keys())
def test_errors_are_of_pytorchs_kind(case):
    with pytest.raises(RuntimeError):
        case(torch.func, torch.tensor(X))
    with pytest.raises(RuntimeError):
        case(wg.func, wg.tensor(X))


@pytest.mark.parametrize("outside", [True, False], ids=["grad", "no_grad"])
@pytest.mark.parametrize("x_requires", [True, False])
@pytest.mark.parametrize("w_requires", [True, False])
def test_results_have_history_when_pytorchs_have(outside, x_requires, w_requires):
    found = []
    for T in (wg, torch):
        x = T.tensor(X).requires_grad_(x_requires)
        w = T.tensor(Y).requires_grad_(w_requires)
        with T.set_grad_enabled(outside):
            results = [
                T.func.grad(lambda a, w=w: (w * a * a).sum())(x),
                *T.func.grad_and_value(lambda a, w=w: (w * a * a).sum())(x),
                T.func.grad(lambda a, w=w: (a.sum(), w * 2), has_aux=True)(x)[1],
                T.func.vjp(lambda a, w=w: w * a, x)[0],
                T.func.vjp(lambda a, w=w: w * a, x)[1](x.detach())[0],
                T.func.jacrev(lambda a, w=w: w * a * a)(x),
            ]
        found.append([r.requires_grad for r in results])
    assert found[0] == found[1]


def test_outer_gradients_are_pytorchs():
    found = []
    for T in (wg, torch):
        x, w = (T.tensor(a).requires_grad_() for a in (X, Y))
        g, value = T.func.grad_and_value(lambda a, w=w: (w * a**3).sum())(x)
        total = (g * g).sum() + value
        found.append([a.numpy() for a in T.autograd.grad(total, (x, w))])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10)


def test_functional_call_is_pytorchs():
    results = []
    for T in (wg, torch):
        net = T.nn.Sequential(T.nn.Linear(4, 3), T.nn.Tanh(), T.nn.Linear(3, 2)).double()
        values = {
            name: T.tensor(np.cos(np.arange(p.numel())).reshape(tuple(p.shape)))
            for name, p in net.named_parameters()
        }
        x = T.tensor(X)

        def loss(p, T=T, net=net, x=x):
            return (T.func.functional_call(net, p, (x,)) ** 2).sum()

        results.append(plain([T.func.grad(loss)(values), T.func.hessian(loss)(values)]))
    same(*results)


def test_the_arguments_have_the_same_names():
    import inspect

    for name in ("grad", "grad_and_value", "vjp", "jvp", "jacrev", "jacfwd", "hessian", "vmap"):
        ours, theirs = (inspect.signature(getattr(m.func, name)).parameters for m in (wg, torch))
        assert set(theirs) - set(ours) <= {"_preallocate_and_copy"}, name
