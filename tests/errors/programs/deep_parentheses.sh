# An expression nested ten thousand deep.
{ printf 'name: "net" input { name: "x" shape: "[batch]" } output: "y = '; head -c 10000 /dev/zero | tr '\0' '('; printf 'x"\n'; } > deep.pbtxt
graphrun check deep.pbtxt
