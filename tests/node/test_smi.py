# SPDX-License-Identifier: Apache-2.0
"""The program as nvidia-smi. Expected texts were taken from version 550.163.01 on the same library."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.node.node_root import NodeRoot, bare_environment

pytestmark = pytest.mark.native
HELP = "Please run 'nvidia-smi -h' for help.\n\n"
TABLE = """\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.163.01             Driver Version: 550.163.01     CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA A100-SXM4-40GB          On  |   00004E56:01:00.0 Off |                    0 |
| N/A   ##C    P0            ###W /  400W |       0MiB /  12345MiB |      0%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
|   1  NVIDIA A100-SXM4-40GB          On  |   00004E56:02:00.0 Off |                    0 |
| N/A   ##C    P0            ###W /  400W |       0MiB /  12345MiB |      0%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
                                                                                         
+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI        PID   Type   Process name                              GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|  No running processes found                                                             |
+-----------------------------------------------------------------------------------------+
"""  # noqa: W293


def test_table(node: NodeRoot) -> None:
    node.install(2, memory_mib=12345)
    date, table = node.smi().split("\n", 1)
    assert re.fullmatch(r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4} {7}", date)
    live = re.sub(r"\d\dC", "##C", re.sub(r"[ \d]\d\dW /  400W", "###W /  400W", table))
    assert live == TABLE


def test_long_names_are_cut_as_in_the_real_table(node: NodeRoot) -> None:
    for length, shown in ((27, "X" * 27), (28, "X" * 24 + "...")):
        node.install(1, name="X" * length)
        assert f"|   0  {shown}    On  |" in node.smi()


def test_list(node: NodeRoot) -> None:
    node.install(3, name="Our GPU")
    lines = node.smi("-L").splitlines()
    assert len(lines) == 3
    for index, line in enumerate(lines):
        assert re.fullmatch(rf"GPU {index}: Our GPU \(UUID: GPU-[0-9a-f-]{{36}}\)", line)
    assert node.smi("--list-gpus").splitlines() == lines


def test_version_is_the_drivers(node: NodeRoot) -> None:
    node.install(1, driver_version="535.261.03")
    assert node.smi("--version") == (
        "NVIDIA-SMI version  : 535.261.03\nNVML version        : 535.261\n"
        "DRIVER version      : 535.261.03\nCUDA Version        : 12.2\n"
    )


def test_query(node: NodeRoot) -> None:
    node.install(2, profile="tesla-t4", memory_mib=7777)
    fields = "index,gpu_name,memory.total,pci.bus_id,count,ecc.mode.current,mig.mode.current,power.limit"
    assert node.smi(f"--query-gpu={fields}", "--format=csv") == (
        "index, name, memory.total [MiB], pci.bus_id, count, ecc.mode.current, mig.mode.current, power.limit [W]\n"
        "0, Tesla T4, 7777 MiB, 00004E56:01:00.0, 2, Enabled, [N/A], 70.00 W\n"
        "1, Tesla T4, 7777 MiB, 00004E56:02:00.0, 2, Enabled, [N/A], 70.00 W\n"
    )
    assert node.smi("--query-gpu", "memory.total,compute_cap", "--format", "noheader,csv,nounits") == "7777, 7.5\n" * 2


def test_memory_adds_up(node: NodeRoot) -> None:
    node.install(1)
    row = node.smi("--query-gpu=memory.total,memory.reserved,memory.used,memory.free", "--format=csv,noheader,nounits")
    total, reserved, used, free = map(int, row.split(","))
    assert total == 40960
    assert abs(total - reserved - used - free) <= 2, "each is rounded down to MiB"


# What no A100 of ours has; the rest of the fields answers.
ABSENT = (
    r"temperature.gpu.tlimit|fan.speed|power.draw.average|pcie.link.gen.hostmax|driver_model|inforom.pwr|gom|reset_status|"
    r"retired_pages|vgpu_|c2c.mode|fabric"
)


def test_every_field_of_the_help_answers(node: NodeRoot) -> None:
    node.install(1)
    fields = re.findall(r'^"([\w.]+)"', node.smi("--help-query-gpu"), re.M)
    assert len(fields) > 135
    header, row = node.smi(f"--query-gpu={','.join(fields)}", "--format=csv").splitlines()
    assert [name.split(" [")[0] for name in header.split(", ")] == fields
    values = dict(zip(fields, row.split(", "), strict=True))
    absent = [name for name, value in values.items() if value == "[N/A]"]
    assert [name for name in absent if not re.match(ABSENT, name)] == []
    assert len(absent) < 25


@pytest.mark.parametrize(
    ("id_", "rows"),
    [("1", "1\n"), ("0x2", "2\n"), ("2,0", "0\n2\n"), ("0,0", "0\n"), ("0,99", "0\n"),
     ("00004E56:03:00.0", "2\n"), ("{uuid}", "1\n")],
)  # fmt: skip
def test_choosing_gpus(node: NodeRoot, id_: str, rows: str) -> None:
    node.install(3)
    chosen = id_.format(uuid=node.uuids()[1])
    assert node.smi("-i", chosen, "--query-gpu=index", "--format=csv,noheader") == rows
    assert node.smi(f"--id={chosen}", "--query-gpu=index", "--format=csv,noheader") == rows


@pytest.mark.parametrize("id_", ["3", "-1", "abc", "GPU-00000000-0000-0000-0000-000000000000"])
def test_choosing_none(node: NodeRoot, id_: str) -> None:
    node.install(3)
    assert node.smi("-i", id_, code=6) == "No devices were found\n"


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        (["--foo"], "ERROR: Option --foo is not recognized. Please run 'nvidia-smi -h'.\n\n", 255),
        (
            ["dmon"],
            "nvidia-smi: dmon is not simulated by gpu-sim's own nvidia-smi; NVIDIA's program works on the same "
            "library in images with glibc\n",
            3,
        ),
        (["-i"], f"ERROR: Option -i is missing its value. {HELP}", 255),
        (["-L", "-q"], f"ERROR: Option -q is not valid for this command. {HELP}", 2),
        (["-L", "-L"], f"ERROR: Only one command can be run at a time. {HELP}", 2),
        (["--format=csv"], "ERROR: Option --format=csv is not recognized. Please run 'nvidia-smi -h'.\n\n", 255),
        (["--query-gpu=name"], f'"--format=" switch is missing. {HELP}', 2),
        (["--query-gpu=name", "--format=xml"], "Format modifier is not recognized.\n", 2),
        (["--query-gpu=name", "--format=noheader"], "Format modifier --format=csv is mandatory.\n", 2),
        (["--query-gpu=name,nosuch", "--format=csv"], 'Field "nosuch" is not a valid field to query.\n\n', 2),
        (["--query-gpu=name", "--foo", "--format=csv"], f"ERROR: Option --foo is not recognized. {HELP}", 2),
    ],
)
def test_wrong_words(node: NodeRoot, words: list[str], said: str, code: int) -> None:
    node.install(1)
    assert node.smi(*words, code=code) == said


def test_help_says_what_it_is(node: NodeRoot) -> None:
    node.install(1)
    for word in ("-h", "--help"):
        assert node.smi(word).startswith("NVIDIA System Management Interface of gpu-sim")
        assert "--query-gpu=" in node.smi(word)


def test_only_granted_gpus(node: NodeRoot) -> None:
    node.install(4)
    uuids = node.uuids()
    for gone in (0, 2):
        (node.path / f"driver/dev/nvidia{gone}").unlink()
    assert node.uuids() == [uuids[1], uuids[3]]
    assert node.smi("--query-gpu=index", "--format=csv,noheader") == "0\n1\n"


def test_a_lost_gpu_is_shown_as_one(node: NodeRoot) -> None:
    node.install(2)
    uuids = node.uuids()
    node.install(1)
    (node.path / "driver/dev/nvidia1").touch()  # as in a pod that holds the GPU which was taken away
    assert node.smi("-L", code=15).splitlines() == [
        f"GPU 0: NVIDIA A100-SXM4-40GB (UUID: {uuids[0]})",
        "Unable to determine the product name for gpu 1: GPU is lost",
    ]
    assert "| GPU is lost            |" in node.smi(code=255)


def test_values_that_do_not_parse_fail(node: NodeRoot) -> None:
    node.install(1)
    program = node.path / "driver/usr/bin/nvidia-smi"
    environment = bare_environment(NVML_MOCK_DEVICE_COUNT="four")
    done = subprocess.run([program, "-L"], capture_output=True, text=True, env=environment)
    assert (done.stdout, done.returncode) == ("Failed to initialize NVML: Invalid Argument\n", 2)
