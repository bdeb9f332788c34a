# A field of a job by a wrong name.
graphrun help job train.optimiser
