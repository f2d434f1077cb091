"""A small GPT, trained character by character on ten of Shakespeare's sonnets, and sampled.

The model is the decoder of "Attention is all you need" (Vaswani et al., 2017) as GPT-2 arranged it
(Radford et al., 2019): normalization before each part, GELU, one matrix for reading and writing
characters. With `--compile` the whole training step, from the loss to AdamW's update, is one
machine-code function.
"""

import argparse
import time
from pathlib import Path

import wengert as wg
from wengert import nn
from wengert.datasets import load_sonnets
from wengert.nn import functional as F
from wengert.utils.training import Mean, progress


class Block(nn.Module):
    """Attention to the past, then a network for each place; both add to what they read."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before_attention = nn.LayerNorm(width)
        self.query_key_value = nn.Linear(width, 3 * width)
        self.after_attention = nn.Linear(width, width)
        self.before_network = nn.LayerNorm(width)
        self.network = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.query_key_value(self.before_attention(x)).chunk(3, -1)
        q, k, v = (p.view(batch, length, self.heads, -1).transpose(1, 2) for p in parts)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.after_attention(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.network(self.before_network(x))


class GPT(nn.Module):
    def __init__(self, characters, width, heads, layers, context):
        super().__init__()
        self.context = context
        self.characters = nn.Embedding(characters, width)
        self.places = nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.last = nn.LayerNorm(width)
        for name, p in self.named_parameters():
            if p.ndim == 2:
                scale = 0.02 / (2 * layers) ** 0.5 if "after" in name else 0.02
                nn.init.normal_(p, std=scale)

    def forward(self, text):
        x = self.characters(text) + self.places(wg.arange(text.shape[1]))
        return self.last(self.blocks(x)) @ self.characters.weight.T

    @wg.no_grad()
    def continued(self, text, length, temperature):
        """`text`, a row of characters, with `length` more drawn one after the other."""
        for _ in range(length):
            scores = self(text[:, -self.context :])[:, -1] / temperature
            text = wg.cat([text, wg.multinomial(scores.softmax(-1), 1)], 1)
        return text


def stepper(net, optimizer):
    """One step of training."""

    def step(seen, following):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(seen).flatten(0, 1), following.flatten())
        loss.backward()
        optimizer.step()
        return loss

    return step


@wg.no_grad()
def surprise(net, text):
    """How likely the network held each character of a text, after those before it."""
    likely = [1.0]
    for k in range(1, len(text)):
        seen = text[None, max(0, k - net.context) : k]
        likely.append(net(seen)[0, -1].softmax(-1)[text[k]].item())
    return likely


def plot(losses, likely, letters, file):
    """The loss, and what was written: the darker a character, the surer the network was of it."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(
        1, 2, figsize=(10, 4.4), width_ratios=(1, 1.5), layout="constrained"
    )
    left.plot(losses, color="C0", lw=0.8)
    left.set(xlabel="steps", ylabel="loss of a character", title="Training")
    left.grid(alpha=0.3)
    right.set(xlim=(0, 40), ylim=(9, -0.5), title="What it writes, and how sure it is")
    right.axis("off")
    row, column = 0, 0
    for letter, p in zip(letters, likely, strict=True):
        if letter == "\n" or column > 39:
            row, column = row + 1, 0
            continue
        colour = plt.cm.viridis_r(0.3 + 0.7 * p)
        right.text(column, row, letter, color=colour, family="monospace", fontsize=11)
        column += 1
    figure.savefig(file, dpi=110)
    plt.close(figure)
    print(f"drawn in {file}")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--context", type=int, default=64)
    parser.add_argument("--compile", action="store_true", help="one function for the whole step")
    parser.add_argument("--out", type=Path, help="a folder for a picture of loss and text")
    args = parser.parse_args(arguments)

    wg.manual_seed(0)
    text = load_sonnets()
    alphabet = sorted(set(text))
    number = {c: i for i, c in enumerate(alphabet)}
    data = wg.tensor([number[c] for c in text])
    net = GPT(len(alphabet), args.width, 4, args.layers, args.context)
    optimizer = wg.optim.AdamW(net.parameters(), lr=3e-3, betas=(0.9, 0.95))
    schedule = wg.optim.lr_scheduler.OneCycleLR(
        optimizer, 3e-3, args.steps + 1, pct_start=0.1, cycle_momentum=False
    )

    step = stepper(net, optimizer)
    if args.compile:
        step = wg.compile(step)
    count = sum(p.numel() for p in net.parameters())
    print(f"{len(text)} characters of {len(alphabet)} kinds, {count} parameters")
    losses, loss, begun = [], Mean(), time.perf_counter()
    for i in progress(range(args.steps), "training", loss=loss):
        starts = wg.randint(len(data) - args.context, (12, 1))
        pieces = data[starts + wg.arange(args.context + 1)]
        value = step(pieces[:, :-1], pieces[:, 1:]).item()
        schedule.step()
        losses.append(value)
        if i % 50 == 0:
            loss.reset()
        loss.update(value)
    seconds = time.perf_counter() - begun
    print(f"loss {losses[0]:.3f} -> {loss.value:.3f}, {1000 * seconds / args.steps:.1f} ms a step")
    assert loss.value < losses[0]

    start = wg.tensor([[number[c] for c in "\nWhen "]])
    sample = net.eval().continued(start, 200, 0.8)[0]
    written = "".join(alphabet[i] for i in sample.tolist())
    print(written)
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        plot(losses, surprise(net, sample), written, args.out / "gpt_sonnets.png")


if __name__ == "__main__":
    main()
