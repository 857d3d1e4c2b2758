#!/usr/bin/env bash
# The first minutes on a GPU: are the layers right there, and how fast are they? Nine minutes, with
# what the machine has: Python 3.11, PyTorch 2.5, NumPy, or newer. Installs nothing.
#
#   benchmarks/gpu.sh             writes speed-cuda-….json and whole-cuda.json to book/workshop/results, or to OUT
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
if [ "${1:-}" = --quick ]; then
  device=${DEVICE:-cpu} out=${OUT:-$(mktemp -d)} limit=5 quick=(--quick) collect=(--collect-only)
  precisions=(bf16)
else
  device=${DEVICE:-cuda} out=${OUT:-book/workshop/results} limit=1 quick=() collect=()
  precisions=(float32 tf32 bf16)
fi

told=() failed=0
# Whatever the others do, and no longer than so many seconds; on a CPU others may be at work.
run() {
  local seconds=$1 status=0
  shift
  timeout "$((limit * seconds))" "$python" -u "$@" || status=$?
  told+=("$*: status $status")
  [ "$status" = 0 ] || failed=1
}
run 40 benchmarks/gpu.py --device "$device"
if "$python" -c 'import hypothesis, pytest' 2>/dev/null; then
  run 90 -m pytest -q -k "$device" -W default -o cache_dir="$(mktemp -d)" "${collect[@]}" \
    tests/test_layers.py tests/numpy/test_gradients.py tests/torch/test_{modules,conv}.py
fi
for precision in "${precisions[@]}"; do
  run 100 benchmarks/bench.py "$out/speed-$device-$precision.json" --device "$device" \
    --precision "$precision" --seconds 0.02 "${quick[@]}"
done
run 100 benchmarks/whole.py "$out/whole-$device.json" --device "$device" "${quick[@]}"
printf '%s\n' "== summary" "${told[@]}"
exit "$failed"
