"""The compiler's back end: loops over arrays as LLVM IR, and that as machine code."""
