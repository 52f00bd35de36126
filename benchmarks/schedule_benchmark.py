#!/usr/bin/env python3
"""schedule_benchmark.py BERTH MODEL[:TARGET[:NAME=SHAPE]]... [--target edge]

What the schedule of each model gives, and what each of its means is worth: makespan over the bound on
cycles and DRAM bytes over the bound (weights once + inputs + outputs), with everything on and with each
means off alone, and the time of the compile.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

MEANS = ['fusion', 'order', 'residency', 'stripes', 'prefetch', 'search']
VARIANTS = {'all on': []} | {f'no {means}': ['--without', means] for means in MEANS} | {
    'through DRAM': ['--without', 'residency', '--without', 'stripes'],
    'single buffers': ['--no-double-buffer'],
}


def berth(binary, *arguments):
    done = subprocess.run([binary, *arguments, '--json'], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr.strip())
    return json.loads(done.stdout)


def measure(binary, model, target, shape, flags, bundle):
    shapes = ['--shape', shape] if shape else []
    compiled = berth(binary, 'compile', model, '-o', bundle, '--target', target, *shapes, *flags)
    ran = berth(binary, 'run', bundle, '--mode', 'cycles')
    dram_bytes = ran['dram_read_bytes'] + ran['dram_write_bytes']
    return (ran['makespan_cycles'], ran['makespan_cycles'] / max(1, ran['cycles_lower_bound']),
            dram_bytes / max(1, ran['dram_bytes_lower_bound']), compiled['compile_ms'])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('berth')
    parser.add_argument('models', nargs='+')
    parser.add_argument('--target', default='edge')
    options = parser.parse_args()
    print(f'{"model":32} {"target":7} {"variant":14} {"cycles":>10} {"x bound":>8} {"DRAM x":>7} {"compile ms":>10}')
    with tempfile.TemporaryDirectory() as folder:
        bundle = str(pathlib.Path(folder) / 'model.berth')
        for named in options.models:
            model, target, shape = (named.split(':', 2) + [None, None])[:3]
            target = target or options.target
            for variant, flags in VARIANTS.items():
                cycles, ratio, dram_ratio, ms = measure(options.berth, model, target, shape, flags, bundle)
                print(f'{pathlib.Path(model).stem:32} {target:7} {variant:14} {cycles:10d} {ratio:8.3f} '
                      f'{dram_ratio:7.3f} {ms:10.0f}', flush=True)


if __name__ == '__main__':
    main()
