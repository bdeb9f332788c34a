# A device of an unknown kind.
graphrun train tags.pbtxt --out model --device gpu
