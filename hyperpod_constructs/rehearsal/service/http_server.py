"""Both services over HTTP, in the protocol AWS JSON 1.1, on the loopback address only."""

from __future__ import annotations

import json
import logging
import threading
import uuid
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from .control import SHUT_DOWN, Control
from .errors import CallerCrash, ServiceError
from .model import FSX, SAGEMAKER, service_model

if TYPE_CHECKING:
    from .fsx import FsxService
    from .hyperpod import HyperPodService

_LOG = logging.getLogger(__name__)

LOOPBACK = "127.0.0.1"
CONTROL = "/_rehearsal/"
_CONTENT_TYPE = "application/x-amz-json-1.1"
_LONGEST_BODY = 4 * 1024 * 1024
_TICK_SECONDS = 0.1

Call = Callable[[str, Mapping[str, Any]], dict[str, Any]]


class _Handler(BaseHTTPRequestHandler):
    """One connection. `services`, `control` and `shut_down` are set by the server that makes the class."""

    protocol_version = "HTTP/1.1"
    timeout = 60
    disable_nagle_algorithm = True
    services: Mapping[str, Call]
    control: Control
    shut_down: Callable[[], None]

    def log_message(self, format: str, *args: Any) -> None:
        """Requests go to the debug log, not to standard error."""
        _LOG.debug(format, *args)

    def do_GET(self) -> None:
        """Control addresses."""
        self._answer_control("GET", b"")

    def do_POST(self) -> None:
        """Calls of the two services, and control addresses."""
        body = self._body()
        if body is None:
            return
        if self.path.startswith(CONTROL):
            self._answer_control("POST", body)
        else:
            self._answer_call(body)

    def _body(self) -> bytes | None:
        try:
            length = int(self.headers.get("Content-Length", "0"))
        except ValueError:
            length = -1
        if not 0 <= length <= _LONGEST_BODY:
            self.close_connection = True
            self._send_error(
                ServiceError("SerializationException", "The length of the body is missing or too large", 413)
            )
            return None
        return self.rfile.read(length)

    def _answer_call(self, body: bytes) -> None:
        prefix, _, operation = self.headers.get("X-Amz-Target", "").partition(".")
        call = self.services.get(prefix)
        try:
            if call is None:
                raise ServiceError(
                    "UnknownOperationException", f"No service answers to {prefix or 'a request without X-Amz-Target'}"
                )
            answer = call(operation, _parameters(body))
        except ServiceError as error:
            self._send_error(error)
        except CallerCrash:
            # The connection ends without an answer: the caller cannot know whether the call had its effect.
            self.close_connection = True
        except Exception:
            _LOG.exception("%s failed", operation)
            self._send_error(ServiceError("InternalFailure", f"The rehearsal's {operation} failed, see its log", 500))
        else:
            self._send(200, _CONTENT_TYPE, json.dumps(answer).encode())

    def _answer_control(self, method: str, body: bytes) -> None:
        name = self.path.removeprefix(CONTROL).partition("?")[0].strip("/")
        try:
            if not self.path.startswith(CONTROL):
                raise LookupError(f"nothing at {self.path}, the control addresses are below {CONTROL}")
            answer = self.control.answer(method, name, _parameters(body))
        except LookupError as error:
            self._send(404, "text/plain; charset=utf-8", str(error.args[0]).encode())
        except (ValueError, TypeError) as error:
            self._send(400, "text/plain; charset=utf-8", str(error).encode())
        except ServiceError as error:
            self._send(400, "text/plain; charset=utf-8", error.message.encode())
        else:
            self._send(200, "application/json", json.dumps(answer).encode())
            if name == SHUT_DOWN:
                self.shut_down()

    def _send_error(self, error: ServiceError) -> None:
        body = json.dumps({"__type": error.code, "message": error.message}).encode()
        self._send(error.status, _CONTENT_TYPE, body, {"x-amzn-ErrorType": error.code})

    def _send(self, status: int, content_type: str, body: bytes, more: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        headers = {
            "Content-Type": content_type,
            "Content-Length": str(len(body)),
            "x-amzn-RequestId": str(uuid.uuid4()),
        }
        for name, value in {**headers, **(more or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def _parameters(body: bytes) -> Mapping[str, Any]:
    try:
        parsed = json.loads(body or b"{}")
    except ValueError as error:
        raise ServiceError("SerializationException", f"The body is not JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise ServiceError("SerializationException", "The body is not a JSON object")
    return parsed


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # A burst of CDK's and the tests' connections must not be refused.
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that goes away is no error."""
        _LOG.debug("connection of %s ended early", client_address, exc_info=True)


class HttpServer:
    """Answers calls on the loopback address and lets time pass for the service.

    Args:
        hyperpod, fsx: The services.
        port: The port; 0 (default) for any free one.
        address: Must be 127.0.0.1; anything else is refused, since nothing here checks who calls.

    Raises:
        ValueError: The address is not the loopback address.
        OSError: The port is taken.
    """

    def __init__(self, hyperpod: HyperPodService, fsx: FsxService, port: int = 0, address: str = LOOPBACK) -> None:
        if address != LOOPBACK:
            raise ValueError(f"the service listens on {LOOPBACK} only, got {address!r}")
        self._hyperpod = hyperpod
        self.stopped = threading.Event()
        targets = {SAGEMAKER: hyperpod.call, FSX: fsx.call}
        handler = type(
            "Handler",
            (_Handler,),
            {
                "services": {service_model(s).metadata["targetPrefix"]: call for s, call in targets.items()},
                "control": Control(hyperpod, fsx),
                "shut_down": self.stopped.set,
            },
        )
        self._server = _Server((LOOPBACK, port), handler)
        self._threads = [
            threading.Thread(
                target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, name="http", daemon=True
            ),
            threading.Thread(target=self._tick, name="tick", daemon=True),
        ]

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://{LOOPBACK}:{self._server.server_address[1]}"

    def start(self) -> None:
        """Start answering."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop answering and free the port."""
        self.stopped.set()
        self._server.shutdown()
        self._server.server_close()
        for thread in self._threads:
            thread.join(5.0)

    def __enter__(self) -> HttpServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _tick(self) -> None:
        while not self.stopped.wait(_TICK_SECONDS):
            try:
                self._hyperpod.tick()
            except Exception:
                _LOG.exception("a tick failed")
