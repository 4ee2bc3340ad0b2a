#!/usr/bin/env bash
# Makes or renews a signed APT repository. usage: packaging/repository.sh DEBS REPOSITORY KEY [SUITE]
# DEBS holds .deb files; KEY is a secret key of the caller's GnuPG, by fingerprint or address. Needs apt-ftparchive
# (apt-utils) and gpg. docs/packages.md says how users add the repository.
set -euo pipefail
[[ $# -ge 3 ]] || { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }
debs=$1 repository=$2 key=$3 suite=${4:-bookworm}
list=dists/$suite/main/binary-amd64

mkdir -p "$repository/pool/main/t/tessera" "$repository/$list"
cp -p "$debs"/*.deb "$repository/pool/main/t/tessera"
cd "$repository"
apt-ftparchive packages pool > "$list/Packages"
gzip -9nk -f "$list/Packages"
apt-ftparchive -o "APT::FTPArchive::Release::Origin=Tessera" -o "APT::FTPArchive::Release::Label=Tessera" \
  -o "APT::FTPArchive::Release::Suite=$suite" -o "APT::FTPArchive::Release::Codename=$suite" \
  -o "APT::FTPArchive::Release::Architectures=amd64" -o "APT::FTPArchive::Release::Components=main" \
  release "dists/$suite" > Release
mv Release "dists/$suite/Release"
gpg --batch --yes --local-user "$key" --clearsign --output "dists/$suite/InRelease" "dists/$suite/Release"
gpg --batch --yes --local-user "$key" --armor --detach-sign --output "dists/$suite/Release.gpg" "dists/$suite/Release"
gpg --batch --yes --armor --export "$key" > tessera.asc
