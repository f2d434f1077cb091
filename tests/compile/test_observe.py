"""Each read and write outside of an observed function is told, and nothing is left behind."""

from __future__ import annotations

import contextlib
import functools
import inspect
import json.encoder
import os
import random
import subprocess
import sys
import textwrap
import threading
import types
from collections import deque

import numpy as np
import pytest

import wengert as wg
from tests.compile.observers import Recorder, observe
from wengert.compile.trace.observe import MISSING, rewrite
from wengert.history.location import line_number

# ---- reads ---------------------------------------------------------------------------------------

SCALE = 2.0
LAYERS = [3, 4, 5]
TABLE = {"k": 1, "l": [1, 2]}
ARRAY = np.arange(3.0)
MODULE = types.ModuleType("configuration")
MODULE.rate = 0.1


class Configuration:
    step = 0.5

    def __init__(self):
        self.width = 3
        self.nested = types.SimpleNamespace(depth=2)

    @property
    def area(self):
        return self.width * SCALE

    def grown(self, by=1):
        return self.width + by


class Slotted:
    __slots__ = ("x",)


class Called:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, x):
        return x * self.factor


CONFIGURATION = Configuration()


def helper(x, power=2, *, shift=1):
    return x**power + shift


def test_globals_are_read_with_their_namespace():
    observer = observe(lambda: SCALE * 2)
    assert observer.read("global", "SCALE") == (globals(), 2.0)


def test_a_module_s_attribute_is_its_global():
    observer = observe(lambda: MODULE.rate)
    owner, value = observer.read("global", "rate")
    assert owner is vars(MODULE)
    assert value == 0.1


def test_cells_are_read_as_cells():
    n = 3
    observer = observe(lambda: n + 1)
    owner, value = observer.read("cell", "n")
    assert owner.cell_contents == value == 3


def test_a_cell_of_an_inner_function_is_no_outside():
    def f():
        n = 3
        return (lambda: n + 1)()

    assert [r.kind for r in observe(f).reads] == ["code"]


def test_attributes_are_read_with_their_owner_through_any_chain():
    observer = observe(lambda: CONFIGURATION.nested.depth + CONFIGURATION.step)
    assert observer.read("attribute", "depth") == (CONFIGURATION.nested, 2)
    assert observer.read("attribute", "step") == (CONFIGURATION, 0.5)
    assert observer.words(CONFIGURATION.nested) == "CONFIGURATION.nested"


def test_slots_are_attributes_too():
    x = Slotted()
    x.x = 4
    observer = observe(lambda s: s.x, x)
    assert observer.read("attribute", "x") == (x, 4)


def test_behind_a_property_its_code_is_observed():
    observer = observe(lambda: CONFIGURATION.area)
    assert observer.read("attribute", "area") == (Configuration, vars(Configuration)["area"])
    assert observer.read("attribute", "width") == (CONFIGURATION, 3)
    assert observer.read("global", "SCALE")[1] == 2.0
    assert not observer.unobserved


def test_a_function_that_is_called_is_read_code_and_defaults():
    observer = observe(lambda: helper(2) + CONFIGURATION.grown())
    assert (helper, helper.__code__) in [(r.owner, r.value) for r in observer.reads]
    assert observer.read("default", "power") == (helper, 2)
    assert observer.read("default", "shift") == (helper, 1)
    assert observer.read("default", "by") == (Configuration.grown, 1)


def test_a_partial_is_read_with_what_it_holds():
    partial = functools.partial(helper, shift=7)
    observer = observe(lambda: partial(3))
    assert observer.read("attribute", "func") == (partial, helper)
    owners = [r.owner for r in observer.reads if r.kind == "contents"]
    assert partial.keywords in owners


def test_items_are_read_by_key():
    observer = observe(lambda: TABLE["k"] + TABLE["l"][1])
    assert observer.read("item", "k") == (TABLE, 1)
    assert observer.read("item", 1) == (TABLE["l"], 2)
    assert observer.words(TABLE["l"]) == "TABLE['l']"


def test_the_environment_is_read_by_key(monkeypatch):
    monkeypatch.setenv("OBSERVED", "yes")
    observer = observe(lambda: os.environ["OBSERVED"])
    assert observer.read("item", "OBSERVED") == (os.environ, "yes")


def test_items_of_arrays_are_read():
    observer = observe(lambda: float(ARRAY[1]) + ARRAY.sum())
    assert observer.read("item", 1)[0] is ARRAY
    assert observer.read("attribute", "sum")[0] is ARRAY


