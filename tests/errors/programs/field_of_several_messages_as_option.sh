# A field that several optimizers have.
graphrun train tags.pbtxt --out model --learning-rate=0.1
