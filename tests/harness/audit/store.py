# SPDX-License-Identifier: Apache-2.0
"""The API's pods, nodes and quotas as they are now, by watching: every change is seen and rings a bell.

Called by watch. One thread for each kind, which lists, follows, and lists again when the API ends its answer.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator

from tests.harness.kube import Kube, KubeError, Unreachable

KINDS = ("Pod", "Node", "ResourceQuota")
FOLLOW_S = 30  # how long one answer of the API lasts; a thread that is asked to end does so within this time
AGAIN_S = 1  # between attempts to reach an API that cannot be reached
GONE = 410  # the API's word for "list again"


def events(kube: Kube, path: str, query: dict[str, str]) -> Iterator[dict]:
    """What the API tells of a watch, as it comes."""
    from urllib3.exceptions import HTTPError

    headers = {"Accept": "application/json"}
    asked = kube.api.param_serialize(
        "GET", path, query_params=list(query.items()), header_params=headers, auth_settings=["BearerToken"]
    )
    try:
        answer = kube.api.call_api(*asked, _request_timeout=(10, FOLLOW_S + 10)).response
        if answer.status >= 300:
            raise KubeError(answer.status, f"GET {path}", answer.data.decode(errors="replace"))
        rest = b""
        for part in answer.stream(None):
            *lines, rest = (rest + part).split(b"\n")
            yield from map(json.loads, lines)
    except (HTTPError, OSError) as error:
        raise Unreachable(f"GET {path}: {error}") from None


class Follower:
    """The objects of one kind, by uid."""

    def __init__(self, kube: Kube, kind: str, bell: threading.Event):
        self.kube, self.kind, self.bell = kube, kind, bell
        self.objects: dict[str, dict] = {}
        self.fresh = threading.Event()  # listed, and being followed
        self.error: KubeError | None = None  # a refusal, which waiting does not mend
        self._ended = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._run, name=f"follow-{self.kind}", daemon=True).start()

    def stop(self) -> None:
        self._ended.set()

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                version = self._list()
                while not self._ended.is_set():
                    version = self._follow(version)
            except KubeError as error:
                if error.status not in (GONE, 429) and error.status < 500:
                    self.error = error
                    self.bell.set()
                    return
            except Unreachable:
                pass
            self.fresh.clear()
            self._ended.wait(AGAIN_S)

    def _list(self) -> str:
        answer = self.kube.request("GET", self.kube.path("v1", self.kind))
        self.objects = {item["metadata"]["uid"]: item for item in answer["items"]}
        self.fresh.set()
        self.bell.set()
        return answer["metadata"]["resourceVersion"]

    def _follow(self, version: str) -> str:
        query = {"watch": "true", "resourceVersion": version, "timeoutSeconds": str(FOLLOW_S)}
        for event in events(self.kube, self.kube.path("v1", self.kind), query):
            version = self.take(event)
            if self._ended.is_set():
                break
        return version

    def take(self, event: dict) -> str:
        """One line of the API's; the version to go on from."""
        item = event["object"]
        if event["type"] == "ERROR":
            raise KubeError(item.get("code", 500), f"watch of {self.kind}", item.get("message", ""))
        if event["type"] == "DELETED":
            self.objects.pop(item["metadata"]["uid"], None)
        else:
            self.objects[item["metadata"]["uid"]] = item
        self.bell.set()
        return item["metadata"]["resourceVersion"]


class Store:
    def __init__(self, kube: Kube, kinds: tuple[str, ...] = KINDS, make: Callable[..., Follower] = Follower):
        self.bell = threading.Event()
        self._followers = {kind: make(kube, kind, self.bell) for kind in kinds}

    def start(self) -> None:
        for follower in self._followers.values():
            follower.start()

    def stop(self) -> None:
        for follower in self._followers.values():
            follower.stop()

    def wait(self, seconds: float) -> bool:
        """Until everything was listed once. A refusal of the API is raised."""
        for follower in self._followers.values():
            if not follower.fresh.wait(seconds if follower.error is None else 0):
                if follower.error:
                    raise follower.error
                return False
        return True

    @property
    def fresh(self) -> bool:
        for follower in self._followers.values():
            if follower.error:
                raise follower.error
        return all(follower.fresh.is_set() for follower in self._followers.values())

    def all(self, kind: str) -> Iterator[dict]:
        return iter(list(self._followers[kind].objects.values()))