@pytest.mark.parametrize(
    "f",
    [
        lambda: [x + 1 for x in LAYERS],
        lambda: sum(LAYERS),
        lambda: max(LAYERS),
        lambda: sorted(LAYERS),
        lambda: list(LAYERS),
        lambda: [*LAYERS],
        lambda: helper(*LAYERS[:1]),
        lambda: 4 in LAYERS,
        lambda: LAYERS == [3, 4, 5],
        lambda: LAYERS + LAYERS[:0],
        lambda: LAYERS * 2,
        lambda: LAYERS.index(4),
        lambda: LAYERS.count(4),
        lambda: LAYERS.copy(),
        lambda: list(enumerate(LAYERS)),
        lambda: list(zip(LAYERS, [1, 2, 3], strict=True)),
        lambda: list(map(str, LAYERS)),
        lambda: list(reversed(LAYERS)),
        lambda: any(LAYERS) and all(LAYERS),
        lambda: np.array(LAYERS),
        lambda: f"{LAYERS}",
        lambda: str(LAYERS),
        lambda: next(iter(LAYERS)),
        lambda: (lambda a, b, c: a)(*LAYERS),
        lambda: json.dumps({"a": 1}) and json.dumps(LAYERS),
    ],
)
def test_who_goes_through_a_container_reads_its_contents(f):
    observer = observe(f)
    assert observer.read("contents") == (LAYERS, (3, 4, 5))


@pytest.mark.parametrize(
    "f",
    [
        lambda: TABLE.items(),
        lambda: TABLE.keys(),
        lambda: list(TABLE),
        lambda: {**TABLE},
        lambda: dict(TABLE),
        lambda: TABLE | {},
        lambda: {}.update(TABLE),
    ],
)
def test_a_dictionary_s_contents_are_keys_and_values(f):
    whole = [r.value for r in observe(f).reads if r.kind == "contents" and r.owner is TABLE]
    assert whole == [("k", "l", 1, [1, 2])]


def test_what_was_gone_through_is_outside_in_turn():
    def f():
        for layer in HOLDERS:
            layer.factor
        return [value.factor for _, value in enumerate(HOLDERS)]

    HOLDERS[:] = [Called(2)]
    observer = observe(f)
    assert observer.read("attribute", "factor") == (HOLDERS[0], 2)
    assert observer.words(HOLDERS[0]) == "HOLDERS[0]"


HOLDERS: list = []


@pytest.mark.parametrize("f", [lambda: len(LAYERS), lambda: not LAYERS, lambda: 1 if LAYERS else 2])
def test_the_length_alone_may_be_read(f):
    observer = observe(f)
    assert observer.read("length") == (LAYERS, 3)
    assert "contents" not in [r.kind for r in observer.reads]


def test_presence_is_read():
    observer = observe(lambda: ("k" in TABLE, "z" not in TABLE, hasattr(CONFIGURATION, "zz")))
    assert observer.read("has", "k") == (TABLE, True)
    assert observer.read("has", "z") == (TABLE, False)
    assert observer.read("lacks", "zz") == (CONFIGURATION, False)


def test_get_and_getattr_read_one_value():
    observer = observe(lambda: TABLE.get("k") + getattr(CONFIGURATION, "width"))  # noqa: B009
    assert observer.read("item", "k") == (TABLE, 1)
    assert observer.read("attribute", "width") == (CONFIGURATION, 3)


def test_the_class_of_an_object_is_read():
    observer = observe(lambda: isinstance(CONFIGURATION, Slotted))
    assert observer.read("class") == (CONFIGURATION, Configuration)


def test_what_a_library_gets_is_told():
    generator = random.Random(1)
    observer = observe(lambda: generator.random() + random.random())
    owners = [r.owner for r in observer.reads if r.kind == "call"]
    assert owners == [generator, random.random.__self__]


def test_attributes_through_super():
    class Child(Configuration):
        def grown(self):
            return super().grown() + super().step

    child = Child()
    observer = observe(child.grown)
    owner, value = observer.read("attribute", "step")
    assert owner.__self__ is child
    assert value == 0.5


def test_what_the_program_makes_is_its_own():
    def f():
        made = [1, 2]
        made.append(3)
        box = types.SimpleNamespace(a=made)
        box.b = len(box.a)
        return sum(made) + made[0] + box.b

    kinds = {r.kind for r in observe(f).reads}
    assert kinds == {"code", "global"}


def test_what_is_seen_may_stand_for_the_value():
    class Lifts(Recorder):
        def on_read(self, read):
            return 100.0 if read.key == "SCALE" else read.value

    assert Lifts().run(lambda: SCALE + SCALE) == 200.0


# ---- writes --------------------------------------------------------------------------------------

COUNT = 0


def test_globals_that_are_written():
    def f():
        global COUNT
        COUNT += 1
        return COUNT

    observer = observe(f)
    assert observer.read("global", "COUNT")[1] == observer.wrote("global", "COUNT")[1]
    assert observer.wrote("global", "COUNT")[2] == COUNT


