#!/usr/bin/env bash
# The first minutes on a GPU: tests, speed, memory, and the rule between scale and fold, in eight
# minutes, with what the machine has: Python 3.11, PyTorch 2.5, NumPy, or newer. Installs nothing.
#
#   benchmarks/gpu.sh             writes book/workshop/results/speed-cuda.json and .txt, or to OUT
#   benchmarks/gpu.sh --quick     tiny sizes on the CPU (or DEVICE=cuda), to see that it runs
#
# PYTHON names the interpreter; OUT a folder for the results.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

quick=()
device=${DEVICE:-cuda}
if [ "${1:-}" = --quick ]; then
  quick=(--quick)
  device=${DEVICE:-cpu}
fi

parts=$(mktemp -d)
out=${OUT:-book/workshop/results}
if ((${#quick[@]})); then out=${OUT:-$parts}; fi
mkdir -p "$out"
log=$parts/log.txt
export PYTHONPATH=$PWD:$PWD/book${PYTHONPATH:+:$PYTHONPATH} PYTHONDONTWRITEBYTECODE=1

# Whether an interpreter will do; if not, the last line says why.
will_do() {
  "$1" - "$device" 2>&1 <<'END'
import sys

if sys.version_info < (3, 11):
    sys.exit(f"it is Python {sys.version_info[0]}.{sys.version_info[1]}, 3.11 is needed")
import numpy
import torch

if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 5):
    sys.exit(f"its PyTorch is {torch.__version__}, 2.5 is needed")
if sys.argv[1] == "cuda" and not torch.cuda.is_available():
    sys.exit("its PyTorch sees no GPU")
END
}

python=
for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11 python .venv-others/bin/python \
  .venv/bin/python}; do
  command -v "$candidate" >/dev/null || continue
  if why=$(will_do "$candidate"); then
    python=$(command -v "$candidate")
    break
  fi
  echo "not $candidate: ${why##*$'\n'}"
done
if [ -z "$python" ]; then
  echo "no Python with PyTorch for the device $device; name one: PYTHON=... $0"
  exit 1
fi
has() { "$python" -c "import importlib.util as u, sys; sys.exit(not u.find_spec('$1'))" 2>/dev/null; }
"$python" -c 'import sys, torch; print(f"{sys.executable}, PyTorch {torch.__version__}")'

if ! has jaxtyping; then
  echo "jaxtyping is missing: benchmarks/stand_in takes its place, and checks no shapes"
  export PYTHONPATH=$PYTHONPATH:$PWD/benchmarks/stand_in
fi

failed=0
# Run one step: its name, its limit in seconds, its command. Later steps run whatever it does.
step() {
  local name=$1 limit=$2 began=$SECONDS status words
  shift 2
  echo "== $name" | tee -a "$log"
  if command -v timeout >/dev/null; then set -- timeout -k 10 "$limit" "$@"; fi
  "$@" >"$parts/$name.log" 2>&1
  status=$?
  cat "$parts/$name.log" >>"$log"
  tail -n 3 "$parts/$name.log" | cut -c1-200
  case $status in
    0) words=ran ;;
    124 | 137) words="cut off after $limit s" ;;
    *) words="failed, status $status" ;;
  esac
  if ((status)); then failed=1; fi
  echo "$name: $words ($((SECONDS - began)) s)" >>"$parts/steps.txt"
}
gpu() {
  local name=$1 limit=$2
  step "$name" "$limit" "$python" benchmarks/gpu.py "$name" --parts "$parts" --device "$device" \
    --seconds $((limit - 20)) "${quick[@]}"
}

# Our own tests, where what they need is here; in any case `check`, which needs nothing.
missing=()
for package in pytest hypothesis; do has $package || missing+=("$package"); done
if ((${#missing[@]})); then
  echo "tests: skipped, without ${missing[*]}" | tee -a "$parts/steps.txt"
else
  tests=() files=(tests/test_{layers,networks}.py tests/numpy/test_gradients.py)
  files+=(tests/torch/test_{modules,conv}.py)
  if has safetensors && has tqdm; then files+=(tests/torch/train/test_fitting.py); fi
  for file in "${files[@]}"; do
    if [ -e "$file" ]; then tests+=("$file"); else echo "tests: no $file"; fi
  done
  if ((${#quick[@]})); then tests+=(--collect-only); fi
  step tests 90 "$python" -m pytest -q -k "$device" -o cache_dir=$parts/cache -W default "${tests[@]}"
fi
gpu check 40
gpu layers 80
gpu models 85
gpu forms 55
gpu compiled 110

"$python" benchmarks/gpu.py report --parts "$parts" --device "$device" --path "$parts/report.json" \
  "${quick[@]}" || failed=1
if [ -e "$parts/report.json" ]; then
  cp "$parts/report.json" "$out/speed-$device.json"
  cp "$parts/report.txt" "$out/speed-$device.txt"
  echo "wrote $out/speed-$device.json"
fi
if [ -n "${OUT:-}" ]; then cp "$log" "$out/gpu-log.txt"; fi
echo "== summary: $SECONDS s"
cat "$parts/steps.txt"
echo "all that was printed: $log"
exit $failed
