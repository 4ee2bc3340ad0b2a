#!/usr/bin/env bash
# The packages as a user has them: a clean Debian, a signed repository, apt. usage: packaging/test/run.sh DEBS (as root)
# Prints what it runs and what that said; ends with 0 only when all of it was right.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
debs=$(realpath "$1")
work=$PWD/build/deb root=$PWD/build/deb/root
sources=/etc/apt/sources.list.d/debian.sources # of this machine; without one, Debian's own

mounted=()
clean_up() {
  local at
  for at in "${mounted[@]}"; do umount -l "$at"; done
  rm -rf "$keys"
}
keys=$(mktemp -d)
trap clean_up EXIT
bind() { mkdir -p "$2" && mount --rbind "$1" "$2" && mount --make-rslave "$2" && mounted=("$2" "${mounted[@]}"); }

inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
show() { # show COMMAND: runs it in the root and prints both
  printf '\n$ %s\n' "$1"
  inside bash -o pipefail -c "$1" 2>&1
}
quiet() { printf '\n$ %s\n' "$1" && inside bash -o pipefail -c "$1" > "$work/apt.log" 2>&1 || { cat "$work/apt.log"; exit 1; }; }
expect() { # expect TEXT COMMAND: TEXT must be in the output, whatever the status is
  local said
  said=$(show "$2") || true
  printf '%s\n' "$said"
  [[ $said == *"$1"* ]] || { printf 'FAILED: expected "%s"\n' "$1"; exit 1; }
}

# ---- a clean Debian with the repository in its sources ----
mkdir -p "$work/archives"
if [[ ! -f $work/base.tar ]]; then
  [[ -f $sources ]] || sources=
  mmdebstrap --mode=root --variant=minbase --include=ca-certificates bookworm "$work/base.tar" ${sources:+"$sources"}
fi
rm -rf "$root"
mkdir -p "$root"
tar -xf "$work/base.tar" -C "$root"
cp /etc/resolv.conf "$root/etc/resolv.conf"
bind /proc "$root/proc"
bind /dev "$root/dev"
bind "$work/archives" "$root/var/cache/apt/archives" # what a run downloaded serves the next
inside find / -xdev -not -path '/var/*' -not -path '/proc/*' -not -path '/dev/*' | sort > "$work/before"

export GNUPGHOME=$keys
gpg --batch --quiet --passphrase '' --quick-generate-key 'Throw-away key <test@tessera.invalid>' ed25519 sign 1d
packaging/repository.sh "$debs" "$root/srv/tessera" test@tessera.invalid
install -Dm644 "$root/srv/tessera/tessera.asc" "$root/etc/apt/keyrings/tessera.asc"
cat > "$root/etc/apt/sources.list.d/tessera.sources" <<'SOURCES'
Types: deb
URIs: file:///srv/tessera
Suites: bookworm
Components: main
Signed-By: /etc/apt/keyrings/tessera.asc
SOURCES
quiet 'apt-get update'
show 'apt-cache policy libtessera1'

# ---- the runtime and the tools, without a compiler ----
quiet 'apt-get install -y --no-install-recommends tessera-tools'
expect 'libtessera-compiler' 'printf "" > /tmp/empty.py; tsr compile /tmp/empty.py --emit tile'

# ---- everything; a kernel from the shell, a program in C ----
quiet 'apt-get purge -y tessera-tools'
quiet 'apt-get install -y tessera-tools libtessera-dev tessera-doc tessera-backend-ptx tessera-backend-rocm tessera-backend-levelzero tessera-collective-openmpi tessera-collective-mpich gcc libc6-dev pkgconf'
/usr/bin/python3 -c "
import numpy as np
np.save('$root/tmp/x.npy', np.arange(8, dtype='f4')); np.save('$root/tmp/y.npy', np.ones(8, 'f4'))"
expect 'compiler 0' 'tsr version'
show 'tsr backends'
show 'cd /tmp && tsr run /usr/share/tessera/samples/saxpy/saxpy.py --in x=x.npy y=y.npy --scalar alpha=2 --out y=out.npy --verbose'
/usr/bin/python3 -c "
import numpy as np
got = np.load('$root/tmp/out.npy'); print(got); assert (got == 2 * np.arange(8) + 1).all()"
show 'gcc -std=c99 /usr/share/tessera/samples/embed_c/main.c $(pkg-config --cflags --libs tessera) -o /tmp/embed_c && /tmp/embed_c /usr/share/tessera/samples/saxpy/saxpy.py'
show 'tsr compile /usr/share/tessera/samples/saxpy/saxpy.py --target ptx:sm_90 --emit asm | head -n 12'

