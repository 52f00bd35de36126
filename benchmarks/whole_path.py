#!/usr/bin/env python3
"""whole_path.py BERTH MODEL... [--target mobile] [--threads 2] [--repeat 7] [--peer MODEL.onnx]

One table in one run, per model: compile, load (with the whole proof, and trusted), values + cycles,
values, cycles; each a median, beside the simulated makespan and its lower bound. With
NODE_MODULES=dir/node_modules (npm i onnxruntime-node) and ../shared beside the project, ONNX Runtime
on the same threads stands in the same row, measured in turn with Berth, and the ratio. With --peer it
runs that model in place of each: a TFLite model beside the like of it in ONNX.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import tempfile

PROJECT = pathlib.Path(__file__).resolve().parent.parent
RUN_ONNX = pathlib.Path(os.environ.get('BERTH_SHARED', PROJECT.parent / 'shared')) / 'tools' / 'run_onnx.js'


def berth(binary, *arguments):
    done = subprocess.run([binary, *arguments, '--json'], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr.strip())
    return json.loads(done.stdout)


def onnx_runtime_ms(model, threads, repeat):
    if 'NODE_MODULES' not in os.environ or not RUN_ONNX.exists() or not model.endswith('.onnx'):
        return None
    done = subprocess.run(['node', RUN_ONNX, model, '-', '--time', str(repeat), '--threads', str(threads),
                           '--opt', 'all'], capture_output=True, text=True)
    found = re.search(r'([0-9.]+)ms\s*$', done.stdout)
    return float(found.group(1)) if found else None


def measure(options, model, bundle):
    compiled = berth(options.berth, 'compile', model, '-o', bundle, '--target', options.target)
    def run(mode, *more):
        return berth(options.berth, 'run', bundle, '--mode', mode, '--threads', str(options.threads),
                     '--repeat', str(options.repeat), *more)
    ours, peers = [], []
    for _ in range(3):  # in turn, so that a drift of the machine meets both
        ours.append(run('both', '--trusted'))
        peers.append(onnx_runtime_ms(options.peer or model, options.threads, options.repeat))
    both = statistics.median(r['run_ms'] for r in ours)
    peers = [p for p in peers if p is not None]
    row = {
        'model': pathlib.Path(model).stem,
        'compile ms': compiled['compile_ms'],
        'load ms': run('cycles')['load_ms'],
        'trusted ms': run('cycles', '--trusted')['load_ms'],
        'both ms': both,
        'values ms': run('values', '--trusted')['run_ms'],
        'cycles ms': run('cycles', '--trusted')['run_ms'],
        'ORT ms': statistics.median(peers) if peers else float('nan'),
        'both/ORT': both / statistics.median(peers) if peers else float('nan'),
        'makespan/bound': ours[0]['makespan_cycles'] / max(1, ours[0]['cycles_lower_bound']),
    }
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('berth')
    parser.add_argument('models', nargs='+')
    parser.add_argument('--target', default='mobile')
    parser.add_argument('--threads', type=int, default=2)
    parser.add_argument('--repeat', type=int, default=7)
    parser.add_argument('--peer', help='what ONNX Runtime runs, in place of each model')
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for index, model in enumerate(options.models):
            row = measure(options, model, os.path.join(folder, 'model.berth'))
            if index == 0:
                print('  '.join(f'{key:>14}' for key in row))
            print('  '.join(f'{v:>14.14}' if isinstance(v, str) else f'{v:>14.2f}' for v in row.values()))


if __name__ == '__main__':
    main()
