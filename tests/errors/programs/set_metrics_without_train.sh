# A field of train without its path.
graphrun train tags.pbtxt --out model --set metrics.every_steps=5
