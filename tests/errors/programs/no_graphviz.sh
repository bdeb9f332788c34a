# Graphviz is not installed.
cat > cell.pbtxt <<END
name: "cell"
input { name: "x" shape: "[batch, 2]" }
output: "y = tanh(x)"
END
PATH=$(dirname "$(command -v graph-dump)") graph-dump cell.pbtxt --format=svg
