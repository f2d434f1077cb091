"""Random programs that train: a network, a loss, an optimizer with its schedule, a step, and what
somebody changes between its calls.

`draw(seed)` is one as text; `Program.run(compile)` is what it does, call by call.
"""

from __future__ import annotations

import copy
import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import wengert as wg
from wengert import nn, optim
from wengert.distributions import Categorical, Normal, kl_divergence
from wengert.nn import functional as F
from wengert.utils.checkpoint import checkpoint

CALLS = 7
SHAPES = {"flat": (5,), "image": (2, 8, 8), "sequence": (6, 4), "words": (6,)}
WORDS = 11

ACTIVATIONS = (
    "ReLU()", "Tanh()", "GELU()", "GELU('tanh')", "SiLU()", "ELU(0.7)", "LeakyReLU(0.1)", "PReLU()",
    "Softplus()", "Mish()", "Hardswish()", "Sigmoid()", "SELU()", "CELU()", "ReLU6()", "Hardtanh()",
    "Softsign()", "Tanhshrink()", "Softshrink(0.1)", "ReLU(inplace=True)", "Dropout(0.3)",
    "RReLU()", "AlphaDropout(0.2)", "Threshold(0.1, 0.5)", "LogSigmoid()", "Hardsigmoid()",
)  # fmt: skip
OF_ROWS = (
    "Linear({n}, {o})", "Linear({n}, {o}, bias=False)", "LayerNorm({n})", "BatchNorm1d({n})",
    "BatchNorm1d({n}, momentum=None)", "RMSNorm({n})", "GroupNorm(1, {n})", "Softmax(-1)",
    "Residual(nn.Linear({n}, {n}), nn.{a})", "spectral_norm(nn.Linear({n}, {o}))",
    "weight_norm(nn.Linear({n}, {o}))", "orthogonal(nn.Linear({n}, {o}))", "Paired({n}, {o})",
)  # fmt: skip
OF_SEQUENCES = (
    "First(nn.RNN({n}, {o}, batch_first=True, nonlinearity='{r}', bidirectional={b}))",
    "First(nn.GRU({n}, {o}, 2, dropout=0.2, batch_first=True, bidirectional={b}))",
    "First(nn.LSTM({n}, {o}, 2, dropout=0.2, batch_first=True, bidirectional={b}))",
    "TransformerEncoderLayer({n}, 1, {o}, 0.1, batch_first=True, norm_first={b})",
    "Attention({n}, {b})", "Linear({n}, {o})", "LayerNorm({n})", "RMSNorm({n})",
    "Turned(nn.Conv1d({n}, {o}, 3, padding=1))",
)  # fmt: skip
OF_IMAGES = (
    "Conv2d({n}, {o}, 3, stride={s}, padding=1, padding_mode='{p}')",
    "Conv2d({n}, {n}, 3, groups={n}, dilation=2, padding='same')",
    "Conv2d({n}, {o}, 1, bias=False)", "BatchNorm2d({n})",
    "BatchNorm2d({n}, affine=False)", "GroupNorm(1, {n})",
    "BatchNorm2d({n}, track_running_stats=False)", "InstanceNorm2d({n}, affine=True)",
    "InstanceNorm2d({n}, track_running_stats=True)", "LocalResponseNorm(2)",
    "MaxPool2d(2)", "AvgPool2d(2)", "MaxPool2d(3, 2, 1)", "AdaptiveAvgPool2d(3)",
    "AdaptiveMaxPool2d((2, 3))", "LPPool2d(2, 2)", "FractionalMaxPool2d(2, output_ratio=0.6)",
    "Dropout2d(0.2)", "Softmax2d()", "Upsample(scale_factor=2)",
    "Upsample(scale_factor=1.5, mode='bilinear')", "ConvTranspose2d({n}, {o}, 2, stride=2)",
    "ReflectionPad2d(1)", "CircularPad2d((0, 1, 1, 0))", "PixelUnshuffle(2)", "PixelShuffle(2)",
    "Residual(nn.Conv2d({n}, {n}, 3, padding=1), nn.{a})", "spectral_norm(nn.Conv2d({n}, {o}, 1))",
)  # fmt: skip
OF_WORDS = (
    "Embedding(11, 4)", "Embedding(11, 4, padding_idx=0)", "Embedding(11, 4, max_norm=1.0)",
    "Embedding(11, 4, scale_grad_by_freq=True)",
)  # fmt: skip
LAYERS = {2: OF_ROWS, 3: OF_SEQUENCES, 4: OF_IMAGES}
OF_USERS = (
    "Noisy()",
    "Counted()",
    "Looped({n})",
    "Chosen()",
    "Custom()",
    "Followed()",
    "Listed({n})",
)

