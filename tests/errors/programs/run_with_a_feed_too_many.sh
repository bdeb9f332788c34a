# A feed that nothing reads is only suspicious.
printf 'name: "g"\ninput { name: "x" shape: "[batch, 2]" }\ninput { name: "gold" shape: "[batch]" }\nstate { name: "h" shape: "[batch, 2]" next: "h + x" }\noutput: "y = next(h), loss = mean(gold * sum(next(h), axis=-1))"\n' > g.pbtxt
graphrun run g.pbtxt --fetch y --feed "x=[[1, 2]]" --feed "gold=[1]" > out.json
