"""Images of nodes: which versions work together, recipes, kernels, and what an image is known to be."""
