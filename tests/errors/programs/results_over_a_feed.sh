# The results would replace the numbers that are fed.
printf '%s\n' 'name: "g"' 'input { name: "x" shape: "[n]" }' 'output: "y = x * 2"' > g.pbtxt
echo '[1, 2]' > x.json
graphrun run g.pbtxt --feed x=@x.json --out x.json
