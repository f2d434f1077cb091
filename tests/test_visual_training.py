"""Pictures of gradients and weights: what is drawn is what is there."""

import numpy as np
import pytest

import wengert as wg
from wengert.visual.training import gradient_flow, weights


def network():
    wg.manual_seed(0)
    return wg.nn.Sequential(wg.nn.Linear(3, 4), wg.nn.Sigmoid(), wg.nn.Linear(4, 2, bias=False))


def test_bars_have_the_sizes_of_the_gradients():
    net = network()
    net(wg.ones(5, 3)).square().sum().backward()
    figure = gradient_flow(net.named_parameters())
    (axes,) = figure.axes
    largest, mean = ([bar.get_height() for bar in bars] for bars in axes.containers)
    grads = [p.grad.abs() for p in net.parameters()]
    np.testing.assert_allclose(largest, [g.max().item() for g in grads], rtol=1e-6)
    np.testing.assert_allclose(mean, [g.mean().item() for g in grads], rtol=1e-6)
    assert axes.get_yscale() == "log"


def test_frozen_parameters_are_left_out_and_no_gradient_at_all_is_an_error():
    net = network()
    with pytest.raises(ValueError, match=r"call loss.backward\(\) first"):
        gradient_flow(net)
    net[0].requires_grad_(False)
    net(wg.ones(1, 3)).sum().backward()
    labels = [text.get_text() for text in gradient_flow(net).axes[0].get_xticklabels()]
    assert labels == ["2.weight"]


def test_outlines_hold_all_weights_and_name_those_that_are_not_finite():
    net = network()
    with wg.no_grad():
        net[0].bias[0] = float("nan")
    figure = weights(net, bins=10)
    (axes,) = figure.axes
    assert len(axes.patches) == 3
    for patch in axes.patches:
        assert patch.get_data().values.sum() == pytest.approx(1)
    assert axes.get_title() == "not finite: 0.bias"


def test_both_can_be_drawn_into_one_figure(tmp_path):
    from matplotlib.figure import Figure

    net = network()
    net(wg.ones(1, 3)).sum().backward()
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert gradient_flow(net, axes=left) is weights(net, axes=right) is figure
    figure.savefig(tmp_path / "both.png")
