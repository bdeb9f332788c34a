# The mean of runs that nothing has in common.
graphrun train tags.pbtxt --out runs --seeds 1,2 --quiet > /dev/null 2>&1
graphrun average runs/seed-1 runs/seed-2 --out mean --quiet
