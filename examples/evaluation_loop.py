"""An evaluation loop: `eval()`, a `DataLoader`, `no_grad`, accuracy by `argmax`.

`test_loop` and `train_loop` are those of the lecture on automatic differentiation, as every PyTorch
program has them, and unchanged but for the import: here `torch` is wengert. They run on the
handwritten digits that come with the package.
"""

import argparse

import wengert as torch
from wengert import nn
from wengert.datasets import load_digits
from wengert.utils.data import DataLoader, TensorDataset


def train_loop(dataloader, model, loss_fn, optimizer):
    model.train()
    for X, y in dataloader:
        pred = model(X)
        loss = loss_fn(pred, y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def test_loop(dataloader, model, loss_fn):
    model.eval()
    size = len(dataloader.dataset)
    num_batches = len(dataloader)
    test_loss, correct = 0, 0

    with torch.no_grad():
        for X, y in dataloader:
            pred = model(X)
            test_loss += loss_fn(pred, y).item()
            correct += (pred.argmax(1) == y).type(torch.float).sum().item()

    test_loss /= num_batches
    correct /= size
    print(f"Test Error: \n Accuracy: {(100 * correct):>0.1f}%, Avg loss: {test_loss:>8f} \n")
    return correct


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--epochs", type=int, default=10)
    args = parser.parse_args(arguments)

    torch.manual_seed(0)
    images, labels = load_digits()
    data = TensorDataset(torch.from_numpy(images), torch.from_numpy(labels))
    training, test = torch.utils.data.random_split(data, [1500, 297])
    train_dataloader = DataLoader(training, batch_size=64, shuffle=True)
    test_dataloader = DataLoader(test, batch_size=64)

    model = nn.Sequential(
        nn.Flatten(), nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 10)
    )
    loss_fn = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    before = test_loop(test_dataloader, model, loss_fn)
    for _ in range(args.epochs):
        train_loop(train_dataloader, model, loss_fn, optimizer)
    after = test_loop(test_dataloader, model, loss_fn)
    assert after > 0.9 > 0.3 > before

    # `test_loop` left no history and no gradients, and evaluation repeats itself exactly.
    assert all(p.grad is None for p in model.parameters())
    assert test_loop(test_dataloader, model, loss_fn) == after


if __name__ == "__main__":
    main()
