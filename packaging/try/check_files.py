"""Renders the Helm chart as Helm does, checks its values by its schema, and reads compose files, alerts and the workflow of releases.

check_files.py PACKAGING: the directory with the files. Runs in the environment of helm-python-sdk.
"""

import re
import sys
from pathlib import Path

from helm_python.chart import Chart, lint, values_from_yaml

packaging = Path(sys.argv[1])
directory = packaging / "helm/siglum"

# Values, and what is rendered of them beside a deployment and a service.
EVERYTHING = {
    "tls": {"secretName": "certificate"},
    "keep": {"sessions": "400d", "audit": "2y"},
    "home": {"existingClaim": "home"},
    "strategy": {"type": "Recreate"},
    "trustedProxies": ["10.0.0.0/8"],
    "drainSeconds": 60,
    "image": {"pullSecrets": ["registry"]},
    "networkPolicy": {"enabled": True, "from": [{"podSelector": {}}]},
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "podAnnotations": {"a": "b"},
    "nodeSelector": {"a": "b"},
    "tolerations": [{"operator": "Exists"}],
    "affinity": {"podAntiAffinity": {}},
}
CASES = [
    ({}, ["PodDisruptionBudget"]),
    ({"podDisruptionBudget": {"enabled": False}}, []),
    (EVERYTHING, ["NetworkPolicy", "PodDisruptionBudget", "ServiceMonitor"]),
]
REFUSED = [
    {"replicas": 0},
    {"replica": 2},
    {"store": {"secretName": "", "key": "store"}},
    {"keep": {"sessions": "90s"}},
    {"drainSeconds": "10"},
]


def rendered(values):
    """The documents of the chart by their kind."""
    with Chart.load(directory) as chart:
        files = chart.render(values)
    documents = {}
    for name, text in files.items():
        if name.endswith(".yaml") and text.strip():
            document = values_from_yaml(text)
            documents[document["kind"]] = document
    return documents


def check(values, more):
    documents = rendered(values)
    assert sorted(documents) == sorted(["Deployment", "Service", *more]), documents.keys()
    deployment = documents["Deployment"]["spec"]
    pod = deployment["template"]["spec"]
    [container] = pod["containers"]
    selector = deployment["selector"]["matchLabels"]
    labels = deployment["template"]["metadata"]["labels"]
    assert selector.items() <= labels.items(), labels
    assert documents["Service"]["spec"]["selector"] == selector
    drain = int(container["args"][container["args"].index("--drain-seconds") + 1])
    # The gateway itself needs 25 seconds more, and the pause before it 5.
    assert pod["terminationGracePeriodSeconds"] > drain + 25 + 5, pod
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod["volumes"]}, mounted
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    variables = {each["name"]: each["value"] for each in container["env"]}
    assert "SIGLUM_STORE" not in variables, "a password is not exposed in a variable"
    is_tls = "--tls-key" in container["args"]
    assert is_tls != ("--plain" in container["args"])
    scheme = "HTTPS" if is_tls else "HTTP"
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"]["scheme"] == scheme
    return container, variables


def check_chart():
    found = lint(directory)
    assert not found["errors"], found
    with Chart.load(directory) as chart:
        chart.validate_schema({})
    for values, more in CASES:
        container, variables = check(values, more)
    kept = {name: value for name, value in variables.items() if "KEEP" in name}
    assert kept == {"SIGLUM_KEEP_SESSIONS": "400d", "SIGLUM_KEEP_AUDIT": "2y"}, kept
    for values in REFUSED:
        with Chart.load(directory) as chart:
            try:
                chart.validate_schema(values)
            except Exception:
                continue
        raise AssertionError(f"taken: {values}")


def check_compose():
    for name in ("compose.yaml", "container/compose.yaml"):
        compose = values_from_yaml((packaging / name).read_text())
        volumes, networks = compose.get("volumes", {}), compose.get("networks", {})
        secrets, services = compose.get("secrets", {}), compose["services"]
        for service in services.values():
            assert "image" in service, name
            assert all(each in networks for each in service.get("networks", [])), service
            assert all(each in secrets for each in service.get("secrets", [])), service
            assert all(each in services for each in service.get("depends_on", {})), service
            named = [each.split(":")[0] for each in service.get("volumes", [])]
            assert all(each in volumes or each.startswith("./") for each in named), named
            for each in named:
                assert not each.startswith("./") or (packaging / each).is_file(), each
        gateways = [service for service in services.values() if "siglum-gateway" in service["image"]]
        assert gateways and all(service["read_only"] for service in gateways), name


def check_alerts():
    rules = values_from_yaml((packaging / "prometheus/siglum.rules.yaml").read_text())
    known = (packaging / "../docs/gateway.md").read_text()
    for group in rules["groups"]:
        for rule in group["rules"]:
            for name in re.findall(r"siglum_[a-z_]+", rule["expr"]):
                name = name.removesuffix("_bucket")
                is_telemetry = name.startswith("siglum_telemetry_")
                assert is_telemetry or f"`{name}`" in known, f"{rule['alert']}: {name}"


def check_release():
    text = (packaging / "../.github/workflows/release.yml").read_text()
    jobs = values_from_yaml(text)["jobs"]
    for job in jobs.values():
        needs = job.get("needs", [])
        assert all(each in jobs for each in ([needs] if isinstance(needs, str) else needs)), needs
    # A person approves what cannot be taken back, and nobody keeps a token for it.
    publish = jobs["publish"]
    assert publish["needs"] == "release" and publish["environment"] == "registries", publish
    assert publish["permissions"] == {"id-token": "write"}, publish
    assert "secrets." not in text


check_chart()
check_compose()
check_alerts()
check_release()
print("the chart, the compose files, the alerts and the workflow of releases are in order")
