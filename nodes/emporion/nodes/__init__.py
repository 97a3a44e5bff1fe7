"""What runs on a node or looks at one: the health check, as one file that needs nothing but Python and NVML."""