LOSSES = (
    "F.cross_entropy(out, c)", "F.cross_entropy(out, c, label_smoothing=0.1)",
    "F.cross_entropy(out, c, weight=y.abs()[0])", "F.mse_loss(out, y)", "F.huber_loss(out, y)",
    "F.smooth_l1_loss(out, y)", "F.binary_cross_entropy_with_logits(out, y.sigmoid())",
    "F.nll_loss(out.log_softmax(1), c)", "F.l1_loss(out, y)", "F.multi_margin_loss(out, c)",
    "F.kl_div(out.log_softmax(1), y.softmax(1), reduction='batchmean')",
    "F.gaussian_nll_loss(out, y, out.exp() + 0.1)",
    "F.poisson_nll_loss(out.clamp(max=3), y.abs())", "F.triplet_margin_loss(out, y, y.flip(0))",
    "F.cosine_embedding_loss(out, y, c.sign() * 2 - 1)", "F.soft_margin_loss(out, y.sign())",
    "F.mse_loss(out, y) + 0.01 * sum((p ** 2).sum() for p in net.parameters())",
    "-Normal(out, 0.5).log_prob(y).mean()", "-Categorical(logits=out).log_prob(c).mean()",
    "kl_divergence(Normal(out, 1.0), Normal(y, 0.5)).mean()",
    "F.mse_loss(Normal(out, 0.1).rsample(), y)",
)  # fmt: skip
OPTIMIZERS = (
    "SGD({p}, lr=0.05)", "SGD({p}, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01)",
    "SGD({p}, lr=0.05, momentum=0.8, dampening=0.1, maximize=True)", "Adam({p}, lr=0.01)",
    "Adam({p}, lr=0.01, amsgrad=True, weight_decay=0.01)", "AdamW({p}, lr=0.01)",
    "AdamW({p}, lr=0.01, amsgrad=True, maximize=True)", "RMSprop({p}, lr=0.01)",
    "RMSprop({p}, lr=0.01, momentum=0.5, centered=True)", "Adagrad({p}, lr=0.05, lr_decay=0.1)",
    "Adadelta({p})", "Adamax({p}, lr=0.01)", "NAdam({p}, lr=0.01)", "RAdam({p}, lr=0.01)",
    "ASGD({p}, lr=0.05, t0=2)", "Adafactor({p}, lr=0.01)", "SGD({p}, lr=0.05, foreach=True)",
    "Adam({p}, lr=0.01, capturable=True)",
)  # fmt: skip
PARAMETERS = (
    "net.parameters()",
    "net.parameters()",
    "[{'params': [*net.parameters()][:2]}, {'params': [*net.parameters()][2:], 'lr': 0.02}]",
)
SCHEDULES = (
    "StepLR(o, 2)", "ExponentialLR(o, 0.9)", "CosineAnnealingLR(o, 5)", "LinearLR(o, 0.3, 1, 4)",
    "LambdaLR(o, lambda epoch: 1 / (1 + epoch))", "MultiStepLR(o, [1, 3])", "PolynomialLR(o, 5)",
    "OneCycleLR(o, 0.05, total_steps=12, cycle_momentum=False)", "ConstantLR(o, 0.3, 3)",
    "CyclicLR(o, 0.001, 0.01, 2, cycle_momentum=False)", "CosineAnnealingWarmRestarts(o, 3)",
)  # fmt: skip
ZEROS = "o.zero_grad()", "o.zero_grad(set_to_none=False)", "net.zero_grad()", ""
FORWARD = (
    *["out = model(x)"] * 5,
    "out = checkpoint(model, x, use_reentrant=False)",
    "with wg.autocast('cpu', dtype=wg.bfloat16):\n    out = model(x)\nout = out.to(y.dtype)",
)
BACKWARD = (
    *["loss.backward()"] * 5,
    "loss.backward(retain_graph=True)\n(loss * 0.1).backward()",
    "for p, g in zip(ps, wg.autograd.grad(loss, ps, allow_unused=True)): p.grad = g",
    (
        "gs = wg.autograd.grad(loss, ps, create_graph=True, allow_unused=True)\n"
        "(loss + 0.1 * sum(g.pow(2).sum() for g in gs if g is not None)).backward()"
    ),
)
CLIPS = (
    *[""] * 4,
    "nn.utils.clip_grad_norm_(net.parameters(), 0.5)",
    "nn.utils.clip_grad_value_(net.parameters(), 0.1)",
    "nn.utils.clip_grad_norm_(net.parameters(), 1.0, norm_type=float('inf'))",
    "for p in ps: p.grad = None if p.grad is None else p.grad * 0.5",
    "[p.grad.add_(wg.randn_like(p), alpha=0.01) for p in ps if p.grad is not None]",
)
STEPS = *["o.step()"] * 4, "kept['n'] += 1\nif kept['n'] % 2 == 0: o.step()"
AFTER = (
    *[""] * 3,
    "with wg.no_grad():\n    for a, p in zip(average, net.parameters()): a.lerp_(p, 0.1)",
    "kept['sum'] = kept['sum'] + loss.detach()",
    "kept['losses'].append(loss.detach())",
    "kept['least'] = wg.minimum(kept['sum'], loss.detach())",
)
RETURNS = "return loss.detach()", "return loss", "return loss.detach(), out.detach()"
BETWEEN = (
    *[""] * 4, "net.eval()", "net.train()", "o.zero_grad()", "o.zero_grad(set_to_none=False)",
    "o.param_groups[0]['lr'] = o.param_groups[0]['lr'] * 0.5", "net.requires_grad_(True)",
    "next(net.parameters()).requires_grad_(False)", "[p.data.mul_(0.9) for p in net.parameters()]",
    "net.load_state_dict(copy.deepcopy(net.state_dict()))", "next(net.parameters()).grad = None",
    "o.load_state_dict(copy.deepcopy(o.state_dict()))", "kept['rows'] = 3", "kept['rows'] = 5",
    "net.register_forward_hook(lambda m, a, out: out * 1.1)", "net.append(nn.Tanh())",
    "next(net.parameters()).register_hook(lambda g: g.clamp(max=0.01))", "gc.collect()",
    "next(net.parameters()).register_post_accumulate_grad_hook(lambda p: p.grad.mul_(0.5))",
    "o.add_param_group({'params': [extra], 'lr': 0.02})", "last[0].backward()",
    "net.apply(lambda m: m.__dict__.update(p=0.5) if isinstance(m, nn.Dropout) else None)",
    "net.register_full_backward_hook(lambda m, gi, go: (gi[0] and gi[0] * 0.5,))",
    "net.register_forward_pre_hook(lambda m, a: (a[0] * 0.9,) if a[0].is_floating_point() else a)",
    "net[-1].weight = nn.Parameter(net[-1].weight.detach() * 0.5)", "o.state.clear()",
    "net[-1].weight.data = net[-1].weight.data * 0.5", "kept['losses'].clear()",
    "[p.grad.zero_() for p in ps if p.grad is not None]", "average[0].zero_()",
    "net.insert(len(net), nn.Identity())", "net[-1].train(not net[-1].training)",
    "net.double()", "net.float()",
    "wg.manual_seed(5)", "[g.update(weight_decay=0.1) for g in o.param_groups]",
)  # fmt: skip


