# Beginning with a model that is not there.
sed 's/epochs: 1/epochs: 1 start { model: "none" }/' tags.pbtxt > start.pbtxt
graphrun train start.pbtxt --out model --quiet
