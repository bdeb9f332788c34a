# An infer block that the job lacks.
graphrun train tags.pbtxt --out model --quiet > /dev/null
graphrun infer model --mode tags < /dev/null
