"""Recorders are written when they are first called, by whichever threads that are."""

import os
import subprocess
import sys
import textwrap

import numpy as np

from wengert.autograd import folding, pushing
from wengert.autograd.plan import plan_of
from wengert.rules.rule import RULES


def test_threads_that_call_a_function_for_the_first_time_at_once_get_its_result():
    # The second thread found the text on its way and called the unwritten recorder for ever.
    program = """
        import threading
        import wengert as wg
        from wengert.autograd import record

        found, threads, take_over = [], [], record.take_over

        def call():
            try:
                found.append(wg.tanh(wg.zeros(1, requires_grad=True)).item())
            except BaseException as error:
                found.append(error)

        def slowly(function, text):
            if function.__name__ == "tanh" and not threads:
                threads.append(threading.Thread(target=call))
                threads[0].start()
                threads[0].join(0.3)
            take_over(function, text)

        record.take_over = slowly
        call()
        threads[0].join()
        assert found == [0.0, 0.0], found
    """
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-500:]


def run_with_cache(folder, program):
    environment = {**os.environ, "WENGERT_CACHE": str(folder)}
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-500:]
    return done.stdout


USE = """
    import wengert as wg
    from wengert.autograd import folding

    class Unasked:
        def __init__(self, *_):
            raise AssertionError("folded again")

    def step(x):
        return wg.grad(lambda a: (a[0] * a.tanh()).sum())(x)

    if REUSES:
        folding._opened = Unasked
    print(step(wg.tensor([1.0, 2.0])), wg.compile(step)(wg.tensor([1.0, 2.0])))
"""


def test_the_next_process_takes_code_that_is_kept_also_while_it_traces(tmp_path):
    # Folding again took a small network's first step from 15 to 90 ms.
    program = textwrap.dedent(USE)
    first = run_with_cache(tmp_path, f"REUSES = False\n{program}")
    traced_first = program.replace("step(wg.tensor([1.0, 2.0])), wg", "wg")
    assert run_with_cache(tmp_path, f"REUSES = True\n{program}") == first
    assert run_with_cache(tmp_path, f"REUSES = True\n{traced_first}") in first


def test_folding_in_a_trace_is_not_told():
    # Python told the trace of each of its calls: that was half of all that it was told of.
    program = """
        import sys
        import wengert as wg
        from wengert.autograd import folding

        folded, told = folding.Template.folded, []

        def heard(*args):
            told.append(sys.getprofile())
            return folded(*args)

        heard.__code__ = heard.__code__.replace(co_filename=folding.__file__)
        folding.Template.folded = heard
        x = wg.tensor([1.0, 2.0])

        @wg.compile
        def step(x):
            return wg.grad(lambda a: (a[0] * a.tanh()).sum())(x)

        step(x)
        assert told and not any(told), told
        assert sys.getprofile() is None
    """
    run_with_cache("", program)


def test_code_of_a_template_that_was_changed_is_not_taken(tmp_path, monkeypatch):
    monkeypatch.setenv("WENGERT_CACHE", str(tmp_path))
    plan = plan_of(RULES[np.tanh])
    asked = pushing.push, plan.head("push", "operands", "tangents", "outputs"), plan, (), ()
    folding._code.__wrapped__(*asked)
    (kept,) = tmp_path.iterdir()
    folding._code.__wrapped__(*asked)
    assert [*tmp_path.iterdir()] == [kept]
    file = pushing.push.__code__.co_filename
    monkeypatch.setitem(folding._TEXTS, file, folding._TEXTS[file] + b"#")
    folding._code.__wrapped__(*asked)
    assert len([*tmp_path.rglob("*.code")]) == 2