class Residual(nn.Sequential):
    def forward(self, x: Any) -> Any:
        return x + super().forward(x)


class Part(nn.Module):
    def __init__(self, part: Any) -> None:
        super().__init__()
        self.part = part


class First(Part):
    def forward(self, x: Any) -> Any:
        return self.part(x)[0]


class Turned(Part):
    def forward(self, x: Any) -> Any:
        return self.part(x.transpose(1, 2)).transpose(1, 2)


class Paired(Part):
    def __init__(self, n: int, o: int) -> None:
        super().__init__(nn.Bilinear(n, n, o))

    def forward(self, x: Any) -> Any:
        return self.part(x, x * 0.5)


class Attention(Part):
    def __init__(self, n: int, causal: bool) -> None:
        super().__init__(nn.MultiheadAttention(n, 1, batch_first=True))
        self.causal = causal

    def forward(self, x: Any) -> Any:
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1]).to(x.dtype)
        return self.part(x, x, x, attn_mask=mask if self.causal else None, need_weights=False)[0]


class Noisy(nn.Module):
    def forward(self, x: Any) -> Any:
        return x + 0.1 * wg.randn_like(x) if self.training else x


class Counted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.register_buffer("seen", wg.zeros(()))

    def forward(self, x: Any) -> Any:
        self.calls += 1
        self.seen += 1
        return x * (1 + 1 / self.calls) / self.seen.to(x.dtype)


