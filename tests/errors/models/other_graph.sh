# Parameters of another graph: what is missing, what is surplus, what is of another size.
graphrun train tags.pbtxt --out model --quiet > /dev/null
graphrun train tags.pbtxt --out other --quiet --set cell=cells/gru.pbtxt --set embed=5 > /dev/null
rm -r model/best
cp -r other/best model/best
graphrun infer model < /dev/null