# ---- the Python package: the program of the README ----
quiet 'apt-get install -y python3-tessera'
awk '/^import numpy/ {on = 1} /^```$/ {on = 0} on' README.md > "$root/tmp/readme.py"
expect '[1. 3. 5. 7.]' 'cd /tmp && python3 readme.py'

# ---- a page for every program; who holds code of static libraries says so ----
show 'set -e; for p in $(dpkg -L tessera-tools libtessera-compiler | grep ^/usr/bin/.); do ls /usr/share/man/man1/${p##*/}.1.gz; done'
expect 'spirv-tools (=' 'apt-cache show libtessera-compiler | grep ^Static-Built-Using'
expect 'SPIRV-Tools' 'head -n 12 /usr/share/doc/libtessera-compiler/copyright'

# ---- the conformance kit on a plugin of each kind of device; a test with fakes ----
examples=/usr/share/doc/libtessera-dev/examples
plugins=/usr/lib/x86_64-linux-gnu/tessera
show "tsr-conformance --plugin $plugins/libtessera-null.so --expect $examples/conformance.yaml | tail -n 1"
show "tsr-conformance --plugin $plugins/libtessera-collective-openmpi.so --launcher 'mpirun.openmpi --oversubscribe --allow-run-as-root -n 2' | tail -n 1"
quiet 'apt-get install -y --no-install-recommends cmake g++ make libgmock-dev'
quiet "cmake -S $examples/fakes -B /tmp/fakes && cmake --build /tmp/fakes"
show 'ctest --test-dir /tmp/fakes --no-tests=error'

# ---- one backend less ----
quiet 'apt-get remove -y tessera-backend-rocm'
expect 'tessera-backend-rocm' 'tsr backends --why rocm'
show 'tsr backends'

# ---- a plugin as a package, by the words of its page ----
quiet 'apt-get install -y --no-install-recommends build-essential debhelper cmake flatbuffers-compiler lintian fakeroot'
awk '/^```sh$/ {on = 1; next} /^```$/ {on = 0} on' docs/extending/ship-a-plugin-as-a-deb.md > "$root/tmp/page.sh"
show 'mkdir -p /tmp/page && cd /tmp/page && sudo() { "$@"; } && set -eux && . /tmp/page.sh' > "$work/page.log" ||
  { tail -n 60 "$work/page.log"; exit 1; }
sed -n '/^+* lintian --fail/,$p' "$work/page.log"

# ---- nothing stays ----
quiet 'apt-get purge -y "*tessera*" && apt-get autoremove -y --purge'
[[ -z $(inside dpkg-query -W -f '${Package} ${db:Status-Status}\n' '*tessera*' 2>/dev/null | grep -v ' not-installed') ]]
printf '\n$ find / -name "*tessera*" -o -name "tsr*"    # less the repository, its sources and apt'"'"'s lists\n'
left=$(inside find / -xdev \( -name '*tessera*' -o -name 'tsr*' -o -name 'libtsr*' \) -not -path '/srv/*' -not -path '/tmp/*' \
  -not -path '/etc/apt/*' -not -path '/var/lib/apt/*' -not -path '/var/cache/*' -not -path '/proc/*' -not -path '/dev/*' \
  -not -path '/root/.cache/*')
printf '%s(nothing)\n' "$left"
[[ -z $left ]]
echo
echo 'The packages are as they should be.'
