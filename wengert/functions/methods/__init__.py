"""The methods of Tensor: short for the functions beside this folder."""
