# The mean of two networks.
graphrun train tags.pbtxt --out a --quiet > /dev/null 2>&1
graphrun train tags.pbtxt --out b --set hidden=4 --quiet > /dev/null 2>&1
graphrun average a b --out mean
