#!/bin/bash
# ./run.sh [MODEL.onnx] [berth options]: plans and simulates MODEL, or without one a MobileNetV2-like
# network that Berth writes itself. Installs the missing Debian packages and builds first.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/cmake/setup.sh"

install_packages build
build_preset release berth_cli
exec "$berth_root/build/release/tools/berth" demo --output-dir "$berth_root/build/demo" "$@"
