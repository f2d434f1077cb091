"""The program: a straight list of NumPy calls, its passes, and its text."""
