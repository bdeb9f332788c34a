# An input whose batch, or whose window of a stream, has a number for its size.
cat > sizes.pbtxt <<'GRAPH'
name: "sizes"
input { name: "x" shape: "[time, 2]" type: INT32 below: "9" }
input { name: "y" shape: "[3, batch]" type: INT32 below: "9" }
parameter { name: "E" shape: "[9]" }
output: "loss = sum(gather(E, x)) + sum(gather(E, y))"
GRAPH
cat > sizes_job.pbtxt <<'JOB'
# proto-message: graphrun.Job
graph: "sizes.pbtxt"
data {
  train: "train.txt" format: STREAM
  field { name: "words" split: SPACE }
  feed: "x = words[:-1], y = words[1:]"
  batch { rows: 2 window: 3 }
}
train { minimize: "loss" optimizer { sgd { learning_rate: 0.1 } } epochs: 1 }
JOB
graphrun check sizes_job.pbtxt
