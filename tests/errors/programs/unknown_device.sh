# A device that is not there.
graphrun train tags.pbtxt --out model --device cuda
