"""The PyTorch-named surface, thin lines onto NumPy's functions and our primitives."""
