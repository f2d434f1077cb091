"""Digits out of noise: a diffusion model of the 1,797 handwritten digits, of a given kind each.

Training adds Gaussian noise to pictures, x_t = sqrt(s) x + sqrt(1 - s) e, and asks a network for
the noise e, given x_t, the share s that is left of the picture, and which digit it is. Drawing goes
the other way: it begins with noise alone, takes away what the network believes to be noise, a
little at a time, and adds a little new noise (Ho, Jain and Abbeel, "Denoising diffusion
probabilistic models", 2020). The training step, Adam and the draws of noise included, is one
compiled function.
"""

import argparse
from pathlib import Path

import numpy as np

import wengert as wg
from wengert import nn
from wengert.datasets import load_digits

NOISE = np.linspace(1e-3, 0.12, 100)
"""How much of each step is new noise."""
LEFT = np.cumprod(1 - NOISE)
"""What is left of a picture's variance after each step: s above."""


class Denoiser(nn.Module):
    """The noise in pictures, from the pictures, the step and the kind of digit."""

    def __init__(self, width):
        super().__init__()
        self.step, self.kind = nn.Embedding(len(NOISE), width), nn.Embedding(10, width)
        self.enter = nn.Linear(64, width)
        self.inner = nn.ModuleList([nn.Linear(width, width) for _ in range(3)])
        self.leave = nn.Linear(width, 64)

    def forward(self, x, step, kind):
        h = self.enter(x) + self.step(step) + self.kind(kind)
        for layer in self.inner:
            h = h + layer(nn.functional.silu(h))
        return self.leave(nn.functional.silu(h))


def train(net, pictures, kinds, steps):
    optimizer = wg.optim.Adam(net.parameters(), lr=1e-3)
    left = wg.tensor(LEFT, dtype=wg.float32)

    @wg.compile
    def learn(x, kind, step):
        noise = wg.randn(*x.shape)
        share = left[step][:, None]
        optimizer.zero_grad()
        found = net(share.sqrt() * x + (1 - share).sqrt() * noise, step, kind)
        loss = nn.functional.mse_loss(found, noise)
        loss.backward()
        optimizer.step()
        return loss

    generator, losses = np.random.default_rng(0), []
    for _ in range(steps):
        some = generator.integers(0, len(pictures), 256)
        step = generator.integers(0, len(NOISE), 256)
        losses.append(float(learn(pictures[some], kinds[some], wg.tensor(step))))
    return losses


def draw(net, kinds):
    """Pictures of the kinds asked for, and what they were on the way."""
    x, way = wg.randn(len(kinds), 64), []
    with wg.no_grad():
        for k in reversed(range(len(NOISE))):
            if k % 20 == 19:
                way.append(x)
            noise = net(x, wg.full((len(kinds),), k), kinds)
            x = (x - NOISE[k] / np.sqrt(1 - LEFT[k]) * noise) / np.sqrt(1 - NOISE[k])
            if k:
                x = x + np.sqrt(NOISE[k]) * wg.randn(*x.shape)
    return x, [*way, x]


def plot(way, pictures, kinds, file):
    """Noise becoming digits, row by row, and at last real ones."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    real = np.stack([pictures[np.flatnonzero(kinds == k)[:2]] for k in range(10)])
    rows = [x.numpy().reshape(10, 2, 64)[:, 0] for x in way]
    rows += [way[-1].numpy().reshape(10, 2, 64)[:, 1], real[:, 0]]
    sheet = np.pad(np.stack(rows).reshape(-1, 10, 8, 8), ((0, 0), (0, 0), (1, 1), (1, 1)))
    sheet = sheet.transpose(0, 2, 1, 3).reshape(10 * len(rows), -1)
    figure, axes = plt.subplots(figsize=(7, 5.6), layout="constrained")
    axes.imshow(sheet, cmap="gray", vmin=-1, vmax=1)
    axes.set(xticks=[])
    words = ["noise", *[""] * (len(rows) - 4), "digits", "others", "real ones"]
    axes.set_yticks([10 * k + 4.5 for k in range(len(rows))], words)
    figure.savefig(file, dpi=90)
    plt.close(figure)
    print(f"drawn in {file}")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--out", type=Path, help="a folder for a picture of what is drawn")
    args = parser.parse_args(argv)
    wg.manual_seed(0)
    images, labels = load_digits()
    pictures = 2 * images.reshape(len(images), 64) - 1
    net = Denoiser(args.width)
    losses = train(net, wg.tensor(pictures), wg.tensor(labels), args.steps)
    few = max(1, args.steps // 20)
    print(f"error of the noise: {np.mean(losses[:few]):.3f} -> {np.mean(losses[-few:]):.3f}")
    wanted = np.repeat(np.arange(10), 2)
    made, way = draw(net, wg.tensor(wanted))
    nearest = labels[np.argmin(((made.numpy()[:, None] - pictures) ** 2).sum(2), axis=1)]
    print(
        f"of 20 digits drawn, {np.sum(nearest == wanted)} are nearest to a real one of their kind"
    )
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        plot(way, pictures, labels, args.out / "diffusion_digits.png")


if __name__ == "__main__":
    main()
