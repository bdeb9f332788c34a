# Another graph with the args of the job's own.
graphrun check tags.pbtxt --set graph=language_model.pbtxt
