"""A variational autoencoder (Kingma and Welling, 2014) of the handwritten digits.

The encoder says where in a plane of codes a picture may lie, as a mean and a variance; the decoder
draws the picture for a code. Training raises a lower bound of the likelihood: how well the picture
is drawn again, less how far the codes are from normally distributed ones.
"""

import argparse

import wengert as wg
from wengert import nn, optim
from wengert.datasets import load_digits
from wengert.nn import functional as F
from wengert.utils.data import DataLoader, TensorDataset


class VAE(nn.Module):
    def __init__(self, codes=2):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 2 * codes))
        self.decoder = nn.Sequential(nn.Linear(codes, 96), nn.ReLU(), nn.Linear(96, 64))

    def forward(self, x):
        mean, log_variance = self.encoder(x).chunk(2, -1)
        code = mean + (0.5 * log_variance).exp() * wg.randn_like(mean)
        return self.decoder(code), mean, log_variance


def negative_bound(drawn, x, mean, log_variance):
    """-(log p(x | code) - KL(code | normal)), per picture, in nats."""
    again = F.binary_cross_entropy_with_logits(drawn, x, reduction="sum")
    distance = -0.5 * (1 + log_variance - mean**2 - log_variance.exp()).sum()
    return (again + distance) / len(x)


def stepper(net, optimizer):
    """One step of training."""

    def step(x):
        optimizer.zero_grad()
        drawn, mean, log_variance = net(x)
        loss = negative_bound(drawn, x, mean, log_variance)
        loss.backward()
        optimizer.step()
        return loss

    return step


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--epochs", type=int, default=25)
    args = parser.parse_args(arguments)

    wg.manual_seed(0)
    images, _ = load_digits()
    loader = DataLoader(TensorDataset(wg.from_numpy(images).flatten(1)), 64, shuffle=True)
    net = VAE()
    step = stepper(net, optim.Adam(net.parameters(), lr=3e-3))
    history = []
    for epoch in range(args.epochs):
        total = 0.0
        for (x,) in loader:
            total += step(x).item() * len(x)
        history.append(total / len(images))
        if epoch % 5 == 0 or epoch == args.epochs - 1:
            print(f"epoch {epoch + 1:3}  bound {-history[-1]:.2f} nats a picture")
    assert history[-1] < history[0]

    print("pictures along a line through the plane of codes:")
    with wg.no_grad():
        codes = wg.stack([wg.linspace(-1.5, 1.5, 6), wg.zeros(6)], 1)
        pictures = net.decoder(codes).sigmoid().view(6, 8, 8)
    for row in range(8):
        shown = (
            "".join(" .:-=+*#%@"[int(9.99 * ink)] for ink in picture[row].tolist())
            for picture in pictures
        )
        print("  ".join(shown).rstrip())


if __name__ == "__main__":
    main()
