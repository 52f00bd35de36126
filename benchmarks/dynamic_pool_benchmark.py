#!/usr/bin/env python3
"""The dynamic pool beside malloc, jemalloc and mimalloc, on tensor-like traces, in one run.

    dynamic_pool_benchmark.py [--berth build/release/tools/berth] [--trace FILE.csv]
                              [--seeds 1 2 3] [--repeats N]

`berth bench pool` replays a trace against the pool and against the process's malloc; jemalloc and
mimalloc take malloc's place by LD_PRELOAD (Debian: libjemalloc-dev, libmimalloc-dev). Times are of one
allocation with its free, as each thread sees them; memory is what is resident when every page of
every block is written, over the bytes that are live at the peak. Each figure of the pool stands
beside its bar.
"""
import argparse
import ctypes.util
import json
import os
import statistics
import subprocess

BARS = {"1 thread, ns": 40, "2 threads, ns": 80, "reserved / live": 1.10}
SLAB_BYTES = 512 * 1024


def replay(arguments, seed, library):
    environment = dict(os.environ)
    if library:
        environment["LD_PRELOAD"] = library
    command = [arguments.berth, "bench", "pool", "--json", "--threads", "2",
               "--repeats", str(arguments.repeats)]
    command += [arguments.trace] if arguments.trace else ["--seed", str(seed)]
    return json.loads(subprocess.run(command, env=environment, check=True, capture_output=True,
                                     text=True).stdout)


def row(results, who):
    def mean(of):
        return statistics.mean(of(result) for result in results)
    memory = ("peak_reserved_bytes" if who == "pool" else "malloc_resident_bytes")
    return {f"{threads} thread{'s' * (threads > 1)}, ns": mean(
                lambda result, i=i: result["times"][i][f"{who}_ns_per_pair"])
            for i, threads in enumerate((1, 2))} | {
        f"{threads} thread{'s' * (threads > 1)}, best ns": mean(
            lambda result, i=i: result["times"][i][f"{who}_best_ns_per_pair"])
        for i, threads in enumerate((1, 2))} | {
        "reserved / live": max(result[memory] / result["peak_live_bytes"] for result in results)}


def show(name, values):
    print(f"| {name:<9} | " + " | ".join(f"{value:>15.3g}" if value < 10 else f"{value:>15.1f}"
                                        for value in values) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--berth", default="build/release/tools/berth")
    parser.add_argument("--trace")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--repeats", type=int, default=51)
    arguments = parser.parse_args()
    seeds = [0] if arguments.trace else arguments.seeds

    own = [replay(arguments, seed, None) for seed in seeds]
    rows = {"pool": row(own, "pool"), "malloc": row(own, "malloc")}
    for name in ("jemalloc", "mimalloc"):
        library = ctypes.util.find_library(name)
        if library is None:
            print(f"{name} is not installed")
            continue
        rows[name] = row([replay(arguments, seed, library) for seed in seeds], "malloc")

    columns = list(rows["pool"])
    print("| allocator | " + " | ".join(f"{column:>15}" for column in columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for name, values in rows.items():
        show(name, values.values())
    for column, bar in BARS.items():
        verdict = "met" if rows["pool"][column] <= bar else "MISSED"
        print(f"{column}: {rows['pool'][column]:.3g}, bar {bar}: {verdict}")
    excess = max(result["trimmed_reserved_bytes"] - result["trimmed_live_bytes"] for result in own)
    print(f"trimmed: {excess} bytes over those live, bar {SLAB_BYTES}: "
          f"{'met' if excess <= SLAB_BYTES else 'MISSED'}")


if __name__ == "__main__":
    main()
