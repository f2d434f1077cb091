"""Saved-tensor hooks: what is packed when, what comes back, and who may refuse."""

from __future__ import annotations

import gc
import threading
import warnings
import weakref

import numpy as np
import pytest

import wengert as wg
from wengert.history import modes


@pytest.fixture(autouse=True)
def _nothing_leaks():
    yield
    assert modes.current() is modes.DEFAULT


def hooks(lib, pack, unpack):
    return lib.autograd.graph.saved_tensors_hooks(pack, unpack)


def same(t):
    return t


class Recorder:
    """Pack and unpack hooks that note what they see."""

    def __init__(self):
        self.packed, self.unpacked = [], 0

    def pack(self, t):
        self.packed.append(t.tolist())
        return t

    def unpack(self, t):
        self.unpacked += 1
        return t

    def on(self, lib):
        return hooks(lib, self.pack, self.unpack)


# ---- when they run -------------------------------------------------------------------------


def test_pack_runs_at_the_moment_of_saving_and_unpack_in_the_backward(lib):
    seen = Recorder()
    x = lib.full((2,), 3.0, requires_grad=True)
    with seen.on(lib):
        y = x.exp()
        assert len(seen.packed) == 1
    assert seen.unpacked == 0
    y.sum().backward()
    assert seen.unpacked == 1


def test_pack_runs_once_per_saved_slot(lib):
    seen = Recorder()
    x = lib.full((2,), 3.0, requires_grad=True)
    with seen.on(lib):
        y = x * x
    assert seen.packed == [[3, 3], [3, 3]]
    y.sum().backward()
    assert seen.unpacked == 2
    assert x.grad.tolist() == [6, 6]


def test_pack_never_runs_for_none_nor_for_what_is_not_saved(lib):
    seen = Recorder()
    x, c = lib.ones(2, requires_grad=True), lib.full((2,), 2.0)
    with seen.on(lib):
        x * c, x + x, x.sum(), x * 3
        c * c
        with lib.no_grad():
            x * x
    assert seen.packed == [[2, 2]]


def test_pack_runs_for_inputs_outputs_and_indices(lib):
    seen = Recorder()
    x = lib.zeros(3, requires_grad=True)
    with seen.on(lib):
        x.exp()
        assert seen.packed == [[1, 1, 1]]
        x[lib.tensor([0, 2])]
        assert seen.packed[1:] == [[0, 2]]
    assert len(seen.packed) == 2


def test_unpack_belongs_to_the_slot_also_after_the_context_has_ended(lib):
    x = lib.full((2,), 3.0, requires_grad=True)
    with hooks(lib, lambda t: t * 10, lambda t: t / 5):
        y = x * x
    z = x * x
    y.sum().backward()
    assert x.grad.tolist() == [12, 12]
    z.sum().backward()
    assert x.grad.tolist() == [18, 18]


def test_pack_may_return_anything(lib):
    x = lib.full((2,), 3.0, requires_grad=True)
    kept = {}

    def pack(t):
        kept[len(kept)] = t.tolist()
        return len(kept) - 1

    with hooks(lib, pack, lambda key: lib.tensor(kept[key])):
        y = x * x * x
    y.sum().backward()
    assert x.grad.tolist() == [27, 27]
    assert all(type(key) is int for key in kept)


def test_only_the_innermost_pair_acts(lib):
    outer, inner = Recorder(), Recorder()
    x = lib.full((2,), 3.0, requires_grad=True)
    with outer.on(lib):
        a = x.exp()
        with inner.on(lib):
            b = x * x
        c = x.exp()
    assert (len(outer.packed), len(inner.packed)) == (2, 2)
    (a + b + c).sum().backward()
    assert (outer.unpacked, inner.unpacked) == (2, 2)


def test_hooks_are_per_thread(lib):
    seen = Recorder()
    x = lib.ones(2, requires_grad=True)
    with seen.on(lib):
        thread = threading.Thread(target=lambda: x * x)
        thread.start()
        thread.join()
    assert seen.packed == []


def test_gradients_are_off_inside_the_pack_hook(lib):
    seen = []
    x = lib.ones(2, requires_grad=True)
    with hooks(lib, lambda t: seen.append(lib.is_grad_enabled()) or t, same):
        x * x
    assert seen == [False, False]


