# A graph without a name.
printf 'input { name: "x" shape: "[batch]" }\noutput: "y = x + k"\n' > g.pbtxt
graphrun check g.pbtxt
