"""The exceptions of the bed of nodes.

RuntimeError
 └─ BedError             the bed, or something asked of it, failed: one sentence
     ├─ BedUnavailable   this machine cannot carry a bed at all (no root, no Debian, no space, ...)
     └─ NodeError        one node could not be added, reached or changed; the bed goes on
"""


class BedError(RuntimeError):
    """The bed, or something that was asked of it, failed. The text is one sentence that says what to do."""


class BedUnavailable(BedError):  # noqa: N818 - reads as the state of the machine, and is caught as such
    """This machine cannot carry a bed. Everything else of the product still works without one."""


class NodeError(BedError):
    """One node could not be added, reached or changed."""
