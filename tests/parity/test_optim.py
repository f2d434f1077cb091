"""Optimizers and schedules against PyTorch: sequences of updates with every option."""

import numpy as np
import pytest

import wengert as wg

torch = pytest.importorskip("torch")

SHAPES = [(3, 4), (4,), (), (2, 1, 3)]

OPTIONS = {
    "SGD": [
        {"lr": 0.1},
        {"lr": 0.1, "momentum": 0.9},
        {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1},
        {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
        {"lr": 0.1, "weight_decay": 0.1, "maximize": True},
        {"lr": 0.1, "momentum": 0.5, "maximize": True},
    ],
    "Adam": [
        {},
        {"lr": 0.1, "betas": (0.8, 0.95), "eps": 1e-3},
        {"lr": 0.1, "weight_decay": 0.1},
        {"lr": 0.1, "amsgrad": True},
        {"lr": 0.1, "maximize": True, "weight_decay": 0.1},
        {"lr": 0.1, "decoupled_weight_decay": True, "weight_decay": 0.3},
    ],
    "AdamW": [{"lr": 0.1}, {"lr": 0.1, "amsgrad": True, "weight_decay": 0.3, "maximize": True}],
    "RMSprop": [
        {},
        {"lr": 0.1, "momentum": 0.9, "centered": True, "weight_decay": 0.1},
        {"lr": 0.1, "alpha": 0.5, "maximize": True},
    ],
    "Adagrad": [
        {},
        {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5},
    ],
    "Adadelta": [{}, {"lr": 0.5, "rho": 0.7, "weight_decay": 0.1, "maximize": True}],
    "Adamax": [{}, {"lr": 0.1, "betas": (0.8, 0.9), "weight_decay": 0.1}],
}
CASES = [(name, options) for name, settings in OPTIONS.items() for options in settings]


def start(library, shapes=SHAPES, dtype=np.float64):
    rng = np.random.default_rng(0)
    return [
        library.tensor(np.asarray(rng.standard_normal(s), dtype)).requires_grad_() for s in shapes
    ]


def run(
    library,
    name,
    options,
    steps=10,
    missing=(),
    groups=False,
    shapes=SHAPES,
    reload=None,
    dtype=np.float64,
):
    """The parameters after `steps` updates with given gradients, and the optimizer."""
    params = start(library, shapes, dtype)
    given = params
    if groups:
        given = [{"params": params[:2]}, {"params": params[2:], "lr": 0.05}]
    make = getattr(library.optim, name)
    optimizer = make(given, **options)
    rng = np.random.default_rng(1)
    for step in range(steps):
        if step == reload:
            state = optimizer.state_dict()
            optimizer = make(given if not groups else [dict(g) for g in given], **options)
            optimizer.load_state_dict(state)
        for i, p in enumerate(params):
            g = library.tensor(np.asarray(rng.standard_normal(p.shape), dtype))
            p.grad = None if (step, i) in missing else g
        optimizer.step()
    return params, optimizer


def agree(ours, theirs, tolerance=1e-9):
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(
            a.detach().numpy(), b.detach().numpy(), rtol=tolerance, atol=tolerance
        )


@pytest.mark.parametrize("case", CASES, ids=str)
def test_ten_updates_agree(case):
    for options in (
        {},
        {"groups": True},
        {"reload": 5},
        {"missing": {(0, 1), (3, 0), (4, 2), (4, 3)}},
    ):
        agree(run(wg, *case, **options)[0], run(torch, *case, **options)[0])


@pytest.mark.parametrize("case", [c for c in CASES if c[0] in ("SGD", "Adam")], ids=str)
def test_large_and_small_parameters_agree_in_single_precision(case):
    shapes = [(300, 300), (7,), (40, 40), (3,)]
    ours = run(wg, *case, steps=4, shapes=shapes, dtype=np.float32)[0]
    theirs = run(torch, *case, steps=4, shapes=shapes, dtype=np.float32)[0]
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_state_dictionaries_agree(case):
    ours, theirs = (run(library, *case, groups=True)[1].state_dict() for library in (wg, torch))
    assert ours.keys() == theirs.keys()
    assert ours["param_groups"] == theirs["param_groups"]
    assert ours["state"].keys() == theirs["state"].keys()
    for number, values in theirs["state"].items():
        assert ours["state"][number].keys() == values.keys()
        for name, value in values.items():
            mine = ours["state"][number][name]
            assert tuple(mine.shape) == tuple(value.shape)
            assert mine.numpy().dtype == value.numpy().dtype
            np.testing.assert_allclose(mine.numpy(), value.numpy(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_optimizers_print_as_in_pytorch(name):
    assert repr(run(wg, name, {}, 1)[1]) == repr(run(torch, name, {}, 1)[1])


# ---- schedules -----------------------------------------------------------------------------

SCHEDULES = {
    "StepLR": [{"step_size": 3}, {"step_size": 2, "gamma": 0.5}],
    "MultiStepLR": [{"milestones": [2, 5, 5]}],
    "ConstantLR": [{"factor": 0.5, "total_iters": 4}],
    "LinearLR": [{}, {"start_factor": 0.2, "end_factor": 0.8, "total_iters": 7}],
    "ExponentialLR": [{"gamma": 0.8}],
    "PolynomialLR": [{"total_iters": 6, "power": 2.0}],
    "CosineAnnealingLR": [{"T_max": 4, "eta_min": 0.01}],
    "CosineAnnealingWarmRestarts": [{"T_0": 3, "T_mult": 2, "eta_min": 0.01}],
    "LambdaLR": [
        {"lr_lambda": lambda n: 0.9**n},
        {"lr_lambda": [lambda n: 1 / (n + 1), lambda n: n]},
    ],
    "MultiplicativeLR": [{"lr_lambda": lambda n: 0.9}],
    "OneCycleLR": [
        {"max_lr": 0.5, "total_steps": 12},
        {"max_lr": [0.5, 1.0], "total_steps": 12, "three_phase": True, "anneal_strategy": "linear"},
    ],
}  # fmt: skip


def rates(library, make, steps=11):
    params = start(library)
    optimizer = library.optim.SGD(
        [{"params": params[:2]}, {"params": params[2:], "lr": 0.05}], lr=0.1, momentum=0.9
    )
    schedule = make(library.optim.lr_scheduler, optimizer)
    history = []
    for _ in range(steps):
        optimizer.step()
        schedule.step()
        history.append([*schedule.get_last_lr(), *(g["momentum"] for g in optimizer.param_groups)])
    return history


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_agree(name):
    for options in SCHEDULES[name]:
        make = lambda module, optimizer, o=options: getattr(module, name)(optimizer, **o)
        np.testing.assert_allclose(rates(wg, make), rates(torch, make), rtol=1e-12)


@pytest.mark.filterwarnings("ignore:The epoch parameter")
def test_sequences_and_chains_of_schedules_agree():
    def sequence(module, optimizer):
        parts = [module.ConstantLR(optimizer, 0.5, 3), module.ExponentialLR(optimizer, 0.9)]
        return module.SequentialLR(optimizer, parts, [4])

    def chain(module, optimizer):
        return module.ChainedScheduler(
            [module.ConstantLR(optimizer, 0.5, 3), module.ExponentialLR(optimizer, 0.9)]
        )

    for make in (sequence, chain):
        np.testing.assert_allclose(rates(wg, make), rates(torch, make), rtol=1e-12)


@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize("threshold_mode", ["rel", "abs"])
def test_reducing_on_a_plateau_agrees(mode, threshold_mode):
    metrics = [5.0, 4.0, 4.0, 4.0, 4.1, 4.0, 3.0, 3.0, 3.5, 3.0, 3.0, 3.0, 3.0]
    found = []
    for library in (wg, torch):
        optimizer = library.optim.SGD(start(library), lr=1.0)
        schedule = library.optim.lr_scheduler.ReduceLROnPlateau(
            optimizer,
            mode,
            patience=1,
            cooldown=1,
            threshold=0.1,
            threshold_mode=threshold_mode,
            min_lr=1e-3,
        )
        history = []
        for metric in metrics:
            schedule.step(metric)
            history.append(schedule.get_last_lr()[0])
        found.append(history)
    assert found[0] == pytest.approx(found[1])
