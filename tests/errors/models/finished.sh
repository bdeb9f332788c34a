# Resuming what is finished.
graphrun train tags.pbtxt --out model --quiet > /dev/null
graphrun train tags.pbtxt --out model --resume
