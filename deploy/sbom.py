#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The bill of materials of an image of deploy/Dockerfile as SPDX 2.3 JSON, from the package database of its root.

    deploy/sbom.py ROOT > muster.spdx.json

ROOT has var/lib/dpkg/status, etc/os-release and usr/bin/muster-core, -frontend and musterctl, as the image does.  No network; the
same root gives the same bytes: the time is SOURCE_DATE_EPOCH, else that of the package database.  Licenses are not asserted: those
of Debian's packages are in their /usr/share/doc/NAME/copyright."""
import datetime
import hashlib
import json
import os
import pathlib
import re
import sys
from urllib.parse import quote

PROGRAMS = ("muster-core", "muster-frontend", "musterctl")
UNSAID = {"downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION"}


def installed(root):
    """The fields of each package that is installed, by name."""
    found = {}
    for text in (root / "var/lib/dpkg/status").read_text(errors="replace").split("\n\n"):
        fields = dict(re.findall(r"^([A-Za-z-]+): *(.*)$", text, re.M))
        if fields.get("Status", "").endswith(" installed"):
            found[fields["Package"], fields["Architecture"]] = fields
    return [found[key] for key in sorted(found)]


def system(root):
    """("debian", "12")"""
    said = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', (root / "etc/os-release").read_text(), re.M))
    return said["ID"], said.get("VERSION_ID", "sid")


def package_of(fields, name, release):
    version, architecture = fields["Version"], fields["Architecture"]
    source = re.match(r"(\S+)(?: \((.*)\))?$", fields.get("Source", fields["Package"]))
    purl = f"pkg:deb/{name}/{quote(fields['Package'], safe='')}@{quote(version, safe='')}?arch={architecture}&distro={name}-{release}"
    return {"SPDXID": f"SPDXRef-deb-{re.sub(r'[^A-Za-z0-9.-]', '-', fields['Package'])}-{architecture}", "name": fields["Package"],
            "versionInfo": version, **UNSAID, "licenseDeclared": "NOASSERTION",
            "sourceInfo": f"source package {source.group(1)} {source.group(2) or version}",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]}


def ours(root):
    """muster itself, and a file for each program."""
    files, version = [], None
    for name in PROGRAMS:
        program = (root / "usr/bin" / name).read_bytes()
        said = re.search(rb"muster-core ([0-9]+\.[0-9]+\.[0-9]+[^\0\n]*)\0", program) if name == "muster-core" else None
        version = said.group(1).decode() if said else version
        files.append({"SPDXID": f"SPDXRef-file-{name}", "fileName": f"./usr/bin/{name}", "licenseConcluded": "Apache-2.0",
                      "copyrightText": "NOASSERTION", "checksums": [
                          {"algorithm": how.upper(), "checksumValue": hashlib.new(how, program).hexdigest()} for how in ("sha1", "sha256")]})
    if version is None:
        sys.exit(f"{root}/usr/bin/muster-core: no version is in it")
    # A package that has files is one whose files were analyzed, with this code: SPDX 2.3, 7.8 and 7.9.
    sums = "".join(sorted(file["checksums"][0]["checksumValue"] for file in files))
    return files, {"SPDXID": "SPDXRef-muster", "name": "muster", "versionInfo": version, **UNSAID, "filesAnalyzed": True,
                   "packageVerificationCode": {"packageVerificationCodeValue": hashlib.sha1(sums.encode()).hexdigest()},
                   "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0", "primaryPackagePurpose": "CONTAINER"}


def document(root):
    files, muster = ours(root)
    packages = [package_of(fields, *system(root)) for fields in installed(root)]
    stamp = int(os.environ.get("SOURCE_DATE_EPOCH") or (root / "var/lib/dpkg/status").stat().st_mtime)
    made = {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"muster-{muster['versionInfo']}",
            "creationInfo": {"created": datetime.datetime.fromtimestamp(stamp, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                             "creators": ["Tool: muster-sbom"]},
            "packages": [muster, *packages], "files": files,
            "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-muster"},
                              *({"spdxElementId": "SPDXRef-muster", "relationshipType": "CONTAINS", "relatedSpdxElement": part["SPDXID"]}
                                for part in (*files, *packages))]}
    # Unique, as SPDX asks, and the same for the same image.
    digest = hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()
    return {**made, "documentNamespace": f"https://muster.example/spdx/{muster['versionInfo']}/{digest}"}


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: deploy/sbom.py ROOT > muster.spdx.json")
    try:
        made = document(pathlib.Path(sys.argv[1]))
    except (OSError, KeyError) as why:
        sys.exit(f"deploy/sbom.py: {sys.argv[1]}: {why}")
    json.dump(made, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
