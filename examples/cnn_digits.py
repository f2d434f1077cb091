"""A convolutional network that reads handwritten digits, after LeNet (LeCun et al., 1998).

Trains on 1,500 of the digits that come with the package, with early stopping on a part of them, and
counts its errors on the rest.
"""

import argparse

import wengert as wg
from wengert import nn, optim
from wengert.datasets import load_digits
from wengert.nn import functional as F
from wengert.utils.data import DataLoader, TensorDataset, random_split
from wengert.utils.training import Accuracy, EarlyStopping, Mean


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),  # 8 x 8
            nn.ReLU(),
            nn.MaxPool2d(2),  # 4 x 4
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),  # 2 x 2
        )
        self.classifier = nn.Sequential(
            nn.Flatten(), nn.Linear(128, 64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 10)
        )

    def forward(self, x):
        return self.classifier(self.features(x))


def stepper(net, optimizer):
    """One step of training."""

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


@wg.no_grad()
def evaluated(net, loader):
    """The mean loss and the accuracy."""
    loss, accuracy = Mean(), Accuracy()
    net.eval()
    for x, y in loader:
        scores = net(x)
        loss.update(F.cross_entropy(scores, y), len(y))
        accuracy.update(scores, y)
    return loss.value, accuracy.value


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--epochs", type=int, default=20)
    args = parser.parse_args(arguments)

    wg.manual_seed(0)
    images, labels = load_digits()
    data = TensorDataset(wg.from_numpy(images).unsqueeze(1), wg.from_numpy(labels))
    training, validation, test = random_split(data, [1300, 200, 297])
    loader = DataLoader(training, 50, shuffle=True)
    net = LeNet()
    step = stepper(net, optim.Adam(net.parameters(), lr=2e-3))
    stopping = EarlyStopping(patience=5, module=net)
    for epoch in range(args.epochs):
        net.train()
        for x, y in loader:
            step(x, y)
        loss, accuracy = evaluated(net, DataLoader(validation, 200))
        print(f"epoch {epoch + 1:2}  validation loss {loss:.4f}, accuracy {accuracy:.1%}")
        if stopping.step(loss):
            break
    stopping.restore()
    _, accuracy = evaluated(net, DataLoader(test, 297))
    print(f"test accuracy {accuracy:.1%}")
    assert accuracy > 0.85


if __name__ == "__main__":
    main()
