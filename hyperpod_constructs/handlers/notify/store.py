"""Small records that several invocations change at once, in a DynamoDB table.

Every write is on condition that nobody wrote since the record was read: two nodes that fail in the same second are two
invocations, and neither may lose the other's count or tell the same thing twice. A parameter in Systems Manager would
be lighter still, but has no conditional write.
"""

import json
import random
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

T = TypeVar("T")

ATTEMPTS = 8
KEPT_SECONDS = 7 * 24 * 3600.0
"""After the last change; DynamoDB then deletes the record by itself."""


class BusyError(RuntimeError):
    """Others changed the record at every attempt. Raised so that EventBridge delivers the event again."""


class Store:
    """Records by key.

    Args:
        client: boto3's DynamoDB client.
        table: name of the table; its key is the string ``id``.
        sleep: between attempts; for tests.
    """

    def __init__(self, client: Any, table: str, sleep: Callable[[float], None] = time.sleep) -> None:
        self._client, self._table, self._sleep = client, table, sleep

    def change(self, key: str, now: float, step: Callable[[Mapping[str, Any] | None], tuple[dict[str, Any], T]]) -> T:
        """Read the record, let ``step`` make the new one, and write it if nobody else did meanwhile.

        Args:
            key: of the record.
            now: seconds since the epoch.
            step: pure; from the old record (None if there is none) to the new one and the answer. Called once for
                each attempt.

        Returns:
            The answer of the attempt that was written.

        Raises:
            BusyError: after 8 attempts.
        """
        for attempt in range(ATTEMPTS):
            record, version = self._read(key)
            changed, answer = step(record)
            if changed == record or self._write(key, changed, version, now):
                return answer
            self._sleep(random.uniform(0, 0.05 * 2**attempt))  # noqa: S311  jitter, no secret
        raise BusyError(f"record {key}: changed by others at each of {ATTEMPTS} attempts")

    def _read(self, key: str) -> tuple[dict[str, Any] | None, int]:
        answer = self._client.get_item(TableName=self._table, Key={"id": {"S": key}}, ConsistentRead=True)
        item = answer.get("Item")
        if not item:
            return None, 0
        return json.loads(item["record"]["S"]), int(item["version"]["N"])

    def _write(self, key: str, record: Mapping[str, Any], version: int, now: float) -> bool:
        try:
            self._client.put_item(
                TableName=self._table,
                Item={
                    "id": {"S": key},
                    "record": {"S": json.dumps(record)},
                    "version": {"N": str(version + 1)},
                    "expires": {"N": str(int(now + KEPT_SECONDS))},
                },
                ConditionExpression="attribute_not_exists(id) OR version = :read",
                ExpressionAttributeValues={":read": {"N": str(version)}},
            )
        except self._client.exceptions.ConditionalCheckFailedException:
            return False
        return True
