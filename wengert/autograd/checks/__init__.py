"""What `gradcheck` is made of: Jacobians in three ways, their comparison, and further trials."""
