# A fraction for an INT32.
printf 'name: "g"\ninput { name: "x" shape: "[batch, 2]" }\ninput { name: "n" shape: "[batch]" type: INT32 below: "9" }\noutput: "y = 2 * x, m = sum(n)"\n' > g.pbtxt
graphrun run g.pbtxt --fetch m --feed "n=[1, 2.5]"
