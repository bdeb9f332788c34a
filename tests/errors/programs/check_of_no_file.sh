# A file that is not there.
graphrun check nowhere.pbtxt
