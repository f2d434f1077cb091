"""What lies here and is no test: programs written for PyTorch, as their authors would run them."""

collect_ignore = ["programs"]
