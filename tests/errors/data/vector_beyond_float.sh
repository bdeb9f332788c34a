# A number of a word vector that no float32 holds.
sed 's/epochs: 1/epochs: 1 initialize { match: "*E*" vectors: "v.txt" field: "words" }/' tags.pbtxt > vectors.pbtxt
printf '%s 0.5 1e39 1\n' "$(head -n 1 train.conll | cut -f 1 | cut -d ' ' -f 1)" > v.txt
graphrun train vectors.pbtxt --out model --quiet
