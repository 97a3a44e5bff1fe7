"""The page of a plan: one file that opens anywhere, without a network (`emporion plan --html FILE`)."""
