# SPDX-License-Identifier: Apache-2.0
"""The library alone, without a node: GPUs from the environment, every way to initialise, values that do not parse."""

from __future__ import annotations

import sys
import time

import pytest
import yaml

from tests.clients.driver_root import Library
from tests.harness.versions import CHECKOUT

pytestmark = pytest.mark.native
PROFILES = {path.stem: yaml.safe_load(path.read_text()) for path in (CHECKOUT / "native/profiles").glob("*.yaml")}
INIT = [sys.executable, "-c", "import pynvml; pynvml.nvmlInit(); print(pynvml.nvmlDeviceGetCount())"]


@pytest.fixture
def library(native):
    return Library(native)


FACTS = """
def one(i):
    h = nvml.nvmlDeviceGetHandleByIndex(i)
    v1, v2 = nvml.nvmlDeviceGetMemoryInfo(h), nvml.nvmlDeviceGetMemoryInfo(h, version=nvml.nvmlMemory_v2)
    serial, uuid, bus = nvml.nvmlDeviceGetSerial(h), nvml.nvmlDeviceGetUUID(h), nvml.nvmlDeviceGetPciInfo(h).busId
    handles = (h, nvml.nvmlDeviceGetHandleByUUID(uuid), nvml.nvmlDeviceGetHandleBySerial(serial),
               nvml.nvmlDeviceGetHandleByPciBusId(bus))
    return {"name": nvml.nvmlDeviceGetName(h), "uuid": uuid, "bus": bus, "minor": nvml.nvmlDeviceGetMinorNumber(h),
            "v1": [v1.total, v1.used, v1.free], "v2": [v2.total, v2.reserved, v2.used, v2.free],
            "capability": nvml.nvmlDeviceGetCudaComputeCapability(h),
            "same": [nvml.nvmlDeviceGetIndex(other) for other in handles]}
answer = [nvml.nvmlSystemGetDriverVersion(), [one(i) for i in range(nvml.nvmlDeviceGetCount())]]
"""


@pytest.mark.parametrize(
    ("count", "mib", "profile", "driver"),
    [
        (2, 3333, "tesla-t4", "535.261.03"),
        (7, 20480, "a100-sxm4-40gb", "550.54.15"),
        (16, 98765, "h100-80gb-hbm3", "580.65.06"),
    ],
)
def test_the_environment_says_what_there_is(library, count, mib, profile, driver):
    asked = {"DEVICE_COUNT": count, "MEMORY_SIZE_MB": mib, "PROFILE": profile, "DRIVER_VERSION": driver}
    variables = {f"NVML_MOCK_{name}": str(value) for name, value in asked.items()}
    version, gpus = library.python(FACTS, **variables)
    assert version == driver
    assert [gpu["same"] for gpu in gpus] == [[i] * 4 for i in range(count)]
    assert [gpu["minor"] for gpu in gpus] == list(range(count))
    assert len({gpu["uuid"] for gpu in gpus}) == len({gpu["bus"] for gpu in gpus}) == count
    for gpu in gpus:
        assert gpu["name"] == PROFILES[profile]["product_name"]
        assert gpu["capability"] == PROFILES[profile]["compute"]["capability"]
        total, reserved, used, free = gpu["v2"]
        assert total == mib << 20
        assert reserved == min(PROFILES[profile]["memory"]["reserved_mib"] << 20, total // 8), (
            "never most of a small one"
        )
        assert total == reserved + used + free
        assert gpu["v1"] == [total, reserved + used, free], (
            "without a field of its own, what is reserved counts as used"
        )
    assert library.python(FACTS, **variables)[1] == gpus, "another process sees the same GPUs"


def test_a_name_and_plain_uuids(library):
    _, gpus = library.python(
        FACTS, NVML_MOCK_DEVICE_COUNT="3", NVML_MOCK_DEVICE_NAME="Our GPU 9000", NVML_MOCK_UUID_FORMAT="plain"
    )
    assert [(gpu["name"], gpu["uuid"]) for gpu in gpus] == [("Our GPU 9000", f"mock-gpu-{i}") for i in range(3)]


def test_nobody_said_anything(library):
    _, gpus = library.python(FACTS)
    assert [(gpu["name"], gpu["v2"][0] >> 20) for gpu in gpus] == [("NVIDIA A100-SXM4-40GB", 40960)] * 4


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_a_profiles_readings_keep_within_its_limits(library, profile):
    board = PROFILES[profile]
    readings = library.python(
        """
h = nvml.nvmlDeviceGetHandleByIndex(0)
load = nvml.nvmlDeviceGetUtilizationRates(h)
kinds = (nvml.NVML_CLOCK_GRAPHICS, nvml.NVML_CLOCK_SM, nvml.NVML_CLOCK_MEM, nvml.NVML_CLOCK_VIDEO)
answer = {"load": [load.gpu, load.memory], "temperature": nvml.nvmlDeviceGetTemperature(h, nvml.NVML_TEMPERATURE_GPU),
          "slowdown": nvml.nvmlDeviceGetTemperatureThreshold(h, nvml.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN),
          "power": nvml.nvmlDeviceGetPowerUsage(h), "limit": nvml.nvmlDeviceGetPowerManagementLimit(h),
          "enforced": nvml.nvmlDeviceGetEnforcedPowerLimit(h),
          "clocks": [[nvml.nvmlDeviceGetClockInfo(h, kind), nvml.nvmlDeviceGetMaxClockInfo(h, kind)] for kind in kinds]}
""",
        NVML_MOCK_PROFILE=profile,
    )
    assert readings["load"] == [0, 0]
    assert readings["limit"] == readings["enforced"] == board["power"]["default_mw"]
    assert 0 < readings["power"] <= readings["limit"]
    assert readings["slowdown"] == board["temperature"]["slowdown"]
    assert 0 < readings["temperature"] < readings["slowdown"]
    assert all(0 < now <= highest for now, highest in readings["clocks"])


