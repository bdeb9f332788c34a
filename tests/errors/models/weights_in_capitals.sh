# No mistake: a form of weights as jobs write it.
graphrun train tags.pbtxt --out model --quiet > /dev/null 2>&1
graphrun infer model --weights INT8 < /dev/null
