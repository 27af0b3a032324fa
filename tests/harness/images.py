# SPDX-License-Identifier: Apache-2.0
"""The project's images as OCI archives, without a container engine: build, list, load, push.

`python -m tests.harness.images build` is `make image`. Clusters call archive() and reference(); the content of each
image is in image_contents.py.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.harness import cache, command, image_contents, image_load, image_push, native_build, oci, versions

BUILD = versions.CHECKOUT / "build"
PROJECT = versions.version("gpu-sim")
PLUGIN = f"nvcr.io/nvidia/k8s-device-plugin:v{versions.version('device-plugin')}"


@dataclass(frozen=True)
class Recipe:
    """`released`: users get it; the others are for our own clusters and tests."""

    reference: str
    file: str
    contents: Callable[[], list[oci.Image]]
    released: bool = False

    @property
    def archive(self) -> Path:
        return BUILD / self.file


RECIPES = {
    "gpu-sim": Recipe(f"localhost/gpu-sim:{PROJECT}", "gpu-sim-image.tar", image_contents.gpu_sim, True),
    "gpu-sim-agent": Recipe(
        f"localhost/gpu-sim-agent:{PROJECT}", "gpu-sim-agent-image.tar", image_contents.agent, True
    ),
    "pause": Recipe(f"localhost/gpu-sim-pause:{PROJECT}", "pause-image.tar", image_contents.pause),
    "probe": Recipe(f"localhost/gpu-sim-probe:{PROJECT}", "probe-image.tar", image_contents.probe),
    # Under the name of the image that it stands for, so that the documented command works as written.
    "plugin-standin": Recipe(PLUGIN, "plugin-standin-image.tar", image_contents.plugin_standin),
}
RELEASED = tuple(name for name, recipe in RECIPES.items() if recipe.released)


def reference(name: str) -> str:
    return RECIPES[name].reference


def archive(name: str) -> Path:
    """The up-to-date archive of an image; it keeps its date when nothing changed."""
    recipe = RECIPES[name]
    with cache.locked(f"image-{cache.digest(str(recipe.archive))}"):
        oci.write(recipe.archive, recipe.reference, recipe.contents())
    return recipe.archive


def _arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.harness.images", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build", help="write the archives into build/")
    build.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(RECIPES)}; default: {', '.join(RELEASED)}")
    build.add_argument("--all", action="store_true", help="those for tests too")
    commands.add_parser("list", help="every image and its archive, one a line")
    load = commands.add_parser("load", help="build, and put them into a cluster on this machine")
    load.add_argument("--runtime", choices=image_load.RUNTIMES, help="default: what the current cluster looks like")
    load.add_argument("--name", default="", help="of the kind cluster or minikube profile")
    load.add_argument("--image", type=Path, help="an archive of your own instead of the project's")
    push = commands.add_parser("push", help="build, and push them to a registry")
    push.add_argument("--registry", required=True, metavar="HOST/PATH")
    arguments = parser.parse_args(words)
    unknown = [name for name in getattr(arguments, "names", []) if name not in RECIPES]
    if unknown:
        parser.error(f"no such image: {', '.join(unknown)}; there are {', '.join(RECIPES)}")
    return arguments


def main(words: list[str]) -> int:
    arguments = _arguments(words)
    if arguments.command == "list":
        for recipe in RECIPES.values():
            print(f"{recipe.reference}\t{recipe.archive.relative_to(versions.CHECKOUT)}")
        return 0
    try:
        if arguments.command == "build":
            for name in arguments.names or (RECIPES if arguments.all else RELEASED):
                print(f"{reference(name)}\t{archive(name).relative_to(versions.CHECKOUT)}")
        elif arguments.command == "load":
            archives = [arguments.image] if arguments.image else [archive(name) for name in RELEASED]
            image_load.load(archives, arguments.runtime, arguments.name)
        else:
            image_push.push({reference(name): archive(name) for name in RELEASED}, arguments.registry)
    except (command.CommandError, image_load.LoadError, native_build.PortableError, ValueError) as error:
        print(f"gpu-sim: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
