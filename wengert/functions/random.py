"""Random numbers: generators that can be seeded, saved and restored, and what they draw.

Numbers come from Philox (Salmon et al., 2011), a counter-based generator: its whole state is a key
and a counter. The sequences are wengert's own, not PyTorch's.
"""

from __future__ import annotations

import contextlib
import functools
import operator
import pickle
from collections.abc import Iterator
from types import NoneType
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.arrays.kind import array_of
from wengert.autograd import inplace
from wengert.autograd.engine import mark_written
from wengert.autograd.misfits import told
from wengert.autograd.settings import refuses
from wengert.dispatch import as_array, primitive, require
from wengert.errors import DtypeError
from wengert.functions.arguments import constant, of_tensors, takes_names, tensor_of
from wengert.functions.creation import check_device, check_layout, factory, finish, kind, shape_of
from wengert.functions.device import CPU
from wengert.functions.indexing import overwrite
from wengert.history import modes
from wengert.rules.blocks import EXACT
from wengert.rules.elementwise import make_complex
from wengert.tensor import NUMBERS, Tensor, wrap

_BYTES = 512
"""Of a state, whatever the numbers in it are."""


class Generator:
    """A source of random numbers: its seed is Philox's key, its state the key and the counter.

    >>> import wengert as wg
    >>> g = wg.Generator().manual_seed(0)
    >>> h = wg.Generator().manual_seed(0)
    >>> wg.equal(wg.rand(3, generator=g), wg.rand(3, generator=h))
    True
    >>> state = g.get_state()
    >>> first = wg.rand(3, generator=g)
    >>> wg.equal(wg.rand(3, generator=g.set_state(state)), first)
    True
    """

    def __init__(self, device: Any = "cpu") -> None:
        check_device(device)
        self._begin(67280421310721)

    # What a generator remembers is read and changed by these five alone: who watches it, as a
    # trace does, is told of all.

    def _begin(self, seed: int) -> None:
        self._seed = seed
        self.__dict__.pop("_numbers", None)

    def _began(self) -> int:
        return self._seed

    def _unforeseen(self) -> int:
        import secrets  # takes long, and few programs need it

        return secrets.randbits(63)

    def _state(self) -> np.ndarray[Any, Any]:
        """The seed and where the sequence stands, as so many bytes whatever they are."""
        state = self._seed, _plain_state(self._numbers.bit_generator.state)
        return np.frombuffer(pickle.dumps(state, protocol=4).ljust(_BYTES, b"\0"), np.uint8).copy()

    def _restore(self, state: np.ndarray[Any, Any]) -> None:
        try:
            seed, stood = _StateReader.loads(state.tobytes())
            numbers = np.random.Generator(np.random.Philox(seed))
            numbers.bit_generator.state = stood
        except _NotAState:
            raise
        except Exception as error:  # bytes of anything else fail in any way
            raise RuntimeError(
                f"these {state.size} bytes are no state of a generator: take those that "
                "get_state() returned"
            ) from error
        self._seed, self._numbers = seed, numbers

    @functools.cached_property
    def _numbers(self) -> np.random.Generator:
        # Importing numpy.random takes time: nothing is made before a number is drawn.
        return np.random.Generator(np.random.Philox(self._seed))

    def manual_seed(self, seed: int) -> Generator:
        """Start the sequence that belongs to `seed`; returns the generator.

        A seed is an integer of 64 bits: from -2^63, where -1 means 2^64 - 1, to 2^64 - 1.
        """
        if isinstance(seed, bool) or not hasattr(type(seed), "__index__"):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        seed = operator.index(seed)
        if not -(2**63) <= seed < 2**64:
            raise ValueError(
                f"Overflow when unpacking long long: a seed has 64 bits, and {seed} does not fit"
            )
        self._begin(seed % 2**64)
        return self

    def seed(self) -> int:
        """Start an unpredictable sequence; returns its seed."""
        seed = self._unforeseen()
        self.manual_seed(seed)
        return seed

    def initial_seed(self) -> int:
        """The seed of the current sequence."""
        return self._began()

    def get_state(self) -> Tensor:
        """Where the sequence stands, as a tensor of bytes."""
        return constant(self._state())

    def set_state(self, new_state: Tensor) -> Generator:
        """Continue where `get_state` was called."""
        if not isinstance(new_state, Tensor) or new_state.dtype != dtypes.uint8:
            raise TypeError("expected a wengert.ByteTensor, as get_state() returns it")
        self._restore(new_state._array)
        return self

    def fork(self, n: int) -> list[Generator]:
        """`n` generators with independent sequences, for workers or for parts of a program.

        Their seeds are drawn from this generator, so that they are the same in each run, and others
        at the next fork.

        >>> import wengert as wg
        >>> a, b = wg.Generator().manual_seed(0).fork(2)
        >>> wg.equal(wg.rand(3, generator=a), wg.rand(3, generator=b))
        False
        """
        seeds = self._numbers.integers(0, 2**64, n, np.uint64)
        return [Generator().manual_seed(int(seed)) for seed in seeds]

    def clone_state(self) -> Generator:
        """Another generator at the same place."""
        return Generator().set_state(self.get_state())

    @property
    def device(self) -> Any:
        return CPU

    def __repr__(self) -> str:
        return f"<wengert.Generator of seed {self.initial_seed()}>"

    def __getstate__(self) -> Any:
        return self._state().tobytes()

    def __setstate__(self, state: bytes) -> None:
        self.__init__()  # type: ignore[misc]
        self._restore(np.frombuffer(state, np.uint8))