def test_cells_that_are_written():
    n = 1

    def f():
        nonlocal n
        n += 1

    observer = observe(f)
    assert observer.wrote("cell", "n")[1:] == (1, 2)
    assert n == 2


def test_attributes_and_items_that_are_written_and_deleted():
    x, d = Configuration(), {"a": 1}

    def f(x, d):
        x.width = 5
        x.new = 6
        d["b"] = 2
        del d["a"], x.nested
        setattr(x, "late", 7)  # noqa: B010
        return x.width + x.new + d["b"]

    nested = x.nested
    observer = observe(f, x, d)
    assert observer.wrote("attribute", "width") == (x, 3, 5)
    assert observer.wrote("attribute", "new") == (x, MISSING, 6)
    assert observer.wrote("attribute", "nested") == (x, nested, MISSING)
    assert observer.wrote("attribute", "late") == (x, MISSING, 7)
    assert observer.wrote("item", "b") == (d, MISSING, 2)
    assert observer.wrote("item", "a") == (d, 1, MISSING)
    of_objects = [r for r in observer.reads if not isinstance(r.owner, type)]
    assert [r for r in of_objects if r.kind in ("item", "attribute")] == []


@pytest.mark.parametrize(
    ("container", "change"),
    [
        ([1], lambda x: x.append(2)),
        ([2, 1], lambda x: x.sort(key=lambda v: v)),
        ({}, lambda x: x.update(a=1)),
        ({}, lambda x: x.setdefault("a", 1)),
        ({1}, lambda x: x.add(2)),
        (deque([1], maxlen=1), lambda x: x.append(2)),
        ([1], lambda x: list.append(x, 2)),
    ],
)
def test_methods_that_change_a_container_have_written(container, change):
    before = list(container)
    observer = observe(change, container)
    (write,) = observer.writes
    assert (write.kind, write.owner) == ("call", container)
    assert list(write.before[: len(before)]) == before
    assert container != type(container)(before)


def test_a_change_alone_reads_no_contents_and_a_later_look_reads_those_of_before():
    log = [1]
    assert [r.kind for r in observe(lambda x: x.append(2), log).reads if r.kind == "contents"] == []

    def f(x):
        x.append(3)
        return sum(x)

    assert observe(f, log).read("contents") == (log, (1, 2))


def test_in_place_operators_write():
    def f(array, numbers):
        array += 1
        numbers += [2]

    array, numbers = np.zeros(2), [1]
    observer = observe(f, array, numbers)
    assert [(w.kind, w.owner is array or w.owner is numbers, w.key) for w in observer.writes] == [
        ("in place", True, "add"),
        ("in place", True, "add"),
    ]
    assert numbers == [1, 2]


def test_an_array_s_items_that_are_written():
    array = np.zeros(2)

    def f(x):
        x[0] = 1

    owner, _, after = observe(f, array).wrote("item", 0)
    assert owner is array
    assert after == 1


# ---- what runs unobserved ------------------------------------------------------------------------


class Shown:
    def __repr__(self):
        return f"Shown({SCALE})"


def test_code_that_a_library_finds_by_itself_is_detected_with_the_line():
    hidden = types.FunctionType((lambda x: x * SCALE).__code__, {"SCALE": 2.0})
    space = {"hidden": hidden, "__name__": "textwrap", "__file__": textwrap.__file__}
    library = types.FunctionType(compile("hidden(3)", textwrap.__file__, "eval"), space)
    observer = observe(lambda: library())
    (ran,) = observer.unobserved
    assert ran.name == hidden.__name__
    here = test_code_that_a_library_finds_by_itself_is_detected_with_the_line
    assert line_number(ran.caller, ran.at) == here.__code__.co_firstlineno + 4


def test_methods_that_c_calls_are_observed():
    observer = observe(lambda: str(Shown()))
    assert "SCALE" in [r.key for r in observer.reads]
    assert observer.unobserved == []
    assert Shown.__repr__.__code__.co_filename == __file__


class Vector:
    def __init__(self, x):
        self.x = x

    def __add__(self, other):
        return Vector(self.x + (other.x if isinstance(other, Vector) else other))

    __radd__ = __add__

    def __eq__(self, other):
        return self.x == other.x

    __hash__ = None

    def __len__(self):
        return 3

    def __iter__(self):
        yield self.x

    def __contains__(self, item):
        return item == self.x

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return name

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return error[0] is KeyError

    def __call__(self, f):
        return f(self.x)


def test_special_methods_are_observed():
    def f(v):
        w = 1 + (v + v + 1)
        with v:
            raise KeyError
        (x,) = v
        return w.x, w == v, len(v), x, 3 in v, v.anything, v(lambda a: a + 1), bool(v), [*v]

    observer = Recorder()
    v = Vector(2)
    assert observer.run(f, v) == (6, False, 3, 2, False, "anything", 3, True, [2])
    assert observer.unobserved == []


