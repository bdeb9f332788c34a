# A graph where a job is meant.
printf 'name: "g"\ninput { name: "x" shape: "[3]" }\noutput: "y = x"\n' > g.pbtxt
graphrun train g.pbtxt --out model
