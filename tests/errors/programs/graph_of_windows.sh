# A graph with CR LF and a byte order mark is read like any other.
{ printf '\357\273\277'; printf 'name: "a"\ninput { name: "x" shape: "[batch]" }\noutput: "y = tanh(x)"\n' | sed 's/$/\r/'; } > graph.pbtxt
graphrun check graph.pbtxt --quiet
