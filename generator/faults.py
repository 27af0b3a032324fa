# SPDX-License-Identifier: Apache-2.0
# Lines of gpuSim.faults, judged as `gpu-sim ctl declare` will on the node, but for what only a node knows: the UUIDs of
# its GPUs. The chart's templates/_validation_faults.tpl over again; what words there are comes from the chart's
# files/faults.yaml, which is generated from the node program's own lists. Called by rules.py.

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from generator import chart
from generator.fault_line import Board, Found, Line, name_gpus, taken_apart

_MOST_CALLS = 2**32 - 1
_DELAY_UNITS = {"us": 10**6, "ms": 10**3, "s": 1}  # in a second
_NEAR = 8  # names of functions in a message


def problems(values: dict) -> Iterator[tuple[int, str, str, str]]:
    """Place, what is wrong, what to do, and the line."""
    given = values["gpuSim"]
    facts = chart.boards()[given["profile"]]
    name = given.get("deviceName") or facts["name"]
    memory = int(given.get("memoryMB") or facts["memoryMiB"])
    board = Board(name, int(given["deviceCount"]), given["uuidFormat"] == "plain", memory, facts)
    sums = _Sums()
    for place, text in enumerate(given.get("faults") or []):
        line = taken_apart(text)
        if not line.found:
            line.found += name_gpus(line, board)
            line.found += _VERBS[line.verb](line, board)
        if not line.found:
            line.found += sums.add(line, board)
        for what, todo in line.found:
            yield place, what, todo, text


def _xid(line: Line, board: Board) -> Iterator[Found]:
    most = chart.fault_lists()["xidMax"]
    if len(line.rest) != 1 or not re.fullmatch("[1-9][0-9]{0,8}", line.rest[0]) or int(line.rest[0]) > most:
        yield f"is not one Xid, 1 to {most}, and --gpu", "write it as xid --gpu 3 79"


def _lost(line: Line, board: Board) -> Iterator[Found]:
    if line.rest:
        yield f"says more than which GPUs ({line.rest[0]})", "write it as lost --gpu 1"


def _set(line: Line, board: Board) -> Iterator[Found]:
    keys = chart.fault_lists()["set"]
    if not line.rest:
        yield "sets nothing", f"add KEY=VALUE, KEY one of {', '.join(keys)}"
    seen = set()
    for word in line.rest:
        key, equals, value = word.partition("=")
        bounds = board.range_of(key)
        if key not in keys or not equals:
            yield f"sets a key that is not there ({word})", f"write KEY=VALUE, KEY one of {', '.join(keys)}"
        elif key in seen:
            yield f"sets the same key twice ({key})", "set it once"
        elif bounds is None:
            yield f"sets what this board does not tell ({key}, a {board.name})", "leave it out"
        elif not _in_range(key, value, keys[key], *bounds):
            unit = keys[key]["unit"]
            more = f", or a range such as {bounds[0]}-{bounds[1]}{unit}" if keys[key]["range"] else ""
            less = f" but not {chart.fault_lists()['computeModeGone']}" if key == "compute-mode" else ""
            todo = f"give {key}={bounds[0]}{unit} to {bounds[1]}{unit}{less}{more}"
            yield f"sets a value that a {board.name} does not have ({word})", todo
        seen.add(key)


def _in_range(key: str, text: str, about: dict, low: int, high: int) -> bool:
    unit = about["unit"]
    if not text.endswith(unit) or len(text) - len(unit) > 47:
        return False
    text = text.removesuffix(unit)
    if key == "pstate":
        text = text.removeprefix("P")
    first, dash, second = text.partition("-") if about["range"] else (text, "", "")
    begin, end = _number(first), _number(second)
    if begin is None or not low <= begin <= high:
        return False
    if key == "compute-mode" and begin == chart.fault_lists()["computeModeGone"]:
        return False
    return not dash or (end is not None and begin <= end <= high)


def _number(text: str) -> int | None:
    return int(text) if re.fullmatch("0*[0-9]{1,18}", text) else None


def _throttle(line: Line, board: Board) -> Iterator[Found]:
    reasons = chart.fault_lists()["reasons"]
    todo = f"give none, or some of {', '.join(reasons)}"
    if not line.rest:
        yield "gives no reason", todo
    for word in line.rest:
        if word not in reasons and word != "none":
            yield f"gives a reason that is not there ({word})", todo
    if "none" in line.rest and set(line.rest) != {"none"}:
        yield "gives none beside a reason", "give none, or reasons"


