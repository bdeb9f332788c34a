# A run is never overwritten.
graphrun train tags.pbtxt --out model --quiet > /dev/null
graphrun train tags.pbtxt --out model