def _plain_state(state: Any) -> Any:
    """A NumPy generator's state with lists in the place of arrays."""
    if isinstance(state, dict):
        return {k: _plain_state(v) for k, v in state.items()}
    return state.tolist() if isinstance(state, np.ndarray) else state


class _NotAState(pickle.UnpicklingError):
    """A saved state that names code."""


class _StateReader(pickle.Unpickler):
    """Reads a saved state, which holds numbers and names only: nothing in it can run code."""

    def find_class(self, module: str, name: str) -> Any:
        raise _NotAState("a generator's state holds numbers only")

    @classmethod
    def loads(cls, data: bytes) -> Any:
        import io

        return cls(io.BytesIO(data)).load()


default_generator = Generator()


def numbers_of(generator: Generator | None) -> np.random.Generator:
    """NumPy's generator inside ours; the default one if none is given."""
    if not isinstance(generator, (Generator, NoneType)):
        raise TypeError(
            f"argument 'generator' must be a Generator, not {type(generator).__name__}. Make one "
            "with wengert.Generator().manual_seed(0)."
        )
    numbers = (default_generator if generator is None else generator)._numbers
    if modes.special and modes.current().level is not None:
        numbers = modes.current().level.numbers(numbers)
    return numbers


def manual_seed(seed: int) -> Generator:
    """Seed the default generator; returns it. `seed` is made an integer, as by int().

    >>> import wengert as wg
    >>> _ = wg.manual_seed(1)
    >>> a = wg.rand(2)
    >>> _ = wg.manual_seed(1)
    >>> wg.equal(a, wg.rand(2))
    True
    """
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Seed the default generator unpredictably; returns the seed."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed of the default generator."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """Where the default generator stands."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Put the default generator back where it stood."""
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(
    devices: Any = None, enabled: bool = True, *, device_type: str = "cpu"
) -> Iterator[None]:
    """Whatever is drawn inside, the default generator stands where it stood afterwards.

    There is one generator for all devices, so that `devices` and `device_type` do not matter.

    >>> import wengert as wg
    >>> _ = wg.manual_seed(1)
    >>> with wg.random.fork_rng():
    ...     inside = wg.rand(2)
    >>> wg.equal(wg.rand(2), inside)
    True
    """
    state = get_rng_state() if enabled else None
    try:
        yield
    finally:
        if state is not None:
            set_rng_state(state)


# ---- new tensors ---------------------------------------------------------------------------


def uniform(shape: tuple[int, ...], dtype: np.dtype[Any], generator: Generator | None) -> Any:
    """Uniform on [0, 1), as an array."""
    if dtype.kind == "c":
        part = np.empty(0, dtype).real.dtype
        return make_complex(uniform(shape, part, generator), uniform(shape, part, generator))
    if dtype in (dtypes.float32, dtypes.float64):
        return numbers_of(generator).random(shape, dtype)
    if not dtypes.is_floating(dtype):
        raise DtypeError(
            f"random numbers on [0, 1) are floating point, not {dtype}. Use wengert.randint."
        )
    n = 2 ** (dtypes.limits(dtype).nmant + 1)  # of so many equal steps none is rounded to 1
    return as_array(numbers_of(generator).integers(0, n, shape) / n).astype(dtype)


