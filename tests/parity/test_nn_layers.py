"""Modules against PyTorch, with PyTorch's weights: outputs, gradients, names, printed text."""

import copy
import pickle

import numpy as np
import pytest

import wengert as wg

torch = pytest.importorskip("torch")
pytest.importorskip("torch.nn.utils.prune")

RNG = np.random.default_rng(0)
X = RNG.standard_normal((5, 6, 3))
LENGTHS = [3, 1, 5, 2, 2, 5]
Q, K = RNG.standard_normal((5, 2, 8)), RNG.standard_normal((7, 2, 8))
HIDDEN = RNG.random((5, 7)) < 0.3
PADDING = np.arange(7) >= np.array([[5], [7]])
SCORES = RNG.standard_normal((4, 5, 7))
IMAGE = RNG.standard_normal((2, 3, 8, 9))

pytestmark = pytest.mark.filterwarnings(
    "ignore:enable_nested_tensor is True", "ignore:.*weight_norm. is deprecated"
)


def with_its_weights(ours, theirs):
    """Our module, in PyTorch's state."""
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert repr(ours) == repr(theirs)
    state = {k: wg.tensor(v.numpy().copy()) for k, v in theirs.state_dict().items()}
    assert not any(ours.load_state_dict(state))
    return ours


def tensors_in(result):
    if isinstance(result, (tuple, list)):
        return [t for item in result for t in tensors_in(item)]
    return [] if result is None else [result]


