# A form of weights that is none.
graphrun train tags.pbtxt --out model --quiet > /dev/null 2>&1
graphrun infer model --weights int4 < /dev/null
