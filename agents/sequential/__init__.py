"""GP-UCB, GP-EI and GP-TS: one evaluation at a time with a given kernel, on finite arms and on boxes."""
