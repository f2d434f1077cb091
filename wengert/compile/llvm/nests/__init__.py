"""Kernels as loop nests in LLVM IR: their order, phases, and vectors."""
