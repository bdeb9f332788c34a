# A size that training fixed.
graphrun train tags.pbtxt --out model --quiet > /dev/null 2>&1
graphrun evaluate model --set hidden=5
