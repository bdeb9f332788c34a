# A value that the graph does not have.
printf 'name: "g"\ninput { name: "x" shape: "[batch, 2]" }\ninput { name: "n" shape: "[batch]" type: INT32 below: "9" }\noutput: "y = 2 * x, m = sum(n)"\n' > g.pbtxt
graphrun run g.pbtxt --fetch z --feed "x=[[1, 2]]"
