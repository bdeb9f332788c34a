# A try of a run that is there.
graphrun train tags.pbtxt --out model --try 3 --resume
