#!/usr/bin/env bash
# The first minutes on a GPU: tests, speed, memory, and the rule between scale and fold, in eight
# minutes, with what the machine has: Python 3.11, PyTorch 2.5, NumPy, or newer. Installs nothing.
#
#   benchmarks/gpu.sh             writes book/workshop/results/speed-cuda.json, or to OUT
#   benchmarks/gpu.sh --quick     tiny sizes on the CPU (or DEVICE=cuda), to see that it runs
#
# PYTHON names the interpreter; OUT a folder for the results.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
export PYTHONPATH=$PWD:$PWD/book${PYTHONPATH:+:$PYTHONPATH} PYTHONDONTWRITEBYTECODE=1
if ! "$python" -c 'import jaxtyping' 2>/dev/null; then
  echo "jaxtyping is missing: benchmarks/stand_in takes its place, and checks no shapes"
  export PYTHONPATH=$PYTHONPATH:$PWD/benchmarks/stand_in
fi
exec "$python" -u benchmarks/gpu.py all "$@"
