"""Random functions of users: source text, arguments to call it with, and how to compare two calls.

`draw(seed)` writes a function of a few lines, by trying each line on example values: a line that
raises is dropped, so all that is drawn is valid. Its parameters are tensors, arrays and numbers,
and it may read and write tensors of its surroundings, take gradients, and mutate its arguments.
"""

# ruff: noqa: SIM905  (a list of names reads best as words)
from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import wengert as wg
from wengert.errors import InplaceError
from wengert.nn import functional as F

SIZES = (1, 2, 3, 3, 4, 5)
DTYPES = ("float32", "float64", "int64", "bool", "int32")

# A letter in braces stands for an operand or a setting. Tensors: f of floats, t of any kind, i of
# integers, b of bools, g like f with a shape that broadcasts; arrays: a of floats, c one that
# broadcasts, j of integers, m of bools. Settings: d a dimension of the first operand, D a tuple of
# some, k a truth value, n a number, p a positive one, s a small integer, x a basic index, X an
# advanced one, R a shape that it can be reshaped to, P a permutation, S its shape, N its size
# along the dimension drawn last.

UNARY = (
    "abs neg exp sin cos tanh sigmoid relu square erf floor ceil round trunc sign expm1 atan "
    "sinh asinh frac positive"
).split()
POSITIVE = "sqrt log log1p rsqrt reciprocal log2 log10".split()
ACTIVATIONS = (
    "softplus gelu silu elu leaky_relu hardtanh mish logsigmoid relu6 selu softsign"
).split()
NUMPY = "exp sin cos tanh square floor rint sign abs expm1 arctan negative cbrt isnan".split()

