# Three numbers a row, where two are expected.
printf 'name: "g"\ninput { name: "x" shape: "[batch, 2]" }\ninput { name: "n" shape: "[batch]" type: INT32 below: "9" }\noutput: "y = 2 * x, m = sum(n)"\n' > g.pbtxt
graphrun run g.pbtxt --fetch y --feed "x=[[1, 2, 3]]"
