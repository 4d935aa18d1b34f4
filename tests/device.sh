#!/usr/bin/env bash
# Every check that needs a real GPU, in one go. Leaves its results as files in a folder.
#
#   bash tests/device.sh OUT [DEVICE] [RIDGEPOINT] [SAVED_TO_VERDICT]
#
# OUT/report.json says what passed; the other files are the evidence. Nothing here changes the GPU's settings.
set -uo pipefail
out=$(mkdir -p "$1" && cd "$1" && pwd)
device=${2:-cuda:0}
program=${3:-target/release/ridgepoint}
bench=${4:-}
export RIDGEPOINT_DATA_DIR=$out/data
mkdir -p "$out/runs"
seconds() { echo "$1 $SECONDS s" >>"$out/steps.txt"; }

nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,power.limit --format=csv >"$out/gpu.csv" 2>&1
"$program" doctor --json >"$out/doctor.json" 2>"$out/doctor.err"
seconds doctor
timeout "${LIMIT_CHECK:-150}" "$program" device-check "$device" >"$out/device-check.json" 2>"$out/device-check.err"
echo "device-check $?" >>"$out/status.txt"; seconds device-check
timeout "${LIMIT_PROBE:-240}" "$program" check --probe "$device" --json >"$out/probe.json" 2>"$out/probe.err"
echo "probe $?" >>"$out/status.txt"; seconds probe

# The built-in kernels on every published shape.
for kernel in ${KERNELS:-$(ls problems/atrex/*/kernels/*.cu | sed 's|problems/atrex/||; s|kernels/||; s|\.cu$||')}; do
    file=$out/runs/${kernel//\//.}.json
    timeout "${LIMIT_RUN:-120}" "$program" run "$kernel" --shape all --device "$device" --json >"$file" 2>"$file.err"
    echo "run $kernel $?" >>"$out/status.txt"
done
seconds runs

# The same kernel five times, and beside the profiler's own duration (caches flushed, clocks left alone).
for round in 1 2 3 4 5; do
    for target in rms_norm/vec8:29 silu_and_mul/vec8:5 l2_norm/vec8:12 fused_add_rms_norm/vec8:0; do
        "$program" run "${target%:*}" --shape "${target#*:}" --device "$device" --json >"$out/runs/repeat.$round.${target//[\/:]/.}.json" 2>/dev/null
    done
done
seconds repeats
if command -v ncu >/dev/null; then
    for target in rms_norm/vec8:29 silu_and_mul/vec8:5 l2_norm/vec8:12 fused_add_rms_norm/vec8:0; do
        timeout 60 ncu --metrics gpu__time_duration.sum --clock-control none --csv --target-processes all \
            "$program" run "${target%:*}" --shape "${target#*:}" --device "$device" --verify-only --seeds 5 --no-history \
            >"$out/runs/ncu.${target//[\/:]/.}.csv" 2>&1
    done
    seconds ncu
fi
if [ -n "$bench" ]; then
    timeout 90 "$bench" "$device" "$program" >"$out/saved_to_verdict.txt" 2>&1
    seconds saved_to_verdict
fi
python3 - "$out" <<'PY'
import csv, glob, json, os, statistics, sys
out = sys.argv[1]
def load(name):
    try:
        with open(os.path.join(out, name)) as file:
            return json.load(file)
    except (OSError, ValueError):
        return None
report = {"schema": 1, "gpu": open(os.path.join(out, "gpu.csv")).read().splitlines()[-1:], "kernels": {}, "repeats": {}, "profiler": {}}
check = load("device-check.json") or {}
tests = (check.get("self_test") or {}).get("checks", [])
report["self_test"] = {"passed": sum(t["passed"] for t in tests), "failed": [t["name"] + ": " + t["detail"] for t in tests if not t["passed"]]}
report["goldens"] = {"ran": sum(g["outputs"] is not None for g in check.get("goldens", [])),
                     "failed": [g["name"] + ": " + str(g["reason"]) for g in check.get("goldens", []) if g["outputs"] is None]}
for path in sorted(glob.glob(os.path.join(out, "runs", "*.json"))):
    name = os.path.basename(path)[:-5]
    run = load("runs/" + name + ".json")
    if name.startswith("repeat."):
        if run and run["shapes"] and run["shapes"][0]["timing"]:
            report["repeats"].setdefault(name.split(".", 2)[2], []).append(run["shapes"][0]["timing"]["median_us"])
        continue
    if not run:
        report["kernels"][name] = "no document"
        continue
    bad = [s["id"] + " " + s["status"] + ": " + s["reason"] for s in run["shapes"] if s["status"] != "passed"]
    fractions = [s["roofline"]["fraction"] for s in run["shapes"] if s["roofline"] and s["roofline"]["fraction"]]
    report["kernels"][name] = {"status": run["status"], "shapes": len(run["shapes"]), "failed": bad, "wall_s": run["wall_ms"] / 1e3,
                               "median_fraction": statistics.median(fractions) if fractions else None,
                               "best_fraction": max(fractions, default=None)}
for path in glob.glob(os.path.join(out, "runs", "ncu.*.csv")):
    lines = [line for line in open(path) if line.startswith('"')]
    durations = {}
    for row in csv.DictReader(lines):
        if row.get("Metric Name") == "gpu__time_duration.sum":
            value = float(row["Metric Value"].replace(",", "")) * {"ns": 1e-3, "us": 1.0, "usecond": 1.0, "nsecond": 1e-3, "ms": 1e3, "msecond": 1e3}[row["Metric Unit"]]
            durations.setdefault(row["Kernel Name"].split("(")[0] + " " + row["Grid Size"] + " " + row["Block Size"], []).append(value)
    report["profiler"][os.path.basename(path)[4:-4]] = {name: [len(d), statistics.median(d)] for name, d in durations.items()}
json.dump(report, open(os.path.join(out, "report.json"), "w"), indent=1)
print(json.dumps(report, indent=1))
PY
