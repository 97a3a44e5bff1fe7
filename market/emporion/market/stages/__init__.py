"""Intents with several stages: where each stands, what goes between them, and the exact front over all."""
