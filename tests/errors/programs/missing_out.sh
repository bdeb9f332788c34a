# No folder for the model.
graphrun train tags.pbtxt
