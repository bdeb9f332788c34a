# A report and an infer block that depend on a parameter on which the objective does not depend.
cat > g.pbtxt <<'G'
name: "two"
input { name: "x" shape: "[time, batch]" }   input { name: "y" shape: "[batch]" }
parameter { name: ["a", "b", "c"] shape: "[]" }
let: "guess = a * x[0]"   let: "other = b * x[0] + c"
output: "guess, other, loss = mean((guess - y) ** 2)"
G
cat > j.pbtxt <<'J'
graph: "g.pbtxt"
data {
  train: "numbers.conll" format: CONLL
  field { name: "steps" type: FLOAT split: SPACE }
  feed: "x = steps[0], y = steps[0][0]" batch { rows: 2 }
}
train { minimize: "loss" optimizer { sgd { learning_rate: 0.1 } } epochs: 1 }
report: "loss = mean((guess - y) ** 2), off = mean(abs(other - y))"
infer { name: "guess" write: NUMBERS from: "guess" }
infer { name: "other" write: NUMBERS from: "guess + other" }
J
graphrun check j.pbtxt
