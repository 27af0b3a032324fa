# SPDX-License-Identifier: Apache-2.0
"""Profiles in YAML to a C table. Called by CMake: profiles.py OUTPUT.c PROFILE.yaml…, the default profile first.

FIELDS is the schema: every key is required, no other key is allowed. All problems are shown before it fails.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pinned

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


def quote(value) -> str:
    return '"' + (value or "").replace("\\", "\\\\").replace('"', '\\"') + '"'


def reading(low, high) -> str:
    return f"{{{low}, {high}}}"


def entry(p: dict) -> str:
    """One initialiser of the C table. A reading's high end is the board under full load."""
    identity, clocks, temperature, state = p["identity"], p["clocks"], p["temperature"], p["state"]
    bits = [FEATURES[name] for name in identity["features"]] + ["GS_HAS_NVSWITCH"] * p["nvlink"]["switched"]
    config = {
        "name": quote(p["product_name"]), "vbios": quote(identity["vbios"]),
        "board_part_number": quote(identity["board_part_number"]),
        "gpu_part_number": quote(identity["gpu_part_number"]),
        **{f"inforom_{key}": quote(value) for key, value in identity["inforom"].items()},
        "features": " | ".join(bits) or "0",
        "memory_total": f"{p['memory']['total_mib']}ull << 20",
        "memory_reserved": f"{p['memory']['reserved_mib']}ull << 20",
        "bar1_total": f"{p['memory']['bar1_mib']}ull << 20",
        "pci_device_id": f"0x{p['pci']['device_id']:08X}u", "pci_subsystem_id": f"0x{p['pci']['subsystem_id']:08X}u",
        "pci_base_class": p["pci"]["base_class"], "pci_sub_class": p["pci"]["sub_class"],
        "pcie_gen_max": p["pci"]["generation_max"], "pcie_width_max": p["pci"]["width_max"], "numa_node": -1,
        "brand": BRANDS[identity["brand"]], "architecture": ARCHITECTURES[identity["architecture"]],
        "compute_major": p["compute"]["capability"][0], "compute_minor": p["compute"]["capability"][1],
        "cores": p["compute"]["cores"], "multiprocessors": p["compute"]["multiprocessors"],
        "memory_bus_width": p["compute"]["memory_bus_width"], "chip": quote(p["compute"]["chip"]),
        "fans": p["fans"]["count"], "nvlinks": p["nvlink"]["links"], "nvlink_version": p["nvlink"]["version"],
        "nvlink_mbps": p["nvlink"]["mbps"], "power_default": p["power"]["default_mw"],
        "power_min": p["power"]["min_mw"], "power_max": p["power"]["max_mw"],
        "clock_graphics_max": clocks["graphics"]["max"], "clock_sm_max": clocks["graphics"]["max"],
        "clock_memory_max": clocks["memory"]["max"], "clock_video_max": clocks["video"]["max"],
        "clock_graphics_boost": clocks["boost_max"], "clock_graphics_app": p["application_clocks"]["graphics"],
        "clock_memory_app": p["application_clocks"]["memory"],
        "mem_clocks": "{" + ", ".join(
            f"{{{c['memory']}, {c['graphics_max']}, {c['graphics_min']}, {c['graphics_step']}}}"
            for c in clocks["supported"]) + "}",
        "temp_shutdown": temperature["shutdown"], "temp_slowdown": temperature["slowdown"],
        "temp_gpu_max": temperature["gpu_max"], "temp_mem_max": temperature["memory_max"] or 0,
        "copy_engines": p["engines"]["copy"],
        **{key: p["engines"][key] for key in ("decoders", "encoders", "jpegs", "ofas", "max_mig_devices")},
        "remap_banks": state["row_remap_banks"], "profile": quote(p["name"]),
    }  # fmt: skip
    hot = temperature["gpu_max"] - 5
    values = {
        "slot": "GS_SLOT_PRESENT", "persistence_mode": int(state["persistence"]), "ecc_current": int(state["ecc"]),
        "ecc_pending": int(state["ecc"]), "power_limit": p["power"]["default_mw"],
        "clock_app_graphics": p["application_clocks"]["graphics"],
        "clock_app_memory": p["application_clocks"]["memory"], "pstate_idle": state["pstate"],
        "temperature": reading(temperature["idle"], hot),
        "memory_temperature": reading(temperature["memory_idle"] or 0, hot if temperature["memory_idle"] else 0),
        "power": reading(p["power"]["idle_mw"], p["power"]["default_mw"] * 9 // 10),
        "clock_graphics": reading(clocks["graphics"]["idle"], clocks["graphics"]["max"]),
        "clock_memory": reading(clocks["memory"]["idle"], clocks["memory"]["max"]),
        "clock_video": reading(clocks["video"]["idle"], clocks["video"]["max"]),
        "pcie_tx": reading(p["pci"]["tx_kbps"], p["pci"]["tx_kbps"]),
        "pcie_rx": reading(p["pci"]["rx_kbps"], p["pci"]["rx_kbps"]),
        "pcie_replays": f"{{{p['pci']['replays']}, 0, 0}}", "energy": f"{{0, 0, {p['power']['idle_mw']}}}",
    }  # fmt: skip

    def braces(fields):
        return "{" + ", ".join(f".{key} = {value}" for key, value in fields.items()) + "}"

    return f"    {{{quote(p['name'])},\n     {braces(config)},\n     {braces(values)}}}"


def main(arguments: list[str]) -> int:
    yaml = pinned.module("yaml", "PyYAML")
    output, paths = Path(arguments[0]), [Path(name) for name in arguments[1:]]
    problems, entries = [], []
    for path in paths:
        try:
            profile = yaml.safe_load(path.read_text())
        except yaml.YAMLError as error:
            problems.append(f"{path}: not YAML, got {' '.join(str(error).split())}; mend it")
            continue
        found = check(path, profile)
        problems += found
        if not found:
            entries.append(entry(profile))
    if problems:
        print(*problems, sep="\n", file=sys.stderr)
        return 1
    output.write_text(
        "/* Generated from native/profiles/ by native/tools/profiles.py. */\n#include \"profile.h\"\n\n"
        "const struct gs_profile gs_profiles[] = {\n" + ",\n".join(entries) + "};\n"
        f"const uint32_t gs_profile_count = {len(entries)};\n"
    )  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
