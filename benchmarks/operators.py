"""The operators benchmark: single operators of neural networks and numerics, at ordinary sizes.

wengert and PyTorch share one API, so one definition serves both. Each operator is timed forward,
recording, and then with the gradients of all its tensors, in float32.
"""

import math
from functools import cache, partial

import numpy as np
from scipy.special import ndtri

from benchmarks.peers import load
from benchmarks.report import Report
from benchmarks.running import chosen, run_cases
from benchmarks.timing import Case, Target

PEERS = ("wengert", "PyTorch")
LEGEND = "Both run eagerly; the gradients are those of all tensors that an operator is given."
FORWARD, BOTH = "An operator, forward and recording", "An operator, forward and backward"

AS_FAST = (Target("PyTorch", 1.3),)
CONVOLUTION = (Target("PyTorch", 2.0),)

ROWS = (1024, 256)
IMAGES = (32, 64, 28, 28)
HEADS = (4, 8, 128, 64)  # batch, heads, tokens, features of a head


@cache
def normal(*shape):
    """Random numbers that both peers and all turns share: nothing here changes them.

    No two are equal, which libraries may sort either way: they are the quantiles, shuffled.
    """
    count = math.prod(shape)
    order = np.random.default_rng(0).permutation(count).reshape(shape)
    return ndtri((order + 0.5) / count).astype(np.float32)


def functions(torch):
    """Every operator: its name, what it may cost, the shapes of its tensors, and the operator."""
    f = torch.nn.functional
    words = torch.tensor(np.random.default_rng(0).integers(0, 10_000, (32, 128)))
    running = torch.zeros(64), torch.ones(64)
    return [
        ("softmax", AS_FAST, [ROWS], lambda x: torch.softmax(x, -1)),
        ("log_softmax", (), [ROWS], lambda x: torch.log_softmax(x, -1)),
        ("layer_norm", AS_FAST, [ROWS, (256,), (256,)],
         lambda x, w, b: f.layer_norm(x, (256,), w, b)),
        ("rms_norm", (), [ROWS, (256,)], lambda x, w: f.rms_norm(x, (256,), w)),
        ("batch_norm", (), [IMAGES, (64,), (64,)],
         lambda x, w, b: f.batch_norm(x, *running, w, b, training=True)),
        ("group_norm", (), [IMAGES, (64,), (64,)], lambda x, w, b: f.group_norm(x, 8, w, b)),
        ("gelu", (), [ROWS], f.gelu),
        ("silu", (), [ROWS], f.silu),
        ("conv2d", CONVOLUTION, [IMAGES, (64, 64, 3, 3), (64,)],
         lambda x, w, b: f.conv2d(x, w, b, padding=1)),
        ("max_pool2d", (), [IMAGES], lambda x: f.max_pool2d(x, 2)),
        ("attention", AS_FAST, [HEADS, HEADS, HEADS], f.scaled_dot_product_attention),
        ("embedding", (), [(10_000, 256)], lambda w: f.embedding(words, w)),
        ("cross_entropy", (), [ROWS], lambda x: f.cross_entropy(x, words.reshape(-1)[:1024] % 256)),
        ("sort", AS_FAST, [ROWS], lambda x: torch.sort(x, -1)[0]),
        ("cumsum", AS_FAST, [ROWS], lambda x: torch.cumsum(x, -1)),
        ("einsum", AS_FAST, [HEADS, HEADS],
         lambda q, k: torch.einsum("bhqd,bhkd->bhqk", q, k)),
        ("fft", AS_FAST, [ROWS], lambda x: torch.view_as_real(torch.fft.rfft(x))),
    ]  # fmt: skip


def leaves(torch, shapes):
    return [torch.tensor(normal(*shape), requires_grad=True) for shape in shapes]


def forward(torch, shapes, f):
    tensors = leaves(torch, shapes)
    return lambda: f(*tensors)


def both(torch, shapes, f):
    tensors = leaves(torch, shapes)
    cotangent = torch.tensor(normal(*f(*tensors).shape))
    return lambda: torch.autograd.grad(f(*tensors), tensors, cotangent)


def operator_case(modules, section, make, index) -> Case:
    """One operator by all peers; `make` is `forward` or `both`."""
    listed = {peer: functions(module)[index] for peer, module in modules.items()}
    name, targets, shapes, _ = next(iter(listed.values()))
    return Case(
        section,
        name,
        {peer: partial(make, modules[peer], shapes, f) for peer, (*_, f) in listed.items()},
        targets if make is both else (),
    )


def cases(modules) -> list[Case]:
    count = len(functions(next(iter(modules.values()))))
    return [
        operator_case(modules, section, make, i)
        for section, make in ((FORWARD, forward), (BOTH, both))
        for i in range(count)
    ]


def run(peers, quick: bool, only) -> Report:
    """Check that the peers agree, then time them."""
    modules, missing = load(peers)
    report = Report("operators", list(modules), missing, quick, LEGEND)
    run_cases([case for case in cases(modules) if chosen(case.section, case.name, only)], report)
    return report
