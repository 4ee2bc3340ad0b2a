#!/usr/bin/env python3
"""The C ABI of libtessera.so.1, compared with the last release's in libtessera.so.1.abi (abidw's format).

    abi.py check     fails when a call or a type was removed or changed; what was added is allowed
    abi.py update    rewrites the file: for a release, never to make a check pass

What is read is a library of empty functions, made from tessera.h with full debug information. The release build has
none, and the real functions cannot differ: they are compiled with the same header, and a test of the packages
(tests/packaging) compares the names and versions that libtessera.so exports with debian/libtessera1.symbols. Ends with
77 where abidiff, abidw (abigail-tools) or a C compiler is missing.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
KEPT = HERE / "libtessera.so.1.abi"
SKIPPED = 77
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
FUNCTION = re.compile(r"^TSR_API\s+([^;{}]*?\b(tsr\w+)\([^;]*\));", re.MULTILINE)
STATUS_OF_A_CHANGE = 4  # of abidiff's; 8 is set with it where the change is surely incompatible


def declarations(header):
    """Name -> declaration of every call in the header's text."""
    return {name: " ".join(whole.split()) for whole, name in FUNCTION.findall(COMMENT.sub("", header))}


def stub(header):
    return "#include <tessera/tessera.h>\n" + "".join(
        f"{text} {{ __builtin_trap(); }}\n" for text in declarations(header).values())


def describe(cc, include, folder):
    """Writes the ABI of the headers below `include` into a file of `folder` and returns its path."""
    header = (include / "tessera/tessera.h").read_text()
    (folder / "stub.c").write_text(stub(header))
    library = folder / "libtessera.so.1"
    subprocess.run([cc, "-std=c99", "-g", "-gdwarf-4", "-fPIC", "-shared", "-I", include, "stub.c", "-o", library,
                    "-Wl,-soname,libtessera.so.1", f"-Wl,--version-script={folder / 'c.map'}"], check=True, cwd=folder)
    made = folder / "made.abi"
    subprocess.run(["abidw", "--no-show-locs", "--no-comp-dir-path", "--no-corpus-path", "--no-parameter-names",
                    "--out-file", made, library], check=True)
    return made


def c_map(text):
    """The version script without its C++ part, which the header does not have."""
    return re.sub(r"TESSERA_PRIVATE \{.*?\n\};\n", "", COMMENT.sub("", text), flags=re.DOTALL)


def compare(old, new):
    """abidiff's words, and whether something was removed or changed."""
    result = subprocess.run(["abidiff", "--no-added-syms", "--suppressions", HERE / "allowed.suppr", old, new],
                            capture_output=True, text=True)
    if result.returncode & 3:
        raise RuntimeError(f"abidiff failed:\n{result.stdout}{result.stderr}")
    return result.stdout, bool(result.returncode & STATUS_OF_A_CHANGE)


def missing_tools(cc):
    return [tool for tool in (cc, "abidw", "abidiff") if not shutil.which(tool)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["check", "update"])
    parser.add_argument("--cc", default="clang-22")
    parser.add_argument("--include", type=pathlib.Path, default=ROOT / "sdk/include")
    options = parser.parse_args()
    if missing := missing_tools(options.cc):
        print(f"skipped: {', '.join(missing)} not found; abidiff and abidw are in the package abigail-tools")
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "c.map").write_text(c_map((ROOT / "core/tessera.map").read_text()))
        made = describe(options.cc, options.include.resolve(), folder)
        if options.action == "update":
            shutil.copyfile(made, KEPT)
            return 0
        text, changed = compare(KEPT, made)
    if changed:
        print(text)
        print("The C ABI of the last release was changed. Programs built against it would break: append instead "
              "(docs/abi-changelog.md).")
        return 1
    print("nothing was removed or changed since the last release")
    return 0


if __name__ == "__main__":
    sys.exit(main())
