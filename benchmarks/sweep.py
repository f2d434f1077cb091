"""The sweep: the operations of daily use, on few, some and many numbers, beside PyTorch.

It looks for what is slow rather than for what is fast. A line of the table is the program that is
timed: its leaves (`leaves`) get gradients, the other names are constants of both peers. Beside them
NumPy's own calls are timed which the operation consists of (`bare.py`): where these alone take
twice PyTorch's time, NumPy is the limit, and the line says so.
"""

import itertools
import math
import re
import statistics
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial

import numpy as np

from benchmarks.bare import calls
from benchmarks.peers import load
from benchmarks.report import Report
from benchmarks.running import chosen, run_cases
from benchmarks.timing import Case

PEERS = ("wengert", "PyTorch")
LEGEND = (
    "Both run eagerly, on one thread, in float32, and in complex128 what both take of "
    "that. Beside them, the calls of NumPy alone that an operation is written in."
)
LIMIT = 2
"""So many times PyTorch's time is to be the most, but where NumPy's own calls take that."""
DTYPES = "float32", "complex128"
SIDES = {"small": 10, "middle": 100, "large": 316}
"""Of square matrices; other arrays are of about as many numbers."""

# elu and its kin are of numbers on both sides of 0, as a layer's are: all others here are positive,
# and PyTorch leaves out the exponential where all neighbours in a register are.
ELEMENTS = """
x + y; x + 2.0; x - y; 1 - x; x * y; x * 2.0; x / y; 1 / x; -x; x + vector; x * vector[:, None]
x**2; x**3; torch.pow(x, 3.0); x**4; x**-1; x**0.5; x**y; 2.0**x; torch.square(x); torch.rsqrt(x)
torch.fmod(x, 0.3); torch.remainder(x, 0.3); x % b; torch.reciprocal(x); x.clone()
torch.addcmul(x, x, y); torch.addcdiv(x, x, y); torch.lerp(x, y, 0.3); torch.abs(x); torch.sign(x)
torch.exp(x); torch.exp2(x); torch.expm1(x); torch.log(x); torch.log10(x); torch.log1p(x)
torch.log2(x); torch.sqrt(x); torch.sin(x); torch.cos(x); torch.tan(x); torch.asin(x)
torch.acos(x); torch.atan(x); torch.sinh(x); torch.cosh(x); torch.tanh(x); torch.asinh(x)
torch.atanh(x); torch.erf(x); torch.erfc(x); torch.erfinv(x); torch.lgamma(x); torch.digamma(x)
torch.i0(x); torch.sinc(x); torch.logit(x); torch.sigmoid(x); torch.relu(x); torch.nan_to_num(x)
torch.floor(x); torch.ceil(x); torch.round(x); torch.trunc(x); torch.frac(x); torch.deg2rad(x)
f.elu(x - 0.5); f.celu(x - 0.5); f.selu(x - 0.5); f.gelu(x); f.gelu(x, approximate="tanh")
f.glu(x)
f.hardshrink(x); f.hardsigmoid(x); f.hardswish(x); f.hardtanh(x); f.leaky_relu(x); f.logsigmoid(x)
f.mish(x); f.relu6(x); f.silu(x); f.softplus(x); f.softshrink(x); f.softsign(x); f.tanhshrink(x)
f.threshold(x, 0.5, 0.1); f.prelu(x, vector[:1]); torch.atan2(x, y); torch.hypot(x, y)
torch.logaddexp(x, y); torch.maximum(x, y); torch.minimum(x, y); torch.fmax(x, y)
torch.clamp(x, 0.2, 0.8); x.clamp(min=0.5); torch.where(mask, x, y); torch.where(mask, x, 0.0)
x.masked_fill(mask, 0.0); torch.xlogy(x, y); torch.copysign(x, y); x.double(); x.half().float()
x.bfloat16().float()
"""

