# Feeds of another type and of other axes than the graph's inputs: told before anything is read of the data's examples.
cat > scorer.pbtxt <<'G'
# proto-message: graphrun.Graph
name: "scorer"
arg { name: "words" }
input { name: "heat"  shape: "[time, batch]" }
input { name: "first" shape: "[time, batch]" type: INT32 below: "words" }
input { name: "right" shape: "[batch]" type: BOOL }
parameter { name: "E" shape: "[words]" }
output: "s = sum(heat, axis=0) + gather(E, first[0]) + right, loss = sum(heat) + sum(gather(E, first))"
G
cat > job.pbtxt <<'J'
# proto-message: graphrun.Job
graph: "scorer.pbtxt"
arg: "words = vocabulary(text)"
data {
  train: "rows.jsonl" format: JSONL
  field { name: "heat" split: LIST }
  field { name: "text" split: SPACE }
  feed: "heat, first = text[0], right = length(text)"
  batch { rows: 2 }
}
train { minimize: "loss" optimizer { sgd { learning_rate: 0.1 } } epochs: 1 }
infer { name: "say" read: JSONL write: NUMBERS from: "s" }
J
echo '{"heat": [1, 2], "text": "a b"}' > rows.jsonl
graphrun train job.pbtxt --out model 2> trained && exit 9
graphrun check job.pbtxt 2> checked || code=$?
cmp trained checked && cat checked >&2
exit $code
