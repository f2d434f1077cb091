"""The world around a traced function: each read is an input or a guard, each write a result.

Begin with `world.py`, which sorts what the observer tells. `places.py` has the words for all that a
call reads, checks and writes; `inputs.py` and `outside.py` make inputs of numbers and tensors,
`conditions.py` guards. What is answered by code that is not observed is asked again at each call
(`asking.py`, `readings.py`, `state.py`, `reached.py`). `watch.py` notices, for the thread that
traces, what the library itself reads of tensors, modules and optimizers.

Imports `arrays` and `observe`. A new kind of read gets its word in `places.py`, from which both
entries follow.
"""
