"""The errors that forums ask about most: each says what to type."""

from __future__ import annotations

import pytest

import wengert as wg

nn = wg.nn


def load(**state):
    nn.Linear(3, 2).load_state_dict(state)


def used_up():
    parameters = nn.Linear(3, 2).parameters()
    list(parameters)
    wg.optim.SGD(parameters, 0.1)


def plain_list():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = [nn.Linear(2, 2)]

    wg.optim.SGD(Net().parameters(), 0.1)


def not_used():
    x = wg.ones(2, requires_grad=True)
    wg.autograd.grad((x.clone() * 2).sum(), [x, wg.ones(2, requires_grad=True)])


ONES = {"weight": wg.ones(2, 3), "bias": wg.ones(2)}
CURES = {
    "a prefix": (
        lambda: load(**{f"module.{k}": v for k, v in ONES.items()}), r"k.removeprefix\('module.'\)",
    ),
    "a prefix that lacks": (
        lambda: nn.Sequential(nn.Linear(3, 2)).load_state_dict(ONES), r"'0.' \+ k: v for",
    ),
    "a checkpoint": (lambda: load(net=ONES, epoch=1), r"They are in state_dict\['net'\]"),
    "a generator used up": (used_up, r"call it again, or keep list\(...\)"),
    "layers in a list": (plain_list, r"use nn.ModuleList"),
    "a module": (lambda: wg.optim.SGD(nn.Linear(3, 2), 0.1), r"net.parameters\(\) for a module"),
    "a result": (
        lambda: wg.optim.SGD([wg.ones(2, requires_grad=True) * 2], 0.1),
        r"non-leaf Tensor, made by MulBackward0: .* x.detach\(\).requires_grad_\(\)",
    ),
    "channels last": (lambda: nn.Conv2d(3, 4, 3)(wg.ones(8, 8, 3)), r"use x.movedim\(-1, -3\)"),
    "not flattened": (lambda: nn.Linear(12, 2)(wg.ones(5, 3, 4)), r"x.flatten\(1\) has them"),
    "an unused input": (not_used, r"materialize_grads=True. .* a clone, a slice"),
    "one value": (lambda: nn.BatchNorm1d(3)(wg.ones(1, 3)), r"net.eval\(\) .* drop_last=True"),
}  # fmt: skip


@pytest.mark.parametrize("name", CURES)
def test_an_error_says_what_to_type(name):
    call, cure = CURES[name]
    with pytest.raises((RuntimeError, ValueError, TypeError), match=f"(?s){cure}"):
        call()


def test_the_image_that_an_error_asks_for_is_taken():
    assert nn.Conv2d(3, 4, 3)(wg.ones(8, 8, 3).movedim(-1, -3)).shape == (4, 6, 6)
    assert nn.Linear(12, 2)(wg.ones(5, 3, 4).flatten(1)).shape == (5, 2)
