"""Where processes live: one narrow interface, and the engines behind it."""
