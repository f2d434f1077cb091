"""From a program to a plan: which statements share a loop nest, and where arrays lie in memory."""
