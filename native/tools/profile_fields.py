# SPDX-License-Identifier: Apache-2.0
"""The schema of a profile: FIELDS. Every key is required, no other key is allowed, and each section says by `source`
where its figures come from. Called by profiles.py; all problems are found at once.
"""

from __future__ import annotations

import re
from pathlib import Path

BRANDS = {"tesla": 2, "nvidia": 14}
ARCHITECTURES = {"turing": 6, "ampere": 7, "ada": 8, "hopper": 9, "blackwell": 10}
FEATURES = {
    "mig": "GS_HAS_MIG", "ecc": "GS_HAS_ECC", "retired_pages": "GS_HAS_RETIRED_PAGES",
    "row_remap": "GS_HAS_ROW_REMAP", "tlimit": "GS_HAS_TLIMIT", "memory_temperature": "GS_HAS_MEM_TEMP",
    "application_clocks": "GS_HAS_APP_CLOCKS", "fabric": "GS_HAS_FABRIC", "c2c": "GS_HAS_C2C",
    "average_power": "GS_HAS_AVERAGE_POWER", "memory_power": "GS_HAS_MEM_POWER", "jpeg": "GS_HAS_JPEG",
    "ofa": "GS_HAS_OFA", "conf_compute": "GS_HAS_CONF_COMPUTE",
    "sparse_operation_mode": "GS_HAS_SPARSE_MODE",
}  # fmt: skip


def text(longest: int):
    def check(value):
        if not isinstance(value, str) or not re.fullmatch(rf"[ -~]{{1,{longest}}}", value):
            return f"printable ASCII of 1 to {longest} characters"
        return None

    return check


def number(lowest: int, highest: int = 2**32 - 1):
    def check(value):
        if type(value) is not int or not lowest <= value <= highest:
            return f"a whole number from {lowest} to {highest}"
        return None

    return check


def optional(inner):
    return lambda value: None if value is None else inner(value)


def one_of(*names: str):
    return lambda value: None if value in names else "one of " + ", ".join(names)


def flag(value):
    return None if isinstance(value, bool) else "true or false"


def features(value):
    if isinstance(value, list) and all(item in FEATURES for item in value):
        return None
    return "a list out of " + ", ".join(FEATURES)


def capability(value):
    if isinstance(value, list) and [type(item) for item in value] == [int, int]:
        return None
    return "a list of two numbers, such as [8, 0]"


def supported(value):
    keys = {"memory", "graphics_max", "graphics_min", "graphics_step"}
    if (
        isinstance(value, list)
        and 1 <= len(value) <= 4
        and all(
            isinstance(item, dict) and set(item) == keys and not any(map(number(1), item.values())) for item in value
        )
    ):
        return None
    return f"one to four maps of {', '.join(sorted(keys))}"


CLOCK = {"idle": number(1), "max": number(1)}
FIELDS = {
    "name": text(63), "product_name": text(95), "description": text(200), "sources": {},
    "identity": {
        "brand": one_of(*BRANDS), "architecture": one_of(*ARCHITECTURES), "vbios": text(31),
        "board_part_number": text(31), "gpu_part_number": text(31), "features": features,
        "inforom": {"image": text(15), "oem": text(15), "ecc": text(15), "power": optional(text(15))},
    },
    "pci": {
        "device_id": number(1), "subsystem_id": number(1), "base_class": number(0, 255), "sub_class": number(0, 255),
        "generation_max": number(1, 7), "width_max": number(1, 32), "tx_kbps": number(0), "rx_kbps": number(0),
        "replays": number(0),
    },
    "memory": {"total_mib": number(1), "reserved_mib": number(0), "bar1_mib": number(1)},
    "clocks": {"graphics": CLOCK, "memory": CLOCK, "video": CLOCK, "boost_max": number(1), "supported": supported},
    "application_clocks": {"graphics": number(1), "memory": number(1)},
    "power": {"idle_mw": number(1), "default_mw": number(1), "min_mw": number(1), "max_mw": number(1)},
    "temperature": {
        "idle": number(0, 150), "memory_idle": optional(number(0, 150)), "shutdown": number(1, 150),
        "slowdown": number(1, 150), "gpu_max": number(1, 150), "memory_max": optional(number(1, 150)),
    },
    "state": {"persistence": flag, "ecc": flag, "pstate": number(0, 15), "row_remap_banks": number(0)},
    "compute": {
        "capability": capability, "cores": number(1), "multiprocessors": number(1), "memory_bus_width": number(1),
        "chip": text(15),
    },
    "engines": {key: number(0, 64) for key in ("copy", "decoders", "encoders", "jpegs", "ofas", "max_mig_devices")},
    "nvlink": {"links": number(0, 18), "version": number(0, 8), "mbps": number(0), "switched": flag},
    "fans": {"count": number(0, 8)},
}  # fmt: skip


def compare(where: str, wanted: dict, found, problems: list[str]) -> None:
    """Adds to `problems` what differs between the schema and a map."""
    if not isinstance(found, dict):
        problems.append(f"{where}: not a map, got {found!r}; give it {', '.join(wanted)}")
        return
    for key in found:
        if key not in wanted:
            problems.append(f"{where}.{key}: no such key, got {found[key]!r}; known are {', '.join(wanted)}")
    for key, check in wanted.items():
        if key not in found:
            problems.append(f"{where}.{key}: missing, got nothing; add it")
        elif isinstance(check, dict):
            compare(f"{where}.{key}", check, found[key], problems)
        elif must := check(found[key]):
            problems.append(f"{where}.{key}: wrong value, got {found[key]!r}; give {must}")


def check(path: Path, profile) -> list[str]:
    """All that is wrong with one profile, in the project's form."""
    problems: list[str] = []
    if not isinstance(profile, dict):
        return [f"{path}: not a map, got {type(profile).__name__}; see another profile"]
    sources = profile.get("sources")
    if not isinstance(sources, dict) or not sources:
        problems.append(f"{path}:.sources: no map of sources, got {sources!r}; name where the figures come from")
        sources = {}
    bare = {}
    for key, section in profile.items():
        if isinstance(FIELDS.get(key), dict) and key != "sources" and isinstance(section, dict):
            if section.get("source") not in sources:
                problems.append(
                    f"{path}:.{key}.source: not in sources, got {section.get('source')!r}; "
                    f"name one of {', '.join(sources)}"
                )
            section = {name: value for name, value in section.items() if name != "source"}
        bare[key] = {} if key == "sources" else section
    compare(f"{path}:", FIELDS, bare, problems)
    if profile.get("name") != path.stem:
        problems.append(f"{path}:.name: not the file's name, got {profile.get('name')!r}; write {path.stem}")
    return problems
