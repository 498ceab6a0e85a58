"""What runs when HyperPod sends an event: ``index.tell`` writes to people, ``index.guard`` watches the bill.

One package for both, because a Lambda package can import from itself only and they read the same events, keep the same
kind of record and write to the same topic.
"""
