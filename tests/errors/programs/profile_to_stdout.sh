# The figures of the model go there.
graphrun train tags.pbtxt --out model --profile -