def test_what_a_custom_function_saves_is_packed(lib):
    class Cube(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x**3
            ctx.save_for_backward(x, None, y)
            return y

        @staticmethod
        def backward(ctx, g):
            x, nothing, y = ctx.saved_tensors
            assert nothing is None
            return g * 3 * y / x

    seen = Recorder()
    x = lib.full((2,), 2.0, requires_grad=True)
    with seen.on(lib):
        y = Cube.apply(x)
    assert seen.packed == [[2, 2], [8, 8]]
    y.sum().backward()
    assert x.grad.tolist() == [12, 12]
    assert seen.unpacked == 2


# ---- what they may not do ------------------------------------------------------------------


def test_unpack_must_return_a_tensor(lib):
    x = lib.ones(2, requires_grad=True)
    for wrong in (1, None, "text", np.ones(2)):
        with hooks(lib, same, lambda t, wrong=wrong: wrong):
            y = x * x
        with pytest.raises(TypeError, match="unpack_hook expected to be a Tensor"):
            y.sum().backward()


@pytest.mark.parametrize("operation", ["input", "output"])
def test_a_pack_hook_that_modifies_its_argument_is_an_error(lib, operation):
    x = lib.ones(2, requires_grad=True)
    with (
        hooks(lib, lambda t: t.mul_(2), same),
        pytest.raises(RuntimeError, match="pack hook is modifying its input"),
    ):
        x * x if operation == "input" else x.exp()


def test_an_error_in_a_pack_hook_reaches_the_caller(lib):
    def refuse(t):
        raise KeyError("no room")

    x = lib.ones(2, requires_grad=True)
    with hooks(lib, refuse, same), pytest.raises(KeyError):
        x * x
    (x * x).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_an_error_in_an_unpack_hook_reaches_the_caller(lib):
    def refuse(t):
        raise KeyError("lost")

    x = lib.ones(2, requires_grad=True)
    with hooks(lib, same, refuse):
        y = x * x
    with pytest.raises(KeyError):
        y.sum().backward()
    assert x.grad is None


# ---- what comes back -----------------------------------------------------------------------


def test_what_is_unpacked_is_reconnected_to_a_leaf(lib):
    x = lib.full((2,), 3.0, requires_grad=True)
    with hooks(lib, lambda t: t.numpy().copy(), lambda a: lib.from_numpy(a)):
        y = x * x * x
    (g,) = lib.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = lib.autograd.grad(g.sum(), x)
    assert g.tolist() == [27, 27]
    assert h.tolist() == [18, 18]


def test_what_is_unpacked_is_reconnected_to_its_node(lib):
    x = lib.full((2,), 3.0, requires_grad=True)
    z = x * 2
    with hooks(lib, lambda t: t.clone(), lambda t: t.clone()):
        y = z * z
    (g,) = lib.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = lib.autograd.grad(g.sum(), x)
    assert h.tolist() == [8, 8]


def test_an_unpacked_output_is_reconnected_to_its_own_node(lib):
    x = lib.zeros(2, requires_grad=True)
    with hooks(lib, lambda t: t.clone(), same):
        y = x.exp()
    (g,) = lib.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = lib.autograd.grad(g.sum(), x)
    assert h.tolist() == [1, 1]


def test_values_changed_by_the_hooks_are_used_as_they_are(lib):
    x = lib.full((2,), 3.0, requires_grad=True)
    with hooks(lib, lambda t: t, lambda t: t * 0 + 7):
        y = x * x
    y.sum().backward()
    assert x.grad.tolist() == [14, 14]


def test_the_graph_of_a_graph_is_packed_as_well(lib):
    seen = Recorder()
    x = lib.full((2,), 3.0, requires_grad=True)
    with seen.on(lib):
        y = x * x
        before = len(seen.packed)
        (g,) = lib.autograd.grad(y.sum(), x, create_graph=True)
        assert len(seen.packed) > before
    (h,) = lib.autograd.grad(g.sum(), x)
    assert h.tolist() == [2, 2]


def test_without_hooks_a_saved_input_reads_back_as_the_very_same_object(lib):
    x = lib.ones(2, requires_grad=True)
    z = x * 2
    assert (x * x).grad_fn._saved_self is x
    assert (z * z).grad_fn._saved_other is z
    v = z[:1]
    assert (v * v).grad_fn._saved_self is v


def test_without_hooks_a_saved_output_reads_back_as_another_object_of_equal_value(lib):
    y = lib.ones(2, requires_grad=True).exp()
    saved = y.grad_fn._saved_result
    assert saved is not y
    assert saved.tolist() == y.tolist()
    assert saved.grad_fn is y.grad_fn
    assert saved.output_nr == 0


# ---- refusing hooks ------------------------------------------------------------------------


def test_disabled_hooks_refuse_with_the_message(lib):
    disable = lib.autograd.graph.disable_saved_tensors_hooks
    refused = pytest.raises(RuntimeError, match="not here")
    with disable("not here"), refused, hooks(lib, same, same):
        pass
    with hooks(lib, same, same):
        pass


def test_the_innermost_message_counts_and_nesting_restores(lib):
    disable = lib.autograd.graph.disable_saved_tensors_hooks
    with disable("outer"):
        refused = pytest.raises(RuntimeError, match="inner")
        with disable("inner"), refused, hooks(lib, same, same):
            pass
        with pytest.raises(RuntimeError, match="outer"), hooks(lib, same, same):
            pass


def test_disabling_while_hooks_are_active_raises_the_same_message(lib):
    disable = lib.autograd.graph.disable_saved_tensors_hooks
    refused = pytest.raises(RuntimeError, match="too late")
    with hooks(lib, same, same), refused, disable("too late"):
        pass
    with disable("again"):
        pass


def test_disabling_works_as_a_decorator(lib):
    @lib.autograd.graph.disable_saved_tensors_hooks("not here")
    def run():
        with hooks(lib, same, same):
            pass

    with pytest.raises(RuntimeError, match="not here"):
        run()


# ---- ready-made hooks ----------------------------------------------------------------------


@pytest.mark.parametrize("pin", [False])
def test_save_on_cpu_keeps_gradients(lib, pin):
    x = lib.full((2,), 3.0, requires_grad=True)
    with lib.autograd.graph.save_on_cpu(pin_memory=pin):
        y = (x * x * x).exp().log()
    y.sum().backward()
    assert x.grad.tolist() == pytest.approx([27, 27])


def test_hooks_that_write_to_disk(lib, tmp_path):
    def pack(t):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.npy"
        np.save(path, t.numpy())
        return path

    x = lib.full((2,), 3.0, requires_grad=True)
    with hooks(lib, pack, lambda path: lib.from_numpy(np.load(path))):
        y = x * x * x
    assert len(list(tmp_path.iterdir())) == 4
    y.sum().backward()
    assert x.grad.tolist() == [27, 27]


# ---- one slot ------------------------------------------------------------------------------


def test_hooks_registered_on_one_slot_act_on_it_alone(lib):
    x = lib.full((2,), 3.0, requires_grad=True)
    y = x * x
    y.grad_fn._raw_saved_self.register_hooks(lambda t: t * 2, lambda t: t * 5)
    y.sum().backward()
    assert x.grad.tolist() == [33, 33]


def test_registering_twice_is_an_error(lib):
    y = lib.ones(2, requires_grad=True).exp()
    y.grad_fn._raw_saved_result.register_hooks(same, same)
    with pytest.raises(RuntimeError, match="already been set"):
        y.grad_fn._raw_saved_result.register_hooks(same, same)


def test_registering_on_a_slot_packed_by_a_context_is_an_error(lib):
    x = lib.ones(2, requires_grad=True)
    with hooks(lib, same, same):
        y = x * x
    with pytest.raises(RuntimeError, match="already been set"):
        y.grad_fn._raw_saved_self.register_hooks(same, same)


def test_registering_on_nothing_is_an_error(lib):
    y = lib.ones(2, requires_grad=True) * lib.ones(2)
    with pytest.raises(RuntimeError, match="None is forbidden"):
        y.grad_fn._raw_saved_self.register_hooks(same, same)


def test_registering_what_is_not_callable_is_an_error(lib):
    slot = lib.ones(2, requires_grad=True).exp().grad_fn._raw_saved_result
    for wrong in ((1, same), (same, 1), (same,), ()):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            slot.register_hooks(*wrong)


def test_registering_a_hook_that_modifies_is_an_error(lib):
    y = lib.ones(2, requires_grad=True).exp()
    with pytest.raises(RuntimeError, match="pack hook is modifying its input"):
        y.grad_fn._raw_saved_result.register_hooks(lambda t: t.add_(1), same)


def test_slots_of_a_custom_function(lib):
    class Square(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    x = lib.full((2,), 3.0, requires_grad=True)
    y = Square.apply(x)
    y.grad_fn._raw_saved_tensors[0].register_hooks(lambda t: t + 1, lambda t: t * 2)
    y.sum().backward()
    assert x.grad.tolist() == [16, 16]


def test_after_freeing_a_saved_value_cannot_be_read(lib):
    x = lib.ones(2, requires_grad=True)
    y = x * x
    node = y.grad_fn
    y.sum().backward()
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        node._saved_self


# ---- allow_mutation_on_saved_tensors -------------------------------------------------------


def test_saved_values_are_copied_before_they_are_overwritten(lib):
    allow = lib.autograd.graph.allow_mutation_on_saved_tensors
    x = lib.full((2,), 2.0, requires_grad=True)
    with allow():
        y = x * 3
        z = y * y
        y.mul_(10)
        z.sum().backward()
    assert x.grad.tolist() == [36, 36]


def test_saved_outputs_and_views_are_copied_too(lib):
    allow = lib.autograd.graph.allow_mutation_on_saved_tensors
    x = lib.full((2,), 0.5, requires_grad=True)
    with allow():
        y = x.exp()
        e = y.tolist()
        y[:1].zero_()
        y.add_(1)
        (g,) = lib.autograd.grad(y.sum(), x)
    assert g.tolist() == pytest.approx([0, e[1]])


def test_a_leaf_may_be_updated_between_forward_and_backward(lib):
    w = lib.full((2,), 2.0, requires_grad=True)
    with lib.autograd.graph.allow_mutation_on_saved_tensors():
        loss = (w * w).sum()
        with lib.no_grad():
            w.sub_(1)
        loss.backward()
    assert w.grad.tolist() == [4, 4]


def test_results_of_in_place_operations_may_be_overwritten_too(lib):
    x = lib.zeros(2, requires_grad=True)
    with lib.autograd.graph.allow_mutation_on_saved_tensors():
        y = (x * 1).exp_()
        z = y * 2
        y.zero_()
        z.sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_such_contexts_cannot_be_nested(lib):
    allow = lib.autograd.graph.allow_mutation_on_saved_tensors
    with allow(), pytest.raises(RuntimeError, match="cannot be nested"), allow():
        pass


# ---- ours alone ----------------------------------------------------------------------------


def test_no_warning_comes_from_hooks():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = wg.ones(2, requires_grad=True)
        with hooks(wg, same, same):
            (x * x).sum().backward()


def test_every_kind_of_recorder_packs():
    seen = Recorder()
    x = wg.ones(2, 2, requires_grad=True) * 1
    with seen.on(wg):
        results = [
            x * x,
            np.exp(x),
            x @ x,
            np.max(x, axis=0),
            np.concatenate([x, x]),
            np.where(x > 0, x, x),
        ]
    for y in results:
        y.sum().backward(retain_graph=True)
    assert seen.packed
    assert seen.unpacked == len(seen.packed)


def test_hooks_see_detached_tensors():
    seen = []
    x = wg.ones(2, requires_grad=True)
    with hooks(wg, lambda t: seen.append((t.requires_grad, t.grad_fn)) or t, same):
        (x * 2).exp() * x
    assert seen == [(False, None)] * len(seen)


def test_in_place_results_and_old_values_survive_hooks_that_keep_their_argument():
    # The identity keeps the very memory that the operation is about to overwrite.
    x, w = wg.full((2,), 3.0, requires_grad=True), wg.full((2,), 5.0, requires_grad=True)
    with hooks(wg, same, same):
        y = x * 1
        y.mul_(w)
        y.exp_()
        y.log_()
    y.sum().backward()
    assert x.grad.tolist() == pytest.approx([5, 5])
    assert w.grad.tolist() == pytest.approx([3, 3])


def test_hooks_do_not_keep_the_output_alive():
    x = wg.ones(2, requires_grad=True)
    gc.collect()
    gc.disable()
    try:
        with hooks(wg, lambda t: t, same):
            y = x.exp()
        alive = weakref.ref(y.grad_fn)
        del y
        assert alive() is None
    finally:
        gc.enable()


def test_registering_after_the_value_was_changed_is_an_error():
    x = wg.ones(2, requires_grad=True) * 1
    y = x * x
    slot = y.grad_fn._raw_saved_self
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        slot.register_hooks(same, same)
