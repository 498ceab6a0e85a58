"""Who this node is, from the platform's files: role.py CONFIG_DIR [controller|file_system]."""

import json
import subprocess
import sys
from pathlib import Path


def main(folder: Path, question: str) -> str:
    resources = json.loads((folder / "resource_config.json").read_text())
    parameters = json.loads((folder / "provisioning_parameters.json").read_text())
    if question == "controller":
        return str(resources["SlurmConfig"]["PrimaryControllerIp"])
    if question == "file_system":
        name = parameters.get("fsx_dns_name")
        return f"{name}@tcp:/{parameters['fsx_mountname']}" if name else ""
    addresses = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=True).stdout.split()
    for group in resources["InstanceGroups"]:
        if any(instance["CustomerIpAddress"] in addresses for instance in group["Instances"] or ()):
            roles = {parameters["controller_group"]: "controller", parameters.get("login_group"): "login"}
            return roles.get(group["Name"], "compute")
    raise SystemExit(f"this node ({', '.join(addresses)}) is in no group")


if __name__ == "__main__":
    print(main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "role"))  # noqa: T201
