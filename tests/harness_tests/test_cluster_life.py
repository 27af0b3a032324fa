# SPDX-License-Identifier: Apache-2.0
"""An embedded cluster comes, goes, and leaves nothing, whenever whoever started it is killed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.harness import command, images, needs, preflight, runs
from tests.harness.embedded import clean, network
from tests.harness.kube import Kube
from tests.harness.runs import Run
from tests.harness.versions import CHECKOUT
from tests.harness.wait import wait_until

pytestmark = pytest.mark.cluster

START = """
import sys
from pathlib import Path
from tests.harness.embedded import provider
archives = [Path(word) for word in sys.argv[4:]]
cluster = provider.start(sys.argv[1], int(sys.argv[2]), images=archives, transient=sys.argv[3] == "1")
print("up", flush=True)
sys.stdin.read()
"""


STARTED: list[subprocess.Popen] = []  # processes of starter() that no test has ended yet


@pytest.fixture(scope="module", autouse=True)
def machine():
    try:
        preflight.require(state=runs.base())
    except preflight.NotHereError as error:
        needs.skip("cluster", "; ".join(error.problems))


@pytest.fixture
def name(request):
    """A run's name of this test alone; whatever becomes of the test, the run is ended."""
    made = f"life-{os.getpid()}-{abs(hash(request.node.name)) % 1000}"
    yield made
    while STARTED:  # a test that failed half-way: its process owns the run, whose lock would never come free
        kill(STARTED[-1])
    for run in (Run(made), Run(f"{made}-b")):
        if run.folder.exists():
            run.lock()
            clean.destroy(run)


def reaped(*mine: str) -> set[str]:
    """Which of these runs a clean-up ended; it may have met others that died on this machine at the same time."""
    return set(clean.reap()) & set(mine)