def same(make, call, second=False, tolerance=1e-9):
    """`make(library)` is a module; `call(library, module)` uses it, and returns tensors."""
    theirs = make(torch).double()
    modules = (with_its_weights(make(wg).double(), theirs), theirs)
    found = []
    for library, net in zip((wg, torch), modules, strict=True):
        outs = tensors_in(call(library, net))
        loss = sum(((k + 1) * o * o + o).sum() for k, o in enumerate(outs) if o.requires_grad)
        parameters = list(net.parameters())
        gs = library.autograd.grad(loss, parameters, create_graph=second, allow_unused=True)
        if second:
            square = sum((g * g).sum() for g in gs)
            gs = [*gs, *library.autograd.grad(square, parameters)]
        found.append([*outs, *gs, *net.state_dict().values()])
    for a, b in zip(*found, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            a, b = a.detach().numpy(), b.detach().numpy()
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


# ---- recurrent -----------------------------------------------------------------------------

SETTINGS = [
    {},
    {"bias": False},
    {"num_layers": 2, "bidirectional": True},
    {"batch_first": True, "bidirectional": True},
]


def states(library, kind, net, batch):
    rows = net.num_layers * (1 + net.bidirectional)
    h = library.tensor(np.cos(np.arange(rows * batch * 4.0)).reshape(rows, batch, 4))
    h = h[..., : net.proj_size] if net.proj_size else h
    c = library.tensor(np.sin(np.arange(rows * batch * 4.0)).reshape(rows, batch, 4))
    return (h, c) if kind == "LSTM" else h


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_recurrent_networks_agree(kind, settings):
    def call(library, net):
        batch = 5 if net.batch_first else 6
        return net(library.tensor(X), states(library, kind, net, batch))

    make = lambda library: getattr(library.nn, kind)(3, 4, **settings)
    same(make, call)
    same(make, call, second=True)


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_recurrent_networks_of_packed_sequences_agree(kind, settings):
    def call(library, net):
        rnn = library.nn.utils.rnn
        x, lengths = library.tensor(X), LENGTHS
        if net.batch_first:
            x, lengths = x.transpose(0, 1), [4, 1, 5, 2, 2, 3]
        packed = rnn.pack_padded_sequence(x, lengths, net.batch_first, enforce_sorted=False)
        out, last = net(packed, states(library, kind, net, 6))
        padded, found = rnn.pad_packed_sequence(out, net.batch_first, -1.0, 6)
        assert found.tolist() == lengths
        return padded, last

    same(lambda library: getattr(library.nn, kind)(3, 4, **settings), call)


def test_projections_relu_and_lone_sequences_agree():
    for settings in ({"proj_size": 2, "num_layers": 2}, {"proj_size": 2, "bidirectional": True}):
        make = lambda library, s=settings: library.nn.LSTM(3, 4, **s)
        same(make, lambda library, net: net(library.tensor(X)), second=True)
    make = lambda library: library.nn.RNN(3, 4, nonlinearity="relu")
    same(make, lambda library, net: net(library.tensor(X)))
    make = lambda library: library.nn.LSTM(3, 4, batch_first=True)
    same(make, lambda library, net: net(library.tensor(X[0])))
    make = lambda library: library.nn.GRU(3, 4)
    same(make, lambda library, net: net(library.tensor(X[0]), library.tensor(X[0, :1, :1] + Z4)))


Z4 = np.zeros((1, 4))


@pytest.mark.parametrize("kind", ["RNNCell", "LSTMCell", "GRUCell"])
@pytest.mark.parametrize("bias", [True, False])
def test_cells_agree(kind, bias):
    for x in (X[0], X[0, 0]):
        make = lambda library: getattr(library.nn, kind)(3, 4, bias)
        same(make, lambda library, net, x=x: net(library.tensor(x)))


def test_packing_agrees():
    sequences = [np.arange(3.0), np.arange(1.0), np.arange(4.0) * 10]
    found = []
    for library in (wg, torch):
        rnn = library.nn.utils.rnn
        items = [library.tensor(s) for s in sequences]
        packed = rnn.pack_sequence(items, enforce_sorted=False)
        found.append(
            [
                *packed,
                rnn.pad_sequence(items, padding_value=7.0),
                rnn.pad_sequence(items, batch_first=True, padding_side="left"),
                *rnn.unpack_sequence(packed),
                *rnn.pad_packed_sequence(packed, total_length=6),
            ]
        )
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


# ---- attention -----------------------------------------------------------------------------


def attend(library, net, **options):
    q, k = library.tensor(Q), library.tensor(K)
    return net(q, k, k, **{n: library.tensor(m) for n, m in options.items()})


def test_multihead_attention_agrees():
    same(lambda lib: lib.nn.MultiheadAttention(8, 2), attend, second=True)
    same(
        lambda lib: lib.nn.MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True),
        lambda lib, net: attend(lib, net, key_padding_mask=PADDING, attn_mask=HIDDEN),
    )
    same(
        lambda lib: lib.nn.MultiheadAttention(8, 2, bias=False),
        lambda lib, net: attend(lib, net, attn_mask=SCORES),
    )

    def separate(lib, net):
        q, k = lib.tensor(Q).transpose(0, 1), lib.tensor(K).transpose(0, 1)
        return net(q, k[..., :3], k[..., :4], average_attn_weights=False)

    same(lambda lib: lib.nn.MultiheadAttention(8, 2, kdim=3, vdim=4, batch_first=True), separate)
    lone = lambda lib, net: net(*(lib.tensor(x[:, 0]) for x in (Q, K, K)), need_weights=False)
    same(lambda lib: lib.nn.MultiheadAttention(8, 2), lone)


@pytest.mark.parametrize(
    "settings",
    [{}, {"norm_first": True, "activation": "gelu", "batch_first": True}, {"bias": False}],
)
def test_transformer_layers_agree(settings):
    encoder = lambda lib: lib.nn.TransformerEncoderLayer(8, 2, 16, **settings).eval()
    same(encoder, lambda lib, net: net(lib.tensor(Q)))
    decoder = lambda lib: lib.nn.TransformerDecoderLayer(8, 2, 16, **settings).eval()
    same(decoder, lambda lib, net: net(lib.tensor(Q), lib.tensor(Q * 0.5)))


