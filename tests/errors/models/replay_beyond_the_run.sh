graphrun train tags.pbtxt --out model --quiet > /dev/null
graphrun replay model --step 1000