def starter(name: str, nodes: int = 1, transient: bool = True) -> subprocess.Popen:
    argv = [sys.executable, "-c", START, name, str(nodes), str(int(transient)), str(images.archive("pause"))]
    STARTED.append(subprocess.Popen(argv, cwd=CHECKOUT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
    return STARTED[-1]


def kill(process: subprocess.Popen) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdin.close()
    process.stdout.close()
    STARTED.remove(process)


def state(name: str) -> dict:
    with contextlib.suppress(OSError, json.JSONDecodeError):
        return json.loads((runs.base() / name / "state.json").read_text())
    return {}


def services(name: str, machine: str) -> dict:
    return state(name).get("machines", {}).get(machine, {}).get("services", {})


POINTS = {
    "nothing but the folder": lambda name: (runs.base() / name).exists(),
    "a machine is begun": lambda name: any(m.get("holder") for m in state(name).get("machines", {}).values()),
    "the network is there": lambda name: "slot" in state(name),
    "containerd runs, images are being loaded": lambda name: "containerd" in services(name, "n1"),
    "the kubelet registers": lambda name: "kubelet" in services(name, "n1"),
    "everything runs": lambda name: state(name).get("status") == runs.RUNNING,
}


@pytest.mark.parametrize("point", POINTS)
def test_a_killed_start_is_cleaned_by_the_next(point, name):
    process = starter(name)
    try:
        wait_until(point, lambda: POINTS[point](name), 60)
    finally:
        kill(process)
    record = state(name)
    assert (runs.base() / name).exists()
    assert name in clean.reap()
    assert clean.leftovers(name, record) == []
    assert name not in runs.names()


def test_the_leftover_check_sees_a_cluster_that_is_up(name):
    process = starter(name)
    try:
        assert process.stdout.readline() == "up\n"
        found = " ".join(clean.leftovers(name, state(name)))
        for kind in ("process", "folder", "control group", "interface", "in a namespace"):
            assert kind in found
        assert name not in clean.reap(), "a run whose owner lives is no leftover"
        assert Kube(Run(name).kubeconfig).ready_nodes() == ["n1"]
    finally:
        kill(process)


def test_an_owned_run_is_waited_for_and_a_foreign_pid_is_left_alone(name):
    """A record that names a process of somebody else, as after a crash and a reused id, ends nobody."""
    bystander = subprocess.Popen(["sleep", "60"])
    try:
        run = Run(name)
        run.lock()
        run.save(status=runs.RUNNING, machines={"n1": {"holder": [bystander.pid, 1], "services": {}}})
        clean.destroy(run)
        assert bystander.poll() is None
        assert not run.folder.exists()
    finally:
        bystander.kill()
        bystander.wait()


def test_two_runs_at_once_see_only_themselves(name):
    users = Path("~/.kube").expanduser()
    before = sorted(users.iterdir()) if users.is_dir() else None
    first, second = starter(name, 1), starter(f"{name}-b", 2)
    try:
        assert first.stdout.readline() == "up\n"
        assert second.stdout.readline() == "up\n"
        slots = {state(name)["slot"], state(f"{name}-b")["slot"]}
        assert len(slots) == 2
        assert Kube(Run(name).kubeconfig).ready_nodes() == ["n1"]
        assert Kube(Run(f"{name}-b").kubeconfig).ready_nodes() == ["n1", "n2"]
    finally:
        kill(first)
    record = state(name)
    assert reaped(name, f"{name}-b") == {name}
    assert clean.leftovers(name, record) == []
    assert Kube(Run(f"{name}-b").kubeconfig).ready_nodes() == ["n1", "n2"], "one run's end is nothing to the other"
    kill(second)
    record = state(f"{name}-b")
    assert reaped(name, f"{name}-b") == {f"{name}-b"}
    assert clean.leftovers(f"{name}-b", record) == []
    assert (sorted(users.iterdir()) if users.is_dir() else None) == before, "the user's own kubeconfig is not ours"


def cli(*words: str) -> command.Result:
    return command.run([sys.executable, "-m", "tests.harness", *words], cwd=CHECKOUT, check=False)


def test_down_twice_is_fine_and_leaves_nothing(name):
    made = cli("cluster", "--name", name, "--nodes", "2", "--provider", "embedded")
    assert made.code == 0, made.err
    record = state(name)
    assert "provider embedded: you asked for it" in made.err
    assert cli("kubeconfig", "--name", name).out == f"{runs.base()}/{name}/kubeconfig\n"
    shown = cli("status", "--name", name)
    assert (shown.code, "n2" in shown.out, "device plugin" in shown.out) == (0, True, True)
    first = cli("down", "--name", name)
    assert (first.code, first.out) == (0, f"gpu-sim: run {name} is stopped, nothing is left of it\n")
    assert clean.leftovers(name, record) == []
    second = cli("down", "--name", name)
    assert (second.code, second.out) == (0, f"gpu-sim: run {name} is not there; nothing to stop\n")
    gone = cli("status", "--name", name)
    assert gone.code == 1
    assert f"run {name}: is not up" in gone.err


def test_nodes_come_and_go_and_programs_that_ended_are_started(name):
    assert cli("cluster", "--name", name, "--nodes", "1", "--provider", "embedded").code == 0
    kube = Kube(Run(name).kubeconfig)
    os.kill(services(name, "n1")["kubelet"][0], signal.SIGKILL)
    wait_until("the kubelet to be gone", lambda: cli("status", "--name", name).code == 1, 10)
    again = cli("cluster", "--name", name, "--nodes", "3")
    assert again.code == 0, again.err
    assert "restart: kubelet on n1" in again.err
    assert kube.ready_nodes() == ["n1", "n2", "n3"]
    fewer = cli("cluster", "--name", name, "--nodes", "2")
    assert fewer.code == 0, fewer.err
    assert kube.ready_nodes() == ["n1", "n2"]
    assert not [g for g in clean.cgroups.everywhere() if (g / clean.group_name(name) / "n3").exists()]


def test_an_interface_that_somebody_has_is_not_taken(name):
    taken = network.Net(0).interface
    made = network.index_of(taken) is None
    if made:
        command.run(["ip", "link", "add", taken, "type", "veth", "peer", "name", "gpusimtest0"])
    before = network.index_of(taken)
    process = starter(name)
    try:
        assert process.stdout.readline() == "up\n"
        assert state(name)["slot"] != 0
    finally:
        kill(process)
        clean.reap()
        after = network.index_of(taken)
        if made:
            command.run(["ip", "link", "del", taken])
    assert after == before


def test_a_route_that_somebody_has_is_not_shadowed(name):
    dummy = "gpusimtest0"
    free = next(slot for slot in range(network.SLOTS) if network.index_of(network.Net(slot).interface) is None)
    command.run(["ip", "link", "add", dummy, "type", "veth", "peer", "name", "gpusimtest1"])
    process = None
    try:
        command.run(["ip", "addr", "add", f"10.99.{free}.77/28", "dev", dummy])
        command.run(["ip", "link", "set", dummy, "up"])
        process = starter(name)
        assert process.stdout.readline() == "up\n"
        assert state(name)["slot"] not in (free,)
    finally:
        if process:
            kill(process)
        clean.reap()
        command.run(["ip", "link", "del", dummy])


def test_names_of_runs_do_not_wait_for_each_other(name):
    """The lock of one run is no obstacle for another."""
    one, other = Run(name), Run(f"{name}-b")
    one.lock()
    done = threading.Event()

    def take() -> None:
        other.lock()
        done.set()

    threading.Thread(target=take, daemon=True).start()
    assert done.wait(5)
    for run in (one, other):
        clean.destroy(run)


def test_the_api_stays_reachable_while_nodes_come_and_go(name):
    """The bridge keeps its address when a leg of it goes: nobody's notion of where the API is gets stale."""
    process = starter(name)
    try:
        assert process.stdout.readline() == "up\n"
        pid = state(name)["machines"]["control-plane"]["inner"][0]
        enter = ["nsenter", "-t", pid, "-n", "--", "ip", "-j", "link", "show", "br0"]
        before = json.loads(command.run(enter).out)[0]["address"]
        # A leg with the lowest address there can be comes and goes.
        network.batch(
            ["link add low address 02:00:00:00:00:01 type veth peer name peer", "link set low master br0"], pid
        )
        during = json.loads(command.run(enter).out)[0]["address"]
        network.batch(["link del low"], pid)
        assert [before, during, json.loads(command.run(enter).out)[0]["address"]] == [before] * 3
    finally:
        kill(process)
