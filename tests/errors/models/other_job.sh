# Resuming another job.
graphrun train tags.pbtxt --out model --quiet > /dev/null
graphrun train tags.pbtxt --out model --resume --set data.batch.rows=7