MAPS = (
    *(f"{{f}}.{name}()" for name in UNARY),
    *(f"({{f}}.abs() + 0.5).{name}()" for name in POSITIVE),
    *(f"F.{name}({{f}})" for name in ACTIVATIONS), *(f"np.{name}({{f}})" for name in NUMPY),
    *(f"np.{name}({{a}})" for name in NUMPY), "np.sqrt(np.abs({a}) + 0.5)", "np.log1p({a} ** 2)",
    "np.clip({a}, -0.5, {p})", "np.clip({f}, -0.5, {p})", "{f}.clamp(-{p}, {p})",
    "{f}.clamp(min={n})", "{t}.clamp(max={n})", "wg.clamp({f}, {f}, {f})", "{t}.isnan()",
    "{t}.logical_not()", "~{b}", "-{f}", "{f}.nan_to_num()", "{f}.softmax({d})",
    "{f}.log_softmax({d})", "F.normalize({f}, dim={d})", "F.layer_norm({f}, {f}.shape[-1:])",
    "{f}.pow({s})", "{f} ** {s}", "{p} ** {f}", "abs({t})", "np.nan_to_num({a})", "{t}.signbit()",
    "np.round({a}, 1)", "{f}.round(decimals=2)", "F.softmin({f}, dim={d})",
    "F.threshold({f}, {n}, {n})", "{f}.logit(0.1)", "wg.tanh({f})", "{f}.sinc()", "{f}.rad2deg()",
    "wg.lerp({f}, {g}, {p})", "wg.addcmul({f}, {g}, {g}, value={n})",
    "F.dropout({f}, 0.5, training=False)", "F.dropout({f}, 0.3)", "wg.rand_like({f})",
)  # fmt: skip
PAIRS = (
    *(f"{{f}} {op} {{g}}" for op in ("+", "-", "*", "*", "/", "<", "<=", "==", "!=", ">", ">=")),
    *(f"{{t}} {op} {{g}}" for op in ("+", "-", "*", "/")),
    *(f"{{f}} {op} {{n}}" for op in ("+", "-", "*", "/", "//", "%", "<", ">=", "==")),
    *(f"{{n}} {op} {{f}}" for op in ("+", "-", "*")),
    *(f"{{i}} {op} {{s}}" for op in ("+", "-", "*", "/", "//", "%", "<", "==", ">>", "&")),
    *(f"{{i}} {op} {{i}}" for op in ("+", "-", "*", "/", "<", "|", "^")),
    *(f"{{b}} {op} {{b}}" for op in "&|^"), *(f"{{f}} {op} {{c}}" for op in "+-*"),
    *(f"{{a}} {op} {{g}}" for op in "+-*"),
    *(f"{{a}} {op} {{c}}" for op in ("+", "-", "*", "/", "<", ">=", "==")),
    *(f"{{a}} {op} {{n}}" for op in ("+", "-", "*", "/", "//", "%", "**")),
    *(f"{{j}} {op} {{s}}" for op in ("+", "-", "*", "/", "//", "%", "<")),
    *(f"wg.{name}({{f}}, {{g}})" for name in ("maximum", "minimum", "fmax", "atan2", "hypot")),
    *(f"np.{name}({{a}}, {{c}})" for name in ("maximum", "minimum", "arctan2", "hypot", "add")),
    "{f}.add({g}, alpha={s})", "{f}.logaddexp({g})", "{f}.copysign({g})", "{f}.xlogy({p})",
    "wg.where({b}, {f}, {g})", "wg.where({f} > 0, {g}, {n})", "np.where({m}, {a}, {c})",
    "np.where({a} > {n}, {a}, {n})", "np.where({f} > 0, {g}, {f})", "{f}.masked_fill({b}, {n})",
    "{f}.masked_fill({g} > 0, {n})", "wg.where({b}, {n}, {f})", "{t}.eq({t})",
    "np.divide({a}, 2.0, dtype=np.float64)", "np.add.outer({a}, {a})", "{f}.remainder({p})",
    "F.mse_loss({f}, {g})", "F.l1_loss({f}, {g}, reduction='none')", "F.smooth_l1_loss({f}, {g})",
    "F.huber_loss({f}, {g}, reduction='sum')", "wg.isclose({f}, {g})", "{f}.dist({g})",
    "F.binary_cross_entropy_with_logits({f}, wg.sigmoid({g}))", "{f}.float_power(2)",
    "F.kl_div({f}.log_softmax(-1), {g}.softmax(-1), reduction='sum')", "{f}.logical_and({g})",
    "np.logical_or({a} > 0, {c} > 0)", "divmod({a}, {p})[1]", "np.multiply({f}, {g})",
)  # fmt: skip
REDUCTIONS = (
    *(f"{{f}}.{n}()" for n in "sum mean amax amin max min std var prod argmax median".split()),
    *(f"{{f}}.{n}({{d}})" for n in "sum mean amax amin argmax argmin cumsum cumprod".split()),
    *(f"{{t}}.{n}({{d}}, keepdim={{k}})" for n in "sum amax any all argmin prod".split()),
    *(f"{{f}}.{n}({{D}}, keepdim={{k}})" for n in "sum mean amax amin logsumexp".split()),
    *(f"np.{n}({{a}}, axis={{d}})" for n in "sum mean max min argmax std var prod cumsum".split()),
    *(f"np.{n}({{a}}, axis={{D}}, keepdims={{k}})" for n in "sum mean max min var".split()),
    *(f"{{a}}.{n}()" for n in "sum mean max min argmin std any all prod".split()),
    "{f}.max({d})[0]", "{f}.min({d}).indices", "{f}.max({d}, keepdim={k})[{s} % 2]",
    "{f}.var({d}, unbiased={k})", "{f}.std({d}, correction=0, keepdim={k})", "{b}.sum({d})",
    "{f}.norm()", "{f}.norm(dim={d})", "{f}.norm(1, dim={d}, keepdim={k})", "{i}.sum()",
    "np.sum({f}, axis={d})", "np.mean({f})", "np.max({f}, axis={d})", "{b}.any()",
    "{t}.count_nonzero({d})", "{f}.cummax({d})[0]", "{f}.cummin({d}).indices",
    "{f}.logcumsumexp({d})", "{f}.sum(dtype=wg.float64)", "{f}.sort({d})[0]",
    "{f}.sort({d}, descending={k}).indices", "{f}.argsort({d})", "{f}.topk(1, {d})[0]",
    "{f}.topk(2, {d}).indices", "{f}.kthvalue(1, {d})[0]", "{f}.median({d})[0]",
    "np.sort({a}, axis={d})", "np.argsort({a}, axis={d})", "np.sum({m}, axis={d})",
    "np.cumsum({j})", "np.linalg.norm({a})", "{f}.nansum({d})", "np.add.reduce({a}, axis={d})",
    "{f}.diff(dim={d})", "np.diff({a}, axis={d})", "np.any({a} > 0, axis={d})",
    "{f}.quantile(0.25)", "{f}.aminmax(dim={d})[0]", "np.count_nonzero({a} > 0)", "np.ptp({a})",
    "np.median({a})", "{f}.logsumexp({d})", "{f}.trace()",
)  # fmt: skip
VIEWS = (
    "{t}.reshape({R})", "{t}.view({R})", "{t}.flatten()", "{t}.unsqueeze({d})", "{t}.squeeze()",
    "{t}.squeeze({d})", "{t}.transpose({d}, {d})", "{t}.permute({P})", "{f}.T", "{f}.mT",
    "{t}[{x}]", "{f}[{x}]", "{f}[{x}]", "{t}.narrow({d}, 0, 1)", "{t}.select({d}, 0)",
    "{t}.select({d}, -1)", "{t}.flip({d})", "{t}.roll({s}, {d})", "{t}.movedim({d}, {d})",
    "{t}.diagonal()", "{t}.expand(2, *{S})", "{f}.chunk(2, {d})[-1]", "{f}.split(1, {d})[0]",
    "{f}.unbind({d})[0]", "wg.cat([{f}, {f}], {d})", "wg.stack([{f}, {f}], {d})",
    "wg.cat([{t}, {t}])", "wg.hstack([{f}, {f}])", "{f}.tile(2)", "{f}.repeat(2, *{S})",
    "{f}.repeat_interleave(2, {d})", "{f}.tril()", "{f}.triu({s})", "{a}.reshape({R})", "{a}.T",
    "{a}[{x}]", "{a}[{x}]", "np.transpose({a}, {P})", "{a}.ravel()",
    "np.concatenate([{a}, {a}], axis={d})", "np.stack([{a}, {a}], axis={d})",
    "np.expand_dims({a}, {d})", "np.swapaxes({a}, {d}, {d})", "np.flip({a}, {d})",
    "np.roll({a}, {s}, {d})", "np.split({a}, 1, {d})[0]", "np.broadcast_to({a}, (2, *{S}))",
    "np.concatenate([{f}, {f}])", "np.reshape({f}, -1)", "{t}.detach()", "{t}.clone()",
    "{a}.copy()", "{t}.contiguous()", "{a}[::-1]", "np.tile({a}, 2)", "np.repeat({a}, 2)",
    "np.array_split({a}, 2)[0]", "np.vstack([{a}, {a}])", "F.pad({f}, (1, {s}))", "np.pad({a}, 1)",
    "wg.atleast_2d({f})", "{f}.diag_embed()", "np.diagonal({a})", "np.diag({a})", "{f}.numpy()",
    "wg.from_numpy({a})", "np.squeeze({a})", "np.moveaxis({a}, {d}, {d})", "np.atleast_1d({a})",
    "{f}.rot90()", "wg.meshgrid({f}, {f}, indexing='ij')[0]", "{f}.unflatten({d}, (1, -1))",
    "wg.as_tensor({a})", "wg.tensor_split({f}, 2, {d})[1]", "{f}.swapaxes({d}, {d})",
    "{f}.view(-1)", "{f}.expand(*{S})",
)  # fmt: skip
INDEXING = (
    "{t}[{X}]", "{f}[{X}]", "{f}[{i}.reshape(-1)]", "{f}[:, {i}.reshape(-1)]",
    "{f}[{i}.reshape(-1), {i}.reshape(-1)]", "{a}[{j}.reshape(-1)]", "{a}[{X}]",
    "{f}[{j}.reshape(-1)]", "{f}.index_select({d}, wg.tensor([0, 0, 1]))",
    "{f}.index_select({d}, {i}.reshape(-1))", "{f}.take_along_dim({f}.argsort({d}), {d})",
    "{f}.gather({d}, {f}.argmax({d}, keepdim=True))", "{f}.gather({d}, {i})",
    "np.take({a}, [0, 1], axis={d})", "np.take({a}, {j}.reshape(-1))", "{f}.take({i})",
    "np.take_along_axis({a}, np.argsort({a}, axis={d}), {d})", "F.one_hot({i}.abs(), 9)",
    "F.embedding({i}, {f})", "F.cross_entropy({f}, {i})", "F.nll_loss({f}.log_softmax(-1), {i})",
    "F.cross_entropy({f}, {f}.argmax(-1), label_smoothing=0.1)",
    "F.cross_entropy({f}, {f}.softmax(-1))",
    "{f}.scatter({d}, {f}.argmax({d}, keepdim=True), {n})",
    "{f}.scatter_add({d}, {f}.argsort({d}), {f})",
    "{f}.index_add({d}, wg.tensor([0]), {f}.narrow({d}, 0, 1))",
    "{f}.index_fill({d}, wg.tensor([0]), {n})",
    "wg.zeros({S}).index_put(({i},), wg.ones(()), accumulate=True)",
    "{f}.index_copy({d}, wg.tensor([0]), {f}.narrow({d}, 0, 1))", "{f}[..., None]",
    "{f}[wg.arange({N})]", "{f}[{f}.argmax()] * 1",
    "np.searchsorted(np.array([-1.0, 0.0, 1.0]), {a})",
    "wg.bucketize({f}, wg.tensor([-0.5, 0.5]))", "{f}.masked_scatter({b}, {f})",
    "{f}[0 if {k} else -1]", "{f}.scatter({d}, {i}, {n})", "{f}.index_fill({d}, {i}, {n})",
    "{f}.index_add({d}, {i}.reshape(-1), {f})", "F.one_hot({i}, 4)", "{f}[{i}, ..., {i}]",
    "np.take_along_axis({a}, {j}, {d})", "np.choose({j}, [{n}, {n}, {n}])",
    "F.binary_cross_entropy(({i} + 1) * 0.2, ({i} > 0) * 1.0)", "wg.bernoulli({i} * 0.3)",
    "wg.multinomial(({i} + 1) * 0.5, 1)", "F.embedding({i}, {f}, padding_idx=0)",
    "F.nll_loss({f}, {i}, reduction='none', ignore_index=1)", "{f}.put({i}, {f})",
)  # fmt: skip
PRODUCTS = (
    "{f} @ {f}", "{f} @ {f}.mT", "{f}.mT @ {f}", "{f} @ {f}.T", "{a} @ {a}.T",
    "np.dot({a}, {a}.T)", "wg.einsum('ij,kj->ik', {f}, {f})",
    "wg.einsum('...i,...i->...', {f}, {f})", "{f}.outer({f})", "np.einsum('ij,ij->j', {a}, {a})",
    "F.linear({f}, {f})", "F.linear({f}, {f}, {f})", "{f}.matmul({f})", "wg.einsum('ii->i', {f})",
    "wg.bmm({f}, {f}.mT)", "np.matmul({f}, {f})", "wg.tensordot({f}, {f}, 1)",
    "np.tensordot({a}, {a}.T, 1)", "np.outer({a}, {a})", "np.inner({a}, {a})", "{f}.dot({f})",
    "{f}.mv({f})", "wg.addmm({f}, {f}, {f}.T)", "F.cosine_similarity({f}, {f}, dim={d})",
    "wg.kron({f}, {f})", "F.conv1d({f}.reshape(1, 1, -1), wg.ones(1, 1, 2))",
    "F.max_pool1d({f}.reshape(1, 1, -1), 2)", "F.scaled_dot_product_attention({f}, {f}, {f})",
    "wg.cdist({f}, {f})", "{f}.cov()",
)  # fmt: skip
CASTS = (
    "{t}.float()", "{t}.double()", "{f}.int()", "{f}.long()", "{t}.bool()", "{t}.to(wg.float32)",
    "{b}.int()", "{b}.float()", "{a}.astype(np.float32)", "{a}.astype(int)", "{a}.astype(bool)",
    "{f}.to({g}.dtype)", "{f}.type_as({g})", "wg.zeros_like({t})", "wg.ones_like({f})",
    "np.zeros_like({a})", "np.full_like({a}, {n})", "{f}.new_zeros(3)", "wg.arange({N})",
    "wg.full({S}, {n})", "wg.zeros({S}) + {f}", "np.ones({S})", "wg.eye(3)", "np.float32({n})",
    "wg.tensor({n})", "np.arange({N}) * {n}", "{i}.float()", "{i} > 0", "{f} > 0", "{a} > 0",
    "wg.full_like({f}, {n})", "np.zeros_like(np.empty_like({a}))", "wg.linspace(0, 1, 3)",
    "wg.empty_like({f}).fill_({n})", "np.int64({s})", "{f}.half().float()", "{f}.short()",
)  # fmt: skip
WRITES = (
    "{f} += {g}", "{f} *= {n}", "{f} -= {n}", "{f} /= {p}", "{f}.add_({g})", "{f}.mul_({g})",
    "{f}.zero_()", "{f}.fill_({n})", "{f}.clamp_(-{p}, {p})", "{f}.copy_({g})", "{f}[{x}] = {n}",
    "{f}[{x}] = {g}", "{f}[{x}] += {n}", "{f}[{x}] *= {g}", "{f}[{X}] = {n}", "{f}[{X}] += {n}",
    "{f}.masked_fill_({b}, {n})", "{f}[{x}].mul_({n})", "{f}[{x}].tanh_()", "{f}.T.add_({n})",
    "{f}.tanh_()", "{f}.exp_()", "{f}.relu_()", "{f}.view(-1)[0] = {n}", "{f}[{f} > 0] = {n}",
    "{f}[{b}] = {n}", "{f}.neg_()", "{f}.addcmul_({g}, {g})",
    "{f}.index_add_({d}, wg.tensor([0]), {f}.narrow({d}, 0, 1))",
    "{f}.index_fill_({d}, wg.tensor([0]), {n})",
    "{f}.scatter_({d}, {f}.argmax({d}, keepdim=True), {n})", "{a} += {c}", "{a} *= {n}",
    "{a}[{x}] = {n}", "{a}[{x}] = {c}", "{a}[{x}] -= {n}", "{a}[{X}] = {n}", "{a}[{a} > 0] = {n}",
    "{a}.fill({n})", "{i} += {s}", "np.add({a}, {c}, out={a})", "np.exp({a}, out={a})",
    "{a}[...] = {n}", "np.add.at({a}, {j}, {n})", "{b} &= {b}", "np.copyto({a}, {n})",
    "{f}.sub_({g}, alpha={n})", "{f}.lerp_({g}, 0.5)", "{f}.diagonal().zero_()",
    "{f}.fill_diagonal_({n})", "{f}.transpose(0, -1)[0] = {n}", "{h}.data.mul_({n})",
    "{f}.detach().add_({n})", "{f}.detach_()", "{f}.bernoulli_(0.5)", "{f}.uniform_()",
    "{f}.normal_()", "{f}.pow_(2)", "{f}.sigmoid_()", "{f}.floor_()", "{i}[{x}] = {s}",
    "{f}[{i}] = {n}", "{f}[{i}] += {n}", "{f}.index_put_(({i},), wg.tensor({n}), accumulate=True)",
    "{a}[{j}] = {n}", "{a}.sort()", "{a}[..., 0] = {n}",
    "np.put_along_axis({a}, np.argmax({a}, axis={d}, keepdims=True), {n}, {d})",
    "{f}.cumsum_({d})",
)  # fmt: skip
GRADIENTS = (
    "wg.autograd.grad({l}, {r}, allow_unused=True)[0]",
    "wg.autograd.grad({l}, [{r}], create_graph=True, allow_unused=True)[0]",
    "wg.autograd.grad(({l}) * 2, {r}, retain_graph=True, allow_unused=True)[0]",
)
FAMILIES = (
    (MAPS, 20), (PAIRS, 22), (REDUCTIONS, 14), (VIEWS, 18), (INDEXING, 8), (PRODUCTS, 5),
    (CASTS, 7), (WRITES, 12), (GRADIENTS, 3),
)  # fmt: skip
PICKS = [family for family, weight in FAMILIES for _ in range(weight)]
NUMBERS = ("0.5", "2.0", "-1.5", "0.25", "3", "-2", "1e-3", "True")


