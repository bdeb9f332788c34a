# A graph where a job is meant: a network.
printf 'name: "g"\ninput { name: "x" shape: "[batch, 2]" }\noutput: "y = 2 * x"\n' > g.pbtxt
graphrun data g.pbtxt
