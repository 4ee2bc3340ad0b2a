"""Copies of the tree that tests change and build."""
import pathlib
import shutil
import subprocess
import tempfile


def update(source, target, change=lambda folder: None):
    """Makes `target` a copy of the tree `source` that `change` has edited. Writes what differs, so that an earlier build of the
    copy is of use."""
    target.mkdir(parents=True, exist_ok=True)
    paths = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=source, check=True, capture_output=True,
                           text=True).stdout.splitlines()
    with tempfile.TemporaryDirectory() as folder:
        fresh = pathlib.Path(folder)
        for path in paths:
            if (source / path).is_file():
                (fresh / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source / path, fresh / path)
        change(fresh)
        wanted = {p.relative_to(fresh) for p in fresh.rglob("*") if p.is_file()}
        for path in wanted:
            if not (target / path).is_file() or (target / path).read_bytes() != (fresh / path).read_bytes():
                (target / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(fresh / path, target / path)
    for path in [p for p in target.rglob("*") if p.is_file() and p.relative_to(target) not in wanted]:
        path.unlink()


def configure(tree, made, *options):
    subprocess.run(["cmake", "--preset", "release", "-B", str(made), "-DTESSERA_BUILD_BENCH=OFF", *options], cwd=tree, check=True)


def build(made, jobs, targets, **popen):
    return subprocess.run(["cmake", "--build", str(made), "-j", str(jobs), "--target", *targets], **popen)
