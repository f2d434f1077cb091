"""The model of how long a step takes on many ranks, against numbers worked out by hand."""

import math

import pytest

from wengert import distributed
from wengert.distributed.model import ALGORITHMS, Network, Step, measured, plot

CLUSTER = Network(latency=3e-6, bandwidth=45e9)
HALF_A_GIGABYTE = 0.5e9


@pytest.mark.parametrize(("ranks", "ms", "latency"), [(64, 22, 0.4), (4096, 47, 25)])
def test_half_a_gigabyte_by_rings_takes_what_is_told(ranks, ms, latency):
    found = CLUSTER.all_reduce(HALF_A_GIGABYTE, ranks, "rings")
    assert round(1e3 * found.seconds) == ms
    assert math.isclose(1e3 * found.latency, latency, abs_tol=0.5)


def test_one_rank_sends_nothing():
    for name in ALGORITHMS:
        assert CLUSTER.all_reduce(HALF_A_GIGABYTE, 1, name).seconds == 0
    assert Step(0.1, HALF_A_GIGABYTE).on(CLUSTER, 1).seconds == 0.1


@pytest.mark.parametrize(
    ("size", "ranks", "best"),
    [
        (8, 4096, "doubling"),  # half the messages
        (HALF_A_GIGABYTE, 4096, "halving"),  # as many bytes as rings, and 24 messages
        (HALF_A_GIGABYTE, 6, "rings"),  # no power of two: the others send everything twice more
        (1e4, 48, "doubling"),
    ],
)
def test_the_algorithm_is_chosen_by_size_and_ranks(size, ranks, best):
    assert CLUSTER.all_reduce(size, ranks).algorithm == best


def test_a_network_is_found_from_times_of_several_numbers_of_ranks():
    times = [
        (n, p, CLUSTER.all_reduce(n, p, "rings").seconds * error)
        for (n, error) in [(1e3, 1.02), (1e5, 0.98), (1e7, 1.01), (1e8, 0.99)]
        for p in (2, 3, 4)
    ]
    found = Network.fitted(times)
    assert math.isclose(found.latency, CLUSTER.latency, rel_tol=0.03)
    assert math.isclose(found.bandwidth, CLUSTER.bandwidth, rel_tol=0.03)


SEEN = {
    2: (0.0075, 0.0093, 0.0238, None, 0.1865, 0.479, 1.892, 5.571),
    3: (0.160, 0.180, 0.223, 0.354, 0.771, 2.255, 7.730, 26.79),
    4: (0.188, 0.169, 0.278, 0.446, 0.960, 3.129, 13.85, 38.02),
}
"""Milliseconds of all-reduces on two cores, to which ranks keep; of the bytes in `SIZES`."""
SIZES = (1e3, 1e4, 1e5, 3e5, 1e6, 3e6, 1e7, 3e7)


@pytest.mark.parametrize("ranks", SEEN)
def test_memory_that_is_shared_is_told_from_a_network(ranks):
    # One bandwidth for what is in caches and what is not missed times of 1 MB by half.
    times = [(n, ranks, 1e-3 * ms) for n, ms in zip(SIZES, SEEN[ranks], strict=True) if ms]
    memory = Network.fitted([t for t in times if t[0] in (1e3, 1e5, 1e6, 1e7)], "shared")
    for size, _, seconds in times:
        predicted = memory.all_reduce(size, ranks, "shared").seconds
        assert predicted == pytest.approx(seconds, rel=0.2)


def test_ranks_that_share_cores_take_turns():
    # Times of four ranks on two cores were not to be told from those of two.
    true = Network(2e-6, 3e10, 2e10, cores=2, turn=8e-6)
    times = [(n, p, true.all_reduce(n, p, "shared").seconds) for n in SIZES for p in (2, 3)]
    found = Network.fitted(times, "shared", cores=2)
    for size in SIZES:
        one, other = (network.all_reduce(size, 4, "shared") for network in (found, true))
        assert one.seconds == pytest.approx(other.seconds)
        assert one.turns == pytest.approx(8e-6 * (10 + 2 * min(math.ceil(size / 2**17), 3)))
    assert found.all_reduce(1e6, 2, "shared").turns == 0
    assert Network.fitted(times[::2], "shared", cores=2).turn == 0  # of two ranks, which take none
    step = Step(compute=0.1, gradients=1e6)
    assert step.on(found, 3, "shared").compute == pytest.approx(0.2)
    assert step.on(found, 2, "shared").compute == 0.1


