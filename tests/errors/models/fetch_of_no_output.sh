# An output that the graph does not have.
graphrun train tags.pbtxt --out model --quiet > /dev/null 2>&1
graphrun infer model --fetch paths --fetch-out out.safetensors < /dev/null
