"""The failures that a node reports. Each message is written for the person who reads the last log line."""


class LifecycleError(Exception):
    """Something that a person must be told; its text is the message."""


class ConfigError(LifecycleError):
    """node_config.json or the platform's files cannot be used."""


class StepError(LifecycleError):
    """A step could not do its work."""


class StepTimeoutError(StepError):
    """A command or a wait of a step took longer than its bound."""


class StepOverdueError(LifecycleError):
    """A step's own bound is over. No StepError: what tries failed commands again must not swallow it."""


class DeferredError(LifecycleError):
    """The step's precondition is not there yet; a systemd unit on the node runs the step again until it succeeds."""
