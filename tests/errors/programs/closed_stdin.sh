# Nothing to read from.
graphrun train tags.pbtxt --out model --quiet > /dev/null
graphrun infer model <&-