class Retry(Exception):
    """Nothing there that a template asks for."""


@dataclass
class Function:
    """A drawn function: its source, and the two lists of arguments that it is called with."""

    seed: int
    name: str
    source: str
    arguments: list[list[Any]]
    state: list[np.ndarray] = field(default_factory=list)
    tolerance: float = 2e-4
    """How far results may be apart: by the lowest precision in it."""

    def made(self, noise: Any = None) -> Callable[..., Any]:
        """The function, in surroundings of its own; with `noise`, values are off by a rounding."""
        names: dict[str, Any] = dict(NAMES)
        for k, array in enumerate(self.state):
            tensor = wg.tensor(array.copy())
            names[f"w{k}"] = (
                tensor.requires_grad_() if k == 0 and array.dtype.kind == "f" else tensor
            )
        file = f"<function {self.seed}>"
        source = self.source
        if noise is not None:
            names["shaken"] = lambda x: shaken(x, noise)
            source = re.sub(
                r"^    (?!return).*?\b([vwx]\d+)\b.*$",
                r"\g<0>; shaken(\1)",
                source,
                flags=re.MULTILINE,
            )
        exec(compile(source, file, "exec"), names)  # noqa: S102
        function = names[self.name]
        function.state = [names[f"w{k}"] for k in range(len(self.state))]
        return function

    def fresh(self, call: int) -> list[Any]:
        """Arguments for a call, copied: the function may change them."""
        copies: dict[int, Any] = {}
        return [copies.setdefault(id(x), copied(x)) for x in self.arguments[call]]

    def wild(self) -> list[Any]:
        """Arguments as those of the first call, with integers that may be out of any range."""
        random = np.random.default_rng(self.seed)
        arguments = self.fresh(0)
        for x in arguments:
            array = x._array if isinstance(x, wg.Tensor) else x
            if isinstance(array, np.ndarray) and array.dtype.kind in "iu":
                low = 0 if array.dtype.kind == "u" else -5
                array[...] = random.integers(low, 7, array.shape)
        return arguments