def gaussian(shape: tuple[int, ...], dtype: np.dtype[Any], generator: Generator | None) -> Any:
    """Standard normal, as an array; complex ones have variance 1 in all."""
    if dtype.kind == "c":
        part = np.empty(0, dtype).real.dtype
        pair = gaussian((2, *shape), part, generator) * np.sqrt(0.5)
        return make_complex(pair[0], pair[1]).astype(dtype, copy=False)
    if dtype in (dtypes.float32, dtypes.float64):
        return numbers_of(generator).standard_normal(shape, dtype)
    if not dtypes.is_floating(dtype):
        raise DtypeError(
            f"normal random numbers are floating point, not {dtype}. Use wengert.randint."
        )
    return as_array(numbers_of(generator).standard_normal(shape, np.float32)).astype(dtype)


def _drawn(draw: Any, doc: str) -> Any:
    def make(*size: Any, generator: Generator | None = None, dtype: Any, **named: Any) -> Any:
        if "size" in named:
            size = (named.pop("size"),)
        if named.pop("names", None) is not None:
            raise RuntimeError("dimensions have no names here; leave out names=")
        if named:
            raise TypeError(f"unexpected keyword argument {next(iter(named))!r}")
        return as_array(draw(shape_of(size), kind(dtype), generator))

    make.__doc__ = doc
    return factory(make)


rand = _drawn(uniform, "Random numbers, uniform on [0, 1).")
randn = _drawn(gaussian, "Random numbers, standard normal.")


def _drawn_like(draw: Any, doc: str) -> Any:
    def make(
        input: Any,
        *,
        generator: Generator | None = None,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        layout: Any = None,
        pin_memory: bool = False,
        memory_format: Any = None,
    ) -> Tensor:
        check_device(device)
        check_layout(layout)
        input = tensor_of(input)
        wanted = dtypes.stated(dtype) if dtype is not None else input.dtype
        return finish(as_array(draw(tuple(input.shape), wanted, generator)), requires_grad)

    make.__doc__ = doc
    return make


rand_like = _drawn_like(
    uniform, "Random numbers, uniform on [0, 1), in the shape and dtype of `input`."
)
randn_like = _drawn_like(
    gaussian, "Random numbers, standard normal, in the shape and dtype of `input`."
)
for function, name in (
    (rand, "rand"),
    (randn, "randn"),
    (rand_like, "rand_like"),
    (randn_like, "randn_like"),
):
    function.__name__ = function.__qualname__ = name


@factory
def randint(
    low: Any, high: Any = None, size: Any = None, *, generator: Generator | None = None, dtype: Any
) -> Tensor:
    """Random integers from `low` (0 if left out) up to but not including `high`.

    >>> import wengert as wg
    >>> wg.randint(3, 4, (2,))
    tensor([3, 3])
    """
    if size is None:  # randint(high, size)
        low, high, size = (0, low, high) if not isinstance(high, int) else (low, high, size)
    if high is None or size is None:
        raise TypeError("randint() takes ([low,] high, size): e.g. wengert.randint(10, (2, 3))")
    low, high = operator.index(low), operator.index(high)
    if low >= high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    if dtype == dtypes.bool and not 0 <= low < high <= 2:
        raise RuntimeError(f"from={low} and to={high} are out of bounds for bool")
    array = as_array(numbers_of(generator).integers(low, high, shape_of((size,)), np.int64))
    return array if dtype is None else array.astype(dtype, copy=False)


@of_tensors(1)
@refuses(input="c")
def randint_like(
    input: Any, low: Any = None, high: Any = None, *, dtype: Any = None, **options: Any
) -> Tensor:
    """Random integers in the shape and dtype of `input`, from `low` (0) up to `high`."""
    if low is high is None:
        raise TypeError("randint_like() takes (input, [low,] high): e.g. randint_like(x, 10)")
    options.pop("memory_format", None)
    low, high = (0, low) if high is None else (low or 0, high)
    return randint(low, high, tuple(input.shape), dtype=dtype or input.dtype, **options)


@factory
def randperm(n: int, *, generator: Generator | None = None, dtype: Any) -> Any:
    """The numbers 0 to n - 1 in random order."""
    if n < 0:
        raise RuntimeError(f"n must be non-negative, got {n}")
    return numbers_of(generator).permutation(n).astype(dtypes.int64 if dtype is None else dtype)


@factory
@refuses(std="c")
def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Generator | None = None,
    dtype: Any,
) -> Tensor:
    """Normal random numbers with the means and standard deviations given, numbers or tensors."""
    given = [x for x in (mean, std) if isinstance(x, Tensor)]
    if size is None and not given:
        raise TypeError("normal() of two numbers needs a size: e.g. wengert.normal(0, 1, (2, 3))")
    shape = (
        shape_of((size,)) if size is not None else np.broadcast_shapes(*(x.shape for x in given))
    )
    target = given[0].dtype if given else kind(dtype)
    require(as_array(array_of(std)) >= 0, _negative_std, array_of(std))
    noise = gaussian(shape, target, generator)
    return as_array(array_of(mean) + array_of(std) * noise, target)


