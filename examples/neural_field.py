"""A picture as a function: a network that is asked for a place and answers with a brightness.

The picture is Grace Hopper's portrait, which comes with matplotlib. A network of places alone
blurs it, since networks learn slow functions first; with the sines and cosines of random waves
beside the place, the same network draws her face (Tancik and others, "Fourier features let networks
learn high frequency functions in low dimensional domains", 2020). The training step is compiled.

The network is a function, so it has derivatives by the place: the last picture is the length of its
gradient, which shows the edges, and no pixel was subtracted from another for it.
"""

import argparse
from pathlib import Path

import numpy as np

import wengert as wg
from wengert import nn

WAVES = 96


def portrait(size):
    """Brightness between 0 and 1, on a square grid of places."""
    import matplotlib
    from PIL import Image

    with Image.open(Path(matplotlib.get_data_path(), "sample_data", "grace_hopper.jpg")) as picture:
        face = picture.convert("L").crop((60, 0, 460, 400)).resize((size, size))
    return np.asarray(face, dtype=np.float32) / 255


def places(size):
    x = np.linspace(-1, 1, size, dtype=np.float32)
    return np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)


class Waves(nn.Module):
    """Sines and cosines of random waves over the plane."""

    def __init__(self, frequency):
        super().__init__()
        self.register_buffer("waves", frequency * wg.randn(2, WAVES))

    def forward(self, at):
        phase = at @ self.waves
        return wg.cat([wg.sin(phase), wg.cos(phase)], -1)


def network(frequency):
    """Of places alone, or of waves."""
    first = [nn.Linear(2, 2 * WAVES)] if frequency is None else [Waves(frequency)]
    width = 2 * WAVES
    inner = [nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1), nn.Sigmoid()]
    return nn.Sequential(*first, *([nn.ReLU()] if frequency is None else []), *inner)


def train(net, picture, steps):
    optimizer = wg.optim.Adam(net.parameters(), lr=2e-3)
    at, wanted = places(len(picture)), picture.reshape(-1, 1)

    @wg.compile
    def step(at, wanted):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(at), wanted)
        loss.backward()
        optimizer.step()
        return loss

    generator = np.random.default_rng(0)
    for _ in range(steps):
        some = generator.choice(len(at), 1024, replace=False)
        step(wg.tensor(at[some]), wg.tensor(wanted[some]))


def drawn(net, size):
    with wg.no_grad():
        return net(wg.tensor(places(size))).numpy().reshape(size, size)


def edges(net, size):
    """The length of the gradient of brightness, by place."""
    slopes = wg.vmap(wg.grad(lambda at: net(at)[0]))(wg.tensor(places(size)))
    return np.linalg.norm(slopes.detach().numpy(), axis=1).reshape(size, size)


def plot(pictures, file):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(pictures), figsize=(10, 2.9), layout="constrained")
    for one, (title, picture) in zip(axes, pictures.items(), strict=True):
        one.imshow(picture, cmap="gray_r" if title == "its edges" else "gray")
        one.set_title(title, fontsize=10)
        one.set_axis_off()
    figure.savefig(file, dpi=72)
    plt.close(figure)
    print(f"drawn in {file}")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--size", type=int, default=128, help="pixels along a side")
    parser.add_argument("--out", type=Path, help="a folder for the pictures")
    args = parser.parse_args(argv)
    wg.manual_seed(0)
    picture = portrait(args.size)
    pictures = {"the picture": picture}
    for name, frequency in (("of places", None), ("of waves", 8.0)):
        net = network(frequency)
        train(net, picture, args.steps)
        pictures[f"a network {name}"] = drawn(net, args.size)
        error = np.mean((pictures[f"a network {name}"] - picture) ** 2)
        print(f"a network {name:9}: {-10 * np.log10(error):.1f} dB")
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        pictures["its edges"] = np.minimum(edges(net, args.size), 8)
        plot(pictures, args.out / "neural_field.png")


if __name__ == "__main__":
    main()
