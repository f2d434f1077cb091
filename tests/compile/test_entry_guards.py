"""Entries: what must be as it was, or the call goes the slow way."""

import pickle
from types import CellType

import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.bodies import (
    F8,
    Slow,
    array,
    each_kind,
    entry,
    status,
    sums,
)
from wengert.compile.call.entry.native import native_entry
from wengert.compile.trace.world.places import (
    Argument,
    Array,
    Attribute,
    Contents,
    Gradient,
    Guard,
    Input,
    Item,
    Length,
    Output,
    Variable,
)


@each_kind
def make(request):
    return request.param


def guarded(make, guard):
    return make(entry(status(0), guards=(guard,)))


def test_an_item_must_be_the_object(make):
    thing = object()
    members = {"name": thing}
    f = guarded(make, Guard(Item(members, "name"), thing))
    assert f() is None
    members["name"] = object()
    assert f() == "slow"
    del members["name"]
    assert f() == "slow"
    members["name"] = thing
    assert f() is None


@pytest.mark.parametrize("value", [1000, 1.5, "".join(["a", "b c"]), (2, 1.5), b"abc", 1j])
def test_what_cannot_be_told_apart_is_the_same(make, value):
    members = {"name": value}
    f = guarded(make, Guard(Item(members, "name"), value))
    members["name"] = pickle.loads(pickle.dumps(value))
    assert members["name"] is not value
    assert f() is None
    for other in (1001, -1.5, 1000.0, "ab", (2.0, 1.5), (2, 1.5, 3), None, array()):
        members["name"] = other
        assert f() == "slow"
    f = guarded(make, Guard(Item(members, "name"), 0.0))
    members["name"] = -0.0
    assert f() == "slow"


@pytest.mark.parametrize("number", [1, 3, 4, 50])
def test_any_of_many_items_may_change_and_change_back(make, number):
    class Owner:
        pass

    owner, other = Owner(), {"x": "y"}
    for i in range(number):
        setattr(owner, f"m{i}", ("a", i, 2.5 * i))
    members = vars(owner)
    guards = [Guard(Item(members, key), value) for key, value in members.items()]
    f = make(entry(status(0), guards=(*guards, Guard(Item(other, "x"), "y"))))
    for key, value in list(members.items()):
        assert f() is f() is None
        setattr(owner, key, "other")
        assert f() == f() == "slow"
        members[key] = pickle.loads(pickle.dumps(value))
        assert f() is f() is None
        delattr(owner, key)
        assert f() == f() == "slow"
        members.update({key: value})
        owner.unrelated = key
        assert f() is f() is None
        other["x"] = "z"
        assert f() == "slow"
        other["x"] = "y"


def test_an_object_whose_comparison_fails_is_not_asked(make):
    class Odd(int):
        def __eq__(self, other):
            raise RuntimeError("not comparable")

        __hash__ = None

    members = {"name": Odd(1000)}
    assert guarded(make, Guard(Item(members, "name"), 1000))() == "slow"


def test_a_gradient_of_an_argument_is_guarded_and_read(make):
    slow = Slow()
    gradient = Gradient(Argument(0))
    f = make(
        entry(
            sums(0, 1, out=2),
            slow=slow,
            arguments=(Array(0, F8, (2,), wg.Tensor, history=...),),
            guards=(Guard(gradient, None, equal=False),),
            inputs=(Input(gradient, Array(1, F8, (2,), wg.Tensor, history=...)),),
            outputs=(Array(2, F8, (2,)),),
            results=(Output(0),),
        )
    )
    x = wg.ones(2, dtype=wg.float64, requires_grad=True)
    assert f(x) == "slow"
    (x * 3).sum().backward()
    assert f(x).tolist() == [4, 4]
    x.grad = None
    assert f(x) == "slow"


@pytest.mark.parametrize("held", [(), (1, 2)])
@pytest.mark.parametrize("place", [Contents, Length])
def test_a_set_must_hold_what_it_did(make, place, held):
    container = set(held)
    f = guarded(make, Guard(place(container), held if place is Contents else len(held)))
    assert f() is None
    container.add(3)
    assert f() == "slow"
    container.discard(3)
    assert f() is None


def test_an_empty_set_is_looked_at_without_python(monkeypatch):
    # Each module has one: a call of a compiled module took 1.2 us instead of 0.4.
    asked = []
    monkeypatch.setattr(Guard, "holds", lambda guard, flat=(): asked.append(guard) or True)
    f = guarded(native_entry, Guard(Contents(set()), ()))
    assert f() is None
    assert not asked


def test_a_cell_must_hold_the_object(make):
    thing = object()
    cell = CellType(thing)
    f = guarded(make, Guard(Variable(cell), thing))
    assert f() is None
    cell.cell_contents = None
    assert f() == "slow"
    del cell.cell_contents
    assert f() == "slow"


def test_an_attribute_must_be_the_object(make):
    class Settings:
        mode = "class"

        @property
        def broken(self):
            raise RuntimeError("not this one")

    settings = Settings()
    f = guarded(make, Guard(Attribute(settings, "mode"), "class"))
    assert f() is None
    settings.mode = "instance"
    assert f() == "slow"
    del settings.mode
    assert f() is None
    del Settings.mode
    assert f() == "slow"
    assert guarded(make, Guard(Attribute(settings, "broken"), None))() == "slow"


def test_a_slot_must_or_must_not_be_the_object(make):
    x = wg.zeros(2)
    is_none = guarded(make, Guard(Attribute(x, "_node"), None))
    is_some = guarded(make, Guard(Attribute(x, "_node"), None, equal=False))
    assert (is_none(), is_some()) == (None, "slow")
    x.requires_grad_()
    assert (is_none(), is_some()) == ("slow", None)
