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
    "NAdam": [
        {},
        {"lr": 0.1, "betas": (0.8, 0.9), "weight_decay": 0.1, "momentum_decay": 0.1},
        {"lr": 0.1, "decoupled_weight_decay": True, "weight_decay": 0.2, "maximize": True},
    ],
    "RAdam": [
        {},
        {"lr": 0.1, "betas": (0.8, 0.9), "weight_decay": 0.1},
        {"lr": 0.1, "betas": (0.8, 0.5)},
        {"lr": 0.1, "decoupled_weight_decay": True, "weight_decay": 0.2, "maximize": True},
    ],
    "Rprop": [{}, {"lr": 0.1, "etas": (0.3, 1.5), "step_sizes": (0.05, 0.3), "maximize": True}],
    "ASGD": [{}, {"lr": 0.1, "lambd": 0.1, "alpha": 0.5, "t0": 3, "weight_decay": 0.1}],
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
        own = {} if groups is True else groups
        given = [{"params": params[:2]}, {"params": params[2:], "lr": 0.05, **own}]
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
        # ASGD's rate is kept in single precision, and rounded there on another way.
        tolerance = 1e-6 if case[0] == "ASGD" else 1e-9
        agree(run(wg, *case, **options)[0], run(torch, *case, **options)[0], tolerance)


@pytest.mark.parametrize("name", OPTIONS)
def test_settings_of_a_group_that_the_optimizer_has_not_change_nothing(name):
    # Rprop shrank its parameters by a group's weight_decay, and SGD apart from the gradient.
    own = {"weight_decay": 0.2, "decoupled_weight_decay": True}
    ours, theirs = (run(library, name, {"lr": 0.1}, groups=own)[0] for library in (wg, torch))
    agree(ours, theirs, 1e-6 if name == "ASGD" else 1e-9)


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
            tolerance = 1e-6 if case[0] == "ASGD" else 1e-9
            np.testing.assert_allclose(mine.numpy(), value.numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", [n for n in OPTIONS if n != "Adagrad"])
def test_optimizers_treat_the_parts_of_complex_parameters_as_numbers_of_their_own(name):
    found = []
    for library in (wg, torch):
        rng = np.random.default_rng(0)
        numbers = iter(rng.standard_normal((18, 3, 2)) + 1j * rng.standard_normal((18, 3, 2)))
        params = [library.tensor(next(numbers)).requires_grad_() for _ in range(2)]
        optimizer = getattr(library.optim, name)(params, lr=0.1)
        for _ in range(8):
            for p in params:
                p.grad = library.tensor(next(numbers))
            optimizer.step()
        found.append(params)
    agree(*found)


@pytest.mark.parametrize("options", [{}, {"nesterov": False, "adjust_lr_fn": "match_rms_adamw"}])
def test_muon_agrees_to_the_rounding_of_bfloat16(options):
    shapes = [(4, 6), (6, 3), (5, 5)]
    ours = run(wg, "Muon", {"lr": 0.1, **options}, shapes=shapes)[0]
    theirs = run(torch, "Muon", {"lr": 0.1, **options}, shapes=shapes)[0]
    agree(ours, theirs, 0.03)


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
@pytest.mark.parametrize("history", [100, 2])
def test_lbfgs_takes_the_same_steps(search, history):
    found = []
    for library in (wg, torch):
        x = library.tensor([-1.2, 1.0, 0.5, 2.0], dtype=library.float64).requires_grad_()
        y = library.tensor(3.0, dtype=library.float64).requires_grad_()
        optimizer = library.optim.LBFGS(
            [x, y], lr=1 if search else 1e-3, history_size=history, line_search_fn=search
        )

        def closure(x=x, y=y, optimizer=optimizer):
            optimizer.zero_grad()
            valley = 100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2
            loss = valley.sum() + (y * x).square().sum()
            loss.backward()
            return loss

        losses = [optimizer.step(closure).item() for _ in range(2)]
        state = optimizer.state_dict()["state"][0]
        found.append((losses, x.tolist(), state["func_evals"], state["n_iter"], sorted(state)))
    ours, theirs = found
    assert ours[2:4] == theirs[2:4]
    assert set(ours[4]) == set(theirs[4]) - {"al"}  # scratch of theirs
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-5, atol=1e-12)
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-5)


@pytest.mark.parametrize("name", ["SGD", "Adam", "NAdam", "RAdam", "Rprop", "ASGD"])
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
    "CyclicLR": [
        {"base_lr": 0.1, "max_lr": 0.5, "step_size_up": 3},
        {"base_lr": [0.1, 0.2], "max_lr": 0.5, "step_size_up": 2, "step_size_down": 3,
         "mode": "triangular2"},
        {"base_lr": 0.1, "max_lr": 0.5, "step_size_up": 2, "mode": "exp_range", "gamma": 0.9},
        {"base_lr": 0.1, "max_lr": 0.5, "step_size_up": 2, "scale_fn": lambda n: 1 / n},
    ],
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


def test_warm_restarts_that_go_on_in_a_later_round_agree():
    # The epochs of a round that had grown were taken off one round at a time.
    def resumed(module, optimizer):
        for group in optimizer.param_groups:
            group["initial_lr"] = 0.3
        return module.CosineAnnealingWarmRestarts(optimizer, 1, 3, last_epoch=2)

    np.testing.assert_allclose(rates(wg, resumed), rates(torch, resumed), rtol=1e-12)


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


@pytest.mark.parametrize("strategy", ["cos", "linear"])
@pytest.mark.parametrize("epochs", [0, 5])
def test_swa_rates_agree(strategy, epochs):
    found = []
    for library in (wg, torch):
        make = lambda module, optimizer, library=library: library.optim.swa_utils.SWALR(
            optimizer, [0.5, 0.01], epochs, strategy
        )
        found.append(rates(library, make))
    np.testing.assert_allclose(*found, rtol=1e-12)


@pytest.mark.parametrize("kind", ["mean", "ema", "each"])
@pytest.mark.parametrize("use_buffers", [False, True])
def test_averaged_models_agree(kind, use_buffers):
    found = []
    for library in (wg, torch):
        swa = library.optim.swa_utils
        options = {
            "mean": {},
            "ema": {"multi_avg_fn": swa.get_ema_multi_avg_fn(0.8)},
            "each": {"avg_fn": swa.get_ema_avg_fn(0.5)},
        }[kind]
        nn = library.nn
        net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).double()
        mean = swa.AveragedModel(net, use_buffers=use_buffers, **options)
        rng = np.random.default_rng(0)
        for _ in range(4):
            with library.no_grad():
                for x in (*net.parameters(), *net.buffers()):
                    if x.is_floating_point():
                        x.copy_(library.tensor(rng.standard_normal(x.shape)))
            mean.update_parameters(net)
        batches = [library.tensor(rng.standard_normal((5, 2))) for _ in range(3)]
        before = {k: v.clone() for k, v in mean.state_dict().items()}
        swa.update_bn(batches, mean)
        found.append([before, mean.state_dict()])
    for ours, theirs in zip(*found, strict=True):
        assert ours.keys() == theirs.keys()
        for name, value in theirs.items():
            np.testing.assert_allclose(ours[name].numpy(), value.numpy(), rtol=1e-9)
