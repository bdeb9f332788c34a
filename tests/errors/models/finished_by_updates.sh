# Resuming what is finished within an epoch.
graphrun train tags.pbtxt --out model --quiet --set data.batch.rows=1 --set train.updates=1 > /dev/null
graphrun train tags.pbtxt --out model --resume --set data.batch.rows=1 --set train.updates=1
