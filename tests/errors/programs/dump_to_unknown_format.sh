# No picture of this kind is written.
printf 'name: "g"\ninput { name: "x" shape: "[batch]" }\noutput: "y = 2 * x"\n' > g.pbtxt
graph-dump g.pbtxt -o x.png
