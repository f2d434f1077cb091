"""wengert side by side with its peers: `python -m benchmarks eager`.

`timing.py` says how times are taken, `operations.py` and `mlp.py` what is timed, `memory.py` how
much memory a pass needs; `eager.py` joins them with the targets, and `report.py` prints and writes
the results. The peers are installed by `pip install -e ".[bench]"`; one that is missing is left
out, and named. Nothing in the package imports this folder.
"""
