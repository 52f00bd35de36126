#!/usr/bin/env python3
"""Checks of the tree as text.

  length    no source file over 400 lines
  paths     no path that exists on one machine only
  readme    each folder at the root has a README.md
  packages  each package of cmake/packages.txt has its reason in docs/dependencies.md, and no other

    check_files.py [ROOT]       exit 1 and one line per problem; the longest files otherwise
    check_files.py --self-test  each check on a made-up tree that breaks it
"""
import os
import pathlib
import re
import sys
import tempfile

MAX_LINES = 400
SKIPPED_FOLDERS = {".git", "build", "out", "__pycache__"}
SOURCE_SUFFIXES = {".h", ".cc", ".c", ".py", ".sh", ".cmake", ".fbs", ".inc"}
# Written in pieces, so that this file does not find itself.
MACHINE_PATH = re.compile(r"(?<![\w.$}])/(?:" + "|".join(["home", "root", "tmp", "work"]) + r")/\w")


def text_files(root):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(set(folders) - SKIPPED_FOLDERS)
        for name in sorted(names):
            path = pathlib.Path(folder) / name
            try:
                yield path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue


def check_lengths(files):
    return [f"{name}: {text.count(chr(10))} lines, at most {MAX_LINES}"
            for name, text in files
            if pathlib.Path(name).suffix in SOURCE_SUFFIXES and text.count("\n") > MAX_LINES]


def check_paths(files):
    return [f"{name}:{number}: a path of one machine: {line.strip()[:80]}"
            for name, text in files
            for number, line in enumerate(text.splitlines(), 1) if MACHINE_PATH.search(line)]


def check_readmes(files):
    names = {name for name, _ in files}
    folders = {name.split("/")[0] for name in names if "/" in name and not name.startswith(".")}
    return [f"{folder}/: no README.md" for folder in sorted(folders)
            if f"{folder}/README.md" not in names]


def check_packages(files):
    contents = dict(files)
    listed = {line.split()[1] for line in contents["cmake/packages.txt"].splitlines()
              if line and not line.startswith("#")}
    explained = set()
    for row in re.findall(r"^\|([^|]*)\|", contents["docs/dependencies.md"], re.MULTILINE):
        explained |= set(re.findall(r"`([^`]+)`", row))
    return ([f"docs/dependencies.md: no reason for {name}" for name in sorted(listed - explained)] +
            [f"cmake/packages.txt: no {name}" for name in sorted(explained - listed)])


CHECKS = [check_lengths, check_paths, check_readmes, check_packages]


def check(root):
    files = list(text_files(root))
    return [problem for one in CHECKS for problem in one(files)], files


def self_test():
    good = {"cmake/packages.txt": "# list\nbuild g++\n", "cmake/README.md": "x\n",
            "docs/dependencies.md": "| `g++` | compiles |\n", "docs/README.md": "x\n",
            "base/README.md": "x\n", "base/a.cc": "x\n" * MAX_LINES}
    broken = {
        "length": {"base/a.cc": "x\n" * (MAX_LINES + 1)},
        "paths": {"base/b.cc": 'open("' + "/ho" + 'me/me")\n'},
        "readme": {"kernels/a.cc": "x\n"},
        "reason": {"cmake/packages.txt": "build g++\nbuild cmake\n"},
        "package": {"docs/dependencies.md": "| `g++`, `gcc` | compiles |\n"},
    }
    problems = []
    for name, change in {"good": {}, **broken}.items():
        with tempfile.TemporaryDirectory() as folder:
            for path, text in {**good, **change}.items():
                file = pathlib.Path(folder) / path
                file.parent.mkdir(exist_ok=True)
                file.write_text(text, encoding="utf-8")
            found = check(pathlib.Path(folder))[0]
            if len(found) != (name != "good"):
                problems.append(f"self-test {name}: {found}")
    return problems


def main():
    if sys.argv[1:] == ["--self-test"]:
        problems = self_test()
    else:
        root = pathlib.Path(sys.argv[1]) if sys.argv[1:] else pathlib.Path(__file__).parent.parent
        problems, files = check(root.resolve())
        sources = [(text.count("\n"), name) for name, text in files
                   if pathlib.Path(name).suffix in SOURCE_SUFFIXES]
        for lines, name in [] if problems else sorted(sources, reverse=True)[:5]:
            print(f"{lines:5} {name}")
    print("\n".join(problems) or "check_files: ok")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
