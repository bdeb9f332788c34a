# Sizes are not negative.
printf 'name: "cell"\narg { name: "hidden" }\ninput { name: "x" shape: "[batch, input]" }\nparameter { name: ["W", "V"] shape: "[input, hidden]" }\nparameter { name: "U" shape: "[hidden, hidden]" }\nstate { name: "h" shape: "[batch, hidden]" next: "tanh(x @ W + h @ U) * (x @ V)" }\noutput: "h = next(h)"\n' > cell.pbtxt
graphrun check cell.pbtxt --set input=-3 --set hidden=4
