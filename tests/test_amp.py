"""Mixed precision: regions that change nothing and say so, and scales that find overflows."""

import numpy as np
import pytest

import wengert as wg
from wengert.amp import GradScaler, autocast, get_autocast_dtype, is_autocast_enabled


@pytest.fixture(autouse=True)
def nothing_told(monkeypatch):
    import sys

    monkeypatch.setattr(sys.modules["wengert.pytorch.amp.autocast"], "_told", set())


def test_a_region_keeps_dtypes_and_says_so_once():
    x = wg.ones(2, 2)
    with pytest.warns(UserWarning, match="computes in the dtypes it is given"):
        region = autocast("cpu", dtype=wg.float16)
    with region:
        assert is_autocast_enabled("cpu")
        assert not is_autocast_enabled("cuda")
        assert get_autocast_dtype("cpu") == wg.float16
        assert (x @ x).dtype == wg.float32
    assert not is_autocast_enabled("cpu")
    autocast("cpu", dtype=wg.float16)  # no second warning


def test_regions_nest_and_decorate():
    @autocast("cpu", dtype=wg.float32)
    def asked():
        with autocast("cpu", enabled=False):
            inner = is_autocast_enabled("cpu")
        return is_autocast_enabled("cpu"), inner

    assert asked() == (True, False)


def test_gpus_are_switched_off_with_a_warning():
    with pytest.warns(UserWarning, match="CUDA is not available. Disabling"):
        region = autocast("cuda")
    with region:
        assert not is_autocast_enabled("cuda")
    with pytest.warns(UserWarning, match="CUDA is not available. Disabling"):
        scaler = wg.cuda.amp.GradScaler()
    assert not scaler.is_enabled()
    assert scaler.get_scale() == 1.0
    x = wg.ones(1)
    assert scaler.scale(x) is x
    assert scaler.state_dict() == {}
    scaler.update()


def step(scaler, optimizer, p, value):
    optimizer.zero_grad()
    scaler.scale((p * value).sum()).backward()
    scaler.step(optimizer)
    scaler.update()


def test_the_scale_grows_after_good_steps_and_shrinks_after_bad_ones():
    p = wg.ones(2, requires_grad=True)
    optimizer = wg.optim.SGD([p], lr=1.0)
    scaler = GradScaler("cpu", init_scale=8.0, growth_interval=2)
    step(scaler, optimizer, p, 0.25)
    assert p.tolist() == [0.75, 0.75]
    assert scaler.get_scale() == 8.0
    step(scaler, optimizer, p, 0.25)
    assert scaler.get_scale() == 16.0
    step(scaler, optimizer, p, np.inf)
    assert p.tolist() == [0.5, 0.5]
    assert scaler.get_scale() == 8.0
    other = GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict()


def test_gradients_may_be_unscaled_once_before_the_step():
    p = wg.ones(1, requires_grad=True)
    optimizer = wg.optim.SGD([p], lr=1.0)
    scaler = GradScaler("cpu", init_scale=4.0)
    scaler.scale(p.sum()).backward()
    assert p.grad.item() == 4.0
    scaler.unscale_(optimizer)
    assert p.grad.item() == 1.0
    with pytest.raises(RuntimeError, match="already been called on this optimizer"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="already been called since the last update"):
        scaler.step(optimizer)
    scaler.update()
    assert p.item() == 0.0
    with pytest.raises(AssertionError, match="No inf checks"):
        scaler.update()
