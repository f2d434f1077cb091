"""Sparse Jacobians and Hessians: which entries are zero, and how few products give the others."""
