# A number that float32 does not hold, of which doubles are no concern.
cat > twice.pbtxt <<'GRAPH'
name: "twice"
input { name: "x" shape: "[n]" }
output: "y = x * 2"
GRAPH
graphrun run twice.pbtxt --feed 'x=[1, 1e39]' --fetch y