WAYS_IN = """
import ctypes
nvml = ctypes.CDLL("libnvidia-ml.so.1")
count = ctypes.c_uint()
print(nvml.nvmlDeviceGetCount(ctypes.byref(count)), nvml.nvmlShutdown())
print(nvml.nvmlInit(), nvml.nvmlInit_v2(), nvml.nvmlInitWithFlags(0))
for _ in range(3):
    print(nvml.nvmlDeviceGetCount(ctypes.byref(count)), count.value, nvml.nvmlShutdown())
print(nvml.nvmlDeviceGetCount(ctypes.byref(count)))
print(nvml.nvmlInit(), nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)), count.value)
"""


def test_the_three_ways_in_count_together(library):
    """Plain ctypes with the plain names: how torch asks."""
    result = library.run([sys.executable, "-c", WAYS_IN], NVML_MOCK_DEVICE_COUNT="5")
    assert result.stdout.splitlines() == ["1 1", "0 0 0", "0 5 0", "0 5 0", "0 5 0", "1", "0 0 5"], result.stderr


def test_an_event_set_without_events_times_out_and_no_earlier(library):
    started = time.monotonic()
    waited = library.python("""
import time
events = nvml.nvmlEventSetCreate()
h = nvml.nvmlDeviceGetHandleByIndex(0)
assert nvml.nvmlDeviceGetSupportedEventTypes(h) & nvml.nvmlEventTypeXidCriticalError
nvml.nvmlDeviceRegisterEvents(h, nvml.nvmlEventTypeXidCriticalError, events)
answer = []
for milliseconds in (0, 150, 1300):
    start, busy = time.monotonic(), time.process_time()
    try:
        nvml.nvmlEventSetWait_v2(events, milliseconds)
    except nvml.NVMLError_Timeout:
        answer.append([time.monotonic() - start, time.process_time() - busy])
nvml.nvmlEventSetFree(events)""")
    whole = time.monotonic() - started
    assert len(waited) == 3, "each wait ends in a time-out, none in an event or another error"
    assert [took >= asked for (took, _), asked in zip(waited, (0, 0.15, 1.3), strict=True)] == [True] * 3
    assert sum(took for took, _ in waited) < whole
    assert waited[2][1] < 0.1, "it sleeps, it does not spin"


@pytest.mark.parametrize("value", ["four", "-1", "65", "4.5", "1e3", "0x4", " 4", "4 ", "+4", "٤", "4" * 40])
def test_a_count_that_is_none_fails_init_and_says_why(library, value):
    quiet, loud = (library.run(INIT, NVML_MOCK_DEVICE_COUNT=value, **debug) for debug in ({}, {"GPU_SIM_DEBUG": "1"}))
    assert quiet.returncode == loud.returncode == 1
    assert quiet.stderr.splitlines()[-1].endswith("NVMLError_InvalidArgument: Invalid Argument")
    assert "gpu-sim: " not in quiet.stderr
    said = loud.stderr.splitlines()[0]
    assert said.startswith("gpu-sim: NVML_MOCK_DEVICE_COUNT: not a number of GPUs, got ")
    assert said.endswith("; use 0 to 64")
    assert not value.isascii() or f"got {value};" in said


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("MEMORY_SIZE_MB", "0", "not a memory size in MiB, got 0; use 1 to 16777216"),
        ("MEMORY_SIZE_MB", "16777217", "not a memory size in MiB, got 16777217; use 1 to 16777216"),
        ("MEMORY_SIZE_MB", "40G", "not a memory size in MiB, got 40G; use 1 to 16777216"),
        ("PROFILE", "h200", f"no such profile, got h200; use one of {', '.join(sorted(PROFILES))}"),
        ("PROFILE", "Tesla T4", f"no such profile, got Tesla T4; use one of {', '.join(sorted(PROFILES))}"),
        ("DRIVER_VERSION", "latest", "not a driver version, got latest; use two or three numbers with dots, such as"),
        ("DRIVER_VERSION", "550", "not a driver version, got 550; use two or three numbers with dots, such as"),
        ("DEVICE_NAME", "N" * 96, f"not a device name, got {'N' * 96}; use 1 to 95 printable ASCII characters"),
        ("DEVICE_NAME", "Fake (nvgpu)", "a name that NVIDIA's tools take for an integrated GPU, got Fake (nvgpu); "),
        ("UUID_FORMAT", "PLAIN", "not a UUID format, got PLAIN; use rfc4122 or plain"),
    ],
)
def test_every_other_value_that_does_not_parse(library, variable, value, said):
    result = library.run(INIT, GPU_SIM_DEBUG="1", **{f"NVML_MOCK_{variable}": value})
    assert result.returncode == 1
    assert result.stderr.splitlines()[0].startswith(f"gpu-sim: NVML_MOCK_{variable}: {said}")


@pytest.mark.parametrize("count", ["0", "64", "007"])
def test_the_outermost_counts(library, count):
    result = library.run(INIT, NVML_MOCK_DEVICE_COUNT=count)
    assert (result.stdout, result.stderr) == (f"{int(count)}\n", "")


def test_set_but_empty_is_unset(library):
    names = ("DEVICE_COUNT", "MEMORY_SIZE_MB", "PROFILE", "DRIVER_VERSION", "DEVICE_NAME", "UUID_FORMAT")
    assert library.python(FACTS, **{f"NVML_MOCK_{name}": "" for name in names}) == library.python(FACTS)
