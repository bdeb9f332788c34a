# A field of the job as an option.
graphrun train tags.pbtxt --out model --epochs 3
