"""The words that people get: by mail as plain text, in a chat as the service's custom notification."""

import json
from dataclasses import dataclass

from .cost import Estimate
from .notice import Kind, Notice

SUBJECT_CHARACTERS = 99
"""SNS takes fewer than 100, ASCII, on one line (API reference, Publish)."""
TEXT_BYTES = 60_000
"""A message may have 256 KiB, both forms of it together."""

_TITLES = {
    Kind.SCRIPT_FAILURE: "lifecycle script failed",
    Kind.SLURM_UNHEALTHY: "Slurm accounting is unhealthy",
    Kind.NODE_UNHEALTHY: "node is unhealthy",
    Kind.CLUSTER_STATE: "cluster changed state",
    Kind.OTHER: "event",
}


@dataclass(frozen=True, kw_only=True)
class Message:
    """What goes to the topic.

    Attributes:
        title: one line.
        text: readable lines.
        next_steps: what to do, a line each.
    """

    title: str
    text: str
    next_steps: tuple[str, ...] = ()

    @property
    def subject(self) -> str:
        """The title as SNS takes it."""
        plain = " ".join(self.title.split()).encode("ascii", "replace").decode()
        return plain if len(plain) <= SUBJECT_CHARACTERS else plain[: SUBJECT_CHARACTERS - 3] + "..."

    @property
    def body(self) -> str:
        """The text with the next steps, as a person reads it."""
        steps = "".join(f"\n  {step}" for step in self.next_steps)
        return _bounded(self.text + (f"\n\nWhat to do:{steps}" if steps else ""))

    def by_protocol(self) -> str:
        """SNS's JSON of the forms: text for everybody, the custom notification for chat applications.

        A chat application subscribes with https and shows nothing that does not follow its schema (administrator
        guide of Amazon Q Developer in chat applications, custom notifications).
        """
        content = {
            "textType": "client-markdown",
            "title": self.title,
            "description": _bounded(self.text),
            "nextSteps": list(self.next_steps),
        }
        if not self.next_steps:
            del content["nextSteps"]
        chat = {"version": "1.0", "source": "custom", "content": content}
        return json.dumps({"default": self.body, "https": json.dumps(chat)})


def notice_message(notice: Notice, untold: int = 0) -> Message:
    """What happened, the real reason, and where to look.

    Args:
        notice: with its details.
        untold: how often the same came since it was told last.
    """
    lines = [notice.summary]
    if notice.reason and notice.reason not in notice.summary:
        lines.append(f"Reason: {notice.reason}")
    if notice.advice:
        lines.append(f"The service recommends: {notice.advice}")
    lines += ["", *_facts(notice)]
    if untold:
        lines.append(f"The same came {untold} more {'time' if untold == 1 else 'times'} since it was told last.")
    where = f" in {notice.group}" if notice.group else ""
    title = f"HyperPod {notice.cluster_name}: {_TITLES[notice.kind]}{where}"
    if notice.kind is Kind.OTHER:
        title = f"HyperPod {notice.cluster_name}: {notice.level or 'event'}: {notice.summary}"
    return Message(title=title, text="\n".join(lines), next_steps=tuple(_look(notice)))


def guard_message(
    notice: Notice, failures: int, window_minutes: float, total: int, hours: float, estimate: Estimate
) -> Message:
    """A group's nodes fail again and again, what that costs, and the command that stops it.

    Args:
        notice: the latest failure, with its details.
        failures: within the window.
        window_minutes: length of the window.
        total: failures since the streak began.
        hours: since the streak began.
        estimate: of what the group costs an hour.
    """
    longer = f", {total} in the last {hours:.1f} hours" if total > failures else ""
    lines = [
        f"Nodes of group {notice.group} fail their lifecycle script again and again: {failures} failures within "
        f"{window_minutes:g} minutes{longer}.",
        "The service starts each one anew and bills every try from the start of its script. It never stops by itself.",
        f"Cost while this goes on: {estimate.words}.",
        f"Latest reason: {notice.reason or notice.summary}",
        "",
        *_facts(notice),
    ]
    stop = f"stop the tries, nodes that run well stay: {estimate.stop_command}"
    return Message(
        title=f"HyperPod {notice.cluster_name}: group {notice.group} fails again and again and is billed",
        text="\n".join(lines),
        next_steps=(*_look(notice), stop, "then correct the script, deploy, and set the instance count back"),
    )


def _facts(notice: Notice) -> list[str]:
    known = (
        ("Cluster", notice.cluster_name),
        ("Group", notice.group),
        ("Instance", notice.instance),
        ("Node", notice.node),
        ("Level", notice.level),
        ("Time", notice.time),
        ("Event", notice.event_id if notice.is_describable else ""),
    )
    return [f"{name + ':':<10}{value}" for name, value in known if value]


def _look(notice: Notice) -> list[str]:
    """Where the rest is written (FACTS 8)."""
    region = f" --region {notice.region}" if notice.region else ""
    cluster_id = notice.cluster_arn.rpartition("/")[2]
    if notice.kind is Kind.SCRIPT_FAILURE and notice.group and cluster_id:
        return [
            f"read the script's log: aws logs tail /aws/sagemaker/Clusters/{notice.cluster_name}/{cluster_id}"
            f" --log-stream-names LifecycleConfig/{notice.group}/{notice.instance}{region}",
            "an empty log means that the network or EFA failed before the script ran",
        ]
    if notice.kind is Kind.SLURM_UNHEALTHY:
        return ["on the controller: systemctl status slurmdbd, and /var/log/slurm/slurmdbd.log"]
    if notice.is_describable:
        return [
            f"all that the service says: aws sagemaker describe-cluster-event --cluster-name {notice.cluster_name}"
            f" --event-id {notice.event_id}{region}"
        ]
    return [f"aws sagemaker describe-cluster --cluster-name {notice.cluster_name}{region}"]


def _bounded(text: str) -> str:
    raw = text.encode()
    return text if len(raw) <= TEXT_BYTES else raw[:TEXT_BYTES].decode(errors="ignore") + " [...]"
