# The figures would replace the data, which is named by another path.
graphrun train tags.pbtxt --out model --quiet > /dev/null 2>&1
graphrun evaluate model --data train.conll --each ./train.conll
