# An arg that gradcheck needs.
printf 'name: "g"\narg { name: "n" }\ninput { name: "x" shape: "[n]" }\noutput: "y = x"\n' > g.pbtxt
graphrun gradcheck g.pbtxt
