#!/usr/bin/env python3
"""Builds the wheels and the source distribution: a PEP 517 backend with the standard library alone.

The files come from a CMake build: build/release if it is there, else build/wheel, which is made. Options (pip's --config-settings):

    distribution=tessera-backend-ptx    that wheel, with one plugin, in place of tessera itself
    build-dir=DIR                       take the files from this build as it is; nothing is compiled
    compression=0..9                    of the wheel: 0 is quick and large; 6 unless given

`build_backend.py OUT` builds all of them. docs/packages.md describes the wheels.
"""
import base64
import hashlib
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
VERSION = re.search(r"^project\(\S+ VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
PLUGINS = tuple(name for names in PROJECT["optional-dependencies"].values() for name in names)
# Every Linux with Python has these, or must not have two of them in one process.
OF_THE_SYSTEM = ("linux-vdso", "ld-linux", "libc.", "libm.", "libdl.", "librt.", "libpthread.", "libstdc++.", "libgcc_s.")


def get_requires_for_build_wheel(config_settings=None):
    return []


get_requires_for_build_editable = get_requires_for_build_sdist = get_requires_for_build_wheel


# --- what a wheel holds ---

def _distribution(settings):
    name = (settings or {}).get("distribution", PROJECT["name"])
    if name not in (PROJECT["name"], *PLUGINS):
        raise SystemExit(f"build_backend: there is no distribution '{name}': they are {', '.join((PROJECT['name'], *PLUGINS))}")
    return name


def _compression(settings):
    level = (settings or {}).get("compression", "6")
    if level not in tuple("0123456789"):
        raise SystemExit(f"build_backend: compression={level}: expected a digit")
    return int(level)


def _built(settings, component):
    """The folder of a build in which the targets of a component are up to date."""
    if not shutil.which("cmake"):
        raise SystemExit("build_backend: cmake is not installed; `./dev setup` in the tree installs what the build needs")
    if given := (settings or {}).get("build-dir"):
        if not (ROOT / given / "cmake_install.cmake").exists():
            raise SystemExit(f"build_backend: build-dir={given} is no folder that CMake has configured")
        return (ROOT / given).resolve()
    build = ROOT / "build/release"
    if not (build / "CMakeCache.txt").exists():
        build = ROOT / "build/wheel"
        subprocess.run(["cmake", "--preset", "release", "-B", build, "-DTESSERA_BUILD_TESTS=OFF", "-DTESSERA_BUILD_BENCH=OFF"], cwd=ROOT,
                       check=True)
    subprocess.run(["cmake", "--build", build, "--target", component], check=True)
    return build


def _needed(file):
    """The shared objects that the dynamic linker loads for a file: soname -> path."""
    env = {**os.environ, "LD_LIBRARY_PATH": "/usr/lib/llvm-22/lib"}  # Debian's MLIR is not where the linker searches
    listed = subprocess.run(["ldd", file], capture_output=True, text=True, check=True, env=env).stdout
    missing = re.findall(r"(\S+) => not found", listed)
    if missing:
        raise SystemExit(f"build_backend: {file.name} needs {', '.join(missing)}, which this machine does not have")
    return {name: pathlib.Path(path) for name, path in re.findall(r"(\S+) => (/\S+)", listed) if not name.startswith(OF_THE_SYSTEM)}


def _search_in(file, path):
    """Sets the run path of an ELF file to a shorter one. It becomes a DT_RPATH, which serves the libraries that this one loads, too:
    Debian's have none of their own."""
    data = bytearray(file.read_bytes())
    table, = struct.unpack_from("<Q", data, 0x20)
    size, count = struct.unpack_from("<HH", data, 0x36)
    segments = [struct.unpack_from("<IIQQQQ", data, table + i * size) for i in range(count)]  # type, flags, offset, address, _, bytes
    start, length = next((offset, bytes_) for type_, _, offset, _, _, bytes_ in segments if type_ == 2)  # PT_DYNAMIC
    entries = {}
    for at in range(start, start + length, 16):
        tag, value = struct.unpack_from("<QQ", data, at)
        entries.setdefault(tag, (at, value))
    at, name = entries.get(29) or entries[15]  # DT_RUNPATH, DT_RPATH
    strings = next(entries[5][1] - address + offset for type_, _, offset, address, _, bytes_ in segments  # DT_STRTAB
                   if type_ == 1 and address <= entries[5][1] < address + bytes_)
    room = data.index(b"\0", strings + name) - strings - name
    if len(path) > room:
        raise SystemExit(f"build_backend: {file.name} has no room for the run path {path}")
    data[strings + name:strings + name + room] = path.encode().ljust(room, b"\0")
    struct.pack_into("<Q", data, at, 15)
    file.write_bytes(data)


def _notice(library):
    """The copyright file of the Debian package that a library is from; None if there is none."""
    if not shutil.which("dpkg-query"):
        return None
    for path in (library, pathlib.Path("/usr") / library.relative_to("/")):
        found = subprocess.run(["dpkg-query", "-S", path], capture_output=True, text=True, check=False).stdout
        if found:
            notice = pathlib.Path("/usr/share/doc") / found.split(":")[0] / "copyright"
            return notice if notice.exists() else None
    return None


def _stage(settings, folder):
    """Lays down the files of the wheel in a folder; the notices of others' libraries, by name."""
    name, notices = _distribution(settings), {}
    component = "wheel" if name == PROJECT["name"] else name.replace("tessera-backend", "wheel")
    build = _built(settings, component)
    subprocess.run(["cmake", "--install", build, "--prefix", folder, "--component", component], check=True, stdout=subprocess.DEVNULL)
    home = folder / "tessera/lib"
    for link in [path for path in folder.rglob("*") if path.is_symlink()]:  # libtessera.so.1: wheels have no links
        file = link.resolve()
        link.unlink()
        file.rename(link)
    if name != PROJECT["name"]:
        return notices
    own = [*home.glob("*.so*"), *folder.glob("tessera/*.so")]
    for file in own:
        _search_in(file, "$ORIGIN" if file.parent == home else "$ORIGIN/lib")
    others = {soname: path for file in own for soname, path in _needed(file).items() if folder not in path.parents}
    for soname, path in others.items():
        shutil.copyfile(path, home / soname)
        if (notice := _notice(path.resolve())) is not None:
            notices[f"{notice.parent.name}.txt"] = notice.read_bytes()
    return notices


# --- wheels ---

def _metadata(name):
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {VERSION}"]
    if name == PROJECT["name"]:
        lines += [f"Summary: {PROJECT['description']}", f"License: {PROJECT['license']}", f"Requires-Python: {PROJECT['requires-python']}"]
        for extra, needs in PROJECT["optional-dependencies"].items():
            lines += [f"Provides-Extra: {extra}", *(f'Requires-Dist: {need} ; extra == "{extra}"' for need in needs)]
    else:
        lines += [f"Summary: Backend of {PROJECT['name']}: {name.rpartition('-')[2]}", f"License: {PROJECT['license']}",
                  f"Requires-Dist: {PROJECT['name']}"]
    return "\n".join(lines) + "\n"


def _info(name, tag):
    """The files of the dist-info folder, but for RECORD."""
    folder = f"{name.replace('-', '_')}-{VERSION}.dist-info"
    wheel = f"Wheel-Version: 1.0\nGenerator: {PROJECT['name']} {VERSION}\nRoot-Is-Purelib: false\nTag: {tag}\n"
    return folder, {"METADATA": _metadata(name).encode(), "WHEEL": wheel.encode(),
                    "licenses/LICENSE": (ROOT / "LICENSE").read_bytes(),
                    "licenses/COPYRIGHT": (ROOT / "packaging/debian/copyright").read_bytes()}  # of static libraries, too


def _tag(name):
    return ("cp311-abi3" if name == PROJECT["name"] else "py3-none") + "-linux_x86_64"


def _write(directory, name, files, settings, extra=()):
    """Writes a wheel of files, path -> contents or the path of a file; its name."""
    tag = _tag(name)
    folder, info = _info(name, tag)
    info.update({f"licenses/{key}": text for key, text in dict(extra).items()})
    files = {**files, **{f"{folder}/{key}": text for key, text in info.items()}}
    wheel = f"{name.replace('-', '_')}-{VERSION}-{tag}.whl"
    record = []
    with zipfile.ZipFile(pathlib.Path(directory) / wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=_compression(settings)) as archive:
        def add(path, data, mode):
            entry = zipfile.ZipInfo(path)  # of 1980: the same files give the same wheel
            entry.external_attr = (0o100000 | mode) << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED, archive.compresslevel)

        for path, source in sorted(files.items()):
            is_file = isinstance(source, pathlib.Path)
            data = source.read_bytes() if is_file else source
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(data)}")
            add(path, data, 0o755 if is_file and os.access(source, os.X_OK) else 0o644)
        add(f"{folder}/RECORD", "\n".join([*record, f"{folder}/RECORD,,", ""]).encode(), 0o644)
    return wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name = _distribution(config_settings)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        notices = _stage(config_settings, folder)
        files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
        return _write(wheel_directory, name, files, config_settings, notices)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """A path to the package of the build tree, whose modules are links to the sources."""
    name = _distribution(config_settings)
    build = _built(config_settings, "wheel")
    return _write(wheel_directory, name, {f"{name}-editable.pth": f"{build / 'python'}\n".encode()}, config_settings)


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    name = _distribution(config_settings)
    folder, info = _info(name, _tag(name))
    for path, text in info.items():
        target = pathlib.Path(metadata_directory) / folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text)
    return folder


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


