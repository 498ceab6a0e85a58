"""Ways into a node: SSM sessions, SSH over them, and the entries of ~/.ssh/config."""
