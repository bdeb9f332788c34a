# Told before anything is trained.
graphrun train tags.pbtxt --out model --profile no/such/trace.json
