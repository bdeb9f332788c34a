# Continuing with another end and other saves, which is all right, and other figures, which is not.
graphrun train tags.pbtxt --out model --quiet > /dev/null
graphrun train tags.pbtxt --out model --resume --set train.updates=5 --set train.checkpoint.keep=1 --set train.metrics.every_steps=10
