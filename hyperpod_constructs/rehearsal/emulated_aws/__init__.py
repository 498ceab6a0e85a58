"""The emulated AWS: ministack, with what it lacks for a stack of ours.

It runs in the emulator's own Python, never in the user's.

``seams`` is the only module that touches ministack's private parts; a new ministack version is looked at there.
"""
