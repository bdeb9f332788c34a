# A seed twice.
graphrun train tags.pbtxt --out model --seeds 1,1
