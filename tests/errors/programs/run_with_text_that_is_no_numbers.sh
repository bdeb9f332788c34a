# A word among numbers.
printf 'name: "g"\ninput { name: "x" shape: "[batch, 2]" }\ninput { name: "n" shape: "[batch]" type: INT32 below: "9" }\noutput: "y = 2 * x, m = sum(n)"\n' > g.pbtxt
printf "1 2\n3 four\n" > x.txt; graphrun run g.pbtxt --fetch y --feed x=@x.txt