@pytest.mark.parametrize(
    "f",
    [
        lambda: list(map(helper, [1, 2])),
        lambda: sorted([1, 2], key=helper),
        lambda: functools.reduce(lambda a, b: a + helper(b), [1, 2]),
        lambda: max([1, 2], key=lambda x: helper(x)),
        lambda: wg.grad(lambda x: helper(x).sum())(wg.tensor([1.0])),
        lambda: decorated(3),
    ],
)
def test_functions_that_are_given_to_libraries_are_observed(f):
    observer = observe(f)
    assert observer.read("default", "power") == (helper, 2)
    assert observer.unobserved == []


@contextlib.contextmanager
def managed(x):
    yield helper(x)


def decorated(x):
    with managed(x) as y:
        return y


# ---- nothing is left behind ----------------------------------------------------------------------


def test_a_copy_that_leaks_does_what_the_original_does():
    kept = []

    class Library:
        def __init__(self, function):
            kept.append(function)

    Library.__init__.__code__ = Library.__init__.__code__.replace(co_filename=textwrap.__file__)
    Recorder().run(lambda: Library(helper))
    assert kept[0](3) == helper(3)


def test_an_interrupt_leaves_nothing_behind():
    def f():
        raise KeyboardInterrupt

    profile = sys.getprofile()
    with pytest.raises(KeyboardInterrupt):
        Recorder().run(f)
    assert rewrite.THREAD.observer is None
    assert sys.getprofile() is profile


def test_other_threads_are_not_observed():
    seen = []

    def f():
        thread = threading.Thread(target=lambda: seen.append(SCALE))
        thread.start()
        thread.join()

    observer = observe(f)
    assert seen == [2.0]
    assert "SCALE" not in [r.key for r in observer.reads]


def test_methods_that_a_library_calls_are_observed():
    def library(configuration):
        return configuration.grown(2)

    library.__code__ = library.__code__.replace(co_filename=textwrap.__file__)
    observer = observe(lambda: library(CONFIGURATION))
    assert observer.read("attribute", "width") == (CONFIGURATION, 3)
    assert observer.unobserved == []


def test_packages_that_the_engine_is_made_of_are_libraries_and_others_are_not(tmp_path):
    # NumPy of the system or of the user, beside an environment's own packages, was taken for the
    # user's code; and a program of the user's that is installed for a library's.
    place = tmp_path / "site-packages"
    place.mkdir()
    (place / "lent.py").write_text("")
    program = (
        "import lent, numpy, scipy.linalg, textwrap, sys\n"
        "from wengert.compile.trace.observe.users import is_library\n"
        "print(*(is_library(vars(m)) for m in (lent, numpy, scipy.linalg, textwrap)))\n"
        "print(is_library({'__file__': sys.argv[1]}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "mine.py")],
        capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(place), *sys.path])},
    )  # fmt: skip
    assert done.stdout.split() == ["False", "True", "True", "True", "False"]


def test_a_generator_function_is_one_while_it_is_lent():
    # Its code was that of a plain function, which libraries that ask could see.
    def numbers():
        yield SCALE

    kinds = []

    def f():
        kinds.append(inspect.isgeneratorfunction(numbers))
        return list(numbers()), sum(map(sum, [numbers()]))

    assert Recorder(__file__).run(f) == ([2.0], 2.0)
    assert kinds == [True]


def test_a_library_that_is_first_imported_in_a_compiled_function_may_execute_text():
    # SciPy's special functions are imported when they are first needed, and that executes a string
    # of statements, which was taken for code of the user's that ran unseen.
    program = (
        "import wengert as wg\n"
        "x = wg.ones(2, dtype=wg.float64)\n"
        "print(round(float(wg.compile(lambda x: wg.i0(x).sum())(x)), 6))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "2.532132\n", done.stderr


def test_codes_made_after_a_race_of_two_threads_are_not_taken_for_observed_ones(monkeypatch):
    # Of two copies of a code, made at once, one was dropped, but its id stayed: the next function
    # that came to lie there ran unobserved, and what it read was missed.
    def fresh(length=1):
        return compile("x = SCALE\n" * length, "users.py", "exec")

    both, make = threading.Barrier(2), rewrite.Rewriter.rewritten

    def at_once(rewriter):
        copy = make(rewriter)
        both.wait(10)
        return copy

    with monkeypatch.context() as patched:
        patched.setattr(rewrite.Rewriter, "rewritten", at_once)
        for _ in range(20):
            code = fresh()
            threads = [threading.Thread(target=rewrite.rewritten, args=(code,)) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            del code, thread, threads
    made = [
        fresh(k % 50) for k in range(2000)
    ]  # copies are longer: one of a size comes to lie there
    assert not any(map(rewrite.is_rewritten, made))
