# Two graphs that import each other.
mkdir graphs
printf 'name: "a"\nimport: "b = b.pbtxt"\ninput { name: "x" shape: "[batch]" }\ncall { name: "c" graph: "b" input: "x" }\noutput: "y = c.y"\n' > graphs/a.pbtxt
sed 's/"a"/"b"/; s/b = b/b = a/' graphs/a.pbtxt > graphs/b.pbtxt
graphrun check graphs/a.pbtxt
