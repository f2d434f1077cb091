"""Solutions of equations, linear systems and differential equations, and their derivatives."""
