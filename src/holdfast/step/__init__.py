"""The arithmetic of a step: what a replica computes, how gradients are added, how blocks are updated and mended."""
