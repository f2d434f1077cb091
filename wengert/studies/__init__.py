"""Parameter studies: one function of many rows of parameters, on any `concurrent.futures` executor.

Begin with `study.py`: `map` and `as_completed`. `rows.py` are parameters and results, `stock.py` is
what is left to do, `lent.py` shares it with processes of this machine, `work.py` is what a worker
does, `executors.py` says what a study has to know of an executor, and `kept.py` keeps
finished rows in a file. The transport is the executor's: processes of this machine, MPI's, Dask's,
Ray's. Nothing in the package leans on this folder.

>>> import numpy as np
>>> import wengert as wg
>>> def steepest(row):
...     return wg.grad(lambda x: np.sin(row["rate"] * x))(row["x"])
>>> wg.studies.map(steepest, {"rate": np.array([1.0, 2.0]), "x": np.zeros(2)})
array([1., 2.])
"""

from wengert.studies.executors import RayExecutor as RayExecutor
from wengert.studies.study import as_completed as as_completed
from wengert.studies.study import map as map