# --- the source distribution ---

def _sources():
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "-co", "--exclude-standard"], capture_output=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        return [ROOT / path for path in listed.stdout.decode().split("\0") if path and (ROOT / path).exists()]
    return [path for path in ROOT.rglob("*") if path.is_file() and path.relative_to(ROOT).parts[0] != "build"]


def build_sdist(sdist_directory, config_settings=None):
    top = f"{PROJECT['name']}-{VERSION}"
    with tempfile.TemporaryDirectory() as folder, tarfile.open(pathlib.Path(sdist_directory) / f"{top}.tar.gz", "w:gz",
                                                               format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(_sources()):
            archive.add(path, f"{top}/{path.relative_to(ROOT)}", recursive=False)
        info = pathlib.Path(folder) / "PKG-INFO"
        info.write_text(_metadata(PROJECT["name"]))
        archive.add(info, f"{top}/PKG-INFO")
    return f"{top}.tar.gz"


def main(out):
    os.makedirs(out, exist_ok=True)
    made = [build_wheel(out, {"distribution": name}) for name in (PROJECT["name"], *PLUGINS)] + [build_sdist(out)]
    for name in made:
        print(f"{os.path.getsize(os.path.join(out, name)):>12,}  {os.path.join(out, name)}")


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit("usage: build_backend.py OUT")
    main(sys.argv[1])
