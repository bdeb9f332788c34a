# Word vectors that are not there.
sed 's/epochs: 1/epochs: 1 initialize { match: "*" vectors: "none.txt" field: "words" }/' tags.pbtxt > vectors.pbtxt
graphrun check vectors.pbtxt
