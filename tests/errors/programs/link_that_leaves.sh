# A symbolic link out of the graphs folder.
mkdir graphs
printf 'name: "b"\ninput { name: "x" shape: "[batch]" }\noutput: "y = tanh(x)"\n' > outside.pbtxt
ln -s ../outside.pbtxt graphs/b.pbtxt
printf 'name: "a"\nimport: "b = b.pbtxt"\ninput { name: "x" shape: "[batch]" }\ncall { name: "c" graph: "b" input: "x" }\noutput: "y = c.y"\n' > graphs/a.pbtxt
graphrun check graphs/a.pbtxt
