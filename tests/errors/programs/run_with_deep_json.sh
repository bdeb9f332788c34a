# JSON that is nested deeper than any tensor.
printf 'name: "g"\ninput { name: "x" shape: "[batch, 2]" }\noutput: "y = 2 * x"\n' > g.pbtxt
deep=$(head -c 100000 /dev/zero | tr '\0' '[')
printf '%s' "[1, $deep]" > x.json; graphrun run g.pbtxt --feed x=@x.json
