# The graph given on the command line has two equations in one line: what they would declare is not known.
cat > cell.pbtxt <<'END'
name: "cell"
arg { name: "hidden" }
input { name: "x" shape: "[batch, input]" }
parameter { name: "W" shape: "[input, hidden]" }
parameter { name: "U" shape: "[hidden, hidden]" }
let: "p = x @ W, q = h @ U"
let: "n = tanh(p + q)"
state { name: "h" shape: "[batch, hidden]" next: "n" }
output: "h = next(h)"
END
graphrun check tags.pbtxt --set cell=./cell.pbtxt
