"""From a program to a plan: which statements share a loop nest, and where arrays lie in memory.

`planner.py` is the list of stages; a program goes through once, and each stage takes what those
before it made:

    roles      what part each statement plays
    group      which statements share a kernel: `groups.py` is the result, `fit.py` the decision,
               `loops.py` the loops that are identified, `order.py` the graph of steps
    needs      which values lie in memory, and which their readers compute again
    sequence   in which order steps run, and which compute a result where it is wanted
    steps      kernels, products and calls: `emit.py` and `terms.py` build a kernel, `arrays.py`
               knows where values lie, `homes.py` where new ones go
    memory     where in the arena

`kernel.py` and `plan.py` are the language of the result, `outer.py` how C calls it, `indices.py`,
`strides.py` and `reads.py` the arithmetic. Imports `program` and `backend.py`. A new kind of
statement begins with a role.
"""
