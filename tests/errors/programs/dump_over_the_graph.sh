# The dump would replace the graph that it shows.
printf '%s\n' 'name: "g"' 'input { name: "x" shape: "[n]" }' 'output: "y = x * 2"' > g.pbtxt
graph-dump g.pbtxt --stage=checked --output ./g.pbtxt