class Followed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("high", wg.ones(()))

    def forward(self, x: Any) -> Any:
        if self.training:
            self.high = 0.9 * self.high + 0.1 * x.detach().abs().amax().to(self.high.dtype)
        return x / self.high.to(x.dtype)


class Looped(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rate = nn.Parameter(wg.tensor(0.3))

    def forward(self, x: Any) -> Any:
        for k in range(4):
            x = x - self.rate * (x * (k + 1)).sin()
        return wg.fori_loop(0, 3, lambda i, y: y - 0.1 * self.rate * y.tanh(), x)


class Chosen(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.slope = nn.Parameter(wg.tensor(0.5))

    def forward(self, x: Any) -> Any:
        return wg.cond(x.sum() > 0, lambda: x * self.slope, lambda: (x + self.slope).tanh())


class Listed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scales = nn.ParameterList([wg.ones(()), wg.tensor(0.5)])
        self.names = {"first": 0, "second": 1}

    def forward(self, x: Any) -> Any:
        return sum(self.scales[k] * x.pow(k + 1) for k in self.names.values())


class Doubled(wg.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x.sigmoid()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * x.sigmoid() * 2


class Custom(nn.Module):
    def forward(self, x: Any) -> Any:
        return Doubled.apply(x)


class Mean(nn.Module):
    def forward(self, x: Any) -> Any:
        return x.mean(1)


HERE: dict[str, Any] = {
    **{x.__name__: x for x in (Residual, First, Turned, Paired, Attention, Mean, checkpoint)},
    **{x.__name__: x for x in (Noisy, Counted, Followed, Looped, Chosen, Listed, Custom)},
    **{x.__name__: x for x in (Normal, Categorical, kl_divergence)},
    "wg": wg,
    "np": np,
    "nn": nn,
    "optim": optim,
    "F": F,
    "copy": copy,
    "gc": gc,
    **{
        name: getattr(nn.utils.parametrizations, name)
        for name in ("spectral_norm", "weight_norm", "orthogonal")
    },
}


def made(text: str) -> Any:
    name = text.partition("(")[0]
    return eval(text if name in HERE else f"nn.{text}", dict(HERE))  # noqa: S307


Compile = Callable[[Any], Any]


def itself(f: Any) -> Any:
    return f


@dataclass
class Program:
    """A program that trains, as text, and what it is given."""

    seed: int
    dtype: str
    kind: str
    layers: list[str]
    optimizer: str
    schedule: str
    body: str
    between: list[list[str]]
    rows: int = 4

    def __str__(self) -> str:
        net = ",\n    ".join(self.layers)
        return (
            f"# {self.dtype}, {self.kind}\nnet = nn.Sequential(\n    {net}\n)\n"
            f"o = optim.{self.optimizer}\nschedule = {self.schedule or None}\n"
            f"def step(x, y, c):\n{indented(self.body)}# between the calls: {self.between}\n"
        )

    def run(
        self, compile: Compile = itself, within: Compile = itself, shaken: int | None = None
    ) -> list[Any]:
        """What each call returns or raises, and all that there is after it; `compile` its step, or
        the network `within` the step.

        `shaken` programs begin with weights that are rounded in another way.
        """
        wg.manual_seed(self.seed)
        dtype = getattr(wg, self.dtype)
        world = dict(HERE)
        net = world["net"] = nn.Sequential(*map(made, self.layers)).to(dtype)
        if shaken is not None:
            shake(net, np.random.default_rng(shaken))
        world["model"] = within(net)
        world["extra"] = nn.Parameter(wg.ones(3, dtype=dtype))
        o = world["o"] = eval(f"optim.{self.optimizer}", world)  # noqa: S307
        schedule = self.schedule and eval(f"optim.lr_scheduler.{self.schedule}", world)  # noqa: S307
        world["schedule"], world["ps"] = schedule, [*net.parameters()]
        average = world["average"] = [p.detach().clone() for p in net.parameters()]
        kept = world["kept"] = {"n": 0, "sum": wg.zeros((), dtype=dtype), "rows": self.rows}
        kept["losses"] = []
        last: list[Any] = []
        world["last"] = last
        exec(f"def step(x, y, c):\n{indented(self.body)}", world)  # noqa: S102
        step, data, seen = compile(world["step"]), np.random.default_rng(self.seed), []
        for changes in self.between:
            seen.append(outcome(step, *self.arguments(data, kept["rows"], dtype), last))
            rates = [g["lr"] for g in o.param_groups]
            seen.append([net.state_dict(), [p.grad for p in net.parameters()], average, kept])
            seen.append([[*o.state.values()], rates, wg.get_rng_state()])
            seen[-2:] = copy.deepcopy([numbers(x) for x in seen[-2:]])
            for change in changes:
                try:
                    exec(change, world)  # noqa: S102
                except Exception as error:
                    seen.append((change, type(error).__name__))
        return seen

    def arguments(self, data: np.random.Generator, rows: int, dtype: Any) -> Sequence[Any]:
        x = data.normal(size=(rows, *SHAPES[self.kind]))
        words = self.kind == "words"
        given = wg.tensor(np.abs(x * 4).astype(int) % WORDS if words else x)
        y, c = data.normal(size=(rows, 3)), data.integers(0, 3, rows)
        return given if words else given.to(dtype), wg.tensor(y, dtype=dtype), wg.tensor(c)


class Refused(Exception):
    """What compiled functions say that they do not."""


def outcome(step: Any, x: Any, y: Any, c: Any, last: list[Any]) -> Any:
    try:
        result = step(x, y, c)
    except Exception as error:
        if isinstance(error, wg.errors.TracingError) or "differentiated twice" in str(error):
            raise Refused from error
        return type(error).__name__, str(error).partition("\n")[0]
    last[:] = [result] if isinstance(result, wg.Tensor) else result
    return [[numbers(x), x.requires_grad] for x in last]


def shake(net: Any, random: np.random.Generator) -> None:
    with wg.no_grad():
        for p in net.parameters():
            eps = np.finfo(p.numpy().dtype).eps
            p.mul_(wg.tensor(1 + eps * random.choice([-1, 1], tuple(p.shape)), dtype=p.dtype))


def numbers(x: Any) -> Any:
    """What it holds now: tensors as arrays, containers as lists."""
    if isinstance(x, wg.Tensor):
        return np.array(x.detach().float() if x.dtype is wg.bfloat16 else x.detach())
    if isinstance(x, dict):
        return [[key, numbers(value)] for key, value in x.items()]
    return [numbers(part) for part in x] if isinstance(x, (list, tuple)) else x


def indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.split("\n"))


class Drawing:
    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def pick(self, items: Sequence[Any]) -> Any:
        return items[int(self.random.integers(len(items)))]

    def chance(self, p: float) -> bool:
        return bool(self.random.random() < p)

    def layer(self, x: Any) -> str:
        n = int(x.shape[-1] if x.ndim == 3 else x.shape[1])
        a, o = self.pick(ACTIVATIONS), int(self.random.integers(2, 7))
        text = self.pick(OF_USERS) if self.chance(0.15) else self.pick(LAYERS[x.ndim])
        text = a if self.chance(0.2) else text
        p = self.pick(("zeros", "reflect", "circular", "replicate"))
        b, r, s = self.chance(0.3), self.pick(("tanh", "relu")), self.pick((1, 2))
        return str(text.format(n=n, o=o, a=a, p=p, b=b, r=r, s=s))

    def layers(self, kind: str) -> list[str]:
        """Layers that fit each other, from the input to three numbers for each row."""
        x = wg.randn(4, *SHAPES[kind])
        found = [self.pick(OF_WORDS)] if kind == "words" else []
        x = x[..., None].expand(4, 6, 4) if found else x
        wanted = len(found) + int(self.random.integers(2, 6))
        while len(found) < wanted:
            text = self.layer(x)
            try:
                y = made(text)(x).detach()
            except Exception:
                continue
            if y.numel() < 4000 and y.ndim in LAYERS and min(y.shape) and y.isfinite().all():
                found.append(text)
                x = y
        if x.ndim > 2:
            found.append(self.pick(("Flatten()", "Mean()")) if x.ndim == 3 else "Flatten()")
            x = made(found[-1])(x)
        return [*found, f"Linear({x.shape[1]}, 3)"]

    def body(self, schedule: str) -> str:
        zero, early = self.pick(ZEROS), self.chance(0.6)
        within = "schedule.step()" if schedule and self.chance(0.5) else ""
        lines = [
            zero if early else "", self.pick(FORWARD), f"loss = {self.pick(LOSSES)}",
            self.pick(BACKWARD), self.pick(CLIPS), self.pick(STEPS), within, "" if early else zero,
            self.pick(AFTER), self.pick(RETURNS),
        ]  # fmt: skip
        return "\n".join(filter(None, lines))


def draw(seed: int) -> Program:
    d = Drawing(seed)
    wg.manual_seed(seed)
    kind, dtype = d.pick(list(SHAPES)), d.pick(("float32", "float64", "float64"))
    schedule = d.pick(SCHEDULES) if d.chance(0.4) else ""
    optimizer = d.pick(OPTIMIZERS).format(p=d.pick(PARAMETERS))
    layers, body = d.layers(kind), d.body(schedule)
    between = [[d.pick(BETWEEN) for _ in range(int(d.random.integers(3)))] for _ in range(CALLS)]
    # A schedule fails for a group that it does not know, and what comes behind it is done by then.
    not_done = ("", "o.add_param_group({'params': [extra], 'lr': 0.02})" if schedule else "")
    between = [[change for change in changes if change not in not_done] for changes in between]
    if schedule and "schedule" not in body:
        between = [[*changes, "schedule.step()"] for changes in between]
    return Program(seed, dtype, kind, layers, optimizer, schedule, body, between)