def _nvlink_down(line: Line, board: Board) -> Iterator[Found]:
    last = board.facts["nvlinks"] - 1
    links = line.options.get("--link")
    if line.rest:
        yield f"says more than GPUs and links ({line.rest[0]})", "write it as nvlink-down --gpu 0 --link 3"
    if last < 0:
        yield f"takes down NVLinks, of which this board has none (a {board.name})", "leave the line out"
    elif links is None:
        yield "does not say which links", f"add --link 0 to {last}, or all"
    elif links != "all":
        for link in links.split(","):
            number = _number(link) if len(link) < 24 else None
            if number is None or number > last:
                yield f"names a link that a {board.name} does not have ({link})", f"give --link 0 to {last}, or all"
                return


def _fault(line: Line, board: Board) -> Iterator[Found]:
    lists = chart.fault_lists()
    if len(line.rest) != 2:
        yield "is not one function and one return code", "write it as fault nvmlDeviceGetMemoryInfo UNKNOWN --gpu 0"
        return
    function, code = _function(line.rest[0]), _code(line.rest[1])
    if function not in lists["ofGpu"] and function not in lists["ofNode"]:
        near = ", ".join(_near(function))
        yield (
            f"names a function that nvml.h does not have ({line.rest[0]})",
            f"take its name from there, near are {near}",
        )
    elif function in lists["ofNode"] and "--gpu" in line.options:
        yield f"gives a GPU to a function that belongs to none ({function})", "leave --gpu out"
    if code is None:
        todo = f"give its number or one of {', '.join(lists['codes'])}"
        yield f"names a return code that is not there ({line.rest[1]})", todo
    elif code == 0 and "--delay" not in line.options:
        yield "answers SUCCESS at once, which changes nothing", "add --delay, or give another code"
    calls = line.options.get("--count")
    if calls is not None and not 1 <= (_number(calls) or 0) <= _MOST_CALLS:
        yield f"has no number of calls ({calls})", f"give --count 1 to {_MOST_CALLS}"
    delay = line.options.get("--delay")
    if delay is not None and not _is_delay(delay):
        longest = lists["delaySeconds"]
        yield f"has no time that a call may take ({delay})", f"give --delay in us, ms or s, up to {longest}s, as in 5ms"


def _function(word: str) -> str:
    return "nvml" + (word[4:] if word.lower().startswith("nvml") else word)


def _near(function: str) -> list[str]:
    """Those that begin as it does, for as long as any does."""
    names = sorted([*chart.fault_lists()["ofGpu"], *chart.fault_lists()["ofNode"]])
    for length in range(len(function), -1, -1):
        if found := [name for name in names if name.lower().startswith(function[:length].lower())]:
            return found[:_NEAR]
    return []


def _code(word: str) -> int | None:
    codes = chart.fault_lists()["codes"]
    number = _number(word)
    if number is not None:
        return number if number in codes.values() else None
    return codes.get(re.sub("^NVML_(ERROR_)?", "", word.upper()))


def _is_delay(text: str) -> bool:
    found = re.fullmatch("([0-9]{1,23})(us|ms|s)", text)
    number = _number(found[1]) if found else None
    return bool(number) and number <= chart.fault_lists()["delaySeconds"] * _DELAY_UNITS[found[2]]


_VERBS = {"xid": _xid, "lost": _lost, "set": _set, "throttle": _throttle, "nvlink-down": _nvlink_down, "fault": _fault}


class _Sums:
    """What lines together put on one GPU. A UUID is taken for a GPU beside those with an index."""

    def __init__(self) -> None:
        self.xids: defaultdict[str, set[str]] = defaultdict(set)
        self.codes: defaultdict[str, set[str]] = defaultdict(set)
        self.events = 0

    def add(self, line: Line, board: Board) -> Iterator[Found]:
        lists = chart.fault_lists()
        if line.verb in ("xid", "lost"):
            xid = line.rest[0] if line.rest else "79"
            for gpu in set(line.gpus):
                self.xids[gpu].add(xid)
                self.events += 1
        if line.verb == "fault":
            function = _function(line.rest[0])
            for gpu in {"node"} if function in lists["ofNode"] else set(line.gpus):
                self.codes[gpu].add(function)
        for counted, most, what in (
            (max(map(len, self.xids.values()), default=0), lists["xidsOfGpu"], "Xids on one GPU"),
            (max(map(len, self.codes.values()), default=0), lists["codesOfGpu"], "return codes on one GPU or the node"),
            (self.events, lists["events"], "events for waiting programs"),
        ):
            if counted > most:
                yield f"makes, with the lines before it, too many {what} ({counted})", f"have at most {most}"
