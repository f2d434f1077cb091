"""A training step of a small GPT: four blocks of attention, in PyTorch's API and in JAX.

Blocks normalise before attention and before the two-layer network, positions are learned, the
optimizer is AdamW.
"""

import math

import numpy as np

from benchmarks.timing import Case, Target
from benchmarks.training import Training, entrants, jax_adamw, jax_cross_entropy, jitted

LAYERS, HEADS, WIDTH, CONTEXT, VOCABULARY, BATCH = 4, 4, 128, 64, 65, 12
RATE = 1e-3
NAME = f"GPT: {LAYERS} layers of {WIDTH}, {HEADS} heads, context {CONTEXT}, batch {BATCH}, AdamW"

# Explicit attention, and PyTorch's own kernel for it with the faster optimizers.
VARIANTS = {
    "PyTorch": {},
    "PyTorch foreach": {"foreach": True},
    "PyTorch sdpa": {"attention": "sdpa", "foreach": True},
    "PyTorch fused": {"attention": "sdpa", "fused": True},
}


def parameters() -> dict[str, np.ndarray]:
    """Every parameter by its name in `gpt`, a linear layer's weight as (outputs, inputs)."""
    rng = np.random.default_rng(0)
    found: dict[str, np.ndarray] = {}

    def weight(name, *shape):
        found[f"{name}.weight"] = rng.normal(0, 0.02, shape).astype(np.float32)

    def linear(name, inputs, outputs):
        weight(name, outputs, inputs)
        found[f"{name}.bias"] = np.zeros(outputs, np.float32)

    def norm(name):
        found[f"{name}.weight"] = np.ones(WIDTH, np.float32)
        found[f"{name}.bias"] = np.zeros(WIDTH, np.float32)

    weight("tokens", VOCABULARY, WIDTH)
    weight("positions", CONTEXT, WIDTH)
    for i in range(LAYERS):
        norm(f"blocks.{i}.norm_1")
        linear(f"blocks.{i}.attention.project", WIDTH, 3 * WIDTH)
        linear(f"blocks.{i}.attention.out", WIDTH, WIDTH)
        norm(f"blocks.{i}.norm_2")
        linear(f"blocks.{i}.network.0", WIDTH, 4 * WIDTH)
        linear(f"blocks.{i}.network.2", 4 * WIDTH, WIDTH)
    norm("norm")
    linear("head", WIDTH, VOCABULARY)
    return found


def data():
    """Tokens of shape (batch, context), and at each position the token that follows."""
    tokens = np.random.default_rng(1).integers(VOCABULARY, size=(BATCH, CONTEXT + 1))
    return tokens[:, :-1].copy(), tokens[:, 1:].copy()


# --- PyTorch's API ----------------------------------------------------------------------------


def gpt(torch, attention="explicit"):
    """The network, of any library with PyTorch's API."""
    nn = torch.nn
    head_width = WIDTH // HEADS

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.project = nn.Linear(WIDTH, 3 * WIDTH)
            self.out = nn.Linear(WIDTH, WIDTH)
            future = torch.ones(CONTEXT, CONTEXT).tril() == 0
            self.register_buffer("future", future, persistent=False)

        def forward(self, x):
            b, t, _ = x.shape
            q, k, v = (
                part.view(b, t, HEADS, head_width).transpose(1, 2)  # (batch, heads, time, width)
                for part in self.project(x).split(WIDTH, dim=2)
            )
            if attention == "sdpa":
                y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            else:
                scores = q @ k.transpose(-2, -1) / math.sqrt(head_width)
                scores = scores.masked_fill(self.future[:t, :t], float("-inf"))
                y = nn.functional.softmax(scores, dim=-1) @ v
            return self.out(y.transpose(1, 2).reshape(b, t, WIDTH))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm_1 = nn.LayerNorm(WIDTH)
            self.attention = Attention()
            self.norm_2 = nn.LayerNorm(WIDTH)
            self.network = nn.Sequential(
                nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
            )

        def forward(self, x):
            x = x + self.attention(self.norm_1(x))
            return x + self.network(self.norm_2(x))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens = nn.Embedding(VOCABULARY, WIDTH)
            self.positions = nn.Embedding(CONTEXT, WIDTH)
            self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
            self.norm = nn.LayerNorm(WIDTH)
            self.head = nn.Linear(WIDTH, VOCABULARY)

        def forward(self, tokens):
            x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
            return self.head(self.norm(self.blocks(x)))

    return GPT()


def in_torch(torch, attention="explicit", **settings) -> Training:
    network = gpt(torch, attention)
    network.load_state_dict({name: torch.tensor(p) for name, p in parameters().items()})
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE, **settings)

    def criterion(logits, targets):
        return torch.nn.functional.cross_entropy(
            logits.reshape(-1, VOCABULARY), targets.reshape(-1)
        )

    return Training(network, criterion, optimizer, tuple(map(torch.tensor, data())))


# --- JAX --------------------------------------------------------------------------------------


def jax_loss(p, tokens, targets):
    """The same network as a function; here a linear layer's weight is (inputs, outputs)."""
    import jax
    import jax.numpy as jnp

    def linear(name, x):
        # A product of two matrices: with three axes XLA takes an eighth longer for the whole step.
        y = x.reshape(-1, x.shape[-1]) @ p[f"{name}.weight"] + p[f"{name}.bias"]
        return y.reshape(*x.shape[:-1], -1)

    def norm(name, x):
        centred = x - x.mean(-1, keepdims=True)
        scale = jax.lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + 1e-5)
        return centred * scale * p[f"{name}.weight"] + p[f"{name}.bias"]

    def attend(name, x):
        b, t, _ = x.shape
        q, k, v = (
            part.reshape(b, t, HEADS, -1).transpose(0, 2, 1, 3)
            for part in jnp.split(linear(f"{name}.project", x), 3, axis=-1)
        )
        scores = q @ k.mT / math.sqrt(WIDTH // HEADS)
        scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -jnp.inf)
        y = jax.nn.softmax(scores) @ v
        return linear(f"{name}.out", y.transpose(0, 2, 1, 3).reshape(b, t, WIDTH))

    x = p["tokens.weight"][tokens] + p["positions.weight"]
    for i in range(LAYERS):
        block = f"blocks.{i}"
        x = x + attend(f"{block}.attention", norm(f"{block}.norm_1", x))
        hidden = linear(f"{block}.network.0", norm(f"{block}.norm_2", x))
        x = x + linear(f"{block}.network.2", jax.nn.gelu(hidden, approximate=False))
    return jax_cross_entropy(linear("head", norm("norm", x)), targets)


def in_jax():
    tables = ("tokens.weight", "positions.weight")
    p = {name: a.T if a.ndim == 2 and name not in tables else a for name, a in parameters().items()}
    return jitted(jax_loss, jax_adamw(RATE), p, data())


def gpt_case(modules, section: str, targets: tuple[Target, ...], compiles=True) -> Case:
    return Case(section, NAME, entrants(modules, in_torch, in_jax, VARIANTS, compiles), targets)
