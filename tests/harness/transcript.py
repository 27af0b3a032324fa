# SPDX-License-Identifier: Apache-2.0
"""`make transcript`: runs the README's session on a new cluster and puts what was printed between its two marks.

Called by the Makefile. Nothing in it is written by hand; the cluster is a run of its own and is stopped at the end.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys

from tests.harness.versions import CHECKOUT

README = CHECKOUT / "README.md"
BEGIN, END = "<!-- transcript: generated, make transcript -->", "<!-- end of transcript -->"
NAME = "readme"
COLUMNS = "POD:.involvedObject.name,WHY:.message"
COUNTS = (
    r"NODE:.metadata.name,CAPACITY:.status.capacity.nvidia\.com/gpu,ALLOCATABLE:.status.allocatable.nvidia\.com/gpu"
)
# What is shown, and what runs before it unseen.
SESSION = (
    ("make up", ""),
    ('eval "$(make env)"', ""),
    ("kubectl delete pod demo-gpu-sim", ""),
    ("kubectl apply -f docs/third-pod.yaml", ""),
    ("kubectl get pods", "kubectl wait pod first second --for=condition=Ready --timeout=60s"),
    (f"kubectl get events --field-selector reason=FailedScheduling -o custom-columns={COLUMNS}", ""),
    ("kubectl delete pod first", ""),
    ("kubectl get pods", "kubectl wait pod third --for=condition=Ready --timeout=60s"),
    ("kubectl delete pod second third", ""),
    ("kubectl apply -f docs/third-pod.yaml", ""),
    ("kubectl exec second -- nvidia-smi", "kubectl wait pod second --for=condition=Ready --timeout=60s; sleep 4"),
    ('make ctl NODE=n1 ARGS="xid --gpu 3 79"', ""),
    ("make ctl NODE=n1 ARGS=status", "sleep 3"),
    (f"kubectl get node n1 -o custom-columns='{COUNTS}'", ""),
    ('make ctl NODE=n1 ARGS="clear --gpu 3"', ""),
    (f"kubectl get node n1 -o custom-columns='{COUNTS}'", "sleep 2"),
    ("make audit", ""),
    ("kubectl delete pod first second third", ""),
    ("helm test gpu-sim --logs", ""),
    ("make down", ""),
)  # fmt: skip


def script() -> str:
    """The session as one bash program; a line with \\x1e begins what a shown command printed."""
    lines = ["set -euo pipefail", f'make() {{ command make NAME={NAME} "$@"; }}']
    for shown, before in SESSION:
        lines += [f"{{ {before}; }} >/dev/null"] if before else []
        lines += [f"printf '\\x1e%s\\n' {shlex.quote(shown)}", shown]
    return "\n".join(lines)


def shown(printed: str) -> str:
    """As a terminal shows it, four columns in, and without blanks at line ends."""
    found = []
    for part in printed.split("\x1e")[1:]:
        command, _, output = part.partition("\n")
        found += [f"$ {command}", *output.rstrip().splitlines(), ""]
    text = "\n".join(line.rstrip() for line in found).rstrip()
    return re.sub(r"(?m)^(?=.)", "    ", text)


def main() -> int:
    text = README.read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        print(
            f"README.md: needs one {BEGIN!r} and one {END!r} after it; put them where the session goes", file=sys.stderr
        )
        return 1
    # As from a shell: this program runs below make itself.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    down = ["make", f"NAME={NAME}", "down"]
    subprocess.run(down, cwd=CHECKOUT, env=environment, check=True, stdout=subprocess.DEVNULL)
    done = subprocess.run(
        ["bash", "-c", script()],
        cwd=CHECKOUT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    if done.returncode:
        print(f"the session ended with {done.returncode}; README.md is as it was\n{done.stdout}", file=sys.stderr)
        subprocess.run(down, cwd=CHECKOUT, env=environment, check=False)
        return 1
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    README.write_text(f"{before}{BEGIN}\n\n{shown(done.stdout)}\n\n{END}{after}")
    print("README.md: the transcript is new")
    return 0


if __name__ == "__main__":
    sys.exit(main())
