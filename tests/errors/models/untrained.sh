# A run that ended before its first epoch did.
graphrun train tags.pbtxt --out model --quiet > /dev/null
rm -r model/best
graphrun evaluate model
