# Nothing in is nothing out.
graphrun train tags.pbtxt --out model --quiet > /dev/null
graphrun infer model < /dev/null
