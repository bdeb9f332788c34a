# Messages nested ten thousand deep.
{ printf 'name: "net"\n'; i=0; while [ $i -lt 10000 ]; do printf 'graph { '; i=$((i + 1)); done; } > deep.pbtxt
graphrun check deep.pbtxt
