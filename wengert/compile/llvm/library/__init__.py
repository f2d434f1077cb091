"""Whole functions as LLVM IR: products, convolutions, pools, running sums, sorts."""
