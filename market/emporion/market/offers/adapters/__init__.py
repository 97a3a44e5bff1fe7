"""Live sources of the markets that only have prices here: one module each, found by entry point."""
