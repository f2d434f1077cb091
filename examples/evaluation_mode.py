"""Evaluation mode is no grad mode: `eval()` changes Dropout and BatchNorm, and records as before.

`module.train()` and `module.eval()` set a flag on every module inside. Layers with something random
or something to remember look at it; the others do not. Whether operations are recorded is decided
elsewhere, by the grad modes, and independently: all six combinations occur below. After the
reference page on autograd's mechanics. (The page gives `module.train()` as an equivalent of
`module.eval()`; the equivalent is `module.train(False)`.)
"""

import argparse
import contextlib

import wengert as wg
from wengert import nn

LAYERS = [
    nn.Linear(4, 4),
    nn.ReLU(),
    nn.Tanh(),
    nn.LayerNorm(4),
    nn.Dropout(0.5),
    nn.BatchNorm1d(4),
]


def which_layers_care():
    """Same input, both modes: whose output differs? Returns the names."""
    x = wg.randn(64, 4) * 3 + 1
    print("Same input in both modes:")
    caring = []
    for layer in LAYERS:
        layer.train()
        trained = layer(x)
        layer.eval()
        evaluated = layer(x)
        name = type(layer).__name__
        differs = not wg.equal(trained, evaluated)
        if differs:
            caring.append(name)
        print(f"  {name:12} {'differs' if differs else 'the same'}")
    assert caring == ["Dropout", "BatchNorm1d"]
    return caring


def dropout():
    layer = nn.Dropout(0.5)
    x = wg.ones(10_000)
    y = layer(x)
    kept = (y != 0).float().mean().item()
    print("Dropout(0.5) on ten thousand ones:")
    print(f"  train: {kept:.1%} kept, each as {y.max().item()}, mean {y.mean().item():.3f}")
    layer.eval()
    assert wg.equal(layer(x), x)
    print("  eval:  the input itself")


def batch_norm():
    layer = nn.BatchNorm1d(1)
    x = wg.randn(256, 1) * 2 + 5
    print("BatchNorm1d on a batch of mean 5 and deviation 2:")
    print(f"  {'':22} {'output mean':>11} {'deviation':>10} {'running mean':>13} {'variance':>9}")

    def row(title):
        y = layer(x)
        print(
            f"  {title:22} {y.mean().item():11.3f} {y.std().item():10.3f} "
            f"{layer.running_mean.item():13.3f} {layer.running_var.item():9.3f}"
        )

    row("train, first batch")
    for _ in range(50):
        layer(x)
    row("train, after 50 more")
    layer.eval()
    frozen = layer.running_mean.clone()
    row("eval")
    layer(x + 100)
    assert wg.equal(layer.running_mean, frozen)
    print("  eval normalizes by the running statistics, and leaves them as they are")


def independent_of_grad_modes():
    """Prints which of the six combinations drop, learn statistics, and record; returns the rows."""
    modes = {
        "default": contextlib.nullcontext,
        "no_grad": wg.no_grad,
        "inference_mode": wg.inference_mode,
    }
    rows = []
    print("Two switches that do not touch each other:")
    print(f"  {'module':8} {'grad mode':15} {'drops':6} {'statistics move':16} recorded")
    for training in (True, False):
        for name, mode in modes.items():
            net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5))
            net.train(training)
            before = net[1].running_mean.clone()
            with mode():
                y = net(wg.randn(32, 4))
            drops = (y == 0).any().item()
            moves = not wg.equal(net[1].running_mean, before)
            recorded = y.requires_grad
            rows.append((training, name, drops, moves, recorded))
            answers = ["yes" if a else "no" for a in (drops, moves, recorded)]
            print(
                f"  {'train()' if training else 'eval()':8} {name:15} "
                f"{answers[0]:6} {answers[1]:16} {answers[2]}"
            )
    assert all(drops == moves == training for training, _, drops, moves, _ in rows)
    assert all(recorded == (name == "default") for _, name, _, _, recorded in rows)
    return rows


def the_flag():
    net = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Dropout(0.5)))
    print("The flag reaches every module inside:")
    print(f"  new            {[m.training for m in net.modules()]}")
    print(f"  eval()         {[m.training for m in net.eval().modules()]}")
    print(f"  train()        {[m.training for m in net.train().modules()]}")
    print(f"  train(False)   {[m.training for m in net.train(False).modules()]}")


def main(argv=None):
    argparse.ArgumentParser(description=__doc__).parse_args(argv)
    wg.manual_seed(0)
    parts = which_layers_care, dropout, batch_norm, independent_of_grad_modes, the_flag
    for part in parts:
        part()
        print()


if __name__ == "__main__":
    main()
