"""The intent: read, validated, normalised."""
