# A device of no kind that there is.
graphrun train tags.pbtxt --out model --device gpu
