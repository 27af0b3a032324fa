# SPDX-License-Identifier: Apache-2.0
"""Profiles in YAML to a C table. Called by CMake: profiles.py OUTPUT.c PROFILE.yaml…, the default profile first.

The schema is in profile_fields.py. All problems of all files are shown before it fails.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pinned
from profile_fields import ARCHITECTURES, BRANDS, FEATURES, check


def quote(value) -> str:
    return '"' + (value or "").replace("\\", "\\\\").replace('"', '\\"') + '"'


def reading(low, high) -> str:
    return f"{{{low}, {high}}}"


def config(p: dict) -> dict:
    """Members of struct gs_config as C expressions; numbers are numbers."""
    identity, clocks, temperature, state = p["identity"], p["clocks"], p["temperature"], p["state"]
    bits = [FEATURES[name] for name in identity["features"]] + ["GS_HAS_NVSWITCH"] * p["nvlink"]["switched"]
    return {
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


def entry(p: dict) -> str:
    """One initialiser of the C table. A reading's high end is the board under full load."""
    clocks, temperature, state = p["clocks"], p["temperature"], p["state"]
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

    return f"    {{{quote(p['name'])},\n     {braces(config(p))},\n     {braces(values)}}}"


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