def test_transformers_agree():
    def call(lib, net):
        mask = lib.nn.Transformer.generate_square_subsequent_mask(7).double()
        return net(lib.tensor(Q), lib.tensor(K), tgt_mask=mask)

    same(lambda lib: lib.nn.Transformer(8, 2, 2, 2, 16).eval(), call)

    def stack(lib):
        return lib.nn.TransformerEncoder(lib.nn.TransformerEncoderLayer(8, 2, 16), 2).eval()

    padding = PADDING[:, 2:]
    same(stack, lambda lib, net: net(lib.tensor(Q), src_key_padding_mask=lib.tensor(padding)))


# ---- weights computed from others ----------------------------------------------------------

W = RNG.standard_normal((5, 3))


def linear(lib):
    made = lib.nn.Linear(3, 5).double()
    made.weight.data, made.bias.data = lib.tensor(W.copy()), lib.tensor(W[:, 0].copy())
    return made


def chained(lib, *steps):
    made = linear(lib)
    for step in steps:
        made = step(lib.nn.utils.prune, made)
    return made


def globally(lib):
    prune = lib.nn.utils.prune
    made = lib.nn.Sequential(linear(lib), lib.nn.ReLU(), lib.nn.Linear(5, 3, bias=False).double())
    made[2].weight.data = lib.tensor(W.T.copy() * 0.7)
    places = [(made[0], "weight"), (made[2], "weight"), (made[0], "bias")]
    prune.global_unstructured(places, pruning_method=prune.L1Unstructured, amount=0.3)
    return made


def symmetric(lib):
    class Symmetric(lib.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).transpose(-1, -2)

    made = lib.nn.Linear(3, 3).double()
    parametrize = lib.nn.utils.parametrize
    parametrize.register_parametrization(made, "weight", Symmetric())
    parametrize.register_parametrization(made, "bias", lib.nn.Identity())
    return copy.deepcopy(made)


REPARAMETRIZED = {
    "weight_norm": lambda lib: lib.nn.utils.parametrizations.weight_norm(linear(lib)),
    "weight_norm of all": lambda lib: lib.nn.utils.parametrizations.weight_norm(
        linear(lib), dim=None
    ),
    "spectral_norm": lambda lib: lib.nn.utils.parametrizations.spectral_norm(linear(lib)),
    "older weight_norm": lambda lib: lib.nn.utils.weight_norm(linear(lib)),
    "older spectral_norm": lambda lib: lib.nn.utils.spectral_norm(linear(lib)),
    "removed weight_norm": lambda lib: lib.nn.utils.remove_weight_norm(
        lib.nn.utils.weight_norm(linear(lib))
    ),
    "symmetric": symmetric,
    "l1": lambda lib: chained(lib, lambda p, m: p.l1_unstructured(m, "weight", 4)),
    "l1 twice": lambda lib: chained(
        lib,
        lambda p, m: p.l1_unstructured(m, "weight", 4),
        lambda p, m: p.l1_unstructured(m, "weight", 0.5),
    ),
    "rows after numbers": lambda lib: chained(
        lib,
        lambda p, m: p.l1_unstructured(m, "weight", 4),
        lambda p, m: p.ln_structured(m, "weight", 2, 2, 0),
        lambda p, m: p.ln_structured(m, "weight", 1, 1, 0),
    ),
    "removed": lambda lib: chained(
        lib,
        lambda p, m: p.l1_unstructured(m, "weight", 4),
        lambda p, m: p.remove(m, "weight"),
    ),
    "global": globally,
}


@pytest.mark.parametrize("name", REPARAMETRIZED)
def test_reparametrized_and_pruned_layers_agree(name):
    def call(lib, net):
        net(lib.tensor(X[0]))
        return net(lib.tensor(X[0]))

    same(REPARAMETRIZED[name], call)