REDUCTIONS = """
x.sum(); x.sum(0); x.sum(1); x.sum((0, 1)); x.mean(); x.mean(0); x.mean(-1, keepdim=True)
x.prod(); x.prod(0); x.prod(1); x.std(); x.std(0); x.std(1); x.var(); x.var(0); x.var(1); x.amax()
x.amax(0); x.amax(1); x.amin(1); x.max(); x.min(); x.max(1)[0]; x.min(0)[0]; x.norm()
x.norm(dim=0); x.norm(dim=1); torch.norm(x, 1); torch.linalg.vector_norm(x); x.median()
x.median(0)[0]; x.median(1)[0]; x.nanmedian(1)[0]; x.nansum(); x.nansum(1); x.mode(1)[0]
torch.quantile(x, 0.3, 1); torch.logsumexp(x, 1); torch.var_mean(x, 1)[0]; torch.aminmax(x)[0]
torch.dist(x, y); x.trace(); boxes.sum(1); x.cumsum(0); x.cumsum(1); x.cumprod(0); x.cumprod(1)
x.cummax(1)[0]; x.cummin(0)[0]; x.logcumsumexp(1); x.diff(); x.softmax(1); x.softmax(0)
x.log_softmax(1); x.log_softmax(0); f.normalize(x); f.cosine_similarity(x, y)
f.pairwise_distance(x, y); x.sort()[0]; x.sort(0)[0]; x.sort(descending=True)[0]; x.msort()
x.topk(5)[0]; x.topk(5, 0)[0]; x.topk(5, largest=False)[0]; x.kthvalue(3)[0]
"""

PLACES = """
x.t(); x.reshape(-1); x.view(-1, 1, 2); x.flip(0); x.roll(1, 0); x.permute(1, 0); x.movedim(0, 1)
x.unsqueeze(0); x.t().contiguous(); x.narrow(0, 1, 5); x.expand(3, *x.shape); x.rot90()
x.tile(2, 1); torch.cat((x, y)); torch.cat((x, y), 1); torch.stack((x, y))
torch.stack((x, y), -1); torch.hstack((x, y)); x.split(5)[0]; x.chunk(2, 1)[0]; x.unbind()[0]
x.repeat(2, 2); x.repeat_interleave(2, 0); x.tril(); x.triu(); x.diagonal()
torch.diag_embed(x[:5]); x.unfold(0, 3, 1); f.pad(x, (1, 1, 1, 1))
torch.meshgrid(x[0], x[1], indexing="ij")[0]; x[2]; x[1:-1, ::2]; x[picks]; x[picks, picks]
x[mask]; x[:, picks]; torch.gather(x, 1, index); torch.gather(x, 0, index)
x.index_select(0, picks); x.index_select(1, picks); torch.take(x, index)
x.scatter_add(1, index, y); x.scatter_add(0, index, y); x.index_add(0, picks, y)
x.index_put((picks,), y, accumulate=True); x.index_put((picks, picks), vector, accumulate=True)
x.index_fill(0, picks, 1.0); x.masked_select(mask); x.masked_scatter(mask, y)
x.scatter_reduce(1, index, y, "sum"); x.take_along_dim(index, 1); x.select_scatter(vector, 0, 1)
f.embedding(index, x); f.embedding(words, table)
"""

PRODUCTS = """
x @ y; x @ vector; torch.dot(x[0], y[0]); torch.outer(x[0], y[0]); f.linear(x, y, vector)
torch.addmm(x, x, y); torch.bmm(small, smaller); small @ smaller.mT
torch.einsum("ij,kj->ik", x, y); torch.einsum("bij,bkj->bik", small, smaller)
torch.kron(x[:9, :9], y[:9, :9]); torch.tensordot(x, y, 1); torch.linalg.cross(x[:, :3], b[:, :3])
torch.cdist(x, y); torch.cdist(x, y, 1.0); f.pdist(x); torch.linalg.vecdot(x, y); torch.cov(x)
torch.corrcoef(x); f.bilinear(x[:, :8], y[:, :8], small[:4])
torch.linalg.solve(small + unit, smaller); torch.linalg.inv(small + unit)
torch.linalg.det(small + unit); torch.linalg.cholesky(small @ small.mT + unit)
torch.view_as_real(torch.fft.rfft(x)); heads.transpose(1, 2).reshape(2, -1, 64)
f.scaled_dot_product_attention(heads, keys, keys)
f.scaled_dot_product_attention(heads, keys, keys, is_causal=True)
"""

LOSSES = """
f.mse_loss(x, y); f.l1_loss(x, y); f.smooth_l1_loss(x, y); f.huber_loss(x, y); f.kl_div(x, b)
f.cross_entropy(x, picks); f.cross_entropy(x, b); f.nll_loss(x, picks); f.poisson_nll_loss(x, b)
f.binary_cross_entropy(x, b); f.binary_cross_entropy_with_logits(x, b); f.soft_margin_loss(x, b)
f.triplet_margin_loss(x, y, b); f.cosine_embedding_loss(x, y, ones); f.multi_margin_loss(x, picks)
f.gaussian_nll_loss(x, b, y); f.cross_entropy(images, pixels)
f.ctc_loss(speech.log_softmax(-1), spoken, (20, 20, 20, 20), (5, 5, 5, 5))
f.layer_norm(x, x.shape[1:], ones, vector); f.rms_norm(x, x.shape[1:], ones)
f.batch_norm(x, None, None, ones, vector, True); f.batch_norm(x, vector, ones, ones, vector)
f.batch_norm(images, None, None, eight, eight, True)
f.batch_norm(images, eight, eight, eight, eight); f.group_norm(images, 2, eight, eight)
f.instance_norm(images); f.local_response_norm(images, 3)
"""

