"""What packaging/debian says, read as dh_install and dpkg-gensymbols read it, and what is wrong with it."""
import fnmatch
import re


def lines(text):
    return [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]


def stanzas(control):
    """Package name -> its fields, from debian/control; the source is under ''."""
    result = {}
    for block in re.split(r"\n\n+", control.strip()):
        fields = dict(re.findall(r"^([A-Za-z-]+):((?:.*)(?:\n[ \t].*)*)", block, re.MULTILINE))
        result[fields.get("Package", "").strip()] = fields
    return result


def matches(pattern, path):
    """Whether an install line's pattern takes the file, by name or with a folder above it."""
    parts = path.split("/")
    wanted = pattern.strip("/").split("/")
    return len(wanted) <= len(parts) and all(fnmatch.fnmatchcase(p, w) for p, w in zip(parts, wanted))


def split(installed, install, not_installed, source_has=lambda pattern: False):
    """Sentences on the files that belong to no package or to several, and on lines that take nothing.

    `install` holds each package's lines. A line that takes no installed file may take one of the source tree."""
    wrong = []
    for path in installed:
        owners = [name for name, patterns in install.items() if any(matches(p.split()[0], path) for p in patterns)]
        if any(matches(p, path) for p in not_installed):
            owners.append("debian/not-installed")
        if len(owners) != 1:
            wrong.append(f"{path} belongs to {' and '.join(owners) or 'no package'}")
    for name, patterns in [*install.items(), ("not-installed", not_installed)]:
        for pattern in patterns:
            first = pattern.split()[0]
            if not any(matches(first, path) for path in installed) and not source_has(first):
                wrong.append(f"{name}: '{pattern}' takes no file")
    return wrong


def symbols(text):
    """The symbols a .symbols file lists, NAME@VERSION."""
    return {line.split()[0] for line in lines(text)[1:] if not line.startswith("*")}


def untracked(rules):
    """Names of the libraries that dh_makeshlibs leaves out, from debian/rules."""
    return set(re.findall(r" -X(\S+)", next(line for line in rules.splitlines() if line.startswith("\tdh_makeshlibs"))))


def embedded(rules):
    """Package name -> the libraries of which it holds code, from debian/rules."""
    return {name: names.split() for name, names in re.findall(r"^EMBEDDED_(\S+) = (.*)$", rules, re.MULTILINE)}


def exported(nm):
    """The same from `nm -D --defined-only`."""
    names = (line.split()[-1] for line in nm.splitlines() if line.strip())
    return {name.replace("@@", "@") if "@" in name else f"{name}@Base" for name in names}
