# Metrics that are damaged.
mkdir run
printf "step 1\nstep 2\n" > run/metrics.jsonl
graphrun plot run