def test_who_gets_a_core_finds_nothing_of_its_own_in_the_caches():
    # All ranks were to move the first 2 MB as fast as those that keep their cores: of times of 1 MB
    # on four ranks a quarter was missing, with all turns that they take.
    network = Network(2e-6, 3e10, 1e10, cores=2)
    alone, shared = (network.all_reduce(1e6, ranks, "shared").transfer for ranks in (2, 3))
    assert alone == pytest.approx(5 * 1e6 / 3e10)
    assert shared == pytest.approx(2 * 8 * 1e6 / 1e10)


def test_few_sizes_give_one_bandwidth():
    times = [(n, 2, 1e-6 + 5 * n / 1e9) for n in (1e3, 1e5)]
    assert Network.fitted(times, "shared").beyond is None
    both = Network.fitted([*times, (1e7, 2, 1e-6 + 5 * (2e6 / 1e9 + 8e6 / 5e8))], "shared")
    assert both.bandwidth == pytest.approx(1e9)
    assert both.beyond == pytest.approx(5e8)


def test_all_ranks_measure_the_same_times():
    def work():
        return measured([8, 10**5], repeats=2)

    first, second = distributed.run_threads(work, 2)
    assert first == second
    assert [(size, ranks) for size, ranks, _ in first] == [(8, 2), (10**5, 2)]
    assert all(seconds > 0 for _, _, seconds in first)


def test_one_size_does_not_tell_latency_from_bandwidth():
    with pytest.raises(ValueError, match="measure sizes that differ"):
        Network.fitted([(1e3, 2, 1e-5), (1e3, 2, 1.1e-5)])
    with pytest.raises(ValueError, match="cannot be told apart"):
        Network.fitted([])


def test_what_is_sent_during_the_backward_pass_is_hidden():
    step = Step(compute=0.3, gradients=HALF_A_GIGABYTE)
    buckets = math.ceil(HALF_A_GIGABYTE / step.bucket)
    one = CLUSTER.all_reduce(HALF_A_GIGABYTE / buckets, 64).seconds
    found = step.on(CLUSTER, 64)
    assert math.isclose(found.seconds, 0.3 + one)  # but for the last bucket
    assert math.isclose(found.hidden, 1 - 1 / buckets)
    slow = step.on(Network(3e-6, 1e9), 64)
    assert slow.seconds > slow.sent > 0.3  # where the network is what takes the time
    assert slow.hidden < 0.3
    assert found.efficiency > 0.99 > slow.efficiency


def test_one_bucket_is_sent_when_all_is_computed():
    step = Step(compute=0.3, gradients=HALF_A_GIGABYTE, bucket=math.inf)
    alone = CLUSTER.all_reduce(HALF_A_GIGABYTE, 64).seconds
    assert math.isclose(step.on(CLUSTER, 64).seconds, 0.3 + alone)


def test_numbers_that_no_network_has_are_refused():
    with pytest.raises(ValueError, match="bandwidth above 0"):
        Network(1e-6, 0)
    with pytest.raises(ValueError, match="none of rings, halving, doubling, shared"):
        CLUSTER.all_reduce(1, 2, "trees")
    with pytest.raises(ValueError, match="at least one rank"):
        CLUSTER.all_reduce(1, 0)


def test_the_drawing_shows_both_algorithms():
    figure = plot(CLUSTER, Step(0.3, HALF_A_GIGABYTE))
    labels = [line.get_label() for line in figure.axes[0].lines]
    assert labels == ["rings", "halving", "without latency"]
