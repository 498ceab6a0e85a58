"""What the steps of a node share: configuration, identity, files, commands, the engine. Python 3.10 only."""
