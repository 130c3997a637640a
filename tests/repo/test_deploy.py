"""What `deploy/` has is what its readers expect: systemd, a container builder, Kubernetes."""

from __future__ import annotations

import configparser
import shlex
from pathlib import Path
from typing import Any

import yaml

from dovetail.service.cli.main import COMMANDS

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


def manifests() -> dict[str, dict[str, Any]]:
    found = list(yaml.safe_load_all((DEPLOY / "kubernetes/dovetail.yaml").read_text()))
    return {one["kind"]: one for one in found}


def options(arguments: list[str]) -> None:
    """A command line that the command understands."""
    command = COMMANDS[arguments[0]].load()
    known = {name for parameter in command.params for name in parameter.opts}
    assert {part for part in arguments if part.startswith("--")} <= known


def test_the_unit_leaves_applications_alone() -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(DEPLOY / "dovetail.service")
    service = unit["Service"]
    assert service["KillMode"] == "process"
    assert service["Restart"] == "always"
    program, *arguments = shlex.split(service["ExecStart"])
    assert Path(program).name == "dovetail"
    options(arguments)
    assert unit["Install"]["WantedBy"] == "multi-user.target"


def test_the_manifests_fit_together() -> None:
    found = manifests()
    assert set(found) == {"PersistentVolumeClaim", "StatefulSet", "Service"}
    spec = found["StatefulSet"]["spec"]
    labels = spec["template"]["metadata"]["labels"]
    assert spec["replicas"] == 1, "one service holds a home"
    assert spec["selector"]["matchLabels"] == labels == found["Service"]["spec"]["selector"]
    assert spec["serviceName"] == found["Service"]["metadata"]["name"]
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    options(container["args"])
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    assert {mount["name"] for mount in container["volumeMounts"]} == set(volumes)
    claim = volumes["home"]["persistentVolumeClaim"]["claimName"]
    assert claim == found["PersistentVolumeClaim"]["metadata"]["name"]
    ports = {port["name"] for port in container["ports"]}
    assert {port["targetPort"] for port in found["Service"]["spec"]["ports"]} <= ports
    name = container["args"][container["args"].index("--name") + 1]
    for probe in ("livenessProbe", "readinessProbe"):
        asked = container[probe]["httpGet"]
        assert asked["port"] in ports
        assert asked["httpHeaders"] == [{"name": "Host", "value": f"{name}:8630"}]
    paths = {container[probe]["httpGet"]["path"] for probe in ("livenessProbe", "readinessProbe")}
    assert paths == {"/healthz", "/readyz"}
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    variables = {variable["name"]: variable["value"] for variable in container["env"]}
    assert variables == {"DOVETAIL_HOME": mounts["home"], "DOVETAIL_INDEX_DIR": mounts["index"]}


def test_the_image_runs_what_the_manifest_expects() -> None:
    lines = (DEPLOY / "Containerfile").read_text().splitlines()
    (user,) = [line for line in lines if "useradd" in line]
    pod = manifests()["StatefulSet"]["spec"]["template"]["spec"]
    assert f"--uid {pod['securityContext']['runAsUser']}" in user
    assert 'CMD ["serve"]' in lines
