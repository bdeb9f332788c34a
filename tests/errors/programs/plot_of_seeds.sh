# No mistake: a folder of several seeds is a picture of its runs.
graphrun train tags.pbtxt --out runs --seeds 1,2 --quiet > /dev/null 2>&1
graphrun plot runs | grep -o 'seed-[0-9]' | sort -u >&2
