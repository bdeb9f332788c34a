# The module that cuts subwords is not beside the library.
mkdir lib
cp "$(dirname "$(command -v graphrun)")/libgraphrun.so.0" lib
cat > network.pbtxt <<END
name: "network"
input { name: "words" shape: "[time, batch]" type: INT32 }
output: "loss = mean(cast(words, dtype=FLOAT))"
END
cat > job.pbtxt <<END
graph: "network.pbtxt"
data {
  train: "train.txt" format: LINES
  field { name: "text" split: BPE vocabulary { size: 20 } }
  feed: "words = text"
  batch { rows: 2 }
}
END
LD_LIBRARY_PATH=$PWD/lib graphrun data job.pbtxt
