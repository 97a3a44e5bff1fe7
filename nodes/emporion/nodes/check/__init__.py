"""The health check in its parts. `emporion.nodes.bundle` makes one file of them, so names are unique among them."""
