# There is no update to repeat.
graphrun train tags.pbtxt --out model --quiet > /dev/null
graphrun verify model --steps 1000
