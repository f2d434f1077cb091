"""LLVM as a back end: a plan becomes machine code of this processor.

Begin with `backend.py`, which answers what `compile/backend.py` asks, and `body.py`, which lowers
the steps of a plan one after the other; `outer.py` makes functions of C of it. The folders, from
the ground up:

    machine/      the processor: types, vectors, memory, the target, code kept on disk
    elementary/   functions of single elements
    nests/        kernels as loop nests
    library/      whole statements: products, convolutions, pools, running sums, sorts

Each imports those above it in this list, and of the compiler `plan` only; `library` does not import
`nests`. Code for a further function goes to `elementary/scalars.py`, for a statement to `library/`.
"""
