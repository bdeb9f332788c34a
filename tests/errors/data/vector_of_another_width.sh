# Word vectors of another width.
sed 's/epochs: 1/epochs: 1 initialize { match: "*E*" vectors: "v.txt" field: "words" }/' tags.pbtxt > vectors.pbtxt
printf 'a 0.5 1\n' > v.txt
graphrun train vectors.pbtxt --out model --quiet
