# Graphviz fails, and is killed.
cat > cell.pbtxt <<END
name: "cell"
input { name: "x" shape: "[batch, 2]" }
output: "y = tanh(x)"
END
mkdir bin
printf '#!/bin/sh\necho "Error: trouble in init_rank" >&2\nexit 3\n' > bin/dot
chmod +x bin/dot
PATH=$PWD/bin:$PATH graph-dump cell.pbtxt --format=svg || true
printf '#!/bin/sh\nkill -9 $$\n' > bin/dot
PATH=$PWD/bin:$PATH graph-dump cell.pbtxt --format=svg
