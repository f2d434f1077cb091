"""wengert side by side with its peers: `python -m benchmarks eager`, `... train`.

`timing.py` says how times are taken, `running.py` what is done with every case, `report.py` prints
and writes the results, `peers.py` names who takes part. `eager.py`, `compile.py` and `train.py` are
benchmarks: they join what is timed with the targets. What is timed: `operations.py`, `mlp.py`,
`gpt.py`, `cnn.py`, `lstm.py`, `elementwise.py`; `training.py` holds what their training steps
share, `by_hand.c` the ones written in C; `memory.py` and `first_call.py` measure in fresh
processes. The peers are installed by `pip install -e ".[bench]"`; one that is missing is left out,
and named. Nothing in the package imports this folder.
"""
