"""In-place operations: what autograd allows, what it refuses, and how it notices.

Every storage counts the writes to it, in `_version`. An operation that saves a tensor for its
backward notes the count; if it has moved when the value is needed, the pass stops rather than give
a wrong gradient. So code that writes in place and raises no error has the right gradients: the
promise of the reference page on autograd's mechanics. (The page also says that writing to storage
which other tensors share raises an error; it does not: the history of the views is rewritten.)
"""

import argparse
import textwrap

import wengert as wg


def error_of(call):
    try:
        call()
    except RuntimeError as error:
        return str(error)
    raise AssertionError("expected an error")


def show_error(title, call):
    message = error_of(call)
    print(title)
    for line in message.splitlines():
        print(textwrap.fill(line, 96, initial_indent="    ", subsequent_indent="    "))
    return message


def counters():
    x = wg.zeros(4)
    counts = [x._version]
    x.add_(1)
    counts.append(x._version)
    x[0] = 5.0
    counts.append(x._version)
    half = x[:2]
    half.mul_(2)
    counts.append(x._version)
    print("The version of x: new, after add_, after x[0] = 5, after writing through a view:")
    print(
        f"  {counts}; the view shares it: {half._version}; a copy starts anew: {x.clone()._version}"
    )
    return counts


def overwritten():
    """What sin saved, its input, is overwritten before it is used."""
    x = wg.ones(2, requires_grad=True)
    y = x * 2
    z = y.sin()
    y.mul_(3)
    return z.sum().backward


def not_needed():
    """Overwriting is fine where the old value is not needed: + saves nothing, exp its result."""
    x = wg.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    z = y + 1
    y.mul_(3)  # nobody saved y
    w = z.exp()
    z.zero_()  # exp keeps its result, not its input
    (w + y).sum().backward()
    by_hand = 2 * wg.exp(2 * x.detach() + 1) + 6
    assert wg.allclose(x.grad, by_hand)
    print("Allowed, as no saved value is hit: x.grad is right:")
    print(f"  {x.grad.tolist()}")


def leaves():
    x = wg.ones(2, requires_grad=True)
    show_error("x.add_(1) on a leaf that requires grad:", lambda: x.add_(1))
    show_error("x[0] = 5, a write through a view of such a leaf:", lambda: x.__setitem__(0, 5.0))
    with wg.no_grad():
        x.add_(1)
    print(f"Under no_grad, as optimizers do it: x = {x.tolist()}, version {x._version}")


def views():
    x = wg.ones(4, requires_grad=True)
    base = x * 1
    view = base[1:3]
    view.mul_(10)
    print("A write through a view rewrites the history of its base:")
    print(f"  base         {base.tolist()}, now made by {base.grad_fn.name()}")
    base.sum().backward()
    print(f"  x.grad       {x.grad.tolist()}")
    assert x.grad.tolist() == [1.0, 10.0, 10.0, 1.0]

    base = wg.ones(4, requires_grad=True) * 1
    first, _ = base.chunk(2)
    show_error("A view that came with others from one call:", lambda: first.mul_(2))

    with wg.no_grad():
        hidden = base[:2]
    show_error("A view taken where nothing was recorded:", lambda: hidden.mul_(2))


def shared_storage():
    x = wg.ones(3, requires_grad=True)
    y = x * 1
    z = (y * y).sum()
    y.detach().zero_()  # other history, same memory: the count notices
    message = error_of(z.backward)
    assert "modified by an inplace operation" in message
    print("y.detach() shares memory and count with y: writing to it is noticed as well.")


def main(argv=None):
    argparse.ArgumentParser(description=__doc__).parse_args(argv)
    counters()
    print()
    show_error("A saved value was overwritten; both lines are named:", overwritten())
    print()
    for part in (not_needed, leaves, views, shared_storage):
        part()
        print()


if __name__ == "__main__":
    main()
