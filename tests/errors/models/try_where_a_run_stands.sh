# A try of a run whose folder is taken.
graphrun train tags.pbtxt --out model --quiet > /dev/null
graphrun train tags.pbtxt --out model --try 2
