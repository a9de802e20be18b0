"""A job made to happen: the crew, its captain, the worker's main, the clerk, and what the user sees of them."""
