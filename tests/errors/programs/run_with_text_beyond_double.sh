# A number in a text file that no double holds; numbers below its range are 0.
printf 'name: "g"\ninput { name: "x" shape: "[batch, 2]" }\noutput: "y = 2 * x"\n' > g.pbtxt
printf '\357\273\2771e-400 +2\n3 4\n' > small.txt; graphrun run g.pbtxt --feed x=@small.txt
printf "1 2\n3 1e400\n" > x.txt; graphrun run g.pbtxt --feed x=@x.txt
