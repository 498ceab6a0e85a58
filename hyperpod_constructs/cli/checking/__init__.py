"""Checks of a cluster against its own files and against an account: pure functions that give lines."""
