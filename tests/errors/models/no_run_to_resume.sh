# Nothing to continue.
graphrun train tags.pbtxt --out model --resume
