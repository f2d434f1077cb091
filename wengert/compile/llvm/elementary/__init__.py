"""Elementary functions of numbers and vectors of numbers, as LLVM IR."""
