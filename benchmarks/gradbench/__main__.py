"""`python -m benchmarks.gradbench`: the protocol on stdin and stdout.

With words, `python -m benchmarks.gradbench --quick --only gmm`, the table instead, as `python -m
benchmarks gradbench` prints it.
"""

import sys

from benchmarks.__main__ import main
from benchmarks.peers import use_one_thread

if __name__ == "__main__":
    if sys.argv[1:]:
        main(["gradbench", *sys.argv[1:]])
    else:
        use_one_thread()
        from benchmarks.gradbench.protocol import serve

        serve(sys.stdin.buffer, sys.stdout)
