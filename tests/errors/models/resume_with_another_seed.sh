# Resuming with another seed.
graphrun train tags.pbtxt --out model --quiet > /dev/null 2>&1
graphrun train tags.pbtxt --out model --resume --set train.seed=7
