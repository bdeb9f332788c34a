# A number that JSON allows and no double holds.
printf 'name: "g"\ninput { name: "x" shape: "[3]" }\noutput: "y = x"\n' > g.pbtxt
printf '[1,\n 1e400, 2]\n' > x.json
graphrun run g.pbtxt --feed x=@x.json
