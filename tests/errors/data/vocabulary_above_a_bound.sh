# A vocabulary that is larger than the bound of the input which its entries are fed to.
cat > bounded.pbtxt <<'GRAPH'
name: "bounded"
input { name: "x" shape: "[time, batch]" type: INT32 below: "2" }
parameter { name: "E" shape: "[2]" }
output: "loss = sum(gather(E, x))"
GRAPH
cat > bounded_job.pbtxt <<'JOB'
# proto-message: graphrun.Job
graph: "bounded.pbtxt"
data {
  train: "train.txt" format: STREAM
  field { name: "words" split: SPACE }
  feed: "x = words[:-1]"
  batch { rows: 2 window: 3 }
}
train { minimize: "loss" optimizer { sgd { learning_rate: 0.1 } } epochs: 1 }
JOB
graphrun check bounded_job.pbtxt
