"""``make packages``: build the three packages, check them, and install them by name.

Each is built from a copy of what Git tracks, with the licence, the version (``VERSION``, one for
all) and absolute links put in; the wheel is made from the source archive. The same commit gives the
same bytes.
"""

import argparse
import gzip
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from clients.mcp import bundle
from clients.mcp.bundle import EXAMPLE_REPOSITORY

ROOT = Path(__file__).parents[1]
# The folder of each package, and what it has from elsewhere in the repository.
PACKAGES: dict[str, tuple[str, dict[str, str]]] = {
    "sankofa": (".", {}),
    "sankofa-client": ("clients/python", {}),
    "sankofa-mcp": (
        "clients/mcp",
        {"mcp/mcp_server/stdio_bridge.py": "src/sankofa_mcp/bridge.py"},
    ),
}
_SHARED = {"LICENSE": "LICENSE", "VERSION": "VERSION"}
SERVICE = ("api", "assets", "docs", "mcp/mcp_server", "pipelines", "quality", "warehouse")
_SERVICE_FILES = ("LICENSE", "NOTICE", "README.md", "VERSION", "pyproject.toml", "setup.cfg")
_RELATIVE_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)]+)\)")
_UV = str(Path(sys.executable).with_name("uv"))
# What is said by each package once it is installed.
_TRIED = (
    ("sankofa", "--help"),
    ("sankofa-mcp", "--help"),
    ("python", "-c", "import sankofa_client; print(sankofa_client.__version__)"),
)


def tracked(*folders: str) -> list[str]:
    """Return the files that Git tracks in folders."""
    listed = run("git", "-C", ROOT, "ls-files", "--", *folders)
    return [name for name in listed.splitlines() if (ROOT / name).is_file()]


def stage(name: str, folder: Path, repository: str = EXAMPLE_REPOSITORY) -> None:
    """Copy what a package is built from into an empty folder."""
    root, added = PACKAGES[name]
    names = tracked(*SERVICE, *_SERVICE_FILES) if root == "." else tracked(root)
    files = {each: str(Path(each).relative_to(root)) for each in names}
    files |= added if root == "." else {**added, **_SHARED}
    for source, target in files.items():
        (folder / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / source, folder / target)

    def absolute(link: re.Match[str]) -> str:
        # On a package index, a link within the repository would lead nowhere.
        view = "raw" if link[1] else "blob"
        target = Path(os.path.normpath(Path(root) / link[3])).as_posix()
        return f"{link[1]}[{link[2]}]({EXAMPLE_REPOSITORY}/{view}/main/{target})"

    readme = folder / "README.md"
    readme.write_text(_RELATIVE_LINK.sub(absolute, readme.read_text("utf-8")), "utf-8")
    for path in (readme, folder / "pyproject.toml"):
        text = path.read_text("utf-8").replace(EXAMPLE_REPOSITORY, repository)
        path.write_text(text, "utf-8")


def build(name: str, out: Path, repository: str = EXAMPLE_REPOSITORY) -> list[Path]:
    """Build the source archive of a package and, from it, its wheel; return their paths."""
    moment = run("git", "-C", ROOT, "log", "-1", "--format=%ct").strip()
    with tempfile.TemporaryDirectory() as temporary:
        staged, made = Path(temporary, "staged"), Path(temporary, "made")
        stage(name, staged, repository)
        # All tools that pack files take their times from this variable, but for the archive.
        run(
            *(_UV, "build", "--no-build-isolation", "--python", sys.executable),
            *("--quiet", "-o", made, staged),
            SOURCE_DATE_EPOCH=moment,
        )
        (archive,) = made.glob("*.tar.gz")
        _without_times(archive, int(moment))
        out.mkdir(parents=True, exist_ok=True)
        paths = [archive, *made.glob("*.whl")]
        return [Path(shutil.copy(path, out)) for path in sorted(paths)]


def install(out: Path, environment: Path) -> str:
    """Install the packages by name from a folder into an empty environment; return what they say.

    The service gets its locked dependencies, the others what they ask for.
    """
    run(_UV, "venv", "--quiet", "--clear", "--python", sys.executable, environment)
    commands = environment / "bin"

    def add(*words: str | Path) -> None:
        run(_UV, "pip", "install", "--quiet", "--python", commands / "python", *words)

    version = (ROOT / "VERSION").read_text("utf-8").strip()
    add("--require-hashes", "-r", ROOT / "requirements" / "run.lock")
    add("--no-deps", "--no-index", "--find-links", out, f"sankofa=={version}")
    add("--find-links", out, *(f"{name}=={version}" for name in PACKAGES if name != "sankofa"))
    run(_UV, "pip", "check", "--python", commands / "python")
    return "".join(run(commands / words[0], *words[1:], cwd=environment) for words in _TRIED)


def run(*words: str | Path, cwd: Path | None = None, **variables: str) -> str:
    """Run a command and return what it prints; raise with its errors if it fails."""
    done = subprocess.run(  # noqa: S603
        [str(word) for word in words],
        cwd=cwd,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        command = " ".join(map(str, words[:4]))
        raise RuntimeError(f"{command} …: {(done.stderr + done.stdout)[-3000:]}")
    return done.stdout


def main() -> None:
    """Build, check and install everything that a release has."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--twine", default="twine", help="path of the command twine")
    parser.add_argument("--repository", default=EXAMPLE_REPOSITORY, help="address of the code")
    options = parser.parse_args()
    out = options.out / "packages"
    shutil.rmtree(out, ignore_errors=True)
    paths = [path for name in PACKAGES for path in build(name, out, options.repository)]
    run(options.twine, "check", "--strict", *paths)
    with tempfile.TemporaryDirectory() as temporary:
        for name in PACKAGES:
            for path in build(name, Path(temporary), options.repository):
                if path.read_bytes() != (out / path.name).read_bytes():
                    sys.exit(f"{path.name} has other bytes when it is built again")
        install(out, Path(temporary, "environment"))
    bundle.main(options.out, options.repository)
    sys.stdout.write("".join(f"{path}\n" for path in paths))


def _without_times(archive: Path, moment: int) -> None:
    """Write a source archive again, with nothing of the machine that made it."""
    packed = io.BytesIO()
    with tarfile.open(archive) as old, tarfile.open(fileobj=packed, mode="w") as new:
        for member in sorted(old.getmembers(), key=lambda each: each.name):
            member.mtime, member.uid, member.gid = moment, 0, 0
            member.uname = member.gname = ""
            member.mode = 0o755 if member.isdir() else 0o644
            member.pax_headers = {}
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    archive.write_bytes(gzip.compress(packed.getvalue(), mtime=moment))


if __name__ == "__main__":
    main()
