"""What is promised and does not hold yet: for each test the cause, the cases, and how it fails.

A repair takes lines out: a listed case that passes is a failure.
"""

from __future__ import annotations

from wengert.errors import TracingError

Broken = tuple[str, frozenset[str] | None, type[BaseException]]


def some(text: str) -> frozenset[str]:
    return frozenset(filter(None, map(str.strip, text.strip().splitlines())))


BROKEN: dict[str, tuple[Broken, ...]] = {
    # test_checks.py
    "test_values_out_of_range_are_refused_as_in_eager_mode": (
        (
            "refused while tracing",
            some(
                """
            scatter_reduce, too low
            scatter_reduce, far too low
            scatter_reduce, too high
            """
            ),
            AssertionError,
        ),
    ),
    # test_errors.py
    "test_what_runs_eagerly_runs_compiled": (
        (
            "traced arrays cannot say this of themselves",
            some(
                """
            storage_offset
            data_ptr
            """
            ),
            AssertionError,
        ),
    ),
    # test_isolation.py
    "test_an_unrelated_optimizer_trains_in_another_thread": (
        (
            "a trace changes what other threads see",
            None,
            TracingError,
        ),
    ),
    "test_settings_of_an_unrelated_optimizer_stay_numbers": (
        (
            "a trace changes what other threads see",
            None,
            AssertionError,
        ),
    ),
    "test_the_classes_that_another_thread_sees_are_as_always": (
        (
            "a trace changes what other threads see",
            None,
            AssertionError,
        ),
    ),
    # test_kept_state.py
    "test_what_a_function_keeps_is_there_at_its_next_call": (
        (
            "what a function keeps outside is written while tracing only",
            some(
                """
            a nonlocal number
            an attribute of an object
            an attribute of the object whose method it is
            an attribute of a nested object
            averages in a dictionary
            a global dictionary
            a dictionary of numbers
            a list that is appended to
            a list that is appended to and read
            a list item
            a deque
            a class attribute
            an attribute of the function
            a default that is mutable
            a generator that is advanced
            a NumPy array written
            requires_grad switched
            the mode of a module
            a parameter registered anew
            a recurrent state
            a count in a module
            a float in a module
            a count that is not read
            a buffer assigned anew
            a global tensor
            a global number
            a nonlocal tensor
            """
            ),
            AssertionError,
        ),
    ),
    "test_what_is_kept_may_be_replaced_from_outside": (
        (
            "what a function keeps outside is written while tracing only",
            None,
            AssertionError,
        ),
    ),
    # test_numbers.py
    "test_a_number_is_read_again": (
        (
            "defaults are those of the first call",
            some(
                """
            float in default
            int in default
            bool in default
            str in default
            None in default
            np.float64 in default
            np.float32 in default
            np.int64 in default
            np.bool_ in default
            np.float64 that decides in default
            Enum in default
            Fraction in default
            dtype in default
            np.dtype in default
            np.cos in default
            """
            ),
            AssertionError,
        ),
    ),
    "test_a_schedule_that_uses_numpy_is_followed": (
        (
            "a number that is no plain Python number is that of the first call",
            None,
            AssertionError,
        ),
    ),
    # test_replaced.py
    "test_hooks_that_are_added_run": (
        (
            "hooks added or removed later are not noticed",
            None,
            AssertionError,
        ),
    ),
    "test_hooks_that_are_removed_run_no_more": (
        (
            "hooks added or removed later are not noticed",
            None,
            AssertionError,
        ),
    ),
    "test_what_is_replaced_is_noticed": (
        (
            "a read that nothing guards",
            some(
                """
            the code of a function
            a method
            a method of one object
            forward
            forward of a part
            forward of the class
            defaults
            keyword defaults
            defaults of another function
            a partial's keywords
            the keywords of a partial that is called
            a class
            the class of a module
            a class attribute
            a class attribute of a module
            a class attribute by its class
            an attribute that hides that of the class
            an attribute of an imported module
            a slot
            a SimpleNamespace
            a nested object
            self.cfg.scale
            hasattr
            a global that hides a builtin
            an item of a list
            an item of a list, by iteration
            a list that grows
            the length of a list
            the sum of a list
            a list asked for truth
            a list asked for a member
            a list of lists
            a set
            an item that get did not find
            an item by a computed key
            the items of a dictionary
            the keys of a dictionary
            a dictionary as keywords
            a dictionary in a module
            a tensor in a list
            a layer in a list
            a layer appended to a list
            a layer popped from a list
            layers reversed
            ModuleList.append
            ModuleDict's items
            add_module seen by children
            add_module seen by modules
            a parameter seen by parameters
            os.environ
            """
            ),
            AssertionError,
        ),
    ),
    # test_results.py
    "test_the_layout_of_an_argument_is_that_of_the_call": (
        (
            "traced arrays cannot say this of themselves",
            some(
                """
            storage_offset: dense, then transposed
            storage_offset: transposed, then dense
            storage_offset: dense, then every other
            storage_offset: dense, then reversed
            storage_offset: dense, then expanded
            storage_offset: dense, then offset
            data_ptr: dense, then transposed
            data_ptr: transposed, then dense
            data_ptr: dense, then every other
            data_ptr: dense, then reversed
            data_ptr: dense, then expanded
            data_ptr: dense, then offset
            """
            ),
            AssertionError,
        ),
    ),
    # test_surroundings.py
    "test_a_clock_that_is_read_is_refused": (
        (
            "NumPy's and Python's random numbers are drawn while tracing",
            None,
            AssertionError,
        ),
    ),
    "test_a_write_to_an_array_from_outside_happens_at_each_call_or_is_refused": (
        (
            "a write to an outside array happens while tracing only",
            None,
            AssertionError,
        ),
    ),
    "test_an_array_from_outside_is_read_again": (
        (
            "an outside array is a constant where its items are read",
            some(
                """
            an item, written
            an item as a float, written
            item(), written
            a product, written
            a product with a number, written
            a sum, written
            np.sum, written
            a tensor of it, written
            a mean in a branch, written
            a slice, written
            tolist, written
            iteration, written
            as an index, written
            as a mask, written
            """
            ),
            AssertionError,
        ),
    ),
    "test_random_numbers_are_drawn_at_each_call_or_refused": (
        (
            "NumPy's and Python's random numbers are drawn while tracing",
            some(
                """
            np.random.normal
            np.random.normal of a size
            np.random.rand
            np.random.randint
            np.random.permutation
            default_rng
            default_rng in a number
            RandomState
            random.random
            random.gauss
            random.choice
            random.shuffle
            random.Random
            """
            ),
            AssertionError,
        ),
    ),
}