def test_fused_layers_agree():
    def fused(lib, transposed):
        kind = lib.nn.ConvTranspose2d if transposed else lib.nn.Conv2d
        bn = lib.nn.BatchNorm2d(4)
        bn.running_mean[:] = lib.tensor([0.1, -2.0, 0.3, 1.0])
        bn.running_var[:] = lib.tensor([0.5, 2.0, 0.3, 1.0])
        return lib.nn.Sequential(kind(3, 4, 3), bn).eval()

    for transposed in (False, True):
        theirs = fused(torch, transposed).double()
        ours = with_its_weights(fused(wg, transposed).double(), theirs)
        found = wg.nn.utils.fuse_conv_bn_eval(*ours)
        expected = torch.nn.utils.fuse_conv_bn_eval(*theirs, transpose=transposed)
        for a, b in zip(found.parameters(), expected.parameters(), strict=True):
            np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-12)
        x = wg.tensor(IMAGE)
        np.testing.assert_allclose(found(x).detach().numpy(), ours(x).detach().numpy(), atol=1e-12)


# ---- lazy ones, and the rest ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "args", "shape"),
    [
        ("LazyLinear", (3,), (2, 5)),
        ("LazyConv1d", (4, 2), (2, 4, 7)),
        ("LazyConv2d", (3, 2), (4, 5, 5)),
        ("LazyConv3d", (3, 2), (1, 2, 3, 3, 3)),
        ("LazyConvTranspose1d", (3, 2), (2, 4, 5)),
        ("LazyBatchNorm1d", (), (4, 3)),
        ("LazyBatchNorm2d", (), (2, 4, 3, 3)),
        ("LazyInstanceNorm1d", (1e-5, 0.1, True, True), (2, 4, 6)),
    ],
)
def test_lazy_modules_become_what_pytorchs_do(name, args, shape):
    ours, theirs = getattr(wg.nn, name)(*args), getattr(torch.nn, name)(*args)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    x = RNG.standard_normal(shape).astype(np.float32)
    expected = theirs(torch.tensor(x))
    assert ours(wg.tensor(x)).shape == expected.shape
    assert repr(ours) == repr(theirs)
    assert type(ours) is getattr(wg.nn, type(theirs).__name__)


PRINTED = {
    "AdaptiveLogSoftmaxWithLoss": (8, 20, [5, 10], 2.0),
    "CTCLoss": (),
    "FractionalMaxPool2d": (2, 3),
    "LPPool3d": (2, 3),
    "LinearCrossEntropyLoss": (3, 4),
    "MaxUnpool1d": (2,),
    "MaxUnpool2d": (2,),
    "MultiLabelMarginLoss": (),
    "MultiheadAttention": (8, 2),
    "TransformerDecoderLayer": (8, 2),
}


@pytest.mark.parametrize("name", PRINTED)
def test_modules_print_alike_and_name_their_state_alike(name):
    ours, theirs = (getattr(lib.nn, name)(*PRINTED[name]) for lib in (wg, torch))
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())


def test_adaptive_softmax_agrees():
    targets = np.array([0, 4, 5, 12, 19, 9])
    x = RNG.standard_normal((6, 8))

    def call(lib, net):
        out = net(lib.tensor(x), lib.tensor(targets))
        assert net.predict(lib.tensor(x)).shape == (6,)
        return out.output, out.loss, net.log_prob(lib.tensor(x))

    same(lambda lib: lib.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10], 2.0), call)
    same(lambda lib: lib.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5], head_bias=True), call)


MISSING = {
    "nn": set(),
    "nn.functional": set(),
    "nn.init": set(),
    "nn.utils": set(),
    "nn.utils.rnn": set(),
    "nn.utils.prune": set(),
}  # fmt: skip
"""What wengert lacks on purpose: old names, and what is about GPUs or several machines."""

