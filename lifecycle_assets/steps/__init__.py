"""The steps of a node, in the order in which they run."""

from nodelib.step import Step

from steps.check_configuration import CHECK_CONFIGURATION

ALL_STEPS: tuple[Step, ...] = (CHECK_CONFIGURATION,)