def _negative_std(std: Any) -> RuntimeError:
    given = wrap(std) if isinstance(std, np.ndarray) else std
    return RuntimeError(f"normal expects all elements of std >= 0.0, got {given}")


@of_tensors(1, takes_out=True)
def bernoulli(input: Any, p: Any = None, *, generator: Generator | None = None) -> Tensor:
    """1 with the probability that `input` (or `p`) says, else 0."""
    if p is None:
        needs_floats(input, "bernoulli")
    chance = as_array(input._array if p is None else np.broadcast_to(array_of(p), input.shape))
    wrong = "Expected p_in >= 0 && p_in <= 1 to be true: probabilities lie between 0 and 1"
    require(~((chance < 0) | (chance > 1)), RuntimeError, wrong)
    draws = numbers_of(generator).random(chance.shape)
    return constant((draws < chance).astype(input.dtype))


@of_tensors(1, takes_out=True)
def multinomial(
    input: Any, num_samples: int, replacement: bool = False, *, generator: Generator | None = None
) -> Tensor:
    """Indices drawn with probability proportional to the weights in each row."""
    if not dtypes.is_floating(input.dtype):
        raise DtypeError(
            f"multinomial only supports floating-point dtypes for input, got: {input.dtype}"
        )
    weights = as_array(input._array, np.dtype(np.float64))
    if weights.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    wrong = "probability tensor contains either `inf`, `nan` or element < 0"
    require((weights >= 0) & (weights < np.inf), RuntimeError, wrong)
    if num_samples <= 0:
        raise RuntimeError(f"cannot sample n_sample <= 0 samples: {num_samples}")
    rows = np.reshape(weights, (-1, weights.shape[-1]))
    wrong = "invalid multinomial distribution (sum of probabilities <= 0)"
    require(rows.sum(1) > 0, RuntimeError, wrong)
    if not replacement and num_samples > rows.shape[1]:
        raise RuntimeError(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement: "
            f"{num_samples} > {rows.shape[1]}"
        )
    numbers = numbers_of(generator)
    if replacement:
        ends = np.cumsum(rows, 1)
        draws = numbers.random((len(rows), num_samples)) * ends[:, -1:]
        picked = _places_in_rows(ends, draws)
    else:
        # The largest of w / Exp(1) are a sample without replacement (Efraimidis, Spirakis, 2006).
        with np.errstate(divide="ignore"):
            keys = np.where(rows > 0, rows / numbers.standard_exponential(rows.shape), -1.0)
        picked = np.argsort(-keys, axis=1, kind="stable")[:, :num_samples]
    return constant(as_array(picked[0] if weights.ndim == 1 else picked, dtypes.int64))


@functools.partial(primitive, opaque=True)
def _places_in_rows(ends: Any, draws: Any) -> Any:
    """In each row of `ends`, which increase, how many are at most each of `draws`."""
    rows = zip(ends, draws, strict=True)
    return np.stack([np.searchsorted(end, drawn, "right") for end, drawn in rows])


@of_tensors(1)
@refuses(input="biuc")
def poisson(input: Any, generator: Generator | None = None) -> Tensor:
    """Poisson random numbers with the rates given."""
    return constant(as_array(numbers_of(generator).poisson(input._array)).astype(input.dtype))


@of_tensors(2)
def binomial(count: Any, prob: Any, generator: Generator | None = None) -> Tensor:
    """Binomial random numbers: successes in `count` trials of probability `prob`."""
    drawn = numbers_of(generator).binomial(count._array.astype(np.int64), prob._array)
    return constant(as_array(drawn).astype(count.dtype))


# ---- in place ------------------------------------------------------------------------------


def filled(x: Tensor, draw: Any, name: str) -> Tensor:
    """Make `x` hold an array just drawn."""
    return overwrite(x, constant(as_array(draw).astype(x._array.dtype, copy=False)), name)


def _takes_numbers(x: Tensor, source: Any) -> bool:
    """Whether numbers may be drawn straight into its memory."""
    array = x._array
    if not isinstance(source, np.random.Generator) or type(array) is not np.ndarray:
        return False
    return array.dtype in EXACT and array.flags.carray and inplace.unrecorded(x)


