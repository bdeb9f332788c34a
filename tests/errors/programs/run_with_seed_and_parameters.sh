# Parameters are drawn or read.
printf 'name: "g"\ninput { name: "x" shape: "[batch, 2]" }\ninput { name: "gold" shape: "[batch]" }\nstate { name: "h" shape: "[batch, 2]" next: "h + x" }\noutput: "y = next(h), loss = mean(gold * sum(next(h), axis=-1))"\n' > g.pbtxt
graphrun run g.pbtxt --seed 1 --parameters p.safetensors
