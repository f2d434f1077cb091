"""Recorders are written when they are first called, by whichever threads that are."""

import subprocess
import sys
import textwrap


def test_threads_that_call_a_function_for_the_first_time_at_once_get_its_result():
    # The second thread found the text on its way and called the unwritten recorder for ever.
    program = """
        import threading
        import wengert as wg
        from wengert.autograd import record

        found, threads, take_over = [], [], record._take_over

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

        record._take_over = slowly
        call()
        threads[0].join()
        assert found == [0.0, 0.0], found
    """
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-500:]
