#!/usr/bin/env python3
"""Writes assembly that defines, as a host would that links other versions of our libraries, every
name of theirs and of ours that a shared library uses within itself. Whoever calls one aborts.

    make_conflicts.py LIBRARY.so... -o OUT.s

Defined are the hidden names of the libraries given (fmt, flatbuffers, nlohmann, berth itself), all
names of the protobuf that is loaded with them, and those of another Abseil and of spdlog: the
distribution's tag of Abseil's namespace replaced by the tag that another version has.
"""
import argparse
import re
import subprocess

# By the first name of the mangled nested name; the value is what stands for it in the host.
HIDDEN = re.compile(r"^_ZN[KV]*(3fmt2v9|11flatbuffers|8nlohmann|5berth)")
ABSEIL = re.compile(r"^_ZN[KV]*4absl7debian3")
PROTOBUF = re.compile(r"^_ZN[KV]*6google8protobuf")
# A few of spdlog's, by hand: the libraries have none.
SPDLOG = ["_ZN6spdlog14default_loggerEv", "_ZN6spdlog18default_logger_rawEv",
          "_ZN6spdlog7details8registry8instanceEv", "_ZN6spdlog4dropERKNSt7__cxx1112basic_string"
          "IcSt11char_traitsIcESaIcEEE", "_ZN6spdlog8shutdownEv"]


def names_of(library, *flags):
    lines = subprocess.run(["nm", "--defined-only", *flags, library], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    return {line.split()[-1].split("@")[0] for line in lines if line}


def used_libraries(library):
    lines = subprocess.run(["ldd", library], check=True, capture_output=True, text=True).stdout
    return re.findall(r"=> (\S+)", lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("libraries", nargs="+")
    parser.add_argument("-o", dest="output", required=True)
    arguments = parser.parse_args()
    names = set(SPDLOG)
    for library in arguments.libraries:
        names |= {name for name in names_of(library) if HIDDEN.match(name)}
        for used in used_libraries(library):
            if "libprotobuf.so" in used:
                names |= {name for name in names_of(used, "-D") if PROTOBUF.match(name)}
            if "libabsl" in used:
                other = {name.replace("4absl7debian3", tag) for name in names_of(used, "-D")
                         if ABSEIL.match(name) for tag in ("4absl12lts_20240116", "4absl")}
                names |= other
    with open(arguments.output, "w", encoding="ascii") as out:
        out.write('.section .note.GNU-stack,"",@progbits\n.text\n')
        for name in sorted(names):
            if re.fullmatch(r"[\w.$]+", name):
                out.write(f".globl {name}\n.type {name}, @function\n{name}:\n")
                out.write("  call abort@PLT\n")
    print(f"{len(names)} names")


if __name__ == "__main__":
    main()
