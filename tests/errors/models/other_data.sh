# Resuming on data that has changed.
graphrun train tags.pbtxt --out model --quiet > /dev/null
printf 'x\tN\n' >> train.conll
graphrun train tags.pbtxt --out model --resume --set train.epochs=2
