"""What a tensor remembers: nodes, the modes that decide whether they are made, the user's lines.

Begin with `node.py`: one recorded operation, and where its inputs came from. `modes.py` holds
`no_grad` and its relatives, `location.py` the line of the user's program that an error names,
`refusals.py` the errors of views that may not be written.
`surroundings.py` says what a program may depend on besides its arguments, `forks.py` what becomes
of locks in a forked process, `cache.py` what is kept for the next one, `files.py` replaces a
file in one step: a crash leaves the old one, and `pictures.py` is how notebooks show drawings.

The lowest floor of autograd: `wengert.tensor` stands on it, and `wengert.autograd` on that. Nothing
is imported from those above.
"""