IMAGES = """
f.conv1d(lines, kernel[..., 0]); f.conv2d(images, kernel, padding=1)
f.conv2d(images, kernel, stride=2); f.conv2d(images, kernel[:, :, :1, :1])
f.conv2d(images, kernel[:, :1], padding=1, groups=8); f.conv2d(images, kernel[:, :4], groups=2)
f.conv_transpose2d(images, kernel, stride=2); f.conv3d(volumes, kernel[..., None])
f.max_pool1d(lines, 2); f.max_pool2d(images, 2); f.max_pool2d(images, 3, 2, 1)
f.avg_pool1d(lines, 2); f.avg_pool2d(images, 2); f.adaptive_avg_pool2d(images, 1)
f.adaptive_avg_pool2d(images, 3); f.adaptive_max_pool2d(images, 3); f.lp_pool2d(images, 2.0, 2)
f.unfold(images, 3); f.fold(f.unfold(images, 3), images.shape[2:], 3)
f.interpolate(images, scale_factor=2); f.interpolate(images, scale_factor=2, mode="bilinear")
f.interpolate(images, size=(17, 23), mode="bilinear", align_corners=True)
f.interpolate(images, scale_factor=2, mode="bicubic")
f.interpolate(images, size=(4, 4), mode="area")
f.interpolate(lines, scale_factor=2, mode="linear")
f.grid_sample(images, grid, align_corners=False)
f.grid_sample(images, grid, mode="nearest", align_corners=False)
f.grid_sample(images, grid, padding_mode="border", align_corners=False)
f.affine_grid(turns, images.shape, align_corners=False); f.pixel_shuffle(images, 2)
f.pad(images, (2, 2, 2, 2), "reflect"); f.pad(images, (2, 2, 2, 2), "replicate")
f.pad(images, (2, 2, 2, 2), "circular")
"""

CONSTANT = """
memory.zero_(); memory.fill_(0.5); memory.clamp_(0.2, 0.8); memory.copy_(a); memory.relu_()
memory.copy_(a).add_(b); memory.copy_(a).mul_(b); memory.zero_().addcmul_(a, b)
memory.copy_(a).index_put_((picks,), b, accumulate=True); memory.copy_(a).masked_fill_(mask, 0.0)
torch.zeros(a.shape); torch.ones(a.shape); torch.full(a.shape, 2.0); torch.zeros_like(a)
torch.arange(a.numel()); torch.linspace(0, 1, a.numel()); torch.eye(len(a)); torch.tensor(ARRAY)
torch.tensor([1.0, 2.0, 3.0]); a.tolist() and None; a[0, 0].item() and None; a.half(); a.int()
a.long(); a.bool(); halves.float(); index.float(); halves + halves; halves * 2.0
torch.equal(a, a) and None; torch.allclose(a, a) and None; a == b; a > 0.5; a != b; ~mask
torch.logical_and(mask, mask); torch.isnan(a); torch.isfinite(a); torch.isclose(a, b); mask.any()
mask.all(); mask.any(1); a.argmax(); a.argmax(1); a.argmax(0); a.argmin(1); a.argsort()
torch.nonzero(mask); torch.count_nonzero(mask); torch.isin(index, THREE); torch.histc(a, 20)
torch.bincount(index.view(-1)); torch.unique(index); torch.searchsorted(sorted, a)
torch.bucketize(a, sorted[::7]); f.one_hot(picks, len(a)); index.sort()[0]; index + index
index * 3; index.sum(); index // 3; index % 3; index & 3; index << 2; index.max(); mask.sum()
a.double().mean(); a.sum(dtype=torch.float64); torch.cartesian_prod(a[0], b[0])
torch.vander(a[0], 4); torch.view_as_real(torch.complex(a, b) * torch.complex(b, a))
torch.tril_indices(*a.shape)
"""