def needs_floats(x: Tensor, name: str) -> None:
    if x._array.dtype in EXACT:
        return
    both_parts = name in ("normal_", "uniform_")
    if not (dtypes.is_inexact if both_parts else dtypes.is_floating)(x.dtype):
        raise DtypeError(
            f"{name} is not implemented for {x.dtype}: it draws floating-point numbers. Use "
            "x.float() or x.random_()."
        )


def needs_range(low: float, high: float) -> None:
    """RuntimeError unless uniform numbers can lie between these."""
    if not low <= high:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}"
        )


def needs_spread(std: float) -> None:
    """RuntimeError unless this is a standard deviation."""
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")


def _needs_positive(name: str, setting: str, value: float) -> None:
    if not value > 0:
        raise RuntimeError(f"{name} expects {setting} > 0.0, but found {setting}={value}")


@takes_names
def uniform_(
    x: Tensor, from_: float = 0, to: float = 1, *, generator: Generator | None = None
) -> Tensor:
    """Fill with numbers uniform on [from, to)."""
    needs_floats(x, "uniform_")
    needs_range(from_, to)
    if (from_, to) == (0, 1) and _takes_numbers(x, source := numbers_of(generator)):
        source.random(None, x._array.dtype, x._array)
        mark_written(x, "uniform_", ours=2)
        return x
    drawn = uniform(tuple(x.shape), x.dtype, generator)
    return filled(x, drawn if (from_, to) == (0, 1) else from_ + (to - from_) * drawn, "uniform_")


@told
def normal_(
    x: Tensor, mean: float = 0, std: float = 1, *, generator: Generator | None = None
) -> Tensor:
    """Fill with normal numbers."""
    needs_floats(x, "normal_")
    needs_spread(std)
    if (mean, std) == (0, 1) and _takes_numbers(x, source := numbers_of(generator)):
        source.standard_normal(None, x._array.dtype, x._array)
        mark_written(x, "normal_", ours=2)
        return x
    drawn = gaussian(tuple(x.shape), x.dtype, generator)
    return filled(x, drawn if (mean, std) == (0, 1) else mean + std * drawn, "normal_")


@takes_names
def random_(
    x: Tensor, from_: int = 0, to: int | None = None, *, generator: Generator | None = None
) -> Tensor:
    """Fill with integers from `from` (0) up to but not including `to`."""
    low = from_
    if to is None and low:
        low, to = 0, low
    if to is None:
        to = 2 if x.dtype.kind == "b" else _largest(x.dtype)
    if not low < to:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={to}"
        )
    return filled(x, numbers_of(generator).integers(low, to, x.shape), "random_")


def _largest(dtype: np.dtype[Any]) -> int:
    """Up to here each integer is one of the dtype's numbers."""
    if dtypes.is_floating(dtype):
        return int(2 ** (dtypes.limits(dtype).nmant + 1))
    return int(np.iinfo(dtype).max)


@told
def bernoulli_(x: Tensor, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Fill with 1 (probability p) and 0."""
    chance = array_of(p)
    wrong = "bernoulli_ expects p to be in [0, 1]: probabilities lie there"
    if type(chance) in NUMBERS:
        if not 0 <= chance <= 1:
            raise RuntimeError(wrong)
    else:
        chance = np.broadcast_to(chance, x.shape)
        require((chance >= 0) & (chance <= 1), RuntimeError, wrong)
    return filled(x, numbers_of(generator).random(x.shape) < chance, "bernoulli_")


@told
def exponential_(x: Tensor, lambd: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Fill with exponential numbers of rate lambd."""
    needs_floats(x, "exponential_")
    _needs_positive("exponential_", "lambda", lambd)
    return filled(x, numbers_of(generator).standard_exponential(x.shape) / lambd, "exponential_")


@told
def cauchy_(
    x: Tensor, median: float = 0, sigma: float = 1, *, generator: Generator | None = None
) -> Tensor:
    """Fill with Cauchy numbers."""
    needs_floats(x, "cauchy_")
    _needs_positive("cauchy_", "sigma", sigma)
    return filled(x, median + sigma * numbers_of(generator).standard_cauchy(x.shape), "cauchy_")


@told
@refuses(x="bc")
def geometric_(x: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """Fill with numbers of trials until the first success of probability p."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    return filled(x, numbers_of(generator).geometric(p, x.shape), "geometric_")


@told
def log_normal_(
    x: Tensor, mean: float = 1, std: float = 2, *, generator: Generator | None = None
) -> Tensor:
    """Fill with numbers whose logarithm is normal."""
    needs_floats(x, "log_normal_")
    _needs_positive("log_normal_", "std", std)
    return filled(x, numbers_of(generator).lognormal(mean, std, x.shape), "log_normal_")