def shaken(x: Any, random: np.random.Generator) -> None:
    """Change the last digits of a value, where it lies."""
    array = x._array if isinstance(x, wg.Tensor) else x
    if isinstance(array, np.ndarray) and array.dtype.kind == "f" and array.flags.writeable:
        size = max(float(np.abs(array[np.isfinite(array)]).max(initial=0)), 1)
        array += 4 * np.finfo(array.dtype).eps * size * random.standard_normal(array.shape)


NAMES = {"wg": wg, "np": np, "F": F}


def copied(x: Any) -> Any:
    if isinstance(x, wg.Tensor):
        return x.detach().clone().requires_grad_(x.requires_grad)
    return x.copy(order="K") if isinstance(x, np.ndarray) else x


def draw(seed: int, lines: int = 6) -> Function:
    """The function of a seed: the first one drawn that can be called twice."""
    random = np.random.default_rng(seed)
    while True:
        drawn = Drawing(random, seed)
        function = drawn.function(1 + int(random.integers(lines)))
        if function is not None:
            return function


class Drawing:
    """Draws one function, holding the values that its names have in an example call."""

    def __init__(self, random: np.random.Generator, seed: int) -> None:
        self.random = random
        self.seed = seed
        self.names: dict[str, Any] = {}
        self.lines: list[str] = []
        self.state: list[np.ndarray] = []
        self.count = 0
        self.shapes = [self.shape() for _ in range(2)]

    def pick(self, items: Any) -> Any:
        return items[int(self.random.integers(len(items)))]

    def chance(self, probability: float) -> bool:
        return bool(self.random.random() < probability)

    def shape(self) -> tuple[int, ...]:
        sizes = tuple(self.pick(SIZES) for _ in range(self.pick((0, 1, 2, 2, 2, 3))))
        if sizes and self.chance(0.04):
            return (*sizes[:-1], 0)
        if len(sizes) > 1 and self.chance(0.06):
            return (*sizes[:-1], self.pick((17, 33, 40)))
        return sizes

    # ---- arguments -------------------------------------------------------------------------

    def data(self, shape: tuple[int, ...], dtype: str) -> np.ndarray:
        if dtype == "bool":
            return np.asarray(self.random.random(shape) > 0.5)
        if "int" in dtype:
            return np.asarray(self.random.integers(0, 3, shape), dtype)
        return np.asarray(self.random.standard_normal(shape), dtype)

    def kinds(self) -> list[Any]:
        """What each parameter is: (container, shape, dtype, requires grad), or a number."""
        found: list[Any] = []
        for _ in range(self.pick((1, 2, 2, 3))):
            roll = self.random.random()
            if roll < 0.08:
                found.append("number")
                continue
            base = self.pick(self.shapes) if self.chance(0.8) else self.shape()
            if base and self.chance(0.2):  # a shape that broadcasts with the others
                base = base[int(self.random.integers(len(base))) :]
            dtype = self.pick(
                ("float32", "float32", "float64", "float64", "int64", "bool", "int32")
            )
            if self.chance(0.1):
                dtype = {"f": "float16", "i": "int8", "b": "int16"}[dtype[0]]
            container = "array" if roll < 0.3 else "tensor"
            found.append(
                (container, base, dtype, dtype[0] == "f" and self.chance(0.5), self.chance(0.1))
            )
        if self.chance(0.08) and found[0] != "number":
            found.append("same")
        return found

    def argument(self, kind: Any, before: list[Any]) -> Any:
        if kind == "number":
            return round(float(self.random.uniform(0.5, 2)), 3)
        if kind == "same":
            return before[0]
        container, shape, dtype, tracked, strided = kind
        array = self.data(shape, dtype)
        if strided and len(shape) > 1:
            array = self.data(shape[::-1], dtype).T
        return array if container == "array" else wg.from_numpy(array).requires_grad_(tracked)

    # ---- lines -----------------------------------------------------------------------------

    def function(self, lines: int) -> Function | None:
        kinds = self.kinds()
        arguments: list[list[Any]] = []
        for _ in range(2):
            given: list[Any] = []
            for kind in kinds:
                given.append(self.argument(kind, given))
            arguments.append(given)
        parameters = [f"x{k}" for k in range(len(kinds))]
        example = Function(self.seed, "", "", arguments).fresh(0)
        self.names = dict(NAMES, **dict(zip(parameters, example, strict=True)))
        if self.chance(0.2):
            dtype = self.pick(("float32", "float64"))
            self.state.append(self.data(self.pick(self.shapes), dtype))
            tracked = self.state[0].copy()
            self.names["w0"] = wg.tensor(tracked).requires_grad_()
            self.state.append(self.data(self.pick(self.shapes), dtype))
            self.names["w1"] = wg.tensor(self.state[1].copy())
        self.used = [*parameters, *(f"w{k}" for k in range(len(self.state)))]
        tries = 0
        while self.count < lines and tries < 200:
            tries += 1
            self.line()
        name = f"f{self.seed}"
        text = self._ending()
        body = "".join(f"    {line}\n" for line in [*self.lines, text])
        source = f"def {name}({', '.join(parameters)}):\n{body}"
        dtypes = {dtype_of(x) for x in map(self.names.get, self.used) if hasattr(x, "dtype")}
        sizes = [dtype.itemsize for dtype in dtypes if dtype.kind == "f"]
        tolerance = {2: 5e-2, 4: 2e-4}.get(min(sizes, default=8), 1e-9)
        found = Function(self.seed, name, source, arguments, self.state, tolerance)
        return found if self._valid(found) else None

    def line(self) -> None:
        """Try one line, and keep it if it does not raise."""
        family = self.pick(PICKS)
        try:
            text = self.filled(self.pick(family))
        except Retry:
            return
        name = f"v{self.count}"
        if family is WRITES:
            inside = self.chance(0.3)
            text = f"with wg.no_grad(): {text}" if inside else text
        else:
            text = f"{name} = {text}"
        try:
            with np.errstate(all="ignore"):
                exec(text, self.names)  # noqa: S102
        except (
            ValueError,
            TypeError,
            RuntimeError,
            IndexError,
            AttributeError,
            NotImplementedError,
            ZeroDivisionError,
        ):
            return
        if family is not WRITES:
            if not fine(self.names[name]):
                del self.names[name]
                return
            self.used.append(name)
        self.lines.append(text)
        self.count += 1

    def _ending(self) -> str:
        """What the function returns."""
        names = [
            n
            for n in self.used
            if isinstance(self.names.get(n), (wg.Tensor, np.ndarray, np.generic))
            and not lost(self.names[n])
        ]
        made = [n for n in names if n.startswith("v")] or names[:1]
        shown = made[-3:] if made else ["1"]
        if self.chance(0.2) and names:
            shown.append(self.pick(names))
        floats = [n for n in made if tracked(self.names[n])]
        if floats and self.chance(0.25):
            losses = " + ".join(f"{n}.sum()" for n in floats[-2:])
            self.lines.append(f"({losses}).backward()")
            shown = [f"{n}.detach()" if n in floats else n for n in shown]
        forms = ["[{}]", "({},)", "{{'a': [{}]}}"] + (["{}"] if len(shown) == 1 else [])
        return "return " + self.pick(forms).format(", ".join(shown))

    def _valid(self, function: Function) -> bool:
        with np.errstate(all="ignore"):
            try:
                made = function.made()
                for call in range(2):
                    given = function.fresh(call)
                    flags = [tracked(x) for x in (*given, *made.state)]
                    outcome(made, given)
                    if flags != [tracked(x) for x in (*given, *made.state)]:
                        return False  # an argument got a history: an error in compiled functions
            except (ValueError, TypeError, RuntimeError, IndexError, AttributeError, NameError):
                return False
        return True

    # ---- templates -------------------------------------------------------------------------

    def filled(self, template: str) -> str:
        """A template with names and settings in the place of its letters."""
        out, rest, first, self.last = [], template, None, 0
        while "{" in rest:
            before, _, rest = rest.partition("{")
            letter, _, rest = rest.partition("}")
            text, value = self.letter(letter, first)
            if first is None and value is not None:
                first = value
            out += [before, text]
        return "".join([*out, rest])

    def letter(self, letter: str, first: Any) -> tuple[str, Any]:
        test = OPERANDS.get(letter)
        if test is not None:
            like = first if letter in "gc" else None
            names = [
                n for n in self.used if test(self.names[n]) and broadcasts(self.names[n], like)
            ]
            if not names:
                raise Retry
            name = self.pick(names[-3:] if self.chance(0.6) else names)
            return name, self.names[name]
        if letter in "lr":
            return self._of_gradient(letter), None
        if first is None and letter not in "npsk":
            raise Retry
        return str(getattr(self, f"_{letter}")(first)), None

    def _of_gradient(self, letter: str) -> str:
        names = [n for n in self.used if tracked(self.names[n]) and not lost(self.names[n])]
        if letter == "r":
            names = [n for n in names if self.names[n].is_leaf or self.chance(0.2)]
        else:
            names = [n for n in names if not self.names[n].is_leaf]
        if not names:
            raise Retry
        return self.pick(names) + (".sum()" if letter == "l" else "")

    def _n(self, x: Any) -> str:
        numbers = [n for n in self.used if type(self.names[n]) is float]
        return self.pick(numbers) if numbers and self.chance(0.4) else self.pick(NUMBERS)

    def _p(self, x: Any) -> str:
        return self.pick(("0.5", "1.0", "2", "1.25"))

    def _s(self, x: Any) -> str:
        return self.pick(("1", "2", "2", "3"))

    def _k(self, x: Any) -> str:
        return self.pick(("True", "False"))

    def _d(self, x: Any) -> int:
        if not x.ndim:
            return 0
        self.last = int(self.random.integers(-x.ndim, x.ndim))
        return self.last

    def _D(self, x: Any) -> tuple[int, ...]:
        return tuple(i for i in range(x.ndim) if self.chance(0.6)) or (0,)

    def _S(self, x: Any) -> tuple[int, ...]:
        return tuple(x.shape)

    def _N(self, x: Any) -> int:
        return x.shape[self.last] if x.ndim else 1

    def _P(self, x: Any) -> tuple[int, ...]:
        return tuple(self.random.permutation(x.ndim).tolist())

    def _R(self, x: Any) -> tuple[int, ...]:
        n = math.prod(x.shape)
        choices = [(-1,), (n,), (1, n), (n, 1), tuple(x.shape)[::-1], (*x.shape, 1)]
        choices += [(k, n // k) for k in (2, 3, 4) if n % k == 0]
        return self.pick(choices)

    def _x(self, x: Any) -> str:
        return ", ".join(self.place(n) for n in x.shape[: self.pick((1, 2, 3))]) or "..."

    def place(self, n: int) -> str:
        choices = [
            ":",
            "None" if self.chance(0.3) else ":",
            "::2",
            "1:",
            ":-1",
            ":1",
            "1:3",
            "...:",
        ]
        choices += ["0", "-1"] if n else []
        text = self.pick(choices)
        return text if text != "...:" else "::-1" if self.chance(0.2) else "-2:"

    def _X(self, x: Any) -> str:
        parts = [self.entry(n) for n in x.shape[: self.pick((1, 2))]]
        return ", ".join(parts) or "..."

    def entry(self, n: int) -> str:
        if not n:
            return ":"
        rows = [int(self.random.integers(-n, n)) for _ in range(2)]
        mask = [bool(k % 2) for k in range(n)]
        grid = [[rows[0]], [rows[1]]]
        array, tensor = f"np.array({rows})", f"wg.tensor({rows})"
        return self.pick(
            (f"{rows}", array, tensor, f"np.array({mask})", f"wg.tensor({grid})", ":", "1:", "0")
        )


def is_tensor(x: Any, kinds: str) -> bool:
    return isinstance(x, wg.Tensor) and dtype_of(x).kind in kinds


def is_array(x: Any, kinds: str) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind in kinds


def dtype_of(x: Any) -> np.dtype:
    return np.dtype(str(x.dtype).rpartition(".")[2])


OPERANDS: dict[str, Callable[[Any], bool]] = {
    "f": lambda x: is_tensor(x, "f"),
    "g": lambda x: is_tensor(x, "f"),
    "t": lambda x: is_tensor(x, "fiub"),
    "i": lambda x: is_tensor(x, "iu"),
    "h": lambda x: is_tensor(x, "f") and x.grad_fn is None,  # saved outputs would change unseen
    "b": lambda x: is_tensor(x, "b"),
    "a": lambda x: is_array(x, "f"),
    "c": lambda x: is_array(x, "f"),
    "j": lambda x: is_array(x, "iu"),
    "m": lambda x: is_array(x, "b"),
}


def broadcasts(x: Any, like: Any) -> bool:
    if like is None:
        return True
    pairs = zip(reversed(x.shape), reversed(like.shape), strict=False)
    return all(a == b or 1 in (a, b) for a, b in pairs)


def tracked(x: Any) -> bool:
    return isinstance(x, wg.Tensor) and x.requires_grad


def lost(x: Any) -> bool:
    """Whether a tensor has no history any more: one of several views whose base was written to.

    It is refused when its history is asked for; by a compiled function when it is returned.
    """
    try:
        _ = isinstance(x, wg.Tensor) and x.is_leaf
    except InplaceError:
        return True
    return False


def fine(x: Any) -> bool:
    """Whether a value may be gone on with: small, and not of a size where rounding is all."""
    if not isinstance(x, (wg.Tensor, np.ndarray, np.generic)):
        return False
    array = x.detach().numpy() if isinstance(x, wg.Tensor) else np.asarray(x)
    if array.size > 400 or array.dtype.kind not in "fiub":
        return False
    return not array.size or array.dtype.kind == "b" or bool((np.abs(array) < 1e3).all())


# ---- calls and what comes of them ----------------------------------------------------------------


def outcome(function: Any, arguments: list[Any]) -> list[Any]:
    """Everything that can be seen of a call: results, gradients, changed arguments and state."""
    wg.manual_seed(3)
    return seen(function(*arguments), arguments, function)


def seen(result: Any, arguments: list[Any], function: Any) -> list[Any]:
    state = function.state
    leaves = list(tensors(result))
    losses = [t.sum() for t in leaves if tracked(t) and t.grad_fn is not None]
    if losses:
        sum(losses[1:], losses[0]).backward()
    found = [plain(result), *map(plain, arguments), *map(plain, state)]
    for x in (*arguments, *state):
        if isinstance(x, wg.Tensor) and x.is_leaf:
            found.append(None if x.grad is None else plain(x.grad))
    for t in state:
        t.grad = None
    return found


def tensors(item: Any) -> Iterator[Any]:
    if isinstance(item, wg.Tensor):
        yield item
    elif isinstance(item, dict):
        for part in item.values():
            yield from tensors(part)
    elif isinstance(item, (list, tuple)):
        for part in item:
            yield from tensors(part)


@dataclass
class Seen:
    """A tensor or array as it was at the time."""

    kind: str
    tracked: bool
    array: np.ndarray


def plain(item: Any) -> Any:
    if isinstance(item, wg.Tensor):
        return Seen("tensor", item.requires_grad, item.detach().numpy().copy())
    if isinstance(item, (np.ndarray, np.generic)):
        return Seen("array", False, np.array(item))
    if isinstance(item, dict):
        return {key: plain(part) for key, part in item.items()}
    if isinstance(item, (list, tuple)):
        return [plain(part) for part in item]
    return item


def compare(found: Any, expected: Any, tolerance: float, where: str = "") -> None:
    """Raise AssertionError where two outcomes differ by more than rounding."""
    if isinstance(expected, Seen):
        compare_arrays(found, expected, tolerance, where)
    elif isinstance(expected, dict):
        for key, part in expected.items():
            compare(found[key], part, tolerance, f"{where}[{key!r}]")
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for k, (x, y) in enumerate(zip(found, expected, strict=True)):
            compare(x, y, tolerance, f"{where}[{k}]")
    elif isinstance(expected, float | np.floating) and type(expected) is type(found):
        near = np.isclose(found, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
        assert near, f"{where}: {found} instead of {expected}"
    else:
        assert found == expected, f"{where}: {found} instead of {expected}"


def compare_arrays(found: Any, expected: Seen, tolerance: float, where: str) -> None:
    assert isinstance(found, Seen), f"{where}: {found} instead of {expected}"
    x, y = found.array, expected.array
    assert found.kind == expected.kind, f"{where} is {found.kind} instead of {expected.kind}"
    assert x.dtype == y.dtype, f"{where} has dtype {x.dtype} instead of {y.dtype}"
    assert x.shape == y.shape, f"{where} has shape {x.shape} instead of {y.shape}"
    assert found.tracked == expected.tracked, f"{where}: requires_grad is {found.tracked}"
    if x.dtype.kind in "biu":
        np.testing.assert_array_equal(x, y, where)
        return
    finite = y[np.isfinite(y)]
    scale = float(np.abs(finite).max(initial=1.0))
    np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * scale, err_msg=where)