RANDOM = """
memory.normal_(); memory.uniform_(); memory.bernoulli_(0.3); memory.exponential_()
torch.rand(a.shape); torch.randn(a.shape); torch.randint(0, 9, a.shape); torch.randperm(a.numel())
torch.bernoulli(a); torch.multinomial(a, 3); f.dropout(a, 0.3); torch.randn_like(a)
"""

TABLES = {
    "elements": ELEMENTS, "reductions": REDUCTIONS, "places": PLACES, "products": PRODUCTS,
    "losses": LOSSES, "images": IMAGES, "constants": CONSTANT, "random": RANDOM,
}  # fmt: skip


@cache
def numbers(*shape):
    """Numbers in (0.05, 0.95) in random order, no two equal: inside every operation's domain."""
    count = math.prod(shape)
    order = np.random.default_rng(0).permutation(count).reshape(shape)
    return (0.05 + 0.9 * (order + 0.5) / count).astype(np.float32)


@cache
def choices(n, *shape):
    return np.random.default_rng(0).integers(0, n, shape)


def leaves(n: int) -> dict[str, tuple[int, ...]]:
    """The shapes of what is differentiated."""
    side, batch = round(n**0.5) + 5, n // 40 + 1
    return {
        "x": (n, n), "y": (n, n), "boxes": (n, 10, n // 10), "table": (1000, 32),
        "small": (n // 2, 8, 8), "smaller": (n // 2, 8, 8), "heads": (2, 4, n // 4 + 4, 16),
        "keys": (2, 4, n // 4 + 4, 16), "images": (batch, 8, side, side), "speech": (20, 4, n),
        "lines": (batch, 8, side * side), "volumes": (batch, 8, 6, side, 6),
        "kernel": (8, 8, 3, 3), "turns": (batch, 2, 3),
    }  # fmt: skip


def in_dtype(array, dtype: str):
    """Floats in this dtype; complex ones have others of them as imaginary parts."""
    if array.dtype != np.float32 or dtype == "float32":
        return array
    return (array + 1j * np.roll(array, 1)).astype(dtype)


def constants(torch, n: int, dtype: str) -> dict:
    """What is not: the same numbers for both peers."""
    images = leaves(n)["images"]
    arrays = {
        "a": numbers(n, n), "b": numbers(n, n)[::-1].copy(), "memory": numbers(n, n).copy(),
        "vector": numbers(n), "ones": np.ones(n, np.float32), "eight": numbers(8),
        "sorted": np.sort(numbers(n * n)), "unit": 9 * np.eye(8, dtype=np.float32),
        "grid": 2 * numbers(images[0], *images[2:], 2) - 1, "halves": numbers(n, n).astype("e"),
        "index": choices(n, n, n), "picks": choices(n, n), "mask": choices(2, n, n) > 0,
        "pixels": choices(8, images[0], *images[2:]), "spoken": 1 + choices(n - 1, 4, 5),
        "words": choices(1000, n), "THREE": np.arange(3),
    }  # fmt: skip
    arrays |= {"ARRAY": numbers(n, n)}
    arrays = {name: in_dtype(array, dtype) for name, array in arrays.items()}
    tensors = {name: torch.tensor(array) for name, array in arrays.items() if name != "ARRAY"}
    return tensors | {"torch": torch, "f": torch.nn.functional, "ARRAY": arrays["ARRAY"]}


def programs(table: str) -> list[str]:
    """The programs of a table.

    >>> programs("x + y; f.elu(x)\\nf.pad(x, (1, 1))")
    ['x + y', 'f.elu(x)', 'f.pad(x, (1, 1))']
    """
    return [text for line in table.strip().splitlines() for text in line.split("; ")]


Made = tuple[Callable[[], object], list]


def made(torch, program: str, n: int, differentiate: bool, compare: bool, dtype: str) -> Made:
    """One program as a function without arguments, whose result is the program's, or the gradients
    of its leaves; and its tensors.
    """
    words = set(re.findall(r"\w+", program))
    named = {name: shape for name, shape in leaves(n).items() if name in words}
    names = constants(torch, n, dtype)
    function = eval(f"lambda {', '.join(named)}: {program}", names)  # noqa: S307
    given = [names[name] for name in words & names.keys() if name not in ("torch", "f", "ARRAY")]
    tensors = [
        torch.tensor(in_dtype(np.roll(numbers(*shape), place), dtype), requires_grad=True)
        for place, shape in enumerate(named.values())
    ]  # no two of them are equal
    if not differentiate:
        run = lambda: function(*tensors) if compare else (function(*tensors), None)[1]
        return run, [*tensors, *given]
    result = function(*tensors)
    # Not the numbers of a leaf: what normalizes has no gradient there but rounding errors.
    cotangent = torch.tensor(np.roll(numbers(*result.shape), -1)).to(result.dtype)
    run = lambda: torch.autograd.grad(function(*tensors), tensors, cotangent, allow_unused=True)
    return run, [*tensors, *given, cotangent]


def work(*described) -> Callable[[], object]:
    return made(*described)[0]


def bare(*described) -> Callable[[], object]:
    """NumPy's calls in it."""
    return calls(*made(*described))


def takes(torch, program: str, differentiate: bool, dtype: str) -> bool:
    """Whether a program is one of this dtype as well, and a library has it: asked of it itself."""
    if dtype == "float32":
        return True
    try:
        with warnings.catch_warnings(action="ignore"):  # of imaginary parts that a cast leaves out
            run, tensors = made(torch, program, SIDES["small"], differentiate, True, dtype)
            run()
    except (RuntimeError, TypeError, ValueError, NotImplementedError):
        return False
    return any(str(x.dtype).endswith(dtype) for x in tensors)


def cases(modules) -> Iterator[Case]:
    for dtype, (size, n), (kind, table) in itertools.product(DTYPES, SIDES.items(), TABLES.items()):
        for way in ("forward", "both")[: 1 if kind in ("constants", "random") else 2]:
            for program in programs(table):
                asked = program, n, way == "both", kind != "random", dtype
                if all(takes(m, program, way == "both", dtype) for m in modules.values()):
                    yield Case(
                        ", ".join((kind, size, way) + (dtype,) * (dtype != DTYPES[0])),
                        program,
                        {p: partial(work, module, *asked) for p, module in modules.items()},
                        yardsticks={
                            yardstick: partial(bare, modules[peer], *asked)
                            for yardstick, peer in {"NumPy": "wengert"}.items()
                            if peer in modules
                        },
                    )


def by_its_calls(ratio: float, alone: float, limit: float) -> bool:
    """Whether NumPy's calls alone take so many times PyTorch's time. Those that take longer than
    the operation, by more than times differ from run to run, are not what it is computed by.

    >>> by_its_calls(3.6, 3.5, 2), by_its_calls(3.6, 3.7, 2), by_its_calls(3.6, 6.7, 2)
    (True, True, False)
    """
    return limit < alone <= 1.1 * ratio


def summary(pairs: list[tuple[float, float]]) -> str:
    """How ratios lie, each beside that of NumPy's calls alone.

    >>> summary([(0.5, 0.2), (1.0, 0.8), (2.5, 2.1), (6.0, 1.0)])
    "4 lines: median 1.75; 2 above 2, 1 of them where NumPy's calls alone are; 1 above 5, 0 of them"
    """
    ratios = [ratio for ratio, _ in pairs]
    above = []
    for limit, words in ((LIMIT, " where NumPy's calls alone are"), (5, "")):
        slow = [pair for pair in pairs if pair[0] > limit]
        by_numpy = sum(by_its_calls(*pair, limit) for pair in slow)
        above.append(f"{len(slow)} above {limit}, {by_numpy} of them{words}")
    return f"{len(ratios)} lines: median {statistics.median(ratios):.2f}; {'; '.join(above)}"


def run(peers, quick: bool, only) -> Report:
    """Check that the peers agree, then time them."""
    modules, missing = load(peers)
    report = Report("sweep", list(modules), missing, quick, LEGEND)
    run_cases([case for case in cases(modules) if chosen(case.section, case.name, only)], report)
    judge(report)
    return report


def judge(report: Report) -> None:
    """Let the lines above the limit lead, say of which NumPy's calls are the limit, and sum up."""
    pairs: dict[str, list[tuple[float, float]]] = {}
    for row in report.rows:
        ratio = row.ratio("PyTorch")
        if ratio:
            alone = ratio / (row.ratio("NumPy") or math.inf)
            size_and_dtype = ", ".join(row.section.split(", ")[1::2])
            pairs.setdefault(size_and_dtype, []).append((ratio, alone))
            row.leads = ratio > LIMIT
            if by_its_calls(ratio, alone, LIMIT):
                row.limit = f"NumPy alone: {alone:.1f}"
    if len(pairs) > 1:
        pairs["all"] = [pair for some in pairs.values() for pair in some]
    report.notes += [f"{name}: {summary(some)}." for name, some in pairs.items()]
