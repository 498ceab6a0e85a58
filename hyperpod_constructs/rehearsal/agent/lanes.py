"""Work in the background, in order for each key and side by side for different ones."""

import threading
from collections.abc import Callable, Hashable


class Lanes:
    """Runs pieces of work in threads. Work of one key is done in the order it was given; nothing waits for it here."""

    def __init__(self) -> None:
        self._last: dict[Hashable, threading.Thread] = {}
        self._lock = threading.Lock()

    def submit(self, key: Hashable, work: Callable[[], None]) -> threading.Thread:
        """Do this after all that was given for the key before. The work must not raise."""
        with self._lock:
            before = self._last.get(key)

            def run() -> None:
                if before is not None:
                    before.join()
                work()

            thread = threading.Thread(target=run, name=f"lane {key}", daemon=True)
            self._last[key] = thread
            thread.start()
            return thread

    def join(self, timeout_seconds: float) -> bool:
        """Wait for everything given so far; False when the time was over before."""
        with self._lock:
            threads = list(self._last.values())
        for thread in threads:
            thread.join(timeout_seconds)
        return not any(thread.is_alive() for thread in threads)
