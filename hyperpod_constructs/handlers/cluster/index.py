"""The two entry points of the Lambda: parse, observe, plan, apply, answer.

The Provider calls ``on_event`` once for each request of CloudFormation and then ``is_complete`` every half minute. Both
may be delivered twice. An exception becomes the reason in the stack event.
"""

import traceback
from collections.abc import Callable, Mapping
from typing import Any

from .answer import attributes
from .aws import Aws
from .creation import create
from .errors import HandlerError, ServiceError
from .events import PROGRESS, Event, RequestType, read_event
from .hints import hint_for
from .log import log
from .operations import delete, update
from .polling import poll
from .services import Services
from .text import REASON_CHARACTERS, shortened

Answer = dict[str, Any]

OPERATIONS = {RequestType.CREATE: create, RequestType.UPDATE: update, RequestType.DELETE: delete}


def on_event(event: Mapping[str, Any], context: Any = None, services: Services | None = None) -> Answer:
    """Start what CloudFormation asks for.

    Returns:
        The physical id, which is the cluster's name and never changes, and what the polls need to know.

    Raises:
        HandlerError: the request has failed; the text is the reason, about 1,000 bytes at most.
    """
    return _bounded("on_event", lambda: _on_event(event, services or _services(context)))


def is_complete(event: Mapping[str, Any], context: Any = None, services: Services | None = None) -> Answer:
    """Say whether it is done; the attributes come with the last answer, because the Provider refuses them before.

    Raises:
        HandlerError: the request has failed; the text is the reason, about 1,000 bytes at most.
    """
    return _bounded("is_complete", lambda: _is_complete(event, services or _services(context)))


def _on_event(raw: Mapping[str, Any], services: Services) -> Answer:
    event = read_event(raw)
    log("on_event", **_identity(event))
    progress = OPERATIONS[event.request_type](event, services)
    return {"PhysicalResourceId": _physical_id(raw, event), PROGRESS: progress.as_json()}


def _is_complete(raw: Mapping[str, Any], services: Services) -> Answer:
    event = read_event(raw)
    outcome = poll(event, services)
    log("is_complete", complete=outcome.complete, **_identity(event))
    if not outcome.complete:
        return {"IsComplete": False}
    if event.request_type is RequestType.DELETE:
        return {"IsComplete": True}
    return {"IsComplete": True, "Data": attributes(outcome.cluster, str(event.physical_id), outcome.notes)}


def _physical_id(raw: Mapping[str, Any], event: Event) -> Any:
    """The cluster's name on a Create, else what came in: another id would delete this cluster (C-08)."""
    if event.request_type is RequestType.CREATE and event.desired is not None:
        return event.desired.name
    return raw.get("PhysicalResourceId")


def _identity(event: Event) -> dict[str, Any]:
    return {
        "request_type": event.request_type.value,
        "request_id": event.request_id,
        "logical_id": event.owner.logical_id,
        "physical_id": event.physical_id,
    }


def _services(context: Any) -> Services:
    remaining = getattr(context, "get_remaining_time_in_millis", None)
    if remaining is None:
        return Services()
    return Services(aws=Aws(remaining_seconds=lambda: float(remaining()) / 1000))


def _reason(error: HandlerError) -> str:
    hint = hint_for(str(error)) if isinstance(error, ServiceError) else ""
    return shortened(f"{error}\nhint: {hint}" if hint else str(error), REASON_CHARACTERS)


def _bounded(entry: str, run: Callable[[], Answer]) -> Answer:
    """Every error leaves as a HandlerError with a bounded text; the trace goes to the log only."""
    try:
        return run()
    except HandlerError as error:
        log("failed", entry=entry, error=str(error))
        raise HandlerError(_reason(error)) from None
    except Exception as error:
        log("failed unexpectedly", entry=entry, trace=traceback.format_exc())
        text = f"{entry} failed unexpectedly: {type(error).__name__}: {error}"
        raise HandlerError(shortened(text, REASON_CHARACTERS)) from None
