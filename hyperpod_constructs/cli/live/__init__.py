"""A live cluster as the API shows it: its nodes, events, logs, and the picture of ``watch``."""
