"""What a deployment would do: the handler's own planner, its input made from files, its answer put into words."""
