# SPDX-License-Identifier: Apache-2.0
# What to do with a values file, as commands to paste. Called by cli.py. Branch names never reach a command: they travel
# inside the file. What does (slug, release, path) is one shell word each.

from __future__ import annotations

from generator import chart
from generator.quoting import shell_word, yaml_string
from generator.slug import release_of


def usage(values: dict, file: str) -> str:
    """`file` as helm's -f takes it; `-` for the standard input."""
    release = release_of(values["branch"]["slug"])
    chart_and_values = f"{shell_word(chart.shown_chart_dir())} -f {shell_word(_one_file(file))}"
    namespace = values.get("namespace", {}).get("name", chart.defaults()["namespace"]["name"])
    labels = _node_labels(values)
    selector = ",".join(f"{key}={value}" for key, value in labels.items())
    lines = [
        "# 1. Say which nodes get GPUs, once for each:",
        "kubectl label node <node> " + " ".join(shell_word(f"{key}={value}") for key, value in labels.items()),
    ]
    if _dedicated(values):
        lines.append(
            "kubectl taint node <node> " + shell_word(f"{chart.BRANCH_LABEL}={values['branch']['slug']}:NoSchedule")
        )
    lines += [
        "# 2. Give them the GPUs, and look:",
        f"helm install {release} {chart_and_values}",
        f"kubectl -n {shell_word(namespace)} rollout status daemonset/{release}",
        f"kubectl get nodes -l {shell_word(selector)} -o custom-columns="
        + shell_word(r"NODE:.metadata.name,GPUS:.status.allocatable.nvidia\.com/gpu"),
        f"helm test {release}",
        "# 3. Later: after the file has changed, and when the branch is gone:",
        f"helm upgrade {release} {chart_and_values}",
        f"helm uninstall {release}",
    ]
    if _dedicated(values):
        lines += ["", *_snippet(values)]
    return "\n".join(lines) + "\n"


def _one_file(file: str) -> str:
    """helm's -f takes a list, written as a line of CSV."""
    return '"' + file.replace('"', '""') + '"' if set(file) & set(',"') else file


def _dedicated(values: dict) -> bool:
    return values["branch"].get("dedicated", False)


def _node_labels(values: dict) -> dict[str, str]:
    """Helm merges maps: the file's selector comes on top of the chart's."""
    labels = chart.defaults()["nodeSelector"] | values.get("nodeSelector", {})
    return labels | ({chart.BRANCH_LABEL: values["branch"]["slug"]} if _dedicated(values) else {})


def _snippet(values: dict) -> list[str]:
    slug = yaml_string(values["branch"]["slug"])
    return [
        "# The branch's own pods need this in their spec to run on its nodes, and no other pod can:",
        "nodeSelector:",
        f"  {chart.BRANCH_LABEL}: {slug}",
        "tolerations:",
        f"  - {{key: {chart.BRANCH_LABEL}, operator: Equal, value: {slug}, effect: NoSchedule}}",
        "# and in a container of theirs, to get GPUs (as a limit only; the request follows):",
        "resources:",
        "  limits:",
        "    nvidia.com/gpu: 1",
    ]
