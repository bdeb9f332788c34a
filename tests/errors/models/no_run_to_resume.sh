# Nothing to go on with.
graphrun train tags.pbtxt --out model --resume