IMPORTED = {
    "ABC", "Any", "BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "Callable",
    "DType", "GRID_SAMPLE_INTERPOLATION_MODES", "GRID_SAMPLE_PADDING_MODES", "Iterable",
    "Literal", "NamedTuple", "Optional", "ParamSpec", "ScalingType", "Self", "SwizzleType",
    "TYPE_CHECKING", "Tensor", "TypeVar", "abstractmethod", "assert_int_or_pair",
    "boolean_dispatch",
    "copy_method_params", "handle_torch_function", "has_torch_function",
    "has_torch_function_unary", "has_torch_function_variadic", "reproducibility_notes",
    "sparse_support_notes", "tf32_notes",
}  # fmt: skip
"""What PyTorch's modules only import, or use inside."""


@pytest.mark.parametrize("path", MISSING)
def test_names_are_pytorchs_but_for_the_known_ones(path):
    ours, theirs = wg, torch
    for part in path.split("."):
        ours, theirs = getattr(ours, part), getattr(theirs, part)
    is_module = lambda name: isinstance(getattr(theirs, name), type(pytest))
    public = {n for n in dir(theirs) if n[0] != "_" and not is_module(n)}
    lacking = {n for n in public if not hasattr(ours, n)}
    assert lacking - IMPORTED == MISSING[path]


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (
            lambda nn: nn.Sequential(
                nn.Conv2d(1, 2, 3, padding=1), nn.BatchNorm2d(2), nn.ReLU(True), nn.MaxPool2d(2),
                nn.Flatten(), nn.Dropout(), nn.Linear(18, 3),
            ),
            (4, 1, 6, 6),
        ),
        (lambda nn: nn.LSTM(3, 4, 2, bidirectional=True), (5, 2, 3)),
        (lambda nn: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0), (5, 2, 8)),
        (lambda nn: nn.Sequential(nn.GroupNorm(1, 2), nn.Upsample(scale_factor=2)), (1, 2, 4, 4)),
    ],
)  # fmt: skip
def test_a_whole_module_that_pytorch_saved_is_the_same_module_here(make, shape, tmp_path):
    # Files of whole modules were refused: they name PyTorch's classes, whose attributes ours have.
    theirs = make(torch.nn).eval()
    torch.save(theirs, tmp_path / "m.pt")
    ours = wg.load(tmp_path / "m.pt", weights_only=False)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    results = [m(lib.tensor(x)) for lib, m in ((torch, theirs), (wg, ours))]
    there, here = (r[0] if isinstance(r, tuple) else r for r in results)
    np.testing.assert_allclose(here.detach().numpy(), there.detach().numpy(), atol=1e-6)
    here.sum().backward()


def test_hooks_of_a_saved_module_are_code_and_refused(tmp_path):
    layer = torch.nn.Linear(2, 2)
    layer.register_forward_hook(print)
    torch.save(layer, tmp_path / "m.pt")
    with pytest.raises(pickle.UnpicklingError):
        wg.load(tmp_path / "m.pt", weights_only=False)


@pytest.mark.parametrize("norm", ["weight_norm", "spectral_norm"])
@pytest.mark.filterwarnings("ignore")
def test_what_is_written_to_a_weight_that_a_hook_computes_is_what_pytorch_makes_of_it(norm):
    # Temporal convolutions write first values to `conv.weight.data` after weight_norm: here they
    # overwrote weight_v, in PyTorch the attribute, which the next pass computes anew.
    def made(lib):
        layer = lib.nn.Linear(2, 2)
        before = layer.weight
        with lib.no_grad():
            before.copy_(lib.tensor([[1.0, 2.0], [3.0, 4.0]]))
        getattr(lib.nn.utils, norm)(layer)
        tracked = layer.weight.requires_grad
        layer.weight.data.fill_(0.5)
        parameters = {n: p.detach().tolist() for n, p in layer.named_parameters() if n != "bias"}
        same = any(p is before for p in layer.parameters())
        return tracked, same, parameters

    assert made(wg) == made(torch)
